"""Search for a proof that a network satisfies a specification on every word, or report what prevents it."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from rnncheck.errors import InputError, renamed_fields
from rnncheck.models.network import RecurrentNetwork
from rnncheck.proofs.abstract_network import AbstractNetwork
from rnncheck.proofs.domains.interval import Interval, Rounding
from rnncheck.proofs.induction import NO_PARENT, InductionLimits, InductiveBoxes, find_inductive_boxes
from rnncheck.proofs.invariant import ClosedBoxes, Ints, Progress, Stuck, grow_boxes, is_invariant
from rnncheck.proofs.word_classes import Partition, partition_by_last_letters
from rnncheck.relations import Property
from rnncheck.runtime.cooperative import finish
from rnncheck.words import Alphabet, format_word

_INFLATIONS = (0.3, 0.1, 0.03, 0.01, 0.003)  # of small boxes, relative to the range of each number


@renamed_fields(ahead="induction_depth")
@dataclass(frozen=True)
class ProofSettings:
    """How much effort a proof search makes.

    ``context`` is the largest k of a partition by the last k letters; k grows from 0 while there are at most
    ``classes`` classes. Bounds that move are moved further by ``padding`` times the range of their number, for at most
    ``rounds`` rounds. Then k-induction is tried, with many small boxes, from each of which words lead into others
    within ``induction_depth`` letters; 0 leaves it out. Where no proof is found, words of at most ``longest`` letters
    are proved separately; with ``epsilon`` it is enough that the words left unproved have a probability below it.
    """

    context: int = 6
    classes: int = 20_000
    rounds: int = 1_000
    padding: float = 1e-4
    induction_depth: int = 4
    longest: int = 1_000
    epsilon: float = 0.0
    rounding: Rounding = Rounding()  # noqa: RUF009 - frozen

    def __post_init__(self) -> None:
        for name, least in (("context", 0), ("classes", 1), ("rounds", 1), ("induction_depth", 0), ("longest", 0)):
            if getattr(self, name) < least:
                raise InputError(f"{name} {getattr(self, name)} is too small for a proof; give at least {least}")
        if not 0.0 < self.padding < 1.0:
            raise InputError(f"padding {self.padding} is not between 0 and 1, a share of the range of a number")
        if not 0.0 <= self.epsilon < 1.0:
            raise InputError(f"epsilon {self.epsilon} is not a probability from 0 to below 1; 0 asks for every word")


@dataclass(frozen=True, eq=False)
class Invariant:
    """A proof: boxes, one for each class of words, closed under every letter, in which every answer is correct.

    A class with a parent has no box of its own: its states are the images of the parent's states under one letter, and
    lie in its bounds.
    """

    partition: Partition
    boxes: Interval
    rounding: Rounding
    parents: Ints

    @classmethod
    def of_boxes(cls, partition: Partition, boxes: Interval, rounding: Rounding) -> Invariant:
        """An invariant in which every class has its own box."""
        return cls(partition, boxes, rounding, np.full(len(partition), NO_PARENT))

    @property
    def own_boxes(self) -> Ints:
        """The classes with their own box."""
        return np.flatnonzero(self.parents == NO_PARENT)


@dataclass(frozen=True, eq=False)
class Obstacle:
    """Where an attempt with a box for each class failed: the partition, and the class in it."""

    partition: Partition
    stuck: Stuck


@dataclass(frozen=True)
class NotProved:
    """Every attempt failed, the last with the finest partition; ``why`` it was the last."""

    obstacles: tuple[Obstacle, ...]
    why: str

    def sentence(self, alphabet: Alphabet) -> str:
        """In words: what the box of which words does, and why nothing finer was tried."""
        if not self.obstacles:
            return self.why
        last = self.obstacles[-1]
        at = last.stuck.at
        letters = alphabet.decode(last.partition.contexts[at])
        ending = f"end in {format_word(letters)} and " if letters else ""
        return (
            f"the box of the words that {ending}lead to state {last.partition.spec_states[at]} of the specification "
            f"{last.stuck.why}; {self.why}"
        )


Event: TypeAlias = Progress | Stuck
Attempts: TypeAlias = Generator[Event, None, Invariant | NotProved]


def search_proof(network: RecurrentNetwork, prop: Property, settings: ProofSettings | None = None) -> Attempts:
    """Search for a proof for all words except the empty one.

    Yields between pieces of work, and after each failed attempt. The caller may query the word that an attempt got
    stuck with: it may be a violation.
    """
    settings = settings or ProofSettings()
    found = yield from _one_box_per_class(network, prop, settings)
    if isinstance(found, Invariant) or not settings.induction_depth:
        return found
    limits = InductionLimits.within(
        AbstractNetwork(network, settings.rounding), settings.induction_depth, settings.classes
    )
    if limits is None:
        return found
    for inflation in _INFLATIONS:
        end = yield from find_inductive_boxes(limits, prop, inflation)
        if isinstance(end, InductiveBoxes):
            return Invariant(end.partition, end.boxes, settings.rounding, end.parents)
        yield end
        if not end.word:  # there were too many boxes; with less inflation there would be more
            break
    also = f"nor do small boxes that are followed for {limits.k} letters close"
    return NotProved(found.obstacles, f"{found.why}; {also}")


def _one_box_per_class(network: RecurrentNetwork, prop: Property, settings: ProofSettings) -> Attempts:
    abstract = AbstractNetwork(network, settings.rounding)
    obstacles: list[Obstacle] = []
    for context in range(settings.context + 1):
        partition = partition_by_last_letters(prop, context, settings.classes)
        if partition is None:
            return NotProved(tuple(obstacles), f"contexts of {context} letters need more than {settings.classes} boxes")
        end = yield from grow_boxes(abstract, partition, settings.padding, settings.rounds)
        if isinstance(end, ClosedBoxes):
            if is_invariant(abstract, partition, end.boxes):
                return Invariant.of_boxes(partition, end.boxes, settings.rounding)
            end = Stuck(0, "is not closed with room to spare", ())
        obstacles.append(Obstacle(partition, end))
        yield end
    return NotProved(tuple(obstacles), f"contexts of {settings.context} letters, the longest allowed, are too short")


def find_invariant(
    network: RecurrentNetwork,
    prop: Property,
    settings: ProofSettings | None = None,
    between: Callable[[], None] = lambda: None,
) -> Invariant | NotProved:
    """Like ``search_proof``, run to its end; ``between`` is called between pieces of work and may raise to end it."""
    return finish(search_proof(network, prop, settings), between)
