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
from rnncheck.learning.equivalence.oracle import EquivalenceOracle, InTurn
from rnncheck.learning.equivalence.w_method import WMethodEquivalence
from rnncheck.oracle import MembershipOracle
from rnncheck.relations import Property, Relation

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
    name: str,
    sample: EquivalenceOracle,
    oracle: MembershipOracle,
    relation: Relation,
    rng: np.random.Generator,
    watched: Property | None = None,
    max_length: int | None = None,
) -> EquivalenceOracle:
    """The equivalence oracle of that name, with ``sample`` at its end."""
    if name not in EQUIVALENCES:
        raise InputError(f"unknown equivalence oracle {short_repr(name)}; known are {', '.join(EQUIVALENCES)}")
    before = EQUIVALENCES[name](Comparing(oracle, relation, watched, max_length), rng)
    return InTurn([*before, sample]) if before else sample
