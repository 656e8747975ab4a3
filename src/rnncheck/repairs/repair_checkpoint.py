"""The state of a repair in one file, written after every round: safetensors with a JSON header, no pickle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from rnncheck.errors import InputError, ModelError
from rnncheck.models.files.safetensors_file import read_sealed, write_sealed
from rnncheck.models.network import Floats
from rnncheck.repairs.repair_report import RepairRound, Standing
from rnncheck.runtime.checkpoint import check_same_question
from rnncheck.words import Codes, WordBatch

_FORMAT = "rnncheck/checkpoint-of-repair/2"
_MAY_CHANGE = {"rounds"}  # decides when to stop, not how to continue


class Rank(msgspec.Struct, frozen=True, order=True):
    """The rank of a model, lower is better: properties violated, mistakes on watched words, wrong answers."""

    violated: int
    mistakes: int
    wrong: float


class Best(msgspec.Struct, frozen=True):
    """The model to keep: that of a round (0: the original), and its results for each property."""

    round: int
    rank: Rank
    standings: list[Standing]


class Progressed(msgspec.Struct):
    """The state of a repair between two rounds."""

    rounds: list[RepairRound] = []
    before: list[Standing] = []
    best: Best | None = None
    verified: Best | None = None  # the best verified model
    seconds: float = 0.0


class _Document(msgspec.Struct, forbid_unknown_fields=True):
    format: str
    question: dict[str, Any]
    progressed: Progressed


@dataclass(frozen=True, eq=False)
class Saved:
    """The state from which a run is resumed. Randomness follows from the seed and the round."""

    progressed: Progressed
    weights: Mapping[str, Floats]
    best_weights: Mapping[str, Floats]
    verified_weights: Mapping[str, Floats]
    errors: list[Codes]
    kept: list[Codes]
    random: list[list[Codes]]


class RepairCheckpoint:
    """The checkpoint file; only the same repair can be resumed from it."""

    def __init__(self, path: str | Path, question: dict[str, Any]) -> None:
        self._path = Path(path)
        self._question = msgspec.json.decode(msgspec.json.encode(question))

    def save(self, saved: Saved) -> None:
        """Write it, whole or not at all."""
        kinds = {"now": saved.weights, "best": saved.best_weights, "verified": saved.verified_weights}
        arrays: dict[str, Any] = {f"{kind}/{name}": array for kind in kinds for name, array in kinds[kind].items()}
        random = ((f"random{number}", some) for number, some in enumerate(saved.random))
        for name, words in (("errors", saved.errors), ("kept", saved.kept), *random):
            batch = WordBatch.from_codes(words)
            arrays |= {f"codes/{name}": np.array(batch.codes), f"offsets/{name}": np.array(batch.offsets)}
        document = _Document(_FORMAT, self._question, saved.progressed)
        write_sealed(self._path, msgspec.json.encode(document).decode(), arrays)

    def load(self) -> Saved:
        """Read it."""
        if not self._path.exists():
            raise InputError(f"{self._path}: there is no checkpoint to resume from; leave out --resume to start")
        text, arrays = read_sealed(self._path)
        try:
            document = msgspec.json.decode(text, type=_Document)
        except (msgspec.MsgspecError, ValueError) as error:
            raise ModelError(f"{self._path} is not a checkpoint of rnncheck repair ({error}); start again") from None
        self._check(document)

        def words(name: str) -> list[Codes]:
            return list(WordBatch(arrays[f"codes/{name}"], arrays[f"offsets/{name}"]))

        def group(name: str) -> dict[str, Floats]:
            return {key.removeprefix(name): array for key, array in arrays.items() if key.startswith(name)}

        random = [words(f"random{number}") for number in range(len(document.progressed.rounds))]
        weights = group("now/"), group("best/"), group("verified/")
        return Saved(document.progressed, *weights, words("errors"), words("kept"), random)

    def _check(self, document: _Document) -> None:
        if document.format != _FORMAT:
            raise ModelError(f"{self._path} has format {document.format!r}; this version of rnncheck reads {_FORMAT!r}")
        check_same_question(self._path, document.question, self._question, may_change=_MAY_CHANGE)
