"""Networks forget: what only long words show is found by the default method, and nothing else is lost by it."""

from __future__ import annotations

import pytest

from rnncheck import load_model, verify, wrap, zoo
from rnncheck.checker import Status, replay
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.protocol import Model
from rnncheck.spec import Spec
from rnncheck.verification.methods import METHODS
from rnncheck.verification.verify_settings import VerifySettings
from rnncheck.words import Alphabet
from support.forgetful import KINDS, fading_gru, forgetful

ABC = Alphabet(["a", "b", "c"])
RESPONSE = Spec.from_ltlf("G(a -> F b)", ABC)
AFTER_A = Spec.from_regex(".* a .* b", ABC)
FEW = {"epsilon": 0.05, "gamma": 0.05}
FOUND = VerifySettings(shrink=False, flows=None, severity_samples=0)  # whether it is found, and no more


@pytest.mark.parametrize(
    ("letters", "kind"),
    [
        *((20, kind) for kind in KINDS),
        (100, "flat"),
        *(pytest.param(letters, kind, marks=pytest.mark.slow) for letters in (100, 500, 1000) for kind in KINDS),
        *(pytest.param(5000, kind, marks=pytest.mark.slow) for kind in KINDS if kind != "overflowing"),
    ],
)
def test_a_model_that_forgets_is_not_satisfied(letters: int, kind: str) -> None:
    verdict = verify(forgetful(RESPONSE.dfa, letters, kind), RESPONSE, settings=FOUND)
    assert verdict.violated
    assert verdict.counterexample == ("a", *("c",) * letters)
    if letters > 20:
        assert "repeating a loop" in verdict.reason


@pytest.mark.parametrize("letters", [100, 1000, pytest.param(5000, marks=pytest.mark.slow)])
def test_a_network_that_forgets_is_not_satisfied(letters: int) -> None:
    verdict = verify(CompiledNetwork(fading_gru(letters)), RESPONSE, settings=FOUND)
    assert verdict.violated
    assert abs(len(verdict.counterexample) - 1 - letters) <= letters // 100


@pytest.mark.parametrize("relation", ["superset", "equal"])
def test_every_relation_and_only_words_that_count(relation: str) -> None:
    model = forgetful(AFTER_A.dfa, 100)
    even = Spec.from_regex("(. .)*", ABC)
    verdict = verify(model, AFTER_A, relation=relation, assume=even, max_length=150, settings=FOUND, **FEW)
    assert verdict.violated
    assert len(verdict.counterexample) % 2 == 0
    assert len(verdict.counterexample) <= 150
    few = VerifySettings(search_steps=20_000)
    fine = verify(model, AFTER_A, relation=relation, max_length=100, settings=few, **FEW)
    assert not fine.violated
    assert 90 <= fine.searched.loop_length <= 100


def test_a_function_that_forgets_is_not_satisfied() -> None:
    inner = forgetful(RESPONSE.dfa, 200)
    model = wrap(lambda words: inner.accepts_batch(words).tolist(), ABC)
    verdict = verify(model, RESPONSE, epsilon=0.01, gamma=0.01, settings=FOUND)
    assert verdict.violated
    assert len(verdict.counterexample) > 200


def test_what_was_repeated_in_vain_is_reported_and_part_of_the_search() -> None:
    entry = zoo.entry("response-lstm")
    settings = VerifySettings(search_steps=100_000)
    verdict = verify(load_model(entry.path), entry.spec(), epsilon=0.05, gamma=0.05, settings=settings)
    searched = verdict.searched
    assert verdict.satisfied
    assert 0 < searched.loop_steps <= 21_000
    assert searched.guided_steps + searched.loop_steps < 110_000
    assert searched.loop_length >= 1_000
    assert f"in words of up to {searched.loop_length} letters" in searched.sentence()


def test_only_auto_repeats_loops() -> None:
    """The others are what the paper says, or a proof."""
    model = CompiledNetwork(fading_gru(100))
    settings = VerifySettings(max_states=4)
    for method in METHODS:
        if method not in ("auto", "prove"):
            verdict = verify(model, RESPONSE, method=method, epsilon=0.05, gamma=0.05, settings=settings)
            assert not verdict.violated
            assert verdict.searched.loop_steps == 0


def fails_on_long_words(longest: int) -> Model:
    def answers(words: list[tuple[str, ...]]) -> list[bool]:
        if max(map(len, words)) > longest:
            raise IndexError("position out of range")
        return [word.count("a") % 2 == 0 for word in words]

    return wrap(answers, Alphabet(["a", "b"]))


def test_a_model_that_fails_on_longer_words_than_are_drawn_is_satisfied_as_before() -> None:
    even = Spec.from_regex("(b* a b* a)* b*", Alphabet(["a", "b"]))
    settings = VerifySettings(search_steps=400_000)
    verdict = verify(fails_on_long_words(700), even, epsilon=0.05, gamma=0.05, settings=settings)
    assert verdict.satisfied
    assert "position out of range" in verdict.searched.sentence()
    assert verdict.searched.loop_length <= 700


def test_a_long_counterexample_is_made_shorter_in_few_steps() -> None:
    """It is cut as a whole: to ask for each of its letters anew would take a million steps."""
    model = CompiledNetwork(fading_gru(1500))
    verdict = verify(model, RESPONSE, settings=VerifySettings(severity_samples=0))
    assert abs(len(verdict.counterexample) - 1501) <= 15
    assert set(verdict.counterexample[1:]) == {"c"}
    assert verdict.cost.network_steps < 1_500_000
    assert replay(verdict, model).having(Status.REFUTED) == ()


def test_the_same_word_is_found_again() -> None:
    verdicts = [verify(CompiledNetwork(fading_gru(300)), RESPONSE, settings=FOUND) for _ in range(2)]
    assert verdicts[0].counterexample == verdicts[1].counterexample
    assert verdicts[0].cost.network_steps == verdicts[1].cost.network_steps
