"""Parts of a verdict about violations: traces, faulty flows, severity, failure clusters, and the user's data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import msgspec

from rnncheck.automata.dfa import DFA
from rnncheck.display import Displayable
from rnncheck.errors import visible
from rnncheck.probability.clopper_pearson import clopper_pearson
from rnncheck.verdict.facts import Count, Interval, Scores
from rnncheck.words import Word, format_word


class Trace(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The model's answers to each prefix of the counterexample, the empty word first.

    ``scores`` are distances from the decision, positive on the accepting side.
    """

    answers: tuple[bool, ...]
    scores: Scores = None


class FaultyFlow(Displayable, msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A loop inside the counterexample that can be pumped: prefix · loopⁿ · suffix stays a violation for many n.

    ``hits`` of the ``pumps`` numbers n = 1 … pumps gave a violation, the ``violating_pumps``. ``settles_at``: from this
    n on the network's state after the loop repeats, so that in its arithmetic the answers repeat for ever; None when no
    such n was found. ``scores`` are the model's for n = 1 … pumps.
    """

    prefix: Word
    loop: Word
    suffix: Word
    hits: Count
    pumps: Count
    violating_pumps: tuple[int, ...] | None = None
    settles_at: Count | None = None
    forever: bool = False
    arithmetic: str | None = None  # of the network's states, if it rounds
    scores: Scores = None

    def __str__(self) -> str:
        return f"{format_word(self.prefix)} · ({format_word(self.loop)})ⁿ · {format_word(self.suffix)}"

    @property
    def ever(self) -> str:
        """Whether it continues for ever, as the end of a sentence; empty where that is not known."""
        where = f" (in {self.arithmetic})" if self.arithmetic else ""
        return f", for ever from n = {self.settles_at} on{where}" if self.forever else ""


class Share(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A measured probability: the share of some words, and the interval that shows with 95 % confidence."""

    value: float | None
    interval: Interval
    words: int

    @classmethod
    def of(cls, hits: int, words: int) -> Self:
        """``hits`` of ``words`` words."""
        return cls(hits / words, clopper_pearson(hits, words), words) if words else cls(None, (0.0, 1.0), 0)

    def __str__(self) -> str:
        if self.value is None:
            return "unknown (no such word was drawn)"
        low, high = self.interval
        return f"{self.value:.3g} ({low:.3g} to {high:.3g}, {self.words} words)"


class Stratum(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Some words that could be violations: their exact ``mass``, and the violations among ``words`` drawn from them."""

    name: str
    mass: float
    words: Count
    violations: Count

    def __str__(self) -> str:
        return f"{self.violations} of {self.words} {self.name} (probability {self.mass:.3g})"


class ViolationProbability(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The severity: how often a random word is a violation, as a 95 % ``interval``, and how it was measured."""

    interval: Interval
    strata: tuple[Stratum, ...] = ()


class FailureCluster(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Counterexamples that probably have the same cause: 0 is the counterexample, n the n-th of the others.

    After ``after`` letters of each the model's state first lies outside those of random words that lead to the same
    state of the specification: as ``letter`` is read in ``state``. None where it never does, or the model has no
    states. ``flow``: they belong to the family of this faulty flow.
    """

    words: tuple[Count, ...]
    flow: Count | None = None
    state: Count | None = None
    letter: str | None = None
    after: tuple[Count | None, ...] = ()

    def sentence(self) -> str:
        """In words, without capital and full stop."""
        who = ", ".join(str(number + 1) for number in self.words)
        family = "" if self.flow is None else f", in the family of faulty flow {self.flow + 1}"
        if self.letter is None:
            return f"counterexample {who}{family}: the model's state is never far from those of random words"
        where = ", ".join(str(after) for after in self.after)
        return (
            f"counterexample {who}{family}: the model's state leaves those of random words as {visible(self.letter)} "
            f"is read in state {self.state} of the specification (letter {where})"
        )


def cluster_sentences(clusters: Sequence[FailureCluster]) -> list[str]:
    """One sentence per cluster; those without a known place or flow share the last sentence."""
    unknown = [each for each in clusters if each.letter is None and each.flow is None]
    known = [each.sentence() for each in clusters if each not in unknown]
    together = FailureCluster(words=tuple(sorted(number for each in unknown for number in each.words)))
    return [*known, together.sentence()] if unknown else known


class DataViolation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A sequence of the user's data that is a violation, and its line in the file.

    Where two models are compared, ``old`` and ``new`` are their answers.
    """

    line: Count
    word: Word
    old: str | None = None
    new: str | None = None


class DataFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The result on the user's own sequences: the number of ``violations`` among those that count.

    ``sha256`` is the digest of all ``words``; ``first`` are the first violations.
    """

    source: str
    sha256: str
    words: Count
    counted: Count
    violations: Count
    first: tuple[DataViolation, ...] = ()

    def sentence(self) -> str:
        """In words, without capital and full stop."""
        of = "" if self.counted == self.words else f" of {self.counted} that count"
        where = ", ".join(str(each.line) for each in self.first)
        more = "" if self.violations <= len(self.first) else ", …"
        lines = f", on line {where}{more}" if self.first else ""
        return f"{self.violations}{of} of {self.words} sequences of {visible(self.source)} are violations{lines}"


class ErrorDescription(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A learned description of all violations: an automaton, and its quality.

    ``expression`` is its language as a regular expression, None where that is too long to read. ``mass`` is the
    probability of the words it names. ``precision`` is the share of violations among the words it names, ``recall`` the
    share of the words it names among the violations, both under the distribution; None where there was no time for it.
    """

    states: int
    automaton: DFA | None = None
    expression: str | None = None
    mass: float
    precision: Share | None = None
    recall: Share | None = None

    def sentence(self) -> str:
        """In words."""
        text = self.expression or f"an automaton of {self.states} states, too large to write as an expression"
        parts = [f"the mistakes are described by {text} (probability {self.mass:.3g})"]
        if self.precision is not None:
            parts.append(f"precision {self.precision}")
        if self.recall is not None:
            parts.append(f"recall {self.recall}")
        return ", ".join(parts)
