"""LDLf: claims about where a regular path through the rest of the word leads.

A path is built from *letters* (a propositional formula that the next letter must satisfy), *tests* (a claim about
the rest, which reads nothing), sequence, choice and star. ``PathClaims.leads_to(path, goal)`` is LDLf's
``<path> goal``; ``[path] goal`` is its dual. The claims are those of :mod:`rnncheck.automata.ltlf.progression`, so
formulas of LTLf and LDLf mix freely.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeAlias

from rnncheck.automata.ltlf.progression import NEVER, NOT_EMPTY, Claim, Progression

Path: TypeAlias = int
"""The number of a path in its PathClaims."""

_Question: TypeAlias = tuple[Path, Claim, Claim]
_Answering: TypeAlias = Generator[_Question, Claim, Claim]

_LETTERS, _TEST, _SEQUENCE, _CHOICE, _STAR = range(5)


class PathClaims:
    """Paths over the claims of one progression. Equal paths are equal numbers."""

    def __init__(self, progression: Progression) -> None:
        self._claims = progression
        self._paths: list[tuple[int, int, int]] = []
        self._numbers: dict[tuple[int, int, int], Path] = {}
        self._answers: dict[_Question, Claim] = {}
        self._stars: dict[tuple[Path, Claim], Claim] = {}

    def letters(self, condition: Claim) -> Path:
        """Read one letter that satisfies a propositional condition."""
        return self._path(_LETTERS, self._claims.both(condition, NOT_EMPTY))

    def test(self, condition: Claim) -> Path:
        """Read nothing; the condition holds of the rest of the word."""
        return self._path(_TEST, condition)

    def sequence(self, first: Path, second: Path) -> Path:
        return self._path(_SEQUENCE, first, second)

    def choice(self, left: Path, right: Path) -> Path:
        return self._path(_CHOICE, left, right)

    def star(self, repeated: Path) -> Path:
        return repeated if self._paths[repeated][0] == _STAR else self._path(_STAR, repeated)

    def leads_to(self, path: Path, goal: Claim) -> Claim:
        """Some way to follow the path from here ends where the goal holds."""
        # Answers are computed by generators that wait for each other: a path may be deeper than the stack.
        first: _Question = (path, goal, goal)
        waiting = [(first, self._answer(*first))]
        answer: Claim | None = None
        while waiting:
            question, answering = waiting[-1]
            try:
                needed = next(answering) if answer is None else answering.send(answer)
            except StopIteration as finished:
                answer = self._answers[question] = finished.value
                waiting.pop()
                continue
            answer = self._answers.get(needed)
            if answer is None:
                waiting.append((needed, self._answer(*needed)))
        return self._answers[first]

    def _path(self, kind: int, left: int, right: int = 0) -> Path:
        key = (kind, left, right)
        number = self._numbers.setdefault(key, len(self._paths))
        if number == len(self._paths):
            self._paths.append(key)
        return number

    def _answer(self, path: Path, now: Claim, later: Claim) -> _Answering:
        """Follow ``path`` and end where ``later`` holds if letters were read on the way, where ``now`` holds if not.

        The two goals differ inside a star only. A round that reads nothing leads back to where it began and gains
        nothing, so there ``now`` is ``NEVER``: every round reads, and the fixpoint is behind a next letter.
        """
        kind, left, right = self._paths[path]
        if kind == _LETTERS:
            return self._claims.both(left, self._claims.follows(later))
        if kind == _TEST:
            return self._claims.both(left, now)
        if kind == _CHOICE:
            return self._claims.either((yield left, now, later), (yield right, now, later))
        if kind == _SEQUENCE:
            second_later = yield right, later, later
            second_now = yield right, now, later
            return (yield left, second_now, second_later)
        again = self._stars.get((left, later))
        if again is None:
            again = yield from self._rounds(left, later)
            self._stars[left, later] = again
        return again if now == later else self._claims.either(now, (yield left, NEVER, again))

    def _rounds(self, repeated: Path, later: Claim) -> _Answering:
        """Any number of rounds, then ``later``."""
        kind, condition, _ = self._paths[repeated]
        at_end = bool(later & 1)
        if kind == _LETTERS:
            return self._claims.until(condition, later, at_end)
        level, again = self._claims.fixpoint(at_end)
        self._claims.define(level, self._claims.either(later, (yield repeated, NEVER, again)))
        return again
