"""Every step of a model is charged to the verdict: a model that counts its own steps agrees with the cost."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from rnncheck import zoo
from rnncheck.automata.dfa import DFA, Mask
from rnncheck.extraction import COMPARED
from rnncheck.extraction.extract import extract
from rnncheck.learning import EQUIVALENCES, LEARNERS
from rnncheck.learning.learning_settings import LearningSettings
from rnncheck.models.adapters import DFAModel
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.network import Cell
from rnncheck.models.protocol import Letters, Model, Scores, States, SteppingModel
from rnncheck.probability.distributions import WordDistribution
from rnncheck.spec import Spec
from rnncheck.verification.methods import METHODS
from rnncheck.verification.verify import verify
from rnncheck.verification.verify_settings import VerifySettings
from rnncheck.words import Alphabet, Codes, IntArray, WordBatch, encode_batch
from support.networks import random_network

QUICK = {"epsilon": 0.2, "gamma": 0.2, "timeout": 60}


def short_words(model: Model) -> dict[str, Any]:
    """Quick to ask, one by one too."""
    return {**QUICK, "distribution": WordDistribution(model.alphabet, stop=0.1)}


class Counting(SteppingModel):
    """A stepping model that counts the letters it reads. A wide margin has the reference asked often."""

    def __init__(self, inner: SteppingModel, margin: float | None = None) -> None:
        self._inner = inner
        self.alphabet = inner.alphabet
        self.margin = inner.margin if margin is None else margin
        self.accepts_empty = inner.accepts_empty
        self.empty_score = inner.empty_score
        self.steps = 0

    def initial(self, rows: int) -> States:
        return self._inner.initial(rows)

    def step(self, states: States, letters: Letters, rows: IntArray | None = None) -> States:
        self.steps += len(letters)
        return self._inner.step(states, letters, rows)

    def scores(self, states: States) -> Scores:
        return self._inner.scores(states)

    def reference_answer(self, codes: Codes) -> bool:
        self.steps += len(codes)
        return self._inner.reference_answer(codes)

    def describe(self) -> Mapping[str, Any]:
        return {"kind": "counting"}


class CountingWords(Model):
    """A model that only knows whole words, and counts their letters."""

    def __init__(self, dfa: DFA) -> None:
        self._dfa = dfa
        self.alphabet = dfa.alphabet
        self.steps = 0

    def accepts_batch(self, words: WordBatch | Iterable[Iterable[str]]) -> Mask:
        batch = encode_batch(self.alphabet, words)
        self.steps += len(batch.codes)
        return self._dfa.accepts_batch(batch)

    def scores_batch(self, words: WordBatch | Iterable[Iterable[str]]) -> Scores:
        return np.where(self.accepts_batch(words), 1.0, -1.0)

    def describe(self) -> Mapping[str, Any]:
        return {"kind": "counting"}


def stepping_models() -> Sequence[tuple[str, Counting, Spec]]:
    faulty, good = zoo.entry("response-faulty-lstm"), zoo.entry("tomita4-gru")
    letters = Alphabet(["a", "b"])
    wild = CompiledNetwork(random_network(Cell.GRU, seed=3, alphabet=letters, hidden=(6,), scale=4.0))
    return [
        ("violated", Counting(CompiledNetwork(faulty.network())), faulty.spec()),
        ("near the threshold", Counting(wild, margin=0.005), Spec.from_ltlf("G(a -> F b)", letters)),
        ("satisfied", Counting(CompiledNetwork(good.network())), good.spec()),
    ]


def spent(model: Counting | CountingWords, before: int = 0) -> int:
    return model.steps - before


@pytest.mark.parametrize("relation", ["subset", "equal"])
@pytest.mark.parametrize("method", METHODS)
def test_the_cost_of_every_method_is_what_the_model_counts(method: str, relation: str) -> None:
    """Should charge searches, shrinking, flows, settling, mass, evidence and health checks too."""
    for name, model, spec in stepping_models():
        settings = VerifySettings(search_steps=5_000, max_states=20, severity_samples=50)
        verdict = verify(model, spec, method=method, relation=relation, settings=settings, **short_words(model))
        assert verdict.cost.network_steps == model.steps > 0, name


@pytest.mark.parametrize("extraction", [*COMPARED, "auto"])  # not of weights, which these models do not show
def test_the_cost_of_every_extraction_is_what_the_model_counts(extraction: str) -> None:
    for name, model, spec in stepping_models()[1:]:
        settings = VerifySettings(extraction=extraction, max_states=20, search_steps=5_000)
        verdict = verify(model, spec, method="aamc", settings=settings, **short_words(model))
        assert verdict.cost.network_steps == model.steps > 0, name
        before = model.steps
        found = extract(model, method=extraction, settings=LearningSettings(max_states=20), **short_words(model))
        assert found.cost.network_steps == model.steps - before > 0, name


@pytest.mark.parametrize("equivalence", EQUIVALENCES)
@pytest.mark.parametrize("learner", LEARNERS)
def test_the_cost_of_every_learner_and_equivalence_oracle_is_what_the_model_counts(
    learner: str, equivalence: str
) -> None:
    for name, model, spec in stepping_models()[:2]:
        settings = VerifySettings(learner=learner, equivalence=equivalence, max_states=15)
        verdict = verify(model, spec, method="pdv", settings=settings, **short_words(model))
        assert verdict.cost.network_steps == model.steps > 0, name


@pytest.mark.parametrize("method", METHODS)
def test_models_of_whole_words_are_charged_for_every_letter(method: str) -> None:
    dfa = zoo.entry("tomita4-gru").spec().dfa
    for spec in (dfa, Spec.from_regex("!(.* 0 0 .*)", dfa.alphabet).dfa):
        model = CountingWords(dfa)
        settings = VerifySettings(exhaustive=5, max_states=40, severity_samples=50)
        verdict = verify(model, spec, method=method, settings=settings, **short_words(model))
        assert verdict.cost.network_steps == model.steps > 0


class Lying(Counting):
    """The evaluator is another automaton than the reference, whose steps count too."""

    def __init__(self, evaluator: DFA, reference: DFA) -> None:
        super().__init__(DFAModel(evaluator))
        self._honest = DFAModel(reference)

    def reference_answer(self, codes: Codes) -> bool:
        self.steps += len(codes)
        return self._honest.reference_answer(codes)


@pytest.mark.parametrize("method", ["smc", "pdv", "auto"])
def test_what_was_spent_on_an_evaluator_that_turned_out_wrong_is_charged(method: str) -> None:
    """Should tell the cost of both runs where the second one asks the reference."""
    dfa = zoo.entry("tomita4-gru").spec().dfa
    model = Lying(dfa, Spec.from_regex("!(.* 0 0 .*)", dfa.alphabet).dfa)
    settings = VerifySettings(search_steps=2_000, severity_samples=50)
    verdict = verify(model, dfa, method=method, settings=settings, **short_words(model))
    assert any("different answers" in note.message for note in verdict.health)
    charged = verdict.cost.network_steps  # also for the batch in which the difference showed, which was not read on
    assert model.steps <= charged <= 1.01 * model.steps
