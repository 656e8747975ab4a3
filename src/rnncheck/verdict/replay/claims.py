"""A verdict's document taken apart into typed pieces; what cannot be read is refuted here, and left out further on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar

import msgspec

from rnncheck.errors import FormatError, shown, visible
from rnncheck.verdict.replay.checks import Check, refuted
from rnncheck.verdict.replay.tables import Table, read_table
from rnncheck.verdict.value import VerdictDocument
from rnncheck.words import Codes, format_word

_LONGEST_TEXT = 120
_Piece = TypeVar("_Piece")
_Count = Annotated[int, msgspec.Meta(ge=0)]


class Claims(msgspec.Struct):
    """The ``guarantee``. Documents written before ``asked_epsilon`` and ``asked_gamma`` do without them."""

    epsilon: float | None = None
    gamma: float | None = None
    samples: int = 0
    bound: str = "exact"
    claim: str = "violations"
    hypothesis_epsilon: float | None = None
    exact_length: int | None = None
    proof: bool = False
    distribution: dict[str, Any] | None = None
    asked_epsilon: float | None = None
    asked_gamma: float | None = None


class Asked(msgspec.Struct):
    """What the ``settings`` say was asked for; earlier documents have none."""

    epsilon: float | None = None
    gamma: float | None = None
    bound: str | None = None
    distribution: dict[str, Any] | None = None


class FlowClaims(msgspec.Struct):
    """One of the ``faulty_flows``."""

    prefix: list[str]
    loop: list[str]
    suffix: list[str]
    hits: _Count
    pumps: _Count
    which: list[int] | None = None
    settles_at: _Count | None = None
    forever: bool = False
    scores: list[float | None] | None = None


class TraceClaims(msgspec.Struct):
    """The ``trace`` of the counterexample."""

    answers: list[bool]
    scores: list[float | None] | None = None


@dataclass(frozen=True)
class Evidence:
    """What a document says, each piece either well-formed or None."""

    document: VerdictDocument
    spec: Table | None
    hypothesis: Table | None
    claims: Claims | None
    asked: Asked
    flows: tuple[FlowClaims, ...]
    trace: TraceClaims | None
    network_steps: int | None
    problems: tuple[Check, ...]
    positions: Mapping[str, int] = field(repr=False)

    @property
    def relation(self) -> str:
        return self.document.relation

    @property
    def counterexample(self) -> Codes | None:
        """The counterexample as letter positions; None where there is none, or it has a letter nobody knows."""
        return None if self.document.counterexample is None else self.encode(self.document.counterexample)

    @property
    def distribution(self) -> dict[str, Any] | None:
        """The facts of the distribution that the claims are about."""
        claimed = None if self.claims is None else self.claims.distribution
        return self.asked.distribution if claimed is None else claimed

    def encode(self, word: Sequence[str]) -> Codes | None:
        """A word as letter positions; None where a letter is not in the document's alphabet."""
        try:
            return tuple([self.positions[letter] for letter in word])
        except KeyError:
            return None

    def text(self, word: Sequence[int]) -> str:
        """A word for people, cut where it is very long."""
        text = format_word([self.document.alphabet[letter] for letter in word])
        return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}… ({len(word)} letters)"


def read_evidence(document: VerdictDocument) -> Evidence:
    """Take a document apart."""
    reader = _Reader(document)
    asked = reader.piece("settings", document.settings, Asked)
    flows = [reader.piece("faulty flow", flow, FlowClaims) for flow in document.faulty_flows]
    steps = document.cost.get("network_steps")
    return Evidence(
        document=document,
        spec=reader.table("specification", document.spec),
        hypothesis=reader.table("hypothesis", document.hypothesis),
        claims=reader.piece("guarantee", document.guarantee, Claims),
        asked=asked or Asked(),
        flows=tuple(flow for flow in flows if flow is not None),
        trace=reader.piece("trace", document.trace, TraceClaims),
        network_steps=steps if isinstance(steps, int) else None,
        positions={letter: position for position, letter in enumerate(document.alphabet)},
        problems=tuple(reader.problems),
    )


class _Reader:
    def __init__(self, document: VerdictDocument) -> None:
        self._letters = document.alphabet
        self._lettered = bool(self._letters) and len(set(self._letters)) == len(self._letters)
        self.problems: list[Check] = []
        if not self._lettered:
            seen = f"{shown(self._letters)} is not an alphabet: it is empty, or a letter stands there twice"
            self.problems.append(refuted("alphabet", seen))

    def piece(self, name: str, value: dict[str, Any] | None, kind: type[_Piece]) -> _Piece | None:
        if value is None:
            return None
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            self.problems.append(refuted(name, f"it cannot be read: {visible(str(error))}"))
            return None

    def table(self, name: str, part: dict[str, Any] | None) -> Table | None:
        if part is None or part.get("automaton") is None or not self._lettered:
            return None
        try:
            return read_table(part, self._letters, name)
        except FormatError as error:
            self.problems.append(refuted(name, error.problem))
            return None
