"""The folder format in which earlier work published its networks.

A folder holds a text file ``meta`` with lines ``key = value`` (``alphabet``, letters separated by commas;
``embedding_dim``; ``hidden_dim``; ``n_layers``; ``torch_save``, the name of the weights' file) and the weights as a
state dictionary: an embedding whose row 0 is padding, an LSTM, and a linear head with one output. The empty word is
defined as the padding row fed once.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy.typing as npt

from rnncheck.errors import ModelError, short_repr
from rnncheck.models.files.safetensors_file import check_is_file, name_in_errors, read_safetensors
from rnncheck.models.files.state_dict import network_from_arrays
from rnncheck.models.files.torch_file import read_torch_file
from rnncheck.models.network import Cell, RecurrentNetwork
from rnncheck.words import Alphabet

META = "meta"
_DEFAULT_WEIGHTS = "state_dict.pt"
_LONGEST_META = 1 << 24


def load_released(
    folder: str | os.PathLike[str], *, threshold: float = 0.5, label: int | None = None, cell: Cell | None = None
) -> RecurrentNetwork:
    """Read a folder; its weights must have the sizes that ``meta`` gives."""
    folder = Path(folder)
    with name_in_errors(folder):
        meta = _read_meta(folder / META)
        alphabet = Alphabet([letter.strip() for letter in meta["alphabet"].split(",")])
        arrays = _read_weights(folder, meta.get("torch_save", _DEFAULT_WEIGHTS))
        network = network_from_arrays(arrays, alphabet, threshold=threshold, label=label, cell=cell)
        _check_sizes(network, meta)
        return dataclasses.replace(network, facts={**network.facts, "source": "released folder"})


def _read_meta(path: Path) -> dict[str, str]:
    _reject_outside_link(path)
    try:
        if path.stat().st_size > _LONGEST_META:
            raise ModelError(f"{META} has {path.stat().st_size} bytes; it is a short text of lines 'key = value'")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ModelError(f"{META} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ModelError(f"{META} is not UTF-8 text") from None
    pairs = (line.partition("=") for line in text.splitlines())
    meta = {key.strip(): value.strip() for key, equals, value in pairs if equals}
    if not meta.get("alphabet"):
        raise ModelError(f"{META} has no line 'alphabet = a,b,c'")
    return meta


def _read_weights(folder: Path, name: str) -> Mapping[str, npt.NDArray[Any]]:
    if Path(name).name != name or name in ("", ".", ".."):
        raise ModelError(f"{META} names the weights {short_repr(name)}; they must be a file of this folder")
    path = folder / name
    check_is_file(path)
    _reject_outside_link(path)
    if path.suffix == ".safetensors":
        return read_safetensors(path)[1]
    return read_torch_file(path)


def _reject_outside_link(path: Path) -> None:
    """Raise an error for a link out of the folder: one from an untrusted source could lead to any file of the user."""
    if os.path.dirname(os.path.realpath(path)) != os.path.realpath(path.parent):
        raise ModelError(f"{short_repr(path.name)} is a link that leads out of this folder; copy the file into it")


def _check_sizes(network: RecurrentNetwork, meta: Mapping[str, str]) -> None:
    actual = {
        "embedding_dim": int(network.inputs.shape[1]),
        "hidden_dim": network.layers[-1].hidden,
        "n_layers": len(network.layers),
    }
    for key, size in actual.items():
        if key in meta and meta[key] != str(size):
            raise ModelError(f"{META} says {key} = {short_repr(meta[key])}, but the weights have {size}")
    if network.padding is None:
        raise ModelError(
            f"{META} has {len(network.alphabet)} letters and the embedding as many rows; this format has one row more, "
            "for padding"
        )
