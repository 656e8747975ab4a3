"""What is claimed is what was evaluated: models whose evaluator and reference differ, made for the purpose."""

import dataclasses

import numpy as np
import pytest
import torch
from torch import nn

from rnncheck import verify, wrap
from rnncheck.checker import Status, replay
from rnncheck.learning.learning_task import Progress
from rnncheck.models.engine.compiled import CompiledNetwork, compiled_or_stepped
from rnncheck.models.engine.reference import Judgement, reference_judgement
from rnncheck.models.engine.stepped_reference import SteppedReference
from rnncheck.models.exact_network import exact_network
from rnncheck.models.network import Cell, Layer, RecurrentNetwork
from rnncheck.spec import Spec
from rnncheck.verdict.facts import Outcome
from rnncheck.verdict.value import Verdict
from rnncheck.verification.verify_settings import VerifySettings
from rnncheck.words import Alphabet, WordBatch
from support.clocks import Standing
from support.networks import random_network

QUICK = VerifySettings(search_steps=2_000, flows=None, shorter_steps=0, severity_samples=0)
LETTERS = ["a", "b", "c"]
FEW = {"epsilon": 0.02, "gamma": 0.05}  # so that few words are drawn


def rejecting(cell: Cell = Cell.GRU, **options):
    """A network that rejects every word."""
    network = random_network(cell, **options)
    return dataclasses.replace(network, head_weight=network.head_weight * 0, head_bias=np.full(1, -3.0, np.float32))


class Apart:
    """The reference of an original that treats some words apart."""

    def __init__(self, network, apart):
        self._network = network
        self._apart = apart

    def __call__(self, word):
        judgement = reference_judgement(self._network, word)
        return Judgement(3.0, True) if self._apart(word) else judgement


@pytest.mark.parametrize("method", ["smc", *(pytest.param(name, marks=pytest.mark.slow) for name in ("auto", "pdv"))])
def test_an_original_that_accepts_what_its_engine_rejects_is_found_out(method):
    """It accepts long words that end in a; the self-check's 64 words of up to 500 letters cannot have seen it."""
    network = rejecting()
    model = CompiledNetwork(network)
    model._reference = Apart(network, lambda word: len(word) > 60 and word[-3:] == (0, 0, 0))
    model._options["reference"] = model._reference  # as if it had been wrapped
    verdict = verify(model, Spec.from_regex("!(.*)", LETTERS), method=method, settings=QUICK, **FEW)
    assert verdict.outcome is Outcome.VIOLATED
    assert len(verdict.counterexample) > 60
    assert any(note.check == "evaluator" for note in verdict.health)


def test_a_satisfied_verdict_names_its_evaluator_and_what_the_reference_said():
    network = random_network(Cell.RNN_TANH, (16,), scale=2.0)
    far = -0.8 * np.abs(network.head_weight).sum(axis=1)  # further than its states go, and nearer than boxes go
    network = dataclasses.replace(network, head_bias=far)
    verdict = verify(CompiledNetwork(network), Spec.from_regex("!(.*)", LETTERS), settings=QUICK, **FEW)
    assert verdict.satisfied
    assert not verdict.guarantee.proof
    evaluation = verdict.evaluation
    assert "float32" in evaluation.evaluator
    assert evaluation.words >= 300
    assert evaluation.searched_words > 0
    assert evaluation.epsilon == pytest.approx(1 - 0.05 ** (1 / evaluation.words))
    assert verdict.searched.guided_steps > 0
    assert Verdict.from_json(verdict.to_json()).evaluation == evaluation


def test_the_words_of_the_searches_are_compared_too():
    """The original accepts one letter after 12 others alike: no random word is like that, and a search is."""
    network = rejecting(alphabet=None)
    model = CompiledNetwork(network)
    model._reference = Apart(network, lambda word: 3 <= len(word) <= 12)
    model._options["reference"] = model._reference
    verdict = verify(model, Spec.from_regex("!(.*)", LETTERS), method="auto", settings=QUICK, **FEW)
    assert verdict.outcome is Outcome.VIOLATED


def test_a_word_that_showed_the_difference_is_not_lost():
    """It is a violation itself, and nothing that is asked of the reference afterwards need come to it again."""
    network = rejecting()
    model = CompiledNetwork(network)
    model._reference = Apart(network, lambda word: word == (0, 1, 2, 0))
    model._options["reference"] = model._reference
    verdict = verify(model, Spec.from_regex("!(.*)", LETTERS), settings=QUICK, **FEW)
    assert verdict.counterexample == ("a", "b", "c", "a")


class Branching(nn.Module):
    """Looks at a letter from Python: one word in thousands is treated apart."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.e, self.r, self.l = nn.Embedding(3, 4), nn.GRU(4, 5, batch_first=True), nn.Linear(5, 1)

    def forward(self, x):
        out = self.l(self.r(self.e(x))[0][:, -1])
        return out.abs() + 1.0 if self.apart(x) else -out.abs() - 1.0

    def apart(self, x):
        return x.shape[1] == 6 and bool((x == 2).all())


class ByValue(Branching):
    def forward(self, x):
        out = self.l(self.r(self.e(x))[0][:, -1])
        return torch.where((x == 2).all(dim=1, keepdim=True), -out, out)


@pytest.mark.parametrize("module", [Branching, ByValue])
def test_modules_with_hidden_conditions_are_not_taken_apart(module):
    model = wrap(module(), LETTERS)
    assert not isinstance(model, CompiledNetwork)
    assert "is not supported" in str(model.describe()["stepping"])


class Padded(Branching):
    """Its recurrent layer begins with what a layer made of six letters at once: silent, but for some words."""

    def __init__(self):
        super().__init__()
        self.all = nn.Linear(24, 4)
        with torch.no_grad():
            self.all.bias.fill_(-50.0)

    def whole(self, x):
        letters = torch.cat([self.e(x), torch.zeros(len(x), 6, 4)], 1)[:, :6]
        return torch.relu(self.all(letters.flatten(1)))

    def forward(self, x):
        return self.l(self.r(torch.cat([self.whole(x)[:, None], self.e(x)], 1))[0][:, -1])


class Beside(Padded):
    """The same, past the recurrent layer: as the bias of the last layer."""

    def forward(self, x):
        return nn.functional.linear(self.r(self.e(x))[0][:, -1], self.l.weight, self.whole(x)[0, :1])


@pytest.mark.parametrize("module", [Padded, Beside])
def test_modules_that_join_letters_are_not_taken_apart(module):
    assert not isinstance(wrap(module(), LETTERS), CompiledNetwork)


def test_answers_of_large_batches_are_compared():
    """Asked for hundreds of words at once it forgets to look, and a small batch would not show it."""

    def careless(words):
        return [len(words) <= 200 and "b" in word for word in words]

    verdict = verify(wrap(careless, LETTERS), Spec.from_regex("[a c]*", LETTERS), settings=QUICK, **FEW)
    assert not verdict.satisfied


def test_no_exact_claim_about_a_module_with_a_condition_is_false():
    model = wrap(Branching(), LETTERS)
    settings = VerifySettings(exhaustive=6, search_steps=0, flows=None)
    verdict = verify(model, Spec.from_regex("!(.*)", LETTERS), method="smc", settings=settings, **FEW)
    assert verdict.counterexample == ("c",) * 6


def chaotic(seed: int):
    """Weights so large that rounding grows until it decides."""
    return random_network(Cell.GRU, hidden=(8,), scale=12.0, seed=seed)


def test_networks_that_rounding_carries_away_are_read_by_their_reference():
    models = [compiled_or_stepped(chaotic(seed)) for seed in range(6)]
    assert any(isinstance(model, SteppedReference) for model in models)
    for model in models:
        words = [tuple(word) for word in np.random.default_rng(1).integers(3, size=(6, 80)).tolist()]
        words += [(letter,) * 90 for letter in range(3)]
        expected = [reference_judgement(model.network, word).accepted for word in words]
        assert model.accepts_batch(WordBatch.from_codes(words)).tolist() == expected


@pytest.mark.parametrize("cell", list(Cell))
def test_the_stepped_reference_is_the_reference_bit_by_bit(cell):
    network = random_network(cell, hidden=(5, 5), scale=2.0, padding=True)
    model = CompiledNetwork(network).by_reference()
    words = WordBatch.from_codes([(), (0,), (1, 2, 0, 1), (2,) * 30])
    expected = [reference_judgement(network, word).score for word in words]
    assert model.scores_batch(words).tolist() == expected


def test_every_hit_of_a_flow_is_one_by_the_reference():
    for seed in range(4):
        model = compiled_or_stepped(random_network(Cell.GRU, hidden=(8,), scale=6.0, seed=seed))
        verdict = verify(model, Spec.from_regex("a*", LETTERS), settings=VerifySettings(search_steps=500), **FEW)
        if not verdict.violated:
            continue
        for flow in verdict.faulty_flows:
            for n in flow.violating_pumps:
                word = model.alphabet.encode(flow.prefix + flow.loop * n + flow.suffix)
                assert model.reference_answer(word)
            if flow.forever:
                assert "float32" in flow.arithmetic
        assert replay(verdict, model).status is Status.CONFIRMED


def test_what_was_not_searched_is_said():
    def answers(words):
        return [False for _ in words]

    spec = Spec.from_regex("!(.*)", LETTERS)
    searched = verify(wrap(answers, LETTERS), spec, settings=QUICK, **FEW).searched
    assert "does not show its states" in searched.reason
    assert searched.changed_words > 0
    assert (
        "errors" in verify(CompiledNetwork(rejecting()), spec, method="errors", settings=QUICK, **FEW).searched.reason
    )


def test_a_search_that_the_time_limit_ends_is_reported():
    """The sample was complete, so the verdict stands; what was searched less than without a limit is said."""
    clock = Standing()

    def after_the_sample(now: Progress) -> None:
        clock.seconds = 51.0 if now.words >= now.words_needed and now.network_steps > 100_000 else 0.0

    settings = dataclasses.replace(QUICK, search_steps=10**7, clock=clock)
    spec, few = Spec.from_regex("!(.*)", LETTERS), {**FEW, "timeout": 50.0, "progress": after_the_sample}
    verdict = verify(CompiledNetwork(rejecting()), spec, settings=settings, **few)
    assert verdict.satisfied
    assert "the search ended early: the time limit was reached" in verdict.searched.sentence()


def test_replay_asks_the_reference():
    network = rejecting()
    verdict = verify(CompiledNetwork(network), Spec.from_regex("!(.*)", LETTERS), settings=QUICK, **FEW)
    model = CompiledNetwork(network)
    model._reference = Apart(network, lambda word: len(word) > 60)
    model._options["reference"] = model._reference
    assert replay(verdict, model).status is Status.REFUTED


class Lengths(nn.Module):
    """Says no, and once it is changed yes to words of 101 to 149 letters: no length that a self-check tries."""

    changed = False

    def __init__(self):
        super().__init__()
        self.rnn, self.head = nn.RNN(2, 1, batch_first=True), nn.Linear(1, 1)
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.zero_()
            self.head.bias.fill_(-2.0)

    def forward(self, x):
        y = self.head(self.rnn(x)[0][:, -1])
        return y if not self.changed or not 101 <= x.shape[1] < 150 else torch.ones(1, 1)


def test_a_proof_about_weights_read_off_a_module_is_compared_with_the_module():
    """The weights alone satisfy it for every word, and the module does not."""
    module = Lengths()
    model = wrap(module, ["a", "b"])
    assert isinstance(model, CompiledNetwork)
    module.changed = True  # no record shows what Python code may do later
    for method in ("auto", "prove"):
        verdict = verify(model, Spec.from_regex("()", ["a", "b"]), method=method, settings=QUICK, **FEW)
        assert not verdict.satisfied


def cancelling(word: str) -> RecurrentNetwork:
    """Accepts one word alone; the engine's float32 loses what two large weights leave of it."""
    exact = exact_network(Spec.from_regex(" ".join(word), ["a", "b"]).dfa)
    layer = exact.layers[0]
    last, units = int(np.flatnonzero(exact.head_weight[0] == 1)[0]), layer.hidden
    grown = np.vstack([layer.recurrent_weight, layer.recurrent_weight[[last, last]]])
    return RecurrentNetwork(
        exact.alphabet,
        exact.cell,
        exact.inputs,
        (
            Layer(
                np.vstack([layer.input_weight, layer.input_weight[[last, last]]]),
                np.hstack([grown, np.zeros((units + 2, 2), np.float32)]),
                np.append(layer.input_bias, layer.input_bias[[last, last]]),
            ),
        ),
        np.append(exact.head_weight[0], np.array([1e8, -1e8], np.float32))[None],
        exact.head_bias,
    )


def test_certainty_comes_from_the_reference_alone():
    """All other words cannot be violations, so that asking every word of the engine looked like a proof."""
    word = "abbabaab"
    model = compiled_or_stepped(cancelling(word))
    spec = Spec.from_dfa(Spec.from_regex(" ".join(word), ["a", "b"]).dfa.complement())
    verdict = verify(model, spec, settings=QUICK, **FEW)
    assert model.reference_answer(model.alphabet.encode(tuple(word))) == verdict.violated
    if verdict.violated:
        assert verdict.counterexample == tuple(word)


def test_layers_of_mixed_precision_are_stepped_as_the_reference_computes_them():
    layer = Layer(np.array([[1e-8, 1.0]]), np.array([[1.0]], np.float32))
    network = RecurrentNetwork(
        Alphabet(["a", "b"]),
        Cell.RNN_RELU,
        np.eye(2, dtype=np.float32),
        (layer,),
        np.array([[-1e7]]),
        np.array([1e7 * (1 + 300.5e-8)]),
    )
    words = WordBatch.from_codes([(1,) + (0,) * n for n in (1, 100, 299, 302, 400)])
    model = CompiledNetwork(network).by_reference()
    assert model.scores_batch(words).tolist() == [reference_judgement(network, word).score for word in words]
