"""Long short-term memory."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rnncheck.models.cells.cell_type import (
    Array,
    CellType,
    CompiledLayer,
    KernelForm,
    Layer,
    OnnxForm,
    Scratch,
    Siblings,
    StateLayout,
    TorchForm,
    Vector,
    add_rows,
    contributions,
    contributions_on,
    joined_rows,
    sigmoid,
    split_gates,
)
from rnncheck.models.protocol import Letters, States
from rnncheck.models.semantics import Numbers, Semantics, Terms


class LstmLayer(CompiledLayer):
    """``c = f c + i g`` and ``h = o tanh(c)``, with gates ordered i, f, o, g: sigmoid ones first."""

    def __init__(
        self, number: int, layer: Layer, layout: StateLayout, inputs: Array | None, dtype: npt.DTypeLike
    ) -> None:
        self._memory = layout.memory[number]
        super().__init__(number, layer, layout, inputs, dtype)

    def _arrange(self, layer: Layer, table: Array | None) -> None:
        halves = np.repeat([0.5, 0.5, 1.0, 0.5], self._size)
        weights = joined_rows(layer, table is None) * halves
        ones = len(weights) - 1 - self._size
        weights[np.arange(len(weights)) != ones] *= 0.5  # every row but the biases' reads 2 h
        order = [0, 1, 3, 2]
        self._weights = self._gate_blocks(weights)[order]
        self._table = None if table is None else self._gate_blocks(table * halves)[order]

    def advance(self, rows: States, letters: Letters, scratch: Scratch, siblings: Siblings | None = None) -> None:
        z = scratch.gates(4, len(rows), self._size)
        self._multiply(rows, self._weights, z, scratch, siblings)
        if self._table is not None:
            add_rows(z, self._table, letters, scratch)
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


class Lstm(CellType):
    """``c = f c + i g`` and ``h = o tanh(c)``."""

    gates = 4
    memory = True
    hidden_scale = 2.0
    torch = TorchForm("LSTM", "lstm")
    onnx = OnnxForm("LSTM", ("sigmoid", "tanh", "tanh"), (0, 2, 3, 1))
    kernel = KernelForm(3, (0, 1, 3))
    compiled = LstmLayer

    def step(self, layer: Layer, x: Vector, h: Vector, c: Vector) -> tuple[Vector, Vector]:
        from_input, from_hidden = contributions(layer, x, h)
        enter, forget, new, output = split_gates(from_input + from_hidden, 4)
        c = sigmoid(forget) * c + sigmoid(enter) * np.tanh(new)
        return sigmoid(output) * np.tanh(c), c

    def step_on(
        self, on: Semantics[Numbers, Terms], layer: Layer, x: Numbers, h: Numbers, c: Numbers
    ) -> tuple[Numbers, Numbers]:
        from_input, from_hidden = contributions_on(on, layer, x, h)
        gates, size = from_input + from_hidden, layer.hidden
        enter, forget, new, output = (on.computed(gates[gate * size : (gate + 1) * size]) for gate in range(4))
        c = on.computed(on.products((on.keeping(on.sigmoid(forget)), c), (on.sigmoid(enter), on.tanh(new))))
        return on.computed(on.products((on.sigmoid(output), on.tanh(c)))), c

    def open_gates(self, input_bias: Array, hidden: int) -> None:
        input_bias[hidden : 2 * hidden] += 1.0  # the forget gate
