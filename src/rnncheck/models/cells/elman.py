"""Elman's cell: ``h = f(W x + U h + b)`` with tanh or relu for f."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from rnncheck.models.cells.cell_type import (
    Array,
    CellType,
    CompiledLayer,
    KernelForm,
    Layer,
    OnnxForm,
    Scratch,
    Siblings,
    TorchForm,
    Vector,
    add_rows,
    contributions,
    contributions_on,
    joined_rows,
)
from rnncheck.models.protocol import Letters, States
from rnncheck.models.semantics import Numbers, Semantics, Terms


class ElmanLayer(CompiledLayer):
    """``h = f(W x + U h + b)``."""

    def _arrange(self, layer: Layer, table: Array | None) -> None:
        self._weights = self._gate_blocks(joined_rows(layer, table is None))
        self._table = None if table is None else self._gate_blocks(table)

    def advance(self, rows: States, letters: Letters, scratch: Scratch, siblings: Siblings | None = None) -> None:
        z = scratch.gates(1, len(rows), self._size)
        self._multiply(rows, self._weights, z, scratch, siblings)
        if self._table is not None:
            add_rows(z, self._table, letters, scratch)
        self._activate(z[0], rows[:, self._hidden])

    @abstractmethod
    def _activate(self, z: Array, out: Array) -> None: ...


class TanhLayer(ElmanLayer):
    def _activate(self, z: Array, out: Array) -> None:
        np.tanh(z, out=out)


class ReluLayer(ElmanLayer):
    def _activate(self, z: Array, out: Array) -> None:
        np.maximum(z, 0, out=out)


class ElmanTanh(CellType):
    """With tanh."""

    gates = 1
    torch = TorchForm("RNN", "rnn_tanh", {"nonlinearity": "tanh"})
    onnx = OnnxForm("RNN", ("tanh",), (0,))
    kernel = KernelForm(0)
    compiled = TanhLayer

    def step(self, layer: Layer, x: Vector, h: Vector, c: Vector) -> tuple[Vector, Vector]:
        from_input, from_hidden = contributions(layer, x, h)
        return np.tanh(from_input + from_hidden), c

    def step_on(
        self, on: Semantics[Numbers, Terms], layer: Layer, x: Numbers, h: Numbers, c: Numbers
    ) -> tuple[Numbers, Numbers]:
        from_input, from_hidden = contributions_on(on, layer, x, h)
        return on.tanh(on.computed(from_input + from_hidden)), c


class ElmanRelu(CellType):
    """With max(0, ·), whose values may grow without bound."""

    gates = 1
    bounded = False
    torch = TorchForm("RNN", "rnn_relu", {"nonlinearity": "relu"})
    onnx = OnnxForm("RNN", ("relu",), (0,))
    kernel = KernelForm(1)
    compiled = ReluLayer

    def step(self, layer: Layer, x: Vector, h: Vector, c: Vector) -> tuple[Vector, Vector]:
        from_input, from_hidden = contributions(layer, x, h)
        return np.maximum(from_input + from_hidden, 0), c

    def step_on(
        self, on: Semantics[Numbers, Terms], layer: Layer, x: Numbers, h: Numbers, c: Numbers
    ) -> tuple[Numbers, Numbers]:
        from_input, from_hidden = contributions_on(on, layer, x, h)
        return on.relu(on.computed(from_input + from_hidden)), c
