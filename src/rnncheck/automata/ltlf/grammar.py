"""The grammar of LTLf and LDLf: from a text to the steps that build its meaning.

A formula is read into postfix steps: operands first, then their operator. Steps are a flat list, so neither
reading nor building recurses, and a formula may be nested as deeply as anyone can write. Operators, from loose to
tight; ``->`` and U, R, W, M group to the right:

    +    ;    <->    ->    |    &    U R W M    * ?    ! X WX N F G <path> [path]

``+ ; * ?`` build paths. A path stands inside ``<…>`` or ``[…]``; there a propositional formula is the path that
reads one letter satisfying it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

from rnncheck.automata.ltlf.patterns import COUNT_PARAMETER, MAX_COUNT, PATTERNS, Pattern
from rnncheck.automata.ltlf.tokens import END, LETTER, NAME, SYMBOL, Token, tokens_of
from rnncheck.errors import ExpressionError, InputError, short_repr
from rnncheck.words import EPSILON

LETTERS, CALL, READ, DIAMOND, BOX = "letters", "call", "read", "<>", "[]"
"""Steps that are not called like their operator; READ makes a path of the propositional formula before it."""

CONSTANTS = {"true": "true", "tt": "true", "false": "false", "ff": "false", "last": "last", EPSILON: EPSILON}
PREFIX_NAMES = {"X": "X", "WX": "WX", "N": "WX", "F": "F", "G": "G"}
_RANKS = {"+": 1, ";": 2, "<->": 3, "->": 4, "|": 5, "&": 6, "U": 7, "R": 7, "W": 7, "M": 7}
_POSTFIX_RANK, _PREFIX_RANK = 8, 9
_LONGEST_EXAMPLE = 20  # operators, in a message
_INFIX_NAMES = ("U", "R", "W", "M")
_GROUPS_RIGHT = ("->", *_INFIX_NAMES)
_BOOLEAN = ("!", "&", "|", "->", "<->")
_PATH_INFIX, _POSTFIX = ("+", ";"), ("*", "?")
_CLOSERS = {"(": ")", CALL: ")", "<": ">", "[": "]"}
_MODALITIES = {"<": DIAMOND, "[": BOX}
_PROPOSITIONAL, _TEMPORAL, _PATH = "propositional", "temporal", "path"


class Step(NamedTuple):
    """One step of a formula in postfix order.

    ``letters`` of a LETTERS step: one of them comes next; ``name`` and ``number`` of a CALL: the pattern, and its n.
    """

    op: str
    column: int
    letters: tuple[str, ...] = ()
    name: str = ""
    number: int = 0


@dataclass(slots=True)
class _Pending:
    """An operator that waits for its right operand, or (rank 0) a bracket that waits to be closed."""

    op: str
    column: int
    rank: int = 0
    pattern: Pattern | None = None
    arguments: int = 0
    number: int = 0


def parse_ltlf(text: str) -> tuple[Step, ...]:
    """Read a formula; an ExpressionError points at what is wrong with it."""
    if not isinstance(text, str):
        raise InputError(f"a formula is a text, not {short_repr(text)}")
    return _Parser(text).parse()


def close_matches(name: str, known: Iterable[str]) -> str:
    """A remedy that names the known names most like this one, or nothing."""
    found = difflib.get_close_matches(name, known, n=3, cutoff=0.55)
    return f"did you mean {' or '.join(found)}?" if found else ""


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokens_of(text)
        self._at = 0
        self._steps: list[Step] = []
        self._kinds: list[str] = []  # of the operands that no step has consumed yet
        self._pending: list[_Pending] = []

    def parse(self) -> tuple[Step, ...]:
        if self._tokens[0].kind == END:
            self._fail("the formula is empty; write true for the property of all words", self._tokens[0])
        while True:
            self._operand()
            if self._after_operand():
                break
        if self._kinds[-1] == _PATH:
            self._fail("this is a path, not a formula; write <path> true for 'it can be followed'", self._tokens[0])
        return tuple(self._steps)

    def _operand(self) -> None:
        """Read prefix operators and opening brackets up to and with the operand that follows them."""
        while True:
            token = self._next()
            if token.kind == LETTER:
                return self._push(Step(LETTERS, token.column, (token.text,)), _PROPOSITIONAL)
            if token.kind == NAME and token.text in PREFIX_NAMES:
                self._pending.append(_Pending(PREFIX_NAMES[token.text], token.column, _PREFIX_RANK))
            elif token.is_symbol("!"):
                self._pending.append(_Pending("!", token.column, _PREFIX_RANK))
            elif token.kind == NAME and token.text not in _INFIX_NAMES:
                if not self._peek().is_symbol("("):
                    return self._name(token)
                self._open_call(token)
            elif token.kind == SYMBOL and token.text in ("(", "<", "["):
                self._pending.append(_Pending(token.text, token.column))
            elif token.is_symbol("{"):
                return self._letter_set(token)
            else:
                self._missing_operand(token)

    def _after_operand(self) -> bool:
        """Read what may follow an operand. True at the end of the formula, false when another operand must come."""
        while True:
            token = self._next()
            if token.kind == END:
                self._reduce(0)
                if self._pending:
                    self._not_closed(self._pending[-1])
                return True
            if token.text in _RANKS and token.kind in (SYMBOL, NAME):
                self._infix(token)
                return False
            if token.kind == SYMBOL and token.text in _POSTFIX:
                self._reduce(_POSTFIX_RANK)
                self._postfix(token)
            elif token.is_symbol(","):
                if self._comma(token):
                    return False
            elif token.kind == SYMBOL and token.text in _CLOSERS.values():
                if self._close(token):
                    return False
            else:
                self._missing_operator(token)

    def _name(self, token: Token) -> None:
        if token.text in CONSTANTS:
            op = CONSTANTS[token.text]
            self._push(Step(op, token.column), _PROPOSITIONAL if op in ("true", "false") else _TEMPORAL)
        else:
            self._push(Step(LETTERS, token.column, (token.text,)), _PROPOSITIONAL)

    def _letter_set(self, opened: Token) -> None:
        letters = []
        while not (token := self._next()).is_symbol("}"):
            if token.kind in (NAME, LETTER):
                letters.append(token.text)
            elif token.kind == END:
                self._fail("brace { is not closed", opened)
            elif not (token.is_symbol(",") and letters):
                self._fail(f"a set lists letters, and {token} is none; quote letters that are not plain names", token)
        if not letters:
            self._fail("the set is empty; list at least one letter, or write false", opened)
        self._push(Step(LETTERS, opened.column, tuple(dict.fromkeys(letters))), _PROPOSITIONAL)

    def _infix(self, token: Token) -> None:
        rank = _RANKS[token.text]
        self._reduce(rank if token.text in _GROUPS_RIGHT else rank - 1)
        if token.text in _PATH_INFIX:
            self._as_path(token.text, token.column)
        self._pending.append(_Pending(token.text, token.column, rank))

    def _postfix(self, token: Token) -> None:
        if token.text == "*":
            self._as_path("*", token.column)
        elif self._kinds[-1] == _PATH:
            self._fail("? tests a formula, and a path stands before it; write (<path> formula)?", token)
        self._kinds.pop()
        self._push(Step(token.text, token.column), _PATH)

    def _reduce(self, rank: int) -> None:
        """Apply the pending operators that bind tighter than ``rank``, down to the innermost open bracket."""
        while self._pending and self._pending[-1].rank > rank:
            self._apply(self._pending.pop())

    def _apply(self, operator: _Pending) -> None:
        if operator.op in _PATH_INFIX:
            self._as_path(operator.op, operator.column)
            del self._kinds[-2:]
            self._push(Step(operator.op, operator.column), _PATH)
            return
        modality = operator.op in _MODALITIES.values()
        operands = self._kinds[-1:] if operator.rank == _PREFIX_RANK else self._kinds[-2:]
        if _PATH in operands:
            self._fail(
                f"{_shown_operator(operator.op)} needs formulas, and this is a path (; + * ? build paths, for use in "
                "<…> and […]); parentheses may help, as in (a & b)*",
                operator,
            )
        del self._kinds[-len(operands) - modality :]
        propositional = operator.op in _BOOLEAN and _TEMPORAL not in operands
        self._push(Step(operator.op, operator.column), _PROPOSITIONAL if propositional else _TEMPORAL)

    def _as_path(self, op: str, column: int) -> None:
        """Make the last operand a path, which only temporal formulas cannot be."""
        if self._kinds[-1] == _TEMPORAL:
            raise ExpressionError(
                f"{_shown_operator(op)} needs a path, and this formula speaks of more than one letter; "
                "test it with ? as in (F a)?",
                self._text,
                column,
            )
        if self._kinds[-1] == _PROPOSITIONAL:
            self._kinds[-1] = _PATH
            self._steps.append(Step(READ, column))

    def _close(self, token: Token) -> bool:
        """Close the innermost bracket; true when it was a path's, so that an operand must follow."""
        self._reduce(0)
        if not self._pending:
            self._fail(f"{token.text} closes nothing", token)
        opened = self._pending[-1]
        if _CLOSERS[opened.op] != token.text:
            self._not_closed(opened, f" before the {token.text} in column {token.column}")
        self._pending.pop()
        if opened.op in _MODALITIES:
            self._as_path(_MODALITIES[opened.op], opened.column)
            self._pending.append(_Pending(_MODALITIES[opened.op], opened.column, _PREFIX_RANK))
            return True
        if opened.pattern is not None:
            self._end_argument(opened)
            self._end_call(opened, opened.pattern)
        return False

    def _open_call(self, name: Token) -> None:
        pattern = PATTERNS.get(name.text)
        if pattern is None:
            hint = joined_operators(name.text) or close_matches(name.text, PATTERNS)
            hint = hint or f"if {name} is a letter, an operator is missing after it"
            self._fail(f"unknown pattern {name}; {hint}", name)
        opened = _Pending(CALL, name.column, pattern=pattern)
        self._pending.append(opened)
        self._next()
        if self._peek().is_symbol(")"):
            self._end_call(opened, pattern)

    def _comma(self, token: Token) -> bool:
        """End an argument; true when another formula must follow, false when a number did and ended the call."""
        self._reduce(0)
        opened = self._pending[-1] if self._pending else None
        if opened is None or opened.pattern is None:
            self._fail("a comma separates the arguments of a pattern, and none is open here", token)
        self._end_argument(opened)
        parameters = opened.pattern.parameters
        if opened.arguments == len(parameters):
            self._fail(f"{opened.pattern.usage} takes no more arguments", token)
        if parameters[opened.arguments] != COUNT_PARAMETER:
            return True
        opened.number = self._number(opened.pattern)
        opened.arguments += 1
        closing = self._next()
        if not closing.is_symbol(")"):
            self._fail(f"expected ) to end {opened.pattern.usage}, found {closing}", closing)
        self._pending.pop()
        self._end_call(opened, opened.pattern)
        return False

    def _number(self, pattern: Pattern) -> int:
        token = self._next()
        if token.kind != NAME or not (token.text.isascii() and token.text.isdigit()):
            self._fail(f"{pattern.usage} takes a number for {COUNT_PARAMETER}, not {token}", token)
        if len(token.text) > len(str(MAX_COUNT)) or int(token.text) > MAX_COUNT:
            self._fail(f"{pattern.usage} takes a number up to {MAX_COUNT}", token)
        return int(token.text)

    def _end_argument(self, opened: _Pending) -> None:
        if self._kinds[-1] == _PATH:
            self._fail("a path cannot be an argument; write <path> true", opened)
        opened.arguments += 1

    def _end_call(self, opened: _Pending, pattern: Pattern) -> None:
        if opened.arguments != len(pattern.parameters):
            plural = "" if len(pattern.parameters) == 1 else "s"
            self._fail(
                f"{pattern.usage} takes {len(pattern.parameters)} argument{plural}, not {opened.arguments}", opened
            )
        del self._kinds[-sum(parameter != COUNT_PARAMETER for parameter in pattern.parameters) :]
        self._push(Step(CALL, opened.column, name=pattern.name, number=opened.number), _TEMPORAL)

    def _push(self, step: Step, kind: str) -> None:
        self._steps.append(step)
        self._kinds.append(kind)

    def _peek(self) -> Token:
        return self._tokens[self._at]

    def _next(self) -> Token:
        token = self._tokens[self._at]
        self._at += 1
        return token

    def _fail(self, problem: str, place: Token | _Pending) -> NoReturn:
        raise ExpressionError(problem, self._text, place.column)

    def _not_closed(self, opened: _Pending, where: str = "") -> NoReturn:
        bracket = f"{opened.pattern.name}(" if opened.pattern else opened.op
        self._fail(f"{bracket} is not closed{where}", opened)

    def _missing_operand(self, token: Token) -> NoReturn:
        before = self._tokens[self._at - 2] if self._at > 1 else None
        hint = ""
        for name in (token, before):
            if name is not None and name.kind == NAME and (name.text in PREFIX_NAMES or name.text in _INFIX_NAMES):
                hint = f"; {name.text} is an operator, the letter of that name is written '{name.text}'"
        self._fail(f"a formula is missing before {token}{hint}", token)

    def _missing_operator(self, token: Token) -> NoReturn:
        before = self._tokens[self._at - 2]
        hint = joined_operators(before.text) if before.kind == NAME else ""
        self._fail(f"an operator is missing between {before} and {token}{hint and '; ' + hint}", token)


def joined_operators(name: str) -> str:
    """A remedy for prefix operators written as one name, as in GF, or nothing."""
    if len(name) > 1 and all(ch in PREFIX_NAMES for ch in name):
        return f"write operators apart: {' '.join(name[:_LONGEST_EXAMPLE])}{' …' if name[_LONGEST_EXAMPLE:] else ''}"
    return ""


def _shown_operator(op: str) -> str:
    return {DIAMOND: "<…>", BOX: "[…]"}.get(op, op)
