"""k-induction: many small boxes, from each of which all words of k letters lead into others.

Where one box per class of words is too coarse, there are as many as needed. From box to box the states are zonotopes,
which keep the dependencies between numbers: errors that rotate and shrink together stay small, even if each number's
own error grows for a letter or two. A zonotope that lies in a box before k letters is not followed further. One that
lies in no box after k letters is inflated a little and becomes a box; less where it would reach the decision. So every
box either leads back into boxes within k letters, or there is a word whose states reach the decision.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from rnncheck.automata.dfa import Mask
from rnncheck.proofs.abstract_network import AbstractNetwork
from rnncheck.proofs.domains.interval import Bounds, Interval
from rnncheck.proofs.domains.zonotope import Zonotope
from rnncheck.proofs.invariant import Ints, Progress, Stuck, slack
from rnncheck.proofs.sensitivity import widths
from rnncheck.proofs.word_classes import INITIAL, NO_CLASS, Partition
from rnncheck.relations import Property
from rnncheck.words import Codes

NO_PARENT = -1
_NUMBERS_AT_ONCE = 1 << 22  # of generators; bounds the memory of a step
_WORDS = 128  # at most this many words are followed from a box
_PRODUCTS = 1 << 32  # multiplications in total: a few seconds
_MOST_BOXES = 3_000  # proofs that succeed have a few hundred, and every state is looked up in all of them
_LARGEST_DEPTH = 16  # letters; each adds generators
_FEWEST = 20  # classes; with fewer no proof succeeds
_SHARES = (1.0, 0.5, 0.25, 0.0)  # of the requested inflation; the first that the decision allows is used
_LEAST_ROOM = 1e-7  # of the range of a number, around every box: rounding alone must not create new boxes


@dataclass(frozen=True, eq=False)
class InductiveBoxes:
    """Boxes, and the classes between them.

    The states of a class with a parent are the images of the parent's states under its letter; its box only bounds
    them.
    """

    partition: Partition
    boxes: Interval
    parents: Ints


Search: TypeAlias = Generator[Progress, None, InductiveBoxes | Stuck]


@dataclass(frozen=True, eq=False)
class InductionLimits:
    """The limits of a search: depth ``k``, at most ``at_most`` classes, and ``at_once`` boxes per batch.

    Boxes are inflated in each number in proportion to ``widths``.
    """

    network: AbstractNetwork
    k: int
    at_most: int
    at_once: int
    widths: Bounds

    @classmethod
    def within(cls, network: AbstractNetwork, k: int, at_most: int) -> InductionLimits | None:
        """The largest limits that the work allows, up to depth ``k`` and ``at_most`` classes; None if too small."""
        k = min(k, _LARGEST_DEPTH)
        while k > 1 and network.letters**k > _WORDS:
            k -= 1
        weights = sum(layer.input_weight.size + layer.recurrent_weight.size for layer in network.network.layers)
        generators = network.width * (k + 1)
        at_most = min(at_most, _PRODUCTS // (network.letters * generators * weights))
        if at_most < _FEWEST:
            return None
        numbers = network.letters**k * generators * network.width
        at_once = max(1, _NUMBERS_AT_ONCE // numbers)
        return cls(network, k, at_most, at_once, widths(network, k))


def find_inductive_boxes(limits: InductionLimits, prop: Property, inflation: float) -> Search:
    """Add boxes, inflated by a share of the range of each number, until all words of k letters lead from box to box.

    ``Stuck`` has no word where there were too many classes.
    """
    tree = _ClassTree(limits.network, prop, limits.k, inflation * limits.widths)
    waiting, number, at_once = [INITIAL], 0, limits.at_once
    while waiting:
        number += 1
        after: list[int] = []
        for start in range(0, len(waiting), at_once):
            try:
                after += tree.expand(waiting[start : start + at_once])
            except _StuckError as reached:
                return reached.stuck
            yield Progress(number, len(waiting) - start + len(after), len(tree.states))
            if len(tree.states) > limits.at_most or tree.boxes > _MOST_BOXES:
                return Stuck(INITIAL, f"needs more than {limits.at_most} classes or {_MOST_BOXES} boxes", ())
        waiting = after
    return tree.result()


class _StuckError(Exception):
    def __init__(self, stuck: Stuck) -> None:
        self.stuck = stuck


class _Boxes:
    """Boxes with their numbers, in arrays that grow."""

    def __init__(self, width: int) -> None:
        self._numbers: list[int] = []
        self._bounds = np.empty((2, 16, width))

    def __len__(self) -> int:
        return len(self._numbers)

    def add(self, number: int, box: Interval) -> None:
        count = len(self._numbers)
        if count == self._bounds.shape[1]:
            self._bounds = np.concatenate([self._bounds, np.empty_like(self._bounds)], axis=1)
        self._bounds[:, count] = box.lo, box.hi
        self._numbers.append(number)

    def holding(self, sets: Interval) -> Ints:
        """For each set the number of the first box that contains it, or ``NO_CLASS``."""
        known = Interval(*self._bounds[:, : len(self._numbers)])
        found = np.full(len(sets.lo), NO_CLASS)
        at_once = max(1, _NUMBERS_AT_ONCE // (known.lo.size + 1))
        for start in range(0, len(found) if self._numbers else 0, at_once):
            inside: Mask = np.asarray(known.contains(sets[start : start + at_once, None]).all(axis=2))
            first = np.array(self._numbers)[inside.argmax(axis=1)]
            found[start : start + at_once] = np.where(inside.any(axis=1), first, NO_CLASS)
        return found


@dataclass(eq=False)
class _ClassTree:
    """All classes found so far, in order."""

    network: AbstractNetwork
    prop: Property
    k: int
    inflation: Bounds
    states: list[int] = field(init=False)
    parents: list[int] = field(init=False)
    found_by: list[tuple[int, int]] = field(init=False)  # the class and the letter that led there first
    successors: list[list[int]] = field(init=False)
    bounds: list[tuple[Bounds, Bounds]] = field(init=False)
    boxes_of: dict[int, _Boxes] = field(init=False, default_factory=dict)  # by state of the specification
    lowest: Bounds = field(init=False)
    highest: Bounds = field(init=False)

    def __post_init__(self) -> None:
        self.states, self.parents, self.found_by = [self.prop.spec.initial], [NO_PARENT], [(NO_PARENT, NO_PARENT)]
        self.successors = [[NO_CLASS] * self.network.letters]
        self.lowest = self.highest = np.zeros(self.network.width)
        self.bounds = [(self.lowest, self.highest)]

    @property
    def boxes(self) -> int:
        return sum(map(len, self.boxes_of.values()))

    def expand(self, boxes: list[int]) -> list[int]:
        """Follow every word of up to k letters from some boxes; return the new boxes."""
        front = np.array(boxes)
        zonotopes = Zonotope.of(self._boxes(boxes))
        for _ in range(self.k - 1):
            edges, images = self._step_images(front, zonotopes)
            inside = self._containing_boxes(edges, images.interval)
            edges, zonotopes = edges[inside == NO_CLASS], images.rows(inside == NO_CLASS)
            front = np.array(
                [self._add(edge, zonotopes.interval[row], follows=True) for row, edge in enumerate(edges.tolist())]
            )
            if not len(front):
                return []
        edges, images = self._step_images(front, zonotopes)
        inside = self._containing_boxes(edges, images.interval)
        return self._add_inflated(edges[inside == NO_CLASS], images.interval[inside == NO_CLASS])

    def _step_images(self, front: Ints, zonotopes: Zonotope) -> tuple[Ints, Zonotope]:
        """The image under every letter after which a violation can follow; edges are class · letters + letter."""
        letters = self.network.letters
        after = self.network.step_zonotopes(zonotopes)
        edges = (front[:, None] * letters + np.arange(letters)).ravel()
        goals = self._spec_states(edges)
        kept = np.flatnonzero(self.prop.open_states[goals])
        flat = Zonotope(
            *(part.reshape(len(edges), *part.shape[2:]) for part in (after.centre, after.generators, after.error))
        )
        edges, images = edges[kept], flat.rows(kept)
        for row in np.flatnonzero(~self._decided(self._spec_states(edges), images)).tolist():
            raise self._stuck_at(int(edges[row]))
        self.lowest = np.minimum(self.lowest, images.interval.lo.min(axis=0, initial=0.0))
        self.highest = np.maximum(self.highest, images.interval.hi.max(axis=0, initial=0.0))
        return edges, images

    def _containing_boxes(self, edges: Ints, images: Interval) -> Ints:
        """The first box that contains each image with slack; it is recorded as the successor."""
        wide = images.inflate(slack(images))
        found = np.full(len(edges), NO_CLASS)
        goals = self._spec_states(edges)
        for state in np.unique(goals).tolist():
            if state in self.boxes_of:
                rows = np.flatnonzero(goals == state)
                found[rows] = self.boxes_of[state].holding(wide[rows])
        for row in np.flatnonzero(found != NO_CLASS).tolist():
            self._connect(int(edges[row]), int(found[row]))
        return found

    def _add_inflated(self, edges: Ints, images: Interval) -> list[int]:
        """Add a box around each image that lies in none, one after another: a new box may contain the next image."""
        added: list[int] = []
        wide, room = images.inflate(slack(images)), self.highest - self.lowest
        for row, (edge, state) in enumerate(zip(edges.tolist(), self._spec_states(edges).tolist(), strict=True)):
            boxes = self.boxes_of.setdefault(state, _Boxes(self.network.width))
            goal = int(boxes.holding(wide[row : row + 1])[0])
            if goal != NO_CLASS:
                self._connect(edge, goal)
                continue
            for share in _SHARES:
                box = wide[row].inflate(_LEAST_ROOM * room + share * self.inflation * room)
                if self._decided(np.array([state]), Interval(box.lo[None], box.hi[None]))[0]:
                    break
            else:
                raise self._stuck_at(edge)
            added.append(self._add(edge, box, follows=False))
            boxes.add(added[-1], box)
        return added

    def _decided(self, states: Ints, sets: Zonotope | Interval) -> Mask:
        """Where the answer is correct in the whole set, or no answer is a violation."""
        accepting, matters = self.prop.spec.accepting[states], self.prop.may_violate[states]
        right = np.where(accepting, *(self.network.margin(sets, accept) > 0.0 for accept in (True, False)))
        return np.asarray(right | ~matters)

    def _add(self, edge: int, box: Interval, *, follows: bool) -> int:
        parent, letter = divmod(edge, self.network.letters)
        number = len(self.states)
        self.states.append(int(self._spec_states(np.array([edge]))[0]))
        self.parents.append(parent if follows else NO_PARENT)
        self.found_by.append((parent, letter))
        self.successors.append([NO_CLASS] * self.network.letters)
        self.bounds.append((box.lo, box.hi))
        self._connect(edge, number)
        return number

    def _connect(self, edge: int, goal: int) -> None:
        self.successors[edge // self.network.letters][edge % self.network.letters] = goal

    def _spec_states(self, edges: Ints) -> Ints:
        froms = np.array([self.states[edge] for edge in (edges // self.network.letters).tolist()], dtype=np.int64)
        return np.asarray(self.prop.spec.transitions[froms, edges % self.network.letters].astype(np.int64))

    def _boxes(self, numbers: list[int]) -> Interval:
        return Interval(*(np.array([self.bounds[number][end] for number in numbers]) for end in (0, 1)))

    def _stuck_at(self, edge: int) -> _StuckError:
        at, letter = divmod(edge, self.network.letters)
        return _StuckError(Stuck(at, "leads to the decision", (*self._word_to(at), letter)))

    def _word_to(self, at: int) -> Codes:
        letters: list[int] = []
        while at != INITIAL:
            at, letter = self.found_by[at]
            letters.append(letter)
        return tuple(reversed(letters))

    def result(self) -> InductiveBoxes:
        states = np.array(self.states)
        accepting, checked = self.prop.spec.accepting[states], self.prop.may_violate[states]
        checked[INITIAL] = False  # the empty word is checked separately
        contexts: list[Codes] = []
        for parent, (_, letter) in zip(self.parents, self.found_by, strict=True):
            contexts.append(() if parent == NO_PARENT else (*contexts[parent], letter))
        partition = Partition(
            np.array(self.successors), states, checked & accepting, checked & ~accepting, tuple(contexts)
        )
        return InductiveBoxes(partition, self._boxes(list(range(len(states)))), np.array(self.parents))
