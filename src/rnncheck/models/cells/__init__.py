"""The recurrent cells that rnncheck supports, by name: one file for each kind, and an entry here."""

from __future__ import annotations

import enum

from rnncheck.models.cells.cell_type import CellType
from rnncheck.models.cells.elman import ElmanRelu, ElmanTanh
from rnncheck.models.cells.gru import Gru
from rnncheck.models.cells.lstm import Lstm


class Cell(enum.Enum):
    """The name of a cell, as files and commands write it; ``kind`` implements it."""

    RNN_TANH = "rnn_tanh"
    RNN_RELU = "rnn_relu"
    GRU = "gru"
    LSTM = "lstm"

    @property
    def kind(self) -> CellType:
        return _KINDS[self]

    @property
    def gates(self) -> int:
        return self.kind.gates

    @property
    def trainable(self) -> bool:
        return self.kind.torch is not None


_KINDS: dict[Cell, CellType] = {
    Cell.RNN_TANH: ElmanTanh(),
    Cell.RNN_RELU: ElmanRelu(),
    Cell.GRU: Gru(),
    Cell.LSTM: Lstm(),
}
