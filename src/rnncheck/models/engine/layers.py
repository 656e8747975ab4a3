"""Recurrent layers arranged for speed: many words a step, in place, one batched matrix product a layer.

The state of a word is one row of numbers::

    1 h₁ 1 h₂ … 1 hₙ c₁ c₂ … cₙ        (the c only for LSTM)

A layer reads the columns from the layer below up to its own hidden state in one product; the column of ones between
them carries the biases. The lowest layer reads a table instead, with one row for each letter. Gates stand one after
another as blocks of rows (gates × words × hidden), so that all element-wise work runs over contiguous memory.

Two exact rearrangements save passes over memory. ``sigmoid(x) = (1 + tanh(x / 2)) / 2``: sigmoid gates have their
weights halved, one ``tanh`` serves all gates, and what remains is to add one and to halve. Halving is moved into
weights wherever it can be (powers of two do not round): an LSTM's row holds ``2 h``, and every weight that reads it
is halved.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from rnncheck.models.network import Cell, Layer, RecurrentNetwork
from rnncheck.models.protocol import Letters, States

Array: TypeAlias = npt.NDArray[Any]

_FITS_IN_CACHE = 1 << 16  # numbers; up to this size, fewer calls matter more than locality


class StateLayout:
    """Which columns of a state row hold what."""

    def __init__(self, network: RecurrentNetwork) -> None:
        ends = np.cumsum([1 + layer.hidden for layer in network.layers]).tolist()
        self.hidden = [slice(end - layer.hidden, end) for end, layer in zip(ends, network.layers, strict=True)]
        self.ones = [hidden.start - 1 for hidden in self.hidden]
        self.memory: list[slice] = []
        self.width = int(ends[-1])
        if network.cell is Cell.LSTM:
            for layer in network.layers:
                self.memory.append(slice(self.width, self.width + layer.hidden))
                self.width += layer.hidden
        self.read_by_head = slice(self.ones[-1], self.hidden[-1].stop)


class Scratch:
    """Memory for the gates of one block of rows, used over and over by one thread."""

    def __init__(self, rows: int, network: RecurrentNetwork, dtype: npt.DTypeLike) -> None:
        hidden = max(layer.hidden for layer in network.layers)
        blocks = network.cell.gates + (1 if network.cell is Cell.GRU else 0)
        self._gates = np.empty(blocks * rows * hidden, dtype=dtype)
        self._spare = np.empty(max(rows * hidden, _FITS_IN_CACHE), dtype=dtype)

    def gates(self, count: int, rows: int, hidden: int) -> Array:
        return self._gates[: count * rows * hidden].reshape(count, rows, hidden)

    def spare(self, *shape: int) -> Array:
        return self._spare[: math.prod(shape)].reshape(shape)


class CompiledLayer(ABC):
    """One layer over state rows. ``advance`` reads the layer below's new hidden state, or a letter."""

    def __init__(
        self, number: int, layer: Layer, layout: StateLayout, inputs: Array | None, dtype: npt.DTypeLike
    ) -> None:
        self._size = layer.hidden
        self._hidden = layout.hidden[number]
        self._own = slice(layout.ones[number], self._hidden.stop)
        self._below = slice(layout.hidden[number - 1].start, layout.ones[number] + 1) if number else None
        self._all = slice(self._below.start, self._hidden.stop) if self._below else self._own
        self._dtype = dtype
        self._arrange(layer, None if inputs is None else _table(layer, inputs))

    @abstractmethod
    def _arrange(self, layer: Layer, table: Array | None) -> None:
        """Take the weights; ``table`` has the lowest layer's input part, letters × gates·H, in double precision."""

    @abstractmethod
    def advance(self, rows: States, letters: Letters, scratch: Scratch) -> None:
        """Read one letter in every row, in place."""

    def _gate_blocks(self, weight: Array) -> Array:
        """Weights (inputs × gates·H) as gates × inputs × H."""
        split = weight.reshape(len(weight), -1, self._size).transpose(1, 0, 2)
        return np.ascontiguousarray(split, dtype=self._dtype)


class ElmanLayer(CompiledLayer):
    """``h = f(W x + U h + b)``."""

    def _arrange(self, layer: Layer, table: Array | None) -> None:
        self._weights = self._gate_blocks(_joined(layer, table is None))
        self._table = None if table is None else self._gate_blocks(table)

    def advance(self, rows: States, letters: Letters, scratch: Scratch) -> None:
        z = scratch.gates(1, len(rows), self._size)
        np.matmul(rows[:, self._all], self._weights, out=z)
        if self._table is not None:
            _add_table_rows(z, self._table, letters, scratch)
        self._activate(z[0], rows[:, self._hidden])

    @abstractmethod
    def _activate(self, z: Array, out: Array) -> None: ...


class TanhLayer(ElmanLayer):
    def _activate(self, z: Array, out: Array) -> None:
        np.tanh(z, out=out)


class ReluLayer(ElmanLayer):
    def _activate(self, z: Array, out: Array) -> None:
        np.maximum(z, 0, out=out)


class GruLayer(CompiledLayer):
    """``h = (1 - z) n + z h`` with ``n = tanh(W x + b + r (U h + b'))`` and sigmoid gates r and z.

    The two parts of n are kept apart, so an upper layer has one product for both gates and one for each part.
    """

    def _arrange(self, layer: Layer, table: Array | None) -> None:
        halves = np.repeat([0.5, 0.5, 1.0], self._size)
        self._table = None if table is None else self._gate_blocks(table * halves)
        lowest = table is not None
        own = _recurrent(layer) * 0.5  # n's recurrent part is halved too: it is multiplied by 2 r
        if lowest:
            self._weights = self._gate_blocks(own)
            return
        at_n = 2 * self._size
        joined = _joined(layer, True) * halves
        self._gates = self._gate_blocks(joined[:, :at_n])
        self._new_from_own = np.ascontiguousarray(own[:, at_n:], dtype=self._dtype)
        self._new_from_below = np.ascontiguousarray(_input(layer)[:, at_n:], dtype=self._dtype)

    def advance(self, rows: States, letters: Letters, scratch: Scratch) -> None:
        z = scratch.gates(4, len(rows), self._size)
        reset_update, from_own, new = z[:2], z[2], z[3]
        if self._table is not None:
            np.matmul(rows[:, self._own], self._weights, out=z[:3])
            _add_table_rows(reset_update, self._table[:2], letters, scratch)
            self._table[2].take(letters, axis=0, out=new, mode="clip")
        else:
            np.matmul(rows[:, self._all], self._gates, out=reset_update)
            np.matmul(rows[:, self._own], self._new_from_own, out=from_own)
            np.matmul(rows[:, self._below], self._new_from_below, out=new)
        np.tanh(reset_update, out=reset_update)
        reset_update += 1
        from_own *= reset_update[0]
        new += from_own
        np.tanh(new, out=new)
        hidden = rows[:, self._hidden]
        np.subtract(hidden, new, out=from_own)
        from_own *= reset_update[1]
        from_own *= 0.5
        np.add(new, from_own, out=hidden)


class LstmLayer(CompiledLayer):
    """``c = f c + i g`` and ``h = o tanh(c)``, with gates ordered i, f, o, g: sigmoid ones first."""

    def __init__(
        self, number: int, layer: Layer, layout: StateLayout, inputs: Array | None, dtype: npt.DTypeLike
    ) -> None:
        self._memory = layout.memory[number]
        super().__init__(number, layer, layout, inputs, dtype)

    def _arrange(self, layer: Layer, table: Array | None) -> None:
        halves = np.repeat([0.5, 0.5, 1.0, 0.5], self._size)
        weights = _joined(layer, table is None) * halves
        ones = self._own.start - self._all.start
        weights[np.arange(len(weights)) != ones] *= 0.5  # every row but the biases' reads 2 h
        order = [0, 1, 3, 2]
        self._weights = self._gate_blocks(weights)[order]
        self._table = None if table is None else self._gate_blocks(table * halves)[order]

    def advance(self, rows: States, letters: Letters, scratch: Scratch) -> None:
        z = scratch.gates(4, len(rows), self._size)
        np.matmul(rows[:, self._all], self._weights, out=z)
        if self._table is not None:
            _add_table_rows(z, self._table, letters, scratch)
        np.tanh(z, out=z)
        z[:3] += 1
        enter, forget, output, new = z
        memory = rows[:, self._memory]
        spare = scratch.spare(len(rows), self._size)
        np.multiply(memory, forget, out=spare)
        new *= enter
        spare += new
        np.multiply(spare, 0.5, out=memory)
        np.tanh(memory, out=spare)
        np.multiply(spare, output, out=rows[:, self._hidden])


_LAYERS: dict[Cell, type[CompiledLayer]] = {
    Cell.RNN_TANH: TanhLayer,
    Cell.RNN_RELU: ReluLayer,
    Cell.GRU: GruLayer,
    Cell.LSTM: LstmLayer,
}

HIDDEN_SCALE = {Cell.RNN_TANH: 1.0, Cell.RNN_RELU: 1.0, Cell.GRU: 1.0, Cell.LSTM: 2.0}  # rows hold scale · h


def compile_layers(network: RecurrentNetwork, layout: StateLayout, dtype: npt.DTypeLike) -> Sequence[CompiledLayer]:
    """The layers of a network, lowest first."""
    kind = _LAYERS[network.cell]
    return [
        kind(number, layer, layout, None if number else network.inputs, dtype)
        for number, layer in enumerate(network.layers)
    ]


def _add_table_rows(z: Array, table: Array, letters: Letters, scratch: Scratch) -> None:
    """Add to each word, in every gate, the table's row for its letter."""
    if z.size <= _FITS_IN_CACHE:
        spare = scratch.spare(*z.shape)
        table.take(letters, axis=1, out=spare, mode="clip")
        z += spare
        return
    spare = scratch.spare(*z.shape[1:])
    for gate, gate_table in zip(z, table, strict=True):
        gate_table.take(letters, axis=0, out=spare, mode="clip")
        gate += spare


def _bias(bias: Array | None, like: Array) -> Array:
    return np.zeros(len(like)) if bias is None else bias.astype(np.float64)


def _table(layer: Layer, inputs: Array) -> Array:
    """What each letter contributes: letters × gates·H, the input bias included."""
    product = inputs.astype(np.float64) @ layer.input_weight.T.astype(np.float64)
    return np.asarray(product + _bias(layer.input_bias, layer.input_weight))


def _input(layer: Layer) -> Array:
    """Rows to multiply with (h of the layer below, 1)."""
    return np.vstack([layer.input_weight.T.astype(np.float64), _bias(layer.input_bias, layer.input_weight)])


def _recurrent(layer: Layer) -> Array:
    """Rows to multiply with (1, h)."""
    return np.vstack([_bias(layer.recurrent_bias, layer.recurrent_weight), layer.recurrent_weight.T.astype(np.float64)])


def _joined(layer: Layer, upper: bool) -> Array:
    """Rows to multiply with (h of the layer below, 1, h), or with (1, h) in the lowest layer."""
    own = _recurrent(layer)
    if not upper:
        return own
    below = _input(layer)
    return np.vstack([below[:-1], below[-1] + own[0], own[1:]])
