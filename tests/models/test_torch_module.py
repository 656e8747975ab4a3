"""A user's PyTorch module as it is: compiled where it can be, asked where it cannot, and never changed."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
from typing import Any

import numpy as np
import pytest

from rnncheck.errors import InputError, ModelError
from rnncheck.models.black_box import BlackBoxModel
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.engine.mlp_head import HeadedNetwork
from rnncheck.models.wrapping import wrap
from rnncheck.words import Alphabet, WordBatch

torch = pytest.importorskip("torch")
nn: Any = torch.nn
LETTERS = Alphabet(["a", "b", "c", "<d>", "5"])
K = len(LETTERS)


class Classifier(nn.Module):
    """Embedding, recurrent layers, dropout, linear layer: under names that say nothing."""

    def __init__(
        self, kind="LSTM", *, rows=K, padding=None, batch_first=True, outputs=1, end=None, layers=2, **options
    ):
        super().__init__()
        self.q = nn.Embedding(rows, 4, padding_idx=padding)
        drop = {"dropout": 0.4} if layers > 1 else {}
        self.w = getattr(nn, kind)(4, 8, layers, batch_first=batch_first, **drop, **options)
        self.e = nn.Dropout(0.5)
        self.r = nn.Linear(16 if options.get("bidirectional") else options.get("proj_size", 8), outputs)
        self.end = end

    def forward(self, x):
        out, _ = self.w(self.e(self.q(x)))
        last = out[:, -1] if self.w.batch_first else out[-1]
        z = self.r(self.e(last))
        return z if self.end is None else self.end(z)


class OneHotSqueezed(nn.Module):
    def __init__(self):
        super().__init__()
        self.core, self.head = nn.GRU(K, 6), nn.Linear(6, 1, bias=False)

    def forward(self, x):
        return torch.sigmoid(self.head(self.core(x)[1][-1])).squeeze()


class OneHotInside(nn.Module):
    def __init__(self):
        super().__init__()
        self.core, self.head = nn.RNN(K, 6, batch_first=True), nn.Linear(6, 1)

    def forward(self, x):
        return self.head(self.core(nn.functional.one_hot(x, K).float())[0][:, -1])


class CellLoop(nn.Module):
    """Cells in a loop, a projection before them, several outputs; it takes the empty word."""

    def __init__(self):
        super().__init__()
        self.table, self.project = nn.Embedding(K, 3), nn.Linear(3, 4)
        self.low, self.high, self.head = nn.LSTMCell(4, 7), nn.LSTMCell(7, 5), nn.Linear(5, 3)

    def forward(self, x):
        low = (torch.zeros(len(x), 7), torch.zeros(len(x), 7))
        high = (torch.zeros(len(x), 5), torch.zeros(len(x), 5))
        for t in range(x.shape[1]):
            low = self.low(torch.relu(self.project(self.table(x[:, t]))), low)
            high = self.high(low[0], high)
        return torch.log_softmax(self.head(high[0]), dim=-1)


class Packed(Classifier):
    def forward(self, x, lengths):  # type: ignore[override]
        packed = nn.utils.rnn.pack_padded_sequence(self.q(x), lengths, batch_first=True, enforce_sorted=False)
        return torch.sigmoid(self.r(self.w(packed)[1][0][-1])).squeeze(-1), "something else"


class HeadEverywhere(Classifier):
    """The linear layer is row_products at every position, and the last is taken."""

    def forward(self, x):
        return self.r(self.w(self.q(x))[0])[:, -1, 0]


class OneWord(Classifier):
    """Takes one word without a batch, as a vector of numbers."""

    def forward(self, x):
        if x.dim() != 1:
            raise ValueError("one word at a time")
        return self.r(self.w(self.q(x)[None])[0][:, -1])[0, 0]


class Attention(Classifier):
    def forward(self, x):
        out, _ = self.w(self.q(x))
        weights = torch.softmax(out.sum(-1), dim=1)
        return torch.sigmoid(self.r((weights[..., None] * out).sum(1)))


class MeanPool(Classifier):
    def forward(self, x):
        return self.r(self.w(self.q(x))[0].mean(1))


class TwoLinear(Classifier):
    def forward(self, x):
        return self.r(torch.tanh(nn.functional.linear(self.w(self.q(x))[0][:, -1], torch.eye(8))))


class WithHead(Classifier):
    """A head of one's own after the recurrent layer."""

    def __init__(self, *head):
        super().__init__()
        self.own = nn.Sequential(*head)

    def forward(self, x):
        return self.own(self.w(self.q(x))[0][:, -1])


class LearnedStart(Classifier):
    def __init__(self):
        super().__init__("GRU", layers=1)
        self.start = nn.Parameter(torch.randn(1, 1, 8))

    def forward(self, x):
        return self.r(self.w(self.q(x), self.start.expand(1, len(x), 8).contiguous())[0][:, -1])


class Truncates(Classifier):
    def forward(self, x):
        return super().forward(x[:, :50])


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(K + 1, 8, padding_idx=0)
        self.layer, self.head = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), nn.Linear(8, 1)

    def forward(self, x):
        return self.head(self.layer(self.table(x)).mean(1))


class WrongAxis(Classifier):
    """The classic mistake: the batch is given where the time is expected, so words in a batch mix."""

    def __init__(self):
        super().__init__(layers=1)
        self.w = nn.LSTM(4, 8)

    def forward(self, x):
        return self.r(self.w(self.q(x))[0][:, -1])


def softmax(z):
    return torch.softmax(z, dim=-1)


COMPILED: dict[str, tuple[Any, ...]] = {
    "lstm": (Classifier, {}),
    "lstm, sigmoid": (lambda: Classifier(end=torch.sigmoid), {}),
    "lstm, padding row": (lambda: Classifier(rows=K + 1, padding=0, end=nn.Sigmoid()), {}),
    "padding row at the end": (lambda: Classifier(rows=K + 1, padding=K), {}),
    "row 0 is not said to be padding": (lambda: Classifier(rows=K + 1), {}),
    "rows to spare": (lambda: Classifier(rows=K + 7), {"first_row": 3}),
    "gru, time first": (lambda: Classifier("GRU", batch_first=False), {}),
    "gru, no bias": (lambda: Classifier("GRU", bias=False), {}),
    "tanh": (lambda: Classifier("RNN", end=torch.flatten), {}),
    "relu": (lambda: Classifier("RNN", nonlinearity="relu", layers=1), {"threshold": 0.4}),
    "three outputs": (lambda: Classifier(outputs=3, end=softmax), {"label": 2}),
    "two outputs, logits": (lambda: Classifier("GRU", outputs=2), {"label": 1}),
    "double": (lambda: Classifier().double(), {}),
    "one-hot": (OneHotSqueezed, {}),
    "one-hot inside": (OneHotInside, {}),
    "head everywhere": (HeadEverywhere, {}),
    "one word per call": (OneWord, {}),
}

ASKED: dict[str, tuple[Any, ...]] = {
    "cells": (CellLoop, {"label": 0}, "takes letter 0"),
    "bidirectional": (lambda: Classifier(bidirectional=True, end=torch.sigmoid), {}, "bidirectional"),
    "projection": (lambda: Classifier(proj_size=5), {}, "proj_size"),
    "attention": (Attention, {}, "it calls sum"),
    "mean": (MeanPool, {}, "it calls mean"),
    "learned start": (LearnedStart, {}, "has an initial state that is not zero"),
    "truncates": (Truncates, {}, "letters 0 to 50"),
    "transformer": (Transformer, {}, "multi_head_attention_forward"),
    "half": (lambda: Classifier().to(torch.bfloat16), {}, "bfloat16"),
    "extreme threshold": (lambda: Classifier(end=torch.sigmoid), {"threshold": 0.9999}, "coarser"),
    "said to be a probability": (Classifier, {"output": "probability"}, "probability"),
    "tanh at the end": (lambda: Classifier(end=torch.tanh), {}, "its last function is tanh"),
    "hardtanh in the head": (lambda: Classifier(end=nn.functional.hardtanh), {"output": "logit"}, "not compiled"),
}

# The head is more than one linear layer, or ends in more than one activation.
HEADED: dict[str, tuple[Any, ...]] = {
    "two linear layers": (TwoLinear, {}, "linear, tanh, linear"),
    "tanh, said to be a logit": (lambda: Classifier(end=torch.tanh), {"output": "logit"}, "linear, tanh"),
    "small MLP": (lambda: WithHead(nn.ReLU(), nn.Linear(8, 6), nn.ReLU(), nn.Linear(6, 1)), {}, "linear, relu, linear"),
    "normalised": (lambda: WithHead(nn.LayerNorm(8), nn.Linear(8, 1)), {}, "layer_norm, linear"),
    "sigmoid twice": (lambda: WithHead(nn.Linear(8, 1), nn.Sigmoid(), nn.Sigmoid()), {"threshold": 0.62}, "sigmoid"),
    "sigmoid and softmax": (
        lambda: WithHead(nn.Linear(8, 2), nn.Sigmoid(), nn.Softmax(dim=-1)),
        {"label": 1},
        "linear, sigmoid",
    ),
    "softmax twice": (
        lambda: WithHead(nn.Linear(8, 3), nn.Softmax(dim=-1), nn.Softmax(dim=-1)),
        {"label": 2},
        "linear, softmax",
    ),
}


FIRST_NUMBER = {"lstm, padding row": 1, "row 0 is not said to be padding": 1, "rows to spare": 3, "transformer": 1}
PROBABILITIES = {"sigmoid twice", "lstm, sigmoid", "lstm, padding row", "one-hot", "bidirectional", "attention"}
PROBABILITIES |= {"extreme threshold", "said to be a probability"}
HARDLY_VARY = {"extreme threshold"}


def make(name):
    """A module whose answers vary, so that a wrong answer can be seen."""
    builder, options, *_ = {**COMPILED, **HEADED, **ASKED}[name]
    words = random_words(20, 12, seed=5)
    for seed in range(200):
        torch.manual_seed(seed)
        module = builder()
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.mul_(1.7)
        if 3 < sum(own_answers(module, words, name)) < 22 or name in HARDLY_VARY:
            return module, options
    raise AssertionError(f"no seed makes the answers of {name} vary")


def random_words(count, longest, seed=0):
    rng = np.random.default_rng(seed)
    words = [tuple(rng.integers(K, size=rng.integers(1, longest + 1)).tolist()) for _ in range(count)]
    return [*words, *[(letter,) for letter in range(K)]]


def own_answers(module, words, name):
    """The module called as its owner would, on one word alone; written without any of the code under test."""
    module = copy.deepcopy(module).eval()
    with torch.no_grad():
        return [own_answer(module, word, name) for word in words]


def own_answer(module, word, name):
    ids = torch.tensor([code + FIRST_NUMBER.get(name, 0) for code in word])
    if name == "one-hot":
        x = nn.functional.one_hot(ids, K).float()[:, None]
    elif name == "gru, time first":
        x = ids[:, None]
    else:
        x = ids if name == "one word per call" else ids[None]
    out = module(x).double().flatten()
    options = {**COMPILED, **HEADED, **ASKED}[name][1]
    if "label" in options:
        return int(out.argmax()) == options["label"]
    threshold = options.get("threshold", 0.5)
    if name in PROBABILITIES:
        return out.item() > threshold
    return out.item() > math.log(threshold / (1 - threshold))


def check_answers(name, words):
    module, options = make(name)
    model = wrap(module, LETTERS, threads=1, **options)
    expected = np.array(own_answers(module, words, name))
    rng = np.random.default_rng(1)
    for size in (1, 7, 256):
        part = rng.permutation(len(words))[: 20 * size]
        for start in range(0, len(part), size):
            rows = part[start : start + size]
            answers = model.accepts_batch(WordBatch.from_codes([words[row] for row in rows]))
            assert answers.tolist() == expected[rows].tolist()
    assert [model.reference_answer(word) for word in words[:20]] == expected[:20].tolist()
    return model


@pytest.mark.parametrize("name", COMPILED)
def test_recognised_modules_are_compiled_and_answer_as_they_are(name):
    model = check_answers(name, random_words(60, 40))
    assert isinstance(model, CompiledNetwork)
    assert "compiled" in model.describe()["facts"]["stepping"]


@pytest.mark.parametrize("name", HEADED)
def test_heads_of_several_layers_are_stepped(name):
    """Should answer as the module does, stepped, whatever comes after the recurrent layer."""
    model = check_answers(name, random_words(60, 40))
    assert isinstance(model, HeadedNetwork)
    assert HEADED[name][2] in model.describe()["head"]
    assert not hasattr(model, "network")  # its weights alone are not the model: nothing may be proved of them


def test_linear_layers_with_nothing_between_stay_two():
    """One in their place would round otherwise than the module does."""
    torch.manual_seed(0)
    model = wrap(WithHead(nn.Linear(8, 6), nn.Dropout(0.5), nn.Linear(6, 1)), LETTERS)
    assert isinstance(model, HeadedNetwork)
    assert model.describe()["head"] == "linear, linear"


@pytest.mark.filterwarnings("ignore:LSTM with projections")
@pytest.mark.parametrize("name", ASKED)
def test_other_modules_are_asked_for_whole_words_and_say_why(name):
    model = check_answers(name, random_words(60, 60))
    assert isinstance(model, BlackBoxModel)
    assert ASKED[name][2] in model.describe()["stepping"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:LSTM with projections")
@pytest.mark.parametrize("name", [*COMPILED, *ASKED])
def test_many_words(name):
    check_answers(name, random_words(2000, 300))


# --- the module stays as it is ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["lstm", "attention"])
def test_the_module_is_not_changed(name):
    module, options = make(name)
    module.train()
    next(module.children()).eval()  # a mixture of modes
    called = []
    handle = module.register_forward_hook(lambda *_: called.append(1))
    modes = [part.training for part in module.modules()]
    state = {key: value.clone() for key, value in module.state_dict().items()}
    gradients = [parameter.requires_grad for parameter in module.parameters()]
    hooks = [len(part._forward_hooks) + len(part._forward_pre_hooks) for part in module.modules()]
    attributes = sorted(vars(module))
    random = torch.get_rng_state()

    model = wrap(module, LETTERS, **options)
    model.accepts_batch([("a", "b"), ("c",), ()])
    model.reference_answer((0, 1))

    assert [part.training for part in module.modules()] == modes
    assert all(torch.equal(value, state[key]) for key, value in module.state_dict().items())
    assert [parameter.requires_grad for parameter in module.parameters()] == gradients
    assert [len(part._forward_hooks) + len(part._forward_pre_hooks) for part in module.modules()] == hooks
    assert sorted(vars(module)) == attributes
    assert torch.equal(torch.get_rng_state(), random)
    assert called  # the user's own hook still works
    handle.remove()
    module.train()
    module(torch.tensor([[0, 1, 2]])).sum().backward()  # and it can still be trained
    assert all(parameter.grad is not None for parameter in module.parameters())


def test_the_mode_comes_back_after_a_failure():
    module, _ = make("lstm")
    module.train()
    with pytest.raises(ModelError):
        wrap(module, LETTERS, encode=lambda words: "nonsense")
    assert all(part.training for part in module.modules())


def test_dropout_is_off():
    module, _ = make("lstm")
    module.train()
    model = wrap(module, LETTERS)
    assert [model.reference_answer((0, 1, 2)) for _ in range(20)].count(True) in (0, 20)


class AlwaysDropping(Classifier):
    def forward(self, x):
        return nn.functional.dropout(super().forward(x), p=1e-6, training=True)


def test_a_module_that_drops_out_at_random_is_not_taken_apart():
    model = wrap(AlwaysDropping(), LETTERS)
    assert not isinstance(model, CompiledNetwork)
    assert "at random" in str(model.describe()["stepping"])


def test_a_module_that_changed_after_wrapping_is_noticed():
    for name in ("lstm", "mean"):
        module, _ = make(name)
        model = wrap(module, LETTERS)
        with torch.no_grad():
            module.r.bias.add_(1.0)
        with pytest.raises(ModelError, match="wrap it again"):
            model.reference_answer((0,))
        wrap(module, LETTERS).reference_answer((0,))


def test_wrapped_modules_can_be_sent_to_other_processes():
    for name in ("lstm", "one-hot", "mean"):
        module, _ = make(name)
        model = wrap(module, LETTERS)
        again = pickle.loads(pickle.dumps(model))
        batch = WordBatch.from_codes(random_words(30, 20))
        assert again.accepts_batch(batch).tolist() == model.accepts_batch(batch).tolist()


# --- the empty word ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["lstm", "mean"])
def test_the_empty_word_is_told_where_the_module_does_not_take_it(name):
    module, _ = make(name)
    unsaid = wrap(module, LETTERS)
    assert not unsaid.accepts(())
    facts = unsaid.describe()
    assert any("does not take the empty word" in note for note in facts.get("facts", facts)["notes"])
    for answer in (True, False):
        told = wrap(module, LETTERS, empty=answer)
        assert told.accepts(()) is answer
        assert told.accepts_batch([("a",), (), ()]).tolist()[1:] == [answer, answer]
        assert told.reference_answer(()) is answer


class TakesEmpty(Classifier):
    def forward(self, x):
        return super().forward(x) if x.shape[1] else self.r(torch.ones(len(x), 8))


class TakesEmptyPooled(TakesEmpty):
    def forward(self, x):
        return self.r(self.w(self.q(x))[0].mean(1)) if x.shape[1] else self.r(torch.ones(len(x), 8))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("pooled", [False, True])
def test_the_empty_word_is_asked_where_the_module_takes_it(seed, pooled):
    torch.manual_seed(seed)
    module = (TakesEmptyPooled if pooled else TakesEmpty)(layers=1)
    with torch.no_grad():
        expected = module.eval()(torch.zeros(1, 0, dtype=torch.long)).item() > 0
    model = wrap(module, LETTERS)
    assert isinstance(model, BlackBoxModel if pooled else CompiledNetwork)
    assert model.accepts(()) is model.reference_answer(()) is expected
    assert wrap(module, LETTERS, empty=not expected).accepts(()) is not expected


# --- how words are given ----------------------------------------------------------------------------------------------


def test_an_encode_function_may_give_several_arguments():
    torch.manual_seed(1)
    module = Packed(rows=K + 1)

    def encode(words):
        ids = torch.tensor([[LETTERS.index(letter) + 1 for letter in word] for word in words])
        return ids, torch.full((len(words),), len(words[0]))

    model = wrap(module, LETTERS, encode=encode)
    assert isinstance(model, BlackBoxModel)  # a function of the user's may encode some words apart
    assert "encoded by a function" in model.describe()["stepping"]
    assert not any("together" in note or "one at a time" in note for note in model.describe()["notes"])
    module.eval()
    with torch.no_grad():
        for word in random_words(50, 30):
            p = module(torch.tensor([[code + 1 for code in word]]), torch.tensor([len(word)]))[0]
            assert model.reference_answer(word) == model.accepts(LETTERS.decode(word)) == (p.item() > 0.5)


def test_encode_may_order_the_letters_in_its_own_way():
    module, _ = make("lstm")
    forward = wrap(module, LETTERS)
    backward = wrap(
        module, LETTERS, encode=lambda words: np.array([[K - 1 - LETTERS.index(a) for a in w] for w in words])
    )
    for word in random_words(40, 20):
        assert backward.reference_answer(word) == forward.reference_answer(tuple(K - 1 - code for code in word))


@pytest.mark.parametrize(("rows", "first"), [(K - 1, None), (K + 2, None), (K, 1), (K + 1, -1), (K + 1, 2)])
def test_rows_that_do_not_fit_the_letters_are_refused(rows, first):
    with pytest.raises(ModelError, match="rows"):
        wrap(Classifier(rows=rows), LETTERS, first_row=first)


def test_the_first_row_is_told():
    module, _ = make("row 0 is not said to be padding")
    assert any("first_row" in note for note in wrap(module, LETTERS).describe()["facts"]["notes"])
    assert "number 0" in wrap(module, LETTERS, first_row=0).describe()["facts"]["input"]


def test_words_that_mix_in_a_batch_are_asked_one_at_a_time():
    torch.manual_seed(3)
    module = WrongAxis()
    model = wrap(module, LETTERS)
    assert isinstance(model, BlackBoxModel)
    assert any("one at a time" in note for note in model.describe()["notes"])
    words = random_words(40, 9)
    with torch.no_grad():
        expected = [module.eval()(torch.tensor([word])).item() > 0 for word in words]
    assert model.accepts_batch(WordBatch.from_codes(words)).tolist() == expected


# --- what is refused --------------------------------------------------------------------------------------------------


class Forgetful(Classifier):
    def forward(self, x):
        return super().forward(x) + torch.rand(1)


class Remembers(Classifier):
    """Keeps its state between calls, as some tutorials do."""

    state = None

    def forward(self, x):
        out, self.state = self.w(self.q(x), None if self.state is None else self.state)
        return self.r(out[:, -1])


class EveryPosition(Classifier):
    def forward(self, x):
        return self.r(self.w(self.q(x))[0])


class Classes(Classifier):
    def forward(self, x):
        return super().forward(x).argmax(-1)


class NotANumber(Classifier):
    def forward(self, x):
        out = super().forward(x)
        return torch.where(torch.tensor(x.shape[1] == 77), out * math.nan, out) * torch.ones(1)


class Raises(Classifier):
    def forward(self, x):
        raise RuntimeError("not today")


@pytest.mark.parametrize(
    ("module", "options", "says"),
    [
        (Forgetful, {}, "differently when called twice"),
        (Remembers, {}, "differently when called twice"),
        (EveryPosition, {}, "depends on the length"),
        (Classes, {}, "int64"),
        (Raises, {}, "not today"),
        (lambda: Classifier(outputs=3), {}, "0 to 2"),
        (lambda: Classifier(outputs=3), {"label": 3}, "0 to 2"),
        (lambda: Classifier(outputs=3), {"label": 1, "threshold": 0.7}, "largest wins"),
        (Classifier, {"label": 0}, "one output"),
        (Classifier, {"threshold": 1.0}, "threshold"),
        (lambda: nn.LazyLinear(3), {}, "lazy"),
    ],
)
def test_nonsense_is_refused(module, options, says):
    with pytest.raises(ModelError, match=says):
        wrap(module(), LETTERS, **options)


def test_bad_options_are_refused():
    with pytest.raises(InputError, match="'odds'"):
        wrap(Classifier(), LETTERS, output="odds")
    with pytest.raises(InputError, match="batch size"):
        wrap(Classifier(), LETTERS, batch_size=0)


def test_outputs_that_are_no_numbers_are_refused_with_the_word():
    torch.manual_seed(0)
    model = wrap(NotANumber(bidirectional=True), LETTERS)
    with pytest.raises(ModelError, match="nan"):
        model.accepts(("a",) * 77)


def test_what_the_output_means_is_seen_or_told():
    for end, probability in ((torch.sigmoid, True), (nn.Sigmoid(), True), (None, False)):
        torch.manual_seed(2)
        module = Classifier(bidirectional=True, end=end)
        model = wrap(module, LETTERS, threshold=0.45)
        with torch.no_grad():
            values = [module.eval()(torch.tensor([word])).item() for word in random_words(40, 10)]
        limit = 0.45 if probability else math.log(0.45 / 0.55)
        assert model.accepts_batch(WordBatch.from_codes(random_words(40, 10))).tolist() == [v > limit for v in values]
        assert not any("range" in note for note in model.describe()["notes"])


def test_where_the_meaning_is_guessed_it_says_so():
    torch.manual_seed(2)
    model = wrap(Classifier(bidirectional=True, end=lambda z: torch.sigmoid(z) * 0.9 + 0.05), LETTERS)
    assert any("probability" in note and "range" in note for note in model.describe()["notes"])
    model = wrap(Classifier(bidirectional=True, end=lambda z: 7 * torch.tanh(z)), LETTERS)
    assert any("logit" in note and "range" in note for note in model.describe()["notes"])


def test_answers_on_the_threshold_are_settled_by_the_module_alone():
    """A module built to sit on its threshold: scores far smaller than what the shape of a batch changes."""
    torch.manual_seed(4)
    module = Classifier(layers=1)
    word = (0, 1, 2, 3, 4, 3, 2, 1)
    with torch.no_grad():
        module.r.bias.sub_(module.eval()(torch.tensor([word])).item())
        expected = module(torch.tensor([word])).item() > 0
    model = wrap(module, LETTERS)
    for size in (1, 3, 50):
        batch = WordBatch.from_codes([word, *random_words(size, 30), word])
        answers = model.accepts_batch(batch)
        assert answers[0] == answers[-1] == expected


class TwoHeads(nn.Module):
    """Two linear layers that read the same state."""

    def __init__(self, joined: str) -> None:
        super().__init__()
        torch.manual_seed(5)
        self.embedding, self.core = nn.Embedding(3, 4), nn.LSTM(4, 4, batch_first=True)
        self.no, self.yes = nn.Linear(4, 1), nn.Linear(4, 1, bias=False)
        self.joined = joined

    def forward(self, tokens):
        h = self.core(self.embedding(tokens))[1][0][0]
        no, yes = self.no(h), self.yes(h)
        if self.joined == "after one another":
            return torch.cat([no, yes], dim=-1)
        if self.joined == "the other way round":
            return torch.cat([yes, no], 1)
        return torch.stack([no[:, 0], yes[:, 0]], dim=1)


@pytest.mark.parametrize("joined", ["after one another", "the other way round", "stacked"])
def test_linear_layers_side_by_side_are_stepped_or_called_on_whole_words(joined: str) -> None:
    module = TwoHeads(joined).eval()
    model = wrap(module, ["a", "b", "c"], label=1)
    assert isinstance(model, BlackBoxModel) == (joined == "stacked"), model.describe()["stepping"]
    words = [word for length in range(1, 5) for word in itertools.product("abc", repeat=length)]
    with torch.no_grad():
        put_out = [module(torch.tensor([["abc".index(letter) for letter in word]])) for word in words]
    assert model.accepts_batch(words).tolist() == [bool(row[0, 1] > row[0, 0]) for row in put_out]


# --- token ids --------------------------------------------------------------------------------------------------------


def test_the_ids_of_an_alphabet_are_used():
    """Should ask the module for the ids that its tokenizer gives, whatever the order of the tokens."""
    torch.manual_seed(3)
    module = Classifier(rows=12).eval()
    ids = {"a": 7, "b": 2, "c": 11}
    words = [word for length in range(1, 6) for word in itertools.product("abc", repeat=length)]
    with torch.no_grad():
        logits = [module(torch.tensor([[ids[letter] for letter in word]])).item() for word in words]
        module.r.bias.sub_(float(np.median(logits)))
        expected = [module(torch.tensor([[ids[letter] for letter in word]])).item() > 0 for word in words]
    model = wrap(module, ids)
    assert isinstance(model, CompiledNetwork)
    assert model.accepts_batch(words).tolist() == expected
    assert [model.reference_answer(model.alphabet.encode(word)) for word in words[:50]] == expected[:50]
    assert 10 < sum(expected) < len(words) - 10


@pytest.mark.parametrize(
    ("ids", "options", "says"),
    [
        ({"a": 0, "b": 12}, {}, "has the id 12, but the embedding has 12 rows, 0 to 11"),
        ({"a": 0, "b": -1}, {}, "has the id -1 for 'b'; ids are integers from 0"),
        ({"a": 0, "b": 1.5}, {}, "has the id 1.5 for 'b'"),
        ({"a": 3, "b": 3}, {}, "has the id 3 twice, for 'a' and 'b'"),
        ({"a": 0, "b": 1}, {"first_row": 1}, "first_row=1 was given, and the alphabet has ids"),
        ({"a": 0, "b": 1}, {"encode": lambda words: np.zeros((len(words), 1))}, "modules without encode="),
    ],
)
def test_ids_that_do_not_fit_are_refused(ids, options, says):
    with pytest.raises((InputError, ModelError), match=says):
        wrap(Classifier(rows=12), ids, **options)


def test_a_callable_takes_no_ids():
    with pytest.raises(InputError, match=r"give list\(alphabet\)"):
        wrap(lambda words: [True for _ in words], {"a": 0, "b": 1})


# --- what it is tried on ----------------------------------------------------------------------------------------------


class Growing(nn.Module):
    """An Elman network whose values overflow on long words; it keeps the sizes that it was called with."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.table, self.core = nn.Embedding(3, 4), nn.RNN(4, 4, nonlinearity="relu", batch_first=True)
        self.head = nn.Linear(4, 1)
        self.sizes = []
        with torch.no_grad():
            self.core.weight_hh_l0.copy_(torch.eye(4) * 6)

    def forward(self, x):
        self.sizes.append(x.shape)
        return self.head(self.core(self.table(x))[0][:, -1])


def test_no_longer_words_are_tried_than_the_model_takes():
    """Should compile a network that is judged on the words it takes, and not on words of hundreds of letters."""
    module = Growing()
    model = wrap(module, ["a", "b", "c"], max_length=12)
    assert isinstance(model, CompiledNetwork), model.describe()["stepping"]
    assert max(int(shape[1]) for shape in module.sizes) <= 12


def test_features_that_are_as_many_as_the_letters_are_noted():
    model = wrap(OneHotSqueezed(), LETTERS)
    notes = model.describe()["facts"]["notes"]
    assert any("5 features, which are taken for one-hot vectors" in note for note in notes)
