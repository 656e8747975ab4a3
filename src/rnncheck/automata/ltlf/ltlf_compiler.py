"""LTLf and LDLf formulas over words, compiled to automata.

A word has exactly one letter at each position, so letters that a formula does not distinguish form one class and
are computed once: the cost of compiling does not depend on the size of the alphabet.

LTLf and LDLf are one language here. Both describe the rest of a word, tests put formulas into paths and paths into
formulas, and users who begin with ``G`` and later need ``<(a;b)*>`` should not have to change functions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence

from rnncheck.automata.dfa import DEFAULT_MAX_STATES, DFA, explore
from rnncheck.automata.letter_classes import letter_classes
from rnncheck.automata.ltlf.grammar import (
    BOX,
    CALL,
    DIAMOND,
    LETTERS,
    READ,
    Step,
    close_matches,
    joined_operators,
    parse_ltlf,
)
from rnncheck.automata.ltlf.ldlf import PathClaims
from rnncheck.automata.ltlf.patterns import COUNT_PARAMETER, PATTERNS
from rnncheck.automata.ltlf.progression import ALWAYS, EMPTY, NEVER, NOT_EMPTY, Claim, Progression, negate
from rnncheck.automata.ltlf.tokens import tokens_of
from rnncheck.errors import ExpressionError, ResourceLimitError, StateLimitError, short_repr
from rnncheck.words import EPSILON, Alphabet, letter_text

_TERMS_PER_STATE = 15
"""How much work a formula may take, in proportion to ``max_states``; the default takes a few seconds."""
_MAX_CELLS = 50_000_000
"""The largest transition table (states times letters) that is built: 200 MB."""


def compile_ltlf(text: str, alphabet: Alphabet, *, nonempty: bool = False, max_states: int = DEFAULT_MAX_STATES) -> DFA:
    """The automaton of the words over ``alphabet`` that satisfy a formula of LTLf or LDLf.

    It is complete and not necessarily minimal. ``nonempty`` leaves the empty word out of the language, whatever the
    formula. An ExpressionError points at what is wrong with the formula or at a letter that the alphabet
    lacks; a StateLimitError or a ResourceLimitError ends the work on formulas that grow too large.
    """
    steps = parse_ltlf(text)
    _check_letters(text, steps, alphabet)
    sets = (frozenset(map(alphabet.index, step.letters)) for step in steps if step.op == LETTERS)
    classes = letter_classes(sets, len(alphabet))
    builder = _Builder(classes.size, max_terms=_TERMS_PER_STATE * max(max_states, DEFAULT_MAX_STATES))
    letters = {letter: classes.of_letter[alphabet.index(letter)] for letter in _letters_of(steps)}
    claims = builder.claims
    expanded = 0

    def successors(claim: Claim) -> list[Claim]:
        nonlocal expanded
        expanded += 1
        if expanded * len(alphabet) > _MAX_CELLS:
            raise ResourceLimitError(
                f"the automaton of {short_repr(text)} has at least {expanded} states over {len(alphabet)} letters, a "
                f"table of more than {_MAX_CELLS} entries, the limit; simplify the property or use fewer letters"
            )
        return claims.after_each(claim)

    try:
        start = builder.build(steps, lambda step: claims.one_of({letters[letter] for letter in step.letters}))
        return explore(
            alphabet,
            claims.both(start, NOT_EMPTY) if nonempty else start,
            successors,
            lambda claim: bool(claim & 1),
            what=f"the automaton of {short_repr(text)}",
            max_states=max_states,
            letter_class=classes.of_letter,
        )
    except (StateLimitError, ResourceLimitError) as limit:
        if (parts := builder.conjuncts(steps)) < 2:
            raise
        instead = (
            f"give its {parts} conjuncts as separate properties of a property file: `check` verifies each "
            "(L(R) ⊆ L(A ∩ B) if and only if L(R) ⊆ L(A) and L(R) ⊆ L(B))"
        )
        if isinstance(limit, StateLimitError):
            raise StateLimitError(limit.what, limit.limit, instead) from None
        raise ResourceLimitError(f"{limit}; {expanded} states were worked out by then: {instead}") from None


def letters_in_ltlf(text: str) -> tuple[str, ...]:
    """The letters that a formula mentions, in order of appearance."""
    return _letters_of(parse_ltlf(text))


def _letters_of(steps: Sequence[Step]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(letter for step in steps for letter in step.letters))


def _check_letters(text: str, steps: Sequence[Step], alphabet: Alphabet) -> None:
    for step in steps:
        for letter in step.letters:
            if letter not in alphabet:
                mentions = (token.column for token in tokens_of(text) if token.text == letter)
                column = next(column for column in mentions if column >= step.column)
                raise ExpressionError(f"unknown letter {short_repr(letter)}; {_remedy(letter, alphabet)}", text, column)


def _remedy(letter: str, alphabet: Alphabet) -> str:
    if joined := joined_operators(letter):
        return joined
    if similar := close_matches(letter, alphabet):
        return similar
    if letter == "end":
        return f"where the word is over, {EPSILON} holds, and end(a) means that a is its last letter"
    if letter in PATTERNS:
        return f"the pattern is used like a function, {PATTERNS[letter].usage}"
    some = ", ".join(map(letter_text, alphabet.letters[:8])) + (", …" if len(alphabet) > 8 else "")
    return f"the alphabet has {len(alphabet)}: {some}"


@functools.lru_cache(maxsize=256)
def _template_steps(name: str, count: int) -> tuple[Step, ...]:
    return parse_ltlf(PATTERNS[name].template(count))


def _arguments(step: Step) -> list[str]:
    """The parameters of a pattern that claims stand for."""
    return [name for name in PATTERNS[step.name].parameters if name != COUNT_PARAMETER]


class _Builder:
    """Carries out the steps of a formula on a stack of claims and paths."""

    def __init__(self, classes: int, max_terms: int) -> None:
        self.claims = Progression(classes, max_terms)
        self._paths = PathClaims(self.claims)
        claims, paths = self.claims, self._paths
        both, either, until = claims.both, claims.either, claims.until

        def strong_next(claim: Claim) -> Claim:
            return claims.follows(both(claim, NOT_EMPTY))

        def finally_(claim: Claim) -> Claim:
            return until(ALWAYS, claim)

        def release(left: Claim, right: Claim) -> Claim:
            return negate(until(negate(left), negate(right)))

        self._constants = {
            "true": ALWAYS,
            "false": NEVER,
            "last": negate(strong_next(ALWAYS)),
            EPSILON: EMPTY,
        }
        self._unary: Mapping[str, Callable[[int], int]] = {
            "!": negate,
            "X": strong_next,
            "WX": lambda claim: negate(strong_next(negate(claim))),
            "F": finally_,
            "G": lambda claim: negate(finally_(negate(claim))),
            READ: paths.letters,
            "?": paths.test,
            "*": paths.star,
        }
        self._binary: Mapping[str, Callable[[int, int], int]] = {
            "&": both,
            "|": either,
            "->": lambda left, right: either(negate(left), right),
            "<->": lambda left, right: both(either(negate(left), right), either(negate(right), left)),
            "U": until,
            "R": release,
            "W": lambda left, right: release(right, either(left, right)),
            "M": lambda left, right: until(right, both(left, right)),
            ";": paths.sequence,
            "+": paths.choice,
            DIAMOND: paths.leads_to,
            BOX: lambda path, claim: negate(paths.leads_to(path, negate(claim))),
        }

    def build(self, steps: Sequence[Step], letters: Callable[[Step], Claim]) -> Claim:
        """The claim that the steps build; ``letters`` gives the claim of a LETTERS step."""
        stack: list[int] = []
        for step in steps:
            if step.op == LETTERS:
                stack.append(letters(step))
            elif step.op in self._unary:
                stack.append(self._unary[step.op](stack.pop()))
            elif step.op in self._binary:
                right = stack.pop()
                stack.append(self._binary[step.op](stack.pop(), right))
            elif step.op == CALL:
                stack.append(self._call(step, stack))
            else:
                stack.append(self._constants[step.op])
        return stack.pop()

    def conjuncts(self, steps: Sequence[Step]) -> int:
        """How many formulas the ``&`` at the top of a formula connect; 1 where something else is at its top."""
        stack: list[int] = []
        for step in steps:
            taken = 1 if step.op in self._unary else 2 if step.op in self._binary else 0
            if step.op == CALL:
                taken = len(_arguments(step))
            parts = stack[len(stack) - taken :]
            del stack[len(stack) - taken :]
            stack.append(sum(parts) if step.op == "&" else 1)
        return stack.pop()

    def _call(self, step: Step, stack: list[int]) -> Claim:
        """The claim of a pattern with the claims on the stack as arguments. Each argument is built once."""
        names = _arguments(step)
        arguments = dict(zip(names, stack[-len(names) :], strict=True))
        del stack[-len(names) :]
        return self.build(_template_steps(step.name, step.number), lambda parameter: arguments[parameter.letters[0]])
