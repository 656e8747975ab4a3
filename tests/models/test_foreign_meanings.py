"""Foreign models whose parts are not what their names or their numbers say, found by a second attack."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rnncheck import InputError
from rnncheck.models.black_box import BlackBoxModel
from rnncheck.models.engine.mlp_head import HeadedNetwork
from rnncheck.models.files.loading import load_model
from rnncheck.models.network import Cell, Layer, RecurrentNetwork
from rnncheck.models.wrapping import wrap
from rnncheck.proofs.abstract_network import AbstractNetwork
from rnncheck.words import Alphabet, WordBatch

torch = pytest.importorskip("torch")
onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402 - only where onnx is there
from torch.overrides import handle_torch_function, has_torch_function_unary  # noqa: E402 - only where torch is there
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

nn: Any = torch.nn
F: Any = torch.nn.functional
LETTERS = Alphabet(["a", "b", "c"])
A, B, C = range(3)
WORDS: list[tuple[int, ...]] = [(A,), (B,), (C,), (A, B), (B, A, C), (A,) * 30, (A,) * 41, (A,) * 60, (A,) * 60 + (B,)]
FIXED = 0.6590460684074066  # the sigmoid of this number is the number itself


class Counter(nn.Module):
    """Its first number counts letters ``a`` at the end, the second says what the last letter is, the third is late."""

    def __init__(self, ending: Any) -> None:
        super().__init__()
        self.ending = ending
        self.table = nn.Embedding.from_pretrained(torch.tensor([[1.0, 1.0], [-1e4, 3.0], [-1e4, 0.0]]))
        self.core = nn.RNN(2, 2, nonlinearity="relu", batch_first=True)
        self.upper = nn.RNN(2, 3, nonlinearity="relu", batch_first=True)  # the third is positive after 40 letters a
        self.head = nn.Linear(3, 1)
        with torch.no_grad():
            for part in (self.core, self.upper, self.head):
                for parameter in part.parameters():
                    parameter.zero_()
            self.core.weight_ih_l0.copy_(torch.eye(2))
            self.core.weight_hh_l0[0, 0] = 1.0
            self.upper.weight_ih_l0.copy_(torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]))
            self.upper.bias_ih_l0[2] = -40.0
            self.head.weight[0, 1] = 1.0
            self.head.bias.fill_(-1.5)

    def forward(self, x):
        return self.ending(self, self.upper(self.core(self.table(x))[0])[0][:, -1])


def outputs_of(module: Any) -> list[Any]:
    with torch.inference_mode():
        return [module(torch.tensor([word])).reshape(-1).numpy() for word in WORDS]


def check(model: Any, accepted: list[bool]) -> None:
    assert model.accepts_batch(WordBatch.from_codes(WORDS)).tolist() == accepted
    assert [model.reference_answer(word) for word in WORDS] == accepted


def exported(module: Any, path: Path) -> Any:
    names: Any = {"input_names": ["x"], "output_names": ["y"], "dynamic_axes": {"x": {0: "b", 1: "t"}}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module, (torch.zeros(1, 9, dtype=torch.long),), str(path), dynamo=False, **names)
    return load_model(path, alphabet=LETTERS, threads=1)


# --- what the last function is ----------------------------------------------------------------------------------------


def usually_a_fixed_point(self, h):
    return torch.sigmoid(F.linear(h, torch.tensor([[0.0, 0.0, -1.0]]), torch.tensor([FIXED])))


def softmax_of_one_number(self, h):
    return torch.softmax(self.head(h), -1)


def logarithm_of_the_softmax_of_one_number(self, h):
    return torch.log_softmax(self.head(h), -1)


def picked_after_the_sigmoid(self, h):
    weight = torch.tensor([[0.0, 0.0, -1.0], [0.0, 0.0, -1.0]])
    return torch.sigmoid(F.linear(h, weight, torch.tensor([FIXED, FIXED])))[:, :1]


@pytest.mark.parametrize("kind", ["module", "graph"])
@pytest.mark.parametrize(
    "ending",
    [
        *(usually_a_fixed_point, softmax_of_one_number, logarithm_of_the_softmax_of_one_number),
        picked_after_the_sigmoid,
    ],
)
def test_the_last_function_is_known_by_its_name(tmp_path: Any, kind: str, ending: Any) -> None:
    """Numbers alone may fit several functions: where the logit is 0.659, so is its sigmoid."""
    module = Counter(ending).eval()
    model = wrap(module, LETTERS, threads=1) if kind == "module" else exported(module, tmp_path / "m.onnx")
    check(model, [bool(output[0] > 0.5) for output in outputs_of(module)])


def test_a_softmax_of_equal_numbers_is_compiled() -> None:
    """Where the numbers before it are near 0, it is the sigmoid of each as well, and it was taken for that."""

    def ending(self, h):
        return torch.softmax(F.linear(h, torch.tensor([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]])), -1)

    module = Counter(ending).eval()
    model = wrap(module, LETTERS, threads=1, label=1)
    assert not isinstance(model, BlackBoxModel), model.describe()["stepping"]
    check(model, [int(output.argmax()) == 1 for output in outputs_of(module)])


def test_no_proof_rests_on_a_lead_that_softmax_makes_a_tie() -> None:
    """The label's logit leads by 10⁻⁹, and softmax in float32 puts out 0.5 twice: the first label wins."""
    one = np.ones((1, 1), np.float32)
    network = RecurrentNetwork(
        alphabet=LETTERS, cell=Cell.RNN_RELU, inputs=np.ones((3, 1), np.float32), layers=(Layer(one, 0 * one),),
        head_weight=np.zeros((2, 1), np.float32), head_bias=np.array([0, 1e-9], np.float32), label=1,
    )  # fmt: skip
    abstract = AbstractNetwork(network)
    assert not (abstract.margin(abstract.step(abstract.initial)[:, 0], True) > 0).any()


# --- linear layers one after another ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["module", "graph"])
def test_two_linear_layers_round_as_two(tmp_path: Any, kind: str) -> None:
    """After many letters a float32 loses the number that decides; one layer in their place would keep it."""

    def ending(self, h):
        both = F.linear(h, torch.tensor([[1e6, 1.0, 0.0], [1e6, 0.0, 0.0]]))
        return F.linear(both, torch.tensor([[1.0, -1.0]]), torch.tensor([-0.5]))

    module = Counter(ending).eval()
    model = wrap(module, LETTERS, threads=1) if kind == "module" else exported(module, tmp_path / "m.onnx")
    assert isinstance(model, HeadedNetwork), model.describe()
    accepted = [bool(output[0] > 0) for output in outputs_of(module)]
    assert not accepted[WORDS.index((A,) * 60)]
    check(model, accepted)


# --- whose code runs --------------------------------------------------------------------------------------------------


class Clamping(torch.Tensor):  # type: ignore[name-defined]
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        with torch._C.DisableTorchFunctionSubclass():
            plain = [part.as_subclass(torch.Tensor) if isinstance(part, cls) else part for part in args]
            if func is F.linear or getattr(func, "__name__", "") == "linear":
                plain[0] = plain[0].clamp(max=40.0)
            return func(*plain, **(kwargs or {}))


class ClampsRelu(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return args[0].clamp(0.0, 40.0) if func is torch.ops.aten.relu.default else func(*args, **(kwargs or {}))


def relu(h: Any) -> Any:
    """A function of a library of somebody else, which takes part in PyTorch's protocol."""
    return handle_torch_function(relu, (h,), h) if has_torch_function_unary(h) else h.clamp(0.0, 40.0)


WEIGHT = torch.tensor([[0.1, 1.0, 0.0]])


def a_tensor_of_its_own_kind(self, h):
    return F.linear(h, self.special, torch.tensor([-5.5]))


def a_mode_of_its_own(self, h):
    with ClampsRelu():
        h = torch.relu(h)
    return F.linear(h, self.plain, torch.tensor([-5.5]))


def a_function_called_relu(self, h):
    return F.linear(relu(h), self.plain, torch.tensor([-5.5]))


@pytest.mark.parametrize("ending", [a_tensor_of_its_own_kind, a_mode_of_its_own, a_function_called_relu])
def test_foreign_code_in_the_place_of_a_function_is_not_understood(ending: Any) -> None:
    module = Counter(ending).eval()
    module.plain, module.special = WEIGHT, WEIGHT.as_subclass(Clamping)
    model = wrap(module, LETTERS, output="logit", threads=1)
    assert isinstance(model, BlackBoxModel)
    accepted = [bool(output[0] > 0) for output in outputs_of(module)]
    assert not any(accepted)
    check(model, accepted)


# --- how functions are called -----------------------------------------------------------------------------------------

BY_NAME: dict[str, Any] = {
    "linear": lambda m, h: F.linear(input=h, weight=m.head.weight, bias=m.head.bias),
    "tanh": lambda m, h: m.head(torch.tanh(input=h)),
    "sigmoid": lambda m, h: torch.sigmoid(input=m.head(h)),
    "flatten": lambda m, h: m.head(torch.flatten(input=h, start_dim=1)),
    "dropout": lambda m, h: m.head(F.dropout(input=h, p=0.5, training=m.training)),
    "softmax by numpy's name": lambda m, h: m.head(torch.softmax(h, axis=1)),
    "unsqueeze by numpy's name": lambda m, h: m.head(torch.unsqueeze(h, axis=0)[0]),
    "squeeze by numpy's name": lambda m, h: m.head(h.unsqueeze(1).squeeze(axis=1)),
}


@pytest.mark.parametrize("name", BY_NAME)
def test_arguments_by_name_are_understood(name: str) -> None:
    module = Counter(BY_NAME[name]).eval()
    model = wrap(module, LETTERS, threads=1)
    assert not isinstance(model, BlackBoxModel), model.describe()["stepping"]
    half = 0.5 if name == "sigmoid" else 0.0
    check(model, [bool(output[0] > half) for output in outputs_of(module)])


def test_arguments_in_an_odd_form_are_no_crash() -> None:
    module = Counter(lambda m, h: m.head(torch.cat(tensors=[h], dim=torch.tensor(1)))).eval()
    check(wrap(module, LETTERS, threads=1), [bool(output[0] > 0) for output in outputs_of(module)])


# --- graphs -----------------------------------------------------------------------------------------------------------


def test_a_dropout_of_constants_draws_random_numbers(tmp_path: Any) -> None:
    """It drops one of a thousand, so that no random word need show it."""
    arrays = {
        "table": np.array([[1, 1], [-1e4, 3], [-1e4, 0]], np.float32), "W": np.eye(2, dtype=np.float32)[None],
        "R": np.zeros((1, 2, 2), np.float32), "F": np.array([[0], [1]], np.float32), "f": np.array([-1.5], np.float32),
        "ratio": np.float32(1e-9), "yes": np.array(True), "nil": np.array(0),
    }  # fmt: skip
    nodes = [
        helper.make_node("Transpose", ["x"], ["xt"], perm=[1, 0]),
        helper.make_node("Gather", ["table", "xt"], ["e"]),
        helper.make_node("RNN", ["e", "W", "R"], ["", "Yh"], hidden_size=2),
        helper.make_node("Gather", ["Yh", "nil"], ["h"], axis=0),
        helper.make_node("Dropout", ["f", "ratio", "yes"], ["dropped"], seed=1),
        helper.make_node("MatMul", ["h", "F"], ["p"]),
        helper.make_node("Add", ["p", "dropped"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.INT64, ["b", "t"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in arrays.items()],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    facts = load_model(tmp_path / "m.onnx", alphabet=LETTERS, threads=1, output="logit").describe()
    assert facts["compiling"] == "not possible: its operator Dropout draws random numbers"


def test_an_addition_to_a_probability_is_no_linear_layer(tmp_path: Path) -> None:
    """Should take 0.9 p + 0.05 for a probability, by its range, as the module's own graph has no logit there."""
    rng = np.random.default_rng(0)
    arrays = {
        "W": rng.normal(size=(1, 4, 3)).astype(np.float32), "R": rng.normal(size=(1, 4, 4)).astype(np.float32),
        "H": rng.normal(size=(4, 1)).astype(np.float32), "last": np.array(-1),
        "most": np.array(0.9, np.float32), "least": np.array(0.05, np.float32),
    }  # fmt: skip
    node = helper.make_node
    nodes = [
        node("RNN", ["x", "W", "R"], ["s"], hidden_size=4), node("Gather", ["s", "last"], ["t"], axis=0),
        node("Gather", ["t", "last"], ["u"], axis=0), node("MatMul", ["u", "H"], ["z"]),
        node("Sigmoid", ["z"], ["p"]), node("Mul", ["p", "most"], ["q"]), node("Add", ["q", "least"], ["y"]),
    ]  # fmt: skip
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["t", "b", 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, name) for name, value in arrays.items()],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    facts = load_model(tmp_path / "m.onnx", alphabet=LETTERS, threads=1).describe()
    assert facts["output"] == "probability"
    assert any("by its range" in note for note in facts["notes"])


# --- alphabets of the model itself ------------------------------------------------------------------------------------


def test_the_ids_of_a_module_count_where_its_letters_are_given_too() -> None:
    module = Counter(lambda m, h: m.head(h)).eval()
    module.alphabet = {"a": 2, "b": 1, "c": 0}
    model = wrap(module, ["a", "b", "c"], threads=1)
    words = [(A,), (B,), (C,), (A, A, A)]
    ids = [[module.alphabet["abc"[code]] for code in word] for word in words]
    with torch.inference_mode():
        expected = [float(module(torch.tensor([word]))) for word in ids]
    assert np.allclose(model.scores_batch(WordBatch.from_codes(words)), expected, atol=1e-5)
    with pytest.raises(InputError, match="other ids"):
        wrap(module, {"a": 0, "b": 1, "c": 2}, threads=1)
