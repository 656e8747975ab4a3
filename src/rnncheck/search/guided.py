"""A beam search for rare violations: follows the prefix tree to where the model's state looks unusual.

Each beam keeps, for every state of the specification, the words that rank highest for that state, and extends them by
one letter at a time. A network that has learned its task has one cluster of hidden states for each state of the
automaton behind it, so the words whose hidden state lies furthest from the others' are where it goes wrong first.
Scores on the wrong side, or near the threshold, are other signs; beams that rank words by these come next. That the
search finds nothing proves nothing.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Callable, Collection, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from rnncheck.models.engine.threads import single_threaded_blas
from rnncheck.models.protocol import Scores
from rnncheck.relations import Relation
from rnncheck.search.prefix_tree import DEFAULT_MEMORY, Frontier, PrefixTree
from rnncheck.words import Codes, IntArray

_FIRST_LENGTH = 24
_WIDER = 4
_OUTLIERS = 5  # about one word in this many is an outlier
_RIDGE = 0.01  # of the mean variance of one direction is added to the variance of each


class Ranking(enum.Enum):
    """What makes a word promising, among those that lead to one state of the specification."""

    OUTLIER = "the model's state is far from the others' mean"
    OUTLIER_LOOSELY = "the same, with noise"
    WRONG_SIDE = "the score is on the wrong side, or least far on the right one"
    NEAR_THRESHOLD = "the score is close to the threshold"
    NEAR_THRESHOLD_OR_OUTLIER = "the score is close to the threshold, or, for some words, the state is an outlier"
    TOWARDS_VIOLATION = "the score is on the side that a violation needs"
    UNUSUAL = "the model's state is far from the others' mean, for the directions in which they differ"
    RANDOM = "chance"

    def values(self, tree: PrefixTree, frontier: Frontier, scores: Scores, rng: np.random.Generator) -> Scores:
        """One number per word, the most promising highest."""
        noise = rng.normal(size=len(scores))
        if self is Ranking.RANDOM:
            return noise
        if self is Ranking.OUTLIER:
            return _distance_from_mean(frontier)
        if self is Ranking.UNUSUAL:
            return _unusualness(frontier)
        if self is Ranking.OUTLIER_LOOSELY:
            return _distance_from_mean(frontier) * np.exp(0.5 * noise)
        ties = 1e-3 * noise  # saturated scores are all alike
        if self is Ranking.NEAR_THRESHOLD:
            return ties - np.abs(scores)
        if self is Ranking.NEAR_THRESHOLD_OR_OUTLIER:
            near, far = (_ranks(frontier, values) for values in (ties - np.abs(scores), _distance_from_mean(frontier)))
            return -np.minimum(near, _OUTLIERS * far)
        if self is Ranking.TOWARDS_VIOLATION and tree.relation is not Relation.EQUAL:
            return ties + (scores if tree.relation is Relation.SUBSET else -scores)
        return ties + np.where(tree.spec.accepting[frontier.spec_states], -scores, scores)


RANKINGS = (
    Ranking.OUTLIER,
    Ranking.OUTLIER_LOOSELY,
    Ranking.WRONG_SIDE,
    Ranking.NEAR_THRESHOLD,
    Ranking.TOWARDS_VIOLATION,
    Ranking.RANDOM,
)


def _distance_from_mean(frontier: Frontier) -> Scores:
    """How far each word's state is, squared, from the mean of the states at the same state of the specification."""
    return _by_group(frontier, lambda apart: np.einsum("ij,ij->i", apart, apart))


def _unusualness(frontier: Frontier) -> Scores:
    """The same, where each direction is measured by how much the states differ in it (Mahalanobis' distance).

    A state that is unlike the others in a direction in which they are all alike stands out, however near it is.
    """
    with single_threaded_blas:
        return _by_group(frontier, _leverages)


def _leverages(apart: Scores) -> Scores:
    """For each of some rows with mean zero: how much it counts in a ridge regression on them."""
    rows, columns = apart.shape
    is_tall = rows > columns  # whichever square matrix is the smaller one
    products = apart.T @ apart if is_tall else apart @ apart.T
    ridge = _RIDGE * float(np.trace(products)) / columns
    if not 0.0 < ridge < np.inf:  # all rows are equal, or some overflow
        return np.zeros(rows)
    identity = np.eye(len(products))
    inverse = np.linalg.inv(products + ridge * identity)
    counts = np.einsum("ij,ij->i", apart @ inverse, apart) if is_tall else 1 - ridge * inverse.diagonal()
    return np.asarray(counts)


def _by_group(frontier: Frontier, measure: Callable[[Scores], Scores]) -> Scores:
    """A number per word, measured on the differences from the mean of its state of the specification."""
    states = frontier.states.reshape(len(frontier), -1)
    result = np.empty(len(frontier), dtype=np.float64)
    _, group = np.unique(frontier.spec_states, return_inverse=True)
    for rows in np.split(np.argsort(group, kind="stable"), np.cumsum(np.bincount(group))[:-1]):
        apart = states[rows].astype(np.float64)  # one group at a time stays in the cache
        apart -= apart.sum(axis=0) / len(rows)
        result[rows] = measure(apart)
    return result


def _ranks(frontier: Frontier, values: Scores) -> Scores:
    """The rank of each word among those at the same state of the specification; the highest value has rank 0."""
    order = np.lexsort((-values, frontier.spec_states))
    ranks = np.empty(len(order), dtype=np.float64)
    ranks[order] = _within_runs(frontier.spec_states[order])
    return ranks


def _within_runs(numbers: npt.NDArray[np.int32]) -> IntArray:
    """The position of each of these sorted numbers among those equal to it."""
    starts = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1]))
    return np.arange(len(numbers)) - np.repeat(starts, np.diff(np.append(starts, len(numbers))))


class Beam:
    """One beam: words of one length with one ranking; at most ``width``, and as many as fit into ``memory``.

    Words that are not a prefix of a possible violation of at most ``longest`` letters are left out.
    """

    def __init__(
        self,
        tree: PrefixTree,
        ranking: Ranking,
        rng: np.random.Generator,
        width: int,
        memory: int = DEFAULT_MEMORY,
        longest: int | None = None,
    ) -> None:
        self._tree = tree
        self._ranking = ranking
        self._rng = rng
        self._width = width
        self._memory = memory
        self._longest = longest
        self._front: Frontier = tree.root()
        self.length = 0

    def grow(self) -> Codes | None:
        """Extend the words by every letter; a violation among them, or None after keeping the most promising."""
        self.length += 1
        tree = self._tree
        targets = tree.open_states if self._longest is None else tree.within(self._longest - self.length)
        grown = tree.children(self._front, targets)
        self._front = grown
        if not len(grown):
            return None
        scores = self._tree.scores(grown)
        broken = self._tree.broken(grown, scores)
        if broken.any():
            return grown.word(int(broken.argmax()))
        self._front = grown.take(self._most_promising(grown, scores))
        return None

    def _most_promising(self, frontier: Frontier, scores: Scores) -> IntArray:
        """The rows to keep, divided as equally as possible among the specification's states."""
        values = self._ranking.values(self._tree, frontier, scores, self._rng)
        order = np.lexsort((-values, frontier.spec_states))
        rank = _within_runs(frontier.spec_states[order])
        room = frontier.room(self._memory, len(self._tree.spec.alphabet))
        return np.sort(order[np.argsort(rank, kind="stable")[: max(1, min(self._width, room))]])


class GuidedSearch:
    """One beam after another, narrow ones first; then all again, with other noise and up to twice the length.

    The necessary width of a beam is not known beforehand, so each ranking starts with one word for each state from
    which a violation can follow, and each further turn makes its beam four times as wide, up to ``width``: the narrow
    ones cost a third of the widest. A ranking is one turn behind the one before it. Only violations shorter than
    ``shorter_than`` are searched for. The widest beams of ``wider`` rankings are twice as wide.
    """

    def __init__(
        self,
        tree: PrefixTree,
        rng: np.random.Generator,
        *,
        width: int = 512,
        memory: int = DEFAULT_MEMORY,
        shorter_than: int | None = None,
        rankings: Sequence[Ranking] = RANKINGS,
        wider: Collection[Ranking] = (),
    ) -> None:
        self._tree = tree
        self._rng = rng
        self._memory = memory
        self._shorter_than = shorter_than
        self._width = width
        self._wider = frozenset(wider)
        self._plan = beam_plan(rankings, max(1, int(tree.open_states.sum())), width)
        self.beams = 0  # how many of the full width have been started
        self._start_beam()
        self.violation: Codes | None = () if tree.empty_word_violates() else None

    @property
    def finished(self) -> bool:
        """Whether a violation was found, or none can be found: no state is open, or no length is allowed."""
        searchable = self._tree.open_states[self._tree.spec.initial] and self._shorter_than not in (0, 1)
        return self.violation is not None or not searchable

    def search_below(self, length: int) -> None:
        """Continue after a violation with the next beam, for words of fewer than ``length`` letters."""
        self.violation, self._shorter_than = None, length
        self._start_beam()

    def advance(self) -> None:
        """Extend the beam by one letter; when it is long enough, start the next one."""
        self.violation = self._beam.grow()
        if self._beam.length >= self._longest:
            self._start_beam()

    def _start_beam(self) -> None:
        ranking, width, self._longest = next(self._plan)
        bound = None if self._shorter_than is None else self._shorter_than - 1
        if bound is not None:
            self._longest = min(self._longest, bound)
        is_full = width == self._width
        room = 2 * width if is_full and ranking in self._wider else width
        self._beam = Beam(self._tree, ranking, self._rng, room, self._memory, bound)
        self.beams += is_full


def beam_plan(rankings: Sequence[Ranking], narrowest: int, widest: int) -> Iterator[tuple[Ranking, int, int]]:
    """The rankings of the beams, their widths and their lengths, in an endless sequence."""
    widths = [min(narrowest, widest)]
    while widths[-1] < widest:
        widths.append(min(_WIDER * widths[-1], widest))
    for turn in range(len(rankings) + len(widths) - 1):
        for place, ranking in enumerate(rankings):
            if 0 <= turn - place < len(widths):
                yield ranking, widths[turn - place], _FIRST_LENGTH
    for doublings in itertools.count(1):
        for ranking in rankings:
            yield ranking, widest, _FIRST_LENGTH << doublings
