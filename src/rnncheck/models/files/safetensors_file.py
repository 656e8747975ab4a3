"""Our own model file: one safetensors file that describes its network completely.

The header's metadata has one entry, ``rnncheck``: a JSON document with the format's version, the cell, the alphabet
(in the text form of :mod:`rnncheck.words`, so that any letter survives), the threshold, the labels and further
facts. The arrays are ``inputs`` (one row per letter), ``padding`` (optional), ``layer.N.input_weight``,
``layer.N.recurrent_weight``, ``layer.N.input_bias``, ``layer.N.recurrent_bias`` (biases optional), ``head.weight`` and
``head.bias``. Reading needs numpy and safetensors, and runs nothing.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as safetensors_bytes

from rnncheck.errors import InputError, ModelError, short_repr
from rnncheck.models.fingerprint import digest_of
from rnncheck.models.network import Cell, Floats, Layer, RecurrentNetwork
from rnncheck.runtime.files import check_size, write_atomically
from rnncheck.words import Alphabet

FORMAT = "rnncheck/network/1"
METADATA_KEY = "rnncheck"
_SEAL = "sha256"

Arrays: TypeAlias = Mapping[str, npt.NDArray[Any]]

_LAYER_PARTS = ("input_weight", "recurrent_weight", "input_bias", "recurrent_bias")
_REQUIRED = ("inputs", "head.weight", "head.bias")


class _Version(msgspec.Struct):
    format: str


class _Document(msgspec.Struct, forbid_unknown_fields=True):
    format: str
    cell: Cell
    layers: int
    alphabet: str
    threshold: float
    label: int | None = None
    labels: tuple[str, ...] | None = None
    facts: dict[str, Any] = {}


def save_network(network: RecurrentNetwork, path: str | os.PathLike[str]) -> None:
    """Write a network to one file. The file appears whole or not at all; an existing one is replaced."""
    path = Path(path)
    with name_in_errors(path):
        metadata = {METADATA_KEY: _document_text(network)}
        content = safetensors_bytes(_arrays_of(network), metadata)
        write_atomically(path, content)


def load_network(path: str | os.PathLike[str]) -> RecurrentNetwork:
    """Read a file written by :func:`save_network`; for any other a ModelError names the file and the cause."""
    path = Path(path)
    metadata, arrays = read_safetensors(path)
    with name_in_errors(path):
        if METADATA_KEY not in metadata:
            raise ModelError(
                "has no rnncheck entry in its metadata, so cell and alphabet are unknown; "
                "load it as a state dictionary: load_model(path, alphabet=…)"
            )
        return network_from_file(metadata[METADATA_KEY], arrays)


def read_safetensors(path: Path) -> tuple[Mapping[str, str], Arrays]:
    """The metadata and the arrays of any safetensors file."""
    with name_in_errors(path):
        check_is_file(path)
        try:
            with safe_open(path, framework="numpy") as file:
                metadata = file.metadata() or {}
                arrays = {name: _array(file, name) for name in file.keys()}  # noqa: SIM118 - not a mapping
        except SafetensorError as error:
            raise ModelError(f"is not a whole safetensors file ({error}); copy or save it again") from None
        except OSError as error:
            raise ModelError(f"cannot be read: {error.strerror or error}") from None
    return metadata, arrays


def write_sealed(path: Path, document: str, arrays: Arrays) -> None:
    """Write a document and the arrays that belong to it, with a digest of both, whole or not at all."""
    metadata = {METADATA_KEY: document, _SEAL: _digest(document, arrays)}
    write_atomically(path, safetensors_bytes(dict(arrays), metadata))


def read_sealed(path: Path) -> tuple[str, Arrays]:
    """Read what ``write_sealed`` wrote; a ModelError if it was changed since."""
    metadata, arrays = read_safetensors(path)
    document = metadata.get(METADATA_KEY, "")
    if metadata.get(_SEAL) != _digest(document, arrays):
        raise ModelError(f"{path} is not a checkpoint, or was damaged or edited; start again without --resume")
    return document, arrays


def _digest(document: str, arrays: Arrays) -> str:
    return digest_of(document, {name: arrays[name] for name in sorted(arrays)})


def network_from_file(document_text: str, arrays: Arrays) -> RecurrentNetwork:
    """The network that a metadata document and its arrays describe, checked in full."""
    document = _read_document(document_text)
    _check_names(arrays, document.layers)
    layers = tuple(
        Layer(**{part: arrays.get(f"layer.{number}.{part}") for part in _LAYER_PARTS})  # type: ignore[arg-type]
        for number in range(document.layers)
    )
    return RecurrentNetwork(
        alphabet=Alphabet.parse(document.alphabet),
        cell=document.cell,
        inputs=arrays["inputs"],
        layers=layers,
        head_weight=arrays["head.weight"],
        head_bias=arrays["head.bias"],
        threshold=document.threshold,
        label=document.label,
        labels=document.labels,
        padding=arrays.get("padding"),
        facts=document.facts,
    )


def check_is_file(path: Path) -> None:
    """Raise a ModelError if there is no such file, or its name cannot be that of a file."""
    try:
        found = path.is_file()
        if found:
            check_size(path, "model")
    except OSError as error:
        raise ModelError(f"cannot be read: {error.strerror or error}") from None
    if not found:
        raise ModelError("no such file")


@contextlib.contextmanager
def name_in_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn every InputError raised inside into a ModelError that begins with the file's name."""
    try:
        yield
    except InputError as error:
        message, place = str(error), os.fspath(path)
        kind = type(error) if isinstance(error, ModelError) else ModelError
        raise kind(message if message.startswith(place) else f"{place}: {message}") from error


def _array(file: Any, name: str) -> npt.NDArray[Any]:
    try:
        array: npt.NDArray[Any] = file.get_tensor(name)
    except (TypeError, AttributeError):  # number types that numpy does not have
        kind = file.get_slice(name).get_dtype()
        raise ModelError(f"array {short_repr(name)} holds {kind} numbers; store it as float32") from None
    except (ValueError, OverflowError, MemoryError) as error:  # no numbers, but a shape beyond numpy's limits
        raise ModelError(f"array {short_repr(name)} has a shape that no array has ({error})") from None
    return array


def _document_text(network: RecurrentNetwork) -> str:
    document = _Document(
        format=FORMAT,
        cell=network.cell,
        layers=len(network.layers),
        alphabet=str(network.alphabet),
        threshold=network.threshold,
        label=network.label,
        labels=network.labels,
        facts=dict(network.facts),
    )
    try:
        text = msgspec.json.encode(document, enc_hook=_plain).decode()
    except (TypeError, ValueError, NotImplementedError, RecursionError) as error:
        raise ModelError(f"the facts or labels cannot be written as JSON ({error}); keep to text and numbers") from None
    return text


def _plain(value: object) -> object:
    """Numpy's numbers and arrays as JSON's."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise NotImplementedError(f"{type(value).__name__} {short_repr(value)}")


def _read_document(text: str) -> _Document:
    try:
        version = msgspec.json.decode(text, type=_Version).format
        if version != FORMAT:
            raise ModelError(f"has format {short_repr(version)}; this version of rnncheck reads {FORMAT!r}")
        return msgspec.json.decode(text, type=_Document)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise ModelError(f"has bad metadata: {error}") from None


def _check_names(arrays: Arrays, layers: int) -> None:
    """Every array that must be there is, and no other."""
    if not 1 <= layers <= len(arrays):
        raise ModelError(f"has bad metadata: {layers} layers, but only {len(arrays)} arrays")
    weights = [f"layer.{number}.{part}" for number in range(layers) for part in _LAYER_PARTS[:2]]
    biases = [f"layer.{number}.{part}" for number in range(layers) for part in _LAYER_PARTS[2:]]
    for name in (*_REQUIRED, *weights):
        if name not in arrays:
            raise ModelError(f"lacks the array {name!r}")
    unknown = sorted(set(arrays) - {*_REQUIRED, *weights, *biases, "padding"})
    if unknown:
        raise ModelError(f"has an array {short_repr(unknown[0])} that no {layers}-layer network has")


def _arrays_of(network: RecurrentNetwork) -> dict[str, Floats]:
    parts: dict[str, Floats | None] = {
        "inputs": network.inputs,
        "padding": network.padding,
        "head.weight": network.head_weight,
        "head.bias": network.head_bias,
    }
    for number, layer in enumerate(network.layers):
        parts |= {f"layer.{number}.{part}": getattr(layer, part) for part in _LAYER_PARTS}
    return {name: np.ascontiguousarray(array) for name, array in parts.items() if array is not None}
