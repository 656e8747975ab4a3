"""Networks that are trained until they are proved: the proof is real, and nothing wrong is ever proved."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rnncheck import zoo
from rnncheck.automata.dfa import DFA
from rnncheck.automata.minimisation import minimise
from rnncheck.checker import Status, replay
from rnncheck.errors import InputError
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.engine.reference import reference_judgement
from rnncheck.models.labelled import LabelledNetwork, answers_of
from rnncheck.models.network import Cell
from rnncheck.models.protocol import Model
from rnncheck.proofs.abstract_network import AbstractNetwork
from rnncheck.proofs.domains.interval import Interval
from rnncheck.proofs.proof_search import Invariant, ProofSettings, find_invariant
from rnncheck.relations import Property, Relation
from rnncheck.spec import Spec
from rnncheck.training import (
    HardeningEnding,
    HardeningProgress,
    HardeningSettings,
    ProvableNetwork,
    harden,
    train_provable,
)
from rnncheck.training.certified.automaton_init import chosen_rules, with_rules
from rnncheck.training.certified.certified_training import _shortest_words
from rnncheck.training.certified.covering_words import CoveringWords
from rnncheck.training.certified.tensor_domains import Boxes
from rnncheck.training.certified.trainable_network import TrainableNetwork
from rnncheck.words import IntArray, WordBatch
from support.clocks import Ticking
from support.networks import ByTorch, random_network
from support.proofs import points_in, random_dfa, torch_step, with_one_word_changed

RESPONSE = Spec.from_ltlf("G(a -> F b)", ["a", "b", "c"]).dfa
EVEN = Spec.from_regex("(b* a b* a)* b*", ["a", "b"]).dfa
GATED = [Cell.RNN_TANH, Cell.GRU, Cell.LSTM]


def all_words(letters: int, longest: int) -> WordBatch:
    return WordBatch.from_codes(
        [word for length in range(longest + 1) for word in itertools.product(range(letters), repeat=length)]
    )


@pytest.fixture(scope="module", params=GATED, ids=lambda cell: cell.value)
def trained(request: pytest.FixtureRequest) -> ProvableNetwork:
    return train_provable(RESPONSE, cell=request.param, hidden=12)


def test_training_ends_with_a_proof_that_others_confirm(trained: ProvableNetwork) -> None:
    assert trained.report.ending is HardeningEnding.PROVED, trained.report
    assert trained.report.accuracy == 1.0
    assert trained.certificate is not None
    model = CompiledNetwork(trained.network)
    assert replay(trained.certificate, model).status is Status.CONFIRMED
    words = all_words(3, 8)
    assert (model.accepts_batch(words) == RESPONSE.accepts_batch(words)).all()
    assert trained.network.facts["training"]["proved"] is True


def test_states_in_its_boxes_stay_there_when_pytorch_steps_them(trained: ProvableNetwork) -> None:
    found = find_invariant(trained.network, Property(RESPONSE, Relation.EQUAL))
    assert isinstance(found, Invariant)
    boxes, judge = found.boxes, ByTorch(trained.network)
    states = points_in(boxes, np.random.default_rng(0), 500)
    for letter in range(3):
        goals = np.repeat(found.partition.successors[:, letter], 500)
        after = torch_step(judge, states.reshape(-1, boxes.lo.shape[1]), letter)
        assert ((boxes.lo[goals] <= after) & (after <= boxes.hi[goals])).all()


@pytest.mark.parametrize("cell", [Cell.RNN_TANH, *(pytest.param(cell, marks=pytest.mark.slow) for cell in GATED[1:])])
def test_a_network_that_was_trained_provably_to_be_wrong_on_one_word_is_not_proved(cell: Cell) -> None:
    """It is proved of what it was trained on; of the specification without the fault never."""
    word = (0, 1, 0)
    faulty = minimise(with_one_word_changed(EVEN, word))
    made = train_provable(faulty, cell=cell, hidden=16)
    assert made.report.proved
    assert reference_judgement(made.network, word).accepted != EVEN.accepts(EVEN.alphabet.decode(word))
    broken = Relation.SUPERSET if EVEN.accepts(EVEN.alphabet.decode(word)) else Relation.SUBSET
    for relation in (Relation.EQUAL, broken):
        found = find_invariant(made.network, Property(EVEN, relation), ProofSettings(context=5))
        assert not isinstance(found, Invariant)


@pytest.mark.parametrize("changes", [9, pytest.param(15, marks=pytest.mark.slow)])
def test_with_one_weight_changed_it_is_proved_only_where_it_is_right(trained: ProvableNetwork, changes: int) -> None:
    network, words, names = trained.network, all_words(3, 5), RESPONSE.alphabet.decode
    rng, refused = np.random.default_rng(1), 0
    for _ in range(changes):
        layer = network.layers[0]
        weight = layer.recurrent_weight.copy()
        weight[rng.integers(weight.shape[0]), rng.integers(weight.shape[1])] += np.float32(rng.normal(scale=20.0))
        changed = dataclasses.replace(network, layers=(dataclasses.replace(layer, recurrent_weight=weight),))
        wrong = any(reference_judgement(changed, word).accepted != RESPONSE.accepts(names(word)) for word in words)
        found = find_invariant(changed, Property(RESPONSE, Relation.EQUAL), ProofSettings(context=2))
        assert not (wrong and isinstance(found, Invariant))
        refused += not isinstance(found, Invariant)
    assert refused


def test_the_same_seed_gives_the_same_network() -> None:
    first, second = (train_provable(EVEN, cell=Cell.GRU, hidden=6, settings=_short(25)) for _ in range(2))
    assert first.network.sha256() == second.network.sha256()
    other = train_provable(EVEN, cell=Cell.GRU, hidden=6, settings=_short(25, seed=1))
    assert other.network.sha256() != first.network.sha256()


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("hidden", [8, 24])
@pytest.mark.parametrize("cell", GATED)
def test_with_rules_a_network_follows_the_automaton_from_the_start(cell: Cell, hidden: int, layers: int) -> None:
    """Without any training: each unit is on where its rule says so; with few units one follows several rules."""
    dfa = minimise(random_dfa(6, 3, 3))
    begun = with_rules(random_network(cell, (hidden,) * layers, alphabet=dfa.alphabet, scale=0.2, seed=1), dfa)
    rules, _ = chosen_rules(dfa, hidden - 1)
    assert any(rule.but for rule in rules) == (hidden == 8)
    network = TrainableNetwork(begun, 1, np.random.default_rng(0))
    top = slice(hidden * (layers - 1) + 1, hidden * (layers - 1) + 1 + len(rules))
    half = 0.0 if cell is not Cell.LSTM else 0.35
    for word in itertools.product(range(3), repeat=5):
        state, at = torch.zeros(1, network.width), dfa.initial
        for letter in word:
            state, _ = network.step(state, torch.tensor([letter]))
            should = [at in rule.origins.get(letter, ()) for rule in rules]
            assert (state[0, top] > half).tolist() == should, (word, letter)
            at = int(dfa.transitions[at, letter])


@given(st.integers(2, 9), st.integers(1, 5), st.integers(0, 10**6), st.integers(0, 20))
@settings(max_examples=60, deadline=None)
def test_the_units_that_are_on_tell_the_state(states: int, letters: int, seed: int, units: int) -> None:
    dfa = minimise(random_dfa(states, letters, seed))
    rules, untold = chosen_rules(dfa, units)
    for state, letter in itertools.product(range(len(dfa)), range(letters)):
        on = [rule for rule in rules if state in rule.origins.get(letter, ())]
        told = [rule.goal for rule in on]
        for rule in on:
            for other in on:  # a rule that is told by another does not count
                if any(each is rule for each in other.but):
                    told.remove(other.goal)
        goal = int(dfa.transitions[state, letter])
        assert told == ([] if goal == untold else [goal])
    for rule in rules:  # one unit can follow it: a threshold of a number for the letter plus one for the state
        levels = rule.levels()
        assert all(a < b for a, b in itertools.pairwise(levels))


@pytest.mark.parametrize("cell", GATED)
def test_a_random_automaton_closes_with_fewer_units_than_letters_and_states(cell: Cell) -> None:
    dfa = minimise(random_dfa(8, 5, 3))
    assert len(dfa) == 8
    made = train_provable(dfa, cell=cell, hidden=20, settings=HardeningSettings(words=100))
    assert made.report.proved, made.report


def test_rules_are_for_networks_of_any_size_and_can_be_left_out() -> None:
    dfa = minimise(random_dfa(6, 3, 4))
    for hidden in (1, 5):
        small = random_network(Cell.LSTM, (hidden,), alphabet=dfa.alphabet)
        assert with_rules(small, dfa).layers[0].hidden == hidden
    relu = random_network(Cell.RNN_RELU, alphabet=dfa.alphabet)
    assert with_rules(relu, dfa) is relu
    made = [train_provable(EVEN, cell=Cell.GRU, hidden=6, rules=rules, settings=_short(1)) for rules in (True, False)]
    assert [each.network.facts["begun"] for each in made] == ["with rules", "at random"]


def _short(iterations: int, **others: int) -> HardeningSettings:
    return HardeningSettings(warm_up=25, iterations=iterations, words=50, **others)


def test_where_it_does_not_close_it_says_what_is_in_the_way() -> None:
    told: list[HardeningProgress] = []
    made = train_provable(EVEN, hidden=4, rules=False, settings=_short(25), progress=told.append)
    report = made.report
    assert report.ending is HardeningEnding.ITERATIONS
    assert made.certificate is None
    assert [(each.on_words, each.on_boxes) for each in told] == [(25, 0), (25, 25)]
    assert "state" in str(report.obstacle) or "empty word" in str(report.obstacle)
    assert report.wrong_word is not None
    answer = reference_judgement(made.network, EVEN.alphabet.encode(report.wrong_word)).accepted
    assert answer != EVEN.accepts(report.wrong_word)
    shorter = all_words(2, len(report.wrong_word) - 1)
    assert (CompiledNetwork(made.network).accepts_batch(shorter) == EVEN.accepts_batch(shorter)).all()


def test_a_time_limit_ends_it() -> None:
    ticks = itertools.count()
    settings = HardeningSettings(timeout=1.0, words=50)
    made = train_provable(EVEN, hidden=4, rules=False, settings=settings, clock=lambda: float(next(ticks)))
    assert made.report.ending is HardeningEnding.TIME
    assert made.report.on_words < 25


def test_no_proof_is_tried_when_the_time_is_over(monkeypatch) -> None:
    """Should end at once: the last attempt, which looks ahead, took 38 s after a limit of 90 s."""
    tried = []
    monkeypatch.setattr(
        "rnncheck.training.certified.certified_training.find_invariant", lambda *asked: tried.append(asked)
    )
    made = train_provable(EVEN, hidden=4, settings=HardeningSettings(timeout=3.0, words=50), clock=Ticking())
    assert made.report.ending is HardeningEnding.TIME
    assert not tried
    assert made.report.obstacle == "the time limit was reached"


@pytest.mark.parametrize("seconds", [1, 5, 30])
def test_a_proof_that_is_being_tried_ends_with_the_time(seconds: int) -> None:
    clock = Ticking()
    settings = HardeningSettings(warm_up=0, timeout=float(seconds), words=50)
    made = train_provable(EVEN, hidden=4, settings=settings, clock=clock)
    assert made.report.proved or made.report.ending is HardeningEnding.TIME
    assert clock() < seconds + 10


def test_learning_what_a_network_answers_is_within_the_time_limit_of_hardening() -> None:
    """Should leave training what learning left of the limit, and not begin another."""
    entry, clock = zoo.entry("response-faulty-lstm"), Ticking()
    settings = HardeningSettings(timeout=40.0, words=50)
    made = harden(entry.network(), entry.spec().dfa, relation="subset", settings=settings, clock=clock)
    assert made.report.ending is HardeningEnding.TIME
    assert made.report.seconds < 55
    assert clock() < 60


@pytest.mark.parametrize(
    "name",
    ["response-lstm", pytest.param("even-elman", marks=pytest.mark.slow)],  # the latter by the command line too
)
def test_a_network_of_the_zoo_becomes_provable_and_keeps_its_answers(name: str) -> None:
    entry = zoo.entry(name)
    made = harden(entry.network(), entry.spec().dfa, relation="equal")
    assert made.report.proved, made.report
    assert made.report.accuracy >= (made.report.accuracy_before or 0.0)
    assert made.certificate is not None
    assert replay(made.certificate, CompiledNetwork(made.network)).status is Status.CONFIRMED
    assert made.network.facts["hardening"]["changed"] == made.report.changed


@pytest.mark.slow  # test_own_answers_are_kept_where_the_relation_allows does so for an answer of yes or no
def test_labels_that_the_specification_does_not_speak_of_are_kept() -> None:
    entry = zoo.entry("tokens-gru")
    before = entry.network()
    made = harden(before, entry.spec().dfa, relation="equal")
    assert made.report.proved, made.report
    words = [word for length in range(6) for word in itertools.product(range(3), repeat=length)]
    old, new = (LabelledNetwork.of(CompiledNetwork(each)) for each in (before, made.network))
    same = [old.reference_label(word) == new.reference_label(word) for word in words]
    assert np.mean(same) > 0.95


@pytest.mark.parametrize("relation", [Relation.SUBSET, pytest.param(Relation.SUPERSET, marks=pytest.mark.slow)])
def test_own_answers_are_kept_where_the_relation_allows(relation: Relation) -> None:
    """A network that counts a is corrected about words with bbb, and counts on in all others."""
    counting = train_provable(EVEN, cell=Cell.GRU, hidden=8).network
    spec = Spec.from_regex("!(.* b b b .*)" if relation is Relation.SUBSET else ".* b b b .*", EVEN.alphabet).dfa
    made = harden(counting, spec, relation=relation)
    assert made.report.proved, made.report
    words = all_words(2, 9)
    answers, own, allowed = (
        CompiledNetwork(made.network).accepts_batch(words),
        EVEN.accepts_batch(words),
        spec.accepts_batch(words),
    )
    assert not relation.broken(answers, allowed).any()
    wanted = own & allowed if relation is Relation.SUBSET else own | allowed
    assert (answers == wanted).mean() > 0.95
    assert made.report.changed


def test_bad_input_is_refused() -> None:
    entry = zoo.entry("even-elman")
    with pytest.raises(InputError, match="different alphabets"):
        harden(entry.network(), RESPONSE)
    for wrong in ({"iterations": -1}, {"context": 1.5}, {"words": 0}, {"timeout": 0.0}, {"seed": True}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            HardeningSettings(**wrong)
    with pytest.raises(InputError, match="too many to train with"):
        train_provable(DFA(["a"], [[(q + 1) % 5000] for q in range(5000)], np.arange(5000) == 0))


# The pieces


@pytest.mark.parametrize("cell", list(Cell))
@pytest.mark.parametrize("sizes", [(5,), (4, 3)])
@pytest.mark.parametrize("outputs", [1, 3])
def test_tensors_compute_what_the_prover_and_the_network_compute(
    cell: Cell, sizes: tuple[int, ...], outputs: int
) -> None:
    network = random_network(cell, sizes, seed=3, outputs=outputs, label=1 if outputs > 1 else None)
    tensors = TrainableNetwork(network, 2, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    middle, radius = rng.uniform(-1, 1, (6, tensors.width)), rng.uniform(0, 0.5, (6, tensors.width))
    boxes = Interval(middle - radius, middle + radius)
    abstract = AbstractNetwork(network)
    ours = Boxes(*(torch.from_numpy(bound.astype(np.float32)) for bound in (boxes.lo, boxes.hi)))
    theirs, mine = abstract.step(boxes), tensors.step_boxes(ours)
    assert np.allclose(mine.lo.detach().numpy(), theirs.lo, atol=1e-3, rtol=1e-3)
    assert np.allclose(mine.hi.detach().numpy(), theirs.hi, atol=1e-3, rtol=1e-3)
    for accept in (True, False):
        clear = tensors.margins(ours, torch.full((6,), accept)).detach().numpy()
        assert np.allclose(clear, abstract.margin(boxes, accept), atol=1e-3)
    state = torch.zeros(1, tensors.width)
    for letter in (0, 2, 1, 1):
        state, _ = tensors.step(state, torch.tensor([letter]))
    exact = reference_judgement(network, (0, 2, 1, 1))
    assert (float(tensors.scores(tensors.outputs(state)).detach()) > 0) == exact.accepted or outputs > 1
    back = tensors.to_network()
    assert CompiledNetwork(back).accepts_batch(all_words(3, 4)).tolist() == (
        CompiledNetwork(network).accepts_batch(all_words(3, 4)).tolist()
    )


@pytest.mark.slow
def test_a_mistake_that_is_followed_by_much_that_looks_right_is_not_forgotten() -> None:
    """In the way were boxes of the state that is never left, and the network came out wrong on a fifth of the words."""
    entry = zoo.entry("xml-lstm")
    made = harden(entry.network(), entry.spec().dfa, relation="equal", settings=HardeningSettings(iterations=2_000))
    assert made.report.proved
    assert made.report.accuracy == 1.0
    assert made.certificate is not None
    assert replay(made.certificate, CompiledNetwork(made.network)).status is Status.CONFIRMED


def test_covering_words_take_every_transition_and_the_states_are_right() -> None:
    spec = minimise(random_dfa(6, 3, 4))
    words = CoveringWords(spec)
    taken = set()
    for seed in range(30):
        letters, states = words.draw(np.random.default_rng(seed), 16, 12)
        for column in range(16):
            assert states[:, column].tolist() == spec.run(spec.alphabet.decode(letters[:, column].tolist()))
        taken |= set(zip(states[:-1].ravel().tolist(), letters.ravel().tolist(), strict=True))
    assert taken == {(state, letter) for state in range(len(spec)) for letter in range(3)}


def test_covering_words_reach_what_a_single_long_word_reaches() -> None:
    """Of random words over four letters one in 4⁸ gets there; all others end in a state that is never left."""
    long = DFA(
        [*"abcd"],
        [[at + 1 if at < 8 and letter == at % 4 else 9 if at < 8 else at for letter in range(4)] for at in range(10)],
        np.arange(10) == 8,
    )
    words, rng = CoveringWords(long), np.random.default_rng(0)
    met = np.sum([np.bincount(words.draw(rng, 48, 10)[1].ravel(), minlength=10) for _ in range(30)], axis=0)
    assert (met > 20).all(), met


def test_covering_words_look_right_long_after_their_only_mistake() -> None:
    """Random words lose "(a b c d)*" at once, and no stretch of what follows looks as if they had not."""
    cycle = Spec.from_regex("(a b c d)*", [*"abcd"]).dfa
    words, rng = CoveringWords(cycle), np.random.default_rng(0)
    lost = next(at for at, row in enumerate(cycle.transitions.tolist()) if set(row) == {at})
    met = 0
    for _ in range(30):
        letters, states = words.draw(rng, 48, 24)
        for column in range(48):
            word = "".join("abcd"[letter] for letter in letters[states[:-1, column] == lost, column])
            met += "abcdabcd" in word
    assert met > 100, met


def test_words_are_meant_to_be_where_they_are_until_they_slip() -> None:
    cycle = Spec.from_regex("(a b c d)*", [*"abcd"]).dfa
    words, begin = CoveringWords(cycle), np.full(48, cycle.initial)
    letters, states, meant = words.extend(np.random.default_rng(0), begin, begin, 40)
    assert letters.shape == (40, 48)
    assert states.shape == meant.shape == (41, 48)
    np.testing.assert_array_equal(meant[:, :36], states[:, :36])  # these never slip
    astray = meant[:, 36:] != states[:, 36:]
    assert astray[-1].any()
    assert not astray[0].any()
    never = np.array([at for at, row in enumerate(cycle.transitions.tolist()) if set(row) == {at}])
    assert not np.isin(meant[:, 36:], never).any()  # and these go on as if nothing had been lost


def test_no_word_slips_where_no_state_is_for_ever() -> None:
    words, begin = CoveringWords(EVEN), np.full(48, EVEN.initial)
    _, states, meant = words.extend(np.random.default_rng(0), begin, begin, 200)
    np.testing.assert_array_equal(meant, states)


def test_thirty_states_are_read_off_their_rules() -> None:
    """Words that slip taught a network of this size nothing: every state of its automaton is left again."""
    drawn = (minimise(random_dfa(30, 5, seed)) for seed in itertools.count(1))
    spec = next(dfa for dfa in drawn if len(dfa) == 30)
    made = train_provable(spec, cell=Cell.RNN_TANH, hidden=180, settings=HardeningSettings(iterations=2))
    assert made.report.proved, made.report


def test_the_empty_word_is_judged_as_the_network_judges_it() -> None:
    network = random_network(Cell.GRU, (4,), seed=1)
    padded = dataclasses.replace(network, padding=np.full(network.inputs.shape[1], 0.7, dtype=np.float32))
    for each in (network, padded):
        tensors = TrainableNetwork(each, 2, np.random.default_rng(0))
        score = float(tensors.scores(tensors.outputs(tensors.empty())).detach()[0])
        assert (score > 0) == reference_judgement(each, ()).accepted


def test_over_one_letter_a_wrong_word_is_looked_for_among_short_ones() -> None:
    """Should end soon after its limit: the 20 000 shortest words over one letter have 200 million letters."""
    few = HardeningSettings(warm_up=25, iterations=25, timeout=2)
    made = train_provable(Spec.from_regex("a*", ["a"]).dfa, cell=Cell.RNN_RELU, hidden=3, settings=few)
    assert made.report.ending is not HardeningEnding.PROVED or made.certificate is not None
    assert sum(map(len, _shortest_words(1))) <= 300_000
    assert len(list(_shortest_words(3))) == 20_000


def test_changed_answers_of_several_labels_are_changed_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    entry, said = zoo.entry("tokens-gru"), []

    def recorded(model: Model, words: WordBatch) -> IntArray:
        said.append(answers_of(model, words))
        return said[-1]

    monkeypatch.setattr("rnncheck.training.certified.certified_training.answers_of", recorded)
    made = harden(entry.network(), entry.spec().dfa, settings=HardeningSettings(warm_up=5, iterations=5))
    then, now = said
    assert len(set(then.tolist())) == 3
    assert made.report.changed == int((then != now).sum())
