"""Arguments that are wrong are refused in one line; what is shown of right ones can be read."""

import numpy as np
import pytest

import rnncheck
from rnncheck import (
    Alphabet,
    FlowSettings,
    Spec,
    Verdict,
    VerifySettings,
    WordDistribution,
    load_model,
    verify,
    wrap,
    zoo,
)
from rnncheck.errors import InputError, WrongTypeError
from rnncheck.extraction.extract import extract
from rnncheck.models.adapters import DFAModel, complement
from rnncheck.proofs.proof_search import ProofSettings
from rnncheck.training import HardeningSettings, TrainingSettings
from rnncheck.training.from_automaton import data_from_automaton

AB = ["a", "b"]
SPEC = Spec.from_regex("a*", AB)
MODEL = DFAModel(SPEC.dfa)


@pytest.mark.parametrize("timeout", ["5", b"5", [5], True])
def test_a_time_limit_that_is_no_number_is_refused(timeout) -> None:
    with pytest.raises(WrongTypeError, match=r"a time limit of .* was given; give a number of seconds"):
        verify(MODEL, SPEC, timeout=timeout)


@pytest.mark.parametrize("settings", [{}, {"exhaustive": 3}, 5])
def test_settings_of_another_kind_are_refused(settings) -> None:
    with pytest.raises(WrongTypeError, match=r"settings=.*give VerifySettings\("):
        verify(MODEL, SPEC, settings=settings)


class Drawing:
    """Draws words, and knows no probabilities."""

    def sample(self, rng, count):
        return [("a",)] * count


@pytest.mark.parametrize("ask", [
    lambda words: verify(MODEL, SPEC, distribution=words),
    lambda words: extract(MODEL, distribution=words),
    lambda words: data_from_automaton(SPEC.dfa, np.random.default_rng(0), distribution=words),
], ids=["verify", "extract", "train"])  # fmt: skip
def test_a_distribution_of_another_kind_is_refused(ask) -> None:
    with pytest.raises(WrongTypeError, match=r"is a Drawing; give a WordDistribution, or .*WordDistribution\.fit\("):
        ask(Drawing())


@pytest.mark.parametrize("path", [None, 5, MODEL])
def test_a_path_of_another_kind_is_refused(path) -> None:
    with pytest.raises(WrongTypeError, match="not the path of a model"):
        load_model(path)
    with pytest.raises(TypeError):  # it is that, too
        load_model(path)


@pytest.mark.parametrize(
    "wrong",
    [{"exhaustive": -3}, {"search_steps": -1}, {"severity_samples": -1}, {"max_states": 0}, {"memory_limit": -1}],
)
def test_settings_below_what_makes_sense_are_refused(wrong) -> None:
    with pytest.raises(InputError, match=f"{next(iter(wrong))}={next(iter(wrong.values()))} is too small"):
        VerifySettings(**wrong)
    with pytest.raises(WrongTypeError, match="give a whole number"):
        VerifySettings(**dict.fromkeys(wrong, 1.5))


def test_models_and_distributions_show_what_they_are() -> None:
    assert repr(MODEL) == "<DFAModel over a,b>"
    assert repr(complement(MODEL)) == "<SteppingComplementModel over a,b>"
    assert repr(wrap(lambda words: [True] * len(words), AB)) == "<CallableModel over a,b>"
    assert repr(load_model(zoo.path("response-lstm"))) == "<CompiledNetwork over a,b,c: lstm of 16 units>"
    letters = Alphabet(AB)
    assert repr(WordDistribution(letters)) == (
        "<WordDistribution over a,b: independent letters, stop 0.01, weights 'uniform'>"
    )
    assert repr(WordDistribution.fit(letters, [("a", "b")])).startswith("<WordDistribution over a,b: ")


@pytest.mark.parametrize(("text", "relation"), [("true", "subset"), ("false", "superset")])
def test_a_specification_that_nothing_breaks_is_not_said_to_reject_rounding_errors(text, relation) -> None:
    model = load_model(zoo.path("response-lstm"))
    verdict = verify(model, Spec.from_ltlf(text, model.alphabet), relation=relation)
    assert verdict.satisfied
    assert not [note for note in verdict.health if note.check == "specification mass"]


def test_assert_satisfies_carries_the_verdict_and_hides_its_frames() -> None:
    everything = DFAModel(Spec.from_regex("(a|b)*", AB).dfa)
    with pytest.raises(rnncheck.NotSatisfiedError, match="the counterexample is 'b'") as caught:
        rnncheck.assert_satisfies(everything, SPEC)
    assert isinstance(caught.value, AssertionError)
    assert isinstance(caught.value.verdict, Verdict)
    assert caught.value.verdict.counterexample == ("b",)
    shown = caught.traceback.filter(caught)
    assert all("assertion.py" not in str(entry.path) for entry in shown)


@pytest.mark.parametrize(
    ("settings", "old", "new"),
    [
        (VerifySettings, "mass_words", "severity_samples"),
        (FlowSettings, "hits", "min_hits"),
        (FlowSettings, "more_than", "min_hits"),
        (ProofSettings, "ahead", "induction_depth"),
        (TrainingSettings, "max_seconds", "timeout"),
        (HardeningSettings, "max_seconds", "timeout"),
    ],
)
def test_an_old_name_of_a_setting_names_the_new_one(settings: type, old: str, new: str) -> None:
    with pytest.raises(WrongTypeError, match=f"{settings.__name__}: {old}= is called {new}= now; write {new}="):
        settings(**{old: 1})
    assert getattr(settings(**{new: 1}), new) == 1
