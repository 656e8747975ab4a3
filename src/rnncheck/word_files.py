"""Files of words: one word a line in the text form; empty lines and lines that begin with ``#`` are passed over.

The empty word is written ``ε``; a word that begins with the letter ``#`` has that letter in quotes.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rnncheck.errors import AlphabetError, ExpressionError, FormatError, short_repr
from rnncheck.runtime.files import read_limited
from rnncheck.words import Alphabet, Codes, Word, parse_word

_WORD_NAMES = ("word", "sequence")  # of the column, or of the field, that a word stands in


def read_words(path: str | Path, alphabet: Alphabet | None = None) -> list[Word]:
    """The words of a file, in order; a bad line or a letter that the alphabet lacks, is a FormatError with its line."""
    words = []
    for line, text in content_lines(path):
        word = parse_line(text, str(path), line)
        if alphabet is not None:
            encode_line(alphabet, word, str(path), line)
        words.append(word)
    return words


@dataclass(frozen=True)
class Sequences:
    """Somebody's own words, each with the line that it stands on; ``source`` names the file."""

    source: str
    words: tuple[Word, ...]
    lines: tuple[int, ...]

    def sha256(self) -> str:
        """A digest of the words in their order."""
        return hashlib.sha256(json.dumps(self.words, ensure_ascii=False).encode()).hexdigest()

    def describe(self) -> dict[str, object]:
        return {"source": self.source, "words": len(self.words), "sha256": self.sha256()}


def read_sequences(path: str | Path, alphabet: Alphabet) -> Sequences:
    """The words of a text file, or of a .csv or .jsonl file; a FormatError names the line that is wrong.

    A row of a CSV file has a letter in each cell, or the whole word in one cell or in a column called word or sequence.
    A line of a JSON Lines file is a list of letters, a text, or an object that has one as its word or sequence.
    """
    source = str(path)
    readers = {".csv": _csv_words, ".jsonl": _json_words, ".ndjson": _json_words}
    numbered = list(readers.get(Path(path).suffix.lower(), _text_words)(path))
    if not numbered:
        raise FormatError("there are no words in it; write one a line", source)
    for line, word in numbered:
        encode_line(alphabet, word, source, line)
    return Sequences(source, tuple(word for _, word in numbered), tuple(line for line, _ in numbered))


def _text_words(path: str | Path) -> Iterator[tuple[int, Word]]:
    return ((line, parse_line(text, str(path), line)) for line, text in content_lines(path))


def _csv_words(path: str | Path) -> Iterator[tuple[int, Word]]:
    lines = list(content_lines(path))
    rows = list(csv.reader((text for _, text in lines), skipinitialspace=True))
    if len(rows) != len(lines):
        raise FormatError("a cell of it goes on to another line; write each word on one line", str(path))
    names = [name.strip().lower() for name in rows[0]] if rows else []
    column = next((names.index(name) for name in _WORD_NAMES if name in names), None)
    for (line, _), row in list(zip(lines, rows, strict=True))[0 if column is None else 1 :]:
        if column is not None and column >= len(row):
            raise FormatError(f"there is no cell for the column {names[column]!r}", str(path), line)
        whole = row[column] if column is not None else row[0] if len(row) == 1 else None
        yield line, tuple(cell for cell in row if cell) if whole is None else parse_line(whole, str(path), line)


def _json_words(path: str | Path) -> Iterator[tuple[int, Word]]:
    for line, text in content_lines(path):
        try:
            found = json.loads(text)
        except ValueError as error:
            raise FormatError(f"not JSON: {error}", str(path), line) from None
        if isinstance(found, dict):
            found = next((found[name] for name in _WORD_NAMES if name in found), None)
        if isinstance(found, str):
            yield line, parse_line(found, str(path), line)
        elif isinstance(found, list) and all(isinstance(letter, str) for letter in found):
            yield line, tuple(found)
        else:
            raise FormatError(
                f"{short_repr(text)} is no word; write a list of letters, a text, or an object with one as its word",
                str(path),
                line,
            )


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
    # Only "\n" ends a line: splitlines would also cut at characters that may stand inside a letter.
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
