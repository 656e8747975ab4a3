"""Equivalence oracles by name: each looks for a word on which a hypothesis is wrong. One file per strategy.

Whatever strategy looks for counterexamples, a claim about a hypothesis rests on a random sample.
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

# The oracles to query in turn, the sample included.
EQUIVALENCES: Mapping[str, _Make] = MappingProxyType(
    {
        "sampling": lambda context, rng, sample: [sample],
        "mixed": lambda context, rng, sample: [mixed(context, rng, sample)],
        "coverage": lambda context, rng, sample: [CoverageEquivalence(context, rng), sample],
        "w-method": lambda context, rng, sample: [WMethodEquivalence(context), sample],
    }
)


def make_equivalence(
    name: str, context: EquivalenceContext, replayed: ReplayedWords, sample: EquivalenceOracle, rng: np.random.Generator
) -> EquivalenceOracle:
    """The equivalence oracle of that name. It starts with the replayed words; no hypothesis passes without a sample."""
    if name not in EQUIVALENCES:
        raise InputError(f"unknown equivalence oracle {short_repr(name)}; known are {', '.join(EQUIVALENCES)}")
    return InTurn([replayed, *EQUIVALENCES[name](context, rng, sample)])
