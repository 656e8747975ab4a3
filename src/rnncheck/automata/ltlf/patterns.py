"""Property patterns by name: those of Dwyer, Avrunin and Corbett with their scopes, and those of Declare.

A pattern is used inside a formula like a function, ``response(request, grant)``; its arguments are formulas. A
parameter called ``n`` takes a number. The formulas define the patterns on finite words. Patterns are about
positions, and the end of a word is not one: ``!a`` holds there and must not count there, hence the ε below.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

COUNT_PARAMETER = "n"
MAX_COUNT = 10_000
"""The largest number that a pattern takes; the formula grows with it."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A named formula with parameters.

    ``formula`` uses the parameters' names. Where it depends on a number ``n`` it is for display, and ``template(n)`` is
    the formula itself.
    """

    name: str
    parameters: tuple[str, ...]
    formula: str
    description: str
    family: str
    counted: Callable[[int], str] | None = None

    def template(self, count: int) -> str:
        """The formula in the parameters' names, for one value of ``n`` (ignored where there is none)."""
        return self.formula if self.counted is None else self.counted(count)

    @property
    def usage(self) -> str:
        return f"{self.name}({', '.join(self.parameters)})"


def _at_least(count: int) -> str:
    if count == 0:
        return "true"
    # Waiting with !a instead of F keeps one obligation open at a time, so n repetitions cost n states.
    return "!a U (a & X (" * (count - 1) + "F a" + "))" * (count - 1)


def _at_most(count: int) -> str:
    return f"!({_at_least(count + 1)})"


def _exactly(count: int) -> str:
    return f"({_at_least(count)}) & {_at_most(count)}"


_COUNTED = {"at_least": _at_least, "at_most": _at_most, "exactly": _exactly}

_BOTH = (
    ("absence(a)", "!F a", "a never happens."),
    ("existence(a)", "F a", "a happens at least once."),
    ("response(a, b)", "G(a -> F b)", "Every a is followed by b."),
    ("precedence(a, b)", "!b W a", "b happens only after an a."),
)

_DECLARE = (
    ("absence2(a)", "!F(a & X F a)", "a happens at most once."),
    ("absence3(a)", "!F(a & X F(a & X F a))", "a happens at most twice."),
    ("existence2(a)", "F(a & X F a)", "a happens at least twice."),
    ("existence3(a)", "F(a & X F(a & X F a))", "a happens at least three times."),
    ("at_least(a, n)", "F(a & X F(a & …)), n times a", "a happens at least n times."),
    ("at_most(a, n)", "!at_least(a, n + 1)", "a happens at most n times."),
    ("exactly(a, n)", "at_least(a, n) & at_most(a, n)", "a happens exactly n times."),
    ("init(a)", "a & !ε", "The first letter is a."),
    ("end(a)", "F(a & last)", "The last letter is a."),
    ("responded_existence(a, b)", "F a -> F b", "If a happens, b happens too, before or after it."),
    ("co_existence(a, b)", "F a <-> F b", "Either both a and b happen or neither does."),
    ("succession(a, b)", "G(a -> F b) & (!b W a)", "Every a is followed by b, and b happens only after an a."),
    ("alternate_response(a, b)", "G(a -> X(!a U b))", "Every a is followed by b before the next a."),
    (
        "alternate_precedence(a, b)",
        "(!b W a) & G(b -> WX(!b W a))",
        "Every b has an a before it, with no other b in between.",
    ),
    (
        "alternate_succession(a, b)",
        "G(a -> X(!a U b)) & (!b W a) & G(b -> WX(!b W a))",
        "Every a is followed by b before the next a, and every b has an a since the last b.",
    ),
    ("chain_response(a, b)", "G(a -> X b)", "Right after every a comes b."),
    ("chain_precedence(a, b)", "(b -> ε) & G(X b -> a)", "Right before every b there is an a."),
    (
        "chain_succession(a, b)",
        "G(a -> X b) & (b -> ε) & G(X b -> a)",
        "Right after every a comes b, and right before every b there is an a.",
    ),
    ("not_co_existence(a, b)", "!(F a & F b)", "a and b do not both happen."),
    ("not_succession(a, b)", "G(a -> !F b)", "After an a, b never happens."),
    ("not_chain_succession(a, b)", "G(a -> !X b)", "b never comes right after a."),
    ("choice(a, b)", "F a | F b", "a or b happens, or both."),
    ("exclusive_choice(a, b)", "(F a | F b) & !(F a & F b)", "a or b happens, but not both."),
)

_BEFORE = "Before the first r, if there is one,"
_AFTER = "From the first q on,"
_BETWEEN = "From every q up to the next r, if there is one,"
_UNTIL = "From every q up to the next r, or else the end,"

# Dwyer's precedence after q, G !q | F(q & (!p W s)), is content with any one q; the scope begins at the first.
_DWYER = (
    ("universality(p)", "G p", "p holds at every letter."),
    ("absence_before(p, r)", "F r -> (!p U r)", f"{_BEFORE} p does not happen."),
    ("absence_after(p, q)", "G(q -> G !p)", f"{_AFTER} p does not happen."),
    ("absence_between(p, q, r)", "G(q & !r & F r -> (!p U r))", f"{_BETWEEN} p does not happen."),
    ("absence_after_until(p, q, r)", "G(q & !r -> (!p W r))", f"{_UNTIL} p does not happen."),
    ("existence_before(p, r)", "!r W (p & !r)", f"{_BEFORE} p happens."),
    ("existence_after(p, q)", "G !q | F(q & F p)", f"{_AFTER} p happens."),
    ("existence_between(p, q, r)", "G(q & !r -> (!r W (p & !r)))", f"{_BETWEEN} p happens."),
    ("existence_after_until(p, q, r)", "G(q & !r -> (!r U (p & !r)))", f"{_UNTIL} p happens."),
    ("universality_before(p, r)", "F r -> (p U r)", f"{_BEFORE} p holds at every letter."),
    ("universality_after(p, q)", "G(q -> G p)", f"{_AFTER} p holds at every letter."),
    ("universality_between(p, q, r)", "G(q & !r & F r -> (p U r))", f"{_BETWEEN} p holds at every letter."),
    ("universality_after_until(p, q, r)", "G(q & !r -> (p W r))", f"{_UNTIL} p holds at every letter."),
    ("precedence_before(s, p, r)", "F r -> (!p U (s | r))", f"{_BEFORE} p happens only after an s."),
    ("precedence_after(s, p, q)", "!q W (q & (!p W s))", f"{_AFTER} p happens only after an s."),
    (
        "precedence_between(s, p, q, r)",
        "G(q & !r & F r -> (!p U (s | r)))",
        f"{_BETWEEN} p happens only after an s.",
    ),
    ("precedence_after_until(s, p, q, r)", "G(q & !r -> (!p W (s | r)))", f"{_UNTIL} p happens only after an s."),
    ("response_before(p, s, r)", "F r -> ((p -> (!r U (s & !r))) U r)", f"{_BEFORE} every p is followed by s."),
    ("response_after(p, s, q)", "G(q -> G(p -> F s))", f"{_AFTER} every p is followed by s."),
    (
        "response_between(p, s, q, r)",
        "G(q & !r & F r -> ((p -> (!r U (s & !r))) U r))",
        f"{_BETWEEN} every p is followed by s.",
    ),
    (
        "response_after_until(p, s, q, r)",
        "G(q & !r -> ((p -> (!r U (s & !r))) W r))",
        f"{_UNTIL} every p is followed by s.",
    ),
)


def _pattern(usage: str, formula: str, description: str, family: str) -> Pattern:
    name, _, parameters = usage.rstrip(")").partition("(")
    return Pattern(name, tuple(parameters.split(", ")), formula, description, family, _COUNTED.get(name))


PATTERNS: Mapping[str, Pattern] = MappingProxyType(
    {
        pattern.name: pattern
        for family, rows in (("Dwyer, Declare", _BOTH), ("Declare", _DECLARE), ("Dwyer", _DWYER))
        for pattern in (_pattern(*row, family) for row in rows)
    }
)
"""Every pattern by its name."""
