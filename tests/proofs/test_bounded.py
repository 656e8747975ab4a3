"""Proofs up to a length: never beyond the shortest violation, and as far as there is none where noise dies out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnncheck.automata.dfa import DFA
from rnncheck.automata.language import least_word
from rnncheck.automata.minimisation import minimise
from rnncheck.models.engine.reference import reference_judgement
from rnncheck.models.network import Cell, RecurrentNetwork
from rnncheck.proofs.bounded import BoundedProof, prove_bounded
from rnncheck.proofs.proof_search import ProofSettings
from rnncheck.relations import Property, Relation
from rnncheck.runtime.cooperative import finish
from rnncheck.spec import Spec
from support.networks import random_network
from support.proofs import all_words, random_dfa, with_one_word_changed
from support.robust_networks import robust_network

GATED = [Cell.RNN_TANH, Cell.GRU, Cell.LSTM]


def proved_to(network: RecurrentNetwork, spec: DFA, relation: Relation, context: int, longest: int = 40) -> int:
    found = finish(prove_bounded(network, Property(spec, relation), context, ProofSettings(longest=longest)))
    assert isinstance(found, BoundedProof)
    return found.length


@pytest.mark.parametrize("cell", GATED)
@pytest.mark.parametrize("length", [1, 4, 12])
def test_a_planted_violation_ends_the_proof_before_its_length(cell: Cell, length: int) -> None:
    """All is right but for one word: shorter words are proved, and no length from it on is."""
    spec = minimise(random_dfa(3, 2, length))
    word = tuple(np.random.default_rng(length).integers(2, size=length).tolist())
    network = robust_network(with_one_word_changed(spec, word), cell)
    for context in (0, 2, 5):
        assert proved_to(network, spec, Relation.EQUAL, context) < length
    assert proved_to(network, spec, Relation.EQUAL, min(length, 8)) == length - 1 or length > 8
    side = Relation.SUPERSET if not spec.accepts(spec.alphabet.decode(word)) else Relation.SUBSET
    assert proved_to(network, with_one_word_changed(spec, word), side, 2) == 40


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    cell=st.sampled_from(list(Cell)),
    scale=st.sampled_from([0.5, 1.5, 4.0]),
    relation=st.sampled_from(list(Relation)),
    context=st.integers(0, 4),
)
def test_no_length_of_a_random_network_is_proved_beyond_a_violation(
    seed: int, cell: Cell, scale: float, relation: Relation, context: int
) -> None:
    network = random_network(cell, (3,), seed=seed, scale=scale if cell.kind.bounded else 0.4)
    spec = random_dfa(2, 3, seed)
    words = all_words(3, 4)
    answers = np.array([reference_judgement(network, word).accepted for word in words])
    broken = relation.broken(answers, spec.accepts_batch(words))
    lengths = [len(word) for word, wrong in zip(words, broken, strict=True) if wrong and word]
    shortest = min(lengths, default=5)
    assert proved_to(network, spec, relation, context, longest=5) < shortest or shortest == 5


def test_lengths_end_where_no_violation_can_follow() -> None:
    """Nothing but a word of two letters could be a violation."""
    spec = Spec.from_regex("!(a b)", ["a", "b"]).dfa
    assert least_word(Property(spec, Relation.SUBSET).possible_violations) == ("a", "b")
    network = robust_network(spec)
    assert proved_to(network, spec, Relation.SUBSET, 0, longest=1_000) == 1_000
    assert finish(prove_bounded(network, Property(spec, Relation.EQUAL), 3, ProofSettings(classes=4))) is None
