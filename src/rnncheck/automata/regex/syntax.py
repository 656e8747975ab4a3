"""The text form of regular expressions: tokens, grammar and named definitions.

    regex        = { "let" name "=" alternatives ";" } alternatives
    alternatives = conjunction { "|" conjunction }
    conjunction  = sequence { "&" sequence }
    sequence     = factor { factor }
    factor       = { "!" } atom [ repetition ]
    repetition   = "*" | "+" | "?" | "{" m "}" | "{" m "," "}" | "{" m "," n "}"
    atom         = letter | "." | "[" [ "^" ] letter { letter } "]" | "$" name | "ε" | "()" | "∅" | "(" alternatives ")"
    letter       = a run of letters, digits and underscores | a quoted letter

Over an alphabet of single characters each character of a run is a letter: ``ab`` is ``a b``.

An expression is read into a program for a stack machine: operands first, then the operator that combines them. So
nothing here recurses, and how deeply parentheses are nested does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from rnncheck.errors import ExpressionError, InputError, short_repr
from rnncheck.words import EPSILON, quoted, read_quoted

EMPTY_LANGUAGE = "∅"
_MAX_DIGITS = 15

Operator: TypeAlias = Literal["concatenation", "intersection", "union"]


class Letters(NamedTuple):
    """One letter out of a set: the letters listed or, if negated, all the others. ``columns`` say where each stands."""

    letters: tuple[str, ...]
    columns: tuple[int, ...]
    negated: bool


class Name(NamedTuple):
    """What the definition of this name describes."""

    name: str
    column: int


class Repeat(NamedTuple):
    """The last operand ``low`` to ``high`` times; ``None`` means without end."""

    low: int
    high: int | None


class Combine(NamedTuple):
    """The last ``operands`` operands; none makes ε in a concatenation, ∅ in a union."""

    operator: Operator
    operands: int


class Complement(NamedTuple):
    """All words that the last operand does not describe."""


Item: TypeAlias = Letters | Name | Repeat | Combine | Complement

_ANY_LETTER = Letters((), (), negated=True)
_EMPTY_WORD = Combine("concatenation", 0)
_NO_WORD = Combine("union", 0)


@dataclass(frozen=True, slots=True)
class Definition:
    """An expression that was read, and its name; the expression to be compiled has the name ``""``.

    Columns count in ``text``. ``origin`` introduces error messages where ``text`` is not what the caller looks at.
    """

    name: str
    text: str
    program: tuple[Item, ...]
    origin: str = ""

    def error(self, problem: str, column: int) -> ExpressionError:
        return ExpressionError(self.origin + problem, self.text, column)


class _Token(NamedTuple):
    """``kind`` is a symbol itself, or ``letter``, ``quoted``, ``name``, ``repetition`` or ``end``."""

    kind: str
    text: str
    column: int
    repeat: Repeat | None = None


_TOKEN = re.compile(
    r"""(?P<space>\s+) | (?P<letter>\w+) | \$(?P<name>\w+) | (?P<symbol>[()\[\]^|&!.;=∅])
      | (?P<repetition> [*+?] | \{ \s* (?P<low>[0-9]+) \s* (?: (?P<comma>,) \s* (?P<high>[0-9]+)? \s* )? \} )""",
    re.VERBOSE,
)
_SHORT_REPETITIONS = {"*": Repeat(0, None), "+": Repeat(1, None), "?": Repeat(0, 1)}
_UNEXPECTED = {
    "$": "a name must follow '$'; an expression describes whole words, so there is no sign for the end",
    "{": "a repetition is written {3}, {2,5} or {2,}",
    "}": "this '}' closes nothing; quote it where it is a letter",
    ",": "letters are separated by blanks, not commas",
    "-": "there are no ranges; list the letters, and quote a letter with '-' in it",
    "\\": "a backslash only stands between quotes; write the letter in quotes",
}


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while at < len(text):
        column = at + 1
        match = _TOKEN.match(text, at)
        if match is None:
            if text[at] not in "'\"":
                raise ExpressionError(_unexpected(text, at), text, column)
            letter, at = read_quoted(text, at)
            yield _Token("quoted", letter, column)
            continue
        at = match.end()
        kind, found = str(match.lastgroup), match[0]
        if match["repetition"]:
            yield _Token("repetition", found, column, _SHORT_REPETITIONS.get(found) or _bounds(match, text))
        elif kind == "name":
            yield _Token("name", match["name"], column)
        elif kind == "letter" and found != EPSILON:
            yield _Token("letter", found, column)
        elif kind != "space":
            yield _Token(found, found, column)
    yield _Token("end", "", len(text) + 1)


def _bounds(match: re.Match[str], text: str) -> Repeat:
    bounds = {"low": 0, "high": 0}
    for bound in bounds:
        digits = (match[bound] or "").lstrip("0")
        if len(digits) > _MAX_DIGITS:
            problem = f"no automaton counts that far; use at most {_MAX_DIGITS} digits"
            raise ExpressionError(problem, text, match.start(bound) + 1)
        bounds[bound] = int(digits or "0")
    low, high = bounds["low"], bounds["high"]
    if not match["comma"]:
        return Repeat(low, low)
    if match["high"] is None:
        return Repeat(low, None)
    if high < low:
        problem = f"{{{low},{high}}} ends before it begins; write {{{high},{low}}}"
        raise ExpressionError(problem, text, match.start() + 1)
    return Repeat(low, high)


def _unexpected(text: str, at: int) -> str:
    ch = text[at]
    if ch in _UNEXPECTED:
        return _UNEXPECTED[ch]
    if not ch.isprintable():
        return f"unexpected character {ch!r}; inside quotes it can be written \\u{{{ord(ch):x}}}"
    run = re.compile(r"<[^<>\s]*>|[^\s()\[\]|&!*+?{};'\"]+").match(text, at)
    letter = run[0] if run else ch
    return (
        f"unexpected {ch!r}; a letter with signs in it stands in quotes: {quoted(letter) if len(letter) <= 40 else '…'}"
    )


@dataclass(slots=True)
class _Group:
    """How much of the innermost open parenthesis was read, from the strongest operator to the weakest."""

    column: int
    complements: int = 0
    factors: int = 0
    sequences: int = 0
    conjunctions: int = 0


class Reader:
    """Reads one text from left to right. With ``apart`` a letter is one character, so that ``ab`` is two."""

    def __init__(self, text: str, *, apart: bool = False) -> None:
        if not isinstance(text, str):
            raise InputError(f"a regular expression is a string, not {short_repr(text)}")
        self._text = text
        self._apart = apart
        self._tokens = list(_tokens(text))
        self._at = 0
        self._program: list[Item] = []
        self._groups: list[_Group] = []

    def let(self) -> _Token | None:
        """Read ``let name =`` if that comes next; returns the name. Elsewhere ``let`` is a letter like any other."""
        ahead = self._tokens[self._at : self._at + 3]
        if [token.kind for token in ahead] != ["letter", "letter", "="] or ahead[0].text != "let":
            return None
        self._at += 3
        return ahead[1]

    def expression(self, stop: Literal[";", "end"]) -> tuple[Item, ...]:
        """Read an expression and the token after it, which must be ``stop``."""
        self._program = []
        self._groups = [_Group(column=0)]
        while self._groups:
            token = self._next()
            match token.kind:
                case "(":
                    self._groups.append(_Group(token.column))
                case "!":
                    self._groups[-1].complements += 1
                case "&":
                    self._end_sequence(token)
                case "|":
                    self._end_conjunction(token)
                case ")":
                    self._close_group(token)
                case ";" | "end":
                    self._end_expression(token, stop)
                case _:
                    self._program.append(self._atom(token))
                    self._end_factor()
        return tuple(self._program)

    def _next(self) -> _Token:
        token = self._tokens[self._at]
        if self._apart and token.kind == "letter" and len(token.text) > 1:
            self._tokens[self._at : self._at + 1] = [
                _Token(EPSILON if ch == EPSILON else "letter", ch, token.column + place)
                for place, ch in enumerate(token.text)
            ]
        self._at += 1
        return self._tokens[self._at - 1]

    def _error(self, problem: str, token: _Token) -> ExpressionError:
        return ExpressionError(problem, self._text, token.column)

    def _atom(self, token: _Token) -> Item:
        match token.kind:
            case "letter" | "quoted":
                return Letters((token.text,), (token.column,), negated=False)
            case "name":
                return Name(token.text, token.column)
            case ".":
                return _ANY_LETTER
            case "[":
                return self._letter_class(token)
            case "ε":
                return _EMPTY_WORD
            case "∅":
                return _NO_WORD
            case "repetition":
                raise self._error(f"there is nothing to repeat before {token.text!r}", token)
            case "=":
                raise self._error("unexpected '='; a definition is written let name = … ; before the expression", token)
            case "^":
                raise self._error("'^' only begins a class, [^a]; an expression describes whole words anyway", token)
        raise self._error(f"this {token.text!r} closes nothing", token)

    def _letter_class(self, opening: _Token) -> Letters:
        negated = self._tokens[self._at].kind == "^"
        self._at += negated
        found: list[_Token] = []
        while (token := self._next()).kind in ("letter", "quoted"):
            found.append(token)
        if token.kind == "end":
            raise self._error("this '[' is not closed", opening)
        if token.kind != "]":
            raise self._error(f"unexpected {token.text!r} in a class; it lists letters separated by blanks", token)
        if not found:
            raise self._error(f"the class is empty; write {'.' if negated else EMPTY_LANGUAGE}", opening)
        return Letters(tuple(each.text for each in found), tuple(each.column for each in found), negated)

    def _end_factor(self) -> None:
        """After an atom: the repetition that may follow it, then the complements before it."""
        group = self._groups[-1]
        token = self._tokens[self._at]
        if token.repeat is not None:
            self._program.append(token.repeat)
            self._at += 1
            after = self._tokens[self._at]
            if after.repeat is not None:
                # Elsewhere a+? and a++ mean "lazy" and "possessive"; here they would describe other words.
                problem = (
                    f"{after.text!r} follows {token.text!r} directly; use parentheses: (…{token.text}){after.text}"
                )
                raise self._error(problem, after)
        self._program.extend([Complement()] * group.complements)
        group.complements = 0
        group.factors += 1

    def _end_sequence(self, token: _Token) -> None:
        group = self._groups[-1]
        if group.complements or not group.factors:
            place = "the end" if token.kind == "end" else repr(token.text)
            raise self._error(f"an expression is missing before {place}; write {EPSILON} for the empty word", token)
        self._combine("concatenation", group.factors)
        group.factors = 0
        group.sequences += 1

    def _end_conjunction(self, token: _Token) -> None:
        self._end_sequence(token)
        group = self._groups[-1]
        self._combine("intersection", group.sequences)
        group.sequences = 0
        group.conjunctions += 1

    def _end_alternatives(self, token: _Token) -> None:
        self._end_conjunction(token)
        self._combine("union", self._groups.pop().conjunctions)

    def _close_group(self, token: _Token) -> None:
        if len(self._groups) == 1:
            raise self._error("this ')' closes nothing", token)
        if self._tokens[self._at - 2].kind == "(":
            self._groups.pop()
            self._program.append(_EMPTY_WORD)
        else:
            self._end_alternatives(token)
        self._end_factor()

    def _end_expression(self, token: _Token, stop: str) -> None:
        if len(self._groups) > 1:
            raise ExpressionError("this '(' is not closed", self._text, self._groups[-1].column)
        if token.kind == stop:
            return self._end_alternatives(token)
        if stop == ";":
            raise self._error("the definition does not end; write ';' and the expression after it", token)
        raise self._error("';' ends a definition; write let name = … ; before the expression", token)

    def _combine(self, operator: Operator, count: int) -> None:
        if count > 1:
            self._program.append(Combine(operator, count))
