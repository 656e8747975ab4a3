"""The question of a repair: everything that the result depends on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rnncheck.models.protocol import Model
from rnncheck.probability.distributions import WordDistribution
from rnncheck.repairs.own_words import Collection
from rnncheck.repairs.repair_settings import RepairSettings
from rnncheck.repairs.repaired_models import RepairedModel
from rnncheck.repairs.requirements import AllowedOutputs, Requirement
from rnncheck.version import __version__

SPLIT, AUDIT, VALIDATION, HELD_OUT, TRAINING, FRESH = range(6)  # the uses of random numbers; each has its own stream


@dataclass(frozen=True, eq=False)
class Question:
    """One repair. ``before`` is the original model; ``candidate`` is the one being trained."""

    candidate: RepairedModel
    before: Model
    requirements: tuple[Requirement, ...]
    allowed_outputs: AllowedOutputs
    own: Collection
    distribution: WordDistribution
    seed: int
    settings: RepairSettings

    @property
    def labels(self) -> int:
        return len(self.candidate.labels)

    def rng(self, purpose: int, number: int = 0) -> np.random.Generator:
        return np.random.default_rng([self.seed, purpose, number])

    def as_values(self) -> dict[str, Any]:
        """The question as plain values; a checkpoint belongs to exactly one question."""
        return {
            "model": self.before.fingerprint(),
            "properties": [[each.spec.sha256(), each.formula] for each in self.requirements],
            "words": self.own.sha256(),
            "distribution": self.distribution.describe(),
            "seed": self.seed,
            "version": __version__,
            **self.settings.describe(),
        }
