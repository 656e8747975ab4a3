"""The state of a training run in one file, written after every epoch: safetensors with a JSON header, no pickle."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from rnncheck.errors import InputError, ModelError
from rnncheck.models.files.safetensors_file import read_sealed, write_sealed
from rnncheck.models.network import Floats
from rnncheck.training.curriculum import Curriculum, EpochResult
from rnncheck.training.training_settings import TrainingSettings

_FORMAT = "rnncheck/checkpoint/1"
_MAY_CHANGE = {"epochs", "timeout"}  # settings that decide when to stop, not how to continue


@dataclass(frozen=True, eq=False)
class Best:
    """The best epoch, with its network."""

    weights: Mapping[str, Floats]
    result: EpochResult
    epoch: int
    attempt: int
    longest: int


@dataclass(frozen=True, eq=False)
class TrainingCheckpoint:
    """Everything that a run needs to continue as if it had never stopped. Randomness follows from seed and epoch."""

    curriculum: Curriculum
    weights: Mapping[str, Floats]
    optimizer: Mapping[str, Floats]
    best: Best
    seconds: float


class _Document(msgspec.Struct, forbid_unknown_fields=True):
    format: str
    settings: dict[str, Any]
    data_sha256: str
    curriculum: dict[str, Any]
    best: EpochResult
    best_epoch: int
    best_attempt: int
    best_longest: int
    seconds: float


def save_checkpoint(
    checkpoint: TrainingCheckpoint, path: str | os.PathLike[str], settings: TrainingSettings, data_sha256: str
) -> None:
    """Write the file, whole or not at all."""
    best = checkpoint.best
    document = _Document(
        _FORMAT,
        settings.to_json(),
        data_sha256,
        checkpoint.curriculum.to_json(),
        best.result,
        best.epoch,
        best.attempt,
        best.longest,
        checkpoint.seconds,
    )
    groups = {"weights": checkpoint.weights, "optimizer": checkpoint.optimizer, "best": best.weights}
    arrays = {f"{group}/{name}": array for group, named in groups.items() for name, array in named.items()}
    write_sealed(Path(path), msgspec.json.encode(document).decode(), arrays)


def load_checkpoint(path: str | os.PathLike[str], settings: TrainingSettings, data_sha256: str) -> TrainingCheckpoint:
    """Read the file; a run with other data, or other settings except those that decide when to stop, is an error."""
    text, arrays = read_sealed(Path(path))
    try:
        document = msgspec.json.decode(text, type=_Document)
        groups: dict[str, dict[str, Floats]] = {"weights": {}, "optimizer": {}, "best": {}}
        for key, array in arrays.items():
            group, _, name = key.partition("/")
            groups[group][name] = array
        curriculum = Curriculum.from_json(document.curriculum)
    except (msgspec.MsgspecError, KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{path} is not a checkpoint of rnncheck train ({error}); start without --resume") from None
    _check_same_run(document, path, settings, data_sha256)
    best = Best(groups["best"], document.best, document.best_epoch, document.best_attempt, document.best_longest)
    return TrainingCheckpoint(curriculum, groups["weights"], groups["optimizer"], best, document.seconds)


def _check_same_run(
    document: _Document, path: str | os.PathLike[str], settings: TrainingSettings, data_sha256: str
) -> None:
    if document.format != _FORMAT:
        raise ModelError(f"{path} has format {document.format!r}; this version of rnncheck reads {_FORMAT!r}")
    for name, value in settings.to_json().items():
        if name not in _MAY_CHANGE and document.settings.get(name) != value:
            raise InputError(
                f"{path} was made with {name} {document.settings.get(name)!r}, now it is {value!r}; "
                "resume with the same settings, or start without --resume"
            )
    if document.data_sha256 != data_sha256:
        raise InputError(f"{path} was made with other training words; resume with the same, or start without --resume")
