"""A digest of everything that answers depend on: of data always, of code where its owner gives it a fingerprint."""

import functools
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from rnncheck import load_model, repair, robust, verify, wrap, wrap_steps
from rnncheck.errors import InputError, ModelError
from rnncheck.models.adapters import DFAModel, complement
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.fingerprint import digest_of
from rnncheck.models.labelled import LabelledNetwork
from rnncheck.models.protocol import Model
from rnncheck.models.traces import trace_model
from rnncheck.spec import Spec
from rnncheck.verification.label_questions import label_spec
from rnncheck.verification.verify_settings import VerifySettings
from support.networks import random_network

LETTERS = ["a", "b", "c"]


def answers(words: list[tuple[str, ...]]) -> list[float]:
    return [len(word) / (1 + len(word)) for word in words]


class Net(nn.Module):
    """Compiled where ``factor`` is 1, called on whole words otherwise, and code in either case."""

    def __init__(self, factor: float = 1.0) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.e, self.r, self.l = nn.Embedding(3, 4), nn.GRU(4, 5, batch_first=True), nn.Linear(5, 1)
        self.factor = factor

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = self.l(self.r(self.e(x))[0][:, -1])
        return out if self.factor == 1.0 else torch.as_tensor(out.flip(0) * self.factor).flip(0)


def layers() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Embedding(3, 4), nn.Flatten(1), nn.AdaptiveAvgPool1d(1))


def initial(rows: int) -> np.ndarray:
    return np.zeros((rows, 1))


def step(states: np.ndarray, letters: np.ndarray) -> np.ndarray:
    return 0.5 * states + letters[:, None] - 1.0


def score(states: np.ndarray) -> np.ndarray:
    return states[:, 0] + 0.1


class Own(DFAModel):
    """A user's own kind of model, which is code."""

    fingerprint = Model.fingerprint


CODE: dict[str, Callable[..., Model]] = {
    "function": lambda **more: wrap(answers, LETTERS, **more),
    "lambda": lambda **more: wrap(lambda words: answers(words), LETTERS, **more),
    "partial": lambda **more: wrap(functools.partial(answers), LETTERS, **more),
    "compiled module": lambda **more: wrap(Net(), LETTERS, **more),
    "module called on words": lambda **more: wrap(Net(2.0), LETTERS, **more),
    "layers of PyTorch": lambda **more: wrap(layers(), LETTERS, output="logit", **more),
    "encode": lambda **more: wrap(Net(), LETTERS, encode=encoded, **more),
    "steps": lambda **more: wrap_steps(initial, step, score, LETTERS, **more),
    "steps with whole words": lambda **more: wrap_steps(initial, step, score, LETTERS, whole_words=whole, **more),
    "markers": lambda **more: wrap(answers, LETTERS, before="a", **more),
}


def encoded(words: list[tuple[str, ...]]) -> torch.Tensor:
    return torch.tensor([["abc".index(letter) for letter in word] for word in words], dtype=torch.int64)


def whole(words: list[tuple[str, ...]]) -> list[float]:
    found = []
    for word in words:
        states = initial(1)
        for letter in word:
            states = step(states, np.array(["abc".index(letter)]))
        found.append(float(score(states)[0]))
    return found


@pytest.mark.parametrize("kind", CODE)
def test_code_has_a_digest_only_with_a_fingerprint(kind: str) -> None:
    """Should say how to give it one, and tell apart models of different ones."""
    with pytest.raises(ModelError, match=r"cannot be seen; give the model a fingerprint.*wrap_steps.*property file"):
        CODE[kind]().fingerprint()
    first, again, other = (CODE[kind](fingerprint=given) for given in ("1", "1", "2"))
    assert first.fingerprint() == again.fingerprint() != other.fingerprint()
    assert complement(first).fingerprint() != first.fingerprint()
    assert (
        first.by_reference().fingerprint() == again.by_reference().fingerprint() != other.by_reference().fingerprint()
    )


def test_a_fingerprint_may_be_an_attribute() -> None:
    """As the alphabet and the labels may: what --module names has no other place for it."""

    def own(words: list[tuple[str, ...]]) -> list[bool]:
        return [True for _ in words]

    setattr(own, "fingerprint", "1")  # noqa: B010
    module = Net()
    module.fingerprint = "1"  # type: ignore[assignment]
    assert wrap(own, LETTERS).fingerprint() == wrap(own, LETTERS, fingerprint="1").fingerprint()
    assert wrap(own, LETTERS).fingerprint() != wrap(own, LETTERS, fingerprint="2").fingerprint()
    assert wrap(module, LETTERS).fingerprint() == wrap(Net(), LETTERS, fingerprint="1").fingerprint()
    other = Net()
    other.register_buffer("fingerprint", torch.zeros(1))  # something else of that name
    with pytest.raises(ModelError, match="give the model a fingerprint"):
        wrap(other, LETTERS).fingerprint()


@pytest.mark.parametrize("given", ["", 3, b"1", ["1"]])
def test_a_fingerprint_is_a_text(given: Any) -> None:
    for kind in ("function", "compiled module", "steps"):
        with pytest.raises(InputError, match="give a text that you change with the model"):
            CODE[kind](fingerprint=given)
    with pytest.raises(InputError, match="give the fingerprint where it is wrapped"):
        wrap(wrap(answers, LETTERS), fingerprint="1")


def test_what_can_be_seen_counts_beside_a_fingerprint() -> None:
    """Other weights, another decision or other letters are another model, whatever its owner says of it."""
    module = Net()
    known = {
        wrap(module, LETTERS, fingerprint="1").fingerprint(),
        wrap(module.train(), LETTERS, fingerprint="1").fingerprint(),
    }
    assert len(known) == 1
    known.add(wrap(module, LETTERS, fingerprint="1", threshold=0.6).fingerprint())
    known.add(wrap(module, ["a", "c", "b"], fingerprint="1").fingerprint())
    with torch.no_grad():
        module.l.bias.add_(1.0)
    known.add(wrap(module, LETTERS, fingerprint="1").fingerprint())
    assert len(known) == 4
    of_functions = [wrap(answers, LETTERS, fingerprint="1", **more) for more in ({}, {"threshold": 0.4})]
    of_functions.append(wrap(answers, ["a", "b"], fingerprint="1"))
    assert len({model.fingerprint() for model in of_functions}) == 3


@pytest.mark.parametrize(
    "value",
    [
        answers,
        lambda: 0,
        Net(),
        object(),
        Own,
        (n for n in range(3)),
        np.array([answers], dtype=object),
        functools.partial(answers),
        [1, {"deep": (answers,)}],
        pickle,
        {1, 2},
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_data_has_no_digest(value: object) -> None:
    with pytest.raises(ModelError, match="fingerprint"):
        digest_of("beside it", value)


def test_a_kind_of_model_of_the_users_own_has_no_digest() -> None:
    with pytest.raises(ModelError, match="the code of Own, which has no method fingerprint"):
        Own(Spec.from_regex("a*", LETTERS).dfa).fingerprint()


def test_digests_tell_data_apart() -> None:
    """Whatever differs in a value, a type, a shape or where one value ends and the next begins."""
    values: list[tuple[object, ...]] = [
        (), (None,), (0,), (False,), (0.0,), (-0.0,), ("",), (b"",), ("0",), ((),), ([],), ({},), ("a", "b"), ("ab",),
        (("a", "b"),), (["a", "b"],), ({"a": "b"},), ({"b": "a"},), ("a", ("b",)), (np.zeros(2),), (np.zeros((2, 1)),),
        (np.zeros(2, dtype=np.float32),), (np.zeros(4, dtype=np.float32),), (np.float64(0),), (np.zeros(()) + 1,),
        (np.arange(4).reshape(2, 2),), (np.arange(4).reshape(2, 2).T,), (float("nan"),), ("nan",), (2**70,), (1j,),
    ]  # fmt: skip
    assert len({digest_of(*value) for value in values}) == len(values)
    assert digest_of(np.arange(6)[::2]) == digest_of(np.array([0, 2, 4]))


@pytest.mark.parametrize("command", ["verify", "robust", "repair"])
def test_nothing_is_kept_of_code_that_nobody_vouches_for(tmp_path: Any, command: str) -> None:
    """Should be an error before any work, with the remedy; with a fingerprint the checkpoint is written."""
    file, spec = tmp_path / "c", Spec.from_regex(".*", LETTERS)

    def ask(**more: Any) -> object:
        if command == "verify":
            settings = VerifySettings(checkpoint=str(file))
            return verify(wrap(answers, LETTERS, **more), spec, epsilon=0.2, gamma=0.2, settings=settings)
        if command == "robust":
            return robust(wrap(answers, LETTERS, **more), [("a",)], checkpoint=file)
        return repair(Net(), spec, alphabet=LETTERS, checkpoint=file, **more)

    with pytest.raises((InputError, ModelError), match="give the model a fingerprint"):
        ask()
    assert not file.exists()
    if command != "repair":
        ask(fingerprint="1")
        assert file.exists()


def test_networks_wrappers_and_decisions():
    network = random_network(outputs=3, scale=2.0)
    model = CompiledNetwork(network)
    identities = [
        model.fingerprint(),
        CompiledNetwork(network, dtype=np.float64).fingerprint(),
        complement(model).fingerprint(),
        CompiledNetwork(random_network(outputs=3, scale=2.0, label=2)).fingerprint(),
        CompiledNetwork(random_network(outputs=3, scale=2.0, seed=1)).fingerprint(),
        CompiledNetwork(random_network(threshold=0.5)).fingerprint(),
        CompiledNetwork(random_network(threshold=0.6)).fingerprint(),
        LabelledNetwork(model).fingerprint(),
        *(trace_model(model, label_spec(model, ltlf=text).dfa).fingerprint() for text in ("G label=0", "G label=1")),
        *(DFAModel(Spec.from_regex(text, LETTERS).dfa).fingerprint() for text in ("a*", "b*")),
        complement(DFAModel(Spec.from_regex("a*", LETTERS).dfa)).fingerprint(),
    ]
    assert len(set(identities)) == len(identities)
    assert CompiledNetwork(network, threads=1).fingerprint() == model.fingerprint()  # threads change no answer


def test_external_data_of_onnx_counts(tmp_path):
    onnx = pytest.importorskip("onnx")
    torch.manual_seed(0)
    digests = set()
    for value in (0.0, 1.0):
        weight = onnx.numpy_helper.from_array(np.full((3, 400), value, dtype=np.float32), "w")
        head = onnx.numpy_helper.from_array(np.ones((400, 1), dtype=np.float32), "h")
        nodes = [
            onnx.helper.make_node("Gather", ["w", "x"], ["e"]),
            onnx.helper.make_node("ReduceSum", ["e", "axes"], ["s"], keepdims=0),
            onnx.helper.make_node("MatMul", ["s", "h"], ["y"]),
        ]
        graph = onnx.helper.make_graph(
            nodes,
            "g",
            [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.INT64, ["B", "T"])],
            [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["B", 1])],
            [weight, head, onnx.numpy_helper.from_array(np.array([1]), "axes")],
        )
        made = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(made, tmp_path / "m.onnx", save_as_external_data=True, location="data.bin", size_threshold=0)
        model = load_model(tmp_path / "m.onnx", alphabet=LETTERS)
        digests.add((model.fingerprint(), model.describe()["sha256"]))
    assert len({one for one, _ in digests}) == len({two for _, two in digests}) == 2
