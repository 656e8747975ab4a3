"""Regular expressions as terms, simplified while they are put together: what is repeated or common is written once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Letters:
    """One letter out of a set."""

    codes: frozenset[int]


@dataclass(frozen=True)
class Chain:
    """Parts one after the other; none of them is a sequence. Without parts: the empty word."""

    parts: tuple[Term, ...]


@dataclass(frozen=True)
class Choice:
    """Any of the parts, none of which is a choice; at most one is a set of letters. Without parts: no word."""

    parts: tuple[Term, ...]


@dataclass(frozen=True)
class Repeated:
    """The part any number of times, or, if ``some``, at least once."""

    part: Term
    some: bool = False


Term: TypeAlias = Letters | Chain | Choice | Repeated

EMPTY_WORD = Chain(())
NOTHING = Choice(())


def size(term: Term) -> int:
    """How many sets of letters a term mentions."""
    if isinstance(term, Letters):
        return 1
    if isinstance(term, Repeated):
        return size(term.part)
    return sum(map(size, term.parts))


def repeated(term: Term) -> Term:
    """Any number of times."""
    if isinstance(term, Repeated):
        return Repeated(term.part)
    if isinstance(term, Choice):
        # What repeats anyway need not repeat inside, and the empty word adds nothing.
        kept = [part.part if isinstance(part, Repeated) else part for part in term.parts if part != EMPTY_WORD]
        term = choice(kept)
    if term in (EMPTY_WORD, NOTHING):
        return EMPTY_WORD
    return Repeated(term)


def sequence(terms: Iterable[Term]) -> Term:
    """One after the other; ``x x*`` becomes ``x+``."""
    flat: list[Term] = []
    for term in terms:
        if term == NOTHING:
            return NOTHING
        flat += term.parts if isinstance(term, Chain) else [term]
    parts: list[Term] = []
    for term in flat:
        parts.append(term)
        while len(parts) > 1 and (joined := _joined(parts)) is not None:
            parts = joined
    return parts[0] if len(parts) == 1 else Chain(tuple(parts))


def _joined(parts: list[Term]) -> list[Term] | None:
    """The parts with their end written shorter, or None where none of the rules below applies."""
    last = parts[-1]
    if isinstance(last, Repeated):
        # x y (x y)* is (x y)+, x* x* is x*, and x* x+ is x+.
        body = list(last.part.parts) if isinstance(last.part, Chain) else [last.part]
        if not last.some and parts[-1 - len(body) : -1] == body:
            if isinstance(body[0], Repeated) and not body[0].some and len(body) > 1:
                return [*parts[: -1 - len(body)], repeated(choice([body[0].part, sequence(body[1:])])), *body[1:]]
            return [*parts[: -1 - len(body)], Repeated(last.part, some=True)]
        before = parts[-2]
        if isinstance(before, Repeated) and before.part == last.part and not (before.some and last.some):
            return [*parts[:-2], Repeated(last.part, some=before.some or last.some)]
        # (x* y)* x* is (x | y)*.
        if isinstance(before, Repeated) and not before.some and not last.some:
            inner = _parts_of(before.part)
            if len(inner) > 1 and inner[0] == last:
                return [*parts[:-2], repeated(choice([last.part, sequence(inner[1:])]))]
    if isinstance(parts[-2], Repeated) and parts[-2].some and parts[-2].part == last:
        return [*parts[:-2], last, parts[-2]]  # x+ x reads better as x x+
    # (x y)* x y is (x y)+, and (x* y)* x* y is (x | y)* y.
    for length in range(1, len(parts)):
        before, body = parts[-1 - length], parts[-length:]
        if isinstance(before, Repeated) and not before.some and list(_parts_of(before.part)) == body:
            if isinstance(body[0], Repeated) and not body[0].some:
                return [*parts[: -1 - length], repeated(choice([body[0].part, sequence(body[1:])])), *body[1:]]
            return [*parts[: -1 - length], Repeated(before.part, some=True)]
    return None


def _parts_of(term: Term) -> Sequence[Term]:
    return term.parts if isinstance(term, Chain) else (term,)


def choice(terms: Iterable[Term]) -> Term:
    """Any of them: letters join into one set, and what alternatives begin or end with in common is written once."""
    members: dict[Term, None] = {}
    codes: frozenset[int] = frozenset()
    for term in terms:
        for part in term.parts if isinstance(term, Choice) else (term,):
            if isinstance(part, Letters):
                codes |= part.codes
            else:
                members[part] = None
    if codes:
        members = {Letters(codes): None, **members}
    _drop_contained(members)
    parts = list(members)
    for first in range(len(parts)):
        for second in range(first + 1, len(parts)):
            merged = _factored(parts[first], parts[second])
            if merged is not None:
                rest = [part for i, part in enumerate(parts) if i not in (first, second)]
                return choice([merged, *rest])
    return parts[0] if len(parts) == 1 else Choice(tuple(parts))


def _drop_contained(members: dict[Term, None]) -> None:
    """Leave out what ``x*`` or ``x+`` beside it describes anyway, and make ``x+`` with the empty word ``x*``."""
    for part in list(members):
        if isinstance(part, Repeated):
            members.pop(part.part, None)
            if isinstance(part.part, Choice):
                for inner in part.part.parts:
                    members.pop(inner, None)
            if not part.some:
                members.pop(EMPTY_WORD, None)
                members.pop(Repeated(part.part, some=True), None)
            elif EMPTY_WORD in members:
                del members[EMPTY_WORD], members[part]
                members[Repeated(part.part)] = None


def _factored(one: Term, other: Term) -> Term | None:
    """``x y | x z`` as ``x (y | z)``, or ``y x | z x`` as ``(y | z) x``; None where they have nothing in common."""
    if EMPTY_WORD in (one, other):
        return None
    left, right = list(_parts_of(one)), list(_parts_of(other))
    common = 0
    while common < min(len(left), len(right)) and left[common] == right[common]:
        common += 1
    if common:
        rest = choice([sequence(left[common:]), sequence(right[common:])])
        return sequence([*left[:common], rest])
    while common < min(len(left), len(right)) and left[-1 - common] == right[-1 - common]:
        common += 1
    if common:
        rest = choice([sequence(left[:-common]), sequence(right[:-common])])
        return sequence([rest, *left[-common:]])
    return None
