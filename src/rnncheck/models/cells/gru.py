"""The gated recurrent unit, with PyTorch's reset gate: after the recurrent product."""

from __future__ import annotations

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
    input_rows,
    joined_rows,
    recurrent_rows,
    sigmoid,
    split_gates,
)
from rnncheck.models.protocol import Letters, States
from rnncheck.models.semantics import Numbers, Semantics, Terms


class GruLayer(CompiledLayer):
    """``h = (1 - z) n + z h`` with ``n = tanh(W x + b + r (U h + b'))`` and sigmoid gates r and z.

    The two parts of n are kept apart, so an upper layer has one product for both gates and one for each part.
    """

    spare_blocks = 1

    def _arrange(self, layer: Layer, table: Array | None) -> None:
        halves = np.repeat([0.5, 0.5, 1.0], self._size)
        self._table = None if table is None else self._gate_blocks(table * halves)
        lowest = table is not None
        own = recurrent_rows(layer) * 0.5  # n's recurrent part is halved too: it is multiplied by 2 r
        if lowest:
            self._weights = self._gate_blocks(own)
            return
        at_n = 2 * self._size
        joined = joined_rows(layer, True) * halves
        self._gates = self._gate_blocks(joined[:, :at_n])
        self._new_from_own = np.ascontiguousarray(own[:, at_n:], dtype=self._dtype)
        self._new_from_below = np.ascontiguousarray(input_rows(layer)[:, at_n:], dtype=self._dtype)

    def advance(self, rows: States, letters: Letters, scratch: Scratch, siblings: Siblings | None = None) -> None:
        z = scratch.gates(4, len(rows), self._size)
        reset_update, from_own, new = z[:2], z[2], z[3]
        if self._table is not None:
            self._multiply(rows, self._weights, z[:3], scratch, siblings)
            add_rows(reset_update, self._table[:2], letters, scratch)
            self._table[2].take(letters, axis=0, out=new, mode="clip")
        else:
            self._multiply(rows, self._gates, reset_update, scratch, siblings)
            self._multiply(rows, self._new_from_own, from_own, scratch, siblings)
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


class Gru(CellType):
    """``h = (1 - z) n + z h``."""

    gates = 3
    torch = TorchForm("GRU", "gru")
    onnx = OnnxForm("GRU", ("sigmoid", "tanh"), (1, 0, 2))
    kernel = KernelForm(2, (0, 1))
    compiled = GruLayer

    def step(self, layer: Layer, x: Vector, h: Vector, c: Vector) -> tuple[Vector, Vector]:
        from_input, from_hidden = contributions(layer, x, h)
        reset_x, update_x, new_x = split_gates(from_input, 3)
        reset_h, update_h, new_h = split_gates(from_hidden, 3)
        reset = sigmoid(reset_x + reset_h)
        update = sigmoid(update_x + update_h)
        new = np.tanh(new_x + reset * new_h)
        return (1 - update) * new + update * h, c

    def step_on(
        self, on: Semantics[Numbers, Terms], layer: Layer, x: Numbers, h: Numbers, c: Numbers
    ) -> tuple[Numbers, Numbers]:
        from_input, from_hidden = contributions_on(on, layer, x, h)
        size = layer.hidden
        at_reset, at_update, at_new = slice(0, size), slice(size, 2 * size), slice(2 * size, 3 * size)
        reset = on.sigmoid(on.computed(from_input[at_reset] + from_hidden[at_reset]))
        update = on.keeping(on.sigmoid(on.computed(from_input[at_update] + from_hidden[at_update])))
        new = on.tanh(on.computed(from_input[at_new] + from_hidden[at_new].times(reset)))
        return on.blend(update, new, h), c
