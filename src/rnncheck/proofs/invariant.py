"""The search for an invariant: one box for each class of words, grown until no letter leads out of any.

This is Kleene iteration: the boxes of the classes that grew are stepped by all letters at once, and the images are
joined to the boxes of their classes. A bound that moves is moved a little further than necessary, so that the growth
ends. Boxes never shrink, so a box that reaches the decision ends the search for a proof; where a partial proof is
enough, the search continues past it, or leaves its class open.
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
from rnncheck.proofs.domains.interval import Bounds, Interval
from rnncheck.proofs.word_classes import INITIAL, NO_CLASS, Partition
from rnncheck.words import Codes

Ints: TypeAlias = npt.NDArray[np.int64]

# The slack that a proof keeps between the image of a step and the box around it, relative to 1 and the value.
MARGIN = 1e-9
_DOUBLING_ROUNDS = 100  # the padding is doubled every time after this many rounds


class AtDecision(enum.Enum):
    """What to do where a box reaches the decision and must not.

    ``STOP``: end the search. ``LEAVE``: leave the class open, and propagate nothing from it. ``CONTINUE``: propagate it
    like any other.
    """

    STOP = "stop"
    LEAVE = "leave"
    CONTINUE = "continue"


@dataclass(frozen=True)
class Progress:
    """The progress of a search: the classes that still grow, and all that were reached."""

    round: int
    growing: int
    classes: int


@dataclass(frozen=True, eq=False)
class ClosedBoxes:
    """Boxes that no letter leads out of. Classes ``left`` open have no box, and nothing was propagated from them."""

    boxes: Interval
    left: Mask


@dataclass(frozen=True)
class Stuck:
    """Why no invariant was found: the class, what its box does, and a word along which the boxes grew."""

    at: int
    why: str
    word: Codes


Search: TypeAlias = Generator[Progress, None, ClosedBoxes | Stuck]


def grow_boxes(
    network: AbstractNetwork,
    partition: Partition,
    padding: float,
    rounds: int,
    at_decision: AtDecision = AtDecision.STOP,
) -> Search:
    """Grow boxes from the initial state until they are closed under every letter.

    Except with ``STOP`` it always ends closed: boxes without bounds, or that grow for too long, are left open.
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


def is_invariant(network: AbstractNetwork, partition: Partition, boxes: Interval) -> bool:
    """Whether boxes are a proof, checked from the boxes alone: every letter from every box, and every decision."""
    left = np.zeros(len(partition), dtype=bool)
    return not len(leaking_classes(network, partition, boxes, left)) and not len(
        undecided_classes(network, partition, boxes, np.arange(len(partition)))
    )


def leaking_classes(network: AbstractNetwork, partition: Partition, boxes: Interval, left: Mask) -> Ints:
    """The classes not left open whose box does not contain every image that must lie in it."""
    found = np.zeros(len(partition), dtype=bool)
    if boxes.lo[INITIAL].any() or boxes.hi[INITIAL].any():  # the initial state is exactly zero
        found[INITIAL] = True
    kept = np.flatnonzero(~left)
    after = network.step(boxes[kept])
    for letter in range(network.letters):
        successors = partition.successors[kept, letter]
        inside = np.flatnonzero((successors != NO_CLASS) & ~left[successors])
        image, goals = after[inside, letter], successors[inside]
        found[goals[~boxes[goals].contains(image.inflate(slack(image))).all(axis=1)]] = True
    return np.flatnonzero(found)


def undecided_classes(network: AbstractNetwork, partition: Partition, boxes: Interval, among: Ints) -> Ints:
    """The classes among these whose box does not lie on the required side of the decision."""
    found = [
        where[~(network.margin(boxes[where], accept) > 0.0)]
        for accept, needed in ((True, partition.must_accept), (False, partition.must_reject))
        if len(where := among[needed[among]])
    ]
    return np.sort(np.concatenate(found)) if found else np.zeros(0, dtype=np.int64)


def is_bounded(boxes: Interval) -> Mask:
    """The boxes that have bounds in every number."""
    return np.asarray(np.isfinite(boxes.lo).all(axis=1) & np.isfinite(boxes.hi).all(axis=1))


def slack(box: Interval) -> Bounds:
    """The slack by which images must lie inside a box."""
    return np.asarray(MARGIN * (1.0 + box.magnitude))


@dataclass(frozen=True, eq=False)
class StepImages:
    """The images of some boxes under every letter, grouped by the class they belong to.

    ``edges`` are box · letters + letter, sorted by goal; ``starts`` is where the edges to each of the ``goals`` begin,
    and ``images`` is the image of each edge.
    """

    edges: Ints
    goals: Ints
    starts: Ints
    images: Interval

    @property
    def joined(self) -> tuple[Bounds, Bounds]:
        """For each goal the bounds that contain all its images, with slack."""
        images, starts = self.images, self.starts
        if not len(starts):
            return images.lo, images.hi
        room = slack(images)
        return np.minimum.reduceat(images.lo - room, starts), np.maximum.reduceat(images.hi + room, starts)


def step_images(network: AbstractNetwork, boxes: Interval, successors: Ints) -> StepImages:
    """Step boxes; ``successors`` has one row per box with the class that each letter leads to, or ``NO_CLASS``."""
    after, goals_of = network.step(boxes), successors.ravel()
    edges = np.flatnonzero(goals_of != NO_CLASS)
    edges = edges[np.argsort(goals_of[edges], kind="stable")]
    goals, starts = np.unique(goals_of[edges], return_index=True)
    images = Interval(after.lo.reshape(-1, network.width), after.hi.reshape(-1, network.width))[edges]
    return StepImages(edges, goals, starts, images)


@dataclass(eq=False)
class _Growth:
    """The boxes so far, and the edge by which each class last grew."""

    network: AbstractNetwork
    partition: Partition
    boxes: Interval = field(init=False)
    left: Mask = field(init=False)
    history: list[Ints] = field(
        init=False, default_factory=list
    )  # one row per round: the edge that made each class grow

    def __post_init__(self) -> None:
        shape = (len(self.partition), self.network.width)
        self.left = np.zeros(len(self.partition), dtype=bool)
        self.boxes = Interval(np.full(shape, np.inf), np.full(shape, -np.inf))
        self.boxes.lo[INITIAL] = self.boxes.hi[INITIAL] = 0.0

    def advance(self, growing: Ints, padding: float) -> Ints:
        """Step the classes that grew and join the images; return the classes that grow now."""
        successors = self.partition.successors[growing]
        after = step_images(self.network, self.boxes[growing], np.where(self.left[successors], NO_CLASS, successors))
        goals, (lo, hi) = after.goals, after.joined
        old = self.boxes[goals]
        lower, higher = ~(old.lo <= lo), ~(hi <= old.hi)
        grew: Mask = np.asarray((lower | higher).any(axis=1))
        room = padding * self._spread(lo, hi)
        self.boxes.lo[goals] = np.where(lower, lo - room, old.lo)
        self.boxes.hi[goals] = np.where(higher, hi + room, old.hi)
        self._remember(growing, after, old, grew)
        return goals[grew]

    def closed(self) -> ClosedBoxes:
        """The boxes, once no letter leads out of any. Classes reached only through a class left open are left, too."""
        self.left |= ~(self.boxes.lo[:, 0] <= self.boxes.hi[:, 0])
        return ClosedBoxes(self.boxes, self.left)

    def leave(self, growing: Ints, *, undecided_too: bool) -> Ints:
        """Leave classes open whose boxes have no bounds (or reach the decision); return those that continue to grow."""
        self.left[growing[~is_bounded(self.boxes[growing])]] = True
        if undecided_too:
            growing = growing[~self.left[growing]]
            self.left[undecided_classes(self.network, self.partition, self.boxes, growing)] = True
        gone = np.flatnonzero(self.left)
        self.boxes.lo[gone], self.boxes.hi[gone] = np.inf, -np.inf
        return growing[~self.left[growing]]

    def problem(self, growing: Ints) -> Stuck | None:
        """The first reason why there can be no invariant, if any."""
        for at in growing[~is_bounded(self.boxes[growing])].tolist():
            return Stuck(at, "has no bounds that float32 could hold", self.word_to(at))
        for at in undecided_classes(self.network, self.partition, self.boxes, growing).tolist():
            return Stuck(at, "reaches the decision", self.word_to(at))
        return None

    def word_to(self, at: int) -> Codes:
        """A word of the class, found by walking back along the edges that made the boxes grow."""
        letters: list[int] = []
        for edges in reversed(self.history):
            if at != INITIAL and edges[at] >= 0:
                at, letter = divmod(int(edges[at]), self.network.letters)
                letters.append(letter)
        return tuple(reversed(letters))

    def _spread(self, lo: Bounds, hi: Bounds) -> Bounds:
        """The range of each number over all classes that were reached."""
        reached = self.boxes.lo[:, 0] <= self.boxes.hi[:, 0]
        low = np.minimum(self.boxes.lo[reached].min(axis=0), lo.min(axis=0, initial=0.0))
        high = np.maximum(self.boxes.hi[reached].max(axis=0), hi.max(axis=0, initial=0.0))
        return np.asarray(high - low)

    def _remember(self, growing: Ints, after: StepImages, old: Interval, grew: Mask) -> None:
        """Record for every class that grew the edge by which it grew most."""
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
