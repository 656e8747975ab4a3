"""The picture of the boxes: states in a box lie in its rectangle, and the decision is where it is drawn."""

from __future__ import annotations

import numpy as np
import pytest

from rnncheck.models.network import Cell
from rnncheck.proofs.invariant import AtDecision
from rnncheck.proofs.partial_invariant import PartialInvariant, find_partial_invariant
from rnncheck.proofs.projection import project_boxes
from rnncheck.proofs.proof_search import Invariant, ProofSettings, find_invariant
from rnncheck.relations import Property, Relation
from rnncheck.runtime.cooperative import finish
from rnncheck.spec import Spec
from support.networks import random_network
from support.proofs import engine_step, points_in, random_dfa
from support.robust_networks import robust_network

RESPONSE = Spec.from_ltlf("G(a -> F b)", ["a", "b", "c"]).dfa


@pytest.mark.parametrize("labels", [1, 3])
def test_scores_of_states_after_a_letter_lie_in_the_rectangle(labels: int) -> None:
    network = robust_network(RESPONSE, Cell.GRU, labels=labels, gain=3.0)
    found = find_invariant(network, Property(RESPONSE, Relation.EQUAL))
    assert isinstance(found, Invariant)
    shown = project_boxes(network, found)
    assert len(shown) == len(found.partition)
    assert not any(each.open for each in shown)
    states = points_in(found.boxes, np.random.default_rng(0), 20).reshape(-1, found.boxes.lo.shape[1])
    for letter in range(3):
        goals = np.repeat(found.partition.successors[:, letter], 20)
        _, scores = engine_step(network, states, letter, np.float64)
        for goal, score in zip(goals.tolist(), scores.tolist(), strict=True):
            assert shown[goal].score[0] - 1e-6 <= score <= shown[goal].score[1] + 1e-6
    assert all(each.across[0] <= each.across[1] for each in shown)


def test_open_boxes_are_marked_and_those_left_are_not_shown() -> None:
    network, prop = (
        random_network(Cell.RNN_TANH, (4,), seed=1, scale=2.0),
        Property(random_dfa(2, 3, 1), Relation.EQUAL),
    )
    for mode in (AtDecision.LEAVE, AtDecision.CONTINUE):
        cells = finish(find_partial_invariant(network, prop, 1, mode, True, ProofSettings(rounds=60)))
        assert isinstance(cells, PartialInvariant)
        shown = project_boxes(network, cells)
        assert len(shown) == int((~cells.left).sum())
        assert sum(each.open for each in shown) == int(cells.undecided.sum())
