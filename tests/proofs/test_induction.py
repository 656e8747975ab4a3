"""k-induction proves what a box for each class of words cannot, and nothing that is not so."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

from rnncheck.automata.dfa import DFA
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.network import Cell, RecurrentNetwork
from rnncheck.proofs.abstract_network import AbstractNetwork
from rnncheck.proofs.induction import NO_PARENT, InductionLimits
from rnncheck.proofs.invariant import Progress, Stuck
from rnncheck.proofs.proof_search import Invariant, NotProved, ProofSettings, find_invariant, search_proof
from rnncheck.proofs.sensitivity import widths
from rnncheck.proofs.word_classes import NO_CLASS
from rnncheck.relations import Property, Relation
from rnncheck.spec import Spec
from support.networks import letters, random_network
from support.proofs import all_words, engine_step, points_in, random_dfa
from support.robust_networks import robust_network
from support.rotating_network import rotating_network

EVERY = DFA(letters(2), [[0, 0]], [True])
NONE = DFA(letters(2), [[0, 0]], [False])
ODD = DFA(letters(2), [[1, 1], [0, 0]], [False, True])  # words of odd length
RESPONSE = Spec.from_ltlf("G(a -> F b)", ["a", "b", "c"]).dfa


def found(
    network: RecurrentNetwork, spec: DFA, relation: Relation = Relation.EQUAL, **choices: int
) -> Invariant | NotProved:
    return find_invariant(network, Property(spec, relation), ProofSettings(**choices))


@pytest.mark.parametrize(("accepts", "labels"), [(True, 1), (False, 1), (True, 3)])
def test_errors_that_turn_are_followed_until_they_are_small(accepts: bool, labels: int) -> None:
    network, spec = rotating_network(accepts=accepts, labels=labels), EVERY if accepts else NONE
    assert isinstance(found(network, spec, context=2, induction_depth=0), NotProved)
    assert isinstance(found(network, spec, context=2, induction_depth=1, classes=1_000), NotProved)
    proof = found(network, spec)
    assert isinstance(proof, Invariant)
    assert len(proof.own_boxes) < len(proof.partition)
    words = all_words(2, 10)
    assert (CompiledNetwork(network).accepts_batch(words) == accepts).all()


def test_a_relation_needs_no_more_than_it_says() -> None:
    network = rotating_network()
    assert isinstance(found(network, ODD, Relation.SUPERSET), Invariant)
    assert isinstance(found(network, ODD, Relation.SUBSET, classes=1_000), NotProved)


@pytest.mark.parametrize("share", [0.2, 0.9, 0.999, 1.001])
def test_a_turning_network_is_proved_only_where_it_is_right(share: float) -> None:
    """Its answer changes a little below the largest value that words of 14 letters reach, or above it."""
    words = all_words(2, 14)
    largest = -CompiledNetwork(rotating_network(0.0)).scores_batch(words).min()
    network = rotating_network(share * largest)
    assert CompiledNetwork(network).accepts_batch(words).all() == (share > 1.0)
    if share < 1.0:
        assert isinstance(found(network, EVERY, classes=1_000), NotProved)


def test_the_word_at_an_obstacle_is_told() -> None:
    network = rotating_network(0.03)
    events = search_proof(network, Property(EVERY, Relation.EQUAL), ProofSettings(context=0, rounds=1))
    words = [network.alphabet.decode(event.word) for event in events if isinstance(event, Stuck)]
    model = CompiledNetwork(network)
    assert any(not model.accepts(word[:length]) for word in words for length in range(len(word) + 1))


@pytest.mark.parametrize("cell", list(Cell))
def test_whatever_is_proved_of_a_random_network_is_true(cell: Cell) -> None:
    """Small weights, so that some proofs close; a random automaton, or what the network says itself of short words."""
    proved = 0
    for seed in range(8):
        network = random_network(cell, (3,), alphabet=letters(2), seed=seed, scale=0.9, inputs=2)
        model, words = CompiledNetwork(network), all_words(2, 9)
        answers = model.accepts_batch(words)
        always = bool(answers[1])
        for spec in (random_dfa(3, 2, seed), DFA(letters(2), [[0, 0]], [always])):
            for relation in Relation:
                # No box for each class: the small ones alone.
                prop = Property(spec, relation)
                end = find_invariant(network, prop, ProofSettings(context=0, rounds=1, classes=300))
                if isinstance(end, Invariant):
                    proved += 1
                    ends = spec.end_states(words)
                    assert not prop.broken(answers, ends)[words.lengths > 0].any()
    assert proved > 2


@pytest.mark.parametrize("cell", [Cell.RNN_TANH, Cell.GRU, Cell.LSTM])
def test_states_in_the_boxes_follow_the_classes(cell: Cell) -> None:
    """From random states of every box along all words until they lead into boxes again."""
    network = robust_network(RESPONSE, cell, gain=3.0)
    proof = find_invariant(network, Property(RESPONSE, Relation.EQUAL), ProofSettings(context=0, rounds=1))
    assert isinstance(proof, Invariant)
    partition, boxes = proof.partition, proof.boxes
    classes = np.repeat(proof.own_boxes, 10)
    states = points_in(boxes[proof.own_boxes], np.random.default_rng(0), 10).reshape(len(classes), -1)
    while len(classes):
        onward = []
        for letter in range(len(network.alphabet)):
            goals = partition.successors[classes, letter]
            kept = goals != NO_CLASS
            after, scores = engine_step(network, states[kept], letter, np.float32)
            goals, began = goals[kept], classes[kept]
            assert ((boxes.lo[goals] <= after) & (after <= boxes.hi[goals])).all()
            assert (scores[partition.must_accept[goals]] > 0).all()
            assert (scores[partition.must_reject[goals]] <= 0).all()
            follows = proof.parents[goals] != NO_PARENT
            assert (proof.parents[goals] == began)[follows].all()
            onward.append((goals[follows], after[follows]))
        classes, states = (np.concatenate(parts) for parts in zip(*onward, strict=True))


def test_the_same_proof_every_time() -> None:
    one, other = (found(rotating_network(), EVERY) for _ in range(2))
    assert isinstance(one, Invariant)
    assert isinstance(other, Invariant)
    assert np.array_equal(one.boxes.lo, other.boxes.lo)
    assert np.array_equal(one.partition.successors, other.partition.successors)


def test_too_many_classes_end_it() -> None:
    end = found(rotating_network(), EVERY, context=0, classes=30)
    assert isinstance(end, NotProved)
    assert "small boxes that are followed for 4 letters" in end.why
    end = found(rotating_network(), EVERY, context=0, classes=8)
    assert isinstance(end, NotProved)
    assert "small boxes" not in end.why


def test_it_can_be_ended_and_tells_how_far_it_is() -> None:
    events = list(search_proof(rotating_network(), Property(EVERY, Relation.EQUAL), ProofSettings(context=0, rounds=1)))
    progress = [event for event in events if isinstance(event, Progress)]
    assert progress[-1].classes > progress[0].classes

    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        find_invariant(rotating_network(), Property(EVERY, Relation.EQUAL), between=stop)


def test_fewer_letters_are_followed_where_there_are_many() -> None:
    for count, k in ((3, 4), (5, 3), (20, 1)):
        network = AbstractNetwork(random_network(Cell.RNN_TANH, (3,), alphabet=letters(count)))
        following = InductionLimits.within(network, 4, 10_000)
        assert following is not None
        assert following.k == k
    assert InductionLimits.within(AbstractNetwork(random_network(Cell.LSTM, (100, 100))), 4, 10_000) is None


def test_boxes_are_wide_where_nothing_depends_on_it() -> None:
    """A unit that nobody reads may vary, one that the head reads may not."""
    network = rotating_network()
    layer = network.layers[0]
    wide = dataclasses.replace(
        network,
        layers=(
            dataclasses.replace(
                layer,
                input_weight=np.vstack([layer.input_weight, [[1e-3, 0.0]]]).astype(np.float32),
                recurrent_weight=np.block(
                    [[layer.recurrent_weight, np.full((2, 1), 1e-4)], [np.full((1, 2), 1e-3), 0.5]]
                ).astype(np.float32),
            ),
        ),
        head_weight=np.array([[-1.0, 0.0, 1e-5]], dtype=np.float32),
    )
    relative = widths(AbstractNetwork(wide), 4)
    assert relative[2] > 5 * max(relative[:2])
    dead = dataclasses.replace(wide, head_weight=np.zeros((1, 3), dtype=np.float32))
    assert (widths(AbstractNetwork(dead), 4) == 1.0).all()


@pytest.mark.parametrize("relation", list(Relation))
def test_words_that_do_not_count_need_no_box(relation: Relation) -> None:
    """Wrong on odd words alone, which are ignored."""
    network = rotating_network()
    prop = Property(ODD, relation, counts=np.array([False, True]))
    assert isinstance(find_invariant(network, prop), Invariant)
    assert all(CompiledNetwork(network).accepts(word) for word in itertools.product("ab", repeat=3))
