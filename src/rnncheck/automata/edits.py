"""Edits of words, their costs, and the words within a distance of a language.

The distance between two words is the least cost of a list of edits that turns one into the other: replacing, inserting
or deleting a letter, or swapping two neighbours, each with its own cost. The words near one word, or near any word of a
regular language, are a regular language again. Swapped letters are not edited any further, as usual.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from rnncheck.automata.dfa import DEFAULT_MAX_STATES, DFA
from rnncheck.automata.minimisation import coreachable
from rnncheck.errors import InputError, StateLimitError, short_repr
from rnncheck.runtime.watchdog import check_time
from rnncheck.words import Alphabet

Cost: TypeAlias = Fraction
Number: TypeAlias = int | float | str | Fraction
_Costs: TypeAlias = npt.NDArray[np.int64]

KINDS = ("substitute", "insert", "delete", "swap")
_MOST_UNITS = 1000  # of the largest unit that all costs and the distance are multiples of
_LARGEST = 10**9
_LETTERS_BETWEEN_LOOKS = 256  # between two checks of the time
_NUMBER = re.compile(r"[0-9]{1,10}(\.[0-9]{1,10})?(/[0-9]{1,10})?")


@dataclass(frozen=True)
class Edits:
    """The allowed edits and their costs; None where a kind is not allowed.

    ``replacements`` gives, for some letters, all letters that may replace them, with the cost of each. A ``locked``
    letter stays: it is neither replaced, inserted, deleted nor swapped, and replaces no other.
    """

    substitute: Cost | None = Fraction(1)
    insert: Cost | None = Fraction(1)
    delete: Cost | None = Fraction(1)
    swap: Cost | None = None
    replacements: Mapping[str, Mapping[str, Cost]] = field(default_factory=dict)
    locked: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        for kind in KINDS:
            if getattr(self, kind) is not None:
                object.__setattr__(self, kind, _cost(kind, getattr(self, kind)))
        for letter, others in self.replacements.items():
            if not isinstance(others, Mapping):
                raise InputError(
                    f"replacing {short_repr(letter)} is {short_repr(others)}; give OTHER = COST in a table"
                )
        checked = {
            letter: {other: _cost(f"{letter} by {other}", cost) for other, cost in others.items()}
            for letter, others in self.replacements.items()
        }
        object.__setattr__(self, "replacements", checked)
        object.__setattr__(self, "locked", frozenset(self.locked))

    @classmethod
    def of(cls, kinds: Iterable[str], **more: object) -> Edits:
        """The edits of these kinds, each with cost 1."""
        chosen = list(kinds)
        _check_kinds(chosen)
        costs = {kind: Fraction(1) if kind in chosen else None for kind in KINDS}
        return cls(**costs, **more)  # type: ignore[arg-type]

    @classmethod
    def from_tables(cls, tables: Mapping[str, object], locked: Iterable[str] = ()) -> Edits:
        """From a document with a table ``costs`` (a cost for each kind) and a table ``replace`` of tables."""
        unknown = set(tables) - {"costs", "replace"}
        costs, replace = tables.get("costs", {}), tables.get("replace", {})
        if unknown or not isinstance(costs, Mapping) or not isinstance(replace, Mapping):
            what = f"{short_repr(min(unknown))} is unknown" if unknown else "costs and replace are no tables"
            raise InputError(f"{what}; give [costs] with {', '.join(KINDS)}, and [replace.LETTER] with OTHER = COST")
        _check_kinds(costs or ["substitute"] * bool(replace))
        allowed = {kind: costs.get(kind) for kind in KINDS}  # kinds that are not named are not allowed
        return cls(**allowed, replacements=replace, locked=frozenset(locked))

    def check_letters(self, alphabet: Alphabet) -> None:
        """Raise InputError for letters that are not in the alphabet."""
        for letter in self.named():
            if letter not in alphabet:
                raise InputError(f"the edits name {short_repr(letter)}, which is not a letter of {alphabet}")

    def named(self) -> list[str]:
        """The letters that are locked, or that have their own replacement costs."""
        return [*self.locked, *self.replacements, *(other for some in self.replacements.values() for other in some)]

    def costs(self) -> set[Cost]:
        """All costs."""
        kinds = {getattr(self, kind) for kind in KINDS} - {None}
        return kinds | {cost for others in self.replacements.values() for cost in others.values()}

    def distances(self, largest: Cost) -> list[Cost]:
        """The distances above 0, and at most ``largest``, that two words can have, in order."""
        unit = self.unit(largest)
        most, costs = int(largest / unit), [int(cost / unit) for cost in self.costs()]
        found = [True] + [False] * most
        for distance in range(1, most + 1):
            found[distance] = any(cost <= distance and found[distance - cost] for cost in costs)
        return [distance * unit for distance in range(1, most + 1) if found[distance]]

    def unit(self, distance: Cost) -> Cost:
        """The largest cost that all costs, and the distance, are multiples of."""
        unit = Fraction(1, math.lcm(*(cost.denominator for cost in self.costs()), distance.denominator))
        if distance / unit > _MOST_UNITS:
            raise InputError(
                f"distance {plain(distance)} is more than {_MOST_UNITS} times the largest number that it and all costs "
                "are multiples of; give a smaller distance, or costs with fewer digits"
            )
        return unit

    def describe(self) -> dict[str, object]:
        """The edits as a document."""
        document: dict[str, object] = {kind: plain(cost) for kind in KINDS if (cost := getattr(self, kind)) is not None}
        if self.replacements:
            document["replacements"] = {
                letter: {other: plain(cost) for other, cost in others.items()}
                for letter, others in self.replacements.items()
            }
        if self.locked:
            document["locked"] = sorted(self.locked)
        return document

    def replacing(self, letter: str, other: str) -> Cost | None:
        """The cost of replacing a letter by another; None where that is not allowed."""
        if letter == other:
            return Fraction(0)
        if letter in self.locked or other in self.locked:
            return None
        return self.replacements[letter].get(other) if letter in self.replacements else self.substitute

    def each(self, kind: str, letters: Iterable[str]) -> list[Cost | None]:
        """The cost of an edit of this kind for each letter."""
        return [None if letter in self.locked else getattr(self, kind) for letter in letters]


def distance_of(value: Number) -> Cost:
    """A distance from the user's value."""
    distance = _fraction("distance", value)
    if distance < 0:
        raise InputError(f"distance {value} is negative; give 0 or more")
    return distance


def plain(cost: Cost) -> int | float:
    """A cost as a number: an int where it is whole."""
    return int(cost) if cost.denominator == 1 else float(cost)


def ball(word: Iterable[str], distance: Number, edits: Edits, alphabet: Alphabet) -> DFA:
    """The words within a distance of one word."""
    codes = alphabet.encode(word)
    table = np.full((len(codes) + 2, len(alphabet)), len(codes) + 1)
    table[np.arange(len(codes)), list(codes)] = np.arange(1, len(codes) + 1)
    return within(DFA(alphabet, table, np.arange(len(codes) + 2) == len(codes)), distance, edits)


def within(language: DFA, distance: Number, edits: Edits, *, max_states: int = DEFAULT_MAX_STATES) -> DFA:
    """The words within a distance of some word of a language.

    A state of the result holds, for each state of the language's automaton, the least cost of turning a word that leads
    there into what has been read; and, for swaps, the same one letter earlier, with the last letter.
    """
    edits.check_letters(language.alphabet)
    rows = _Rows(language, distance_of(distance), edits)
    first = rows.first()
    numbers = {first.tobytes(): 0}
    known, table, done = [first], [], 0
    while done < len(known):
        some = np.stack(known[done:])
        done = len(known)
        targets = np.empty((len(some), len(rows.kinds)), dtype=np.int64)
        for kind in range(len(rows.kinds)):
            if kind % _LETTERS_BETWEEN_LOOKS == _LETTERS_BETWEEN_LOOKS - 1:
                check_time()
            for place, row in enumerate(rows.read(some, kind)):
                key = row.tobytes()
                if key not in numbers:
                    if len(numbers) >= max_states:
                        raise StateLimitError(f"the words within distance {plain(rows.distance)}", max_states)
                    numbers[key] = len(known)
                    known.append(row)
                targets[place, kind] = numbers[key]
        table.append(targets)
    accepting = rows.accepting(np.stack(known))
    return DFA(language.alphabet, np.vstack(table)[:, rows.kind], accepting)


class _Rows:
    """The states of :func:`within`: costs as multiples of one unit; larger ones than the distance are capped above it.

    Letters that no word of the language has, and no edit names, form one kind; every other letter is its own kind.
    ``kinds`` has the first letter of each kind, and ``kind`` the kind of each letter. A row holds the current costs,
    those of one letter earlier with a swap begun, and the kind of the letter that began it.
    """

    def __init__(self, language: DFA, distance: Cost, edits: Edits) -> None:
        self.distance = distance
        self._unit = edits.unit(distance)
        self._most = int(distance / self._unit)
        self._language = language
        alphabet = language.alphabet
        useful = coreachable(language)
        sources, letters = np.nonzero(useful[language.transitions] & useful[:, None])
        order = np.argsort(language.transitions[sources, letters], kind="stable")
        self._sources = sources[order]
        targets = language.transitions[self._sources, letters[order]]
        self._starts = np.flatnonzero(np.append(True, targets[1:] != targets[:-1])) if len(targets) else targets
        self._targets = targets[self._starts]
        self.kinds, self.kind = _kinds(letters, edits, alphabet)
        self._read = self.kind[letters[order]]
        self._replace = self._replacing(edits, alphabet)
        firsts = [alphabet.letters[letter] for letter in self.kinds]
        self._insert, self._delete, self._swap = (
            np.array([self._whole(cost) for cost in edits.each(name, firsts)]) for name in ("insert", "delete", "swap")
        )

    def _replacing(self, edits: Edits, alphabet: Alphabet) -> npt.NDArray[np.int64]:
        """The cost of replacing a letter of one kind (the row) by another (the column); 0 for itself."""
        kinds = len(self.kinds)
        table = np.full((kinds, kinds), self._whole(edits.substitute), dtype=np.int64)
        for letter, others in edits.replacements.items():
            row = table[self.kind[alphabet.index(letter)]]
            row[:] = self._most + 1
            for other, cost in others.items():
                row[self.kind[alphabet.index(other)]] = self._whole(cost)
        locked = [self.kind[alphabet.index(letter)] for letter in edits.locked]
        table[locked, :] = table[:, locked] = self._most + 1
        np.fill_diagonal(table, 0)
        return table

    def first(self) -> _Costs:
        row = np.full(2 * len(self._language) + 1, self._most + 1, dtype=np.int64)
        if self._most >= 0:
            row[self._language.initial] = 0
        row[-1] = -1
        return np.asarray(self._without_letters(row[None])[0])

    def read(self, rows: _Costs, kind: int) -> _Costs:
        """The rows after a letter of this kind."""
        states = len(self._language)
        now, begun, before = rows[:, :states], rows[:, states:-1], rows[:, -1]
        after = now + self._insert[kind]
        self._move(after, now, self._replace[self._read, kind])
        for earlier in np.unique(before[before >= 0]):  # the language reads this letter first, then the earlier one
            if earlier != kind:
                self._swap_back(after, begun, before == earlier, kind, int(earlier))
        begins = now + self._swap[kind]
        result = np.hstack([after, begins, np.full((len(rows), 1), kind)])
        return self._without_letters(result)

    def accepting(self, rows: _Costs) -> npt.NDArray[np.bool_]:
        costs = rows[:, : len(self._language)][:, self._language.accepting]
        return np.asarray((costs <= self._most).any(axis=1))

    def _swap_back(self, after: _Costs, begun: _Costs, chosen: npt.NDArray[np.bool_], kind: int, earlier: int) -> None:
        if self._swap[kind] > self._most:
            return
        table = self._language.transitions
        ends = table[table[:, self.kinds[kind]], self.kinds[earlier]]
        some = after[chosen]
        for state, end in enumerate(ends.tolist()):
            some[:, end] = np.minimum(some[:, end], begun[chosen][:, state])
        after[chosen] = some

    def _without_letters(self, rows: _Costs) -> _Costs:
        """Apply deletions before the next letter is read, and cap the costs."""
        states = len(self._language)
        now = np.minimum(rows[:, :states], self._most + 1)
        while True:
            before = now.copy()
            self._move(now, before, self._delete[self._read])
            if np.array_equal(now, before):
                break
        rows[:, :states] = now
        rows[:, states:-1] = np.minimum(rows[:, states:-1], self._most + 1)
        idle = (rows[:, states:-1] > self._most).all(axis=1)  # no swap is under way, so its letter does not matter
        rows[idle, -1] = -1
        return rows

    def _move(self, into: _Costs, costs: _Costs, move_costs: npt.NDArray[np.int64]) -> None:
        """Follow every transition of the language at its cost, where that is cheaper."""
        if len(self._sources):
            moved = np.minimum.reduceat(costs[:, self._sources] + move_costs, self._starts, axis=1)
            into[:, self._targets] = np.minimum(into[:, self._targets], moved)
            np.minimum(into, self._most + 1, out=into)

    def _whole(self, cost: Cost | None) -> int:
        return self._most + 1 if cost is None else min(int(cost / self._unit), self._most + 1)


def _kinds(used: _Costs, edits: Edits, alphabet: Alphabet) -> tuple[list[int], _Costs]:
    """The first letter of each kind, and the kind of each letter, where some letters are ``used`` by a language."""
    own = np.zeros(len(alphabet), dtype=np.bool_)
    own[used] = True
    own[[alphabet.index(letter) for letter in edits.named()]] = True
    first = own.copy()
    first[np.flatnonzero(~own)[:1]] = True
    kind = np.cumsum(first) - 1
    kind[~own] = kind[~own].min(initial=len(alphabet))
    return np.flatnonzero(first).tolist(), kind


def _check_kinds(kinds: Iterable[object]) -> None:
    chosen = list(kinds)
    for kind in chosen:
        if kind not in KINDS:
            raise InputError(f"edit {short_repr(kind)} is unknown; choose from {', '.join(KINDS)}")
    if not chosen:
        raise InputError(f"no edits; choose from {', '.join(KINDS)}")


def _cost(name: str, value: object) -> Cost:
    cost = _fraction(f"the cost of {name}", value)
    if cost <= 0:
        raise InputError(f"the cost of {name} is {value}; an edit costs more than 0 (leave out what is not allowed)")
    return cost


def _fraction(name: str, value: object) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, int | float | str | Fraction):
        raise InputError(f"{name} is {short_repr(value)}; give a number")
    if isinstance(value, str) and not _NUMBER.fullmatch(value.strip().removeprefix("-")):
        raise InputError(f"{name} is {short_repr(value)}; give a number, such as 2 or 0.5")
    try:
        number = Fraction(str(value)) if isinstance(value, float) else Fraction(value)
    except (ValueError, ZeroDivisionError, OverflowError):
        raise InputError(f"{name} is {short_repr(value)}; give a number") from None
    if number > _LARGEST:
        raise InputError(f"{name} is larger than {_LARGEST}; give a smaller one")
    return number
