"""A layer that the compiled kernel advances, in place of the numpy layers of ``models/cells``."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from rnncheck.models.cells.cell_type import (
    Array,
    CellType,
    CompiledLayer,
    Floats,
    Layer,
    Scratch,
    Siblings,
    StateLayout,
    address_of,
    input_rows,
    recurrent_rows,
)
from rnncheck.models.engine.kernel import Kernel
from rnncheck.models.protocol import Letters, States


class _Layer(ctypes.Structure):
    """``struct layer`` of kernel.c."""

    _fields_: ClassVar = [
        *((name, ctypes.c_int64) for name in ("cell", "size", "inputs", "hidden_at", "memory_at", "below_at")),
        *((name, ctypes.c_void_p) for name in ("own", "own_bias", "below", "below_bias", "table")),
    ]


class KernelLayer(CompiledLayer):
    """One layer over state rows, in float32; kernel.c says how the numbers are arranged."""

    def __init__(
        self, kernel: Kernel, cell: CellType, number: int, layer: Layer, layout: StateLayout, inputs: Array | None
    ) -> None:
        self._kernel, self._cell = kernel, cell
        self._memory_at = layout.memory[number].start if cell.memory else 0
        super().__init__(number, layer, layout, inputs, np.float32)

    def _arrange(self, layer: Layer, table: Array | None) -> None:
        form = self._cell.kernel
        assert form is not None
        scales = np.repeat([0.5 if gate in form.sigmoid_gates else 1.0 for gate in range(self._cell.gates)], self._size)
        own, below = recurrent_rows(layer) * scales, input_rows(layer) * scales
        read = 1 / self._cell.hidden_scale
        self._numbers = {"own": self._by_input(own[1:] * read), "own_bias": self._by_input(own[:1])}
        if table is None:
            self._numbers |= {"below": self._by_input(below[:-1] * read), "below_bias": self._by_input(below[-1:])}
        else:
            self._numbers["table"] = np.ascontiguousarray(self._groups(table * scales).transpose(1, 2, 0, 3))
        pointers = {name: address_of(array) for name, array in self._numbers.items()}
        below_at = 0 if self._below is None else self._below.start
        inputs = 0 if table is not None else len(below) - 1
        places = (self._hidden.start, self._memory_at, below_at)
        self._layer = _Layer(form.number, self._size, inputs, *places, **pointers)
        self._address = ctypes.addressof(self._layer)

    def _groups(self, rows: Array) -> Array:
        """Rows × gates·H as gates × rows × groups × units of a group, with zeros for units that there are not."""
        gates = self._cell.gates
        units = self._kernel.lanes * (4 if gates == 1 else 1)
        groups = -(-self._size // units)
        padded = np.zeros((gates, len(rows), groups * units), dtype=np.float32)
        padded[..., : self._size] = rows.reshape(len(rows), gates, self._size).transpose(1, 0, 2)
        return padded.reshape(gates, len(rows), groups, units)

    def _by_input(self, rows: Array) -> Floats:
        return np.ascontiguousarray(self._groups(rows).transpose(2, 1, 0, 3))

    def advance(self, rows: States, letters: Letters, scratch: Scratch, siblings: Siblings | None = None) -> None:
        letters = np.ascontiguousarray(letters, dtype=np.int64)
        before = rows if siblings is None else np.ascontiguousarray(siblings.states, dtype=np.float32)
        origin = None if siblings is None else np.ascontiguousarray(siblings.of_row, dtype=np.int64)
        self._kernel.advance(
            self._address, len(rows), rows.shape[1], address_of(rows), address_of(letters),
            address_of(before), None if origin is None else address_of(origin), scratch.address,
        )  # fmt: skip


def kernel_layers(
    kernel: Kernel, cell: CellType, layers: Sequence[Layer], inputs: Floats, layout: StateLayout
) -> Sequence[KernelLayer]:
    """The layers of a network, lowest first, as ``compile_layers`` has them."""
    return [
        KernelLayer(kernel, cell, number, layer, layout, None if number else inputs)
        for number, layer in enumerate(layers)
    ]
