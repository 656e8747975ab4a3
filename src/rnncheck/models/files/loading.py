"""Load model files of every kind. Loading never runs anything that is in a file."""

from __future__ import annotations

import dataclasses
import importlib.util
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy.typing as npt

from rnncheck.errors import InputError, MissingExtraError, ModelError, WrongTypeError, short_repr
from rnncheck.models.engine.compiled import compiled_or_stepped
from rnncheck.models.files.released_folder import META, load_released
from rnncheck.models.files.safetensors_file import (
    METADATA_KEY,
    check_is_file,
    name_in_errors,
    network_from_file,
    read_safetensors,
)
from rnncheck.models.files.state_dict import network_from_arrays
from rnncheck.models.files.torch_file import check_size, import_torch, read_torch_file
from rnncheck.models.foreign.input_layouts import token_ids
from rnncheck.models.label_names import check_label_names, check_labels, label_number
from rnncheck.models.network import Cell, RecurrentNetwork
from rnncheck.models.protocol import Model
from rnncheck.models.self_check import OutputMeaning
from rnncheck.words import Alphabet, parse_word

_UNSAFE = {
    ".pt2": "an exported PyTorch program, which PyTorch reads by running pickles",
    ".pkl": "a pickle, which runs code when it is read",
    ".pickle": "a pickle, which runs code when it is read",
    ".joblib": "a pickle, which runs code when it is read",
    ".ckpt": "a checkpoint, which is usually a pickle of more than arrays",
    ".keras": "a Keras archive, which may hold code",
    ".h5": "a Keras file, which may hold code",
}


def load_model(
    path: str | os.PathLike[str],
    *,
    alphabet: Iterable[str] | Mapping[str, int] | None = None,
    threshold: float | None = None,
    label: int | str | None = None,
    labels: Iterable[str] | None = None,
    cell: Cell | str | None = None,
    empty: bool | None = None,
    first_row: int | None = None,
    output: str = "auto",
    dtype: npt.DTypeLike | None = None,
    threads: int | None = None,
    cache: bool = True,
    torchscript: bool = False,
) -> Model:
    """The model in a file, or in a folder of the released format.

    Supported are ``.safetensors`` (our own, or a state dictionary), ``.pt`` and ``.pth`` (a state dictionary),
    ``.onnx``, and a folder with a file ``meta``. A state dictionary and an ONNX graph do not contain the letters: they
    come from ``alphabet``, or from a file beside the model, one letter per line (``<file>.alphabet``, else
    ``alphabet.txt``).
    ``threshold`` and ``label`` (a number, or a name if there are names) replace those of the file; ``labels`` are
    names for several outputs, if the file has none; ``cell`` is the activation of an Elman network from a state
    dictionary. ``empty`` (the answer to the empty word, by default no), ``first_row`` and ``output`` are for ONNX
    only, as in :func:`rnncheck.wrap`. ``dtype`` (by default that of the weights) and ``threads`` (by default all cores)
    are the engine's. With ``cache`` the result of its self-check is stored in the user's cache directory.

    With ``torchscript`` the file was written by ``torch.jit.save``. That is a program, which is run: use it only for
    files that you trust. It is then read as :func:`rnncheck.wrap` reads a module.
    """
    if not isinstance(path, str | os.PathLike):
        raise WrongTypeError(
            f"{short_repr(path)} is a {type(path).__name__}, not the path of a model; make a model of an object with "
            "rnncheck.wrap(…, alphabet=[…])"
        )
    path = Path(path)
    letters = None if alphabet is None else alphabet if isinstance(alphabet, Alphabet) else Alphabet(alphabet)
    names, ids = check_label_names(labels), token_ids(alphabet)
    if torchscript or (path.suffix.lower() == ".onnx" and not _is_folder(path)):
        with name_in_errors(path):
            _reject_cell(cell)
            yes, least = label_number(label, names), 0.5 if threshold is None else threshold
            meaning = OutputMeaning(least, yes, output, dtype, threads, names)
            return (_load_script if torchscript else _load_onnx)(path, letters, meaning, first_row, ids, empty)
    if ids is not None:
        raise InputError("alphabet= is a dict from tokens to ids, which are for ONNX and TorchScript; give a list")
    given = None if cell is None else _cell(cell)
    try:
        network = _load_network(path, letters, given, label, names)
    except ModelError:
        if names is not None and isinstance(label, str) and label not in names:
            with name_in_errors(path):  # first of all there must be a name for each output
                _with_options(_load_network(path, letters, given, 0, names), letters, None, 0, names)
        raise
    with name_in_errors(path):
        network = _with_options(network, letters, threshold, label, names)
        return compiled_or_stepped(network, dtype=dtype, threads=threads, cache=cache)


def _load_onnx(
    path: Path,
    letters: Alphabet | None,
    meaning: OutputMeaning,
    first_row: int | None,
    ids: tuple[int, ...] | None,
    empty: bool | None,
) -> Model:
    if not all(map(importlib.util.find_spec, ("onnx", "onnxruntime"))):
        raise MissingExtraError("reading an ONNX file", "onnx")
    check_is_file(path)
    from rnncheck.models.foreign.onnx.onnx_file import load_onnx

    return load_onnx(path, letters or _alphabet_beside(path), meaning, first_row=first_row, ids=ids, empty=empty)


def _load_script(
    path: Path,
    letters: Alphabet | None,
    meaning: OutputMeaning,
    first_row: int | None,
    ids: tuple[int, ...] | None,
    empty: bool | None,
) -> Model:
    check_is_file(path)
    check_size(path)
    import_torch("reading a TorchScript file")
    from rnncheck.models.foreign.torch.module import ModuleOptions, load_script

    letters = letters or _alphabet_beside(path)
    if letters is None:
        raise ModelError(
            "TorchScript does not contain its letters; give alphabet=… (--alphabet a,b,c), or put them into a file "
            "beside it, one per line: <file>.alphabet or alphabet.txt"
        )
    return load_script(path, letters, ModuleOptions(meaning, None, first_row, empty, ids=ids))


def _load_network(
    path: Path, letters: Alphabet | None, cell: Cell | None, label: int | str | None, names: tuple[str, ...] | None
) -> RecurrentNetwork:
    if _is_folder(path):
        if not (path / META).is_file():
            raise ModelError(f"{path}: the folder has no file {META!r}; give a model file instead")
        with name_in_errors(path):
            yes = label_number(label, names)
        return load_released(path, label=yes, cell=cell)
    suffix = path.suffix.lower()
    if not path.exists():
        raise ModelError(f"{path}: no such file or folder")
    if suffix == ".safetensors":
        metadata, arrays = read_safetensors(path)
        if METADATA_KEY in metadata:
            with name_in_errors(path):
                _reject_cell(cell)
                return network_from_file(metadata[METADATA_KEY], arrays)
    elif suffix in (".pt", ".pth"):
        arrays = read_torch_file(path)
    else:
        cause = _UNSAFE.get(suffix, f"of an unknown kind ({short_repr(suffix)})")
        raise ModelError(
            f"{path}: the file is {cause}; give .safetensors, .pt or .pth with a state dictionary, .onnx, or a folder "
            f"with a file {META!r}"
        )
    with name_in_errors(path):
        return network_from_arrays(
            arrays, letters or _alphabet_beside(path), label=label_number(label, names), cell=cell
        )


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError as error:  # a name that is too long, a folder without permission
        raise ModelError(f"{path}: cannot be read: {error.strerror or error}") from None


def _with_options(
    network: RecurrentNetwork,
    letters: Alphabet | None,
    threshold: float | None,
    label: int | str | None,
    names: tuple[str, ...] | None,
) -> RecurrentNetwork:
    """The network with the caller's options instead of those of the file."""
    if letters is not None and letters != network.alphabet:
        raise ModelError(
            f"the alphabet of the file is {short_repr(str(network.alphabet))}, in this order, and the one given is "
            f"{short_repr(str(letters))}; leave it out"
        )
    if names is not None and network.labels not in (None, names):
        raise ModelError(
            f"the labels of the file are {', '.join(network.labels or ())}, in this order; leave yours out"
        )
    if names is not None and network.outputs > 1:
        check_labels(network.outputs, 0, names)
    changes: dict[str, object] = {} if names is None else {"labels": names}
    label = label_number(label, names or network.labels)
    if threshold is not None:
        changes["threshold"] = threshold
    if label is not None:
        changes["label"] = label
    return dataclasses.replace(network, **changes) if changes else network  # type: ignore[arg-type]


def _alphabet_beside(path: Path) -> Alphabet | None:
    """The letters in a file beside a model, or None if there is no such file."""
    for beside in (path.with_name(f"{path.name}.alphabet"), path.with_name("alphabet.txt")):
        if beside.is_file():
            return read_alphabet(beside)
    return None


def read_alphabet(path: Path) -> Alphabet:
    """Read one letter per line, in the text form of a letter; empty lines are skipped."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"{path}: cannot be read as text: {error}") from None
    letters: list[str] = []
    for number, line in enumerate(lines, start=1):
        with name_in_errors(f"{path}:{number}"):
            word = parse_word(line)
            if len(word) > 1 or (line.strip() and not word):
                raise ModelError(
                    f"{short_repr(line)} is not one letter; write one per line, in quotes if it has spaces"
                )
            letters += word
    with name_in_errors(path):
        return Alphabet(letters)


def _cell(cell: Cell | str) -> Cell:
    try:
        return Cell(cell)
    except ValueError:
        raise InputError(
            f"cell {short_repr(cell)} is unknown; choose one of {', '.join(c.value for c in Cell)}"
        ) from None


def _reject_cell(cell: Cell | str | None) -> None:
    if cell is not None:
        raise ModelError(f"the file itself names its cells, so cell {str(cell)!r} has no effect; leave it out (--cell)")
