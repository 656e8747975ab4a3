"""The progress and the report of certified training."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from rnncheck.models.network import RecurrentNetwork
from rnncheck.relations import Relation
from rnncheck.verdict.certificate import Certificate
from rnncheck.words import Word


class HardeningEnding(enum.Enum):
    """Why training stopped; the value is the sentence for reports."""

    PROVED = "the proof closes"
    ITERATIONS = "the iterations ended before the proof closed"
    TIME = "the time limit ended before the proof closed"


@dataclass(frozen=True)
class HardeningProgress:
    """Passed to the progress callback after each round."""

    on_words: int  # iterations so far
    on_boxes: int  # iterations after them
    accuracy: float  # while learning, under noise
    clearance: float  # of the worst box from the decision; positive where all are on their side
    seconds: float


Progress: TypeAlias = Callable[[HardeningProgress], None]


@dataclass(frozen=True)
class HardeningReport:
    """The report of certified training. Accuracies are shares of fresh words that are answered correctly.

    ``changed``: on how many of the fresh words the answer changed. ``obstacle`` says what prevents a proof,
    ``wrong_word`` is a violation, if one was found.
    """

    ending: HardeningEnding
    relation: Relation
    on_words: int
    on_boxes: int
    seconds: float
    accuracy: float
    accuracy_before: float | None
    changed: int | None
    words: int
    boxes: int | None
    proof_seconds: float
    obstacle: str | None
    wrong_word: Word | None
    settings: Mapping[str, object] = field(default_factory=dict)

    @property
    def proved(self) -> bool:
        return self.ending is HardeningEnding.PROVED

    @property
    def spoilt(self) -> bool:
        """Whether there is no proof, and fewer words are answered right than before."""
        return not self.proved and self.accuracy_before is not None and self.accuracy < self.accuracy_before

    def facts(self) -> dict[str, object]:
        """The report as plain values, for the model file."""
        return {
            **{each.name: getattr(self, each.name) for each in dataclasses.fields(self)},
            "ending": self.ending.value,
            "relation": self.relation.value,
            "proved": self.proved,
            "seconds": round(self.seconds, 3),
            "proof_seconds": round(self.proof_seconds, 3),
            "wrong_word": None if self.wrong_word is None else list(self.wrong_word),
            "settings": dict(self.settings),
        }


@dataclass(frozen=True, eq=False)
class ProvableNetwork:
    """The network, the report, and the certificate if it is proved."""

    network: RecurrentNetwork
    report: HardeningReport
    certificate: Certificate | None
