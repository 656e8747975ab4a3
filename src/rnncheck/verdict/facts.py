"""What every verdict tells: its outcome, what was verified, what it took, and what weakens it."""

from __future__ import annotations

import enum
from typing import Annotated, Literal, Self

import msgspec

from rnncheck.automata.dfa import DFA
from rnncheck.errors import InputError, short_repr

Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Scores = tuple[float | None, ...] | None  # one that is not finite is None; all of them, where the model has none
Interval = tuple[float, float]
StrengthName = Literal["proved", "exhaustive", "bounded", "statistical"]
MethodName = Literal["auto", "pdv", "smc", "aamc", "errors", "prove"]


class Outcome(enum.Enum):
    """What a verification can end with."""

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
    """What it took. Words asked count once each; steps are rows × recurrent steps actually computed.

    ``words_used`` counts every query until the finding and every word drawn, run or not: what the paper's tables count.
    ``first_violation_seconds`` and ``first_violation_steps`` are what had been spent when the first violation was
    confirmed; what came after made it shorter, and says more about it.
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
    """One round of learning: the states of its hypothesis, and what all work together had cost when it ended."""

    states: Count
    membership_queries: Count
    network_steps: Count
    words: Count


class HealthNote(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Something that weakens the result: what, in numbers, and what to do about it."""

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
    """The specification: what it was made of, the digest of its language, and its automaton."""

    origin: str | None = None
    sha256: str | None = None
    states: int | None = None
    automaton: DFA | None = None
