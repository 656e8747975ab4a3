"""Two ways to put states of a network into finitely many classes: equal bins, and k-means."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np

from rnncheck.extraction.state_partition import Cells, Vectors

_FITTED_ON = 4_000  # vectors that k-means is fitted on; all of them are then assigned
_ITERATIONS = 20
_CLUSTERS = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128, 192, 256)
_BINS = (2, 3, 4, 5, 6, 8)


class Clustering(ABC):
    """Classes of vectors, numbered from 0."""

    size: int

    @abstractmethod
    def assign(self, vectors: Vectors) -> Cells:
        """The class of each vector."""

    @abstractmethod
    def __str__(self) -> str: ...


class KMeans(Clustering):
    """The nearest of k centres (Lloyd's algorithm, initialised as in k-means++)."""

    def __init__(self, vectors: Vectors, clusters: int, rng: np.random.Generator) -> None:
        if len(vectors) > _FITTED_ON:
            vectors = vectors[np.sort(rng.choice(len(vectors), _FITTED_ON, replace=False))]
        self._centres = _first_centres(vectors, clusters, rng)
        for _ in range(_ITERATIONS):
            nearest = self.assign(vectors)
            counts = np.bincount(nearest, minlength=len(self._centres))
            sums = _sums(vectors, nearest, len(self._centres))
            kept = counts > 0
            moved = self._centres.copy()
            moved[kept] = sums[kept] / counts[kept, None]
            if np.array_equal(moved, self._centres):
                break
            self._centres = moved
        self.size = len(self._centres)

    def assign(self, vectors: Vectors) -> Cells:
        return np.asarray(_distances(vectors, self._centres).argmin(axis=1))

    def __str__(self) -> str:
        return f"k-means with {self.size} clusters"


class Grid(Clustering):
    """Every dimension cut into equally wide bins; the classes are the boxes that hold a vector (Omlin and Giles).

    A vector in an empty box belongs to the nearest other box. Where there are too many boxes, only the dimensions of
    the largest spread are cut.
    """

    def __init__(self, vectors: Vectors, bins: int, max_boxes: int) -> None:
        self._bins = bins
        low, high = vectors.min(axis=0), vectors.max(axis=0)
        widest_first = np.argsort(low - high, kind="stable")
        cut = int(np.count_nonzero(high > low))
        while True:
            self._cut = widest_first[: max(1, cut)]
            self._low = low[self._cut]
            self._width = np.maximum(high[self._cut] - self._low, np.finfo(np.float64).tiny) / bins
            boxes, member = np.unique(self._boxes(vectors), axis=0, return_inverse=True)
            if len(boxes) <= max_boxes or cut <= 1:
                break
            cut //= 2
        member = member.ravel()
        self.size = len(boxes)
        self._number = {tuple(box): number for number, box in enumerate(boxes.tolist())}
        self._centres = _sums(vectors, member, self.size) / np.bincount(member)[:, None]

    def assign(self, vectors: Vectors) -> Cells:
        numbers = np.array([self._number.get(tuple(box), -1) for box in self._boxes(vectors).tolist()], dtype=np.int64)
        unknown = numbers < 0
        if unknown.any():
            numbers[unknown] = _distances(vectors[unknown], self._centres).argmin(axis=1)
        return numbers

    def __str__(self) -> str:
        return f"{self._bins} bins in {len(self._cut)} dimensions, {self.size} boxes"

    def _boxes(self, vectors: Vectors) -> Cells:
        places = np.floor((vectors[:, self._cut] - self._low) / self._width)
        return np.asarray(np.clip(places, 0, self._bins - 1).astype(np.int64))


def clusterings(kind: str, vectors: Vectors, rng: np.random.Generator, most: int) -> Iterator[Clustering]:
    """Finer and finer clusterings of one kind, ``kmeans`` or ``grid``, of at most ``most`` classes."""
    if kind == "grid":
        for bins in _BINS:
            yield Grid(vectors, bins, most)
    else:
        # Equal vectors count once: a state that is visited once, such as the initial one, matters as much as others.
        vectors = np.unique(vectors, axis=0)
        finest = min(most, len(vectors), _CLUSTERS[-1])
        for clusters in (*(count for count in _CLUSTERS if count < finest), finest):
            yield KMeans(vectors, clusters, rng)


def _first_centres(vectors: Vectors, clusters: int, rng: np.random.Generator) -> Vectors:
    """Centres far from each other: vectors, drawn more likely the further they are from earlier centres."""
    centres = [vectors[int(rng.integers(len(vectors)))]]
    distance = _distances(vectors, centres[0][None])[:, 0]
    while len(centres) < clusters:
        total = distance.sum()
        if total <= 0.0:
            break
        picked = int(np.searchsorted(np.cumsum(distance), rng.random() * total, side="right"))
        centres.append(vectors[min(picked, len(vectors) - 1)])
        distance = np.minimum(distance, _distances(vectors, centres[-1][None])[:, 0])
    return np.array(centres)


def _sums(vectors: Vectors, member: Cells, classes: int) -> Vectors:
    """The sum of the vectors of each class."""
    return np.stack([np.bincount(member, weights=column, minlength=classes) for column in vectors.T], axis=1)


def _distances(vectors: Vectors, centres: Vectors) -> Vectors:
    """Squared distances, one row per vector, one column per centre."""
    squares = (vectors**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1)[None, :]
    return np.asarray(np.maximum(squares - 2.0 * vectors @ centres.T, 0.0))
