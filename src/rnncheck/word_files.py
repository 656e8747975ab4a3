"""Files of words: one word a line in the text form; empty lines and lines that begin with ``#`` are passed over.

The empty word is written ``ε``; a word that begins with the letter ``#`` has that letter in quotes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rnncheck.errors import AlphabetError, ExpressionError, FormatError
from rnncheck.runtime.files import read_limited
from rnncheck.words import Alphabet, Codes, Word, parse_word


def read_words(path: str | Path, alphabet: Alphabet | None = None) -> list[Word]:
    """The words of a file, in order; a bad line or a letter that the alphabet lacks, is a FormatError with its line."""
    words = []
    for line, text in content_lines(path):
        word = parse_line(text, str(path), line)
        if alphabet is not None:
            encode_line(alphabet, word, str(path), line)
        words.append(word)
    return words


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
