"""A finite partition of a network's state space, refined where two states must not share a cell.

The first refinement cuts the most distinctive dimensions in two, in the whole space. Each later one splits one cell by
a support vector machine between the states that must be separated (Weiss, Goldberg and Yahav).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from rnncheck.errors import MissingExtraError

Vectors: TypeAlias = npt.NDArray[np.float64]
Cells: TypeAlias = npt.NDArray[np.int64]
_Side: TypeAlias = Callable[[Vectors], npt.NDArray[np.bool_]]

_PENALTY = 1e4  # of a wrongly placed state: the machine is to separate, not to generalise


class StatePartition:
    """Cells are numbers. ``dimensions`` of the state space are cut by the first refinement."""

    def __init__(self, dimensions: int) -> None:
        self._dimensions = dimensions
        self._cut: npt.NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._thresholds: Vectors = np.empty(0)
        self._splits: dict[int, tuple[_Side, int, int]] = {}
        self._codes: dict[int, int] = {}  # from the pattern of sides in the first cuts to a cell
        self.cells = 0  # numbers given so far, those of cells that have been split included
        self.refinements = 0

    def cell_of(self, vectors: Vectors) -> Cells:
        """The cell of each vector."""
        sides = vectors[:, self._cut] > self._thresholds
        patterns = (sides * (1 << np.arange(len(self._cut)))).sum(axis=1)
        cells = np.array([self._first_cell(pattern) for pattern in patterns.tolist()], dtype=np.int64)
        while split := [cell for cell in np.unique(cells).tolist() if cell in self._splits]:
            for cell in split:
                rows = np.flatnonzero(cells == cell)
                side, left, right = self._splits[cell]
                cells[rows] = np.where(side(vectors[rows]), right, left)
        return cells

    def refine(self, cell: int, vector: Vectors, others: Vectors) -> None:
        """Put a vector and the others, all of one cell and none of them equal to it, into different cells."""
        self.refinements += 1
        if self.refinements == 1:
            centre = others.mean(axis=0)
            gaps = np.abs(vector - centre)
            widest = np.argsort(-gaps, kind="stable")[: self._dimensions]
            self._cut = widest[gaps[widest] > 0.0]
            self._thresholds = (vector + centre)[self._cut] / 2.0
            self._codes.clear()
            if (self.cell_of(others) != self.cell_of(vector[None])[0]).all():
                return
            (cell,) = self.cell_of(vector[None]).tolist()
            others = others[self.cell_of(others) == cell]
        self._splits[cell] = (_separator(vector, others), self.cells, self.cells + 1)
        self.cells += 2

    def _first_cell(self, pattern: int) -> int:
        cell = self._codes.get(pattern)
        if cell is None:
            cell = self._codes[pattern] = self.cells
            self.cells += 1
        return cell


def _separator(vector: Vectors, others: Vectors) -> _Side:
    """A function that is true of the vector and false of all others: a support vector machine, if it separates them."""
    machine = _support_vector_machine()
    examples = np.vstack([vector[None], others])
    machine.fit(examples, np.append(True, np.zeros(len(others), dtype=bool)))
    predicted = machine.predict(examples)
    if predicted[0] and not predicted[1:].any():

        def by_machine(vectors: Vectors) -> npt.NDArray[np.bool_]:
            return np.asarray(machine.predict(vectors), dtype=np.bool_)

        return by_machine
    # A ball with half the distance to the nearest other vector separates it from all that are not equal.
    radius = np.sqrt(((others - vector) ** 2).sum(axis=1)).min() / 2.0

    def nearby(vectors: Vectors) -> npt.NDArray[np.bool_]:
        return np.asarray(np.sqrt(((vectors - vector) ** 2).sum(axis=1)) < radius)

    return nearby


def _support_vector_machine() -> Any:
    try:
        from sklearn.svm import SVC
    except ImportError:
        raise MissingExtraError("the extraction method weiss (support vector machines)", "surrogates") from None
    return SVC(C=_PENALTY, kernel="rbf", gamma="scale")
