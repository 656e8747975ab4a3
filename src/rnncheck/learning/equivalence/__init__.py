"""Equivalence oracles by name: is the hypothesis right, and if not, a word on which it is wrong. One file a strategy.

Whatever looks for counterexamples first, what is claimed of a hypothesis rests on a sample at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal

import numpy as np

from rnncheck.errors import InputError, short_repr
from rnncheck.learning.equivalence.chosen_words import Comparing
from rnncheck.learning.equivalence.coverage import CoverageEquivalence
from rnncheck.learning.equivalence.kept_words import KeptWords
from rnncheck.learning.equivalence.oracle import EquivalenceOracle, InTurn
from rnncheck.learning.equivalence.w_method import WMethodEquivalence

EquivalenceName = Literal["sampling", "coverage", "w-method"]

_Make = Callable[[Comparing, np.random.Generator], list[EquivalenceOracle]]

# What goes before the sample.
EQUIVALENCES: Mapping[str, _Make] = MappingProxyType(
    {
        "sampling": lambda comparing, rng: [],
        "coverage": lambda comparing, rng: [CoverageEquivalence(comparing, rng)],
        "w-method": lambda comparing, rng: [WMethodEquivalence(comparing)],
    }
)


def make_equivalence(
    name: str, comparing: Comparing, kept: KeptWords, sample: EquivalenceOracle, rng: np.random.Generator
) -> EquivalenceOracle:
    """The equivalence oracle of that name: first the words that are kept, and a sample at the end."""
    if name not in EQUIVALENCES:
        raise InputError(f"unknown equivalence oracle {short_repr(name)}; known are {', '.join(EQUIVALENCES)}")
    return InTurn([kept, *EQUIVALENCES[name](comparing, rng), sample])
