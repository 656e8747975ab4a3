r"""Two automata side by side: Boolean combinations, and the shortlex-least word on which they differ.

A query about two languages returns its witness. The name gives the direction: ``inclusion_witness(a, b)`` is a word
of L(a) \ L(b).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import add

import numpy as np

from rnncheck.automata.dfa import DEFAULT_MAX_STATES, DFA, Mask, Table
from rnncheck.automata.minimisation import NARROW_WIDTH, Ints, first_occurrences, is_narrow, look_at_time
from rnncheck.errors import ResourceLimitError, StateLimitError
from rnncheck.words import Word

Combination = Callable[[Mask, Mask], Mask]

# Pairs of states are remembered in one flat table while it has at most this many cells (512 MiB, of which only the
# pages actually used are touched), otherwise in sorted lists that grow with the visited pairs.
_FLAT_PAIRS = 1 << 27
# The number of pairs of one length from which on array operations are faster again.
_NARROW_ENDS = 4 * NARROW_WIDTH
# Cells of two tables up to which a search begins pair by pair.
_SMALL = 1 << 12
_MAX_PAIRS_MET = 30_000_000
# Successors computed at a time: bounds the scratch memory of a step to tens of megabytes.
_CELLS_AT_ONCE = 1 << 21


def intersection(a: DFA, b: DFA, max_states: int = DEFAULT_MAX_STATES) -> DFA:
    """The automaton of L(a) ∩ L(b)."""
    return product(a, b, np.logical_and, max_states).dfa


def union(a: DFA, b: DFA, max_states: int = DEFAULT_MAX_STATES) -> DFA:
    """The automaton of L(a) ∪ L(b)."""
    return product(a, b, np.logical_or, max_states).dfa


def difference(a: DFA, b: DFA, max_states: int = DEFAULT_MAX_STATES) -> DFA:
    r"""The automaton of L(a) \ L(b)."""
    return product(a, b, np.greater, max_states).dfa


def symmetric_difference(a: DFA, b: DFA, max_states: int = DEFAULT_MAX_STATES) -> DFA:
    """The automaton of the words that exactly one of a and b accepts."""
    return product(a, b, np.not_equal, max_states).dfa


def inclusion_witness(a: DFA, b: DFA) -> Word | None:
    r"""The shortlex-least word of L(a) \ L(b); None when L(a) ⊆ L(b)."""
    return _least_word(a, b, np.greater)


def difference_witness(a: DFA, b: DFA) -> Word | None:
    """The shortlex-least word that exactly one of a and b accepts; None when L(a) = L(b)."""
    return _least_word(a, b, np.not_equal)


@dataclass(frozen=True)
class Product:
    """A reachable product: state i of ``dfa`` stands for the pair (``left[i]``, ``right[i]``)."""

    dfa: DFA
    left: Table
    right: Table


def product(a: DFA, b: DFA, accepts: Combination, max_states: int = DEFAULT_MAX_STATES) -> Product:
    """The reachable product of a and b, numbered breadth first; ``accepts`` combines their acceptance."""
    search = _PairSearch(a, b)
    while len(search.front):
        if search.met > max_states:
            raise StateLimitError(f"the product of automata with {len(a)} and {len(b)} states", max_states)
        search.advance()
    pairs = np.concatenate(search.levels)
    order = np.argsort(pairs)
    table = order[np.searchsorted(pairs, search.successors(pairs), sorter=order)]
    left, right = search.states(pairs)
    dfa = DFA(a.alphabet, table, search.accepting(pairs, accepts))
    return Product(dfa, left.astype(np.int32), right.astype(np.int32))


def _least_word(a: DFA, b: DFA, wanted: Combination) -> Word | None:
    search = _PairSearch(a, b)
    while len(search.front):
        hit = search.accepting(search.front, wanted)
        if hit.any():
            return a.alphabet.decode(search.word_to(int(np.argmax(hit))))
        if len(search.front) < NARROW_WIDTH and (search.is_small or is_narrow(search.rounds, search.met)):
            search.advance_narrowly(wanted)
        else:
            search.advance()
    return None


class _PairSearch:
    """Breadth-first search of the pairs (state of a, state of b) that some word reaches.

    A pair is one number: the state of a above ``shift`` bits for the state of b. ``front`` are the pairs first
    visited by words of the present length, ordered by the shortlex-least word that reaches each.
    """

    def __init__(self, a: DFA, b: DFA) -> None:
        b = b.over(a.alphabet)
        self.shift = (len(b) - 1).bit_length()
        self.letters = len(a.alphabet)
        self._accepting = a.accepting, b.accepting
        self._tables = a.transitions, b.transitions
        self._left = a.transitions.astype(np.int64) << self.shift
        self._right = b.transitions
        bound = len(a) << self.shift
        self._seen = _FlatSeen(bound) if bound <= _FLAT_PAIRS else _SortedSeen()
        self.front: Ints = np.array([(a.initial << self.shift) + b.initial])
        self._seen.new(self.front)
        self.levels: list[Ints] = [self.front]
        # For each length of words after the first: parent's place in its front · letters + letter.
        self._steps: list[Ints | list[int]] = []
        self.met = 1
        # For going on pair by pair: the tables as lists, and the pairs of the first ``_known_levels`` levels.
        self._rows: list[list[list[int]]] = []
        self._known: set[int] = set()
        self._known_levels = 0

    @property
    def rounds(self) -> int:
        """How many letters the words of the front have."""
        return len(self._steps)

    @property
    def is_small(self) -> bool:
        """Whether both tables are read as lists in less time than a few operations on arrays take."""
        return self._left.size + self._right.size <= _SMALL

    def states(self, pairs: Ints) -> tuple[Ints, Ints]:
        """The states of a and of b in these pairs."""
        return pairs >> self.shift, pairs & ((1 << self.shift) - 1)

    def accepting(self, pairs: Ints, combination: Combination) -> Mask:
        """Where the acceptance of a and of b combine to true."""
        left, right = self.states(pairs)
        return combination(self._accepting[0][left], self._accepting[1][right])

    def successors(self, pairs: Ints) -> Ints:
        """One row per pair: its successors, letter by letter."""
        left, right = self.states(pairs)
        rows = self._left.take(left, axis=0)
        rows += self._right.take(right, axis=0)
        return rows

    def advance(self) -> None:
        """Continue with the words that are one letter longer."""
        steps, new = [], []
        rows = max(1, _CELLS_AT_ONCE // self.letters)
        for start in range(0, len(self.front), rows):
            look_at_time(len(self.levels), len(self.front))
            candidates = self.successors(self.front[start : start + rows]).ravel()
            first_met = np.flatnonzero(self._seen.new(candidates))
            steps.append(first_met + start * self.letters)
            new.append(candidates[first_met])
            self.met += len(first_met)
            self._check_met()
        self.front = np.concatenate(new)
        self._steps.append(np.concatenate(steps))
        self.levels.append(self.front)

    def advance_narrowly(self, wanted: Combination) -> None:
        """Continue pair by pair until a pair is ``wanted``, there are no new pairs, or many of one length.

        Levels with few pairs take longer with array operations.
        """
        if not self._rows:
            self._rows = [self._left.tolist(), self._right.tolist()]
        (left_rows, right_rows), shift, mask = self._rows, self.shift, (1 << self.shift) - 1
        both = wanted(np.array([[False], [True]]), np.array([False, True])).tolist()
        with_left = [both[accepts] for accepts in self._accepting[0].tolist()]
        right_accepts = self._accepting[1].tolist()
        known = self._known
        for level in self.levels[self._known_levels :]:
            known.update(level.tolist())
        front: list[int] = self.front.tolist()
        found: list[int] = []
        hit, begun = False, len(self._steps)
        while len(self._steps) == begun or (not hit and 0 < len(front) < _NARROW_ENDS):
            look_at_time(len(self._steps), len(front))
            steps, new, step = [], [], 0
            for pair in front:
                for successor in map(add, left_rows[pair >> shift], right_rows[pair & mask]):
                    if successor not in known:
                        known.add(successor)
                        steps.append(step)
                        new.append(successor)
                        if with_left[successor >> shift][right_accepts[successor & mask]]:
                            hit = True
                    step += 1
            self._steps.append(steps)
            found += new
            front = new
            if len(known) > _MAX_PAIRS_MET:
                break
        self.met = len(known)
        self._check_met()
        self.front = np.array(front, dtype=np.int64)
        self.levels.append(np.array(found, dtype=np.int64))
        self._known_levels = len(self.levels)
        self._seen.new(self.levels[-1])

    def _check_met(self) -> None:
        if self.met > _MAX_PAIRS_MET:
            raise ResourceLimitError(
                f"comparing two automata visited more than {_MAX_PAIRS_MET} pairs of states; minimise them first"
            )

    def word_to(self, place: int) -> list[int]:
        """The letters of the shortlex-least word to the pair at this place of the front."""
        letters = []
        for steps in reversed(self._steps):
            place, letter = divmod(int(steps[place]), self.letters)
            letters.append(letter)
        return letters[::-1]


class _FlatSeen:
    """Remembers numbers below a bound, in one cell each."""

    def __init__(self, bound: int) -> None:
        self._cells = np.zeros(bound, dtype=np.int32)  # 0: not visited yet

    def new(self, candidates: Ints) -> Mask:
        """Which candidates are visited for the first time, also within this call."""
        mask: Mask = self._cells.take(candidates) == 0
        mask[mask] = first_occurrences(candidates[mask], self._cells)
        return mask


class _SortedSeen:
    """Remembers any numbers, in sorted runs whose lengths at least double, so that few must be searched."""

    def __init__(self) -> None:
        self._runs: list[Ints] = []

    def new(self, candidates: Ints) -> Mask:
        """Which candidates are visited for the first time, also within this call."""
        mask = np.zeros(len(candidates), dtype=bool)
        values, mask_at = np.unique(candidates, return_index=True)
        for run in self._runs:
            known = run[np.minimum(np.searchsorted(run, values), len(run) - 1)] == values
            values, mask_at = values[~known], mask_at[~known]
        mask[mask_at] = True
        if len(values):
            self._runs.append(values)
        while len(self._runs) > 1 and 2 * len(self._runs[-1]) > len(self._runs[-2]):
            merged = np.sort(np.concatenate([self._runs.pop(), self._runs.pop()]))
            self._runs.append(merged)
        return mask
