"""An adversary tries what boxes claim: planted violations, edited weights, any network. None may slip through."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from rnncheck import zoo
from rnncheck.automata.dfa import DFA
from rnncheck.automata.minimisation import minimise
from rnncheck.automata.product import difference, inclusion_witness, symmetric_difference
from rnncheck.models.engine.reference import reference_judgement
from rnncheck.models.network import Cell, RecurrentNetwork
from rnncheck.probability.distributions import WordDistribution
from rnncheck.proofs.bounded import BoundedProof, prove_bounded
from rnncheck.proofs.invariant import AtDecision
from rnncheck.proofs.partial_invariant import PartialInvariant, find_partial_invariant, probability_bound
from rnncheck.proofs.proof_search import ProofSettings
from rnncheck.relations import Property, Relation
from rnncheck.runtime.cooperative import finish
from support.networks import random_network
from support.proofs import all_words, random_dfa, with_one_word_changed
from support.robust_networks import robust_network

pytestmark = pytest.mark.slow

GATED = [Cell.RNN_TANH, Cell.GRU, Cell.LSTM]
SETTINGS = ProofSettings(classes=600, rounds=60, longest=40)


def cells_of(network: RecurrentNetwork, prop: Property, context: int) -> list[PartialInvariant]:
    empty = reference_judgement(network, ()).accepted
    found = [finish(find_partial_invariant(network, prop, context, mode, empty, SETTINGS))
             for mode in (AtDecision.LEAVE, AtDecision.CONTINUE)]  # fmt: skip
    return [cells for cells in found if cells is not None]


def length_of(network: RecurrentNetwork, prop: Property, context: int) -> int:
    found = finish(prove_bounded(network, prop, context, SETTINGS))
    return found.length if isinstance(found, BoundedProof) else 0


@pytest.mark.parametrize("cell", GATED)
@pytest.mark.parametrize("seed", range(40))
def test_a_planted_word_is_in_no_proved_part(cell: Cell, seed: int) -> None:
    """Built exactly: the language of the network is known, so every claim is compared with all words, not with some."""
    rng = np.random.default_rng(seed)
    spec = minimise(random_dfa(int(rng.integers(1, 4)), 2, seed))
    word = tuple(rng.integers(2, size=int(rng.integers(2, 10))).tolist())
    truth = with_one_word_changed(spec, word)
    network = robust_network(truth, cell, gain=float(rng.choice([3.0, 6.0])))
    words = WordDistribution(spec.alphabet, stop=float(rng.choice([0.01, 0.3])))
    for relation in Relation:
        prop, context = Property(spec, relation), int(rng.integers(5))
        wrong = relation.violations(truth, spec)
        for cells in cells_of(network, prop, context):
            assert inclusion_witness(truth, cells.over_approximation()) is None
            assert inclusion_witness(cells.under_approximation(), truth) is None
            assert inclusion_witness(wrong, cells.unproved()) is None
            assert probability_bound(words, cells.unproved()) >= words.mass(wrong)
        if words.mass(wrong):
            assert length_of(network, prop, context) < len(word)


def edited(network: RecurrentNetwork, rng: np.random.Generator) -> RecurrentNetwork:
    """One weight, one bias or the head is changed, by little or much."""
    layers = list(network.layers)
    at = int(rng.integers(len(layers)))
    name = str(rng.choice(["input_weight", "recurrent_weight", "head_weight"]))
    values = np.array(network.head_weight if name == "head_weight" else getattr(layers[at], name))
    place = tuple(int(rng.integers(size)) for size in values.shape)
    values[place] += np.float32(rng.choice([-1, 1]) * 10.0 ** rng.uniform(-3, 1.5))
    if name == "head_weight":
        return dataclasses.replace(network, head_weight=values)
    layers[at] = dataclasses.replace(layers[at], **{name: values})
    return dataclasses.replace(network, layers=tuple(layers))


def check_short_words(network: RecurrentNetwork, spec: DFA, context: int, longest: int) -> None:
    words = all_words(len(spec.alphabet), longest)
    answers = np.array([reference_judgement(network, word).accepted for word in words])
    for relation in Relation:
        prop = Property(spec, relation)
        broken = prop.broken(answers, spec.end_states(words))
        for cells in cells_of(network, prop, context):
            assert (answers <= cells.over_approximation().accepts_batch(words)).all()
            assert (cells.under_approximation().accepts_batch(words) <= answers).all()
            assert (broken <= cells.unproved().accepts_batch(words)).all()
        shortest = min((len(word) for word, wrong in zip(words, broken, strict=True) if wrong and word), default=None)
        assert shortest is None or length_of(network, prop, context) < shortest


@pytest.mark.parametrize("name", [name for name in zoo.names() if name != "xml-lstm"])
@pytest.mark.parametrize("seed", range(12))
def test_trained_networks_with_edited_weights(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = edited(zoo.entry(name).network(), rng)
    spec = zoo.entry(name).spec().over(network.alphabet).dfa
    check_short_words(network, spec, int(rng.integers(4)), 8 if len(spec.alphabet) == 2 else 5)


@pytest.mark.parametrize("cell", list(Cell))
@pytest.mark.parametrize("seed", range(30))
def test_random_networks_and_specifications(cell: Cell, seed: int) -> None:
    rng = np.random.default_rng(seed)
    scale = float(rng.choice([0.3, 1.0, 3.0, 9.0])) if cell.kind.bounded else 0.4
    network = random_network(cell, (4,) if seed % 2 else (3, 3), seed=seed, scale=scale)
    check_short_words(network, random_dfa(int(rng.integers(1, 5)), 3, seed), int(rng.integers(4)), 5)


def test_what_is_known_of_the_planted_words_is_not_vacuous() -> None:
    """Where contexts are long enough, hardly more than the wrong word is left unproved."""
    spec = minimise(random_dfa(2, 2, 1))
    truth = with_one_word_changed(spec, (0, 1, 1))
    words = WordDistribution(spec.alphabet, stop=0.3)
    wrong = words.mass(symmetric_difference(truth, spec))
    bounds = [probability_bound(words, cells.unproved())
              for cells in cells_of(robust_network(truth), Property(spec, Relation.EQUAL), 4)]  # fmt: skip
    assert wrong <= min(bounds) <= wrong * 1.000001
    assert words.mass(difference(truth, truth)) == 0.0
