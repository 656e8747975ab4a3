"""What every road from a network to a surrogate begins with and ends with."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from rnncheck.automata.dfa import DFA
from rnncheck.errors import ModelError
from rnncheck.learning import Learner
from rnncheck.models.protocol import SteppingModel
from rnncheck.oracle import Oracle
from rnncheck.probability.distributions import WordDistribution

# Roads that need answers alone, for models that do not show their state between letters.
ANSWERS_ALONE = ("pac-lstar", "bounded-lstar")
HIDDEN_STATES = ("weiss", "kmeans", "grid")


@dataclass(frozen=True)
class Subject:
    """A model to find a surrogate for: whom to ask, which words matter, where randomness comes from, how large.

    ``rng`` gives a generator of its own for each purpose; ``learner`` makes a learner that asks the oracle.
    """

    oracle: Oracle
    distribution: WordDistribution
    rng: Callable[[str], np.random.Generator]
    learner: Callable[[], Learner[Any]]
    max_states: int

    def stepping_model(self, road: str) -> SteppingModel:
        """The model, whose states between letters this road looks at."""
        model = self.oracle.model
        if not isinstance(model, SteppingModel):
            kind = model.describe().get("kind", type(model).__name__)
            raise ModelError(
                f"the road {road} looks at the hidden states of a network, and this model ({kind}) shows none; "
                f"choose {' or '.join(ANSWERS_ALONE)}, which need its answers alone"
            )
        return model


@dataclass(frozen=True)
class Surrogate:
    """Where a road ended. ``converged``: by its own rule; otherwise a bound came first. ``how`` tells it in words."""

    automaton: DFA
    converged: bool
    how: str


# Yields the surrogate so far between pieces of work. The budget ends a road from outside, by BudgetExceeded.
Road: TypeAlias = Generator[DFA, None, Surrogate]
