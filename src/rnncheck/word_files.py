"""Files of words: text (one word per line in the text form), CSV and JSON Lines, read the same way by all commands.

Empty lines and lines that begin with ``#`` are skipped.

The empty word is written ``ε``; a word that begins with the letter ``#`` has that letter in quotes.
"""

from __future__ import annotations

import csv
import hashlib
import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rnncheck.errors import AlphabetError, ExpressionError, FormatError, InputError, short_repr
from rnncheck.runtime.files import read_limited
from rnncheck.words import Alphabet, Codes, Word, parse_word

_WORD_NAMES = ("word", "sequence")  # of the column or field that contains the word
_LABEL_NAMES = ("label", "class")
_DELIMITERS = ",;\t"
_SEPARATORS = (";", ",", "|", ">", "->", "/", "-", "_", "+")  # that a hint tries between letters
_ROWS_LOOKED_AT = 20
_JSON_LINES = (".jsonl", ".ndjson")


@dataclass(frozen=True)
class WordFormat:
    """The format of words in a file: the columns, or fields, of the word and of its label, if not the usual ones.

    With ``separator`` the text of a word is cut there into letters, as they are; without, it is in the text form.
    """

    column: str | None = None
    label_column: str | None = None
    separator: str | None = None

    def __post_init__(self) -> None:
        if self.separator == "":
            raise InputError("the separator '' is empty; give the text between two letters, such as ';'")

    def word(self, text: str, source: str, line: int) -> Word:
        """The word that a text represents."""
        if self.separator is None:
            return parse_line(text, source, line)
        return tuple(letter.strip() for letter in text.split(self.separator) if letter.strip())


@dataclass(frozen=True)
class Row:
    """A word of a file, its line, and its label where the file has labels."""

    line: int
    word: Word
    label: str | None = None


USUAL = WordFormat()


def read_words(path: str | Path, alphabet: Alphabet | None = None, form: WordFormat = USUAL) -> list[Word]:
    """The words of a file of any kind, in order; a FormatError names the line that is wrong."""
    rows = read_rows(path, form)
    if alphabet is not None:
        _check_letters(rows, path, alphabet, form)
    return [row.word for row in rows]


def is_table(path: str | Path, form: WordFormat = USUAL) -> bool:
    """Whether words are in columns or fields, with labels in their own; in other files a line is a word."""
    return Path(path).suffix.lower() in (".csv", *_JSON_LINES) or bool(form.column or form.label_column)


def read_rows(path: str | Path, form: WordFormat = USUAL) -> list[Row]:
    """The words of a text file, or of a .csv, .tsv or .jsonl file; a FormatError names the line that is wrong.

    A row of a CSV file has a letter in each cell, or the whole word in one cell or in a column called word or sequence,
    or as the format says; a column called label or class has its label. A line of a JSON Lines file is a list of
    letters, a text, or an object that has one as its word or sequence.
    """
    suffix = Path(path).suffix.lower()
    if suffix == ".csv" or (suffix == ".tsv" and (form.column or form.label_column)):
        return list(_csv_rows(path, form))
    if suffix in _JSON_LINES:
        return list(_json_rows(path, form))
    if form.column or form.label_column:
        raise FormatError("a text file has no columns; name a .csv, .tsv or .jsonl file, or no column", str(path))
    return [Row(line, form.word(text, str(path), line)) for line, text in content_lines(path)]


@dataclass(frozen=True)
class Sequences:
    """The user's own words, each with its line; ``source`` names the file."""

    source: str
    words: tuple[Word, ...]
    lines: tuple[int, ...]

    def sha256(self) -> str:
        """A digest of the words in their order."""
        return hashlib.sha256(json.dumps(self.words, ensure_ascii=False).encode()).hexdigest()

    def describe(self) -> dict[str, object]:
        return {"source": self.source, "words": len(self.words), "sha256": self.sha256()}


def read_sequences(path: str | Path, alphabet: Alphabet, form: WordFormat = USUAL) -> Sequences:
    """The words of a file of any kind, with their lines; there must be one."""
    rows = read_rows(path, form)
    if not rows:
        raise FormatError("there are no words in it; write one per line", str(path))
    _check_letters(rows, path, alphabet, form)
    return Sequences(str(path), tuple(row.word for row in rows), tuple(row.line for row in rows))


def _check_letters(rows: list[Row], path: str | Path, alphabet: Alphabet, form: WordFormat) -> None:
    """Raise FormatError for an unknown letter; for a table the error suggests the column of words."""
    for row in rows:
        try:
            alphabet.encode(row.word)
        except AlphabetError as error:
            raise FormatError(f"{error}{_hint(path, alphabet, form)}", str(path), row.line) from None


def _hint(path: str | Path, alphabet: Alphabet, form: WordFormat) -> str:
    """The options that would name the words of a CSV file; nothing for other files."""
    if Path(path).suffix.lower() not in (".csv", ".tsv"):
        return ""
    names, *rows = _cells([text for _, text in content_lines(path)][: 1 + _ROWS_LOOKED_AT])
    named = [name.strip() for name in names]
    for place, name in enumerate(named):
        if form.column not in (None, name):
            continue
        cells = [row[place] for row in rows if place < len(row)]
        for separator in (None, *_SEPARATORS):
            if cells and all(_is_word(cell, WordFormat(separator=separator), alphabet) for cell in cells):
                between = "" if separator is None else f" --separator '{separator}'"
                return f"; are the words in the column {name}? Then give --column {shlex.quote(name)}{between}"
    return (
        f"; name the column of words (--column; there are {', '.join(named)}) and what is between letters (--separator)"
    )


def _is_word(cell: str, form: WordFormat, alphabet: Alphabet) -> bool:
    try:
        word = form.word(cell, "", 0)
    except FormatError:
        return False
    return bool(word) and all(letter in alphabet for letter in word)


def _cells(lines: list[str]) -> list[list[str]]:
    """The cells of the lines of a CSV file, by what its first line has most of."""
    delimiter = max(_DELIMITERS, key=(lines[0] if lines else "").count)
    return list(csv.reader(lines, delimiter=delimiter, skipinitialspace=True))


def _csv_rows(path: str | Path, form: WordFormat) -> Iterator[Row]:
    source, lines = str(path), list(content_lines(path))
    rows = _cells([text for _, text in lines])
    if len(rows) != len(lines):
        raise FormatError("a cell continues on another line; write each word on one line", source)
    names = [name.strip() for name in rows[0]] if rows else []
    column = _column(names, form.column, _WORD_NAMES, source)
    label = _column(names, form.label_column, () if column is None else _LABEL_NAMES, source)
    headed = column is not None or label is not None
    for (line, _), row in list(zip(lines, rows, strict=True))[1 if headed else 0 :]:
        for place in (column, label):
            if place is not None and place >= len(row):
                raise FormatError(f"there is no cell for the column {names[place]!r}", source, line)
        letters = [cell for place, cell in enumerate(row) if place != label]
        whole = row[column] if column is not None else letters[0] if len(letters) == 1 else None
        word = tuple(cell for cell in letters if cell) if whole is None else form.word(whole, source, line)
        yield Row(line, word, None if label is None else row[label].strip())


def _column(names: list[str], name: str | None, usual: tuple[str, ...], source: str) -> int | None:
    """The place of a column; None where none was named and none has a usual name."""
    if name is not None and name not in names:
        found = f"its first line has {', '.join(names)}" if any(names) else "the file is empty"
        raise FormatError(f"there is no column {name!r}; {found}", source, 1)
    known = [each.lower() for each in names]
    return names.index(name) if name is not None else next((known.index(n) for n in usual if n in known), None)


def _json_rows(path: str | Path, form: WordFormat) -> Iterator[Row]:
    source = str(path)
    for line, text in content_lines(path):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise FormatError(f"not JSON: {error}", source, line) from None
        label = None
        if isinstance(found, dict):
            label = _field(found, form.label_column, _LABEL_NAMES, source, line)
            found = _field(found, form.column, _WORD_NAMES, source, line)
        if isinstance(found, str):
            word = form.word(found, source, line)
        elif isinstance(found, list) and all(isinstance(letter, str) for letter in found):
            word = tuple(found)
        else:
            raise FormatError(
                f"{short_repr(text)} is not a word; write a list of letters, a text, or an object with one as its word",
                source,
                line,
            )
        yield Row(line, word, None if label is None else _label(label))


def _field(found: dict[str, Any], name: str | None, usual: tuple[str, ...], source: str, line: int) -> Any:
    if name is not None and name not in found:
        raise FormatError(f"there is no field {name!r}; it has {', '.join(map(str, found))}", source, line)
    return found[name] if name is not None else next((found[each] for each in usual if each in found), None)


def _label(value: object) -> str:
    """A label as text: true and false are yes and no."""
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def content_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """The numbered lines of a text file that are neither empty nor comments."""
    try:
        text = read_limited(path, "text").decode("utf-8-sig").replace("\r\n", "\n")
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror or error}", str(path)) from None
    except UnicodeDecodeError as error:
        number = error.object.count(b"\n", 0, error.start) + 1
        raise FormatError(f"byte {error.object[error.start]:#04x} is not UTF-8 text", str(path), number) from None
    except ValueError as error:  # a name with a null character, which no file has
        raise FormatError(f"cannot be read: {error}", str(path)) from None
    # Only "\n" ends a line: splitlines would also split at characters that may be part of a letter.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip() and not line.startswith("#"):
            yield number, line


def parse_line(text: str, source: str, line: int) -> Word:
    """One word in the text form; an error names the file and the line."""
    try:
        return parse_word(text)
    except ExpressionError as error:
        raise FormatError(str(error), source, line) from None


def encode_line(alphabet: Alphabet, word: Word, source: str, line: int) -> Codes:
    """The word as letter positions; an error names the file and the line."""
    try:
        return alphabet.encode(word)
    except AlphabetError as error:
        raise FormatError(str(error), source, line) from None
