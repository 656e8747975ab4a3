r"""Letters, alphabets, words, and the one text form that words have everywhere.

A letter is any string; a word is a tuple of letters. Inside the engine letters are their positions
in the alphabet, and many words at once are a :class:`WordBatch`.

Text form of a word: letters separated by white space, ``ε`` (or nothing) for the empty word. A letter that
could be misread (it has white space, a quote, a comma or a backslash, is empty, or is ``ε`` itself) is
written in single quotes, with ``\'``, ``\\``, ``\n``, ``\t``, ``\r`` and ``\u{…}`` as escapes. Alphabets use
the same letters, separated by commas.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from rnncheck.errors import AlphabetError, ExpressionError, InputError, short_repr, visible

Word: TypeAlias = tuple[str, ...]
Codes: TypeAlias = tuple[int, ...]
IntArray: TypeAlias = npt.NDArray[np.int64]

_Int = TypeVar("_Int", bound=np.signedinteger[Any])

EPSILON = "ε"

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "'": "'", '"': '"', "\\": "\\"}
_ESCAPED = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "'": "\\'", "\\": "\\\\"}
_NEEDS_QUOTES = re.compile(r"""[\s'",\\]""")


class Alphabet(Sequence[str]):
    """An ordered set of letters. The order is the order of letters in shortlex and in tables."""

    __slots__ = ("_index", "letters")

    letters: tuple[str, ...]

    def __init__(self, letters: Iterable[str]) -> None:
        if isinstance(letters, str):
            raise AlphabetError(
                f"an alphabet is a sequence of letters, not the string {short_repr(letters)}; "
                f"give a list, or Alphabet.parse({short_repr(letters)})"
            )
        try:
            self.letters = tuple(letters)
        except TypeError:
            raise AlphabetError(f"{short_repr(letters)} is not a sequence of letters; give a list of strings") from None
        if not self.letters:
            raise AlphabetError("the alphabet is empty; give at least one letter")
        self._index: dict[str, int] = {}
        for position, letter in enumerate(self.letters):
            if not isinstance(letter, str):
                raise AlphabetError(
                    f"letter {short_repr(letter)} is a {type(letter).__name__}; letters are strings: "
                    f"write {short_repr(str(letter))}"
                )
            if letter in self._index:
                raise AlphabetError(f"letter {short_repr(letter)} appears twice in the alphabet; list each letter once")
            self._index[letter] = position

    @classmethod
    def parse(cls, text: str) -> Alphabet:
        """Read letters separated by commas, each bare or quoted: ``a,b,'<a b>'``."""
        return cls(_letters_in(text, separator=","))

    def __str__(self) -> str:
        return ",".join(map(letter_text, self.letters))

    def __repr__(self) -> str:
        return f"Alphabet({list(self.letters)!r})"

    def __len__(self) -> int:
        return len(self.letters)

    def __iter__(self) -> Iterator[str]:
        return iter(self.letters)

    def __getitem__(self, position):  # type: ignore[no-untyped-def]
        return self.letters[position]

    def __contains__(self, letter: object) -> bool:
        return letter in self._index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Alphabet) and self.letters == other.letters

    def __hash__(self) -> int:
        return hash(self.letters)

    def index(self, letter: str, *_: int) -> int:
        """The position of a letter, or an AlphabetError that names it."""
        try:
            return self._index[letter]
        except (KeyError, TypeError):
            raise self._unknown(letter) from None

    def encode(self, word: Iterable[str]) -> Codes:
        """The positions of a word's letters."""
        index = self._index
        word = self._letters_of(word)
        try:
            return tuple([index[letter] for letter in word])
        except (KeyError, TypeError):
            for position, letter in enumerate(word, start=1):
                if not isinstance(letter, str) or letter not in index:
                    raise self._unknown(letter, position) from None
            raise

    def decode(self, codes: Iterable[int]) -> Word:
        """The letters at these positions."""
        letters = self.letters
        return tuple([letters[code] for code in codes])

    def _letters_of(self, word: Iterable[str]) -> tuple[str, ...]:
        if isinstance(word, str):
            raise InputError(
                f"a word is a sequence of letters, not the string {short_repr(word)}; use "
                f"parse_word({short_repr(word)}) for text"
            )
        try:
            return tuple(word)
        except TypeError:
            raise InputError(f"{short_repr(word)} is not a word; a word is a sequence of letters") from None

    def _unknown(self, letter: object, position: int = 0) -> AlphabetError:
        place = f" (letter {position} of the word)" if position else ""
        if isinstance(letter, str) and len(letter) > 1 and all(ch in self._index for ch in letter):
            remedy = f"letters are separated by spaces: write {short_repr(' '.join(letter))}"
        else:
            some = ", ".join(map(letter_text, self.letters[:8])) + (", …" if len(self.letters) > 8 else "")
            remedy = f"the alphabet has {len(self.letters)}: {some}"
        return AlphabetError(f"unknown letter {short_repr(letter)}{place}; {remedy}")


class WordBatch:
    """Many words as letter positions: word ``i`` is ``codes[offsets[i]:offsets[i + 1]]``.

    Its arrays are its own and read-only. Iterating gives tuples of ints.
    """

    __slots__ = ("codes", "offsets")

    codes: npt.NDArray[np.int32]
    offsets: IntArray

    def __init__(self, codes: npt.ArrayLike, offsets: npt.ArrayLike) -> None:
        self.codes = _frozen_integers(codes, np.int32)
        self.offsets = _frozen_integers(offsets, np.int64)
        ends = self.offsets[[0, -1]].tolist() if len(self.offsets) else []
        if ends != [0, len(self.codes)] or (self.lengths < 0).any():
            raise InputError(
                f"offsets {short_repr(self.offsets.tolist())} do not cut {len(self.codes)} letters into words; "
                f"they must rise from 0 to {len(self.codes)}"
            )

    @classmethod
    def from_codes(cls, words: Iterable[Sequence[int]]) -> WordBatch:
        """Pack words that are already letter positions."""
        words = list(words)
        offsets = np.zeros(len(words) + 1, dtype=np.int64)
        np.cumsum(np.fromiter(map(len, words), dtype=np.int64, count=len(words)), out=offsets[1:])
        flat = itertools.chain.from_iterable(words)
        try:
            return cls(np.fromiter(flat, dtype=np.int32, count=int(offsets[-1])), offsets)
        except (OverflowError, TypeError, ValueError):
            raise InputError("words of letter positions hold small integers; for letters use from_words") from None

    @classmethod
    def from_words(cls, alphabet: Alphabet, words: Iterable[Iterable[str]]) -> WordBatch:
        """Encode and pack words of letters; an unknown letter is an AlphabetError."""
        if isinstance(words, str):
            raise InputError(
                f"expected a list of words, not the string {short_repr(words)}; use [parse_word({short_repr(words)})]"
            )
        return cls.from_codes([alphabet.encode(word) for word in words])

    @classmethod
    def joined(cls, batches: Sequence[WordBatch]) -> WordBatch:
        """The words of several batches, in their order."""
        lengths = np.concatenate([np.zeros(1, dtype=np.int64), *(batch.lengths for batch in batches)])
        codes = np.concatenate([np.zeros(0, dtype=np.int32), *(batch.codes for batch in batches)])
        return cls(codes, np.cumsum(lengths))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> Codes:
        i = range(len(self))[i]
        return tuple(self.codes[self.offsets[i] : self.offsets[i + 1]].tolist())

    def __iter__(self) -> Iterator[Codes]:
        codes, offsets = self.codes.tolist(), self.offsets.tolist()
        for start, end in itertools.pairwise(offsets):
            yield tuple(codes[start:end])

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, WordBatch)
            and np.array_equal(self.offsets, other.offsets)
            and np.array_equal(self.codes, other.codes)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<WordBatch of {len(self)} words, {len(self.codes)} letters>"

    @property
    def lengths(self) -> IntArray:
        return self.offsets[1:] - self.offsets[:-1]  # np.diff takes ten times as long where words are few

    def take(self, indices: npt.ArrayLike) -> WordBatch:
        """The words at these positions (or where a mask is true), in that order."""
        picked = np.asarray(indices)
        if picked.dtype == np.bool_:
            if picked.shape != (len(self),):
                raise InputError(f"a mask of shape {picked.shape} for {len(self)} words; give one boolean each")
            picked = np.flatnonzero(picked)
        elif not picked.size:
            picked = picked.astype(np.int64)  # numpy takes an empty list for floats
        lengths = self.lengths[picked]
        offsets = np.zeros(len(picked) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        source = np.arange(offsets[-1]) + np.repeat(self.offsets[:-1][picked] - offsets[:-1], lengths)
        return WordBatch(self.codes[source], offsets)

    def cut(self, length: int) -> WordBatch:
        """The words, each cut to at most ``length`` letters."""
        lengths = np.minimum(self.lengths, length)
        kept = np.arange(len(self.codes)) - np.repeat(self.offsets[:-1], self.lengths) < length
        return WordBatch(self.codes[kept], np.append(0, np.cumsum(lengths)))

    def prefix_ending_at(self, position: int) -> Codes:
        """The prefix that ends with the letter at a position of ``codes``."""
        word = int(np.searchsorted(self.offsets, position, side="right")) - 1
        return tuple(self.codes[self.offsets[word] : position + 1].tolist())

    def least_prefix(self, marked: npt.NDArray[np.bool_], *, of_marked_words: bool = False) -> Codes | None:
        """The shortlex-least prefix (of at least one letter) that ends with a marked letter; None without any.

        ``marked`` is aligned with ``codes``. With ``of_marked_words`` only words whose own last letter is marked count.
        """
        owner = np.repeat(np.arange(len(self)), self.lengths)
        if of_marked_words:
            ends = self.offsets[1:][self.lengths > 0] - 1
            counts = np.zeros(len(self), dtype=bool)
            counts[owner[ends[marked[ends]]]] = True
            marked = marked & counts[owner]
        at = np.flatnonzero(marked)
        if not len(at):
            return None
        lengths = at - self.offsets[owner[at]] + 1
        shortest = np.flatnonzero(lengths == lengths.min())
        return min(self[int(owner[at[i]])][: int(lengths[i])] for i in shortest)

    def check_codes(self, letters: int) -> None:
        """Raise AlphabetError for positions outside an alphabet of this many letters."""
        if len(self.codes) and (self.codes.min() < 0 or self.codes.max() >= letters):
            bad = self.codes[(self.codes < 0) | (self.codes >= letters)][0]
            raise AlphabetError(f"letter position {bad} is outside an alphabet of {letters} letters")


def encode_batch(alphabet: Alphabet, words: WordBatch | Iterable[Iterable[str]]) -> WordBatch:
    """What every ``accepts_batch`` does first: words of letters, or a batch that is encoded already."""
    if isinstance(words, WordBatch):
        words.check_codes(len(alphabet))
        return words
    return WordBatch.from_words(alphabet, words)


def shortlex_key(codes: Sequence[int]) -> tuple[int, Codes]:
    """Sort key: shorter words first, then by the alphabet's order."""
    return (len(codes), tuple(codes))


def letter_text(letter: str) -> str:
    """One letter in the text form, quoted where it must be."""
    if letter and letter != EPSILON and letter.isprintable() and not _NEEDS_QUOTES.search(letter):
        return letter
    return quoted(letter)


def quoted(letter: str) -> str:
    """One letter in single quotes."""
    return "'" + "".join(map(_escaped, letter)) + "'"


def format_word(word: Iterable[str]) -> str:
    """The text form of a word of letters; ``ε`` for the empty word."""
    return " ".join(map(letter_text, word)) or EPSILON


def parse_word(text: str) -> Word:
    """Read the text form of a word. ``parse_word(format_word(w)) == w`` for every word."""
    if text.strip() in ("", EPSILON):
        return ()
    return tuple(_letters_in(text, separator=None))


def read_quoted(text: str, start: int) -> tuple[str, int]:
    """Read a quoted letter that begins at ``start``; returns it and the position after the closing quote."""
    quote = text[start]
    out: list[str] = []
    at = start + 1
    while at < len(text):
        ch = text[at]
        if ch == quote:
            return "".join(out), at + 1
        if ch != "\\":
            out.append(ch)
            at += 1
            continue
        escape = text[at + 1 : at + 2]
        if not escape:
            break
        if escape in _ESCAPES:
            out.append(_ESCAPES[escape])
            at += 2
        elif match := re.compile(r"\\u\{([0-9a-fA-F]{1,6})\}").match(text, at):
            code = int(match[1], 16)
            if code > 0x10FFFF:
                raise ExpressionError(f"no character has the code {match[1]}", text, at + 1)
            out.append(chr(code))
            at = match.end()
        else:
            raise ExpressionError(
                rf"unknown escape \{visible(escape)}; known are \' \" \\ \n \t \r \u{{…}}", text, at + 1
            )
    raise ExpressionError(f"quote {quote} is not closed", text, start + 1)


def _escaped(ch: str) -> str:
    if ch in _ESCAPED:
        return _ESCAPED[ch]
    return ch if ch.isprintable() else f"\\u{{{ord(ch):x}}}"


def _frozen_integers(values: npt.ArrayLike, dtype: type[_Int]) -> npt.NDArray[_Int]:
    """A read-only copy of one row of integers; an InputError where the type is too narrow."""
    given = np.asarray(values)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise InputError(f"a batch of words needs rows of integers, not {short_repr(values)}")
    if given.size and not np.can_cast(given.dtype, dtype):
        for value in (given.min(), given.max()):
            if not np.iinfo(dtype).min <= value <= np.iinfo(dtype).max:
                raise InputError(f"{value} is too large for a letter position or an offset")
    frozen = given.astype(dtype)
    frozen.flags.writeable = False
    return frozen


def _letters_in(text: str, separator: str | None) -> list[str]:
    """Split a text into letters at white space, or at commas with white space around them ignored."""
    is_separator: Callable[[str], bool] = str.isspace if separator is None else separator.__eq__
    letters: list[str] = []
    at = _skip_space(text, 0)
    while at < len(text):
        if text[at] in "'\"":
            letter, end = read_quoted(text, at)
            if end < len(text) and not (text[end].isspace() or is_separator(text[end])):
                raise ExpressionError("a separator is missing after the closing quote", text, end + 1)
        else:
            end = at
            while end < len(text) and not is_separator(text[end]):
                end += 1
            letter = text[at:end].rstrip()
            if separator is None and letter == EPSILON:
                raise ExpressionError(f"{EPSILON} is the empty word and cannot stand among letters", text, at + 1)
            if not letter:
                raise ExpressionError(
                    "a letter is missing; write '' for the letter that is an empty string", text, at + 1
                )
        letters.append(letter)
        at = _skip_space(text, end)
        if separator is not None and at < len(text):
            if text[at] != separator:
                raise ExpressionError(f"expected {separator!r} between letters", text, at + 1)
            at = _skip_space(text, at + 1)
            if at == len(text):
                raise ExpressionError("a letter is missing after the last separator", text, at + 1)
    return letters


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at
