"""The result of a verification, as a value, as a JSON document, and in words."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec

from rnncheck.automata.dfa import DFA
from rnncheck.automata.formats.dfa_json import read_json, write_json
from rnncheck.display import Displayable, page_of
from rnncheck.errors import FormatError, InputError
from rnncheck.relations import Relation
from rnncheck.runtime.files import write_atomically
from rnncheck.words import Alphabet, Word, format_word


class Outcome(enum.Enum):
    """What a verification can end with."""

    VIOLATED = "violated"
    SATISFIED = "satisfied"
    UNDECIDED = "undecided"

    @property
    def exit_code(self) -> int:
        return {"satisfied": 0, "violated": 1, "undecided": 3}[self.value]


@dataclass(frozen=True)
class Guarantee:
    """What is known of words that were not looked at.

    With confidence 1 − ``gamma`` the probability of a violation is below ``epsilon``, shown by ``samples`` independent
    words of ``distribution``; and no word of at most ``exact_length`` letters is a violation, for certain. ``claim``
    says of what the words are a sample: of violations, or of differences between the model and the hypothesis.
    """

    epsilon: float | None = None
    gamma: float | None = None
    samples: int = 0
    bound: str = "exact"
    claim: str = "violations"
    hypothesis_epsilon: float | None = None  # P(R and H break the relation), where a round's own test was passed
    exact_length: int | None = None
    proof: bool = False  # it holds of all words, for certain
    distribution: Mapping[str, object] | None = None

    def sentence(self) -> str:
        """The guarantee in words."""
        if self.proof:
            return "no word at all violates the specification, for certain"
        parts = []
        if self.exact_length is not None:
            parts.append(f"no word of at most {self.exact_length} letters violates the specification, all were asked")
        if self.epsilon is not None and self.gamma is not None:
            parts.append(
                f"a random word violates it with probability below {self.epsilon:.3g}, with confidence "
                f"{1 - self.gamma:.6g} ({self.samples} words, {self.bound} bound)"
            )
        return "; ".join(parts) or "nothing is known of words that were not asked"


@dataclass(frozen=True)
class TotalCost:
    """What it took. Words asked count once each; steps are rows × recurrent steps actually computed."""

    seconds: float
    membership_queries: int
    network_steps: int
    rounds: int


@dataclass(frozen=True)
class Trace:
    """What the model says after each prefix of the counterexample, the empty word first.

    ``scores`` are distances from the decision, positive on the accepting side; one that is not finite is None, and so
    are all of them where the model has none.
    """

    answers: tuple[bool, ...]
    scores: tuple[float | None, ...] | None = None


@dataclass(frozen=True)
class Round:
    """One round of learning: the states of its hypothesis, and what all work together had cost when it ended."""

    states: int
    membership_queries: int
    network_steps: int
    words: int


@dataclass(frozen=True)
class FaultyFlow(Displayable):
    """A loop inside the counterexample that can be pumped: prefix · loopⁿ · suffix stays a violation for many n.

    ``hits`` of the ``pumps`` numbers n = 1 … pumps gave a violation, those in ``which``. ``settles_at``: from this n
    on the network's state after the loop repeats, so that the answers go on as they are for ever in its arithmetic;
    None when no such point was seen. ``scores`` are the model's for n = 1 … pumps, where it has any.
    """

    prefix: Word
    loop: Word
    suffix: Word
    hits: int
    pumps: int
    which: tuple[int, ...] = ()
    settles_at: int | None = None
    forever: bool = False
    scores: tuple[float | None, ...] | None = None

    def __str__(self) -> str:
        return f"{format_word(self.prefix)} · ({format_word(self.loop)})ⁿ · {format_word(self.suffix)}"


@dataclass(frozen=True)
class HealthNote:
    """Something that weakens the result: what, in numbers, and what to do about it."""

    check: str
    message: str


@dataclass(frozen=True)
class Verdict(Displayable):
    """The result of a verification.

    ``settings`` are the numbers it was asked with, and ``command`` is the command line, where there was one.
    """

    outcome: Outcome
    reason: str
    method: str
    relation: Relation
    cost: TotalCost
    seed: int
    alphabet: Alphabet
    counterexample: Word | None = None
    guarantee: Guarantee | None = None
    hypothesis: DFA | None = None
    specification: DFA | None = None
    faulty_flows: tuple[FaultyFlow, ...] = ()
    health: tuple[HealthNote, ...] = ()
    model_facts: Mapping[str, object] = field(default_factory=dict)
    spec_facts: Mapping[str, object] = field(default_factory=dict)
    violation_mass: tuple[float, float] | None = None
    error_language: Mapping[str, object] | None = None  # what all violations look like, where that was learned
    version: str = ""
    trace: Trace | None = None
    history: tuple[Round, ...] = ()
    settings: Mapping[str, object] = field(default_factory=dict)
    command: str | None = None

    @property
    def violated(self) -> bool:
        return self.outcome is Outcome.VIOLATED

    @property
    def satisfied(self) -> bool:
        return self.outcome is Outcome.SATISFIED

    @property
    def undecided(self) -> bool:
        return self.outcome is Outcome.UNDECIDED

    @property
    def exit_code(self) -> int:
        return self.outcome.exit_code

    def __str__(self) -> str:
        return f"{self.outcome.value}: {self.reason}"

    def to_document(self) -> VerdictDocument:
        """The JSON document's parts."""
        return VerdictDocument(
            schema="rnncheck/verdict/1",
            verdict=self.outcome.value,
            reason=self.reason,
            method=self.method,
            relation=self.relation.value,
            counterexample=None if self.counterexample is None else list(self.counterexample),
            confirmed=self.counterexample is not None,
            guarantee=None if self.guarantee is None else msgspec.to_builtins(self.guarantee),
            cost=msgspec.to_builtins(self.cost),
            hypothesis=None if self.hypothesis is None else _automaton(self.hypothesis),
            faulty_flows=[msgspec.to_builtins(flow) for flow in self.faulty_flows],
            health=[msgspec.to_builtins(note) for note in self.health],
            violation_mass=None if self.violation_mass is None else list(self.violation_mass),
            error_language=None if self.error_language is None else dict(self.error_language),
            model=dict(self.model_facts),
            spec={**self.spec_facts, **({} if self.specification is None else _automaton(self.specification))},
            alphabet=list(self.alphabet),
            seed=self.seed,
            version=self.version,
            trace=None if self.trace is None else msgspec.to_builtins(self.trace),
            history=[msgspec.to_builtins(a_round) for a_round in self.history],
            settings=dict(self.settings),
            command=self.command,
        )

    def to_json(self) -> str:
        """The JSON document (schema ``rnncheck/verdict/1``), indented."""
        return msgspec.json.format(msgspec.json.encode(self.to_document()), indent=2).decode() + "\n"

    def save_report(self, path: str | Path) -> None:
        """Write the report: one HTML file with everything in it, for people."""
        write_atomically(path, page_of(self))


class VerdictDocument(msgspec.Struct, forbid_unknown_fields=True):
    """The JSON form of a verdict. Fields may be added; those here keep name and meaning."""

    schema: Literal["rnncheck/verdict/1"]
    verdict: Literal["violated", "satisfied", "undecided"]
    reason: str
    method: str
    relation: Literal["subset", "superset", "equal"]
    counterexample: list[str] | None
    confirmed: bool
    guarantee: dict[str, Any] | None
    cost: dict[str, Any]
    hypothesis: dict[str, Any] | None
    faulty_flows: list[dict[str, Any]]
    health: list[dict[str, str]]
    model: dict[str, Any]
    spec: dict[str, Any]
    alphabet: list[str]
    seed: int
    version: str
    violation_mass: list[float] | None = None
    error_language: dict[str, Any] | None = None
    trace: dict[str, Any] | None = None
    history: list[dict[str, int]] = []
    settings: dict[str, Any] = {}
    command: str | None = None


def read_document(text: str | bytes, source: str = "verdict") -> VerdictDocument:
    """Read a verdict's JSON document; ``source`` names it in errors."""
    try:
        return msgspec.json.decode(text, type=VerdictDocument)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise FormatError(f"not a verdict: {error}", source) from None


def automaton_in(part: Mapping[str, Any] | None, source: str) -> DFA | None:
    """The automaton that a document's ``hypothesis`` or ``spec`` carries, if it does."""
    if part is None or part.get("automaton") is None:
        return None
    try:
        return read_json(msgspec.json.encode(part["automaton"]), source=source)
    except InputError as error:
        raise FormatError(str(error), source) from None


def _automaton(dfa: DFA) -> dict[str, Any]:
    return {"states": len(dfa), "automaton": msgspec.json.decode(write_json(dfa))}
