"""State rows that the compiled kernel advances, instead of the numpy layers of ``models/cells``."""

from __future__ import annotations

import ctypes
import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

import numpy as np

from rnncheck.errors import ModelError, short_repr
from rnncheck.models.cells.cell_type import (
    Array,
    CellType,
    Floats,
    Layer,
    StateLayout,
    letter_table,
)
from rnncheck.models.engine.batch_state import TOO_LITTLE_TO_SPLIT, Rows, products
from rnncheck.models.engine.kernel import Kernel
from rnncheck.models.protocol import Letters, Scores, States, Tick
from rnncheck.words import IntArray, WordBatch

_BLOCK = 96  # rows that a thread of the kernel copies at a time, of two layers
_RUN_ROWS = 2048  # words that run together: many, since all threads share each letter's rows
_FEW_ROWS = 8  # fewer rows read many letters per call: a call per letter would cost as much as small products
_PRODUCTS_AT_ONCE = 1 << 26  # multiplications between two checks of the budget, unless a single letter has more


class _Layer(ctypes.Structure):
    """``struct layer`` of kernel.c."""

    _fields_: ClassVar = [
        *((name, ctypes.c_int64) for name in ("cell", "size", "inputs", "hidden_at", "memory_at", "below_at")),
        *((name, ctypes.c_void_p) for name in ("own", "own_bias", "below", "below_bias", "table")),
    ]


class KernelRows(Rows):
    """State rows in float32; kernel.c says how the numbers are arranged, and distributes the rows over threads."""

    def __init__(
        self,
        kernel: Kernel,
        cell: CellType,
        layers: Sequence[Layer],
        inputs: Floats,
        layout: StateLayout,
        head: Array,
        threads: int,
    ) -> None:
        super().__init__(layout, head, np.float32)
        self._columns = np.ascontiguousarray(self._head.T)
        self._columns_at = _address_of(self._columns)
        self._kernel, self._threads, self._local = kernel, threads, threading.local()
        self._products = products(layers)
        self._room = 2 * _BLOCK * max(layer.hidden for layer in layers)
        widest = max(_padded_units(cell, layer, kernel.lanes) for layer in layers)
        self._reading_room = 2 * self._room + _BLOCK * cell.gates * widest
        self.numbers = [  # the kernel reads them there, so they are kept
            _arrange_weights(cell, layer, letter_table(layer, inputs) if layer is layers[0] else None, kernel.lanes)
            for layer in layers
        ]
        self._layers = (_Layer * len(layers))(
            *(self._layer_struct(cell, number, layer) for number, layer in enumerate(layers))
        )
        self._address = ctypes.addressof(self._layers)

    def step(self, states: States, letters: Letters, rows: IntArray | None = None) -> States:
        before, width = np.ascontiguousarray(states, dtype=np.float32), self._layout.width
        if before.shape != (len(states), width):
            raise ModelError(f"states of shape {before.shape}, and rows of this network have {width} numbers")
        if rows is not None:  # the kernel would read whatever is there
            rows = np.ascontiguousarray(rows, dtype=np.int64)
            if rows.shape != letters.shape or (len(rows) and (rows.min() < 0 or rows.max() >= len(states))):
                raise ModelError(f"rows {short_repr(rows.tolist())} of {len(states)} states for {len(letters)} letters")
        after = np.empty((len(letters), width), dtype=np.float32)
        origin = None if rows is None else _address_of(rows)
        self._advance(len(after), _address_of(before), origin, letters, _address_of(after))
        return after

    def run(self, words: WordBatch, tick: Tick, scores: Callable[[Array], Scores]) -> Scores:
        out = np.empty(len(words.codes), dtype=np.float64)
        order = np.argsort(-words.lengths, kind="stable")
        for start in range(0, len(order), _RUN_ROWS):
            picked = order[start : start + _RUN_ROWS]
            states, outputs = self.initial(len(picked)), np.empty((len(picked), len(self._columns)), dtype=np.float32)
            states_at, outputs_at = _address_of(states), _address_of(outputs)
            for at in self._portions(words.offsets[:-1][picked], words.lengths[picked]):
                tick(at.size)
                if at.shape[1] > _FEW_ROWS:
                    self._advance(at.size, states_at, None, words.codes[at[0]], states_at, outputs_at)
                    out[at[0]] = scores(outputs[: at.size])
                else:
                    out[at] = scores(self._read(words.codes[at], states_at)).reshape(at.shape)
        return out

    def _portions(self, starts: IntArray, lengths: IntArray) -> Iterator[IntArray]:
        """The positions of the letters read in each call, letters × words; longer words come first."""
        for done, end in itertools.pairwise(np.unique(np.append(lengths, 0)).tolist()):
            running = starts[: np.count_nonzero(lengths > done)]
            few = len(running) <= _FEW_ROWS
            at_once = max(1, _PRODUCTS_AT_ONCE // (len(running) * self._products)) if few else 1
            for start in range(done, end, at_once):
                yield running + np.arange(start, min(start + at_once, end))[:, None]

    def _read(self, letters: Letters, states: int) -> Array:
        """The outputs of the head after each of the letters (letters × words), all words of a letter together.

        The states at the address ``states`` are advanced past all letters.
        """
        letters = np.ascontiguousarray(letters, dtype=np.int64)
        out = np.empty((letters.size, len(self._columns)), dtype=np.float32)
        self._kernel.read(
            self._address, len(self._layers), self._layout.width, letters.shape[1], len(letters), _address_of(letters),
            states, self._columns_at, len(self._columns), _address_of(out),
            self._scratch("reading", self._reading_room), self._room,
        )  # fmt: skip
        return out

    def _advance(
        self, count: int, before: int, origin: int | None, letters: Letters, after: int, outputs: int | None = None
    ) -> None:
        """Write the states after the letters to the address ``after``, and the head's outputs to ``outputs``."""
        letters = np.ascontiguousarray(letters, dtype=np.int64)
        threads = 1 if count * self._products < TOO_LITTLE_TO_SPLIT else self._threads
        head = (None, 0, None) if outputs is None else (self._columns_at, len(self._columns), outputs)
        self._kernel.step(
            self._address, len(self._layers), self._layout.width, count, before, origin, _address_of(letters), after,
            *head, self._scratch("stepping", self._threads * self._room), self._room, threads,
        )  # fmt: skip

    def _scratch(self, use: str, numbers: int) -> int:
        """The address of memory for this many numbers, which belongs to this thread and use."""
        kept: dict[str, tuple[Array, int]] = self._local.__dict__
        if use not in kept:
            memory = np.empty(numbers, dtype=np.float32)
            kept[use] = memory, _address_of(memory)
        return kept[use][1]

    def _layer_struct(self, cell: CellType, number: int, layer: Layer) -> _Layer:
        assert cell.kernel is not None
        layout, numbers = self._layout, self.numbers[number]
        memory_at = layout.memory[number].start if cell.memory else 0
        below_at = layout.hidden[number - 1].start if number else 0
        inputs = layer.input_weight.shape[1] if number else 0
        places = (layout.hidden[number].start, memory_at, below_at)
        pointers = {name: _address_of(array) for name, array in numbers.items()}
        return _Layer(cell.kernel.number, layer.hidden, inputs, *places, **pointers)


def _address_of(array: Array) -> int:
    """The address of an array's numbers; ``array.ctypes.data`` takes three times as long, and steps are short."""
    if array.size and array.flags.c_contiguous and array.flags.writeable:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))  # type: ignore[arg-type] # it is a buffer
    return array.ctypes.data


def _units(cell: CellType, lanes: int) -> int:
    """The number of units in a group."""
    return lanes * (4 if cell.gates == 1 else 1)


def _padded_units(cell: CellType, layer: Layer, lanes: int) -> int:
    """The units of a layer, including those that pad the last group."""
    units = _units(cell, lanes)
    return -(-layer.hidden // units) * units


def _arrange_weights(cell: CellType, layer: Layer, table: Array | None, lanes: int) -> dict[str, Floats]:
    """The weights as the kernel reads them; the lowest layer has a ``table`` instead of input weights."""
    form = cell.kernel
    assert form is not None
    halves = [0.5 if gate in form.sigmoid_gates else 1.0 for gate in range(cell.gates)]
    read, units, size = 1 / cell.hidden_scale, _units(cell, lanes), layer.hidden

    def by_input(rows: Array, scale: float = 1.0) -> Floats:
        """Rows × gates·H as groups × rows × gates × units of a group, with zeros for padding units.

        Scales are powers of two, so the result is the same in any precision.
        """
        split = rows.reshape(len(rows), cell.gates, size)
        arranged = np.zeros(
            (_padded_units(cell, layer, lanes) // units, len(rows), cell.gates, units), dtype=np.float32
        )
        for start, group in zip(range(0, size, units), arranged, strict=True):
            some = split[..., start : start + units]
            np.multiply(
                some,
                scale * np.array(halves, dtype=np.float32)[:, None],
                out=group[..., : some.shape[-1]],
                casting="same_kind",
            )
        return arranged

    own = {"own": by_input(layer.recurrent_weight.T, read), "own_bias": by_input(_row(layer.recurrent_bias, layer))}
    if table is not None:
        return own | {"table": np.ascontiguousarray(by_input(table).transpose(1, 0, 2, 3))}
    return own | {
        "below": by_input(layer.input_weight.T, read),
        "below_bias": by_input(_row(layer.input_bias, layer)),
    }


def _row(bias: Array | None, layer: Layer) -> Array:
    return np.zeros((1, len(layer.recurrent_weight))) if bias is None else bias[None]
