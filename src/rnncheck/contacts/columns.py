"""What the columns of a contact file are: found from the file, or given.

A column is one of

    time              a whole number that orders the contacts
    day, hour         two columns in place of ``time``: hours are counted from day 0
    person1, person2  the two people; columns of the same name are joined (household E and member 2: E2)
    group1, group2    the group of each
    -                 passed over

Without a header, three columns are ``time,person1,person2`` and five have the groups behind, as in all SocioPatterns
contact lists. A header is recognised by its names: ``t i j`` with or without ``Ci Cj`` or ``Si Sj``, and the
``h1,m1,h2,m2,…,day,hour`` of the Kenyan households. Any other layout must be given.
"""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Sequence
from dataclasses import dataclass

from rnncheck.errors import FormatError, InputError, short_repr

KINDS = ("time", "day", "hour", "person1", "person2", "group1", "group2", "-")

_BY_COUNT = {
    3: ("time", "person1", "person2"),
    5: ("time", "person1", "person2", "group1", "group2"),
}

_HEADER_NAMES = {
    **dict.fromkeys(("t", "time", "timestamp"), "time"),
    **dict.fromkeys(("i", "person1", "h1", "m1"), "person1"),
    **dict.fromkeys(("j", "person2", "h2", "m2"), "person2"),
    **dict.fromkeys(("ci", "si", "di", "group1"), "group1"),
    **dict.fromkeys(("cj", "sj", "dj", "group2"), "group2"),
    **{name: name for name in ("day", "hour")},
}


@dataclass(frozen=True)
class Columns:
    """What each column is, and what stands between columns: ``,``, a tab, or None for any white space."""

    columns: tuple[str, ...]
    separator: str | None
    has_header: bool = False

    def positions(self, kind: str) -> list[int]:
        """Where the columns of a kind are."""
        return [position for position, column in enumerate(self.columns) if column == kind]


def parse_columns(text: str) -> tuple[str, ...]:
    """Read ``time,person1,person2,-``."""
    columns = tuple(part.strip() for part in text.split(","))
    unknown = [column for column in columns if column not in KINDS]
    if unknown:
        raise InputError(f"columns {short_repr(text)}: {short_repr(unknown[0])} is not one of {', '.join(KINDS)}")
    problem = _problem(columns)
    if problem:
        raise InputError(f"columns {short_repr(text)}: {problem}")
    return columns


def find_layout(line: str, columns: Sequence[str] | None, source: str, number: int) -> Columns:
    """The layout of a file, from its first line of content and the columns given."""
    separator = next((mark for mark in (",", "\t") if mark in line), None)
    fields = split_fields(line, separator)
    named = tuple(_HEADER_NAMES.get(field.lower(), "-") for field in fields)
    has_header = _problem(named) is None
    if columns is not None:
        return Columns(tuple(columns), separator, has_header)
    if has_header:
        return Columns(named, separator, True)
    if len(fields) not in _BY_COUNT:
        raise FormatError(
            f"{len(fields)} column{'' if len(fields) == 1 else 's'} in {short_repr(line)}; without a header there are "
            "3 (time and two people) or 5 (and their groups), with commas, tabs or blanks between; say what the "
            "columns are (--columns)",
            source,
            number,
        )
    return Columns(_BY_COUNT[len(fields)], separator)


def split_fields(line: str, separator: str | None) -> list[str]:
    """The fields of a line, without the white space around them."""
    line = line.strip("\r\n ")
    fields = line.split(separator)
    if separator is not None and '"' in line:  # as spreadsheets write names with a separator in them
        with contextlib.suppress(csv.Error):  # any other line is taken as it is
            fields = next(csv.reader([line], delimiter=separator, skipinitialspace=True))
    return [field.strip() for field in fields]


def _problem(columns: Sequence[str]) -> str | None:
    """What keeps these columns from describing contacts, if anything."""
    count = {kind: list(columns).count(kind) for kind in KINDS}
    if not (count["person1"] and count["person2"]):
        return "both person1 and person2 are needed"
    if count["time"] > 1 or count["day"] > 1 or count["hour"] > 1:
        return "a time can stand in one column only"
    if count["time"] + count["day"] != 1 or count["day"] != count["hour"]:
        return "one column must be time, or two day and hour"
    return None
