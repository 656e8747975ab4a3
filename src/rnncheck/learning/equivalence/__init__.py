"""Equivalence oracles by name: is the hypothesis right, and if not, a word on which it is wrong. One file a strategy.

Whatever else looks for counterexamples, what is claimed of a hypothesis rests on a sample.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal

import numpy as np

from rnncheck.errors import InputError, short_repr
from rnncheck.learning.equivalence.coverage import CoverageEquivalence
from rnncheck.learning.equivalence.mixed import mixed
from rnncheck.learning.equivalence.oracle import EquivalenceOracle, InTurn
from rnncheck.learning.equivalence.replayed_words import ReplayedWords
from rnncheck.learning.equivalence.test_suite import EquivalenceContext
from rnncheck.learning.equivalence.w_method import WMethodEquivalence

EquivalenceName = Literal["sampling", "mixed", "coverage", "w-method"]

_Make = Callable[[EquivalenceContext, np.random.Generator, EquivalenceOracle], list[EquivalenceOracle]]

# What is asked in turn, the sample included.
EQUIVALENCES: Mapping[str, _Make] = MappingProxyType(
    {
        "sampling": lambda context, rng, sample: [sample],
        "mixed": lambda context, rng, sample: [mixed(context, rng, sample)],
        "coverage": lambda context, rng, sample: [CoverageEquivalence(context, rng), sample],
        "w-method": lambda context, rng, sample: [WMethodEquivalence(context), sample],
    }
)


def make_equivalence(
    name: str, context: EquivalenceContext, kept: ReplayedWords, sample: EquivalenceOracle, rng: np.random.Generator
) -> EquivalenceOracle:
    """The equivalence oracle of that name: first the words that are kept; none passes without a sample."""
    if name not in EQUIVALENCES:
        raise InputError(f"unknown equivalence oracle {short_repr(name)}; known are {', '.join(EQUIVALENCES)}")
    return InTurn([kept, *EQUIVALENCES[name](context, rng, sample)])
