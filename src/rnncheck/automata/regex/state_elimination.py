"""An automaton as a readable regular expression: state elimination with simplification.

The expression is written as :mod:`rnncheck.automata.regex.regex_compiler` reads it, and describes the same language.
"""

from __future__ import annotations

import contextlib
import itertools

import numpy as np

from rnncheck.automata.dfa import DFA, explore
from rnncheck.automata.language import is_empty, is_universal
from rnncheck.automata.minimisation import coreachable, minimise
from rnncheck.automata.regex.readable import (
    EMPTY_WORD,
    NOTHING,
    Chain,
    Choice,
    Letters,
    Repeated,
    Term,
    choice,
    repeated,
    sequence,
    size,
)
from rnncheck.errors import StateLimitError
from rnncheck.words import EPSILON, Alphabet, quoted

# An expression of more letters and signs than this explains nothing.
DEFAULT_LONGEST = 200
# Elimination can square the size of terms with every state; beyond this it is given up.
_LARGEST_TERM = 4_000
_MOST_STATES = 60
# How many times as many states the automaton may have that reads words from their end.
_LARGEST_REVERSED = 4


class _TooLargeError(Exception):
    """The expression outgrows what is worth showing."""


def regular_expression(dfa: DFA, longest: int = DEFAULT_LONGEST) -> str | None:
    """An expression of the automaton's language, or None where the one found has more than ``longest`` characters.

    The easiest of four is given: read forwards or backwards, the language's own or ``!( … )`` around its complement's.
    Backwards is the better way where the end of a word decides, as in ``.* a . .``.
    """
    dfa = minimise(dfa)
    if len(dfa) > _MOST_STATES:
        return None
    if is_empty(dfa):
        return "∅"
    if is_universal(dfa):
        return ".*"
    write = _Writer(dfa.alphabet).text
    found = []
    for automaton, form in ((dfa, "{}"), (dfa.complement(), "!({})")):
        with contextlib.suppress(_TooLargeError):
            found.append(form.format(write(_eliminated(automaton))))
        with contextlib.suppress(_TooLargeError, StateLimitError):
            found.append(form.format(write(_backwards(_eliminated(_reversed(automaton))))))
    return min((text for text in found if len(text) <= longest), key=_reading_effort, default=None)


def _reading_effort(text: str) -> int:
    """The length, plus a penalty for a negation, which is harder to read."""
    return len(text) + (8 if text.startswith("!") else 0)


def _reversed(dfa: DFA) -> DFA:
    """The automaton of the words read from their end, by the subset construction."""
    table = dfa.transitions

    def successors(goals: frozenset[int]) -> list[frozenset[int]]:
        targets = np.zeros(len(dfa), dtype=bool)
        targets[list(goals)] = True
        return [frozenset(np.flatnonzero(targets[table[:, code]]).tolist()) for code in range(len(dfa.alphabet))]

    start = frozenset(np.flatnonzero(dfa.accepting).tolist())
    limit = _LARGEST_REVERSED * len(dfa)
    backwards = explore(
        dfa.alphabet, start, successors, lambda goals: dfa.initial in goals, what="the reverse", max_states=limit
    )
    return minimise(backwards)


def _backwards(term: Term) -> Term:
    """The expression of the reversed words."""
    if isinstance(term, Letters):
        return term
    if isinstance(term, Repeated):
        body = _backwards(term.part)
        return sequence([body, repeated(body)]) if term.some else repeated(body)
    if isinstance(term, Chain):
        return sequence([_backwards(part) for part in reversed(term.parts)])
    return choice([_backwards(part) for part in term.parts])


def _eliminated(dfa: DFA) -> Term:
    """Remove state after state, the one whose removal adds least first."""
    useful = np.flatnonzero(coreachable(dfa)).tolist()
    begin, end = -1, -2
    edges: dict[int, dict[int, Term]] = {state: {} for state in (begin, end, *useful)}
    edges[begin][dfa.initial] = EMPTY_WORD
    for state in useful:
        goals = dfa.transitions[state].tolist()
        for goal in dict.fromkeys(goals):
            if goal in edges:
                edges[state][goal] = Letters(frozenset(code for code, other in enumerate(goals) if other == goal))
        if dfa.accepting[state]:
            edges[state][end] = EMPTY_WORD
    if dfa.initial not in edges:
        return NOTHING
    remaining = set(useful)
    while remaining:
        state = min(sorted(remaining), key=lambda candidate: _growth(edges, candidate))
        remaining.remove(state)
        _remove(edges, state)
    return edges[begin].get(end, NOTHING)


def _growth(edges: dict[int, dict[int, Term]], state: int) -> int:
    """About how many signs the ways around a removed state need more than the ways through it."""
    entering = [size(row[state]) for origin, row in edges.items() if state in row and origin != state]
    leaving = [size(term) for goal, term in edges[state].items() if goal != state]
    loop = size(edges[state][state]) if state in edges[state] else 0
    return (
        sum(entering) * (len(leaving) - 1)
        + sum(leaving) * (len(entering) - 1)
        + loop * (len(entering) * len(leaving) - 1)
    )


def _remove(edges: dict[int, dict[int, Term]], state: int) -> None:
    leaving = edges.pop(state)
    loop = leaving.pop(state, None)
    around = EMPTY_WORD if loop is None else repeated(loop)
    for row in edges.values():
        if state in row:
            entering = row.pop(state)
            for goal, term in leaving.items():
                way = sequence([entering, around, term])
                row[goal] = choice([row[goal], way]) if goal in row else way
                if size(row[goal]) > _LARGEST_TERM:
                    raise _TooLargeError


class _Writer:
    """Terms in the text form, with parentheses where they are needed."""

    def __init__(self, alphabet: Alphabet) -> None:
        self._alphabet = alphabet

    def text(self, term: Term) -> str:
        if isinstance(term, Letters):
            return self._letters(term.codes)
        if isinstance(term, Repeated):
            return self._atom(term.part) + ("+" if term.some else "*")
        if isinstance(term, Chain):
            return " ".join(self._run(part, len(list(same))) for part, same in itertools.groupby(term.parts)) or EPSILON
        others = [part for part in term.parts if part != EMPTY_WORD]
        if len(others) < len(term.parts):
            # The empty word among others: at most once what is left. A repetition may not follow a repetition.
            return self._atom(choice(others)) + "?"
        return " | ".join(map(self.text, others)) or "∅"

    def _run(self, term: Term, count: int) -> str:
        """A part ``count`` times in a row, with a counter where that is shorter."""
        return f"{self._atom(term)}{{{count}}}" if count > 2 else " ".join([self._factor(term)] * count)

    def _factor(self, term: Term) -> str:
        return f"({self.text(term)})" if isinstance(term, Choice) and EMPTY_WORD not in term.parts else self.text(term)

    def _atom(self, term: Term) -> str:
        return self.text(term) if isinstance(term, Letters) else f"({self.text(term)})"

    def _letters(self, codes: frozenset[int]) -> str:
        if len(codes) == len(self._alphabet):
            return "."
        if len(codes) == 1:
            return self._letter(min(codes))
        missing = [code for code in range(len(self._alphabet)) if code not in codes]
        sign, listed = ("^", missing) if len(missing) < len(codes) else ("", sorted(codes))
        return f"[{sign}{' '.join(map(self._letter, listed))}]"

    def _letter(self, code: int) -> str:
        letter = self._alphabet[code]
        plain = letter.replace("_", "a").isalnum() and letter not in (EPSILON, "let")
        return letter if plain else quoted(letter)
