"""The parts of every cell type: its weights, its reference step, and its layer in the engine.

The reference step is the textbook's formula for one word. The engine's layer is compared with it: they share no code.

The engine reads many words per step, in place, with one batched matrix product per layer. The state of a word is one
row of numbers::

    1 h₁ 1 h₂ … 1 hₙ c₁ c₂ … cₙ        (the c only for cells with a memory)

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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from rnncheck.models.protocol import Letters, States
from rnncheck.models.semantics import Numbers, Semantics, Terms
from rnncheck.words import IntArray

Floats: TypeAlias = npt.NDArray[np.float32]
Array: TypeAlias = npt.NDArray[Any]
Vector: TypeAlias = npt.NDArray[Any]

_FITS_IN_CACHE = 1 << 16  # numbers; up to this size, fewer calls matter more than locality
_FAR_AWAY = 1 << 22  # bytes of a matrix that each vector would have to fetch from memory
_ROWS_AT_ONCE = 64
SIBLINGS = 2  # the rows that continue one state, on average, from which its products are worth keeping


@dataclass(frozen=True, eq=False)
class Layer:
    """One recurrent layer; gates as PyTorch has them (LSTM: input, forget, cell, output; GRU: reset, update, new)."""

    input_weight: Floats  # gates·H × inputs
    recurrent_weight: Floats  # gates·H × H
    input_bias: Floats | None = None
    recurrent_bias: Floats | None = None

    @property
    def hidden(self) -> int:
        return int(self.recurrent_weight.shape[1])


@dataclass(frozen=True)
class OnnxForm:
    """How ONNX writes a cell: the operator, its activations, and where our gates stand in its order."""

    operator: str
    activations: tuple[str, ...]
    gate_order: tuple[int, ...]


@dataclass(frozen=True)
class TorchForm:
    """How PyTorch writes a cell: the class of its layer in ``torch.nn``, with options, and the function it calls."""

    layer: str
    function: str
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class KernelForm:
    """A cell in the compiled kernel: its number there, and which gates are sigmoid ones."""

    number: int
    sigmoid_gates: tuple[int, ...] = ()


class CellType(ABC):
    """A kind of recurrent cell: everything that rnncheck needs to know about it.

    ``gates`` is the height of a weight matrix over H. ``memory``: it keeps a second vector between letters.
    ``bounded``: its values stay in fixed bounds whatever it reads. ``hidden_scale``: the factor by which h is
    multiplied in the engine's rows. ``torch`` and ``onnx`` say how these libraries write it; a cell that PyTorch does
    not have can be verified, but not trained. ``kernel``: its form in the compiled kernel, if it has one.
    """

    gates: ClassVar[int]
    memory: ClassVar[bool] = False
    bounded: ClassVar[bool] = True
    hidden_scale: ClassVar[float] = 1.0
    torch: ClassVar[TorchForm | None] = None
    onnx: ClassVar[OnnxForm | None] = None
    kernel: ClassVar[KernelForm | None] = None
    compiled: ClassVar[type[CompiledLayer]]

    @abstractmethod
    def step(self, layer: Layer, x: Vector, h: Vector, c: Vector) -> tuple[Vector, Vector]:
        """The reference: hidden state and memory after one more input, for one word or for several, one per row."""

    def step_on(
        self, on: Semantics[Numbers, Terms], layer: Layer, x: Numbers, h: Numbers, c: Numbers
    ) -> tuple[Numbers, Numbers]:
        """The same step on the numbers of ``on``: intervals of states, or tensors to train.

        By default nothing is known of the next state, and nothing can be proved about the cell.
        """
        return on.unknown(x, h), on.unknown(x, c)

    def open_gates(self, input_bias: Array, hidden: int) -> None:  # noqa: B027 - most cells have nothing to open
        """Change the initial bias of training, so that a new network does not forget at once."""


class StateLayout:
    """The columns of a state row."""

    def __init__(self, cell: CellType, layers: Sequence[Layer]) -> None:
        ends = np.cumsum([1 + layer.hidden for layer in layers]).tolist()
        self.hidden = [slice(end - layer.hidden, end) for end, layer in zip(ends, layers, strict=True)]
        self.ones = [hidden.start - 1 for hidden in self.hidden]
        self.memory: list[slice] = []
        self.width = int(ends[-1])
        if cell.memory:
            for layer in layers:
                self.memory.append(slice(self.width, self.width + layer.hidden))
                self.width += layer.hidden
        self.read_by_head = slice(self.ones[-1], self.hidden[-1].stop)


class Scratch:
    """Memory for the gates of one block of rows, reused by one thread."""

    def __init__(self, rows: int, cell: CellType, hidden: int, dtype: npt.DTypeLike) -> None:
        blocks = cell.gates + cell.compiled.spare_blocks
        self._gates = np.empty(blocks * rows * hidden, dtype=dtype)
        self._spare = np.empty(max(rows * hidden, _FITS_IN_CACHE), dtype=dtype)
        self._shared = np.empty(cell.gates * rows * hidden // SIBLINGS, dtype=dtype)

    def gates(self, count: int, rows: int, hidden: int) -> Array:
        return self._gates[: count * rows * hidden].reshape(count, rows, hidden)

    def spare(self, *shape: int) -> Array:
        return self._spare[: math.prod(shape)].reshape(shape)

    def shared(self, *shape: int) -> Array:
        return self._shared[: math.prod(shape)].reshape(shape)


@dataclass(frozen=True)
class Siblings:
    """Rows that continue the same states by several letters: each state once, and the state that each row continues.

    Everything that a layer computes from its own last state alone is the same for siblings.
    """

    states: States
    of_row: IntArray

    @classmethod
    def among(cls, states: States, rows: IntArray) -> Siblings | None:
        """Where neighbours in ``rows`` continue the same state, ``SIBLINGS`` of them on average; else None."""
        first = np.empty(len(rows), dtype=np.bool_)
        first[:1] = True
        np.not_equal(rows[1:], rows[:-1], out=first[1:])
        if SIBLINGS * np.count_nonzero(first) > len(rows):
            return None
        return cls(states[rows[first]], np.cumsum(first) - 1)


class CompiledLayer(ABC):
    """One layer over state rows. ``advance`` reads the new hidden state of the layer below, or a letter.

    ``spare_blocks``: the working memory that it needs beyond the gates of the cell, in blocks of one gate.
    """

    spare_blocks: ClassVar[int] = 0

    def __init__(
        self, number: int, layer: Layer, layout: StateLayout, inputs: Array | None, dtype: npt.DTypeLike
    ) -> None:
        self._size = layer.hidden
        self._hidden = layout.hidden[number]
        self._own = slice(layout.ones[number], self._hidden.stop)
        self._below = slice(layout.hidden[number - 1].start, layout.ones[number] + 1) if number else None
        self._dtype = dtype
        self._arrange(layer, None if inputs is None else letter_table(layer, inputs))

    @abstractmethod
    def _arrange(self, layer: Layer, table: Array | None) -> None:
        """Arrange the weights; ``table`` is the lowest layer's input part, letters × gates·H, in double precision."""

    @abstractmethod
    def advance(self, rows: States, letters: Letters, scratch: Scratch, siblings: Siblings | None = None) -> None:
        """Read one letter in every row, in place; ``siblings`` has the rows as they were before, if they share them."""

    def _multiply(self, rows: States, weights: Array, out: Array, scratch: Scratch, siblings: Siblings | None) -> None:
        """Weights for (1, h), or for (h of the layer below, 1, h), times the rows; siblings share their part."""
        from_below = weights.shape[-2] - 1 - self._size
        own = self._own.start
        if siblings is None:
            np.matmul(rows[:, own - from_below : self._own.stop], weights, out=out)
            return
        shared = scratch.shared(*out.shape[:-2], len(siblings.states), self._size)
        np.matmul(siblings.states[:, self._own], weights[..., from_below:, :], out=shared)
        if from_below:
            np.matmul(rows[:, own - from_below : own], weights[..., :from_below, :], out=out)
            add_rows(out, shared, siblings.of_row, scratch)
        else:
            shared.take(siblings.of_row, axis=-2, out=out, mode="clip")

    def _gate_blocks(self, weight: Array) -> Array:
        """Weights (inputs × gates·H) as gates × inputs × H."""
        split = weight.reshape(len(weight), -1, self._size).transpose(1, 0, 2)
        return np.ascontiguousarray(split, dtype=self._dtype)


def compile_layers(
    cell: CellType, layers: Sequence[Layer], inputs: Floats, layout: StateLayout, dtype: npt.DTypeLike
) -> Sequence[CompiledLayer]:
    """The layers of a network, lowest first; ``inputs`` has the vector that is fed for each letter."""
    return [
        cell.compiled(number, layer, layout, None if number else inputs, dtype) for number, layer in enumerate(layers)
    ]


def add_rows(z: Array, table: Array, chosen: IntArray | Letters, scratch: Scratch) -> None:
    """Add to each word, in every gate, the chosen row of the table, such as that of its letter."""
    if z.size <= _FITS_IN_CACHE:
        spare = scratch.spare(*z.shape)
        table.take(chosen, axis=1, out=spare, mode="clip")
        z += spare
        return
    spare = scratch.spare(*z.shape[1:])
    for gate, gate_table in zip(z, table, strict=True):
        gate_table.take(chosen, axis=0, out=spare, mode="clip")
        gate += spare


def _bias(bias: Array | None, like: Array) -> Array:
    return np.zeros(len(like)) if bias is None else bias.astype(np.float64)


def letter_table(layer: Layer, inputs: Array) -> Array:
    """The contribution of each letter: letters × gates·H, the input bias included."""
    product = inputs.astype(np.float64) @ layer.input_weight.T.astype(np.float64)
    return np.asarray(product + _bias(layer.input_bias, layer.input_weight))


def input_rows(layer: Layer) -> Array:
    """Rows to multiply with (h of the layer below, 1)."""
    return np.vstack([layer.input_weight.T.astype(np.float64), _bias(layer.input_bias, layer.input_weight)])


def recurrent_rows(layer: Layer) -> Array:
    """Rows to multiply with (1, h)."""
    return np.vstack([_bias(layer.recurrent_bias, layer.recurrent_weight), layer.recurrent_weight.T.astype(np.float64)])


def joined_rows(layer: Layer, upper: bool) -> Array:
    """Rows to multiply with (h of the layer below, 1, h), or with (1, h) in the lowest layer."""
    own = recurrent_rows(layer)
    if not upper:
        return own
    below = input_rows(layer)
    return np.vstack([below[:-1], below[-1] + own[0], own[1:]])


def sigmoid(x: Vector) -> Vector:
    return np.asarray(1 / (1 + np.exp(-x)))


def split_gates(x: Vector, count: int) -> list[Vector]:
    """The part of each gate along the last axis; ``np.split`` does the same but takes as long as a small product."""
    size = x.shape[-1] // count
    return [x[..., gate * size : (gate + 1) * size] for gate in range(count)]


def row_products(weight: Vector, x: Vector) -> Vector:
    """The product of a matrix and a vector, or of the matrix and each row: bit by bit the product of the row alone.

    A matrix that fits in no cache is multiplied some rows at a time, each block with all vectors.
    """
    if x.ndim == 1:
        return np.asarray(weight @ x)
    if weight.nbytes <= _FAR_AWAY or len(x) == 1:
        return np.asarray(np.matmul(weight, x[..., None])[..., 0])
    product = np.empty((len(x), len(weight)), dtype=np.result_type(weight, x))
    for start in range(0, len(weight), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        product[:, rows] = np.matmul(weight[rows], x[..., None])[..., 0]
    return product


def _affine(weight: Vector, x: Vector, bias: Vector | None) -> Vector:
    product = row_products(weight, x)
    return np.asarray(product if bias is None else product + bias)


def contributions(layer: Layer, x: Vector, h: Vector) -> tuple[Vector, Vector]:
    """The contributions of the input weights and of the recurrent weights to all gates."""
    return _affine(layer.input_weight, x, layer.input_bias), _affine(layer.recurrent_weight, h, layer.recurrent_bias)


def contributions_on(on: Semantics[Numbers, Terms], layer: Layer, x: Numbers, h: Numbers) -> tuple[Terms, Terms]:
    """The same on the numbers of ``on``."""
    return (
        on.affine(layer.input_weight, layer.input_bias, x),
        on.affine(layer.recurrent_weight, layer.recurrent_bias, h),
    )
