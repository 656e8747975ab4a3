"""A specification: a regular language, and where it came from."""

from __future__ import annotations

import codecs
import functools
import hashlib
import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from rnncheck.automata.dfa import DEFAULT_MAX_STATES, DFA, Mask
from rnncheck.automata.finite import finite_language
from rnncheck.automata.formats.dfa_json import read_json, write_json
from rnncheck.automata.formats.dot import read_dot
from rnncheck.automata.ltlf.ltlf_compiler import compile_ltlf, letters_in_ltlf
from rnncheck.automata.minimisation import canonical, minimise
from rnncheck.automata.regex.regex_compiler import compile_regex, letters_in_regex
from rnncheck.display import Displayable
from rnncheck.errors import AlphabetError, FormatError, InputError, StateLimitError
from rnncheck.runtime.files import read_limited
from rnncheck.word_files import read_words
from rnncheck.words import Alphabet, WordBatch


@dataclass(frozen=True)
class Spec(Displayable):
    """A regular property of words, as its minimal automaton.

    Build it with one of the ``from_…`` constructors. ``origin`` is for display: a file's name, or the text of
    the expression or formula.
    """

    dfa: DFA
    origin: str

    @classmethod
    def from_dfa(cls, dfa: DFA, *, origin: str = "automaton") -> Self:
        """The language of an automaton."""
        return cls(minimise(dfa), origin)

    @classmethod
    def from_regex(
        cls,
        text: str,
        alphabet: Alphabet | Iterable[str] | None = None,
        *,
        definitions: Mapping[str, str] | None = None,
        max_states: int = DEFAULT_MAX_STATES,
    ) -> Self:
        """The language of a regular expression; the letters it mentions are the alphabet unless one is given."""
        letters = _alphabet(alphabet, lambda: letters_in_regex(text, definitions), text)
        return cls(minimise(compile_regex(text, letters, definitions=definitions, max_states=max_states)), text)

    @classmethod
    def from_ltlf(
        cls,
        text: str,
        alphabet: Alphabet | Iterable[str] | None = None,
        *,
        nonempty: bool = False,
        max_states: int = DEFAULT_MAX_STATES,
    ) -> Self:
        """The words that satisfy an LTLf or LDLf formula; the letters it mentions are the alphabet unless one is given.

        The empty word satisfies a formula as the documentation of the logic defines, or never with ``nonempty``.
        """
        letters = _alphabet(alphabet, lambda: letters_in_ltlf(text), text)
        return cls(minimise(compile_ltlf(text, letters, nonempty=nonempty, max_states=max_states)), text)

    @classmethod
    def from_words(
        cls,
        words: Iterable[Iterable[str]],
        alphabet: Alphabet | Iterable[str] | None = None,
        *,
        origin: str = "a list of words",
        max_states: int = DEFAULT_MAX_STATES,
    ) -> Self:
        """Exactly these words; the letters in them are the alphabet unless one is given."""
        listed = [tuple(word) for word in words]
        letters = _alphabet(alphabet, lambda: tuple(dict.fromkeys(itertools.chain(*listed))), origin)
        return cls(minimise(finite_language(listed, letters, max_states=max_states)), origin)

    @classmethod
    def from_word_file(
        cls,
        path: str | Path,
        alphabet: Alphabet | Iterable[str] | None = None,
        *,
        max_states: int = DEFAULT_MAX_STATES,
    ) -> Self:
        """The words of a file (text, .csv, .jsonl), and no others; the file is its origin."""
        letters = alphabet if alphabet is None or isinstance(alphabet, Alphabet) else Alphabet(alphabet)
        return cls.from_words(read_words(path, letters), letters, origin=str(path), max_states=max_states)

    @classmethod
    def from_file(
        cls,
        path: str | Path,
        alphabet: Alphabet | Iterable[str] | None = None,
        *,
        complete: bool = False,
        max_states: int = DEFAULT_MAX_STATES,
    ) -> Self:
        """Read an automaton from a dot or JSON file. ``complete`` sends missing transitions to a rejecting sink."""
        automaton = read_automaton(path, alphabet, complete=complete)
        if len(automaton) > max_states:
            raise StateLimitError(f"{path}: the automaton", max_states)
        return cls(minimise(automaton), str(path))

    @property
    def alphabet(self) -> Alphabet:
        return self.dfa.alphabet

    def accepts(self, word: Iterable[str]) -> bool:
        """Whether the word has the property."""
        return self.dfa.accepts(word)

    def accepts_batch(self, words: WordBatch | Iterable[Iterable[str]]) -> Mask:
        """One answer per word, in the same order."""
        return self.dfa.accepts_batch(words)

    def over(self, alphabet: Alphabet) -> Self:
        """The same property with its letters in another order."""
        if alphabet == self.alphabet:
            return self  # minimising again takes long with a hundred thousand states
        return type(self)(minimise(self.dfa.over(alphabet)), self.origin)

    def sha256(self) -> str:
        """A digest of the language: equal for all ways to write the same property over the same letters."""
        return self._digest

    @functools.cached_property
    def _digest(self) -> str:
        return hashlib.sha256(write_json(canonical(self.dfa)).encode()).hexdigest()


def read_automaton(
    path: str | Path, alphabet: Alphabet | Iterable[str] | None = None, *, complete: bool = False
) -> DFA:
    """Read a dot or JSON file as it is, with its own states and their names."""
    source = str(path)
    data = _read_bytes(Path(path), source)
    if alphabet is not None and not isinstance(alphabet, Alphabet):
        alphabet = Alphabet(alphabet)
    data = data.removeprefix(codecs.BOM_UTF8)
    if data.lstrip()[:1] == b"{":
        return read_json(data, source=source, alphabet=alphabet, complete=complete)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FormatError(
            f"byte {data[error.start]:#04x} is not UTF-8 text; is this a dot file?", source, line
        ) from None
    return read_dot(text, source=source, alphabet=alphabet, complete=complete)


def _read_bytes(path: Path, source: str) -> bytes:
    try:
        return read_limited(path, "automaton")
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror or error}", source) from None
    except ValueError as error:  # a name with a null character, which no file has
        raise FormatError(f"cannot be read: {error}", source) from None


def _alphabet(given: Alphabet | Iterable[str] | None, mentioned: Callable[[], tuple[str, ...]], text: str) -> Alphabet:
    if isinstance(given, Alphabet):
        return given
    if given is not None:
        return Alphabet(given)
    letters = mentioned()
    if not letters:
        raise AlphabetError(f"{text!r} mentions no letter, so the alphabet is unknown; give one (--alphabet)")
    return Alphabet(letters)


def parse_spec(text: str, alphabet: Alphabet | None = None, *, complete: bool = False) -> Spec:
    """A specification in one argument: ``regex:…``, ``ltlf:…``, or the name of a dot or JSON file."""
    kind, colon, rest = text.partition(":")
    if colon and kind == "regex":
        return Spec.from_regex(rest, alphabet)
    if colon and kind == "ltlf":
        return Spec.from_ltlf(rest, alphabet)
    if not text:
        raise InputError("the specification is empty; give a file, or regex:…, or ltlf:…")
    return Spec.from_file(text, alphabet, complete=complete)


def parse_language(text: str, alphabet: Alphabet) -> Spec:
    """A language in one argument: an LTLf formula, or ``regex:…``, or ``dfa:FILE``."""
    kind, colon, rest = text.partition(":")
    if colon and kind == "regex":
        return Spec.from_regex(rest, alphabet)
    if (file := language_file(text)) is not None:
        return Spec.from_file(file, alphabet)
    return Spec.from_ltlf(text, alphabet)


def language_file(text: str) -> Path | None:
    """The file that a language in one argument names, where it is one."""
    kind, colon, rest = text.partition(":")
    return Path(rest) if colon and kind == "dfa" else None
