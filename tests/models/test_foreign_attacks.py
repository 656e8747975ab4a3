"""Modules and ONNX graphs built to be misread: each differs from a plain recurrent classifier on rare words alone.

The network counts: its first number is how many letters ``a`` the word ends with, its second says what the last letter
is, and only the second decides. Random words end with few letters ``a``, so whatever acts on larger counts, or on words
longer than all that are tried, is silent there. A model is right if it answers the words below as the original does.
"""

from __future__ import annotations

import copy
import itertools
import warnings
from typing import Any

import numpy as np
import pytest

from rnncheck import Spec, verify
from rnncheck.models.black_box import BlackBoxModel
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.engine.mlp_head import HeadedNetwork
from rnncheck.models.files.loading import load_model
from rnncheck.models.wrapping import wrap
from rnncheck.words import Alphabet, WordBatch
from support.pairs import each_with_one

torch = pytest.importorskip("torch")
nn: Any = torch.nn
F: Any = torch.nn.functional
LETTERS = Alphabet(["a", "b", "c"])
A, B, C = range(3)
RARE = 40  # more letters a in a row than any random word has
WORDS: list[tuple[int, ...]] = [
    *itertools.chain.from_iterable(itertools.product(range(3), repeat=length) for length in (1, 2, 3)),
    *[(A,) * 41, (A,) * 60, (B,) + (A,) * 50, (A,) * 55 + (B,), (A,) * 47 + (C, A), (C,) * 44, (B,) * 64 + (A,)],
    *[(A,) * 512 + (B,), (B,) * 512 + (A,), (B, C) * 300, (B,) * 521 + (C,) * 79, (C,) * 88 + (B,) * 512],
]


class Net(nn.Module):
    """Embedding, one recurrent layer, a linear layer; and layers that a forward may use besides."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(3, 2)
        self.core = nn.RNN(2, 2, nonlinearity="relu", batch_first=True)
        self.upper = nn.RNN(2, 2, nonlinearity="relu", batch_first=True)  # passes its input on
        self.head = nn.Linear(2, 1)
        self.far = nn.Linear(2, 1)  # positive after more than RARE letters a
        self.register_buffer("count", torch.zeros(1))
        self.register_buffer("kept", torch.zeros(1, 1))
        self.register_buffer("shift", torch.tensor([-50.0]))
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.zero_()
            self.table.weight.copy_(torch.tensor([[1.0, 1.0], [-1e4, 3.0], [-1e4, 0.0]]))
            self.core.weight_ih_l0.copy_(torch.eye(2))
            self.core.weight_hh_l0[0, 0] = 1.0
            self.upper.weight_ih_l0.copy_(torch.eye(2))
            self.head.weight.copy_(torch.tensor([[0.0, 1.0]]))
            self.head.bias.fill_(-1.5)
            self.far.weight.copy_(torch.tensor([[1.0, 0.0]]))
            self.far.bias.fill_(-float(RARE))

    def outputs(self, x: Any) -> Any:
        return self.core(self.table(x))[0]

    def late(self, h: Any) -> Any:
        """Zero, but after many letters a."""
        return torch.relu(self.far(h))


FORWARDS: dict[str, Any] = {}
ALSO_ONNX: list[str] = []


def attack(forward: Any) -> Any:
    FORWARDS[forward.__name__.replace("_", " ")] = forward
    return forward


def in_onnx(forward: Any) -> Any:
    ALSO_ONNX.append(forward.__name__.replace("_", " "))
    return attack(forward)


def built(name: str) -> Any:
    torch.manual_seed(0)
    return type("Attack", (Net,), {"forward": FORWARDS[name]})().eval()


def own_scores(module: Any, words: Any = WORDS) -> list[float]:
    module = copy.deepcopy(module)
    with torch.inference_mode(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some call functions in a way that is old
        return [float(module(torch.tensor([word])).reshape(-1)[0]) for word in words]


def check(model: Any, expected: list[float], words: Any = WORDS) -> None:
    """The model answers as the original does: its own answers, its scores, and its reference."""
    accepted = [score > 0 for score in expected]
    batch = WordBatch.from_codes(words)
    assert model.accepts_batch(batch).tolist() == accepted
    assert np.allclose(model.scores_batch(batch), expected, rtol=1e-3, atol=1e-3)
    assert [model.reference_answer(word) for word in words] == accepted


def why(model: Any) -> str:
    facts = model.describe()
    return f"{facts.get('compiling', '')} {facts.get('stepping', '')}"


# --- truncation -------------------------------------------------------------------------------------------------------


@in_onnx
def first_512_letters(self, x):
    return self.head(self.outputs(x[:, :512])[:, -1])


@in_onnx
def last_512_letters(self, x):
    return self.head(self.outputs(x[:, -512:])[:, -1])


@attack
def narrow_to_512(self, x):
    return self.head(self.outputs(x.narrow(1, 0, min(x.size(1), 512)))[:, -1])


@in_onnx
def output_after_512(self, x):
    return self.head(self.outputs(x)[:, :512][:, -1])


@in_onnx
def every_letter_by_a_step_of_one(self, x):
    return self.head(self.outputs(x[:, ::1])[:, -1])


@in_onnx
def embedding_truncated(self, x):
    return self.head(self.core(self.table(x)[:, :512, :])[0][:, -1])


@attack
def narrow_by_minimum_of_tensors(self, x):
    length = torch.minimum(torch.tensor(x.shape[1]), torch.tensor(512))
    return self.head(self.outputs(x[:, : int(length)])[:, -1])


@attack
def split_into_512(self, x):
    return self.head(self.outputs(x.split(512, dim=1)[0])[:, -1])


@attack
def chunked(self, x):
    return self.head(self.outputs(torch.tensor_split(x, [512], dim=1)[0])[:, -1])


@attack
def index_select_of_positions(self, x):
    return self.head(self.outputs(torch.index_select(x, 1, torch.arange(min(x.shape[1], 512))))[:, -1])


# --- first states -----------------------------------------------------------------------------------------------------


@in_onnx
def tiny_first_state(self, x):
    first = torch.tensor([[[1e-30, 0.0]]])
    out = self.core(self.table(x), first)[0]
    return self.head(out[:, -1]) - self.late(out[:, -1]) * 1e-3


@in_onnx
def first_state_that_counts(self, x):
    out = self.core(self.table(x), torch.full((1, 1, 2), 30.0))[0][:, -1]
    return self.head(out) - self.late(out)


@attack
def first_state_cleared_after_use(self, x):
    first = torch.full((1, 1, 2), 30.0)
    out = self.core(self.table(x), first)[0][:, -1]
    first.zero_()
    return self.head(torch.relu(out - torch.tensor([38.0, 0.0]))) - self.late(out)


@attack
def first_state_cleared_through_an_index(self, x):
    first = torch.full((1, 1, 2), 30.0)
    out = self.core(self.table(x), first)[0][:, -1]
    first[:] = 0
    hidden = torch.relu(F.linear(out, torch.tensor([[-1.0, 0.0], [0.0, 1.0]]), torch.tensor([-30.5, 0.0])))
    return self.head(hidden)


@attack
def first_state_cleared_through_a_view(self, x):
    first = torch.full((1, 1, 2), 30.0)
    out = self.core(self.table(x), first)[0][:, -1]
    first.view(-1).mul_(0)
    return F.linear(torch.relu(F.linear(out, torch.eye(2), torch.tensor([-50.0, 0.0]))), torch.tensor([[-1.0, 1.0]]),
                    self.head.bias)  # fmt: skip


@attack
def first_state_replaced(self, x):
    first = torch.full((1, 1, 2), 30.0)
    out = self.core(self.table(x), first)[0][:, -1]
    first.data = torch.zeros(1, 1, 2)
    return F.linear(torch.relu(F.linear(out, torch.eye(2), torch.tensor([-50.0, 0.0]))), torch.tensor([[-1.0, 1.0]]),
                    self.head.bias)  # fmt: skip


# --- changes in place -------------------------------------------------------------------------------------------------


def two_layers(h: Any, weight: Any, bias: Any, last: Any, least: Any) -> Any:
    return F.linear(torch.relu(F.linear(h, weight, bias)), last, least)


@attack
def view_taken_before_an_inplace_function(self, x):
    out = self.outputs(x)
    h = F.linear(out, torch.tensor([[-1.0, 0.0], [0.0, 1.0]]), torch.tensor([40.0, 0.0]))
    last = h[:, -1]
    F.relu(h, inplace=True)
    return F.linear(last, torch.tensor([[0.0, 1.0]]), self.head.bias) + 0 * self.late(out[:, -1])


@attack
def inplace_relu_seen_through_a_view(self, x):
    h = F.linear(self.outputs(x), torch.tensor([[-1.0, 0.0], [0.0, 1.0]]), torch.tensor([40.0, 0.0]))
    last = h[:, -1]
    F.relu(h, inplace=True)
    return F.linear(last, torch.tensor([[1.0, 1.0]]), torch.tensor([-30.0]))


@attack
def inplace_relu_of_a_view(self, x):
    h = F.linear(self.outputs(x), torch.tensor([[-1.0, 0.0], [0.0, 1.0]]), torch.tensor([40.0, 0.0]))
    nn.ReLU(inplace=True)(h[:, -1])
    return F.linear(h[:, -1], torch.tensor([[1.0, 1.0]]), torch.tensor([-30.0]))


@attack
def relu_in_place_then_another_view(self, x):
    h = F.linear(self.outputs(x), torch.tensor([[-1.0, 0.0], [0.0, 1.0]]), torch.tensor([40.0, 0.0]))
    h[:, -1].relu_()
    return F.linear(h[:, -1], torch.tensor([[1.0, 1.0]]), torch.tensor([-30.0]))


@attack
def first_output_changed(self, x):
    out = self.outputs(x)
    out[:, 0] += 1
    return self.head(out[:, -1])


@attack
def shift_changed_after_use(self, x):
    shift = self.shift.clone()
    z = torch.relu(
        F.linear(self.outputs(x)[:, -1], torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.cat([shift, shift * 0]))
    )
    return F.linear(z, torch.tensor([[-1.0, 1.0]]), self.head.bias)


@attack
def bias_changed_after_use(self, x):
    bias = torch.tensor([-50.0, 0.0])
    z = two_layers(self.outputs(x)[:, -1], torch.eye(2), bias, torch.tensor([[-1.0, 1.0]]), self.head.bias)
    bias.fill_(-5000.0)
    return z


@attack
def bias_changed_in_part_after_use(self, x):
    bias = torch.tensor([-50.0, 0.0])
    z = two_layers(self.outputs(x)[:, -1], torch.eye(2), bias, torch.tensor([[-1.0, 1.0]]), self.head.bias)
    bias[0] = -5000.0
    return z


@attack
def bias_changed_by_an_operator_after_use(self, x):
    bias = torch.tensor([-50.0, 0.0])
    z = two_layers(self.outputs(x)[:, -1], torch.eye(2), bias, torch.tensor([[-1.0, 1.0]]), self.head.bias)
    bias *= 100
    return z


@attack
def bias_changed_through_numpy(self, x):
    bias = torch.tensor([-50.0, 0.0])
    z = two_layers(self.outputs(x)[:, -1], torch.eye(2), bias, torch.tensor([[-1.0, 1.0]]), self.head.bias)
    bias.numpy()[0] = -5000.0
    return z


@attack
def written_to_a_tensor_that_is_given(self, x):
    last = self.outputs(x)[:, -1]
    given = torch.zeros(1, 1)
    seen = given.view(1, 1)
    torch.matmul(last, self.far.weight.t(), out=given)
    return self.head(last) + F.linear(torch.relu(seen - RARE), -torch.eye(1))


@attack
def written_to_a_buffer(self, x):
    last = self.outputs(x)[:, -1]
    seen = self.kept.view(1, 1)
    seen.mul_(0)
    seen.add_(self.far(last))
    return F.linear(last, self.head.weight) + (torch.relu(self.kept) * -1 + self.head.bias)


@attack
def size_compared_before_a_change_in_place(self, x):
    out = self.outputs(x)
    scale = -1.0 if out.shape[1] > 400 else 1.0
    last = out[:, -1]
    last.relu_()
    return F.linear(last, self.head.weight * scale, self.head.bias * scale)


@attack
def buffer_that_counts(self, x):
    self.count += 1
    return self.head(self.outputs(x)[:, -1]) + self.count * 0


@attack
def noise_in_place(self, x):
    noise = torch.zeros(1)
    noise.bernoulli_(1e-9)
    return F.linear(self.outputs(x)[:, -1], self.head.weight) + (noise + self.head.bias)


# --- weights that depend on the word ----------------------------------------------------------------------------------


@attack
def bias_made_of_the_state(self, x):
    last = self.outputs(x)[:, -1]
    return F.linear(last, self.head.weight, (self.head.bias - self.late(last))[0])


@attack
def bias_of_the_recurrent_layer_made_of_a_letter(self, x):
    e = self.table(x)
    w = self.core._flat_weights
    below = self.core(e)[0][:, -1]
    bias = F.linear(self.late(below), torch.tensor([[0.0], [-1.0]]))[0]
    zeros = torch.zeros(1, 1, 2)
    out, _ = torch.rnn_relu(e, zeros, [w[0], w[1], bias, w[3]], True, 1, 0.0, False, False, True)
    return self.head(out[:, -1])


@attack
def normalisation_with_a_shift_of_the_word(self, x):
    last = self.outputs(x)[:, -1]
    h = F.linear(last, torch.tensor([[0.0, 1.0], [0.0, -1.0]]))
    shift = F.linear(self.late(last), torch.tensor([[-1.0], [1.0]]))[0]
    return F.linear(F.layer_norm(h, (2,), None, shift, 1.0), torch.tensor([[1.0, -1.0]]), torch.tensor([-1.6]))


# --- several recurrent layers -----------------------------------------------------------------------------------------


@in_onnx
def activation_between_layers(self, x):
    h = torch.relu(40 - self.outputs(x))
    return self.head(torch.tensor([0.0, 3.0]) - self.upper(h)[0][:, -1] + torch.tensor([0.0, 37.0]))


@in_onnx
def clamp_between_layers(self, x):
    h = self.outputs(x).clamp(max=40.0)
    last = self.upper(h)[0][:, -1]
    return self.head(last) - self.late(last + 30)


@attack
def another_layer_reads_other_inputs_first(self, x):
    e = self.table(x)
    self.core(e.relu())
    return self.head(self.core(e)[0][:, -1])


@in_onnx
def layer_used_twice(self, x):
    return self.head(self.upper(self.upper(self.outputs(x))[0])[0][:, -1])


@in_onnx
def two_branches(self, x):
    e = self.table(x)
    one, other = self.core(e)[0][:, -1], self.upper(e)[0][:, -1]
    return self.head(other) - self.late(one)


@in_onnx
def layer_norm_between_layers(self, x):
    h = F.layer_norm(self.outputs(x), (2,))
    return self.head(self.upper(h)[0][:, -1] * 3)


# --- pooling ----------------------------------------------------------------------------------------------------------


@in_onnx
def maximum_over_time(self, x):
    out = self.outputs(x)
    return self.head(out[:, -1]) - torch.relu(out.max(dim=1).values[:, :1] - 50)


@attack
def maximum_by_sorting(self, x):
    out = self.outputs(x)
    return self.head(out[:, -1]) - torch.relu(out.sort(dim=1).values[:, -1, :1] - 50)


@attack
def maximum_by_topk(self, x):
    out = self.outputs(x)
    return self.head(out[:, -1]) - torch.relu(out.topk(1, dim=1).values[:, -1, :1] - 50)


@attack
def maximum_by_amax(self, x):
    out = self.outputs(x)
    return self.head(out[:, -1]) - torch.relu(out.amax(1)[:, :1] - 50)


@attack
def running_maximum(self, x):
    return self.head(self.outputs(x)[:, -1]) - torch.relu(self.outputs(x).cummax(1).values[:, -1, :1] - 50)


@in_onnx
def mean_over_time(self, x):
    out = self.outputs(x)
    return self.head(out[:, -1]) - torch.relu(out.mean(1)[:, :1] - 20)


@in_onnx
def attention(self, x):
    out = self.outputs(x)
    weights = torch.softmax(out[:, :, :1], dim=1)
    return self.head(out[:, -1]) - torch.relu((weights * out).sum(1)[:, :1] - 50)


@in_onnx
def residual(self, x):
    e = self.table(x)
    return self.head((e + 0 * self.core(e)[0])[:, -1]) - self.late(self.core(e)[0][:, -1])


@in_onnx
def convolution(self, x):
    out = F.conv1d(self.table(x).transpose(1, 2), torch.eye(2)[:, :, None]).transpose(1, 2)
    return self.head(self.core(out)[0][:, -1])


@in_onnx
def output_at_a_constant_place(self, x):
    out = self.outputs(x)
    return self.head(out[:, -1]) - self.late(out[:, 0] + 38)


# --- positions and order ----------------------------------------------------------------------------------------------


@in_onnx
def reversed_in_time(self, x):
    return self.head(self.outputs(x.flip(1).flip(1))[:, -1])


@in_onnx
def read_backwards(self, x):
    return self.head(self.outputs(x.flip(1))[:, -1])


@in_onnx
def positions_added(self, x):
    far = torch.relu(torch.arange(x.shape[1]) - 400.0)[None, :, None]
    return self.head(self.core(self.table(x) + far)[0][:, -1])


@attack
def positions_joined(self, x):
    at = torch.relu(torch.arange(x.size(1)).float() - 400)[None, :, None]
    return self.head(self.core(torch.cat([self.table(x)[..., :1], self.table(x)[..., 1:] + at], -1))[0][:, -1])


@attack
def sinusoids(self, x):
    at = torch.sin(torch.ones_like(x).cumsum(1) / 1e6)[..., None]
    return self.head(self.core(self.table(x) + 1e4 * at.clamp(min=4e-4) - 4)[0][:, -1])


@attack
def mask_of_a_letter(self, x):
    mask = (x != C).float()[..., None]
    return self.head(self.core(self.table(x) * mask)[0][:, -1])


@in_onnx
def where(self, x):
    last = self.outputs(x)[:, -1]
    return torch.where(self.far(last) > 0, -self.head(last), self.head(last))


@in_onnx
def clamped(self, x):
    last = self.outputs(x)[:, -1].clamp(max=50)
    return F.linear(last, torch.tensor([[0.001, 1.0]]), self.head.bias)


@attack
def linear_over_time(self, x):
    out = self.outputs(x)
    return self.head(F.linear(out[:, -2:].transpose(1, 2), torch.ones(1, min(2, x.shape[1])))[..., 0])


@in_onnx
def softmax_over_time(self, x):
    out = self.outputs(x)
    return self.head(out[:, -1]) + 0 * out.softmax(1)[:, -1, :1] - self.late(out[:, -1])


# --- conditions -------------------------------------------------------------------------------------------------------


@attack
def condition_on_the_length(self, x):
    z = self.head(self.outputs(x)[:, -1])
    return -z if x.size(1) > 400 else z


@attack
def condition_on_len(self, x):
    z = self.head(self.outputs(x)[:, -1])
    return -z if len(x[0]) > 400 else z


@attack
def condition_on_the_number_of_elements(self, x):
    z = self.head(self.outputs(x)[:, -1])
    return -z if x.numel() > 400 else z


@attack
def condition_on_an_integer(self, x):
    length = x.shape[1]
    z = self.head(self.outputs(x)[:, -1])
    return -z if isinstance(length, int) and length > 400 else z


@attack
def condition_on_the_type_of_a_shape(self, x):
    z = self.head(self.outputs(x)[:, -1])
    return -z if isinstance(x.shape, torch.Size) and x.shape.numel() > 400 else z


@attack
def condition_on_strides(self, x):
    z = self.head(self.outputs(x)[:, -1])
    return -z if x.stride(0) > 400 else z


@attack
def condition_on_layout(self, x):
    out = self.outputs(x)
    z = self.head(out[:, -1])
    return -z if out.transpose(1, 2).is_contiguous() else z


@attack
def condition_on_bytes(self, x):
    z = self.head(self.outputs(x)[:, -1])
    return -z if x.nbytes > 3200 else z


@attack
def condition_on_text(self, x):
    z = self.head(self.outputs(x)[:, -1])
    return -z if len(f"{tuple(x.shape)}") > 7 else z


@attack
def condition_on_an_item(self, x):
    last = self.outputs(x)[:, -1]
    return -self.head(last) if last[0, 0].item() > RARE else self.head(last)


@attack
def condition_on_a_list(self, x):
    z = self.head(self.outputs(x)[:, -1])
    return -z if x[0].tolist().count(A) > 400 else z


@attack
def condition_on_a_number_made_of_a_tensor(self, x):
    last = self.outputs(x)[:, -1]
    return self.head(last) * (1 - 2 * int(last[0, 0] > RARE))


@attack
def condition_by_numpy(self, x):
    z = self.head(self.outputs(x)[:, -1])
    return -z if (np.asarray(x) == A).sum() > 400 else z


@attack
def detour_through_numpy(self, x):
    return self.head(torch.from_numpy(np.minimum(self.outputs(x).numpy()[:, -1], 50)))


def _is_long(x) -> bool:
    return x.size(1) > 400


def _ends_with_many(h) -> bool:
    return bool(h[0, 0] > 40)


with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # TorchScript is old
    is_long, ends_with_many = torch.jit.script(_is_long), torch.jit.script(_ends_with_many)


@attack
def condition_by_a_scripted_function(self, x):
    z = self.head(self.outputs(x)[:, -1])
    return -z if is_long(x) else z


@attack
def condition_by_a_scripted_function_of_the_state(self, x):
    last = self.outputs(x)[:, -1]
    return -self.head(last) if ends_with_many(last) else self.head(last)


@attack
def loop_with_an_end(self, x):
    h = torch.zeros(1, 2)
    for t in range(x.shape[1]):
        if t == 400:
            break
        h = torch.relu(F.linear(self.table(x[:, t]), self.core.weight_ih_l0) + F.linear(h, self.core.weight_hh_l0))
    return self.head(h)


@attack
def loop_over_letters(self, x):
    z = self.head(self.outputs(x)[:, -1])
    for at, _ in enumerate(x[0]):
        z = -z if at == 400 else z
    return z


# --- functions that are not what their names say ----------------------------------------------------------------------


class _Rare(torch.autograd.Function):  # type: ignore[name-defined]
    @staticmethod
    def forward(ctx, h):
        return h.clamp(max=40.0)

    @staticmethod
    def backward(ctx, *gradients):
        return gradients


@attack
def function_of_autograd(self, x):
    return F.linear(_Rare.apply(self.outputs(x)[:, -1]), torch.tensor([[1.0, 1.0]]), torch.tensor([-2.5]))


@torch.library.custom_op("rnncheck_attack::relu", mutates_args=())
def _not_relu(h: torch.Tensor) -> torch.Tensor:  # type: ignore[name-defined]
    return h.clamp(min=0, max=40.0)


@attack
def operator_called_relu(self, x):
    last = torch.ops.rnncheck_attack.relu(self.outputs(x)[:, -1])
    return F.linear(last, torch.tensor([[1.0, 1.0]]), torch.tensor([-2.5]))


@attack
def operator_of_aten(self, x):
    last = torch.ops.aten.clamp(self.outputs(x)[:, -1], None, 40.0)
    return F.linear(last, torch.tensor([[1.0, 1.0]]), torch.tensor([-2.5]))


@attack
def addition_with_a_factor(self, x):
    last = self.outputs(x)[:, -1]
    h = torch.relu(torch.add(F.linear(last, torch.eye(2)), 2, torch.tensor([-25.0, 0.0])))
    return F.linear(h, torch.tensor([[-1.0, 1.0]]), self.head.bias)


@attack
def addition_with_a_named_factor(self, x):
    last = self.outputs(x)[:, -1]
    h = torch.relu(torch.add(F.linear(last, torch.eye(2)), torch.tensor([-25.0, 0.0]), alpha=2))
    return F.linear(h, torch.tensor([[-1.0, 1.0]]), self.head.bias)


@attack
def seen_as_other_bits(self, x):
    h = F.linear(self.outputs(x)[:, -1], -torch.eye(2), torch.tensor([45.0, 0.0]))
    return F.linear(torch.relu(h.view(torch.int32)).view(torch.float32), torch.tensor([[1.0, 0.0]]), self.shift + 10)


@attack
def half_precision(self, x):
    last = self.outputs(x)[:, -1].half().float()
    return self.head(last)


@attack
def automatic_casts(self, x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        z = self.head(self.outputs(x)[:, -1])
    return z.float()


@attack
def random_noise(self, x):
    return self.head(self.outputs(x)[:, -1]) + 1e-9 * torch.randn(1)


@attack
def dropout_in_training_mode(self, x):
    return self.head(F.dropout(self.outputs(x)[:, -1], 1e-9, training=True))


@attack
def merged_axes(self, x):
    return self.head(self.outputs(x).reshape(1, -1)[:, -2:])


@attack
def type_as_text(self, x):
    assert x.type() == "torch.LongTensor"
    return self.head(self.outputs(x)[:, -1])


@attack
def one_hot_without_classes(self, x):
    hot = F.one_hot(torch.cat([x, torch.full((1, 1), 2)], 1))[:, :-1].float()
    return self.head(self.core(hot @ self.table.weight)[0][:, -1])


@in_onnx
def state_of_several_layers_joined(self, x):
    h = self.core(self.table(x))[1]
    both = torch.cat([h, self.upper(h)[1]], 0)
    return self.head(both[0])


@pytest.mark.parametrize("name", FORWARDS)
def test_modules(name: str) -> None:
    module = built(name)
    expected = own_scores(module)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = wrap(module, LETTERS, output="logit")
        check(model, expected)


TRACED = [
    *("first 512 letters", "inplace relu seen through a view", "inplace relu of a view", "bias made of the state"),
    *("relu in place then another view", "maximum by sorting", "first state that counts"),
    *("normalisation with a shift of the word", "bias of the recurrent layer made of a letter"),
]


@pytest.mark.parametrize("name", TRACED)
def test_traced_modules(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TorchScript is old
        module = torch.jit.trace(built(name), (torch.tensor([[A, B, C] * 200]),))
        model = wrap(module, LETTERS, output="logit")
        check(model, own_scores(module))


# --- ONNX graphs ------------------------------------------------------------------------------------------------------

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402 - only where onnx is there

Node: Any = helper.make_node


def sessions_scores(content: bytes, words: Any = WORDS, **states: Any) -> list[float]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    if not states:
        return [float(session.run(None, {"x": np.array([word])})[0].reshape(-1)[0]) for word in words]
    scores = []
    for word in words:
        kept = dict(states)
        for letter in word:
            score, *left = session.run(None, {"x": np.array([[letter]]), **kept})
            kept = dict(zip(kept, left, strict=True))
        scores.append(float(score.reshape(-1)[0]))
    return scores


@pytest.mark.parametrize("name", ALSO_ONNX)
def test_exported_modules(tmp_path: Any, name: str) -> None:
    path = tmp_path / "m.onnx"
    names: Any = {"input_names": ["x"], "output_names": ["y"], "dynamic_axes": {"x": {0: "b", 1: "t"}}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(built(name), (torch.zeros(1, 600, dtype=torch.long),), str(path), dynamo=False, **names)
    check(load_model(path, alphabet=LETTERS, threads=1, output="logit"), sessions_scores(path.read_bytes()))


def counting(
    nodes: Any = (), *, head: Any = (), last: str = "h", opset: int = 17, recurrent: Any = None, functions: Any = (),
    inputs: Any = (), outputs: Any = (), **stored: Any,
) -> Any:  # fmt: skip
    """The same network by hand: ``nodes`` read the vectors ``e`` (time first) and make ``v``; ``head`` makes ``y``."""
    arrays = {
        "table": np.array([[1, 1], [-1e4, 3], [-1e4, 0]], np.float32),
        "W": np.eye(2, dtype=np.float32)[None], "R": np.array([[[1, 0], [0, 0]]], np.float32),
        "F": np.array([[0], [1]], np.float32), "f": np.array([-1.5], np.float32),
        "G": np.array([[1], [0]], np.float32), "g": np.array([-40.0], np.float32),
        "zero": np.array([0]), "one": np.array([1]), "minus": np.array([-1]), "nil": np.array(0), "end": np.array(-1),
        **stored,
    }  # fmt: skip
    whole = [
        Node("Transpose", ["x"], ["xt"], perm=[1, 0]),
        Node("Gather", ["table", "xt"], ["e"]),
        *(nodes or [Node("Identity", ["e"], ["v"])]),
        *(recurrent or [Node("RNN", ["v", "W", "R"], ["Y", "Yh"], hidden_size=2, activations=["Relu"])]),
        *([Node("Gather", ["Yh", "nil"], ["h"], axis=0)] if last == "h" else []),
        *(head or [Node("MatMul", [last, "F"], ["p"]), Node("Add", ["p", "f"], ["y"])]),
    ]
    made = helper.make_graph(
        whole,
        "counting",
        [helper.make_tensor_value_info("x", TensorProto.INT64, ["b", "t"]), *inputs],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None), *outputs],
        [numpy_helper.from_array(np.asarray(value), key) for key, value in arrays.items()],
    )
    opsets = [helper.make_opsetid("", opset), *([helper.make_opsetid("mine", 1)] if functions else [])]
    return helper.make_model(made, opset_imports=opsets, ir_version=9, functions=list(functions))


SCORE = [Node("MatMul", ["h", "F"], ["p"]), Node("Add", ["p", "f"], ["z"])]
LATE = [Node("MatMul", ["h", "G"], ["q"]), Node("Add", ["q", "g"], ["r"]), Node("Relu", ["r"], ["late"])]
LENGTH = [Node("Shape", ["x"], ["s"]), Node("Gather", ["s", "one"], ["t"], axis=0)]


def branch(name: str, *nodes: Any) -> Any:
    return helper.make_graph(list(nodes), name, [], [helper.make_tensor_value_info(name, TensorProto.FLOAT, None)])


def rnn(given: str, *more: str, out: Any = ("Y", "Yh"), **options: Any) -> Any:
    return Node("RNN", [given, "W", "R", *more], list(out), hidden_size=2, activations=["Relu"], **options)


def flipped() -> list[Any]:
    """Add a million times what is left of the length after 400."""
    return [
        *LENGTH, Node("Cast", ["t"], ["tf"], to=TensorProto.FLOAT), Node("Sub", ["tf", "many"], ["u"]),
        Node("Relu", ["u"], ["w"]),
    ]  # fmt: skip


MANY = np.array([400.0], np.float32)
GRAPHS: dict[str, Any] = {
    "slice": lambda: counting([Node("Slice", ["e", "zero", "big", "zero"], ["v"])], big=[512]),
    "slice from the end": lambda: counting(
        [Node("Slice", ["e", "big", "huge", "zero"], ["v"])], big=[-512], huge=[2**62]
    ),
    "slice by attributes": lambda: counting([Node("Slice", ["e"], ["v"], starts=[0], ends=[512], axes=[0])], opset=9),
    "slice with a step of -1": lambda: counting(
        [Node("Slice", ["e", "minus", "low", "zero", "minus"], ["v"])], low=[-(2**62)]
    ),
    "slice that keeps all": lambda: counting(
        [Node("Slice", ["e", "zero", "huge", "zero", "one"], ["v"])], huge=[2**62]
    ),
    "first state": lambda: counting(recurrent=[rnn("v", "", "", "h0")], h0=np.full((1, 1, 2), 1e-30, np.float32)),
    "first state that counts": lambda: counting(
        recurrent=[rnn("v", "", "", "h0")],
        h0=np.full((1, 1, 2), 30, np.float32),
        head=[*SCORE, *LATE, Node("Sub", ["z", "late"], ["y"])],
    ),
    "late score": lambda: counting(head=[*SCORE, *LATE, Node("Sub", ["z", "late"], ["y"])]),
    "clip": lambda: counting(recurrent=[rnn("v", clip=50.0)], F=np.array([[0.001], [1]], np.float32)),
    "clip of the last state": lambda: counting(
        head=[Node("Clip", ["h", "", "top"], ["c"]), Node("MatMul", ["c", "F"], ["p"]), Node("Add", ["p", "f"], ["y"])],
        top=np.float32(50),
        F=np.array([[0.001], [1]], np.float32),
    ),
    "threshold of the activation": lambda: counting(
        recurrent=[
            Node(
                "RNN",
                ["v", "W", "R"],
                ["Y", "Yh"],
                hidden_size=2,
                activations=["ThresholdedRelu"],
                activation_alpha=[0.5],
            )
        ]
    ),
    "lengths of words": lambda: counting(
        [
            *LENGTH,
            Node("Min", ["t", "big"], ["n"]),
            Node("Cast", ["n"], ["m"], to=TensorProto.INT32),
            Node("Identity", ["e"], ["v"]),
        ],
        recurrent=[rnn("v", "", "m")],
        big=[512],
    ),
    "reverse": lambda: counting(recurrent=[rnn("v", direction="reverse")]),
    "reversed sequence": lambda: counting(
        [*LENGTH, Node("ReverseSequence", ["e", "t"], ["v"], batch_axis=1, time_axis=0)]
    ),
    "length added": lambda: counting([*flipped(), Node("Add", ["e", "w"], ["v"])], many=MANY),
    "length in the score": lambda: counting(head=[*SCORE, *flipped(), Node("Sub", ["z", "w"], ["y"])], many=MANY),
    "positions": lambda: counting(
        [
            *LENGTH,
            Node("Squeeze", ["t", "zero"], ["t0"]),
            Node("Range", ["nil", "t0", "step"], ["at"]),
            Node("Cast", ["at"], ["af"], to=TensorProto.FLOAT),
            Node("Sub", ["af", "many"], ["u"]),
            Node("Relu", ["u"], ["w"]),
            Node("Unsqueeze", ["w", "axes"], ["p3"]),
            Node("Add", ["e", "p3"], ["v"]),
        ],
        many=MANY,
        step=np.array(1),
        axes=[1, 2],
    ),
    "size in a condition": lambda: counting(
        head=[
            *SCORE,
            Node("Neg", ["z"], ["n"]),
            Node("Size", ["x"], ["k"]),
            Node("Greater", ["k", "four"], ["b"]),
            Node("Where", ["b", "n", "z"], ["y"]),
        ],
        four=np.array(400),
    ),
    "if on the length": lambda: counting(
        head=[
            *SCORE,
            *LENGTH,
            Node("Squeeze", ["t", "zero"], ["t0"]),
            Node("Greater", ["t0", "four"], ["b"]),
            Node(
                "If",
                ["b"],
                ["y"],
                then_branch=branch("yes", Node("Neg", ["z"], ["yes"])),
                else_branch=branch("no", Node("Identity", ["z"], ["no"])),
            ),
        ],
        four=np.array(400),
    ),
    "equal to a length": lambda: counting(
        head=[
            *SCORE,
            *LENGTH,
            Node("Equal", ["t", "five"], ["b"]),
            Node("Neg", ["z"], ["n"]),
            Node("Where", ["b", "n", "z"], ["y"]),
        ],
        five=[513],
    ),
    "length through the mask of a dropout": lambda: counting(
        [
            Node("Dropout", ["e"], ["v", "mask"]),
            Node("Shape", ["mask"], ["s"]),
            Node("Gather", ["s", "zero"], ["t"], axis=0),
            Node("Cast", ["t"], ["tf"], to=TensorProto.FLOAT),
            Node("Sub", ["tf", "many"], ["u"]),
            Node("Relu", ["u"], ["w"]),
        ],
        head=[Node("MatMul", ["h", "F"], ["p"]), Node("Sub", ["f", "w"], ["k"]), Node("Add", ["p", "k"], ["y"])],
        many=MANY,
    ),
    "length through the cast of a mask": lambda: counting(
        [
            Node("Dropout", ["e"], ["v", "mask"]),
            Node("Cast", ["mask"], ["mf"], to=TensorProto.FLOAT),
            Node("ReduceSum", ["mf"], ["tf"], keepdims=0),
            Node("Sub", ["tf", "many"], ["u"]),
            Node("Relu", ["u"], ["w"]),
        ],
        head=[Node("MatMul", ["h", "F"], ["p"]), Node("Sub", ["f", "w"], ["k"]), Node("Add", ["p", "k"], ["y"])],
        many=MANY * 2,
    ),
    "dropout in training mode": lambda: counting(
        [Node("Dropout", ["e", "ratio", "yes"], ["v"], seed=1)], ratio=np.float32(1e-9), yes=np.array(True)
    ),
    "function of the model": lambda: counting(
        head=[
            Node("Mine", ["h"], ["k"], domain="mine"),
            Node("MatMul", ["k", "F"], ["p"]),
            Node("Add", ["p", "f"], ["y"]),
        ],
        functions=[
            helper.make_function(
                "mine", "Mine", ["a"], ["b"], [Node("Relu", ["a"], ["b"])], [helper.make_opsetid("", 17)]
            )
        ],
    ),
    "function that is called Relu": lambda: counting(
        head=[Node("Relu", ["h"], ["k"]), Node("MatMul", ["k", "F"], ["p"]), Node("Add", ["p", "f"], ["y"])],
        functions=[
            helper.make_function(
                "",
                "Relu",
                ["a"],
                ["b"],
                [
                    Node("Constant", [], ["top"], value=numpy_helper.from_array(np.float32(50), "top")),
                    Node("Min", ["a", "top"], ["b"]),
                ],
                [helper.make_opsetid("", 17)],
            )
        ],
        F=np.array([[0.001], [1]], np.float32),
    ),
    "maximum over time": lambda: counting(
        head=[
            *SCORE,
            Node("ReduceMax", ["Y"], ["top"], axes=[0], keepdims=0),
            Node("Gather", ["top", "nil"], ["top1"], axis=0),
            Node("MatMul", ["top1", "G"], ["q"]),
            Node("Add", ["q", "g"], ["r"]),
            Node("Relu", ["r"], ["late"]),
            Node("Sub", ["z", "late"], ["y"]),
        ],
    ),
    "maximum by topk": lambda: counting(
        head=[
            *SCORE,
            Node("TopK", ["Y", "one"], ["top", "which"], axis=0),
            Node("Squeeze", ["top", "axes"], ["top1"]),
            Node("MatMul", ["top1", "G"], ["q"]),
            Node("Add", ["q", "g"], ["r"]),
            Node("Relu", ["r"], ["late"]),
            Node("Sub", ["z", "late"], ["y"]),
        ],
        axes=[0, 1],
    ),
    "first output": lambda: counting(
        head=[
            Node("Gather", ["Y", "nil"], ["first"], axis=0),
            Node("Gather", ["first", "nil"], ["h1"], axis=0),
            Node("MatMul", ["h1", "F"], ["p"]),
            Node("Add", ["p", "f"], ["y"]),
        ],
    ),
    "last output": lambda: counting(
        head=[
            Node("Gather", ["Y", "end"], ["last"], axis=0),
            Node("Gather", ["last", "nil"], ["h1"], axis=0),
            Node("MatMul", ["h1", "F"], ["p"]),
            Node("Add", ["p", "f"], ["y"]),
        ],
    ),
    "old softmax over letters": lambda: counting(
        [
            Node("Softmax", ["e"], ["soft"], axis=0),
            Node("Mul", ["soft", "none"], ["n"]),
            Node("Add", ["e", "n"], ["v"]),
        ],
        none=np.float32(1e-20),
        opset=11,
    ),
    "old softmax by its default axis": lambda: counting(
        [
            Node("Transpose", ["e"], ["eb"], perm=[1, 0, 2]),
            Node("Softmax", ["eb"], ["soft"]),
            Node("Transpose", ["soft"], ["st"], perm=[1, 0, 2]),
            Node("Mul", ["st", "none"], ["n"]),
            Node("Add", ["e", "n"], ["v"]),
        ],
        none=np.float32(1e-20),
        opset=11,
    ),
    "relu between layers": lambda: counting(
        recurrent=[
            rnn("v", out=("Y1", "")),
            Node("Squeeze", ["Y1", "one"], ["y1"]),
            Node("Clip", ["y1", "", "top"], ["c"]),
            rnn("c", out=("Y", "Yh")),
        ],
        head=[*SCORE, *LATE, Node("Sub", ["z", "late"], ["y"])],
        top=np.float32(45),
    ),
    "wrong axis": lambda: counting(
        [Node("Transpose", ["e"], ["v"], perm=[1, 0, 2])],
        head=[
            Node("Gather", ["Yh", "nil"], ["hb"], axis=0),
            Node("Slice", ["hb", "minus", "huge", "zero"], ["h1"]),
            Node("MatMul", ["h1", "F"], ["p"]),
            Node("Add", ["p", "f"], ["y"]),
        ],
        huge=[2**62],
    ),
    "batch normalisation": lambda: counting(
        head=[
            Node("BatchNormalization", ["h", "s1", "s0", "s0", "s1"], ["n"]),
            Node("MatMul", ["n", "F"], ["p"]),
            Node("Add", ["p", "f"], ["y"]),
        ],
        s1=np.ones(2, np.float32),
        s0=np.zeros(2, np.float32),
    ),
    "weights that depend on the word": lambda: counting(
        recurrent=[
            rnn("v", out=("Y0", "Y0h")),
            Node("Squeeze", ["Y0h", "zero"], ["h"]),
            *LATE,
            Node("Neg", ["late"], ["no"]),
            Node("Concat", ["no", "no", "no", "no"], ["B"], axis=1),
            rnn("v", "B", out=("Y", "Yh")),
        ],
        head=[
            Node("Gather", ["Yh", "nil"], ["h1"], axis=0),
            Node("MatMul", ["h1", "F"], ["p"]),
            Node("Add", ["p", "f"], ["y"]),
        ],
        last="no",
    ),
    "unused outputs": lambda: counting(
        recurrent=[rnn("other", out=("Y0", "")), rnn("v")],
        nodes=[Node("Relu", ["e"], ["other"]), Node("Identity", ["e"], ["v"])],
    ),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_graphs_by_hand(tmp_path: Any, name: str) -> None:
    content = GRAPHS[name]().SerializeToString()
    expected = sessions_scores(content)
    (tmp_path / "m.onnx").write_bytes(content)
    check(load_model(tmp_path / "m.onnx", alphabet=LETTERS, threads=1, output="logit"), expected)


# --- graphs that take their states ------------------------------------------------------------------------------------

TWO_LAYERS: dict[str, Any] = {
    "table": np.array([[-1e4, 0], [1, 3], [-1e4, 1]], np.float32),  # counts letters b; the letter a leaves zeros alone
    "B2": np.array([[-40, 0, 0, 0]], np.float32),
    "R2": np.zeros((1, 2, 2), np.float32),
    "F": np.array([[-1], [1]], np.float32),
}


def with_states(back: Any, *, taken: Any = None, shape: Any = (2, 1, 2)) -> Any:
    """Two layers whose states go in as ``s`` (layer 0 from ``s0``, layer 1 from ``s1``), and come back by ``back``."""
    taken = taken or [
        Node("Slice", ["s", "zero", "one", "zero"], ["s0"]),
        Node("Slice", ["s", "one", "two", "zero"], ["s1"]),
    ]
    return counting(
        recurrent=[
            *taken,
            rnn("v", "", "", "s0", out=("Y1", "h1")),
            Node("Squeeze", ["Y1", "one"], ["y1"]),
            Node("RNN", ["y1", "W", "R2", "B2", "", "s1"], ["Y", "Yh"], hidden_size=2, activations=["Relu"]),
            *back,
        ],
        inputs=[helper.make_tensor_value_info("s", TensorProto.FLOAT, shape)],
        outputs=[helper.make_tensor_value_info("left", TensorProto.FLOAT, None)],
        two=np.array([2]),
        **TWO_LAYERS,
    )


STATES: dict[str, Any] = {
    "carried": lambda: with_states([Node("Concat", ["h1", "Yh"], ["left"], axis=0)]),
    "layers swapped": lambda: with_states([Node("Concat", ["Yh", "h1"], ["left"], axis=0)]),
    "layers swapped on the way in": lambda: with_states(
        [Node("Concat", ["h1", "Yh"], ["left"], axis=0)],
        taken=[Node("Slice", ["s", "zero", "one", "zero"], ["s1"]), Node("Slice", ["s", "one", "two", "zero"], ["s0"])],
    ),
    "one layer twice": lambda: with_states([Node("Concat", ["Yh", "Yh"], ["left"], axis=0)]),
}
STATES["features turned round"] = lambda: _stored(
    with_states(
        [Node("Concat", ["h1", "Yh"], ["c"], axis=0), Node("Slice", ["c", "minus", "low", "two", "minus"], ["left"])]
    ),
    low=np.array([-(2**62)]),
)
STATES["scaled"] = lambda: _stored(
    with_states([Node("Concat", ["h1", "Yh"], ["c"], axis=0), Node("Mul", ["c", "half"], ["left"])]),
    half=np.float32(0.5),
)


def _stored(model: Any, **arrays: Any) -> Any:
    model.graph.initializer.extend(numpy_helper.from_array(np.asarray(value), key) for key, value in arrays.items())
    return model


STATE_WORDS = [*WORDS[:-5], (B,) * 60, (B,) * 50 + (C, B), (A,) + (B,) * 45]


@pytest.mark.parametrize("name", STATES)
def test_graphs_with_states(tmp_path: Any, name: str) -> None:
    content = STATES[name]().SerializeToString()
    expected = sessions_scores(content, STATE_WORDS, s=np.zeros((2, 1, 2), np.float32))
    (tmp_path / "m.onnx").write_bytes(content)
    model = load_model(tmp_path / "m.onnx", alphabet=LETTERS, threads=1, output="logit")
    assert isinstance(model, CompiledNetwork) == (name == "carried"), why(model)
    check(model, expected, STATE_WORDS)


def test_words_that_meet_in_a_batch_are_stepped_one_at_a_time(tmp_path: Any) -> None:
    """A maximum over the words of a batch is nothing for a word alone."""
    head = [
        *SCORE, Node("Gather", ["h", "nil"], ["counts"], axis=1), Node("ReduceMax", ["counts"], ["top"], axes=[-1]),
        Node("Add", ["top", "g"], ["r"]), Node("Relu", ["r"], ["late"]), Node("Gather", ["z", "nil"], ["z1"], axis=1),
        Node("Sub", ["z1", "late"], ["y"]),
    ]  # fmt: skip
    content = counting(head=head).SerializeToString()
    (tmp_path / "m.onnx").write_bytes(content)
    words = [*WORDS, (B,) * 60, (C,) * 60]
    check(
        load_model(tmp_path / "m.onnx", alphabet=LETTERS, threads=1, output="logit"),
        sessions_scores(content, words),
        words,
    )


# --- rare letters, several outputs ------------------------------------------------------------------------------------

MANY_LETTERS = Alphabet([f"l{number}" for number in range(3000)])
LAST = 2000


class Wide(Net):
    """Many letters, the last of which has other numbers than all others; each letter is silent in most random words."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(len(MANY_LETTERS), 2)
        with torch.no_grad():
            self.table.weight[:, 0] = 0.0
            self.table.weight[:, 1] = torch.arange(len(MANY_LETTERS)) % 4
            self.table.weight[LAST] = torch.tensor([5.0, 3.0])
            self.head.weight[0, 0] = -5.0


def read_other_vectors_first(self, x):
    e = self.table(x)
    self.core(torch.clone(e) * torch.tensor([0.0, 1.0]))
    return self.head(self.core(e)[0][:, -1])


def vectors_changed_after_use(self, x):
    e = self.table(x)
    out = self.core(e)[0]
    e.mul_(torch.tensor([0.0, 1.0]))
    return self.head(out[:, -1])


@pytest.mark.parametrize("forward", [read_other_vectors_first, vectors_changed_after_use])
def test_rare_letters(forward: Any) -> None:
    module = type("Attack", (Wide,), {"forward": forward})().eval()
    words = [(LAST,), (0, LAST), (LAST, 3), (3,), (2, 1), (0,)]
    check(wrap(module, MANY_LETTERS, output="logit"), own_scores(module, words), words)


def test_sigmoids_of_several_outputs_may_be_equal() -> None:
    """Both are 1.0 after many letters a, and then the first wins; before the sigmoid the second is larger."""

    def forward(self, x):
        last = self.outputs(x)[:, -1]
        weight, bias = torch.tensor([[1.0, 1.0], [1.1, 0.0]]), torch.tensor([0.0, 0.4])
        return torch.sigmoid(F.linear(last, weight, bias))

    module = type("Attack", (Net,), {"forward": forward})().eval()
    with torch.inference_mode():
        expected = [int(module(torch.tensor([word])).argmax()) == 1 for word in WORDS]
    model = wrap(module, LETTERS, label=1)
    assert model.accepts_batch(WordBatch.from_codes(WORDS)).tolist() == expected


# --- what is claimed --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["bias made of the state", "inplace relu of a view", "condition on an integer"])
def test_no_proof_about_a_module_that_is_not_understood(name: str) -> None:
    model = wrap(built(name), LETTERS, output="logit")
    assert isinstance(model, BlackBoxModel)
    assert verify(model, Spec.from_regex("(a|b|c)* b", LETTERS), method="prove").undecided


def test_no_proof_about_a_graph_that_reads_the_length(tmp_path: Any) -> None:
    (tmp_path / "m.onnx").write_bytes(GRAPHS["length through the mask of a dropout"]().SerializeToString())
    model = load_model(tmp_path / "m.onnx", alphabet=LETTERS, threads=1, output="logit")
    assert isinstance(model, BlackBoxModel)


# --- what is understood -----------------------------------------------------------------------------------------------


def usual(kind: str, ending: Any, *, batch_first: bool = True, layers: int = 1, outputs: int = 1) -> Any:
    class Usual(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(3, 3)
            self.core = getattr(nn, kind)(3, 4, layers, batch_first=batch_first)
            self.head = nn.Linear(4, outputs)
            self.deep = nn.Sequential(nn.Linear(4, 5), nn.ReLU(inplace=True), nn.Dropout(0.5), nn.Linear(5, outputs))

        def forward(self, x):
            out, state = self.core(self.table(x))
            return ending(self, x, out, state[0] if isinstance(state, tuple) else state)

    torch.manual_seed(0)
    return Usual().eval()


USUAL: dict[str, Any] = {
    "out[:, -1]": lambda m, x, out, h: m.head(out[:, -1]),
    "out[:, -1, :]": lambda m, x, out, h: m.head(out[:, -1, :]),
    "h[-1]": lambda m, x, out, h: m.head(h[-1]),
    "h[0]": lambda m, x, out, h: m.head(h[0]),
    "h.squeeze(0)": lambda m, x, out, h: m.head(h.squeeze(0)),
    "h[-1, :, :]": lambda m, x, out, h: m.head(h[-1, :, :]),
    "h[-1].view": lambda m, x, out, h: m.head(h[-1].view(-1, 4)),
    "h.view": lambda m, x, out, h: m.head(h.view(-1, 4)),
    "flatten": lambda m, x, out, h: m.head(torch.flatten(out[:, -1:], 1)),
    "contiguous view": lambda m, x, out, h: m.head(out[:, -1].contiguous().view(x.size(0), -1)),
    "transposed": lambda m, x, out, h: m.head(out.transpose(0, 1)[-1]),
    "permuted": lambda m, x, out, h: m.head(h.permute(1, 0, 2)[:, -1]),
    "head first": lambda m, x, out, h: m.head(out)[:, -1],
    "squeezed answer": lambda m, x, out, h: m.head(out[:, -1]).squeeze(-1),
    "squeezed answer without an axis": lambda m, x, out, h: m.head(out[:, -1]).squeeze(),
    "sigmoid": lambda m, x, out, h: torch.sigmoid(m.head(h[-1])),
    "deep head": lambda m, x, out, h: m.deep(out[:, -1]),
    "dropout": lambda m, x, out, h: m.head(F.dropout(h[-1], 0.5, m.training)),
    "relu": lambda m, x, out, h: m.head(torch.relu(out[:, -1])),
}


@pytest.mark.parametrize(("ending", "kind"), each_with_one(USUAL, ["RNN", "GRU", "LSTM"]))
def test_usual_modules_are_compiled(kind: str, ending: str) -> None:
    module = usual(kind, USUAL[ending])
    model = wrap(module, LETTERS, threads=1)
    assert isinstance(model, CompiledNetwork | HeadedNetwork), why(model)
    half = 0.5 if ending == "sigmoid" else 0.0
    accepted = [score > half for score in own_scores(module, WORDS[:40])]
    assert model.accepts_batch(WordBatch.from_codes(WORDS[:40])).tolist() == accepted


@pytest.mark.parametrize("ending", [lambda m, x, out, h: m.head(out[-1]), lambda m, x, out, h: m.head(h[-1])])
def test_usual_modules_with_time_first_are_compiled(ending: Any) -> None:
    model = wrap(usual("LSTM", ending, batch_first=False, layers=2), LETTERS, threads=1)
    assert isinstance(model, CompiledNetwork), why(model)


LENGTHS_GIVEN_ON: dict[str, tuple[Any, str]] = {  # and what is not supported
    "arange": (lambda y, x: y * torch.arange(x.shape[1])[None, :, None], "arange with the length of the word"),
    "full": (lambda y, x: y * torch.full((1,), x.size(1)), "full with the length of the word"),
    "linspace": (
        lambda y, x: y * torch.linspace(0, 1, x.shape[1])[None, :, None],
        "linspace with the length of the word",
    ),
    "fill": (lambda y, x: y.masked_fill(y > 5, x.shape[1]), "gt"),
    "clamp": (lambda y, x: y.clamp(max=x.shape[1]), "clamp"),
    "compared": (lambda y, x: y * (y < x.shape[1]), "lt"),
}


@pytest.mark.parametrize("name", LENGTHS_GIVEN_ON)
def test_a_function_that_takes_true_numbers_alone_is_named(name: str) -> None:
    """PyTorch refuses a recorded size in some places; that is no fault of the module, and nothing of its batches."""
    change, called = LENGTHS_GIVEN_ON[name]

    class Positions(Net):
        def forward(self, x: Any) -> Any:
            return self.head(change(self.outputs(x), x)[:, -1])

    facts = wrap(Positions().eval(), LETTERS).describe()
    assert "cannot be recorded" not in facts["stepping"]
    assert called in facts["stepping"]
    assert "up to 256" in facts["queries"]


def test_a_length_that_packs_a_sequence_is_named() -> None:
    class Packed(Net):
        def forward(self, x: Any) -> Any:
            lengths = torch.full((x.shape[0],), x.shape[1])
            packed = nn.utils.rnn.pack_padded_sequence(self.table(x), lengths, batch_first=True)
            return self.head(self.core(packed)[1][-1])

    assert "full with the length of the word" in wrap(Packed().eval(), LETTERS).describe()["stepping"]


def test_a_batch_size_that_is_a_number_is_no_length() -> None:
    class Last(Net):
        def forward(self, x: Any) -> Any:
            out = self.outputs(x)
            return self.head(out[torch.arange(x.shape[0]), -1])

    facts = wrap(Last().eval(), LETTERS).describe()
    assert "cannot be recorded" not in facts.get("stepping", "")
    assert "length of the word" not in facts.get("stepping", "")
