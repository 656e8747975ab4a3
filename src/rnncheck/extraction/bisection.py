"""A tree of cuts through a cloud of points: cells are halved, the widest first (bisecting k-means).

A finer tree continues a coarser one, and finding the cell of a point takes as many comparisons as its cell is deep, so
tens of thousands of cells are possible, where k-means would compare with as many centres.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rnncheck.runtime.cooperative import CooperativeWork
from rnncheck.words import IntArray

Points = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]

_ROUNDS = 3  # of 2-means in each cell to be halved
_ROWS_AT_ONCE = 1 << 16
_NARROW = 1e-9  # of the widest cell's spread: narrower cells are not halved


class Bisection:
    """Nodes are numbers, the root 0, children after their parents; cells are the leaves, numbered from 0.

    Inner node ``n`` sends a point to ``left[n]``, or to ``left[n] + 1`` if it lies beyond the cut.
    """

    def __init__(self, dimensions: int) -> None:
        self.left: IntArray = np.full(1, -1, dtype=np.int64)
        self._across: Points = np.zeros((1, dimensions), dtype=np.float32)
        self._beyond: Points = np.zeros(1, dtype=np.float32)
        self._number: IntArray = np.zeros(1, dtype=np.int64)

    @property
    def leaves(self) -> IntArray:
        """The nodes that are cells, in the order of their numbers."""
        return np.flatnonzero(self.left < 0)

    @property
    def size(self) -> int:
        """The number of cells."""
        return (len(self.left) + 1) // 2

    def cells(self, points: Points) -> CooperativeWork[IntArray]:
        """The cell of each point."""
        found: IntArray = np.zeros(len(points), dtype=np.int64)
        for start in range(0, len(points), _ROWS_AT_ONCE):
            found[start : start + _ROWS_AT_ONCE] = self._number[self._nodes(points[start : start + _ROWS_AT_ONCE])]
            yield
        return found

    def grow(self, points: Points, size: int, rng: np.random.Generator) -> CooperativeWork[None]:
        """Halve cells by these points until there are ``size``, or no cell has two different points."""
        at = self.leaves[(yield from self.cells(points))]
        while self.size < size:
            spread = _spread(points, at, len(self.left))
            wide = np.flatnonzero((self.left < 0) & (spread > _NARROW * spread.max()))
            wide = wide[np.argsort(-spread[wide], kind="stable")]
            if not len(wide):
                return
            before = self.size
            self._halve(points, at, wide[: min(size - self.size, (len(wide) + 1) // 2)], rng)
            yield
            if self.size == before:
                return

    def sum_upwards(self, sums: Floats) -> None:
        """Add the rows of leaves (one row per node) to those of all nodes above them, in place."""
        for inner in reversed(self._by_depth()):
            sums[inner] = sums[self.left[inner]] + sums[self.left[inner] + 1]

    def fill_downwards(self, rows: Floats, missing: npt.NDArray[np.bool_]) -> None:
        """Replace ``missing`` rows (one row per node) by that of the nearest node above that has one, in place."""
        for inner in self._by_depth():
            for child in (self.left[inner], self.left[inner] + 1):
                lacking = missing[child]
                rows[child[lacking]] = rows[inner[lacking]]

    def _by_depth(self) -> list[IntArray]:
        """The inner nodes, those of the same depth together, the root first."""
        levels, level = [], np.zeros(1, dtype=np.int64)
        while len(level := level[self.left[level] >= 0]):
            levels.append(level)
            level = np.concatenate([self.left[level], self.left[level] + 1])
        return levels

    def _nodes(self, points: Points) -> IntArray:
        at: IntArray = np.zeros(len(points), dtype=np.int64)
        rows = np.arange(len(points))
        while len(rows := rows[self.left[at[rows]] >= 0]):
            node = at[rows]
            across = np.einsum("ij,ij->i", points[rows], self._across[node])
            at[rows] = self.left[node] + (across > self._beyond[node])
        return at

    def _halve(self, points: Points, at: IntArray, nodes: IntArray, rng: np.random.Generator) -> None:
        """Cut these leaves in two, and move the points ``at`` them into the halves."""
        place: IntArray = np.full(len(self.left), -1, dtype=np.int64)
        place[nodes] = np.arange(len(nodes))
        rows = np.flatnonzero(place[at] >= 0)
        group, inside = place[at[rows]], points[rows]
        across, beyond = _cuts(inside, group, len(nodes), rng)
        side = np.einsum("ij,ij->i", inside, across[group]) > beyond[group]
        halves = np.bincount(2 * group + side, minlength=2 * len(nodes)).reshape(-1, 2)
        cut = np.flatnonzero(halves.all(axis=1))
        first: IntArray = np.full(len(nodes), -1, dtype=np.int64)
        first[cut] = len(self.left) + 2 * np.arange(len(cut))
        self.left[nodes[cut]] = first[cut]
        self._across[nodes[cut]], self._beyond[nodes[cut]] = across[cut], beyond[cut]
        self.left = np.append(self.left, np.full(2 * len(cut), -1, dtype=np.int64))
        self._across = np.vstack([self._across, np.zeros((2 * len(cut), points.shape[1]), dtype=np.float32)])
        self._beyond = np.append(self._beyond, np.zeros(2 * len(cut), dtype=np.float32))
        self._number = np.cumsum(self.left < 0) - 1
        moved = first[group] >= 0
        at[rows[moved]] = first[group[moved]] + side[moved]


def grouped_sums(points: Points, group: IntArray, groups: int) -> Floats:
    """The sum of the points of each group."""
    return np.stack([np.bincount(group, weights=column, minlength=groups) for column in points.T], axis=1)


def _means(points: Points, group: IntArray, groups: int) -> Floats:
    counts = np.maximum(np.bincount(group, minlength=groups), 1)
    return np.asarray(grouped_sums(points, group, groups) / counts[:, None])


def _spread(points: Points, group: IntArray, groups: int) -> Floats:
    """For each group the sum of the squared distances from its mean."""
    sums = grouped_sums(points, group, groups)
    counts = np.maximum(np.bincount(group, minlength=groups), 1)
    squares = np.bincount(group, weights=np.einsum("ij,ij->i", points, points), minlength=groups)
    return np.asarray(np.maximum(squares - (sums**2).sum(axis=1) / counts, 0.0))


def _cuts(points: Points, group: IntArray, groups: int, rng: np.random.Generator) -> tuple[Points, Points]:
    """For each group a cut in two, by 2-means: half-way between its centres and across the line from one to the other.

    It starts with a point far from the middle, and the point opposite.
    """
    middle = _means(points, group, groups)
    distance = ((points - middle[group]) ** 2).sum(axis=1)
    order = np.argsort(distance * rng.random(len(points)), kind="stable")
    far: IntArray = np.zeros(groups, dtype=np.int64)
    far[group[order]] = order
    other = points[far].astype(np.float64)
    one = 2.0 * middle - other
    for _ in range(_ROUNDS):
        across, beyond = _between(one, other)
        side = np.einsum("ij,ij->i", points, across[group]) > beyond[group]
        counts = np.bincount(2 * group + side, minlength=2 * groups).reshape(-1, 2)
        centres = _means(points, 2 * group + side, 2 * groups).reshape(groups, 2, -1)
        both = (counts > 0).all(axis=1, keepdims=True)
        one, other = np.where(both, centres[:, 0], one), np.where(both, centres[:, 1], other)
    return _between(one, other)


def _between(one: Floats, other: Floats) -> tuple[Points, Points]:
    across, beyond = other - one, ((other**2).sum(axis=1) - (one**2).sum(axis=1)) / 2.0
    return across.astype(np.float32), beyond.astype(np.float32)
