"""A cell type as a newcomer would write it: an LSTM whose forget gate also decides how much is let in.

Tests register it, and copy this file into ``models/cells`` as `CONTRIBUTING.md` says.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rnncheck.models.cells.cell_type import (
    Array,
    CellType,
    CompiledLayer,
    Layer,
    Scratch,
    Siblings,
    StateLayout,
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


class CoupledLayer(CompiledLayer):
    """``c = f c + (1 - f) g`` and ``h = o tanh(c)``, with gates ordered f, g, o."""

    def __init__(
        self, number: int, layer: Layer, layout: StateLayout, inputs: Array | None, dtype: npt.DTypeLike
    ) -> None:
        self._memory = layout.memory[number]
        super().__init__(number, layer, layout, inputs, dtype)

    def _arrange(self, layer: Layer, table: Array | None) -> None:
        halves = np.repeat([0.5, 1.0, 0.5], self._size)
        self._weights = self._gate_blocks(joined_rows(layer, table is None) * halves)
        self._table = None if table is None else self._gate_blocks(table * halves)

    def advance(self, rows: States, letters: Letters, scratch: Scratch, siblings: Siblings | None = None) -> None:
        z = scratch.gates(3, len(rows), self._size)
        self._multiply(rows, self._weights, z, scratch, siblings)
        if self._table is not None:
            add_rows(z, self._table, letters, scratch)
        forget, new, output = np.tanh(z)
        memory = rows[:, self._memory]
        memory[:] = new + (memory - new) * ((1 + forget) / 2)
        rows[:, self._hidden] = (1 + output) / 2 * np.tanh(memory)


class Coupled(CellType):
    """``c = f c + (1 - f) g`` and ``h = o tanh(c)``."""

    gates = 3
    memory = True
    compiled = CoupledLayer

    def step(self, layer: Layer, x: Vector, h: Vector, c: Vector) -> tuple[Vector, Vector]:
        from_input, from_hidden = contributions(layer, x, h)
        forget, new, output = split_gates(from_input + from_hidden, 3)
        keep = sigmoid(forget)
        c = keep * c + (1 - keep) * np.tanh(new)
        return sigmoid(output) * np.tanh(c), c

    def step_on(
        self, on: Semantics[Numbers, Terms], layer: Layer, x: Numbers, h: Numbers, c: Numbers
    ) -> tuple[Numbers, Numbers]:
        from_input, from_hidden = contributions_on(on, layer, x, h)
        gates, size = from_input + from_hidden, layer.hidden
        forget, new, output = (on.computed(gates[gate * size : (gate + 1) * size]) for gate in range(3))
        c = on.blend(on.keeping(on.sigmoid(forget)), on.tanh(new), c)
        return on.computed(on.products((on.sigmoid(output), on.tanh(c)))), c
