"""The search for an invariant: one box for each class of words, grown until no letter leads out of any.

This is Kleene iteration: the boxes of the classes that grew are stepped by all letters at once, and what comes out is
joined to the boxes of the classes where it belongs. A bound that has to move is moved a little further than it must, so
that the growth ends. A box that reaches the decision ends the search for a proof, for boxes never shrink; where part
of a proof will do, the search goes on past it, or leaves its class open.
"""

from __future__ import annotations

import enum
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from rnncheck.automata.dfa import Mask
from rnncheck.proofs.abstract_network import AbstractNetwork
from rnncheck.proofs.domains.interval import Bounds, Box
from rnncheck.proofs.word_classes import INITIAL, NO_CLASS, Partition
from rnncheck.words import Codes

Ints: TypeAlias = npt.NDArray[np.int64]

# A proof leaves so much room between what a step leads to and the box it must lie in, relative to 1 and the value.
MARGIN = 1e-9
_DOUBLING_ROUNDS = 100  # after so many rounds the padding is doubled, and again after as many


class AtDecision(enum.Enum):
    """What becomes of the search where a box reaches the decision and must not.

    ``LEAVE``: the class is left open, and nothing is propagated from it. ``GO_ON``: it is propagated like any other.
    """

    STOP = "stop"
    LEAVE = "leave"
    GO_ON = "go on"


@dataclass(frozen=True)
class Progress:
    """How far a search has come: classes that still grow, and all that were reached."""

    round: int
    growing: int
    classes: int


@dataclass(frozen=True, eq=False)
class Closed:
    """The boxes of all classes but those ``left`` open, from which nothing was propagated and whose boxes are none."""

    boxes: Box
    left: Mask


@dataclass(frozen=True)
class Stuck:
    """Why no invariant was found: the class, what its box does, and a word that leads there the way boxes grew."""

    at: int
    why: str
    word: Codes


Search: TypeAlias = Generator[Progress, None, Closed | Stuck]


def close(
    network: AbstractNetwork,
    partition: Partition,
    padding: float,
    rounds: int,
    at_decision: AtDecision = AtDecision.STOP,
) -> Search:
    """Grow boxes from the initial state until they are closed under every letter.

    Unless it stops at the decision, it always ends closed: boxes that have no bounds, or grow for too long, are left.
    """
    growth, stops = _Growth(network, partition), at_decision is AtDecision.STOP
    growing = np.array([INITIAL])
    for number in range(1, rounds + 1):
        growing = growth.advance(growing, padding * 2.0 ** (number // _DOUBLING_ROUNDS))
        yield Progress(number, len(growing), len(partition))
        problem = growth.problem(growing) if stops else None
        if problem is not None:
            return problem
        if not stops:
            growing = growth.leave(growing, undecided_too=at_decision is AtDecision.LEAVE)
        if not len(growing):
            return growth.closed()
    if not stops:
        growth.left[growing] = True
        return growth.closed()
    return Stuck(int(growing[0]), f"was still growing after {rounds} rounds", growth.word_to(int(growing[0])))


def holds(network: AbstractNetwork, partition: Partition, boxes: Box) -> bool:
    """Whether boxes are a proof, from nothing but themselves: every letter from every box, and every decision."""
    left = np.zeros(len(partition), dtype=bool)
    return not len(leaks(network, partition, boxes, left)) and not len(
        undecided(network, partition, boxes, np.arange(len(partition)))
    )


def leaks(network: AbstractNetwork, partition: Partition, boxes: Box, left: Mask) -> Ints:
    """The classes, of those that are not left open, whose box does not take in all that must lie in it."""
    found = np.zeros(len(partition), dtype=bool)
    if boxes.lo[INITIAL].any() or boxes.hi[INITIAL].any():  # the initial state is zero, and nothing else
        found[INITIAL] = True
    kept = np.flatnonzero(~left)
    after = network.step(boxes[kept])
    for letter in range(network.letters):
        successors = partition.successors[kept, letter]
        inside = np.flatnonzero((successors != NO_CLASS) & ~left[successors])
        image, goals = after[inside, letter], successors[inside]
        found[goals[~boxes[goals].contains(image.widened(margin(image))).all(axis=1)]] = True
    return np.flatnonzero(found)


def undecided(network: AbstractNetwork, partition: Partition, boxes: Box, among: Ints) -> Ints:
    """The classes among these whose box does not lie on the side of the decision where it must."""
    found = [
        where[~(network.clearance(boxes[where], accept) > 0.0)]
        for accept, needed in ((True, partition.must_accept), (False, partition.must_reject))
        if len(where := among[needed[among]])
    ]
    return np.sort(np.concatenate(found)) if found else np.zeros(0, dtype=np.int64)


def bounded(boxes: Box) -> Mask:
    """The boxes that have bounds in every number."""
    return np.asarray(np.isfinite(boxes.lo).all(axis=1) & np.isfinite(boxes.hi).all(axis=1))


def margin(box: Box) -> Bounds:
    """By how much what lies in a box must lie inside it."""
    return np.asarray(MARGIN * (1.0 + box.magnitude))


@dataclass(frozen=True, eq=False)
class Stepped:
    """What every letter makes of some boxes, by the classes where it belongs.

    ``edges`` are box · letters + letter, those to the same of the ``goals`` side by side from one of the ``starts`` on;
    ``images`` is what each leads to.
    """

    edges: Ints
    goals: Ints
    starts: Ints
    images: Box

    @property
    def joined(self) -> tuple[Bounds, Bounds]:
        """For each goal the bounds that hold all of it, with a margin."""
        images, starts = self.images, self.starts
        if not len(starts):
            return images.lo, images.hi
        room = margin(images)
        return np.minimum.reduceat(images.lo - room, starts), np.maximum.reduceat(images.hi + room, starts)


def stepped(network: AbstractNetwork, boxes: Box, successors: Ints) -> Stepped:
    """The boxes stepped; ``successors`` are the classes where that leads, a row a box, or ``NO_CLASS``."""
    after, goals_of = network.step(boxes), successors.ravel()
    edges = np.flatnonzero(goals_of != NO_CLASS)
    edges = edges[np.argsort(goals_of[edges], kind="stable")]
    goals, starts = np.unique(goals_of[edges], return_index=True)
    images = Box(after.lo.reshape(-1, network.width), after.hi.reshape(-1, network.width))[edges]
    return Stepped(edges, goals, starts, images)


@dataclass(eq=False)
class _Growth:
    """The boxes so far, and how each class came to its last growth."""

    network: AbstractNetwork
    partition: Partition
    boxes: Box = field(init=False)
    left: Mask = field(init=False)
    history: list[Ints] = field(init=False, default_factory=list)  # a row a round: the edge that made a class grow

    def __post_init__(self) -> None:
        shape = (len(self.partition), self.network.width)
        self.left = np.zeros(len(self.partition), dtype=bool)
        self.boxes = Box(np.full(shape, np.inf), np.full(shape, -np.inf))
        self.boxes.lo[INITIAL] = self.boxes.hi[INITIAL] = 0.0

    def advance(self, growing: Ints, padding: float) -> Ints:
        """Step the classes that grew, join what comes out; the classes that grow now."""
        successors = self.partition.successors[growing]
        after = stepped(self.network, self.boxes[growing], np.where(self.left[successors], NO_CLASS, successors))
        goals, (lo, hi) = after.goals, after.joined
        old = self.boxes[goals]
        lower, higher = ~(old.lo <= lo), ~(hi <= old.hi)
        grew: Mask = np.asarray((lower | higher).any(axis=1))
        room = padding * self._spread(lo, hi)
        self.boxes.lo[goals] = np.where(lower, lo - room, old.lo)
        self.boxes.hi[goals] = np.where(higher, hi + room, old.hi)
        self._remember(growing, after, old, grew)
        return goals[grew]

    def closed(self) -> Closed:
        """The boxes, now that no letter leads out of any; what no word leads to without passing a class that is left
        is left, too.
        """
        self.left |= ~(self.boxes.lo[:, 0] <= self.boxes.hi[:, 0])
        return Closed(self.boxes, self.left)

    def leave(self, growing: Ints, *, undecided_too: bool) -> Ints:
        """Leave the classes open whose boxes have no bounds (or reach the decision); those that go on growing."""
        self.left[growing[~bounded(self.boxes[growing])]] = True
        if undecided_too:
            growing = growing[~self.left[growing]]
            self.left[undecided(self.network, self.partition, self.boxes, growing)] = True
        gone = np.flatnonzero(self.left)
        self.boxes.lo[gone], self.boxes.hi[gone] = np.inf, -np.inf
        return growing[~self.left[growing]]

    def problem(self, growing: Ints) -> Stuck | None:
        """What rules out an invariant already, if anything does."""
        for at in growing[~bounded(self.boxes[growing])].tolist():
            return Stuck(at, "has no bounds that float32 could hold", self.word_to(at))
        for at in undecided(self.network, self.partition, self.boxes, growing).tolist():
            return Stuck(at, "reaches the decision", self.word_to(at))
        return None

    def word_to(self, at: int) -> Codes:
        """A word of the class: back along the edges that made the boxes grow, each in an earlier round."""
        letters: list[int] = []
        for edges in reversed(self.history):
            if at != INITIAL and edges[at] >= 0:
                at, letter = divmod(int(edges[at]), self.network.letters)
                letters.append(letter)
        return tuple(reversed(letters))

    def _spread(self, lo: Bounds, hi: Bounds) -> Bounds:
        """How far each number ranges over all classes that were reached."""
        reached = self.boxes.lo[:, 0] <= self.boxes.hi[:, 0]
        low = np.minimum(self.boxes.lo[reached].min(axis=0), lo.min(axis=0, initial=0.0))
        high = np.maximum(self.boxes.hi[reached].max(axis=0), hi.max(axis=0, initial=0.0))
        return np.asarray(high - low)

    def _remember(self, growing: Ints, after: Stepped, old: Box, grew: Mask) -> None:
        """For every class that grew, the edge by which it grew most."""
        edges, goals, starts, images = after.edges, after.goals, after.starts, after.images
        which = np.repeat(np.arange(len(goals)), np.diff(np.append(starts, len(edges))))
        with np.errstate(invalid="ignore"):
            beyond = np.maximum(old.lo[which] - images.lo, images.hi - old.hi[which]).max(axis=1, initial=0.0)
        order = np.lexsort((np.nan_to_num(beyond, nan=np.inf), which))
        last = order[np.searchsorted(which[order], np.arange(len(goals)), side="right") - 1]
        row = np.full(len(self.partition), -1, dtype=np.int64)
        letters = self.network.letters
        row[goals[grew]] = (growing[edges[last] // letters] * letters + edges[last] % letters)[grew]
        self.history.append(row)
