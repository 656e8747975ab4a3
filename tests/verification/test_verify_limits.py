"""Odd questions to ``verify``: extreme numbers, slow and black-box models, other letters, narrow properties."""

import itertools
import json

import numpy as np
import pytest

from rnncheck import Alphabet, Spec, WordDistribution, verify, wrap
from rnncheck.automata.dfa import DFA
from rnncheck.errors import InputError, ModelError
from rnncheck.models.adapters import DFAModel
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.search.shrinking import shrink
from rnncheck.verification.verify_settings import VerifySettings
from support.clocks import Standing, Ticking
from support.networks import random_network

AB = ["a", "b"]
LOOSE = {"epsilon": 0.01, "gamma": 0.01}


def model_of(regex: str, letters: list[str] = AB) -> DFAModel:
    return DFAModel(Spec.from_regex(regex, letters).dfa)


def test_a_distribution_may_have_the_letters_in_another_order() -> None:
    """Only b is ever drawn, and the model accepts words with b that the specification refuses."""
    distribution = WordDistribution(Alphabet(["b", "a"]), {"b": 1.0, "a": 0.0})
    verdict = verify(
        model_of("(a|b)*b(a|b)*"), Spec.from_regex("a*", AB), method="smc", distribution=distribution, **LOOSE
    )
    assert verdict.violated


@pytest.mark.parametrize("letters", [["a"], ["a", "b", "c"], ["a", "x"]])
def test_a_distribution_over_other_letters_is_refused(letters) -> None:
    with pytest.raises(InputError, match="other letters than the model's"):
        verify(model_of("a*"), Spec.from_regex("a*", AB), distribution=WordDistribution(Alphabet(letters)))


@pytest.mark.parametrize("order", [["b", "c", "a"], ["c", "b", "a"]])
@pytest.mark.parametrize("fitted", [False, True])
def test_a_reordered_distribution_gives_every_word_its_probability(order, fitted) -> None:
    abc = Alphabet(["a", "b", "c"])
    words = [("a", "b"), ("c", "c", "a"), (), ("b",)]
    original = (
        WordDistribution.fit(abc, words, order=2) if fitted else WordDistribution(abc, {"a": 1.0, "b": 2.0, "c": 5.0})
    )
    moved = original.over(Alphabet(order))
    for word in itertools.chain.from_iterable(itertools.product("abc", repeat=n) for n in range(4)):
        ours, theirs = abc.encode(word), Alphabet(order).encode(word)
        assert moved.probability(theirs) == pytest.approx(original.probability(ours))


def test_aamc_claims_violations_of_all_words_and_differences_of_the_last_round_only() -> None:
    spec = Spec.from_regex("(a|b)*", AB)
    verdict = verify(model_of("(a a|b)*"), spec, method="aamc", **LOOSE)
    assert verdict.satisfied
    assert verdict.guarantee.hypothesis_epsilon <= 0.01


@pytest.mark.parametrize("method", ["auto", "pdv", "smc"])
def test_what_was_exhausted_first_stays_known(method) -> None:
    spec = Spec.from_regex("a*", AB)
    settings = VerifySettings(exhaustive=16, search_steps=0)
    verdict = verify(DFAModel(spec.dfa), spec, method=method, settings=settings, **LOOSE)
    assert verdict.satisfied
    assert verdict.guarantee.exact_length >= 16


def test_a_black_box_can_be_exhausted_too() -> None:
    """The shortest violation of all, with a function that only knows whole words."""
    model = wrap(lambda words: [word.count("b") >= 3 for word in words], alphabet=AB)
    spec = Spec.from_regex("(a* b a*)?|a*", AB)
    asked = {"settings": VerifySettings(exhaustive=5, search_steps=5_000), "epsilon": 0.05, "gamma": 0.05}
    verdict = verify(model, spec, **asked)
    assert verdict.counterexample == ("b", "b", "b")
    clean = verify(model, Spec.from_regex("(a|b)* b (a|b)*", AB), **asked)
    assert clean.satisfied
    assert clean.guarantee.exact_length >= 5


def test_words_that_a_search_looks_at_are_counted() -> None:
    spec = Spec.from_regex("(a|b)* a | ()", AB)
    verdict = verify(
        DFAModel(spec.dfa), spec, method="smc", settings=VerifySettings(exhaustive=6), epsilon=0.9, gamma=0.9
    )
    asked = sum(not spec.accepts(word) for n in range(7) for word in itertools.product("ab", repeat=n))
    assert verdict.cost.membership_queries >= asked


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"epsilon": 5e-324}, "epsilon 4.94066e-324"),
        ({"epsilon": 1e-16}, "epsilon 1e-16"),
        ({"epsilon": 0.0}, "epsilon 0.0"),
        ({"epsilon": "0.1"}, "epsilon '0.1'"),
        ({"seed": -1}, "seed -1"),
        ({"seed": "x"}, "seed 'x'"),
        ({"seed": True}, "seed True"),
        ({"method": "magic"}, "magic"),
    ],
)
def test_numbers_that_make_no_sense_are_named(options, named) -> None:
    with pytest.raises(InputError, match=named):
        verify(model_of("a*"), Spec.from_regex("a*", AB), **options)


@pytest.mark.parametrize("method", ["smc", "pdv", "aamc"])
def test_the_smallest_gamma_works(method) -> None:
    spec = Spec.from_regex("a*", AB)
    verdict = verify(DFAModel(spec.dfa), spec, method=method, epsilon=0.2, gamma=5e-324)
    assert verdict.satisfied
    assert 0.0 < verdict.guarantee.epsilon <= 0.2


@pytest.mark.parametrize("wrong", [["G a"], None, 3])
def test_what_is_no_specification_is_named_with_a_remedy(wrong) -> None:
    with pytest.raises(InputError, match=r"Spec\.from_ltlf"):
        verify(model_of("a*"), wrong)


@pytest.mark.parametrize("wrong", ["model.safetensors", len, None])
def test_what_is_no_model_is_named_with_a_remedy(wrong) -> None:
    with pytest.raises(InputError, match=r"rnncheck\.wrap"):
        verify(wrong, Spec.from_regex("a*", AB))


def test_a_slow_function_keeps_the_time_limit() -> None:
    clock = Standing()

    def slowly(words):
        clock.advance(len(words))
        return [False for _ in words]

    model = wrap(slowly, alphabet=AB)
    began = clock()
    verdict = verify(model, Spec.from_regex("a*", AB), timeout=100.0, settings=VerifySettings(clock=clock))
    assert verdict.undecided
    assert clock() - began < 150.0


def test_doubtful_scores_are_charged_to_the_budget() -> None:
    """A network that sits on its threshold is asked by its definition everywhere, which costs time and steps."""
    network = random_network(hidden=(8,))
    flat = type(network)(
        network.alphabet, network.cell, network.inputs, network.layers, 0 * network.head_weight, 0 * network.head_bias
    )
    spec = Spec.from_dfa(DFA(network.alphabet, [[0, 0, 0]], [False]))
    clock = Ticking()
    settings = VerifySettings(exhaustive=12, clock=clock)
    verdict = verify(CompiledNetwork(flat, threads=1), spec, settings=settings, timeout=500.0)
    assert verdict.undecided
    assert clock() < 600.0
    assert verdict.cost.network_steps > 1000


def test_shrinking_over_many_letters_stays_small() -> None:
    """With 600 letters two changes at once are millions of candidates; only a limited number is tested."""
    asked = 0

    def holds(words):
        nonlocal asked
        asked += len(words)
        return [len(word) == 12 and word[0] == 599 for word in words]

    word = (599, *range(100, 111))
    assert shrink(word, 600, holds) == (599, *[0] * 11)
    assert asked < 400_000


def test_a_property_that_leaves_few_words_open_takes_no_time() -> None:
    spec = Spec.from_regex("(a a)*", ["a"])
    verdict = verify(DFAModel(spec.dfa), spec, **LOOSE)
    assert verdict.satisfied
    assert verdict.cost.membership_queries < 10_000
    assert verdict.cost.network_steps < 150_000  # of the million that a search may take


def notes(verdict) -> str:
    return " ".join(note.message for note in verdict.health)


def test_a_model_that_refuses_everything_is_noted() -> None:
    verdict = verify(model_of("a b a b"), Spec.from_regex("a*", AB), method="smc", epsilon=0.1, gamma=0.1)
    assert verdict.satisfied
    assert "the model rejected 100.0% of 200 random words" in notes(verdict)


def test_a_property_that_refuses_nearly_everything_is_noted() -> None:
    verdict = verify(model_of("a a"), Spec.from_regex("a a", AB), method="smc", epsilon=0.1, gamma=0.1)
    assert "rejects all but" in notes(verdict)


def test_answers_that_depend_on_the_batch_are_noted() -> None:
    model = wrap(lambda words: [len(words) > 1 or len(word) % 2 == 0 for word in words], alphabet=AB)
    verdict = verify(model, Spec.from_regex("(a|b)*", AB), epsilon=0.1, gamma=0.1)
    assert "depend on the other words" in notes(verdict)


def test_a_function_that_ends_the_program_is_an_error_of_the_model() -> None:
    def leave(words):
        raise SystemExit(0)

    with pytest.raises(ModelError, match="SystemExit"):
        wrap(leave, alphabet=AB)


def test_a_function_of_one_word_is_told_that_it_gets_a_list() -> None:
    with pytest.raises(ModelError, match="gets a list of words"):
        wrap(lambda word: len(word) > 3, alphabet=AB)


def test_huge_numbers_are_answers() -> None:
    model = wrap(lambda words: [10**400 if "a" in word else -(10**400) for word in words], alphabet=AB)
    assert model.accepts(("a",))
    assert not model.accepts(("b",))


def test_threads_leave_no_trace_in_the_document() -> None:
    network = random_network(hidden=(8,), seed=3, scale=3.0)
    spec = Spec.from_ltlf("G(a -> F b)", network.alphabet)
    settings = VerifySettings(search_steps=20_000)
    one, two = (
        verify(CompiledNetwork(network, threads=threads), spec, settings=settings, **LOOSE) for threads in (1, 2)
    )
    clockless = [{**json.loads(each.to_json()), "cost": None} for each in (one, two)]
    assert clockless[0] == clockless[1]
    assert one.cost.network_steps == two.cost.network_steps


def test_spelled_out_answers_match_the_function() -> None:
    """Every word up to six letters, the whole-word search against brute force."""
    rng = np.random.default_rng(1)
    accepted = {word for n in range(7) for word in itertools.product("ab", repeat=n) if rng.random() < 0.02}
    model = wrap(lambda words: [tuple(word) in accepted for word in words], alphabet=AB)
    spec = Spec.from_regex("a*", AB)
    verdict = verify(model, spec, method="smc", settings=VerifySettings(exhaustive=6), **LOOSE)
    violations = sorted((len(word), word) for word in accepted if not spec.accepts(word))
    if violations:
        assert verdict.counterexample == violations[0][1]
    else:
        assert verdict.guarantee.exact_length >= 6
