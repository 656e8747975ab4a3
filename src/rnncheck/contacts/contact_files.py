"""Reading and writing contact files: one contact per line, as the SocioPatterns collaboration publishes them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NoReturn, TypeAlias

import numpy as np

from rnncheck.contacts.columns import Columns, find_layout, split_fields
from rnncheck.contacts.temporal import TemporalNetwork
from rnncheck.errors import FormatError, InputError, short_repr
from rnncheck.runtime.files import write_atomically
from rnncheck.word_files import content_lines
from rnncheck.words import Alphabet, IntArray

SelfContacts: TypeAlias = Literal["auto", "refuse", "drop", "keep"]

# Sensors err: one of the published lists has one person meet itself, once in 28 561 lines.
_FEW = 1000


def read_contacts(
    path: str | Path, *, columns: Sequence[str] | None = None, self_contacts: SelfContacts = "auto"
) -> TemporalNetwork:
    """Read a file of contacts; people are numbered in the order of their first appearance.

    Fields are separated by commas, tabs or white space. ``columns`` gives their meaning if
    :mod:`rnncheck.contacts.columns` does not find it. Self-contacts (of someone with themselves) are an
    error, dropped or kept; ``auto`` drops them, with a note, if they are at most one line in a thousand, and raises an
    error otherwise. Any problem is a FormatError that names the line.
    """
    source = str(path)
    lines = list(content_lines(path))
    if not lines:
        raise FormatError("there are no contacts in it; write one per line: time, person, person", source)
    layout = find_layout(lines[0][1], columns, source, lines[0][0])
    if layout.has_header:
        del lines[0]
        if not lines:
            raise FormatError("there is a header but no contact below it", source)
    table = _Table(source, lines, layout)
    contacts = table.contacts()
    dropped = table.self_contacts_to_drop(contacts, self_contacts)
    return table.network(contacts, dropped)


@dataclass(frozen=True)
class _Contacts:
    times: list[int]
    first: list[str]
    second: list[str]


class _Table:
    """The lines of a file, cut into columns."""

    def __init__(self, source: str, lines: list[tuple[int, str]], layout: Columns) -> None:
        self.source = source
        self.lines = lines
        self.layout = layout
        self.rows = [split_fields(line, layout.separator) for _, line in lines]
        for row, fields in enumerate(self.rows):
            if len(fields) != len(layout.columns):
                self._fail(row, f"{len(fields)} columns, but {len(layout.columns)} are expected")
        self.columns = list(zip(*self.rows, strict=True))

    def contacts(self) -> _Contacts:
        if self.layout.positions("time"):
            times = self._numbers("time")
        else:
            times = [24 * day + hour for day, hour in zip(self._numbers("day"), self._numbers("hour"), strict=True)]
        return _Contacts(times, self._texts("person1"), self._texts("person2"))

    def self_contacts_to_drop(self, contacts: _Contacts, choice: SelfContacts) -> list[int]:
        """The rows of self-contacts to leave out."""
        if choice == "keep":
            return []
        pairs = zip(contacts.first, contacts.second, strict=True)
        rows = [row for row, (first, second) in enumerate(pairs) if first == second]
        if rows and (choice == "refuse" or (choice == "auto" and len(rows) * _FEW > len(self.rows))):
            self._fail(
                rows[0],
                f"{short_repr(contacts.first[rows[0]])} meets itself; a contact needs two people "
                "(--self-contacts drop leaves such lines out, keep takes them as they are)",
            )
        return rows

    def network(self, contacts: _Contacts, dropped: list[int]) -> TemporalNetwork:
        kept = np.ones(len(self.rows), dtype=bool)
        kept[dropped] = False
        first, second = (_take(names, kept) for names in (contacts.first, contacts.second))
        names = list(dict.fromkeys(itertools.chain.from_iterable(zip(first, second, strict=True))))
        try:
            if not names:
                raise InputError("there are no contacts in it but of people with themselves")
            people = Alphabet(names)
            times = self._int64(contacts.times)[kept]
            notes = self._notes(dropped)
            return TemporalNetwork(people, times, _codes(people, first), _codes(people, second), self._groups(), notes)
        except FormatError:
            raise
        except InputError as error:
            raise FormatError(str(error), self.source) from None

    def _groups(self) -> dict[str, str]:
        """The group of each person; where the lines differ, the first counts."""
        groups: dict[str, str] = {}
        for person, group in (("person2", "group2"), ("person1", "group1")):
            if self.layout.positions(group):
                members = zip(reversed(self._texts(person)), reversed(self._texts(group)), strict=True)
                groups.update(members)
        return groups

    def _notes(self, dropped: list[int]) -> tuple[str, ...]:
        if not dropped:
            return ()
        where = ", ".join(str(self.lines[row][0]) for row in dropped[:5]) + (", …" if len(dropped) > 5 else "")
        what = "1 self-contact was" if len(dropped) == 1 else f"{len(dropped)} self-contacts were"
        return (f"{what} left out (line {where})",)

    def _numbers(self, kind: str) -> list[int]:
        texts = self.columns[self.layout.positions(kind)[0]]
        try:
            numbers = list(map(int, texts))
        except ValueError:
            self._fail_first(texts, lambda text: not _is_numeric(text), kind, "is not a whole number")
        if min(numbers) < 0:
            self._fail_first(texts, lambda text: int(text) < 0, kind, "is negative; count time from 0")
        return numbers

    def _texts(self, kind: str) -> list[str]:
        pieces = [self.columns[position] for position in self.layout.positions(kind)]
        texts = list(pieces[0]) if len(pieces) == 1 else list(map("".join, zip(*pieces, strict=True)))
        if "" in texts and kind.startswith("person"):
            self._fail(texts.index(""), f"the name in column {kind} is empty")
        return texts

    def _int64(self, times: list[int]) -> IntArray:
        try:
            return np.array(times, dtype=np.int64)
        except OverflowError:
            largest = times.index(max(times))
            self._fail(largest, f"time {short_repr(times[largest])} is too large; the largest is 2⁶³ - 1")

    def _fail_first(self, texts: Sequence[str], is_bad: Callable[[str], bool], kind: str, problem: str) -> NoReturn:
        row = next(row for row, text in enumerate(texts) if is_bad(text))
        hint = ""
        if row == 0 and not self.layout.has_header and self._other_number_column() is not None:
            hint = f"; is the time in column {self._other_number_column()}? Say what the columns are (--columns)"
        elif row == 0 and not self.layout.has_header and not any(map(_is_numeric, self.rows[0])):
            hint = "; if this line is a header, put # before it and say what the columns are (--columns)"
        self._fail(row, f"{kind} {short_repr(texts[row])} {problem}{hint}")

    def _other_number_column(self) -> int | None:
        """The number of the only column that begins with a whole number, if there is just one."""
        numeric = [position for position, text in enumerate(self.rows[0], start=1) if _is_numeric(text)]
        return numeric[0] if len(numeric) == 1 else None

    def _fail(self, row: int, problem: str) -> NoReturn:
        number, line = self.lines[row]
        raise FormatError(f"{problem} (in {short_repr(line.strip())})", self.source, number)


def write_contacts(network: TemporalNetwork, path: str | Path) -> None:
    """Write a file that ``read_contacts`` reads: commas, no header, the groups behind where everybody has one."""
    for person in [*network.people, *network.groups.values()]:
        if person != person.strip() or not person or set(person) & set(',\n\r"') or not person.isprintable():
            raise InputError(f"{short_repr(person)} cannot be written in a file with commas; use plain names")
    people = list(network.people)
    with_groups = all(person in network.groups for person in people)
    lines = []
    for time, *pair in zip(network.times.tolist(), network.first.tolist(), network.second.tolist(), strict=True):
        names = [people[code] for code in pair]
        fields = [str(time), *names, *((network.groups[name] for name in names) if with_groups else ())]
        lines.append(",".join(fields) + "\n")
    write_atomically(path, "".join(lines))


def _take(names: list[str], kept: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> list[str]:
    return names if kept.all() else list(itertools.compress(names, kept.tolist()))


def _codes(people: Alphabet, names: list[str]) -> IntArray:
    return np.array(people.encode(names), dtype=np.int64)


def _is_numeric(text: str) -> bool:
    try:
        int(text)
    except ValueError:
        return False
    return True
