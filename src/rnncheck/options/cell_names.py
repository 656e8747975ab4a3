"""The names of cells that options offer."""

from __future__ import annotations

from rnncheck.models.cells import Cell

# Cells whose weights look like another's, so that a state dictionary does not show which it is.
ALIKE_CELLS = tuple(
    cell.value for cell in Cell if any(cell is not other and cell.gates == other.gates for other in Cell)
)
TRAINABLE_CELLS = tuple(cell.value for cell in Cell if cell.trainable)
