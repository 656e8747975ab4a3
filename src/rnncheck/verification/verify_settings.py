"""The settings of a verification."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from types import MappingProxyType
from typing import Any, Self

from rnncheck.errors import InputError, renamed_fields
from rnncheck.extraction import DEFAULT_EXTRACTION, ExtractionName
from rnncheck.learning.learning_settings import LearningSettings, check_least
from rnncheck.probability.confidence import Bound
from rnncheck.proofs.proof_search import ProofSettings
from rnncheck.search.flows import FlowSettings
from rnncheck.word_files import Sequences

# What "as printed" means; each of these can also be set by itself.
FAITHFUL: Mapping[str, Any] = MappingProxyType(
    {"learner": "lstar-prefixes", "bound": Bound.PAPER, "plain": True, "suspects": 1, "shrink": False}
)


@renamed_fields(mass_words="severity_samples")
@dataclass(frozen=True)
class VerifySettings(LearningSettings):
    """Everything about a verification that is not the model, the specification or the question."""

    extraction: ExtractionName = DEFAULT_EXTRACTION  # how AAMC extracts its automaton
    suspects: int = 100  # words of its automaton that break the property, which AAMC checks before it refines
    exhaustive: int | None = None  # first query every word up to this length
    search_steps: int = 1_000_000  # network steps of the guided search and of loops before ``auto`` says satisfied
    shrink: bool = True
    explain: float | None = None  # seconds to explain a violation; None: counted work, mostly less than finding it
    shorter_steps: int | None = None  # to search for other, shorter counterexamples; None: as ``explain`` allows
    flows: FlowSettings | None = FlowSettings()  # noqa: RUF009 - frozen
    counterexamples: int = 1  # how many to report, each of another kind
    severity_samples: int | None = (
        None  # words to measure the severity of a violation with; None: as ``explain`` allows
    )
    on_data: Sequences | None = None  # the user's own words: how many of them are violations
    checkpoint: str | None = None  # a file for the model's answers so far, written now and then
    checkpoint_seconds: float = 30.0
    proof: ProofSettings = ProofSettings()  # noqa: RUF009 - frozen; how hard the method ``prove`` tries
    certificate: str | None = None  # a file for the certificate of a proof
    resume: bool = False  # continue from that file: the same verdict as without the interruption

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("exhaustive", "search_steps", "shorter_steps", "severity_samples"):
            check_least(name, getattr(self, name), 0)
        for name in ("counterexamples", "suspects"):
            check_least(name, getattr(self, name), 1)
        if self.explain is not None and not (0.0 <= self.explain < math.inf):
            raise InputError(f"explain={self.explain!r} is not a number of seconds; give 0 or more, or leave it out")

    @classmethod
    def faithful(cls, **others: Any) -> Self:
        """The paper's algorithms as they are printed: its learner, its numbers of words, only whole words, one suspect
        of AAMC, and counterexamples as found.
        """
        return cls(**FAITHFUL, **others)

    def describe(self) -> dict[str, object]:
        """The settings that differ from their defaults, to repeat the verification."""
        described: dict[str, object] = {
            "known_words": len(self.known_words),
            "flows": None if self.flows is None else asdict(self.flows),
        }
        described["proof"] = asdict(self.proof)
        described["on_data"] = None if self.on_data is None else self.on_data.describe()
        # Reported separately, or without an effect on the result.
        omitted = {
            "bound",
            "clock",
            "cancelled",
            "memory_limit",
            "certificate",
            "checkpoint",
            "checkpoint_seconds",
            "resume",
        }
        changed = [
            part for part in fields(self) if part.name not in omitted and getattr(self, part.name) != part.default
        ]
        return {part.name: described.get(part.name, getattr(self, part.name)) for part in changed}
