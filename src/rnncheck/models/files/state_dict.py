"""From the names and shapes of a state dictionary to the network they belong to.

Supported are one or more recurrent layers under PyTorch's names (``*.weight_ih_l0`` …, or a cell's ``*.weight_ih``),
at most one embedding (``*.weight``, rows × inputs), and one linear head (``*.weight``, outputs × hidden, with or
without ``*.bias``), with any prefix. All assumptions are written into the network's facts. An array that does not fit
is an error that names it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rnncheck.errors import ModelError, short_repr
from rnncheck.models.network import Cell, Floats, Layer, RecurrentNetwork
from rnncheck.words import Alphabet, letter_text

_RECURRENT = re.compile(
    r"(?P<prefix>(?:.*\.)?)(?P<kind>weight|bias)_(?P<side>ih|hh|hr)(?:_l(?P<layer>\d+))?(?P<back>_reverse)?"
)
_PARTS = {
    "weight_ih": "input_weight",
    "weight_hh": "recurrent_weight",
    "bias_ih": "input_bias",
    "bias_hh": "recurrent_bias",
}


_EMPTY_WORD = (
    "the empty word has the answer that the weights give before any letter; a module that does not take it rejects it"
)


@dataclass(frozen=True)
class Assignment:
    """The roles of the arrays."""

    layers: tuple[Layer, ...]
    embedding: str | None  # None: the input is one-hot
    head: str
    notes: tuple[str, ...]


def network_from_arrays(
    arrays: Mapping[str, npt.NDArray[Any]],
    alphabet: Alphabet | None,
    *,
    threshold: float = 0.5,
    label: int | None = None,
    cell: Cell | None = None,
) -> RecurrentNetwork:
    """The network that a state dictionary belongs to.

    The number of gates distinguishes LSTM, GRU and Elman networks. The activation of an Elman network is not stored:
    it is given by ``cell``, and by default tanh is assumed (and noted). An embedding with one row more than there are
    letters has its padding in row 0, and the empty word is that row fed once; with as many rows as letters, its answer
    is read off the initial state.
    """
    floats = {name: _as_floats(name, array) for name, array in arrays.items()}
    found = _assign(floats)
    chosen, cell_notes = _choose_cell(found.layers, cell)
    table, padding, input_notes = _input_table(found, floats, alphabet)
    weight = floats[f"{found.head}weight"]
    bias = floats.get(f"{found.head}bias")
    return RecurrentNetwork(
        alphabet=table[0],
        cell=chosen,
        inputs=table[1],
        layers=found.layers,
        head_weight=weight,
        head_bias=np.zeros(len(weight), dtype=weight.dtype) if bias is None else bias,
        threshold=threshold,
        label=label,
        padding=padding,
        facts={"source": "state dictionary", "assumptions": [*found.notes, *cell_notes, *input_notes, _EMPTY_WORD]},
    )


def _as_floats(name: str, array: npt.NDArray[Any]) -> Floats:
    if array.dtype in (np.float32, np.float64):
        return array
    if array.dtype == np.float16:
        return array.astype(np.float32)
    raise ModelError(
        f"array {short_repr(name)} holds {array.dtype}; a network's weights are float32 (or float16, float64)"
    )


def _assign(arrays: Mapping[str, Floats]) -> Assignment:
    recurrent = {name: match for name in arrays if (match := _RECURRENT.fullmatch(name))}
    if not recurrent:
        raise ModelError(
            f"no recurrent layer among the arrays {_names_and_shapes(arrays)}; "
            "one has names that end in weight_ih_l0 and weight_hh_l0"
        )
    layers, notes = _layers(arrays, recurrent)
    rest = {name: array for name, array in arrays.items() if name not in recurrent}
    width, hidden = _columns(layers[0].input_weight), layers[-1].hidden
    embedding, head = _embedding_and_head(rest, width, hidden)
    return Assignment(layers, embedding, head, notes)


def _layers(
    arrays: Mapping[str, Floats], recurrent: Mapping[str, re.Match[str]]
) -> tuple[tuple[Layer, ...], tuple[str, ...]]:
    grouped: dict[tuple[str, int], dict[str, Floats]] = {}
    for name, match in recurrent.items():
        if match["back"]:
            raise ModelError(
                f"array {short_repr(name)} belongs to a bidirectional layer, which reads the word from its end and "
                "cannot be stepped; wrap the module itself: rnncheck.wrap(module, alphabet=…)"
            )
        if match["side"] == "hr":
            raise ModelError(
                f"array {short_repr(name)} belongs to an LSTM with a projection (proj_size), which is not supported; "
                "wrap the module itself: rnncheck.wrap(module, alphabet=…)"
            )
        part = _PARTS[f"{match['kind']}_{match['side']}"]
        grouped.setdefault((match["prefix"], int(match["layer"] or 0)), {})[part] = arrays[name]
    order = sorted(grouped, key=lambda key: (_natural(key[0]), key[1]))
    _check_numbers(order)
    for key in order:
        missing = {"input_weight", "recurrent_weight"} - set(grouped[key])
        if missing:
            raise ModelError(
                f"recurrent layer {short_repr(key[0])} number {key[1]} lacks its {min(missing).replace('_', ' ')}"
            )
    stacks = list(dict.fromkeys(prefix for prefix, _ in order))
    names = ", ".join(short_repr(prefix.rstrip(".")) for prefix in stacks)
    notes = (f"the recurrent layers are stacked in the order {names}",) if len(stacks) > 1 else ()
    layers = tuple(Layer(**grouped[key]) for key in order)
    for layer in layers:
        _columns(layer.input_weight)
        _columns(layer.recurrent_weight)
    return layers, notes


def _check_numbers(order: Sequence[tuple[str, int]]) -> None:
    """Check that the layers under each prefix are numbered 0, 1, 2, …"""
    counts: dict[str, int] = {}
    for prefix, number in order:
        if number != counts.get(prefix, 0):
            raise ModelError(
                f"recurrent layer {short_repr(prefix)} has number {number}, but no number {counts.get(prefix, 0)}"
            )
        counts[prefix] = number + 1


def _embedding_and_head(rest: Mapping[str, Floats], width: int, hidden: int) -> tuple[str | None, str]:
    """The prefixes of the embedding (None if there is none) and of the head."""
    prefixes = [name.removesuffix("weight") for name, array in rest.items() if _is_weight(name) and array.ndim == 2]
    known = {f"{prefix}{part}" for prefix in prefixes for part in ("weight", "bias")}
    strange = sorted(set(rest) - known)
    if strange:
        raise ModelError(
            f"array {short_repr(strange[0])} of shape {rest[strange[0]].shape} belongs to no embedding, recurrent "
            "layer or linear head; wrap the module itself: rnncheck.wrap(module, alphabet=…)"
        )
    if len(prefixes) not in (1, 2):
        raise ModelError(
            f"{len(prefixes)} matrices besides the recurrent layers ({_names_and_shapes(rest)}); "
            "expected a linear head, and perhaps an embedding before it"
        )
    options = [
        (embedding, head)
        for head in prefixes
        for embedding in [next((other for other in prefixes if other != head), None)]
        if rest[f"{head}weight"].shape[1] == hidden
        if embedding is None or (f"{embedding}bias" not in rest and rest[f"{embedding}weight"].shape[1] == width)
    ]
    if len(options) > 1:
        options = [option for option in options if "emb" in str(option[0]).lower()] or options
    if len(options) == 1:
        return options[0]
    cause = "either could be the embedding" if options else "none pair up"
    raise ModelError(
        f"no embedding (any × {width}, without bias) and linear head (any × {hidden}) can be identified among "
        f"{_names_and_shapes(rest)}: {cause}; rename them, or wrap the module itself: rnncheck.wrap(module, alphabet=…)"
    )


def _choose_cell(layers: Sequence[Layer], given: Cell | None) -> tuple[Cell, tuple[str, ...]]:
    gates = set()
    for layer in layers:
        rows, columns = layer.recurrent_weight.shape
        if rows not in (cell.gates * columns for cell in Cell):
            heights = ", ".join(f"{cell.gates} ({cell.value})" for cell in Cell)
            raise ModelError(
                f"a recurrent weight has shape {layer.recurrent_weight.shape}; "
                f"its rows are a multiple of its columns: {heights}"
            )
        gates.add(rows // columns)
    if len(gates) > 1:
        raise ModelError("the recurrent layers are of different kinds; all of them must have the same cell")
    height = gates.pop()
    natural, *others = (cell for cell in Cell if cell.gates == height)
    if given is None:
        otherwise = " or ".join(f"cell={cell.value!r}" for cell in others)
        return natural, (f"the cells are {natural.value} ({otherwise} changes that)",) if others else ()
    if given.gates != height:
        raise ModelError(f"cell {given.value!r} was given, but the weights are those of {natural.value!r}")
    return given, ()


def _input_table(
    found: Assignment, arrays: Mapping[str, Floats], alphabet: Alphabet | None
) -> tuple[tuple[Alphabet, Floats], Floats | None, tuple[str, ...]]:
    first = found.layers[0].input_weight
    if found.embedding is None:
        letters = _required_alphabet(alphabet, f"its one-hot input has {_columns(first)} letters")
        if len(letters) != _columns(first):
            raise ModelError(
                f"the alphabet has {len(letters)} letters, but the one-hot input has {_columns(first)}; "
                "give one letter for each"
            )
        note = f"the input is one-hot, since there is no embedding; {_placement_text('columns', 0, letters)}"
        return (letters, np.eye(len(letters), dtype=first.dtype)), None, (note,)
    table = arrays[f"{found.embedding}weight"]
    rows = len(table)
    letters = _required_alphabet(
        alphabet, f"its embedding has {rows} rows: {rows} letters, or {rows - 1} and padding in row 0"
    )
    if len(letters) == rows:
        return (letters, table), None, (_placement_text("rows", 0, letters),)
    if len(letters) == rows - 1:
        note = (
            "row 0 of the embedding is padding, and the empty word is that row fed once; "
            f"{_placement_text('rows', 1, letters)}"
        )
        return (letters, table[1:]), table[0], (note,)
    raise ModelError(
        f"the alphabet has {len(letters)} letters, but the embedding has {rows} rows; "
        f"give {rows} letters, or {rows - 1} where row 0 is padding"
    )


def _placement_text(places: str, first: int, letters: Alphabet) -> str:
    """The positions of the letters, so that a letter too many or too few is noticed."""
    shown = [*letters[:4], "…", letters[-1]] if len(letters) > 6 else letters
    return f"{places} {first} to {first + len(letters) - 1} are the letters {', '.join(map(letter_text, shown))}"


def _required_alphabet(alphabet: Alphabet | None, hint: str) -> Alphabet:
    if alphabet is None:
        raise ModelError(
            f"a state dictionary does not contain its letters ({hint}); give alphabet=… (--alphabet a,b,c), or put "
            "them into a file beside it, one per line: <file>.alphabet or alphabet.txt"
        )
    return alphabet


def _is_weight(name: str) -> bool:
    return name == "weight" or name.endswith(".weight")


def _columns(matrix: Floats) -> int:
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ModelError(f"a recurrent layer has a weight of shape {matrix.shape}; it must be a matrix")
    return int(matrix.shape[1])


def _natural(text: str) -> list[tuple[int, str]]:
    """Sort key under which ``layer10`` comes after ``layer9``."""
    return [(int(piece), "") if piece.isdigit() else (-1, piece) for piece in re.split(r"(\d+)", text)]


def _names_and_shapes(arrays: Mapping[str, npt.NDArray[Any]], limit: int = 6) -> str:
    names = [f"{short_repr(name)} {'×'.join(map(str, array.shape))}" for name, array in arrays.items()]
    return ", ".join(names[:limit]) + (", …" if len(names) > limit else "") if names else "(none)"
