"""The tables of a property file: each key is read once, with its type, and an unknown key is an error."""

from __future__ import annotations

import difflib
import enum
import math
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from rnncheck.errors import FormatError, short_repr
from rnncheck.options.option import Choice, Flag, Kind, Number, Whole
from rnncheck.runtime.files import read_limited

_Member = TypeVar("_Member", bound=enum.Enum)
_Kind = TypeVar("_Kind")


@dataclass(frozen=True)
class Document:
    """A TOML file: its content, and the line that each table begins on, and that each of its keys stands on."""

    path: Path
    content: Mapping[str, Any]
    lines: Mapping[tuple[str, ...], int] = field(repr=False)

    @classmethod
    def read(cls, path: str | Path) -> Document:
        """Read a file; a FormatError names the line that is wrong."""
        try:
            text = read_limited(path, "properties").decode("utf-8-sig").replace("\r\n", "\n")
            return cls(Path(path), tomllib.loads(text), _lines(text))
        except OSError as error:
            raise FormatError(f"cannot be read: {error.strerror or error}", str(path)) from None
        except tomllib.TOMLDecodeError as error:
            repeated = "twice" in str(error) or "overwrite" in str(error)
            remedy = "give each its own name" if repeated else "texts need quotes"
            raise FormatError(f"not TOML: {error}; {remedy}", str(path)) from None
        except (ValueError, RecursionError) as error:  # not UTF-8, a name that no file has, a million brackets
            raise FormatError(f"cannot be read as TOML: {error}", str(path)) from None

    def table(self, *names: str) -> Table:
        """The table of that name, empty where the file has none."""
        found: Any = self.content
        for depth, name in enumerate(names, start=1):
            found = found.get(name, {})
            if not isinstance(found, Mapping):
                where = ".".join(names[:depth])
                raise FormatError(f"{where} = {short_repr(found)} is not a table; write [{where}]", str(self.path))
        return Table(self, names, found)

    def tables(self, name: str) -> Iterator[tuple[str, Table]]:
        """The tables below a name, in the order of the file."""
        for inner in self.table(name).content:
            yield inner, self.table(name, inner)


def _lines(text: str) -> dict[tuple[str, ...], int]:
    """The line of each table and of each key, by its names. The first line that looks like one is taken."""
    lines: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.split("\n"), start=1):
        header = line.lstrip().startswith("[")
        key, equals, _ = line.partition("=")
        if not header and not equals:
            continue
        try:
            names = _names(tomllib.loads(line if header else f"{key} = 0"))
        except tomllib.TOMLDecodeError:  # part of a list, or of a text of several lines
            continue
        table = names if header else table
        lines.setdefault(names if header else (*table, *names), number)
    return lines


def _names(found: Any) -> tuple[str, ...]:
    names: tuple[str, ...] = ()
    while isinstance(found, dict) and found:
        (name, found), *_ = found.items()
        names = (*names, name)
    return names


class Table:
    """One table. ``finish`` raises an error for keys that were not read."""

    def __init__(self, document: Document, names: tuple[str, ...], content: Mapping[str, Any]) -> None:
        self.document = document
        self.names = names
        self.content = content
        self._known: list[str] = []

    @property
    def line(self) -> int:
        """The line it begins on; 0 where that is not known."""
        return self.document.lines.get(self.names, 0)

    def error(self, problem: str, key: str | None = None) -> FormatError:
        """What is wrong with the table, or with the value of a key."""
        shown = "" if key is None else f" {key} = {short_repr(self.content.get(key))}"
        line = self.line if key is None else self.document.lines.get((*self.names, key), self.line)
        return FormatError(f"[{'.'.join(self.names)}]{shown}: {problem}", str(self.document.path), line)

    def has(self, key: str) -> bool:
        return key in self.content

    def text(self, key: str, default: _Kind, *, blank: bool = False) -> str | _Kind:
        value = self._value(key)
        if value is None:
            return default
        if not isinstance(value, str) or not (value if blank else value.strip()):
            raise self.error('write a text in quotes, such as "…"', key)
        return value

    def path(self, key: str, default: Path | None = None) -> Path | None:
        """A file, named relative to the property file."""
        text = self.text(key, None)
        return default if text is None else self.document.path.parent / text

    def flag(self, key: str, default: bool) -> bool:
        value = self._value(key)
        if not isinstance(value, bool | None):
            raise self.error("write true or false", key)
        return default if value is None else value

    def whole(self, key: str, default: _Kind, *, least: int) -> int | _Kind:
        value = self._value(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self.error(f"write a whole number of at least {least}", key)
        return value

    def number(self, key: str, default: _Kind, *, above: float, below: float = math.inf) -> float | _Kind:
        value = self._value(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not above < value < below:
            bounds = f"above {above:g}" if below == math.inf else f"between {above:g} and {below:g}"
            raise self.error(f"write a number {bounds}", key)
        return float(value)

    def choice(self, key: str, default: _Member) -> _Member:
        value = self._value(key)
        try:
            return default if value is None else type(default)(value)
        except ValueError:
            known = ", ".join(_quoted(member.value for member in type(default)))
            raise self.error(f"write one of {known}", key) from None

    def option(self, key: str, kind: Kind, default: Any) -> Any:
        """The value of an option, as its kind says."""
        match kind:
            case Flag():
                return self.flag(key, default)
            case Whole(least):
                return self.whole(key, default, least=least or 0)
            case Number(above=above, below=below):
                lowest = -math.inf if above is None else above
                return self.number(key, default, above=lowest, below=math.inf if below is None else below)
            case Choice():
                name = self.text(key, None)
                if name is None:
                    return default
                if name not in kind.names:
                    raise self.error(f"write one of {', '.join(_quoted(kind.names))}", key)
                return kind.value(name)
            case _:
                return self.text(key, default)

    def texts(self, key: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        value = self._value(key)
        if value is None:
            return default
        if not isinstance(value, list) or not all(isinstance(one, str) and one for one in value):
            raise self.error('write a list of texts, such as ["a", "b"]', key)
        return tuple(value)

    def one_of(self, keys: Iterable[str], what: str) -> tuple[str, str]:
        """The one of these keys that is there, and its text."""
        names = tuple(keys)
        given = [key for key in names if self._value(key) is not None]
        if len(given) != 1:
            found = "none is there" if not given else f"got {' and '.join(given)}"
            raise self.error(f"give exactly one of {', '.join(names)}, {what} ({found})")
        return given[0], self.text(given[0], "")

    def inner(self, key: str) -> Table | None:
        """A table within this one, where the value of the key is one."""
        value = self._value(key)
        return Table(self.document, (*self.names, key), value) if isinstance(value, Mapping) else None

    def check_renamed(self, names: Mapping[str, str]) -> None:
        """Raise FormatError, which names the new key, where there is one of the old ones (old → new)."""
        for old, new in names.items():
            if old in self.content:
                raise self.error(f"this key is called {new} now; write {new}", old)

    def finish(self) -> None:
        """Raise FormatError for an unknown key."""
        for key in self.content:
            if key not in self._known:
                near = difflib.get_close_matches(key, self._known, n=1)
                hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(sorted(set(self._known)))}"
                raise self.error(f"unknown key; {hint}", key)

    def _value(self, key: str) -> Any:
        self._known.append(key)
        return self.content.get(key)


def _quoted(names: Iterable[str]) -> Iterator[str]:
    return (f'"{name}"' for name in names)
