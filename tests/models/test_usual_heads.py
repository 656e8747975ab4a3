"""Heads as people write them: each is compiled, answers as its module does, and a proof says why there is none."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rnncheck import ModelError, Spec, verify
from rnncheck.models.black_box import BlackBoxModel
from rnncheck.models.engine.mlp_head import HeadedNetwork
from rnncheck.models.files.loading import load_model
from rnncheck.models.protocol import SteppingModel
from rnncheck.models.wrapping import wrap
from rnncheck.words import Alphabet, WordBatch
from support.pairs import each_with_one

torch = pytest.importorskip("torch")

nn: Any = torch.nn
F: Any = torch.nn.functional
LETTERS = Alphabet(["a", "b", "c"])
HIDDEN = 5


class Usual(nn.Module):
    """An embedding, a recurrent layer, and an ending of its own."""

    def __init__(self, ending: Any, outputs: int, kind: str) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.ending, self.layers, self.hidden = ending, 1, HIDDEN
        self.table = nn.Embedding(3, 4)
        self.core = getattr(nn, kind)(4, HIDDEN, batch_first=True)
        self.norm, self.wide_norm = nn.BatchNorm1d(HIDDEN), nn.BatchNorm1d(8)
        self.one, self.two, self.head = nn.Linear(HIDDEN, 8), nn.Linear(8, outputs), nn.Linear(HIDDEN, outputs)
        for norm in (self.norm, self.wide_norm):
            for tensor in (norm.running_mean, norm.bias.data):
                tensor.uniform_(-0.5, 0.5)
            for tensor in (norm.running_var, norm.weight.data):
                tensor.uniform_(0.5, 2.0)

    def first(self, x: Any, embedded: Any) -> Any:
        return torch.zeros(self.layers, x.size(0), self.hidden)

    def forward(self, x: Any) -> Any:
        embedded = self.table(x)
        h0 = self.first(x, embedded)
        out, _ = self.core(embedded, (h0, h0.clone()) if isinstance(self.core, nn.LSTM) else h0)
        return self.ending(self, out)


def batch_norm(self, out):
    return self.head(self.norm(out[:, -1, :]))


def batch_norm_of_every_letter(self, out):
    return self.head(self.norm(out.permute(0, 2, 1)).permute(0, 2, 1)[:, -1])


def batch_norm_between(self, out):
    return self.two(F.relu(self.wide_norm(self.one(out[:, -1]))))


def gelu(self, out):
    return self.two(F.gelu(self.one(out[:, -1])))


def gelu_by_tanh(self, out):
    return self.two(F.gelu(self.one(out[:, -1]), approximate="tanh"))


def leaky_relu(self, out):
    return self.two(F.leaky_relu(self.one(out[:, -1]), 0.2))


def silu(self, out):
    return self.two(F.silu(self.one(out[:, -1])))


def one_probability(self, out):
    return F.softmax(self.head(out[:, -1]), dim=1)[:, 1]


def first_probability(self, out):
    return F.softmax(self.head(out[:, -1]), dim=-1)[:, :1]


def logits_subtracted(self, out):
    logits = self.head(out[:, -1])
    return logits[:, 1] - logits[:, 0]


def temperature(self, out):
    return torch.sigmoid(self.head(out[:, -1]) / 1.7).squeeze(-1)


def scaled(self, out):
    return 0.1 - self.head(out[:, -1]) * 3.0 + 0.2


def last_of_all(self, out):
    batch_size = out.size(0)
    every = torch.sigmoid(self.head(out.contiguous().view(-1, self.hidden)))
    return every.view(batch_size, -1)[:, -1]


def unpacked_sizes(self, out):
    batch, length, _ = out.shape
    return self.head(out.reshape(-1, self.hidden)).view(batch, length, -1)[:, -1]


ENDINGS: dict[str, tuple[Any, int]] = {
    ending.__name__: (ending, outputs)
    for outputs, endings in {
        1: (temperature, scaled, last_of_all, unpacked_sizes, batch_norm_between),
        2: (batch_norm, batch_norm_of_every_letter, one_probability, first_probability, logits_subtracted, silu),
        3: (gelu, gelu_by_tanh, leaky_relu, one_probability, unpacked_sizes),
    }.items()
    for ending in endings
}


def wrapped(module: Any) -> Any:
    several = next(iter(np.shape(module(torch.zeros(1, 3, dtype=torch.long)).detach().numpy())[1:]), 1) > 1
    return wrap(module, LETTERS, threads=1, label=1 if several else None)


def check_scores(model: Any, module: Any) -> None:
    rng = np.random.default_rng(2)
    words = [tuple(rng.integers(3, size=length).tolist()) for length in (1, 1, 2, 5, 30, 99)]
    for word in words:
        with torch.inference_mode():
            output = module(torch.tensor([word])).reshape(-1).numpy()
        accepted = bool(output.argmax() == 1) if len(output) > 1 else model.reference_answer(word)
        assert model.reference_answer(word) == accepted
        states = model.initial(1)
        for letter in word:
            states = model.step(states, np.array([letter]))
        score = model.scores(states)[0]
        assert (score > 0) == accepted
        assert score == pytest.approx(model.reference_score(word), abs=1e-5)


@pytest.mark.parametrize(("name", "kind"), each_with_one(ENDINGS, ["RNN", "GRU", "LSTM"]))
def test_a_usual_ending_of_a_module_is_compiled(name: str, kind: str) -> None:
    ending, outputs = ENDINGS[name]
    module = Usual(ending, outputs, kind).eval()
    model = wrapped(module)
    assert isinstance(model, SteppingModel), model.describe()["stepping"]
    check_scores(model, module)


@pytest.mark.parametrize("ending", [batch_norm, batch_norm_of_every_letter, batch_norm_between])
def test_batch_normalisation_of_an_exported_graph_is_compiled(tmp_path: Path, ending: Any) -> None:
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    module, path = Usual(ending, 1, "GRU").eval(), tmp_path / "m.onnx"
    names: Any = {"input_names": ["x"], "output_names": ["y"], "dynamic_axes": {"x": {0: "b", 1: "t"}}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module, (torch.zeros(1, 9, dtype=torch.long),), str(path), dynamo=False, **names)
    model = load_model(path, alphabet=LETTERS, threads=1)
    assert isinstance(model, HeadedNetwork), model.describe()
    check_scores(model, module)


@pytest.mark.parametrize("likewise", ["new_zeros", "variable"])
def test_first_states_of_zeros_are_understood(likewise: str) -> None:
    class Begun(Usual):
        def first(self, x: Any, embedded: Any) -> Any:
            if likewise == "new_zeros":
                return embedded.new_zeros(self.layers, x.size(0), self.hidden)
            return torch.autograd.Variable(torch.zeros(self.layers, x.size(0), self.hidden))

    module = Begun(temperature, 1, "LSTM").eval()
    model = wrap(module, LETTERS, threads=1)
    assert isinstance(model, SteppingModel), model.describe()["stepping"]
    check_scores(model, module)


# --- what must stay a black box ---------------------------------------------------------------------------------------


class OwnStatistics(Usual):
    def __init__(self) -> None:
        super().__init__(batch_norm, 1, "GRU")
        self.norm = nn.BatchNorm1d(HIDDEN, track_running_stats=False)

    def forward(self, x: Any) -> Any:
        return super().forward(torch.cat([x, x]))[:1]


class LettersAsFeatures(Usual):
    """Batch normalisation of a word of as many letters as there are features takes letters for them."""

    def forward(self, x: Any) -> Any:
        out = self.core(self.table(x))[0]
        out = out if out.size(1) != HIDDEN else self.norm(out)
        return self.head(out[:, -1])


class Ones(Usual):
    """It counts letters by a product of ones."""

    def forward(self, x: Any) -> Any:
        out = self.core(self.table(x))[0]
        ones = torch.ones_like(out[:, :, 0])
        return self.head(out[:, -1]) - torch.matmul(ones, ones.transpose(0, 1)) / 40


@pytest.mark.parametrize("module", [OwnStatistics(), LettersAsFeatures(batch_norm, 1, "GRU"), Ones(scaled, 1, "GRU")])
def test_what_depends_on_the_length_or_on_other_words_is_a_black_box(module: Any) -> None:
    assert isinstance(wrap(module.eval(), LETTERS, threads=1), BlackBoxModel)


def test_a_length_that_is_calculated_is_the_reason() -> None:
    def ending(self, out):
        return self.head(out[:, out.size(1) - 1])

    model = wrap(Usual(ending, 1, "GRU").eval(), LETTERS, threads=1)
    assert "calculates with the length of the word" in model.describe()["stepping"]


def shifted_probability(self, out):
    return F.softmax(self.head(out[:, -1]), dim=1)[:, 1] + 0.0


def smoothed_probability(self, out):
    return F.softmax(self.head(out[:, -1]), dim=1)[:, 1] * 0.9 + 0.05


def probability_of_the_rest(self, out):
    return 1 - F.softmax(self.head(out[:, -1]), dim=1)[:, 1]


def two_probabilities(self, out):
    probabilities = F.softmax(self.head(out[:, -1]), dim=1)
    return probabilities[:, 0] + probabilities[:, 2]


@pytest.mark.parametrize(
    "ending", [shifted_probability, smoothed_probability, probability_of_the_rest, two_probabilities]
)
def test_a_number_that_is_made_of_probabilities_is_no_logit(ending: Any) -> None:
    module = Usual(ending, 3, "GRU").eval()
    model = wrap(module, LETTERS, threads=1)
    assert model.describe()["output"] == "probability"
    for word in [(0,), (1,), (2,), (0, 1, 2), (2, 2, 2, 2)]:
        assert model.reference_answer(word) == (module(torch.tensor([word])).item() > 0.5)


def test_a_number_that_is_made_of_probabilities_is_compiled_where_its_meaning_is_given() -> None:
    module = Usual(lambda self, out: smoothed_probability(self, out) - 0.5, 2, "GRU").eval()
    model = wrap(module, LETTERS, threads=1, output="logit")
    assert isinstance(model, SteppingModel)
    check_scores(model, module)


def test_a_constant_that_a_value_is_subtracted_from_the_other_way_round_is_understood() -> None:
    def ending(self, out):
        return torch.rsub(self.one.bias[:1], self.head(out[:, -1]))

    module = Usual(ending, 1, "GRU").eval()
    model = wrap(module, LETTERS, threads=1)
    assert isinstance(model, SteppingModel), model.describe()["stepping"]
    check_scores(model, module)


# --- what a proof says ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ending", "outputs", "said"),
    [
        (temperature, 1, "a single linear layer"),
        (one_probability, 2, "choose the label with --label"),
        (gelu, 1, "here follow linear, gelu, linear"),
        (lambda self, out: self.head(out.mean(1)), 1, "not possible: it calls mean"),
    ],
)
def test_what_cannot_be_proved_is_named_with_what_helps(ending: Any, outputs: int, said: str) -> None:
    model = wrap(Usual(ending, outputs, "RNN").eval(), LETTERS, threads=1)
    spec = Spec.from_regex("(a|b|c)*", model.alphabet)
    verdict = verify(model, spec, method="prove", relation="superset")
    assert verdict.outcome.value == "undecided"
    assert said in verdict.reason


# --- around compiled modules ------------------------------------------------------------------------------------------


def test_statistics_that_change_after_wrapping_are_an_error() -> None:
    module = Usual(batch_norm, 1, "GRU").eval()
    model = wrap(module, LETTERS, threads=1)
    module.norm.running_mean.add_(1)
    with pytest.raises(ModelError, match="have changed since it was wrapped"):
        model.reference_answer((0, 1))


@pytest.mark.parametrize("ending", [one_probability, logits_subtracted, lambda self, out: self.head(out[:, -1]) * 2])
def test_a_word_on_which_a_compiled_module_overflows_has_no_answer(ending: Any) -> None:
    """Should be an error, as for a black box; what is no number is not larger than the threshold, yet no rejection."""
    module = Usual(ending, 2, "RNN").eval()
    module.core = nn.RNN(4, HIDDEN, nonlinearity="relu", batch_first=True)
    with torch.no_grad():
        module.core.weight_hh_l0.copy_(torch.eye(HIDDEN) * 1.2)
    model = wrapped(module)
    assert isinstance(model, HeadedNetwork)
    assert len(model.accepts_batch([["a"] * 300])) == 1
    with pytest.raises(ModelError, match="for a word of 900 letters, which is neither yes nor no"):
        model.accepts_batch([["a"] * 900])
    with pytest.raises(ModelError, match="neither yes nor no"):
        model.labeller()(WordBatch.from_codes([(0,) * 900]))


def test_the_function_that_is_not_constant_is_named_and_not_what_reads_it() -> None:
    def ending(self, out):
        return self.head(out[:, -1]) / (2 * torch.linalg.matrix_norm(self.one.weight))

    model = wrap(Usual(ending, 1, "GRU").eval(), LETTERS, threads=1)
    assert "matrix_norm" in model.describe()["stepping"]


def test_an_output_that_is_no_tensor_is_an_error_with_what_is_read() -> None:
    def ending(self, out):
        return {"output": self.head(out[:, -1])}

    with pytest.raises(ModelError, match="called logits"):
        wrap(Usual(ending, 1, "GRU").eval(), LETTERS, threads=1)
