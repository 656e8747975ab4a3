"""Verdicts against brute force and against known masses, for every method and relation."""

import contextlib
import itertools
import json

import numpy as np
import pytest

from rnncheck.automata.dfa import DFA
from rnncheck.automata.language import all_words
from rnncheck.errors import InputError, ModelError
from rnncheck.extraction.extract import extract
from rnncheck.models.adapters import DFAModel
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.foreign.callables import CallableModel
from rnncheck.models.network import Cell
from rnncheck.probability.confidence import Bound, Confidence
from rnncheck.probability.distributions import WordDistribution
from rnncheck.relations import Relation
from rnncheck.spec import Spec
from rnncheck.verification.assertion import assert_satisfies
from rnncheck.verification.methods import METHODS
from rnncheck.verification.verify import verify
from rnncheck.verification.verify_settings import VerifySettings
from rnncheck.words import Alphabet
from support.networks import random_network

LETTERS = Alphabet(["a", "b"])
_SAME_SAMPLES = ("auto", "pdv", "aamc", "prove", "errors")  # their claims rest on the sampling that smc shows
QUICK = {"epsilon": 0.05, "gamma": 0.05}
SETTINGS = VerifySettings(search_steps=5_000, max_states=40)
ASKING = [method for method in METHODS if method != "prove"]  # of any model; a proof needs the weights of a network


def random_dfa(seed: int, states: int, share: float = 0.5) -> DFA:
    rng = np.random.default_rng(seed)
    return DFA(LETTERS, rng.integers(states, size=(states, 2)), rng.random(states) < share)


def network(seed: int, cell: Cell = Cell.GRU) -> CompiledNetwork:
    return CompiledNetwork(random_network(cell, seed=seed, alphabet=LETTERS, hidden=(6,), scale=4.0))


def short_words(length: int):
    return [word for n in range(length + 1) for word in itertools.product(LETTERS, repeat=n)]


def _expensive(method: str, relation: Relation) -> bool:
    """Where many hypotheses are verified one after another, or a proof is tried in vain with thousands of boxes."""
    return method == "errors" or (method, relation) == ("prove", Relation.SUPERSET)


@pytest.mark.parametrize(
    ("method", "relation"),
    [
        pytest.param(method, relation, marks=pytest.mark.slow if _expensive(method, relation) else ())
        for method, relation in itertools.product(METHODS, Relation)
    ],
)
def test_counterexamples_are_real_and_satisfied_is_never_refuted_by_much(method: str, relation: Relation) -> None:
    """Small networks, all words up to 8 letters: a counterexample is one; "exact up to n" holds."""
    words = short_words(8)
    violated = 0
    for seed in range(2):
        model, spec = network(seed), random_dfa(seed, 3)
        verdict = verify(model, Spec.from_dfa(spec), method=method, relation=relation, settings=SETTINGS, **QUICK)
        broken = relation.broken(model.accepts_batch(words), spec.accepts_batch(words))
        if verdict.violated:
            violated += 1
            word = verdict.counterexample
            assert relation.broken(
                np.array([model.reference_answer(LETTERS.encode(word))]), np.array([spec.accepts(word)])
            )[0]
            if len(word) <= 8:
                assert len(word) >= len(words[int(broken.argmax())])
        elif verdict.guarantee is not None and verdict.guarantee.exact_length is not None:
            exact = [i for i, word in enumerate(words) if len(word) <= verdict.guarantee.exact_length]
            assert not broken[exact].any()
    assert violated >= 1


@pytest.mark.parametrize("relation", Relation)
def test_exhaustive_first_gives_the_shortest_counterexample(relation: Relation) -> None:
    words = short_words(7)
    for seed in range(5):
        model, spec = network(seed, Cell.LSTM), random_dfa(seed + 20, 3)
        settings = VerifySettings(exhaustive=7, search_steps=0)
        verdict = verify(model, spec, method="smc", relation=relation, settings=settings, **QUICK)
        broken = relation.broken(model.accepts_batch(words), spec.accepts_batch(words))
        if broken.any():
            assert verdict.counterexample == words[int(broken.argmax())]
            assert "shortest of all" in verdict.reason
        else:
            assert verdict.guarantee.exact_length == 7 or verdict.guarantee.proof


@pytest.mark.parametrize(
    "method", [pytest.param(name, marks=pytest.mark.slow if name in _SAME_SAMPLES else ()) for name in METHODS]
)
@pytest.mark.parametrize("bound", [Bound.EXACT, pytest.param(Bound.HOEFFDING, marks=pytest.mark.slow)])
def test_wrong_satisfied_stays_below_gamma(method: str, bound: Bound) -> None:
    """The model accepts just a little more than it may: mass of violations just above ε, as one automaton.

    Words that begin with four times a, and no others, are violations. Over many seeds the share of wrong
    "satisfied" must stay below γ. The searches of auto would find such a violation at once, so they are left out.
    """
    epsilon, gamma, seeds = 0.05, 0.3, 100
    prefix = 4
    chain = [[i + 1, prefix + 1] for i in range(prefix)] + [[prefix, prefix], [prefix + 1, prefix + 1]]
    accepted = DFA(LETTERS, chain, np.arange(prefix + 2) == prefix)
    distribution = WordDistribution(LETTERS, stop=0.05)
    assert epsilon < distribution.mass(accepted) < 1.2 * epsilon
    # The states a learner would see at once are hidden by asking whole words only.
    model = CallableModel(accepted.accepts_batch, LETTERS)
    nothing = all_words(LETTERS).complement()
    wrong = 0
    for seed in range(seeds):
        settings = VerifySettings(bound=bound, shrink=False, flows=None, shorter_steps=0, severity_samples=0)
        verdict = verify(
            model,
            nothing,
            method=method,
            epsilon=epsilon,
            gamma=gamma,
            distribution=distribution,
            seed=seed,
            settings=settings,
        )
        wrong += verdict.satisfied
    assert wrong <= gamma * seeds + 3 * (gamma * (1 - gamma) * seeds) ** 0.5
    if method == "smc" and bound is Bound.EXACT:
        assert wrong > 0  # the test can fail: the bound is nearly reached


@pytest.mark.parametrize("method", ASKING)
@pytest.mark.parametrize("relation", Relation)
def test_a_model_that_is_its_own_specification_satisfies_it(method: str, relation: Relation) -> None:
    for seed in range(4):
        dfa = random_dfa(seed, 5)
        verdict = verify(DFAModel(dfa), dfa, method=method, relation=relation, settings=SETTINGS, **QUICK)
        assert verdict.satisfied, verdict
        assert verdict.exit_code == 0
        guarantee = verdict.guarantee
        if guarantee.epsilon is not None:
            assert guarantee.samples >= Confidence(0.05, 0.05).words
            assert guarantee.epsilon <= 0.05


@pytest.mark.parametrize("method", METHODS)
def test_same_seed_same_document_whatever_the_threads(method: str) -> None:
    documents = set()
    for threads in (1, 2, 2):
        value = random_network(Cell.LSTM, seed=5, alphabet=LETTERS, hidden=(12,), scale=2.0)
        model = CompiledNetwork(value, threads=threads)
        verdict = verify(model, random_dfa(3, 4), method=method, seed=7, settings=SETTINGS, **QUICK)
        document = json.loads(verdict.to_json())
        del document["cost"]["seconds"]
        del document["model"]["queries"]
        documents.add(json.dumps(document))
    assert len(documents) == 1


def test_running_out_of_time_is_undecided_and_tells_what_is_known() -> None:
    ticks = itertools.count()
    settings = VerifySettings(clock=lambda: float(next(ticks)), search_steps=5_000)
    nothing = all_words(LETTERS).complement()
    verdict = verify(DFAModel(nothing), nothing, method="smc", timeout=1500, settings=settings)
    assert verdict.undecided
    assert verdict.exit_code == 3
    assert "time limit" in verdict.reason
    assert verdict.guarantee.epsilon > 5e-4
    assert 0 < verdict.guarantee.samples < Confidence().words


def test_an_earned_result_survives_the_end_of_the_budget() -> None:
    """Auto has its sample and still searches when it is cancelled: the sample's claim stands."""
    dfa = random_dfa(2, 5)
    calls = itertools.count()
    settings = VerifySettings(search_steps=10**9, cancelled=lambda: next(calls) > 3_000)
    verdict = verify(DFAModel(dfa), dfa, method="auto", settings=settings, **QUICK)
    assert verdict.satisfied
    assert verdict.guarantee.epsilon <= 0.05


def test_ctrl_c_is_undecided() -> None:
    def interrupted(_):
        raise KeyboardInterrupt

    dfa = random_dfa(1, 5)
    verdict = verify(DFAModel(dfa), dfa, method="pdv", progress=interrupted, **QUICK)
    assert verdict.undecided
    assert verdict.reason == "interrupted"


@pytest.mark.parametrize("method", ASKING)
def test_answers_that_change_are_named(method: str) -> None:
    """From some word on the model answers the opposite: never "satisfied", and the word is named."""
    asked = itertools.count()

    def turncoat(words):
        return [("a" in word) != (next(asked) > 800) for word in words]

    model = CallableModel(turncoat, LETTERS)
    spec = Spec.from_ltlf("F a", LETTERS)
    with contextlib.suppress(ModelError):  # a callable that is caught by its own check is as good
        verdict = verify(model, spec, method=method, relation="equal", settings=SETTINGS, epsilon=0.002, gamma=0.002)
        assert not verdict.satisfied
        assert verdict.violated or "answers change" in verdict.reason


def test_a_language_that_is_not_regular_reaches_the_bound_by_name() -> None:
    def balanced(words):
        answers = []
        for word in words:
            depths = list(itertools.accumulate(1 if letter == "a" else -1 for letter in word))
            answers.append(min([0, *depths]) >= 0 and (depths[-1] if depths else 0) == 0)
        return answers

    model = CallableModel(balanced, LETTERS)
    settings = VerifySettings(max_states=8)
    distribution = WordDistribution(LETTERS, stop=0.05)
    spec = all_words(LETTERS)
    verdict = verify(model, spec, method="aamc", epsilon=1e-3, gamma=1e-3, distribution=distribution, settings=settings)
    assert verdict.undecided
    assert "max_states = 8" in verdict.reason
    assert verdict.hypothesis is not None


def test_health_notes_say_what_is_weak() -> None:
    spec = Spec.from_regex("!(a a a a a a a a)", LETTERS)
    verdict = verify(DFAModel(all_words(LETTERS).complement()), spec, method="smc", **QUICK)
    assert any(note.check == "specification mass" for note in verdict.health)


def test_mass_of_violations_covers_the_truth() -> None:
    model, nothing = DFAModel(random_dfa(4, 4)), all_words(LETTERS).complement()
    distribution = WordDistribution(LETTERS, stop=0.2)
    settings = VerifySettings(severity_samples=4_000)
    verdict = verify(model, nothing, method="smc", distribution=distribution, settings=settings, **QUICK)
    low, high = verdict.severity.interval
    assert low <= distribution.mass(random_dfa(4, 4)) <= high


def test_extraction_recovers_an_automaton() -> None:
    dfa = random_dfa(2, 6)
    found = extract(DFAModel(dfa), epsilon=0.01, gamma=0.01)
    assert found.passed
    words = short_words(7)
    assert isinstance(found.automaton, DFA)
    assert found.automaton.accepts_batch(words).tolist() == dfa.accepts_batch(words).tolist()


def test_known_words_start_the_learner() -> None:
    dfa = random_dfa(2, 6)
    settings = VerifySettings(known_words=(("a", "b", "a"), ("b",) * 6))
    assert verify(DFAModel(dfa), dfa, method="pdv", settings=settings, **QUICK).satisfied


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "magic"}, "unknown method 'magic'"),
        ({"epsilon": 0.0}, "epsilon 0.0"),
        ({"gamma": 1.0}, "gamma 1.0"),
        ({"timeout": -1}, "-1"),
        ({"relation": "sub"}, "sub"),
        ({"settings": VerifySettings(learner="none")}, "none"),
    ],
)
def test_bad_options_are_named(options, message: str) -> None:
    with pytest.raises(InputError, match=message):
        verify(DFAModel(random_dfa(0, 2)), random_dfa(0, 2), **{"method": "pdv", **options})


def test_alphabets_must_agree() -> None:
    with pytest.raises(InputError, match="not in the specification"):
        verify(DFAModel(random_dfa(0, 2)), Spec.from_regex("a c"))


def test_assert_satisfies_names_the_counterexample() -> None:
    dfa = random_dfa(2, 4)
    assert assert_satisfies(DFAModel(dfa), dfa, settings=SETTINGS, **QUICK).satisfied
    with pytest.raises(AssertionError, match="the counterexample is"):
        assert_satisfies(DFAModel(all_words(LETTERS)), Spec.from_ltlf("F a", LETTERS), settings=SETTINGS, **QUICK)
