"""The temporal network: people, and the times at which two of them met."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from rnncheck.errors import InputError, ResourceLimitError, short_repr
from rnncheck.words import Alphabet, IntArray, Word

# Who met whom is a table with a row and a column for each: 400 MB for this number.
MOST_PEOPLE = 20_000


@dataclass(frozen=True, eq=False)
class TemporalNetwork:
    """People and their undirected, timed contacts.

    Contact ``k`` is between the people at positions ``first[k]`` and ``second[k]`` of ``people``, at ``times[k]``;
    contacts stand in the order of time. Times are whole numbers from 0, in whatever unit the data has. A contact may be
    listed more than once. ``groups`` has the group of each person (a class, a ward) if it is known, ``notes`` what
    was changed on the way here.
    """

    people: Alphabet
    times: IntArray
    first: IntArray
    second: IntArray
    groups: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.people) < 2:
            raise InputError(f"only one person, {short_repr(self.people[0])}; contacts need at least two people")
        if len(self.people) > MOST_PEOPLE:
            raise ResourceLimitError(f"{len(self.people)} people are more than {MOST_PEOPLE}; leave some of them out")
        columns = {name: _integers(name, getattr(self, name)) for name in ("times", "first", "second")}
        lengths = {name: len(column) for name, column in columns.items()}
        if len(set(lengths.values())) != 1:
            raise InputError(f"a contact needs a time and two people, but there are {lengths}")
        if not lengths["times"]:
            raise InputError("there are no contacts; give at least one")
        if columns["times"].min() < 0:
            raise InputError(f"time {columns['times'].min()} is negative; count time from 0")
        for name in ("first", "second"):
            outside = (columns[name] < 0) | (columns[name] >= len(self.people))
            if outside.any():
                raise InputError(f"{name} is {columns[name][outside][0]}, but there are {len(self.people)} people")
        order = np.argsort(columns["times"], kind="stable")
        for name, column in columns.items():
            ordered = column[order]
            ordered.flags.writeable = False
            object.__setattr__(self, name, ordered)

    @classmethod
    def from_contacts(cls, contacts: Iterable[tuple[int, str, str]]) -> TemporalNetwork:
        """From triples of a time and two names; people are numbered in the order of appearance."""
        triples = list(contacts)
        names = dict.fromkeys(name for _, *pair in triples for name in pair)
        if not names:
            raise InputError("there are no contacts; give at least one")
        people = Alphabet(names)
        first = np.array([people.index(name) for _, name, _ in triples])
        second = np.array([people.index(name) for _, _, name in triples])
        return cls(people, np.array([time for time, _, _ in triples]), first, second)

    def __len__(self) -> int:
        """The number of contacts, repetitions included."""
        return len(self.times)

    @functools.cached_property
    def moments(self) -> IntArray:
        """The different times, rising. The rank of a time is its position here."""
        return np.unique(self.times)

    @functools.cached_property
    def met(self) -> npt.NDArray[np.bool_]:
        """``met[p, q]``: whether the two ever met. Symmetric."""
        matrix = np.zeros((len(self.people), len(self.people)), dtype=bool)
        matrix[self.first, self.second] = True
        matrix[self.second, self.first] = True
        return matrix

    @functools.cached_property
    def index(self) -> ContactIndex:
        """The contacts, ordered so that the next one of one person or a pair is found at once."""
        return ContactIndex.of(self)

    @property
    def distinct_contacts(self) -> int:
        """The number of different contacts: one pair at one time counts once."""
        loops = int(np.count_nonzero(self.index.start == self.index.end))
        return (len(self.index.rank) + loops) // 2

    @property
    def pairs(self) -> int:
        """The number of pairs of two people that ever met."""
        return int(np.count_nonzero(np.triu(self.met, k=1)))

    def times_of(self, person: str, other: str) -> IntArray:
        """The different times at which two people met, rising."""
        pair = self.people.index(person) * len(self.people) + self.people.index(other)
        begin, end = np.searchsorted(self.index.keys, [pair * self.index.width, (pair + 1) * self.index.width])
        return self.moments[self.index.rank[begin:end]]

    def between(self, start: int | None = None, end: int | None = None) -> TemporalNetwork:
        """The same people, with the contacts from ``start`` to ``end`` alone (both included)."""
        least, most = int(self.times[0]), int(self.times[-1])
        window = " ".join(f"{word} {bound}" for word, bound in (("from", start), ("until", end)) if bound is not None)
        start, end = least if start is None else start, most if end is None else end
        kept = (self.times >= start) & (self.times <= end)
        if not kept.any():
            raise InputError(f"there is no contact {window}; the times go from {least} to {most}")
        return TemporalNetwork(
            self.people, self.times[kept], self.first[kept], self.second[kept], self.groups, self.notes
        )


@dataclass(frozen=True, eq=False)
class ContactIndex:
    """Every different contact in both directions, ordered by start, end and rank of time; and by start and rank.

    ``keys`` is the first order as one number a contact, so that a binary search answers for many pairs at once. The
    arrays ``person_…`` are the second order: contact ``k`` of it is with ``person_partner[k]``, and those of person
    ``p`` stand from ``person_offsets[p]`` to ``person_offsets[p + 1]``.
    """

    people: int
    width: int
    start: IntArray
    end: IntArray
    rank: IntArray
    keys: IntArray
    person_keys: IntArray
    person_rank: IntArray
    person_partner: IntArray
    person_offsets: IntArray

    @classmethod
    def of(cls, network: TemporalNetwork) -> ContactIndex:
        people = len(network.people)
        width = len(network.moments)
        rank = np.searchsorted(network.moments, network.times)
        start = np.concatenate([network.first, network.second])
        end = np.concatenate([network.second, network.first])
        keys = np.unique((start * people + end) * width + np.concatenate([rank, rank]))
        pair, rank = np.divmod(keys, width)
        start, end = np.divmod(pair, people)
        order = np.lexsort((end, rank, start))
        offsets = np.searchsorted(start, np.arange(people + 1))
        by_person = start[order] * width + rank[order]
        return cls(people, width, start, end, rank, keys, by_person, rank[order], end[order], offsets)

    def next_rank(self, start: IntArray, end: IntArray, not_before: IntArray) -> IntArray:
        """The rank of the first contact of each pair that is not before a rank; -1 where there is none."""
        pair = (start * self.people + end) * self.width
        at = np.searchsorted(self.keys, pair + not_before)
        found = self.keys[np.minimum(at, len(self.keys) - 1)] - pair
        return np.where((at < len(self.keys)) & (found < self.width), found, -1)


def people_of(network: TemporalNetwork, word: Iterable[str]) -> Word:
    """The word as a tuple, after a check that all its letters are people of the network."""
    return network.people.decode(network.people.encode(word))


def _integers(name: str, values: npt.ArrayLike) -> IntArray:
    column = np.asarray(values)
    if column.ndim != 1 or (column.size and column.dtype.kind not in "iu"):
        raise InputError(f"{name} must be one row of whole numbers, not {short_repr(values)}")
    return column.astype(np.int64)
