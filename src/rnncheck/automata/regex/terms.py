"""Terms: regular expressions as simplified values, each made only once.

Terms that differ only in ways that the constructors of :class:`Algebra` see through are one object: the order, grouping
and repetition of alternatives and conjuncts, the grouping of concatenations, neutral and absorbing parts. That is what
makes the derivatives of a term finitely many; the rules beyond that keep them few. A counted repetition is one term, a
power, however far it counts. Powers that others contain are dropped from a union: ``x{0,3} | x{0,9}`` is ``x{0,9}``,
which keeps ``.* a .{0,40}`` at 42 states.

Nothing here recurses along a term, so its depth does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from operator import attrgetter

from rnncheck.errors import ResourceLimitError, StateLimitError

# Work is counted in terms put into a set, about 20 ns each. At 100 000 states the limit means seconds, and under 1 GiB.
_WORK_FLOOR = 50_000_000
_WORK_PER_STATE = 2_500
_WORK_PER_SET = 100
_WORK_PER_MEMBER = 15
_WORK_PER_HEAD = 50
_WORK_PER_TERM = 150
_MAX_COUNT = 10**18


class Term:
    """A regular expression. An algebra keeps one object of each, so identity is equality."""

    __slots__ = ("nullable", "power", "serial")

    def __init__(self, nullable: bool, power: tuple[_Family, int, float] | None = None) -> None:
        self.nullable = nullable  # describes the empty word
        self.power = power  # what power this is, or begins with
        self.serial = 0  # in order of making; sorts members, so that results do not depend on memory addresses


class _Family:
    """All powers of a base before a tail; ``once``, the first of them, is computed when it is first needed."""

    __slots__ = ("base", "once", "serial", "tail")

    def __init__(self, base: Term, tail: Term, serial: int) -> None:
        self.base = base
        self.tail = tail
        self.serial = serial
        self.once: Term | None = None


class EmptyWord(Term):
    """The empty word alone."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(nullable=True)


class OneOf(Term):
    """One letter. Letters of the rest class are in if ``has_rest``; those of the classes in ``exceptions`` if not."""

    __slots__ = ("exceptions", "has_rest")

    def __init__(self, exceptions: frozenset[int], has_rest: bool) -> None:
        super().__init__(nullable=False)
        self.exceptions = exceptions
        self.has_rest = has_rest


class Concatenation(Term):
    """``head`` is no concatenation itself."""

    __slots__ = ("head", "tail")

    def __init__(self, head: Term, tail: Term) -> None:
        super().__init__(head.nullable and tail.nullable)
        self.head = head
        self.tail = tail


class Power(Term):
    """``base`` repeated ``low`` to ``high`` times; ``low`` is 0 if the base is nullable, ``high`` is at least 2."""

    __slots__ = ("base", "high", "low")

    def __init__(self, family: _Family, low: int, high: float) -> None:
        super().__init__(low == 0, (family, low, high))
        self.base = family.base
        self.low = low
        self.high = high


class Union(Term):
    """Two or more terms, none of them a union."""

    __slots__ = ("members",)

    def __init__(self, members: tuple[Term, ...]) -> None:
        super().__init__(any(member.nullable for member in members))
        self.members = members


class Intersection(Term):
    """Two or more terms, none of them an intersection."""

    __slots__ = ("members",)

    def __init__(self, members: tuple[Term, ...]) -> None:
        super().__init__(all(member.nullable for member in members))
        self.members = members


class Complement(Term):
    """All words but those of a term that is no complement."""

    __slots__ = ("inner",)

    def __init__(self, inner: Term) -> None:
        super().__init__(not inner.nullable)
        self.inner = inner


class Algebra:
    """Makes terms over letter classes ``0 … classes - 1``, simplified and each only once.

    ``rest`` is one of the classes, best the largest; sets of letters are kept as differences from it. ``what`` names
    the expression in errors: StateLimitError where it counts beyond reason, ResourceLimitError where the work exceeds
    what ``max_states`` states may cost.
    """

    def __init__(self, classes: int, rest: int, *, what: str, max_states: int) -> None:
        self.classes = classes
        self._rest = rest
        self._what = what
        self._max_states = max_states
        self._work_left = _WORK_FLOOR + _WORK_PER_STATE * max_states
        self._made: dict[Hashable, Term] = {}
        self._families: dict[tuple[Term, Term], _Family] = {}
        self.epsilon = self._make(EmptyWord)
        self.nothing = self._make(OneOf, frozenset(), False)
        any_letter = self._make(OneOf, frozenset(), True)
        self._everything = self._make(Power, self._family(any_letter, self.epsilon), 0, math.inf)

    def one_of(self, classes: Iterable[int], negated: bool) -> Term:
        """One letter out of these classes or, if negated, out of the others."""
        inside = frozenset(classes)
        has_rest = self._rest in inside
        exceptions = frozenset(range(self.classes)) - inside if has_rest else inside
        return self._make(OneOf, exceptions, has_rest != negated)

    def sequence(self, terms: Sequence[Term]) -> Term:
        """The concatenation."""
        result = self.epsilon
        for term in reversed(terms):
            result = self.concatenation(term, result)
        return result

    def alternatives(self, terms: Sequence[Term]) -> Term:
        """The union, for an expression as written: single letters become one set."""
        letters = [term for term in terms if isinstance(term, OneOf)]
        others = [term for term in terms if not isinstance(term, OneOf)]
        return self.union([self._letter_set(letters, absorbing=True), *others] if letters else others)

    def union(self, terms: Iterable[Term]) -> Term:
        """All words of any of the terms."""
        members: set[Term] = set()
        for term in terms:
            if isinstance(term, Union):
                self.spend(len(term.members))
                members.update(term.members)
            else:
                members.add(term)
        members.discard(self.nothing)
        self.spend(_WORK_PER_SET + _WORK_PER_MEMBER * len(members))
        if len(members) > 1:
            self._join_powers(members)
            if self._everything in members:
                return self._everything
            if self.epsilon in members and sum(member.nullable for member in members) > 1:
                members.remove(self.epsilon)
        return self._of_members(Union, members, self.nothing)

    def intersection(self, terms: Iterable[Term]) -> Term:
        """The words that the terms have in common."""
        members: set[Term] = set()
        for term in terms:
            members.update(term.members if isinstance(term, Intersection) else (term,))
        self.spend(_WORK_PER_SET + _WORK_PER_MEMBER * len(members))
        letters = [member for member in members if isinstance(member, OneOf)]
        if len(letters) > 1:
            members.difference_update(letters)
            members.add(self._letter_set(letters, absorbing=False))
        complements = [member for member in members if isinstance(member, Complement)]
        if len(complements) > 1:
            members.difference_update(complements)
            members.add(self.complement(self.union([member.inner for member in complements])))
        members.discard(self._everything)
        if self.nothing in members:
            return self.nothing
        if self.epsilon in members:
            return self.epsilon if all(member.nullable for member in members) else self.nothing
        return self._of_members(Intersection, members, self._everything)

    def complement(self, inner: Term) -> Term:
        """All words but those of ``inner``."""
        if isinstance(inner, Complement):
            return inner.inner
        if inner is self.nothing:
            return self._everything
        if inner is self._everything:
            return self.nothing
        return self._make(Complement, inner)

    def power(self, base: Term, low: int, high: float) -> Term:
        """``base`` repeated ``low`` to ``high`` times."""
        if high == 0 or base is self.epsilon:
            return self.epsilon
        if base is self.nothing:
            return self.epsilon if low == 0 else self.nothing
        if isinstance(base, Union) and self.epsilon in base.members:
            base = self.union([member for member in base.members if member is not self.epsilon])
            low = 0
        # (x{i,j}){m,n} is x{im,jn} if no count between the multiples is left out.
        while isinstance(base, Power) and (
            base.low <= 1 or low == high or (low > 0 and base.low <= low * (base.high - base.low) + 1)
        ):
            low, high, base = base.low * low, base.high * high, base.base
            self._check_counts(low, high)
        if base.nullable:
            low = 0
        if high == 1:
            return base if low == 1 else self.union([self.epsilon, base])
        self._check_counts(low, high)
        return self._make(Power, self._family(base, self.epsilon), low, high)

    def concatenation(self, first: Term, second: Term) -> Term:
        """The words of ``first`` with those of ``second`` behind them."""
        if second is self.epsilon or first is self.nothing:
            return first
        if first is self.epsilon or second is self.nothing:
            return second
        heads = []
        while isinstance(first, Concatenation):
            heads.append(first.head)
            first = first.tail
        heads.append(first)
        self.spend(_WORK_PER_HEAD * len(heads))
        for head in reversed(heads):
            second = self._prepended(head, second)
        return second

    def _prepended(self, head: Term, tail: Term) -> Term:
        """``head``, which is no concatenation, before ``tail``, both neither ε nor ∅."""
        following, rest = (tail.head, tail.tail) if isinstance(tail, Concatenation) else (tail, self.epsilon)
        base, low, high = _as_power(head)
        next_base, next_low, next_high = _as_power(following)
        if base is next_base:
            head = self.power(base, low + next_low, high + next_high)
            return head if rest is self.epsilon else self._prepended(head, rest)
        if (tail is self._everything and head.nullable) or (head is self._everything and tail.nullable):
            return self._everything
        term = self._make(Concatenation, head, tail)
        if term.power is None and isinstance(head, Power):
            term.power = (self._family(base, tail), low, high)
        return term

    def _join_powers(self, members: set[Term]) -> None:
        """Drop the powers that others of their family contain. The tail alone is the power 0.

        Powers of single letters are joined where their counts touch. Others are not: their derivatives lie between
        two powers, where the joined term could not be recognised as equal to terms reached otherwise.
        """
        families: dict[_Family, list[tuple[int, float]]] = {}
        for member in members:
            if member.power is not None:
                family, low, high = member.power
                families.setdefault(family, []).append((low, high))
        for family in sorted(families, key=_serial):
            base, tail, counts = family.base, family.tail, families[family]
            if family.once is None:
                family.once = self.concatenation(base, tail)
            counts += [(count, count) for count, term in enumerate((tail, family.once)) if term in members]
            joined = _joined(counts, touching=isinstance(base, OneOf))
            if len(joined) < len(counts):
                members.difference_update([member for member in members if member.power and member.power[0] is family])
                members.difference_update((tail, family.once))
                for low, high in joined:
                    if high > 1:
                        members.add(self.concatenation(self.power(base, low, high), tail))
                    else:
                        members.update((tail, family.once)[low : int(high) + 1])

    def _family(self, base: Term, tail: Term) -> _Family:
        family = self._families.get((base, tail))
        if family is None:
            family = self._families[base, tail] = _Family(base, tail, len(self._families))
        return family

    def _letter_set(self, sets: Sequence[OneOf], *, absorbing: bool) -> Term:
        """The union of sets of letters if ``absorbing``, else their intersection.

        In a union, having the rest class is absorbing: one set that has it is enough. In an intersection, lacking is.
        """
        absorbed = [each.exceptions for each in sets if each.has_rest is absorbing]
        others = frozenset[int]().union(*(each.exceptions for each in sets if each.has_rest is not absorbing))
        if absorbed:
            return self._make(OneOf, frozenset.intersection(*absorbed) - others, absorbing)
        return self._make(OneOf, others, not absorbing)

    def _of_members(self, kind: type[Union] | type[Intersection], members: set[Term], neutral: Term) -> Term:
        if len(members) > 1:
            return self._make(kind, tuple(sorted(members, key=_serial)))
        return members.pop() if members else neutral

    def _make(self, kind: Callable[..., Term], *parts: Hashable) -> Term:
        """The one term of this kind with these parts."""
        key = (kind, parts)
        term = self._made.get(key)
        if term is None:
            self.spend(_WORK_PER_TERM)
            term = kind(*parts)
            term.serial = len(self._made)
            self._made[key] = term
        return term

    def _check_counts(self, low: int, high: float) -> None:
        if low > _MAX_COUNT or _MAX_COUNT < high < math.inf:
            raise StateLimitError(self._what, self._max_states)

    def spend(self, work: int) -> None:
        """Count work, in the unit of the limits above; raises ResourceLimitError when it is used up."""
        self._work_left -= work
        if self._work_left < 0:
            raise ResourceLimitError(
                f"{self._what} grows too large to be worked out under the limit of {self._max_states} states; "
                "raise it (--max-states, max_states=) or simplify the property"
            )


_serial = attrgetter("serial")


def _as_power(term: Term) -> tuple[Term, int, float]:
    return (term.base, term.low, term.high) if isinstance(term, Power) else (term, 1, 1)


def _joined(counts: list[tuple[int, float]], *, touching: bool) -> list[tuple[int, float]]:
    """Intervals of whole numbers without those that lie in another; if ``touching``, with neighbours made one."""
    joined: list[tuple[int, float]] = []
    for low, high in sorted(counts, key=_widest_first):
        if not joined or (low > joined[-1][1] + 1 if touching else high > joined[-1][1]):
            joined.append((low, high))
        elif high > joined[-1][1]:
            joined[-1] = (joined[-1][0], high)
    return joined


def _widest_first(counts: tuple[int, float]) -> tuple[int, float]:
    return counts[0], -counts[1]
