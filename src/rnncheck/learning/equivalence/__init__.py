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
from rnncheck.learning.equivalence.replayed_words import KeptWords
from rnncheck.learning.equivalence.test_suite import Comparing
from rnncheck.learning.equivalence.w_method import WMethodEquivalence

EquivalenceName = Literal["sampling", "mixed", "coverage", "w-method"]

_Make = Callable[[Comparing, np.random.Generator, EquivalenceOracle], list[EquivalenceOracle]]

# What is asked in turn, the sample included.
EQUIVALENCES: Mapping[str, _Make] = MappingProxyType(
    {
        "sampling": lambda comparing, rng, sample: [sample],
        "mixed": lambda comparing, rng, sample: [mixed(comparing, rng, sample)],
        "coverage": lambda comparing, rng, sample: [CoverageEquivalence(comparing, rng), sample],
        "w-method": lambda comparing, rng, sample: [WMethodEquivalence(comparing), sample],
    }
)


def make_equivalence(
    name: str, comparing: Comparing, kept: KeptWords, sample: EquivalenceOracle, rng: np.random.Generator
) -> EquivalenceOracle:
    """The equivalence oracle of that name: first the words that are kept; none passes without a sample."""
    if name not in EQUIVALENCES:
        raise InputError(f"unknown equivalence oracle {short_repr(name)}; known are {', '.join(EQUIVALENCES)}")
    return InTurn([kept, *EQUIVALENCES[name](comparing, rng, sample)])
