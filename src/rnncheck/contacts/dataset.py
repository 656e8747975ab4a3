"""Labelled contact sequences to train recognisers on: time-respecting paths, and broken ones.

A broken path is made from a valid one, or on the way like one, in three ways, and is kept only where it is found to be
no time-respecting path:

    strangers   one person is exchanged, so that two who never met stand side by side
    backwards   every two neighbours met, but at one place the time goes back, and no choice of other times repairs it
    repeated    one person stands twice in a row; no one meets themselves

or in a fourth, if requested, as the paper's authors do in their code:

    many        every step may break in one of these ways, so that most words break at several places

People may occur again later: time-respecting paths allow that.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rnncheck.automata.dfa import Mask
from rnncheck.contacts.temporal import TemporalNetwork
from rnncheck.contacts.walks import as_words, broken_walks, is_whole, pairs_met, timed_walks, walks_respect_time
from rnncheck.errors import InputError, ResourceLimitError
from rnncheck.words import Alphabet, IntArray, WordBatch

# Words that are hardly found as drawn (less than one in this many in a round) get another length and kind,
_HARDLY = 50
# and the search ends after this many rounds without a new word.
_ROUNDS_WITHOUT_NEW = 30

_MOST_PLACES = 300_000_000  # for people in all words together, 8 bytes each


class BreakKind(enum.Enum):
    """How an invalid path is made."""

    STRANGERS = "strangers"
    BACKWARDS = "backwards"
    REPEATED = "repeated"
    MANY = "many"


ONE_BREAK = (BreakKind.STRANGERS, BreakKind.BACKWARDS, BreakKind.REPEATED)


@dataclass(frozen=True)
class DatasetSettings:
    """Sizes and proportions. Without ``train`` there are two training words for every contact."""

    shortest: int = 5
    longest: int = 15
    train: int | None = None
    test_share: float = 0.2
    valid_share: float = 0.5
    strict: bool = False
    kinds: tuple[BreakKind, ...] = ONE_BREAK

    def __post_init__(self) -> None:
        if not 2 <= self.shortest <= self.longest:
            raise InputError(
                f"lengths {self.shortest} to {self.longest}: the shortest path has at least 2 people, and no more than "
                "the longest"
            )
        if self.train is not None and self.train < 2:
            raise InputError(f"{self.train} training words are too few; give at least 2")
        for name, share in (("test", self.test_share), ("valid", self.valid_share)):
            if not 0.0 < share < 1.0:
                raise InputError(f"the {name} share is {share}; it must lie between 0 and 1")
        if not self.kinds:
            raise InputError("there must be a kind of broken path: strangers, backwards, repeated or many")


@dataclass(frozen=True, eq=False)
class ContactWords:
    """Different words of people, and which of them are time-respecting paths."""

    alphabet: Alphabet
    words: WordBatch
    valid: Mask

    def __len__(self) -> int:
        return len(self.words)


@dataclass(frozen=True, eq=False)
class ContactDataset:
    """Training and test words, no word in both. ``broken`` counts the invalid words of both by how they were made."""

    train: ContactWords
    test: ContactWords
    broken: dict[str, int]


def contact_dataset(
    network: TemporalNetwork, rng: np.random.Generator, settings: DatasetSettings | None = None
) -> ContactDataset:
    """Draw a data set. The same network, generator state and settings give the same words."""
    settings = settings or DatasetSettings()
    train = 2 * len(network) if settings.train is None else settings.train
    sizes = (train, max(2, round(settings.test_share * train)))
    if sum(sizes) * settings.longest > _MOST_PLACES:
        raise ResourceLimitError(
            f"{sum(sizes)} words of up to {settings.longest} people need more memory than is sensible; ask for at most "
            f"{_MOST_PLACES // settings.longest} words in training and test together"
        )
    valid_sizes = [min(size - 1, max(1, round(settings.valid_share * size))) for size in sizes]
    invalid_sizes = [size - valid for size, valid in zip(sizes, valid_sizes, strict=True)]
    drawer = _Drawer(network, settings, rng)
    valid = drawer.valid(sum(valid_sizes))
    invalid, kinds = drawer.invalid(sum(invalid_sizes))
    parts = []
    for part, begin in ((0, (0, 0)), (1, (valid_sizes[0], invalid_sizes[0]))):
        good = valid.part(begin[0], valid_sizes[part])
        bad = invalid.part(begin[1], invalid_sizes[part])
        parts.append(_mixed(network.people, good, bad, rng))
    broken = {kind.value: int(np.count_nonzero(kinds == k)) for k, kind in enumerate(settings.kinds)}
    return ContactDataset(parts[0], parts[1], broken)


@dataclass(frozen=True)
class _Walks:
    people: IntArray
    lengths: IntArray

    def part(self, begin: int, count: int) -> _Walks:
        return _Walks(self.people[begin : begin + count], self.lengths[begin : begin + count])


class _Drawer:
    """Draws different words until there are enough."""

    def __init__(self, network: TemporalNetwork, settings: DatasetSettings, rng: np.random.Generator) -> None:
        self.network = network
        self.settings = settings
        self.rng = rng

    def valid(self, count: int) -> _Walks:
        found, _ = self._collect(count, self._propose_valid, 1, "time-respecting paths")
        return found

    def invalid(self, count: int) -> tuple[_Walks, IntArray]:
        return self._collect(count, self._propose_broken, len(self.settings.kinds), "broken paths")

    def _collect(
        self, count: int, propose: Callable[[IntArray, IntArray], tuple[IntArray, Mask]], kinds: int, what: str
    ) -> tuple[_Walks, IntArray]:
        """Different walks that ``propose`` calls good; also the kind of each.

        Lengths and kinds are drawn first and a failure is tried again with the same, so that neither is favoured.
        """
        settings = self.settings
        people = np.empty((count, settings.longest), dtype=np.int64)
        lengths, of_kind = self._draw(count, kinds)
        seen: set[bytes] = set()
        pending = np.arange(count)
        barren = 0
        while len(pending):
            walks, good = propose(lengths[pending], of_kind[pending])
            new = np.flatnonzero(good)[_first_seen(walks[good], seen)]
            people[pending[new]] = walks[new]
            pending = np.delete(pending, new)
            barren = 0 if len(new) else barren + 1
            if barren >= _ROUNDS_WITHOUT_NEW:
                raise InputError(
                    f"only {count - len(pending)} different {what} of {settings.shortest} to {settings.longest} people "
                    f"were found, not {count}; ask for fewer words (--train, for `bench contacts` --words) or other "
                    "lengths"
                )
            if len(new) * _HARDLY < len(walks):
                lengths[pending], of_kind[pending] = self._draw(len(pending), kinds, first=barren)
        return _Walks(people, lengths), of_kind

    def _draw(self, count: int, kinds: int, first: int = 0) -> tuple[IntArray, IntArray]:
        """Lengths, and kinds in turn from ``first`` on: where few words are left, each kind must have its turn."""
        lengths = self.rng.integers(self.settings.shortest, self.settings.longest + 1, count)
        return lengths, self.rng.permutation((np.arange(count) + first) % kinds)

    def _walks(self, lengths: IntArray, *, turn_back: bool = False) -> IntArray:
        """Walks of these numbers of people, each along contacts in time."""
        return self._widened(
            timed_walks(self.network, lengths, self.rng, strict=self.settings.strict, turn_back=turn_back)
        )

    def _widened(self, walks: IntArray) -> IntArray:
        """The walks in a matrix that is as wide as the longest allowed."""
        missing = self.settings.longest - walks.shape[1]
        return np.pad(walks, ((0, 0), (0, missing)), constant_values=-1)

    def _propose_valid(self, lengths: IntArray, _: IntArray) -> tuple[IntArray, Mask]:
        walks = self._walks(lengths)
        return walks, is_whole(walks, lengths)

    def _propose_broken(self, lengths: IntArray, kinds: IntArray) -> tuple[IntArray, Mask]:
        walks = np.empty((len(lengths), self.settings.longest), dtype=np.int64)
        good = np.zeros(len(lengths), dtype=bool)
        makers = {
            BreakKind.STRANGERS: self._strangers,
            BreakKind.BACKWARDS: self._backwards,
            BreakKind.REPEATED: self._repeated,
            BreakKind.MANY: self._many,
        }
        for number, kind in enumerate(self.settings.kinds):
            chosen = np.flatnonzero(kinds == number)
            if len(chosen):
                walks[chosen], good[chosen] = makers[kind](lengths[chosen])
        whole = np.flatnonzero(good)
        valid = walks_respect_time(self.network, walks[whole], lengths[whole], strict=self.settings.strict)
        good[whole[valid]] = False
        return walks, good

    def _strangers(self, lengths: IntArray) -> tuple[IntArray, Mask]:
        walks = self._walks(lengths)
        good = is_whole(walks, lengths)
        rows, position = np.arange(len(walks)), self.rng.integers(lengths)
        walks[rows, position] = self.rng.integers(len(self.network.people), size=len(walks))
        return walks, good & ~_stutters(walks, lengths) & ~pairs_met(self.network, walks, lengths)

    def _backwards(self, lengths: IntArray) -> tuple[IntArray, Mask]:
        walks = self._walks(lengths, turn_back=True)
        return walks, is_whole(walks, lengths)

    def _repeated(self, lengths: IntArray) -> tuple[IntArray, Mask]:
        walks = self._walks(lengths)
        rows, position = np.arange(len(walks)), self.rng.integers(lengths - 1)
        good = is_whole(walks, lengths)
        walks[rows, position + 1] = walks[rows, position]
        return walks, good

    def _many(self, lengths: IntArray) -> tuple[IntArray, Mask]:
        walks = broken_walks(self.network, lengths, self.rng, strict=self.settings.strict)
        return self._widened(walks), np.ones(len(lengths), dtype=bool)


def _stutters(walks: IntArray, lengths: IntArray) -> Mask:
    inside = np.arange(1, walks.shape[1]) < lengths[:, None]
    return np.asarray(((walks[:, :-1] == walks[:, 1:]) & inside).any(axis=1))


def _first_seen(walks: IntArray, seen: set[bytes]) -> IntArray:
    """The positions of walks that were never seen before; they are remembered."""
    rows = np.ascontiguousarray(walks)
    width = rows.shape[1] * rows.itemsize
    data = rows.tobytes()
    new = []
    for row in range(len(rows)):
        key = data[row * width : (row + 1) * width]
        if key not in seen:
            seen.add(key)
            new.append(row)
    return np.array(new, dtype=np.int64)


def _mixed(people: Alphabet, valid: _Walks, invalid: _Walks, rng: np.random.Generator) -> ContactWords:
    labels = np.arange(len(valid.lengths) + len(invalid.lengths)) < len(valid.lengths)
    order = rng.permutation(len(labels))
    walks = np.concatenate([valid.people, invalid.people])[order]
    lengths = np.concatenate([valid.lengths, invalid.lengths])[order]
    return ContactWords(people, as_words(walks, lengths), labels[order])
