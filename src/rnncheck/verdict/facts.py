"""Parts of every verdict: the outcome, what was verified, the cost, and what weakens the result."""

from __future__ import annotations

import enum
from typing import Annotated, Literal, Self

import msgspec

from rnncheck.automata.dfa import DFA
from rnncheck.errors import InputError, short_repr

Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Scores = tuple[float | None, ...] | None  # None for a score that is not finite, and for a model without scores
Interval = tuple[float, float]
StrengthName = Literal["proved", "exhaustive", "bounded", "statistical"]
MethodName = Literal["auto", "pdv", "smc", "aamc", "errors", "prove"]


class Outcome(enum.Enum):
    """The possible results of a verification."""

    VIOLATED = "violated"
    SATISFIED = "satisfied"
    UNDECIDED = "undecided"

    @property
    def exit_code(self) -> int:
        return {"satisfied": 0, "violated": 1, "undecided": 3}[self.value]


class Strength(enum.Enum):
    """What "satisfied" rests on, the strongest first."""

    PROVED = "proved"  # no word that counts is a violation, whatever its length
    EXHAUSTIVE = "exhaustive"  # the reference was queried for every word that counts and could be a violation
    BOUNDED = "bounded"  # P(violation) is below a bound for certain, without a sample
    STATISTICAL = "statistical"  # P(violation) is below a bound with a confidence, by a sample

    @classmethod
    def named(cls, name: StrengthName | Strength) -> Strength:
        """The strength of that name."""
        try:
            return cls(name)
        except ValueError:
            known = ", ".join(strength.value for strength in cls)
            raise InputError(f"unknown strength {short_repr(name)}; known are {known}") from None

    def at_least(self, other: Strength) -> bool:
        """Whether this is as strong as another, or stronger."""
        order = list(Strength)
        return order.index(self) <= order.index(other)


class TotalCost(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The cost. Each queried word counts once; steps are rows × recurrent steps actually computed.

    ``words_used`` counts every query until the finding and every word drawn, run or not, as the paper's tables do.
    ``first_violation_seconds`` and ``first_violation_steps`` are the cost until the first violation was confirmed; the
    rest made it shorter and explained it.
    """

    seconds: float
    membership_queries: int
    network_steps: int
    rounds: int
    first_violation_seconds: float | None = None
    first_violation_steps: Count | None = None
    words_used: Count | None = None

    def after(self, earlier: TotalCost) -> TotalCost:
        """The cost of both."""
        seconds, steps = self.first_violation_seconds, self.first_violation_steps
        return TotalCost(
            self.seconds + earlier.seconds,
            self.membership_queries + earlier.membership_queries,
            self.network_steps + earlier.network_steps,
            self.rounds + earlier.rounds,
            None if seconds is None else seconds + earlier.seconds,
            None if steps is None else steps + earlier.network_steps,
            (self.words_used or 0) + (earlier.words_used or 0),
        )


class Round(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One round of learning: the states of its hypothesis, and the total cost when it ended."""

    states: Count
    membership_queries: Count
    network_steps: Count
    words: Count


class HealthNote(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Something that weakens the result, in numbers, and the remedy."""

    check: str
    message: str


class AutomatonFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An automaton in a document."""

    states: int
    automaton: DFA | None = None

    @classmethod
    def of(cls, dfa: DFA) -> Self:
        return cls(len(dfa), dfa)


class SpecFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The specification: its text or file, the digest of its language, and its automaton."""

    origin: str | None = None
    sha256: str | None = None
    states: int | None = None
    automaton: DFA | None = None
