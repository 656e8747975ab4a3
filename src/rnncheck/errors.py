"""Everything rnncheck raises on purpose.

    RnncheckError
    ├── InputError            an input of the caller is wrong; the command line exits with 2
    │   ├── AlphabetError     letters missing, repeated or unknown
    │   ├── AutomatonError    not a complete deterministic automaton
    │   ├── ExpressionError   a word, regular expression or formula does not parse (has a column)
    │   ├── FormatError       a file does not parse (has a file, a line, perhaps a column)
    │   ├── ModelError        a network is missing pieces, malformed or answers nonsense
    │   └── WrongTypeError    an argument is of another type than it must be (also a TypeError)
    ├── StateLimitError       an automaton would outgrow the limit that was set
    ├── ResourceLimitError    a time or memory limit ended an operation that has no partial result
    ├── LearningBoundReached  a learner reached a bound; its last hypothesis stays available
    ├── InconsistentAnswersError  two answers about the same word contradict each other
    └── MissingExtraError     an optional dependency is needed; the message names the extra

A message names the problem, shows the value, and gives the remedy, in one line.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

_Class = TypeVar("_Class", bound=type)


class RnncheckError(Exception):
    """Root of every error that rnncheck raises on purpose."""


class InputError(RnncheckError):
    """Something that the caller gave is wrong."""


class AlphabetError(InputError):
    """Letters are missing, repeated or unknown."""


class AutomatonError(InputError):
    """The parts given do not make a complete deterministic automaton."""


class ModelError(InputError):
    """A network is missing pieces, malformed, or gives answers that make no sense."""


class WrongTypeError(InputError, TypeError):
    """An argument is of another type than it must be."""


class ExpressionError(InputError):
    """A text (word, regular expression, formula) does not parse.

    ``column`` counts characters from 1; the message ends with the text and a pointer, on one line.
    """

    def __init__(self, problem: str, text: str, column: int) -> None:
        self.problem = problem
        self.text = text
        self.column = column
        super().__init__(f"{problem} (column {column}: {_excerpt(text, column)})")

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.problem, self.text, self.column))


class FormatError(InputError):
    """A file does not parse. ``line`` and ``column`` count from 1; 0 means the whole file."""

    def __init__(self, problem: str, source: str, line: int = 0, column: int = 0) -> None:
        self.problem = problem
        self.source = source
        self.line = line
        self.column = column
        place = source + (f":{line}" if line else "") + (f":{column}" if line and column else "")
        super().__init__(f"{place}: {problem}")

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.problem, self.source, self.line, self.column))


class StateLimitError(RnncheckError):
    """Building an automaton would need more states than the limit allows."""

    def __init__(self, what: str, limit: int, instead: str = "simplify the property") -> None:
        self.what = what
        self.limit = limit
        self.instead = instead
        super().__init__(
            f"{what} needs more than {limit} states, the limit; raise it (--max-states, max_states=) or {instead}"
        )

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.what, self.limit, self.instead))


class ResourceLimitError(RnncheckError):
    """A time or memory limit ended an operation that has no partial result."""


class LearningBoundReached(RnncheckError):  # noqa: N818 - an expected end of learning, not a defect
    """A learner reached a bound. Its last complete hypothesis stays available, and so does the learner.

    ``reason`` is the name of the bound (``max_states`` or ``max_query_length``), ``bound`` its value.
    """

    def __init__(self, reason: str, bound: int) -> None:
        self.reason = reason
        self.bound = bound
        super().__init__(
            f"learning reached the bound {reason} = {bound}; raise it, or use the last hypothesis as an approximation"
        )

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.reason, self.bound))


class InconsistentAnswersError(RnncheckError):
    """Two answers about the same word contradict each other, so there is no language to learn."""

    def __init__(self, word: tuple[int, ...], before: bool) -> None:
        self.word = word
        self.before = before
        super().__init__(
            f"the word with letter positions {short_repr(list(word))} was first {_verdict(before)} and is now "
            f"{_verdict(not before)}; give each word one answer (remember answers, or fix the known words)"
        )

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.word, self.before))


class MissingExtraError(RnncheckError):
    """An optional dependency is not installed."""

    def __init__(self, purpose: str, extra: str) -> None:
        self.purpose = purpose
        self.extra = extra
        super().__init__(f"{purpose} needs an optional part: pip install 'rnncheck[{extra}]'")

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.purpose, self.extra))


def renamed_fields(**names: str) -> Callable[[_Class], _Class]:
    """Let a class report an error, which names the new one, where a field is given by its old name (old=new)."""

    def decorate(cls: _Class) -> _Class:
        init = cls.__init__  # type: ignore[misc]

        @functools.wraps(init)
        def checked(self: object, *args: Any, **fields: Any) -> None:
            for old in names.keys() & fields.keys():
                raise WrongTypeError(f"{cls.__name__}: {old}= is called {names[old]}= now; write {names[old]}=")
            init(self, *args, **fields)

        cls.__init__ = checked  # type: ignore[misc]
        return cls

    return decorate


def short_repr(value: object, limit: int = 60) -> str:
    """``repr`` of a value on one line, cut so that an error message stays readable."""
    text = " ".join(map(str.strip, repr(value).splitlines()))
    return text if len(text) <= limit else text[: limit - 1] + "…"


def visible(text: str) -> str:
    """The text with line breaks and other characters that do not print as escapes, so that it stays one line."""
    return "".join(ch if ch.isprintable() else repr(ch)[1:-1] for ch in text)


def _verdict(accepted: bool) -> str:
    return "accepted" if accepted else "rejected"


def _excerpt(text: str, column: int, width: int = 24) -> str:
    """The text around a column with ``⟨here⟩`` at the column, control characters made visible."""
    at = max(0, min(column - 1, len(text)))
    before = text[max(0, at - width) : at]
    after = text[at : at + width]
    left = "…" if at > width else ""
    right = "…" if at + width < len(text) else ""
    return visible(f"{left}{before}⟨here⟩{after}{right}")
