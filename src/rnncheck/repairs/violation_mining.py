"""Violations in numbers: the search that would end at the first one goes on, and gathers what it comes to.

One violation teaches a network that one word; a thousand of them, where it has lost its way. They cost a second of
search, which is little beside the training.
"""

from __future__ import annotations

import numpy as np

from rnncheck.automata.dfa import Mask
from rnncheck.automata.language import all_words
from rnncheck.models.protocol import Model, Scores
from rnncheck.models.traces import as_judged
from rnncheck.oracle import MembershipOracle, Stepper
from rnncheck.relations import Property, Relation
from rnncheck.repairs.near_words import distinct
from rnncheck.repairs.requirements import Requirement
from rnncheck.runtime.budget import Budget
from rnncheck.search.guided import GuidedSearch
from rnncheck.search.prefix_tree import Frontier, PrefixTree
from rnncheck.words import Codes

_A_LENGTH = 50  # violations that are kept of what a beam shows at once, so that none drowns the others
_BEAMS = 24  # at most: where few words can be violations, steps alone would never end the search
_SHORTEST = 1 / 3  # of those that are taken; the others are taken at random


def mined(
    requirement: Requirement, model: Model, rng: np.random.Generator, *, steps: int, most: int, budget: Budget
) -> list[Codes]:
    """At most so many violations that a guided search of so many network steps comes to.

    Of a model that shows no states there are none: every step would be a whole word.
    """
    judged, wanted = model, requirement.wanted
    if requirement.about_labels:
        judged, wanted = as_judged(model, requirement.spec.dfa), Property(all_words(model.alphabet), Relation.SUPERSET)
    oracle = MembershipOracle(judged, budget=budget)
    if not oracle.stepping:
        return []
    tree = _Gathering(oracle.stepper, wanted, rng)
    search = GuidedSearch(tree, rng)
    while oracle.cost.work < steps and search.beams <= _BEAMS and not search.finished:
        search.advance()
    words = sorted(distinct(tree.words), key=len)
    short = round(_SHORTEST * most)
    others = rng.permutation(len(words) - short)[: most - short].tolist() if len(words) > short else []
    return words[:short] + [words[short + place] for place in others]


class _Gathering(PrefixTree):
    """The prefix tree, where violations are kept and end nothing."""

    def __init__(self, stepper: Stepper, watched: Property, rng: np.random.Generator) -> None:
        super().__init__(stepper, watched)
        self._rng = rng
        self.words: list[Codes] = []

    def empty_word_violates(self) -> bool:
        return False

    def broken(self, frontier: Frontier, scores: Scores) -> Mask:
        found = super().broken(frontier, scores)
        rows = self._rng.permutation(np.flatnonzero(found))[:_A_LENGTH]
        self.words += [frontier.word(row) for row in rows.tolist()]
        return np.zeros_like(found)
