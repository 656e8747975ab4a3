"""k-induction: many small boxes, from each of which all words of k letters lead into others.

Where one box for each class of words is too coarse, there are as many as needed. On the way from box to box the states
are affine forms, which know how numbers depend on each other: errors that turn and shrink together stay small, though
in each number by itself they grow for a letter or two. A form that lies in a box after fewer letters is followed no
further; what lies in none after k letters is inflated a little and becomes a box, less where it would reach the
decision. So a box is either closed within k letters, or there is a word whose states reach the decision.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from rnncheck.automata.dfa import Mask
from rnncheck.proofs.abstract_network import AbstractNetwork
from rnncheck.proofs.domains.interval import Bounds, Box
from rnncheck.proofs.domains.zonotope import Form
from rnncheck.proofs.invariant import Ints, Progress, Stuck, margin
from rnncheck.proofs.sensitivity import widths
from rnncheck.proofs.word_classes import INITIAL, NO_CLASS, Partition
from rnncheck.relations import Property
from rnncheck.words import Codes

NO_PARENT = -1
_NUMBERS_AT_ONCE = 1 << 22  # of generators; bounds the memory of a step
_WORDS = 128  # that are followed from a box, at most
_PRODUCTS = 1 << 32  # multiplications, in all: some seconds
_MOST_BOXES = 3_000  # what closes has a few hundred, and every state is looked up in all of them
_FARTHEST = 16  # letters; every one adds generators
_FEWEST = 20  # classes, below which nothing closes
_SHARES = (1.0, 0.5, 0.25, 0.0)  # of what was asked for, as far as the decision allows
_LEAST_ROOM = 1e-7  # of the range of a number, around every box: rounding alone must not make new ones


@dataclass(frozen=True, eq=False)
class Followed:
    """Boxes, and the classes between them: of a class with a parent the states are what its letter makes of the
    parent's, and its box only bounds them.
    """

    partition: Partition
    boxes: Box
    parents: Ints


Search: TypeAlias = Generator[Progress, None, Followed | Stuck]


@dataclass(frozen=True, eq=False)
class Following:
    """How far is followed: ``k`` letters, in a search of ``at_most`` so many classes, ``at_once`` boxes together.

    Boxes are inflated in each number in proportion to ``widths``.
    """

    network: AbstractNetwork
    k: int
    at_most: int
    at_once: int
    widths: Bounds

    @classmethod
    def within(cls, network: AbstractNetwork, k: int, at_most: int) -> Following | None:
        """As far as the work allows, at most k letters and so many classes; None where that is too little."""
        k = min(k, _FARTHEST)
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


def follow(following: Following, wanted: Property, inflation: float) -> Search:
    """Boxes, inflated by a share of the range of each number, until all words of k letters lead from box to box.

    Stuck without a word where there are too many classes.
    """
    tree = _Tree(following.network, wanted, following.k, inflation * following.widths)
    waiting, number, at_once = [INITIAL], 0, following.at_once
    while waiting:
        number += 1
        after: list[int] = []
        for start in range(0, len(waiting), at_once):
            try:
                after += tree.expand(waiting[start : start + at_once])
            except _ReachedError as reached:
                return reached.stuck
            yield Progress(number, len(waiting) - start + len(after), len(tree.states))
            if len(tree.states) > following.at_most or tree.boxes > _MOST_BOXES:
                return Stuck(INITIAL, f"needs more than {following.at_most} classes or {_MOST_BOXES} boxes", ())
        waiting = after
    return tree.followed()


class _ReachedError(Exception):
    def __init__(self, stuck: Stuck) -> None:
        self.stuck = stuck


class _Boxes:
    """Boxes with their numbers, in arrays that grow."""

    def __init__(self, width: int) -> None:
        self._numbers: list[int] = []
        self._bounds = np.empty((2, 16, width))

    def __len__(self) -> int:
        return len(self._numbers)

    def add(self, number: int, box: Box) -> None:
        count = len(self._numbers)
        if count == self._bounds.shape[1]:
            self._bounds = np.concatenate([self._bounds, np.empty_like(self._bounds)], axis=1)
        self._bounds[:, count] = box.lo, box.hi
        self._numbers.append(number)

    def holding(self, sets: Box) -> Ints:
        """The number of the first that each lies in, or ``NO_CLASS``."""
        known = Box(*self._bounds[:, : len(self._numbers)])
        found = np.full(len(sets.lo), NO_CLASS)
        at_once = max(1, _NUMBERS_AT_ONCE // (known.lo.size + 1))
        for start in range(0, len(found) if self._numbers else 0, at_once):
            inside: Mask = np.asarray(known.contains(sets[start : start + at_once, None]).all(axis=2))
            first = np.array(self._numbers)[inside.argmax(axis=1)]
            found[start : start + at_once] = np.where(inside.any(axis=1), first, NO_CLASS)
        return found


@dataclass(eq=False)
class _Tree:
    """All classes so far, in the order in which they were found."""

    network: AbstractNetwork
    wanted: Property
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
        self.states, self.parents, self.found_by = [self.wanted.spec.initial], [NO_PARENT], [(NO_PARENT, NO_PARENT)]
        self.successors = [[NO_CLASS] * self.network.letters]
        self.lowest = self.highest = np.zeros(self.network.width)
        self.bounds = [(self.lowest, self.highest)]

    @property
    def boxes(self) -> int:
        return sum(map(len, self.boxes_of.values()))

    def expand(self, boxes: list[int]) -> list[int]:
        """Follow every word of up to k letters from some boxes; the boxes that are new."""
        front = np.array(boxes)
        forms = Form.of(self._boxes(boxes))
        for _ in range(self.k - 1):
            edges, images = self._images(front, forms)
            inside = self._goals(edges, images.box)
            edges, forms = edges[inside == NO_CLASS], images.rows(inside == NO_CLASS)
            front = np.array([self._add(edge, forms.box[row], follows=True) for row, edge in enumerate(edges.tolist())])
            if not len(front):
                return []
        edges, images = self._images(front, forms)
        inside = self._goals(edges, images.box)
        return self._inflated(edges[inside == NO_CLASS], images.box[inside == NO_CLASS])

    def _images(self, front: Ints, forms: Form) -> tuple[Ints, Form]:
        """What every letter makes of forms, where a violation can follow; edges are class · letters + letter."""
        letters = self.network.letters
        after = self.network.step_forms(forms)
        edges = (front[:, None] * letters + np.arange(letters)).ravel()
        goals = self._spec_states(edges)
        kept = np.flatnonzero(self.wanted.open_states[goals])
        flat = Form(
            *(part.reshape(len(edges), *part.shape[2:]) for part in (after.centre, after.generators, after.rest))
        )
        edges, images = edges[kept], flat.rows(kept)
        for row in np.flatnonzero(~self._decided(self._spec_states(edges), images)).tolist():
            raise self._reached(int(edges[row]))
        self.lowest = np.minimum(self.lowest, images.box.lo.min(axis=0, initial=0.0))
        self.highest = np.maximum(self.highest, images.box.hi.max(axis=0, initial=0.0))
        return edges, images

    def _goals(self, edges: Ints, images: Box) -> Ints:
        """The first box that each image lies in, with room to spare; remembered as the successor."""
        wide = images.widened(margin(images))
        found = np.full(len(edges), NO_CLASS)
        goals = self._spec_states(edges)
        for state in np.unique(goals).tolist():
            if state in self.boxes_of:
                rows = np.flatnonzero(goals == state)
                found[rows] = self.boxes_of[state].holding(wide[rows])
        for row in np.flatnonzero(found != NO_CLASS).tolist():
            self._connect(int(edges[row]), int(found[row]))
        return found

    def _inflated(self, edges: Ints, images: Box) -> list[int]:
        """New boxes around what lies in none, one after another: one may hold what comes after it."""
        added: list[int] = []
        wide, room = images.widened(margin(images)), self.highest - self.lowest
        for row, (edge, state) in enumerate(zip(edges.tolist(), self._spec_states(edges).tolist(), strict=True)):
            boxes = self.boxes_of.setdefault(state, _Boxes(self.network.width))
            goal = int(boxes.holding(wide[row : row + 1])[0])
            if goal != NO_CLASS:
                self._connect(edge, goal)
                continue
            for share in _SHARES:
                box = wide[row].widened(_LEAST_ROOM * room + share * self.inflation * room)
                if self._decided(np.array([state]), Box(box.lo[None], box.hi[None]))[0]:
                    break
            else:
                raise self._reached(edge)
            added.append(self._add(edge, box, follows=False))
            boxes.add(added[-1], box)
        return added

    def _decided(self, states: Ints, sets: Form | Box) -> Mask:
        """Where the answer is right in the whole set, or no answer is wrong."""
        accepting, matters = self.wanted.spec.accepting[states], self.wanted.may_violate[states]
        right = np.where(accepting, *(self.network.clearance(sets, accept) > 0.0 for accept in (True, False)))
        return np.asarray(right | ~matters)

    def _add(self, edge: int, box: Box, *, follows: bool) -> int:
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
        return np.asarray(self.wanted.spec.transitions[froms, edges % self.network.letters].astype(np.int64))

    def _boxes(self, numbers: list[int]) -> Box:
        return Box(*(np.array([self.bounds[number][end] for number in numbers]) for end in (0, 1)))

    def _reached(self, edge: int) -> _ReachedError:
        at, letter = divmod(edge, self.network.letters)
        return _ReachedError(Stuck(at, "leads to the decision", (*self._word_to(at), letter)))

    def _word_to(self, at: int) -> Codes:
        letters: list[int] = []
        while at != INITIAL:
            at, letter = self.found_by[at]
            letters.append(letter)
        return tuple(reversed(letters))

    def followed(self) -> Followed:
        states = np.array(self.states)
        accepting, checked = self.wanted.spec.accepting[states], self.wanted.may_violate[states]
        checked[INITIAL] = False  # the empty word is asked by itself
        contexts: list[Codes] = []
        for parent, (_, letter) in zip(self.parents, self.found_by, strict=True):
            contexts.append(() if parent == NO_PARENT else (*contexts[parent], letter))
        partition = Partition(
            np.array(self.successors), states, checked & accepting, checked & ~accepting, tuple(contexts)
        )
        return Followed(partition, self._boxes(list(range(len(states)))), np.array(self.parents))
