"""Contact data made up from nothing but a seed, plausible enough for tests, demonstrations and documentation.

People belong to groups and meet mostly inside them. They are there on working days, some more than others, and meet in
bursts: around common breaks more than between them, mostly for one interval of 20 seconds and now and then for many.
The labels are seconds from midnight of the first day, as in the SocioPatterns lists.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rnncheck.contacts.temporal import TemporalNetwork
from rnncheck.errors import InputError, ResourceLimitError
from rnncheck.words import Alphabet, IntArray

RESOLUTION = 20
DAY = 86_400

_OPENS, _CLOSES = 8 * 3600, 18 * 3600
_BREAKS = np.array([10.0, 12.5, 15.5]) * 3600
_BREAK_SPREAD = 1200.0
_SHARE_IN_BREAKS = 0.5
_LONGEST_MEETING = 90  # intervals, half an hour
_ACROSS_PROBABILITY = 0.08  # that two people of different groups know each other
_MOST_CHANCES = 300_000_000  # to meet: pairs of people times days; some gigabytes
_ACROSS_RATE = 0.3  # how often they meet, against people of one group


@dataclass(frozen=True)
class SyntheticSettings:
    """How many people, for how long, in groups of what size, and how often two of one group meet on a day."""

    people: int = 60
    days: int = 3
    group_size: int = 12
    meetings: float = 1.0

    def __post_init__(self) -> None:
        for name, least in (("people", 2), ("days", 1), ("group_size", 1)):
            if getattr(self, name) < least:
                raise InputError(f"{name} is {getattr(self, name)}; give at least {least}")
        chances = self.people**2 * self.days * max(1.0, self.meetings)
        if chances > _MOST_CHANCES:
            raise ResourceLimitError(
                f"{self.people} people on {self.days} days with {self.meetings} meetings a pair need more memory than "
                "is sensible; give fewer of them"
            )
        if not 0.0 < self.meetings < 1000.0:
            raise InputError(f"meetings is {self.meetings}; give a number above 0, such as 1")


def synthetic_contacts(rng: np.random.Generator, settings: SyntheticSettings | None = None) -> TemporalNetwork:
    """Make up a temporal network in which everyone meets someone. The same generator state gives the same network."""
    settings = settings or SyntheticSettings()
    groups = np.arange(settings.people) // settings.group_size
    first, second, day = _meetings(settings, groups, rng)
    begin = day * DAY + _times_of_day(len(day), rng)
    intervals = np.minimum(rng.zipf(2.0, len(day)), _LONGEST_MEETING)
    meeting = np.repeat(np.arange(len(day)), intervals)
    within = np.arange(len(meeting)) - np.repeat(np.cumsum(intervals) - intervals, intervals)
    times = begin[meeting] + RESOLUTION * within
    # A pair that meets again before it parted is still one contact.
    contacts = np.unique(np.stack([times, first[meeting], second[meeting]], axis=1), axis=0)
    people = Alphabet([str(100 + number) for number in range(settings.people)])
    names = {person: _group_name(int(group)) for person, group in zip(people, groups, strict=True)}
    return TemporalNetwork(people, contacts[:, 0], contacts[:, 1], contacts[:, 2], names)


def _meetings(
    settings: SyntheticSettings, groups: IntArray, rng: np.random.Generator
) -> tuple[IntArray, IntArray, IntArray]:
    """Who meets whom on which day."""
    first, second = np.triu_indices(settings.people, k=1)
    same = groups[first] == groups[second]
    known = same | (rng.random(len(first)) < _ACROSS_PROBABILITY)
    first, second, same = first[known], second[known], same[known]
    sociable = rng.gamma(2.0, 0.5, settings.people)
    rate = settings.meetings * np.where(same, 1.0, _ACROSS_RATE) * sociable[first] * sociable[second]
    counts = rng.poisson(rate, (settings.days, len(rate)))
    day, pair = np.divmod(np.repeat(np.arange(counts.size), counts.ravel()), max(len(rate), 1))
    lonely = np.setdiff1d(np.arange(settings.people), np.concatenate([first[pair], second[pair]]))
    others = (lonely + 1) % settings.people  # the next in the list, mostly of the same group
    return (
        np.concatenate([first[pair], np.minimum(lonely, others)]),
        np.concatenate([second[pair], np.maximum(lonely, others)]),
        np.concatenate([day, rng.integers(settings.days, size=len(lonely))]),
    )


def _times_of_day(count: int, rng: np.random.Generator) -> IntArray:
    anywhere = rng.uniform(_OPENS, _CLOSES, count)
    breaks = rng.choice(_BREAKS, count) + rng.normal(0.0, _BREAK_SPREAD, count)
    seconds = np.where(rng.random(count) < _SHARE_IN_BREAKS, breaks, anywhere)
    return (np.clip(seconds, _OPENS, _CLOSES) // RESOLUTION).astype(np.int64) * RESOLUTION


def _group_name(number: int) -> str:
    """A to Z, then A2 to Z2 and so on."""
    round_, letter = divmod(number, 26)
    return chr(ord("A") + letter) + (str(round_ + 1) if round_ else "")
