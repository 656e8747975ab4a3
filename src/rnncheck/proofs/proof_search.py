"""The proof that a network satisfies a specification on every word, or what stands in its way."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from rnncheck.errors import InputError, renamed_fields
from rnncheck.models.network import RecurrentNetwork
from rnncheck.proofs.abstract_network import AbstractNetwork
from rnncheck.proofs.domains.interval import Box, Rounding
from rnncheck.proofs.induction import NO_PARENT, Followed, Following, follow
from rnncheck.proofs.invariant import Closed, Ints, Progress, Stuck, close, holds
from rnncheck.proofs.word_classes import Partition, last_letters
from rnncheck.relations import Property
from rnncheck.runtime.cooperative import finish
from rnncheck.words import Alphabet, format_word

_INFLATIONS = (0.3, 0.1, 0.03, 0.01, 0.003)  # of small boxes, as shares of the range of each number


@renamed_fields(ahead="induction_depth")
@dataclass(frozen=True)
class ProofSettings:
    """How hard to try.

    ``context`` is the largest k of a partition by the last k letters; k grows from 0 as long as there are at most
    ``classes`` classes. Bounds that move are moved further by ``padding`` times the range of their number, for at most
    ``rounds`` rounds. Then many small boxes are tried, from each of which words lead to others within
    ``induction_depth`` letters; with 0 they are not. Where no proof closes, words of at most ``longest`` letters are
    tried by themselves; with ``epsilon`` it is enough that the words left unproved have a probability below it.
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
    """A closed set of boxes, one for each class of words, in which every answer is right: a proof.

    A class with a parent has no box of its own: its states are what a letter makes of the parent's, and are in its
    bounds.
    """

    partition: Partition
    boxes: Box
    rounding: Rounding
    parents: Ints

    @classmethod
    def of_boxes(cls, partition: Partition, boxes: Box, rounding: Rounding) -> Invariant:
        """Every class has a box of its own."""
        return cls(partition, boxes, rounding, np.full(len(partition), NO_PARENT))

    @property
    def own_boxes(self) -> Ints:
        """The classes that have a box of their own."""
        return np.flatnonzero(self.parents == NO_PARENT)


@dataclass(frozen=True, eq=False)
class Obstacle:
    """Where an attempt with a box for each class failed: the partition, and the class in it."""

    partition: Partition
    stuck: Stuck


@dataclass(frozen=True)
class NotProved:
    """Every attempt failed, the last with the finest partition; ``why`` there was none after it."""

    obstacles: tuple[Obstacle, ...]
    why: str

    def sentence(self, alphabet: Alphabet) -> str:
        """For a person: which words' box did what, and why nothing finer was tried."""
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


def prove_words(network: RecurrentNetwork, wanted: Property, settings: ProofSettings | None = None) -> Attempts:
    """Look for a proof for all words but the empty one; yields between pieces of work, and after each failed attempt.

    Whoever runs it may try the word that an attempt got stuck with: it may be a violation.
    """
    settings = settings or ProofSettings()
    found = yield from _a_box_a_class(network, wanted, settings)
    if isinstance(found, Invariant) or not settings.induction_depth:
        return found
    following = Following.within(
        AbstractNetwork(network, settings.rounding), settings.induction_depth, settings.classes
    )
    if following is None:
        return found
    for inflation in _INFLATIONS:
        end = yield from follow(following, wanted, inflation)
        if isinstance(end, Followed):
            return Invariant(end.partition, end.boxes, settings.rounding, end.parents)
        yield end
        if not end.word:  # there were too many boxes; with less inflation there would be more
            break
    also = f"nor do small boxes that are followed for {following.k} letters close"
    return NotProved(found.obstacles, f"{found.why}; {also}")


def _a_box_a_class(network: RecurrentNetwork, wanted: Property, settings: ProofSettings) -> Attempts:
    abstract = AbstractNetwork(network, settings.rounding)
    obstacles: list[Obstacle] = []
    for context in range(settings.context + 1):
        partition = last_letters(wanted, context, settings.classes)
        if partition is None:
            return NotProved(tuple(obstacles), f"contexts of {context} letters need more than {settings.classes} boxes")
        end = yield from close(abstract, partition, settings.padding, settings.rounds)
        if isinstance(end, Closed):
            if holds(abstract, partition, end.boxes):
                return Invariant.of_boxes(partition, end.boxes, settings.rounding)
            end = Stuck(0, "is not closed with room to spare", ())
        obstacles.append(Obstacle(partition, end))
        yield end
    return NotProved(tuple(obstacles), f"contexts of {settings.context} letters, the longest allowed, are too short")


def find_invariant(
    network: RecurrentNetwork,
    wanted: Property,
    settings: ProofSettings | None = None,
    between: Callable[[], None] = lambda: None,
) -> Invariant | NotProved:
    """The same without a stop; ``between`` is called between pieces of work and may raise to end it."""
    return finish(prove_words(network, wanted, settings), between)
