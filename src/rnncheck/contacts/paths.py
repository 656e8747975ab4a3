"""Time-respecting paths: people who could have passed something on, one to the next.

A word of people is a time-respecting path where every two neighbours in it met, at times that never go back: never
decrease, or with ``strict`` always increase. The empty word and single people are paths of no contact, and are valid.
People may occur again, as long as the times allow it.

Whether such times exist is decided by the earliest-arrival rule: take for every step the earliest contact of the two
that is not before the last one. An earlier arrival allows every continuation that a later one does, so where this
choice fails, every choice fails.

Not strict is the default because the labels are coarse: in the SocioPatterns data a label stands for an interval of
20 seconds (or an hour), and two contacts in the same interval may have been in either order.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rnncheck.contacts.temporal import TemporalNetwork, people_of
from rnncheck.errors import visible
from rnncheck.words import EPSILON, Word, WordBatch, encode_batch, letter_text

ARROW = " → "


class Reason(enum.Enum):
    """Why a step of a path is impossible; the value is the text for reports."""

    NEVER_MET = "who never met"
    ONLY_BEFORE = "who met only before"


@dataclass(frozen=True)
class BrokenStep:
    """The step from ``word[position]`` to the next person, and why it is impossible.

    ``arrival`` is the time at which the path has come to the first of the two, ``last_met`` when they met last.
    """

    position: int
    first: str
    second: str
    reason: Reason
    arrival: int | None = None
    last_met: int | None = None

    def __str__(self) -> str:
        if self.first == self.second and self.reason is Reason.NEVER_MET:
            return f"{_person(self.first)}{ARROW}{_person(self.second)}, the same person twice"
        text = f"{_person(self.first)}{ARROW}{_person(self.second)}, {self.reason.value}"
        if self.reason is Reason.ONLY_BEFORE and self.last_met == self.arrival:  # too late for strict paths only
            return f"{_person(self.first)}{ARROW}{_person(self.second)}, who met at {self.last_met} and not later"
        if self.reason is Reason.ONLY_BEFORE:
            text += f": last at {self.last_met}, and the path reaches {_person(self.first)} at {self.arrival}"
        return text


@dataclass(frozen=True)
class PathCheck:
    """The answer about one word: the earliest times that prove it, one per step, or the times up to the broken step."""

    word: Word
    times: tuple[int, ...]
    broken: BrokenStep | None

    @property
    def valid(self) -> bool:
        return self.broken is None

    def __str__(self) -> str:
        """The people with the time of each step between them; ``✗`` stands for the broken one."""
        marks = [f" –{time}→ " for time in self.times] + ([] if self.broken is None else [" –✗→ "])
        people = [_person(person) for person in self.word[: len(marks) + 1]]
        pieces = itertools.chain.from_iterable(itertools.zip_longest(people, marks, fillvalue=""))
        return ("".join(pieces) or EPSILON) + ("" if len(people) == len(self.word) else " …")


def check_path(network: TemporalNetwork, word: Iterable[str], *, strict: bool = False) -> PathCheck:
    """Whether a word is a time-respecting path, with the times that prove it or the place where it breaks."""
    people = people_of(network, word)
    times: list[int] = []
    for position, (first, second) in enumerate(itertools.pairwise(people)):
        met_at = network.times_of(first, second)
        at = int(np.searchsorted(met_at, times[-1], "right" if strict else "left")) if times else 0
        if at == len(met_at):
            broken = (
                BrokenStep(position, first, second, Reason.ONLY_BEFORE, times[-1], int(met_at[-1]))
                if len(met_at)
                else BrokenStep(position, first, second, Reason.NEVER_MET)
            )
            return PathCheck(people, tuple(times), broken)
        times.append(int(met_at[at]))
    return PathCheck(people, tuple(times), None)


def respect_time(
    network: TemporalNetwork, words: WordBatch | Iterable[Iterable[str]], *, strict: bool = False
) -> npt.NDArray[np.bool_]:
    """One answer per word: whether it is a time-respecting path."""
    batch = encode_batch(network.people, words)
    valid = np.ones(len(batch), dtype=bool)
    arrival = np.zeros(len(batch), dtype=np.int64)
    lengths = batch.lengths
    for step in range(int(lengths.max(initial=0)) - 1):
        running = np.flatnonzero(valid & (lengths > step + 1))
        at = batch.offsets[running] + step
        start, end = batch.codes[at].astype(np.int64), batch.codes[at + 1].astype(np.int64)
        rank = network.index.next_rank(start, end, arrival[running])
        valid[running] = rank >= 0
        arrival[running] = rank + strict
    return valid


def broken_pairs(network: TemporalNetwork, word: Iterable[str]) -> list[BrokenStep]:
    """The steps of a word between people who never met: what the contact graph rejects, time disregarded."""
    people = people_of(network, word)
    codes = network.people.encode(people)
    return [
        BrokenStep(position, people[position], people[position + 1], Reason.NEVER_MET)
        for position, pair in enumerate(itertools.pairwise(codes))
        if not network.met[pair]
    ]


def explain_path(network: TemporalNetwork, word: Iterable[str], *, strict: bool = False) -> str:
    """The meaning of a model accepting a word, to follow the model's name in a sentence.

    People who never met are named first, because no order of contacts could repair that.
    """
    people = people_of(network, word)
    if len(people) < 2:
        return f"accepts {_person(people[0])} alone" if people else "accepts the empty word"
    strangers = broken_pairs(network, people)
    if strangers:
        return f"accepts {strangers[0]}{_more(len(strangers) - 1, len(people) - 1)}"
    check = check_path(network, people, strict=strict)
    if check.broken is not None:
        return f"accepts {check.broken}"
    return f"accepts a path that took place: {check}"


def _more(others: int, steps: int) -> str:
    return f" ({others} more of its {steps} pairs never met)" if others else ""


def _person(name: str) -> str:
    return visible(letter_text(name))
