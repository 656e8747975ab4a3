"""The automata of the cells: brute force finds no word on the wrong side, whatever the network."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnncheck import zoo
from rnncheck.automata.dfa import DFA
from rnncheck.automata.minimisation import minimise
from rnncheck.automata.product import difference_witness, symmetric_difference
from rnncheck.models.engine.reference import reference_judgement
from rnncheck.models.network import Cell, RecurrentNetwork
from rnncheck.probability.distributions import WordDistribution
from rnncheck.proofs.abstract_network import AbstractNetwork
from rnncheck.proofs.invariant import AtDecision, leaking_classes
from rnncheck.proofs.partial_invariant import (
    PartialInvariant,
    best_partial_invariant,
    find_partial_invariant,
    probability_bound,
)
from rnncheck.proofs.proof_search import ProofSettings
from rnncheck.relations import Property, Relation
from rnncheck.runtime.cooperative import finish
from support.networks import random_network
from support.proofs import all_words, random_dfa, with_one_word_changed
from support.robust_networks import robust_network

MODES = [AtDecision.LEAVE, AtDecision.CONTINUE]
GATED = [Cell.RNN_TANH, Cell.GRU, Cell.LSTM]


def cells_of(
    network: RecurrentNetwork, prop: Property, context: int, mode: AtDecision, rounds: int = 60
) -> PartialInvariant:
    empty = reference_judgement(network, ()).accepted
    found = finish(
        find_partial_invariant(network, prop, context, mode, empty, ProofSettings(classes=2_000, rounds=rounds))
    )
    assert found is not None
    return found


def check_by_brute_force(cells: PartialInvariant, network: RecurrentNetwork, longest: int) -> None:
    """Should hold of every short word what the automata say of all words."""
    words = all_words(len(network.alphabet), longest)
    answers = np.array([reference_judgement(network, word).accepted for word in words])
    over, under = cells.over_approximation().accepts_batch(words), cells.under_approximation().accepts_batch(words)
    assert (answers <= over).all()
    assert (under <= answers).all()
    assert ((over != under) == cells.open_words().accepts_batch(words)).all()
    prop = cells.prop
    broken = prop.broken(answers, prop.spec.end_states(words))
    assert (broken <= cells.unproved().accepts_batch(words)).all()
    suspect = prop.violations(cells.surrogate()).accepts_batch(words)
    assert (broken <= suspect).all()
    assert (suspect == cells.unproved().accepts_batch(words)).all()


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    cell=st.sampled_from(list(Cell)),
    scale=st.sampled_from([0.4, 1.0, 2.5, 8.0]),
    states=st.integers(1, 4),
    relation=st.sampled_from(list(Relation)),
    context=st.integers(0, 3),
    mode=st.sampled_from(MODES),
)
def test_no_word_of_a_random_network_is_on_the_wrong_side(
    seed: int, cell: Cell, scale: float, states: int, relation: Relation, context: int, mode: AtDecision
) -> None:
    network = random_network(cell, (3,), seed=seed, scale=scale if cell.kind.bounded else 0.4)
    prop = Property(random_dfa(states, 3, seed), relation)
    check_by_brute_force(cells_of(network, prop, context, mode), network, 4)


@pytest.mark.parametrize("name", [name for name in zoo.names() if name != "xml-lstm"])
@pytest.mark.parametrize("mode", MODES)
def test_no_word_of_a_trained_network_is_on_the_wrong_side(name: str, mode: AtDecision) -> None:
    entry = zoo.entry(name)
    network = entry.network()
    spec = entry.spec().over(network.alphabet).dfa
    other = random_dfa(3, len(spec.alphabet), 0)
    wrong = DFA(spec.alphabet, other.transitions, other.accepting)
    for guide, relation in ((spec, Relation.SUBSET), (wrong, Relation.EQUAL)):
        cells = cells_of(network, Property(guide, relation), 2, mode, rounds=30)
        check_by_brute_force(cells, network, 7 if len(network.alphabet) == 2 else 4)


@pytest.mark.parametrize("cell", GATED)
@pytest.mark.parametrize("mode", MODES)
def test_the_cells_of_a_robust_network_are_its_language(cell: Cell, mode: AtDecision) -> None:
    """Should be exact where noise dies out, though the guide knows another language."""
    for seed in range(3):
        truth = minimise(random_dfa(4, 2, seed))
        network = robust_network(truth, cell)
        cells = cells_of(network, Property(truth, Relation.EQUAL), 1, mode)
        assert cells.proved
        assert difference_witness(cells.over_approximation(), truth) is None
        assert difference_witness(cells.under_approximation(), truth) is None
        assert probability_bound(WordDistribution(truth.alphabet), cells.open_words()) == 0.0
        flipped = DFA(truth.alphabet, truth.transitions, ~truth.accepting, truth.initial)
        other = cells_of(network, Property(flipped, Relation.EQUAL), 1, AtDecision.CONTINUE)
        assert not other.proved
        assert difference_witness(other.over_approximation(), truth) is None
        with pytest.raises(ValueError, match="no proof"):
            other.invariant()


@pytest.mark.parametrize("cell", GATED)
@pytest.mark.parametrize("seed", range(2))
def test_the_bound_is_above_the_exact_mass_of_planted_violations(cell: Cell, seed: int) -> None:
    """One word is answered wrongly: its probability is known, and no bound is below it."""
    spec = minimise(random_dfa(3, 2, seed))
    word = tuple(np.random.default_rng(seed).integers(2, size=5).tolist())
    changed = with_one_word_changed(spec, word)
    network = robust_network(changed, cell)
    for stop in (0.01, 0.3):
        words = WordDistribution(spec.alphabet, stop=stop)
        exact = words.mass(symmetric_difference(changed, spec))
        assert exact == pytest.approx(words.probability(word))
        bounds = []
        for context in (1, 6):
            for mode in MODES:
                cells = cells_of(network, Property(spec, Relation.EQUAL), context, mode)
                bounds.append(probability_bound(words, cells.unproved()))
                assert bounds[-1] >= exact
                assert not cells.proved
        assert min(bounds) < 0.3  # and they say something


def test_what_is_left_is_not_entered_and_what_is_not_is_closed() -> None:
    network = random_network(Cell.RNN_TANH, (4,), seed=3, scale=3.0)
    prop = Property(random_dfa(2, 3, 1), Relation.EQUAL)
    for mode in MODES:
        for rounds in (1, 2, 60):
            cells = cells_of(network, prop, 2, mode, rounds=rounds)
            assert not len(leaking_classes(AbstractNetwork(network), cells.partition, cells.boxes, cells.left))
            assert not cells.left[0]
            assert (cells.partition.successors[cells.left] == -1).all()
            assert not (cells.accepts & cells.rejects).any()
            check_by_brute_force(cells, network, 4)


def test_the_better_of_both_ways_is_taken() -> None:
    network = zoo.entry("even-elman").network()
    prop = Property(zoo.entry("even-elman").spec().over(network.alphabet).dfa, Relation.SUBSET)
    words = WordDistribution(network.alphabet, stop=0.3)

    def weight(cells: PartialInvariant) -> float:
        return probability_bound(words, cells.unproved())

    best = finish(best_partial_invariant(network, prop, 3, True, ProofSettings(), weight))
    assert best is not None
    assert weight(best) == min(weight(cells_of(network, prop, 3, mode)) for mode in MODES)
    assert finish(best_partial_invariant(network, prop, 3, True, ProofSettings(classes=3), weight)) is None
