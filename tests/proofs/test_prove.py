"""A proof is found where noise dies out, means what it says, and is never found where a word is a violation."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np
import pytest

from rnncheck.automata.dfa import DFA
from rnncheck.automata.minimisation import minimise
from rnncheck.errors import InputError
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.engine.reference import reference_judgement
from rnncheck.models.exact_network import exact_network
from rnncheck.models.network import Cell, Layer, RecurrentNetwork
from rnncheck.proofs.abstract_network import AbstractNetwork
from rnncheck.proofs.domains.interval import Interval
from rnncheck.proofs.invariant import is_invariant
from rnncheck.proofs.proof_search import Invariant, NotProved, ProofSettings, find_invariant
from rnncheck.proofs.word_classes import NO_CLASS, partition_by_last_letters
from rnncheck.relations import Property, Relation
from rnncheck.spec import Spec
from rnncheck.words import WordBatch
from support.networks import ByTorch, letters, random_network
from support.pairs import each_with_one
from support.proofs import all_words, engine_step, points_in, random_dfa, torch_step, with_one_word_changed
from support.robust_networks import robust_network

GATED = [Cell.RNN_TANH, Cell.GRU, Cell.LSTM]
RESPONSE = Spec.from_ltlf("G(a -> F b)", ["a", "b", "c"]).dfa


def proved(network: RecurrentNetwork, spec: DFA, relation: Relation = Relation.EQUAL, **settings: int) -> bool:
    return isinstance(find_invariant(network, Property(spec, relation), ProofSettings(**settings)), Invariant)


@pytest.mark.parametrize("cell", GATED)
@pytest.mark.parametrize(("layers", "labels"), [(1, 1), (2, 1), (1, 3)])
@pytest.mark.parametrize("relation", list(Relation))
def test_a_robust_network_is_proved_and_the_claim_is_true(
    cell: Cell, layers: int, labels: int, relation: Relation
) -> None:
    for spec in (RESPONSE, minimise(random_dfa(4, 2, 3))):
        network = robust_network(spec, cell, layers=layers, labels=labels)
        assert proved(network, spec, relation)
        words = all_words(len(spec.alphabet), 7)
        assert (CompiledNetwork(network).accepts_batch(words) == spec.accepts_batch(words)).all()


@pytest.mark.parametrize("cell", GATED)
@pytest.mark.parametrize("layers", [1, 2])
def test_states_inside_boxes_stay_inside(cell: Cell, layers: int) -> None:
    """Random states and corners, stepped by the engine in both precisions and by PyTorch."""
    network = robust_network(RESPONSE, cell, layers=layers, gain=3.0)
    found = find_invariant(network, Property(RESPONSE, Relation.EQUAL))
    assert isinstance(found, Invariant)
    rng = np.random.default_rng(0)
    boxes = found.boxes
    points = points_in(boxes, rng, 100)
    for letter, name in enumerate(RESPONSE.alphabet):
        goals = np.repeat(found.partition.successors[:, letter], 100)
        states = points.reshape(-1, boxes.lo.shape[1])
        low, high = boxes.lo[goals], boxes.hi[goals]
        answers = RESPONSE.accepting[found.partition.spec_states[goals]]
        for dtype in (np.float32, np.float64):
            after, scores = engine_step(network, states, letter, dtype)
            assert ((low <= after) & (after <= high)).all(), name
            assert ((scores > 0) == answers).all()
        after = torch_step(ByTorch(network), states, letter)
        assert ((low <= after) & (after <= high)).all(), name


@pytest.mark.parametrize(("seed", "cell"), each_with_one(range(8), GATED))
def test_a_network_with_one_wrong_word_is_never_proved(cell: Cell, seed: int) -> None:
    """One word of 9 letters is a violation; sampling would not meet it, and everything else is right."""
    spec = minimise(random_dfa(3, 2, seed))
    word = tuple(np.random.default_rng(seed).integers(2, size=9).tolist())
    network = robust_network(with_one_word_changed(spec, word), cell)
    accepts = bool(spec.accepts_batch(WordBatch.from_codes([word]))[0])
    assert reference_judgement(network, word).accepted != accepts
    assert not proved(network, spec, context=10)
    assert not proved(network, spec, Relation.SUPERSET if accepts else Relation.SUBSET, context=10)
    # The other inclusion holds, and so does the truth of the network itself.
    assert proved(network, with_one_word_changed(spec, word), context=3)


@pytest.mark.parametrize("cell", GATED)
def test_a_way_to_the_wrong_word_is_shown(cell: Cell) -> None:
    """Where the partition tells the words apart, the word of the obstacle is the violation."""
    spec = Spec.from_regex("(a|b)*", ["a", "b"]).dfa
    word = (0, 1, 1, 0)
    found = find_invariant(
        robust_network(with_one_word_changed(spec, word), cell), Property(spec, Relation.SUPERSET), ProofSettings()
    )
    assert isinstance(found, NotProved)
    assert word in [obstacle.stuck.word for obstacle in found.obstacles]


# Of these networks, thousands of boxes are followed by an induction that does not close in the end.
MANY_BOXES = (7, 23, 35)


@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param([seed for seed in range(36) if seed not in MANY_BOXES], id="few boxes"),
        pytest.param(MANY_BOXES, id="many boxes", marks=pytest.mark.slow),
    ],
)
def test_random_networks_are_proved_only_of_what_is_true(seeds: Sequence[int]) -> None:
    """Whatever boxes say of networks nobody trained, all words up to a length agree with."""
    closed = 0
    for seed in seeds:
        cell = list(Cell)[seed % 4]
        network = random_network(cell, (3,), seed=seed, scale=[0.5, 1.5, 4.0][seed % 3], threshold=0.5)
        model = CompiledNetwork(network)
        words = all_words(3, 6)
        answers = model.accepts_batch(words)
        for spec in (random_dfa(1, 3, seed), random_dfa(2, 3, seed)):
            for relation in Relation:
                if proved(network, spec, relation, context=2, rounds=200):
                    closed += 1
                    first = 1  # the empty word is judged by itself
                    broken = relation.broken(answers, spec.accepts_batch(words))
                    assert not broken[first:].any()
    assert closed >= len(seeds)


def test_a_relu_network_that_contracts_is_proved_and_one_that_grows_is_not() -> None:
    spec = Spec.from_regex("(a|b)* a", ["a", "b"]).dfa
    eye = np.eye(2, dtype=np.float32)

    def network(recurrent: float) -> RecurrentNetwork:
        return RecurrentNetwork(
            spec.alphabet,
            Cell.RNN_RELU,
            eye,
            (Layer(eye, recurrent * eye),),
            np.array([[1.0, -1.0]], dtype=np.float32),
            np.zeros(1, dtype=np.float32),
        )

    assert proved(network(0.2), spec)
    for growing in (1.0, 1.5, 1e30, 3e38):
        assert not proved(network(growing), spec)
    assert not proved(exact_network(RESPONSE), RESPONSE)  # its rounding errors add up, for ever


@pytest.mark.parametrize("scale", [1e10, 1e25, 3e38])
def test_values_that_overflow_are_never_proved(scale: float) -> None:
    """Saturated by huge weights the network is right as long as nothing overflows; in float32 it may."""
    network = robust_network(RESPONSE)
    layer = network.layers[0]
    big = {name: (getattr(layer, name) * np.float32(scale / 1e3)) for name in ("input_weight", "recurrent_weight")}
    with np.errstate(over="ignore"):
        network = dataclasses.replace(network, layers=(dataclasses.replace(layer, **big),))
    if scale > 1e30:
        assert not proved(network, RESPONSE)


@pytest.mark.parametrize("threshold", [1e-9, 1e-3, 0.3, 0.5, 0.9, 1 - 1e-6, 1 - 1e-7])
@pytest.mark.parametrize("offset", [-1.0, -1e-4, -1e-7, 0.0, 1e-7, 1e-4, 1.0])
def test_at_the_threshold_whoever_compares_agrees_or_nothing_is_proved(threshold: float, offset: float) -> None:
    """A network that always puts out the same: proved to accept or reject only where every evaluator does."""
    zero = np.zeros((1, 1), dtype=np.float32)
    cut = np.log(threshold) - np.log1p(-threshold)
    network = RecurrentNetwork(
        RESPONSE.alphabet, Cell.RNN_TANH, np.zeros((3, 1), dtype=np.float32), (Layer(zero, zero),), zero,
        np.array([cut + offset], dtype=np.float32), threshold=threshold,
    )  # fmt: skip
    everything, nothing = (Spec.from_regex(text, RESPONSE.alphabet).dfa for text in ("(a|b|c)*", "∅"))
    accepts, rejects = proved(network, everything), proved(network, nothing)
    assert not (accepts and rejects)
    wide = dataclasses.replace(network, head_bias=network.head_bias.astype(np.float64))
    for each in (network, wide):
        answer = reference_judgement(each, (0,)).accepted
        assert not (rejects if answer else accepts)
    if abs(offset) == 1.0 and 1e-4 < threshold < 0.9999:
        assert accepts or rejects


def test_empty_and_full_languages_and_letters_nobody_mentions() -> None:
    for text in ("(a|b|c)*", "∅", "a*", "c"):
        spec = Spec.from_regex(text, ["a", "b", "c"]).dfa
        for relation in Relation:
            assert proved(robust_network(spec), spec, relation), (text, relation)


def test_boxes_that_are_made_smaller_are_no_proof() -> None:
    network = robust_network(RESPONSE, gain=3.0)
    found = find_invariant(network, Property(RESPONSE, Relation.EQUAL))
    assert isinstance(found, Invariant)
    abstract, partition = AbstractNetwork(network), found.partition
    assert is_invariant(abstract, partition, found.boxes)
    for number in range(1, len(partition)):
        for end in ("lo", "hi"):
            bounds = {"lo": found.boxes.lo.copy(), "hi": found.boxes.hi.copy()}
            bounds[end][number] = (found.boxes.lo[number] + found.boxes.hi[number]) / 2
            assert not is_invariant(abstract, partition, Interval(**bounds))
    moved = Interval(found.boxes.lo.copy(), found.boxes.hi.copy())
    moved.lo[0] -= 1.0
    assert not is_invariant(abstract, partition, moved)


@pytest.mark.parametrize("k", range(4))
@pytest.mark.parametrize("relation", list(Relation))
def test_a_partition_follows_the_specification(k: int, relation: Relation) -> None:
    spec = minimise(random_dfa(5, 2, 2))
    partition = partition_by_last_letters(Property(spec, relation), k, 10_000)
    assert partition is not None
    can_follow = Property(spec, relation).open_states
    seen = {0}
    for word in all_words(2, 6):
        at, state = 0, spec.initial
        for letter in word:
            state = int(spec.transitions[state, letter])
            at = int(partition.successors[at, letter])
            if at == NO_CLASS:
                assert not can_follow[state]
                break
            assert partition.spec_states[at] == state
        if at > 0:
            assert partition.contexts[at] == word[len(word) - k :] if len(word) >= k else word
            assert partition.must_accept[at] == (relation is not Relation.SUBSET and spec.accepting[state])
            assert partition.must_reject[at] == (relation is not Relation.SUPERSET and not spec.accepting[state])
            seen.add(at)
    assert seen == set(range(len(partition)))
    assert not (partition.successors == 0).any()
    assert partition_by_last_letters(Property(spec, relation), k, len(partition) - 1) is None


def overflowing_gru(bias: float = 1e40) -> RecurrentNetwork:
    """Its reset gate is shut, and multiplies a number that float32 cannot hold: zero times infinity."""
    layer = Layer(np.zeros((3, 1)), np.zeros((3, 1)), np.array([-200.0, -40.0, 0.0]), np.array([0.0, 0.0, bias]))
    return RecurrentNetwork(letters(1), Cell.GRU, np.ones((1, 1)), (layer,), np.array([[0.1]]), np.array([1.0]))


@pytest.mark.parametrize("ahead", [0, 4])
def test_a_sum_that_overflows_before_a_shut_gate_is_never_proved(ahead: int) -> None:
    every = DFA(letters(1), [[0]], [True])
    assert proved(overflowing_gru(1e4), every, context=1, induction_depth=ahead)
    assert not proved(overflowing_gru(), every, context=1, induction_depth=ahead)
    before = find_invariant(overflowing_gru(1e4), Property(every, Relation.EQUAL))
    assert isinstance(before, Invariant)
    assert not is_invariant(AbstractNetwork(overflowing_gru()), before.partition, before.boxes)


def test_outputs_that_float32_cannot_hold_are_never_compared() -> None:
    """Two outputs of the same weights: their difference is small, and each by itself is infinite."""
    network = random_network(Cell.RNN_TANH, (2,), outputs=2, alphabet=letters(1), dtype=np.float64)
    every = DFA(letters(1), [[0]], [True])
    small, large = (
        dataclasses.replace(network, head_weight=np.full((2, 2), size), head_bias=np.array([0.0, 1.0]))
        for size in (1.0, 1e39)
    )
    assert proved(small, every, context=1)
    assert not proved(large, every, context=1)


def test_limits_end_the_search_and_say_so() -> None:
    network, spec = exact_network(RESPONSE), RESPONSE
    prop = Property(spec, Relation.EQUAL)
    for settings, why in (
        (ProofSettings(context=2), "contexts of 2 letters, the longest allowed, are too short"),
        (ProofSettings(classes=20), "contexts of 2 letters need more than 20 boxes"),
    ):
        found = find_invariant(network, prop, settings)
        assert isinstance(found, NotProved)
        assert found.why.startswith(why)
    steps = itertools.count()

    def between() -> None:
        if next(steps) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        find_invariant(network, prop, between=between)
    assert not proved(robust_network(RESPONSE), RESPONSE, rounds=1, induction_depth=0)
    for bad in ({"context": -1}, {"classes": 0}, {"rounds": 0}, {"padding": 0.0}, {"padding": 2.0}):
        with pytest.raises(InputError):
            ProofSettings(**bad)


def test_the_same_question_gives_the_same_proof() -> None:
    first, second = (find_invariant(robust_network(RESPONSE), Property(RESPONSE, Relation.EQUAL)) for _ in range(2))
    assert isinstance(first, Invariant)
    assert isinstance(second, Invariant)
    assert np.array_equal(first.boxes.lo, second.boxes.lo)
    assert np.array_equal(first.boxes.hi, second.boxes.hi)
