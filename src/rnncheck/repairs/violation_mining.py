"""Many violations at once: a search that collects violations instead of ending at the first one.

From one violation a network learns that one word; from a thousand, where it goes wrong. They cost a second of search,
which is little compared with the training.
"""

from __future__ import annotations

import numpy as np

from rnncheck.automata.dfa import Mask
from rnncheck.automata.language import all_words
from rnncheck.models.protocol import Model, Scores
from rnncheck.models.traces import trace_model
from rnncheck.oracle import MembershipOracle, Stepper
from rnncheck.relations import Property, Relation
from rnncheck.repairs.near_words import distinct
from rnncheck.repairs.requirements import Requirement
from rnncheck.runtime.budget import Budget
from rnncheck.search.guided import GuidedSearch
from rnncheck.search.prefix_tree import Frontier, PrefixTree
from rnncheck.words import Codes

_A_LENGTH = 50  # the most violations to keep of one beam, so that no length outweighs the others
_BEAMS = 24  # the most; if few words can be violations, steps alone would never end the search
_SHORTEST = 1 / 3  # the share of the shortest violations; the others are taken at random


def mine_violations(
    requirement: Requirement, model: Model, rng: np.random.Generator, *, steps: int, most: int, budget: Budget
) -> list[Codes]:
    """At most ``most`` violations, found by a guided search of ``steps`` network steps.

    None for a black-box model, for which every step would be a whole word.
    """
    judged, watched = model, requirement.as_property
    if requirement.about_labels:
        judged, watched = (
            trace_model(model, requirement.spec.dfa),
            Property(all_words(model.alphabet), Relation.SUPERSET),
        )
    oracle = MembershipOracle(judged, budget=budget)
    if not oracle.stepping:
        return []
    tree = _ViolationCollector(oracle.stepper, watched, rng)
    search = GuidedSearch(tree, rng)
    while oracle.cost.work < steps and search.beams <= _BEAMS and not search.finished:
        search.advance()
    words = sorted(distinct(tree.words), key=len)
    short = round(_SHORTEST * most)
    others = rng.permutation(len(words) - short)[: most - short].tolist() if len(words) > short else []
    return words[:short] + [words[short + place] for place in others]


class _ViolationCollector(PrefixTree):
    """A prefix tree that collects violations and does not end at them."""

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
