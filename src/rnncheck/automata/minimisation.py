"""The smallest automaton of a language, and one canonical way to number it.

Partition refinement in whole-array rounds. The first rounds recompute the signature of every state (Moore), which
is enough for most automata. An automaton that needs more rounds is deep, and the refinement continues from
the states whose class has just changed, always letting the largest part of a split class keep its number
(Hopcroft's rule): each state is then renumbered at most log n times, and the work stays O(edges · log n). Where the
rounds have little to do each, their overhead is most of the work, and the rest is done class by class in plain Python.

Signatures are compared by 64-bit hashes. Unequal hashes are unequal signatures, so no split is ever wrong; equal ones
are checked exactly at the end, and in the very unlikely case of a collision the refinement runs again with other
numbers.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from rnncheck.automata.dfa import DFA, Mask, Table
from rnncheck.runtime.watchdog import check_time
from rnncheck.words import Alphabet

Hashes: TypeAlias = npt.NDArray[np.uint64]
Ints: TypeAlias = npt.NDArray[np.signedinteger[Any]]

_DENSE_ROUNDS = 8
# A table of at most this many cells has fewer such rounds: plain Python is quicker for what is left.
_SMALL, _DENSE_ROUNDS_OF_SMALL = 1 << 8, 3
# Cells of the transition table hashed at a time: bounds the scratch memory of a round to a few megabytes.
_CELLS_AT_ONCE = 1 << 18
# After this many rounds that had fewer states on average, plain Python is quicker than operations on arrays.
NARROW_ROUNDS, NARROW_WIDTH = 16, 64
_LARGE, _MANY = 1 << 14, 256  # states of a round, and rounds, that take long enough to look at the time


def reachable(dfa: DFA) -> Mask:
    """The states that some word reaches."""
    found = np.zeros(len(dfa), dtype=bool)
    found[breadth_first_order(dfa)] = True
    return found


def coreachable(dfa: DFA) -> Mask:
    """The states from which some word leads to acceptance."""
    return leading_to(dfa.transitions, dfa.accepting)


def leading_to(table: Table, goal: Mask) -> Mask:
    """The states from which some word leads to the goal."""
    return closed_backwards(table, goal, np.ones(len(table), dtype=np.int64))


def closed_backwards(table: Table, found: Mask, missing: Ints) -> Mask:
    """``found``, and every state of which at least ``missing`` edges lead to such states."""
    starts, sources = _predecessors(table)
    found, missing = found.copy(), missing.copy()
    front = np.flatnonzero(found)
    rounds = total = 0
    while len(front):
        rounds += 1
        total += len(front)
        look_at_time(rounds, len(front))
        if is_narrow(rounds, total):
            return _closed_one_by_one(starts, sources, front, found, missing)
        touched, edges = np.unique(sources[_ranges(starts[front], starts[front + 1])], return_counts=True)
        missing[touched] -= edges
        front = touched[~found[touched] & (missing[touched] <= 0)]
        found[front] = True
    return found


def _closed_one_by_one(starts: Ints, sources: Ints, front: Ints, found: Mask, missing: Ints) -> Mask:
    """Continue from the front, state by state."""
    begins, seen, lacking, queue = starts.tolist(), found.tolist(), missing.tolist(), front.tolist()
    for place, state in enumerate(queue):  # grows while it is walked
        look_at_time(place, 0)
        for source in sources[begins[state] : begins[state + 1]].tolist():
            lacking[source] -= 1
            if lacking[source] <= 0 and not seen[source]:
                seen[source] = True
                queue.append(source)
    return np.array(seen)


def breadth_first_order(dfa: DFA) -> Ints:
    """The reachable states, in shortlex order of the least word that reaches each."""
    table = dfa.transitions
    met = np.zeros(len(dfa), dtype=np.int64)  # 0: not yet
    met[dfa.initial] = 1
    front = np.array([dfa.initial])
    order = [front]
    found = 0
    while len(front):
        if table.size <= _SMALL:
            order.append(_followers(table, front, met))
            break
        look_at_time(len(order), len(front))
        nexts = table[front].ravel()
        nexts = nexts[met[nexts] == 0]
        front = nexts[first_occurrences(nexts, met)]
        order.append(front)
        found += len(front)
        if is_narrow(len(order), found):
            order.append(_followers(table, front, met))
            break
    return np.concatenate(order)


def is_narrow(rounds: int, states: int) -> bool:
    """Whether ``rounds`` rounds had so few states in total that continuing state by state is faster."""
    return rounds >= NARROW_ROUNDS and states < NARROW_WIDTH * rounds


def _followers(table: Table, front: Ints, met: Ints) -> Ints:
    """The states not yet visited that the front leads to, breadth first, state by state."""
    rows, seen = table.tolist(), (met != 0).tolist()
    queue = front.tolist()
    for place, state in enumerate(queue):  # grows while it is walked
        if place % _LARGE == _LARGE - 1:
            check_time()
        for successor in rows[state]:
            if not seen[successor]:
                seen[successor] = True
                queue.append(successor)
    return np.array(queue[len(front) :], dtype=np.int64)


def minimise(dfa: DFA) -> DFA:
    """The complete DFA of the same language with the fewest states, numbered breadth first."""
    order = breadth_first_order(dfa)
    table, accepting = _renumbered(dfa.transitions, order), dfa.accepting[order]
    classes = equivalence_classes(table, accepting)
    # The least word of a class is that of its first member, so first members in order are the classes breadth first.
    members = np.sort(np.unique(classes, return_index=True)[1])
    number = np.empty(len(members), dtype=np.int32)
    number[classes[members]] = np.arange(len(members))
    return DFA(dfa.alphabet, number[classes[table[members]]], accepting[members])


def canonical(dfa: DFA) -> DFA:
    """The minimal DFA with letters sorted and states numbered breadth first: equal languages, equal automata."""
    return minimise(dfa.over(Alphabet(sorted(dfa.alphabet))))


def equivalence_classes(table: Table, labels: npt.NDArray[np.generic]) -> Table:
    """For each state the number of its class: states with the same class read every word to the same label."""
    for seed in range(1_000):
        classes = _refine(table, labels, seed)
        if classes.max() == len(table) - 1 or _is_congruence(table, labels, classes):
            return classes
    raise AssertionError("a thousand independent 64-bit hashes collided")


def _refine(table: Table, labels: npt.NDArray[np.generic], seed: int) -> Table:
    states, letters = table.shape
    codes = _scrambled(states, seed)
    weights = _scrambled(letters, ~seed) | np.uint64(1)
    found, inverse = np.unique(labels, return_inverse=True)
    classes: Table = inverse.astype(np.int32)
    count = len(found)
    is_small = table.size <= _SMALL
    for _ in range(_DENSE_ROUNDS_OF_SMALL if is_small else _DENSE_ROUNDS):
        look_at_time(0, table.size)
        found, inverse = np.unique(_signatures(table, codes[classes], weights), return_inverse=True)
        if len(found) == count:
            return classes
        classes, count = inverse.astype(np.int32), len(found)
        if count == states:
            return classes
    if is_small:
        all_but_the_largest = set(range(count)) - {int(np.bincount(classes).argmax())}
        return _refine_one_by_one(*_incoming(table), letters, classes, all_but_the_largest)
    return _refine_changed(table, classes, codes, weights)


def _scrambled(count: int, seed: int) -> Hashes:
    """Well mixed 64-bit numbers, one for each of 0 … count − 1 (the finaliser of SplitMix64)."""
    mixed = (np.arange(1, count + 1) + (seed << 40)).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))


def _signatures(table: Table, codes: Hashes, weights: Hashes) -> Hashes:
    """A hash of each state's own code and its successors' codes, letter by letter."""
    out = codes.copy()
    rows = max(1, _CELLS_AT_ONCE // table.shape[1])
    for start in range(0, len(table), rows):
        block = codes[table[start : start + rows]]
        block *= weights
        out[start : start + rows] += block.sum(axis=1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return out


class _Partition:
    """Classes of states, each a range of one permutation of the states, so that its members can be listed."""

    def __init__(self, classes: Table) -> None:
        states = len(classes)
        self.classes = classes
        self.count = int(classes.max()) + 1
        self.elements: Ints = np.argsort(classes, kind="stable")
        self.position: Ints = np.empty(states, dtype=np.int64)
        self.position[self.elements] = np.arange(states)
        self.size: Ints = np.bincount(classes, minlength=states)
        self.begin: Ints = np.cumsum(self.size) - self.size
        self._mark = np.zeros(states, dtype=bool)

    def all_but_the_largest(self) -> Ints:
        return np.flatnonzero(self.classes != np.argmax(self.size))

    def split(self, touched: Ints, news: Hashes) -> Ints:
        """Split every class by its members' news, those without news being a part of their own.

        The largest part of a class keeps its number, the others get new ones; returns the renumbered states.
        """
        order = np.lexsort((news, self.classes[touched]))
        touched, news, owner = touched[order], news[order], self.classes[touched[order]]
        owners, counts = np.unique(owner, return_counts=True)
        slots = self._move_to_end(touched, owners, counts)
        first = np.ones(len(touched), dtype=bool)
        first[1:] = (owner[1:] != owner[:-1]) | (news[1:] != news[:-1])
        part_size = np.diff(np.append(np.flatnonzero(first), len(touched)))
        owner = np.concatenate([owners, owner[first]])
        begin = np.concatenate([self.begin[owners], slots[first]])
        size = np.concatenate([self.size[owners] - counts, part_size])
        order = np.lexsort((size, owner))
        owner, begin, size = owner[order], begin[order], size[order]
        largest = np.append(owner[1:] != owner[:-1], True)
        self.begin[owner[largest]], self.size[owner[largest]] = begin[largest], size[largest]
        others = ~largest & (size > 0)
        begin, size = begin[others], size[others]
        numbers = np.arange(self.count, self.count + len(size))
        self.count += len(size)
        self.begin[numbers], self.size[numbers] = begin, size
        renumbered = self.elements[_ranges(begin, begin + size)]
        self.classes[renumbered] = np.repeat(numbers, size)
        return renumbered

    def _move_to_end(self, touched: Ints, owners: Ints, counts: Ints) -> Ints:
        """Put the touched states (sorted by class) last in their classes' ranges; returns where each one stands."""
        lower = self.begin[owners] + self.size[owners] - counts
        slots = _ranges(lower, lower + counts)
        vacated = self.position[touched]
        vacated = vacated[vacated < np.repeat(lower, counts)]
        self._mark[touched] = True
        sitting = self.elements[slots]
        displaced = sitting[~self._mark[sitting]]
        self._mark[touched] = False
        # Both lists are sorted by class and hold equally many of each, so they pair up.
        self.elements[vacated], self.position[displaced] = displaced, vacated
        self.elements[slots], self.position[touched] = touched, slots
        return slots


def _refine_changed(table: Table, classes: Table, codes: Hashes, weights: Hashes) -> Table:
    """Continue refining, each round from the states that the previous round renumbered."""
    letters = table.shape[1]
    starts, edges = _incoming(table)
    partition = _Partition(classes)
    changed = partition.all_but_the_largest()
    rounds = renumbered = 0
    while len(changed):
        if is_narrow(rounds, renumbered):
            return _refine_one_by_one(
                starts, edges, letters, partition.classes, set(partition.classes[changed].tolist())
            )
        rounds += 1
        renumbered += len(changed)
        look_at_time(rounds, len(changed))
        # The news of a predecessor: which of its letters now lead to a renumbered class, and to which.
        begin, end = starts[changed], starts[changed + 1]
        incoming = edges[_ranges(begin, end)]
        targets = np.repeat(codes[partition.classes[changed]], end - begin)
        touched, inverse = np.unique(incoming // letters, return_inverse=True)
        if not len(touched):
            break
        news = np.zeros(len(touched), dtype=np.uint64)
        np.add.at(news, inverse, targets * weights[incoming % letters])
        changed = partition.split(touched, news)
    return partition.classes


def _refine_one_by_one(starts: Ints, edges: Ints, letters: int, classes: Table, pending: set[int]) -> Table:
    """Continue refining by the pending classes, one class and letter at a time (Hopcroft)."""
    begins, incoming, owner = starts.tolist(), edges.tolist(), classes.tolist()
    members: list[set[int]] = [set() for _ in range(max(owner) + 1)]
    for state, number in enumerate(owner):
        members[number].add(state)
    worklist = sorted(pending)
    for rounds, splitter in enumerate(worklist):  # grows while it is walked; a class comes at most once
        look_at_time(rounds, len(members[splitter]))
        sources: dict[int, list[int]] = {}
        for state in members[splitter]:
            for edge in incoming[begins[state] : begins[state + 1]]:
                sources.setdefault(edge % letters, []).append(edge // letters)
        for reading in sources.values():
            touched: dict[int, list[int]] = {}
            for source in reading:
                touched.setdefault(owner[source], []).append(source)
            for number, part in touched.items():
                if len(part) < len(members[number]):
                    worklist.append(len(members))
                    _split_off(set(part), number, members, owner)
    return np.array(owner, dtype=np.int32)


def _split_off(part: set[int], number: int, members: list[set[int]], owner: list[int]) -> None:
    """Split a class into a part and what is left of it; the smaller one gets a new number."""
    whole = members[number]
    if 2 * len(part) > len(whole):
        part = whole - part
    whole -= part
    for state in part:
        owner[state] = len(members)
    members.append(part)


def look_at_time(rounds: int, size: int) -> None:
    """End work on an automaton when its time is over; looked at between large rounds, and after many small ones."""
    if size > _LARGE or rounds % _MANY == _MANY - 1:
        check_time()


def _is_congruence(table: Table, labels: npt.NDArray[np.generic], classes: Table) -> bool:
    """Whether states of one class have one label and, letter by letter, successors of one class."""
    _, member = np.unique(classes, return_index=True)
    member = member[classes]
    if not np.array_equal(labels[member], labels):
        return False
    rows = max(1, _CELLS_AT_ONCE // table.shape[1])
    return all(
        np.array_equal(classes[table[start : start + rows]], classes[table[member[start : start + rows]]])
        for start in range(0, len(table), rows)
    )


def _renumbered(table: Table, states: Ints) -> Table:
    """The rows of these states, which must be closed under transitions, numbered in the order given."""
    number = np.empty(len(table), dtype=np.int32)
    number[states] = np.arange(len(states), dtype=np.int32)
    return number[table[states]]


def first_occurrences(values: Ints, scratch: Ints) -> Mask:
    """Which entries are the first of their value. Leaves a positive number in ``scratch`` at every value."""
    positions = np.arange(1, len(values) + 1)
    scratch[values[::-1]] = positions[::-1]  # of repeated indices the last assignment stays: the first occurrence
    return np.equal(scratch[values], positions)


def _incoming(table: Table) -> tuple[Ints, Ints]:
    """Edges by target: those into state q are ``edges[starts[q]:starts[q + 1]]``, each as source · letters + letter."""
    look_at_time(0, table.size)
    flat = table.ravel()
    edges = np.argsort(flat, kind="stable")
    starts = np.zeros(len(table) + 1, dtype=np.int64)
    np.cumsum(np.bincount(flat, minlength=len(table)), out=starts[1:])
    return starts, edges


def _predecessors(table: Table) -> tuple[Ints, Ints]:
    """The predecessors of state q are ``sources[starts[q]:starts[q + 1]]``, one for each edge into q."""
    starts, edges = _incoming(table)
    return starts, edges // table.shape[1]


def _ranges(begin: Ints, end: Ints) -> Ints:
    """The integers of all the ranges [begin, end), one range after another."""
    lengths = end - begin
    ends = np.cumsum(lengths)
    within = np.arange(ends[-1] if len(ends) else 0)
    within += np.repeat(begin - ends + lengths, lengths)
    return within
