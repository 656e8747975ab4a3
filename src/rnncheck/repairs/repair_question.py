"""What is to be repaired, and for what: everything that the result depends on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rnncheck.models.protocol import Model
from rnncheck.probability.distributions import WordDistribution
from rnncheck.repairs.own_words import Collection
from rnncheck.repairs.repair_settings import RepairSettings
from rnncheck.repairs.repaired_models import Pupil
from rnncheck.repairs.requirements import Demands, Requirement
from rnncheck.version import __version__

SPLIT, AUDIT, VALIDATION, HELD_OUT, TEACHING, FRESH = range(6)  # what random numbers are for; each use has its stream


@dataclass(frozen=True, eq=False)
class Question:
    """One repair. ``before`` is the model as it came; ``pupil`` is what is trained."""

    pupil: Pupil
    before: Model
    requirements: tuple[Requirement, ...]
    demands: Demands
    own: Collection
    distribution: WordDistribution
    seed: int
    settings: RepairSettings

    @property
    def labels(self) -> int:
        return len(self.pupil.labels)

    def rng(self, purpose: int, number: int = 0) -> np.random.Generator:
        return np.random.default_rng([self.seed, purpose, number])

    def asked(self) -> dict[str, Any]:
        """The question as plain values: a checkpoint is of one and no other."""
        return {
            "model": self.before.identity(),
            "properties": [[each.spec.sha256(), each.formula] for each in self.requirements],
            "words": self.own.sha256(),
            "distribution": self.distribution.describe(),
            "seed": self.seed,
            "version": __version__,
            **self.settings.describe(),
        }
