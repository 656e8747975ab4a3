"""Regular expressions to automata, by Brzozowski derivatives.

A state is a term that describes the words which still lead to acceptance; its successor under a letter is its
derivative by that letter, and it accepts if it describes the empty word. Letters that the expression treats alike form
one class and are worked out once.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from operator import attrgetter
from typing import TypeAlias

from rnncheck.automata.dfa import DEFAULT_MAX_STATES, DFA, explore
from rnncheck.automata.letter_classes import letter_classes
from rnncheck.automata.regex.derivatives import Derivatives
from rnncheck.automata.regex.syntax import Combine, Complement, Definition, Item, Letters, Name, Reader, Repeat
from rnncheck.automata.regex.terms import Algebra, Term
from rnncheck.errors import AlphabetError, ExpressionError, InputError, short_repr
from rnncheck.words import Alphabet


def compile_regex(
    text: str,
    alphabet: Alphabet,
    *,
    definitions: Mapping[str, str] | None = None,
    max_states: int = DEFAULT_MAX_STATES,
) -> DFA:
    """The complete automaton, not minimised, of the words over ``alphabet`` that an expression describes.

    ``definitions`` are expressions that the text may refer to as ``$name``. Raises ExpressionError where the text or
    a definition does not parse or mentions a letter outside the alphabet, StateLimitError above ``max_states``, and
    ResourceLimitError where the states become so large that there is no time or memory for that many.
    """
    parts = _parsed(text, definitions, apart=all(len(letter) == 1 for letter in alphabet))
    what = f"the regular expression {short_repr(text)}"
    codes = _letter_codes(parts, alphabet)
    classes = letter_classes(codes.values(), len(alphabet))
    sets = {letters: frozenset(classes.of_letter[code] for code in found) for letters, found in codes.items()}
    algebra = Algebra(classes.size, classes.rest, what=what, max_states=max_states)
    meaning: dict[str, Term] = {}
    for part in parts:
        meaning[part.name] = _build(part.program, sets, meaning, algebra)
    return explore(
        alphabet,
        meaning[""],
        Derivatives(algebra).successors,
        attrgetter("nullable"),
        what=what,
        max_states=max_states,
        letter_class=classes.of_letter,
    )


def letters_in_regex(text: str, definitions: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """The letters that an expression mentions, in order of appearance once definitions stand in place of their names.

    Letters in classes count, negated or not; letters of definitions that are not used do not.
    """
    parts = {part.name: part for part in _parsed(text, definitions)}
    found: dict[str, None] = {}
    seen: set[str] = set()
    readers = [iter(parts[""].program)]
    while readers:
        for item in readers[-1]:
            if isinstance(item, Letters):
                found.update(dict.fromkeys(item.letters))
            elif isinstance(item, Name) and item.name not in seen:
                seen.add(item.name)
                readers.append(iter(parts[item.name].program))
                break
        else:
            readers.pop()
    return tuple(found)


_LetterSets: TypeAlias = dict[tuple[str, ...], frozenset[int]]


def _letter_codes(parts: Iterable[Definition], alphabet: Alphabet) -> _LetterSets:
    """The positions in the alphabet of the letters of each set."""
    codes: _LetterSets = {}
    for part in parts:
        for item in part.program:
            if isinstance(item, Letters) and item.letters not in codes:
                codes[item.letters] = frozenset(_positions(item, part, alphabet))
    return codes


def _positions(item: Letters, part: Definition, alphabet: Alphabet) -> Iterable[int]:
    for letter, column in zip(item.letters, item.columns, strict=True):
        try:
            yield alphabet.index(letter)
        except AlphabetError as error:
            raise part.error(str(error), column) from None


def _build(program: Iterable[Item], sets: _LetterSets, meaning: Mapping[str, Term], algebra: Algebra) -> Term:
    """Run a program on a stack of terms."""
    combine = {"concatenation": algebra.sequence, "intersection": algebra.intersection, "union": algebra.alternatives}
    stack: list[Term] = []
    for item in program:
        match item:
            case Letters():
                stack.append(algebra.one_of(sets[item.letters], item.negated))
            case Name():
                stack.append(meaning[item.name])
            case Repeat():
                stack.append(algebra.power(stack.pop(), item.low, math.inf if item.high is None else item.high))
            case Complement():
                stack.append(algebra.complement(stack.pop()))
            case Combine():
                first = len(stack) - item.operands
                stack[first:] = [combine[item.operator](stack[first:])]
    return stack.pop()


def _parsed(text: str, definitions: Mapping[str, str] | None, *, apart: bool = False) -> tuple[Definition, ...]:
    """Read an expression; returns the definitions it uses, each after those it refers to, then the expression itself.

    Definitions that are not used must still be well formed.
    """
    known: dict[str, Definition] = {}
    for name, given in (definitions or {}).items():
        known[name] = _given_definition(name, given, apart=apart)
    reader = Reader(text, apart=apart)
    while (start := reader.let()) is not None:
        if start.text in known:
            raise ExpressionError(
                f"${start.text} is defined twice; give each definition its own name", text, start.column
            )
        known[start.text] = Definition(start.text, text, reader.expression(";"))
    main = Definition("", text, reader.expression("end"))
    done: set[str] = set()
    used = _dependencies_first(main, known, done)
    for definition in known.values():
        if definition.name not in done:
            _dependencies_first(definition, known, done)
    return tuple(used)


def _given_definition(name: str, text: str, *, apart: bool) -> Definition:
    if not isinstance(name, str) or not re.fullmatch(r"\w+", name):
        raise InputError(
            f"{short_repr(name)} cannot name a definition; a name is made of letters, digits and underscores"
        )
    origin = f"in the definition of ${name}: "
    try:
        return Definition(name, text, Reader(text, apart=apart).expression("end"), origin)
    except ExpressionError as error:
        raise ExpressionError(origin + error.problem, text, error.column) from None


def _dependencies_first(root: Definition, known: Mapping[str, Definition], done: set[str]) -> list[Definition]:
    """``root`` and what it refers to, unless ``done`` before, each after what it needs; adds them to ``done``.

    Raises ExpressionError for names that are unknown or circular.
    """
    order: list[Definition] = []
    path = {root.name: root}
    pending = [_names(root)]
    while pending:
        user = next(reversed(path.values()))
        for reference in pending[-1]:
            if reference.name in path:
                raise user.error(f"definitions must not be circular: {_circle(path, reference.name)}", reference.column)
            if reference.name not in known:
                raise user.error(_unknown_name(reference.name, known), reference.column)
            if reference.name not in done:
                path[reference.name] = known[reference.name]
                pending.append(_names(known[reference.name]))
                break
        else:
            pending.pop()
            order.append(user)
            done.add(user.name)
            del path[user.name]
    return order


def _names(definition: Definition) -> Iterator[Name]:
    return (item for item in definition.program if isinstance(item, Name))


def _circle(path: Mapping[str, Definition], name: str, limit: int = 8) -> str:
    names = list(path)
    steps = [f"${each}" for each in names[names.index(name) :]]
    if len(steps) > limit:
        steps[limit:] = ["…"]
    return " → ".join([*steps, f"${name}"])


def _unknown_name(name: str, known: Mapping[str, Definition]) -> str:
    if not known:
        return f"unknown name ${name}; define it first: let {name} = … ;"
    some = ", ".join(f"${each}" for each in list(known)[:8]) + (", …" if len(known) > 8 else "")
    return f"unknown name ${name}; defined are {some}"
