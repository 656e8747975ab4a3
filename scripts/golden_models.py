"""The zoo's networks in every form in which a model can be given: the subjects of ``golden.py``.

A form other than the network file is made from the arrays in the file, so that it stays the same when code moves.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import safe_open

import rnncheck
from rnncheck import zoo

Array = np.ndarray[Any, np.dtype[Any]]

# With which network of the zoo each is compared; those without one are compared with their property's automaton.
PARTNERS = {
    "response-lstm": "response-faulty-lstm",
    "response-faulty-lstm": "response-provable-lstm",
    "response-provable-lstm": "response-lstm",
    "tomita4-gru": "tomita4-provable-gru",
    "tomita4-provable-gru": "tomita4-gru",
    "even-elman": "even-provable-elman",
    "even-provable-elman": "even-elman",
}
_LAYER_PARTS = ("input_weight", "recurrent_weight", "input_bias", "recurrent_bias")
_ONNX_OPERATORS = {"lstm": "LSTM", "gru": "GRU", "rnn_tanh": "RNN"}
# Our files have the gates in PyTorch's order (i f g o and r z n), ONNX has i o f c and z r h.
_ONNX_GATES = {"lstm": (0, 3, 1, 2), "gru": (1, 0, 2), "rnn_tanh": (0,)}


@dataclass(frozen=True)
class Weights:
    """The arrays of a one-layer network file, and what the file says beside them."""

    cell: str
    label: int | None
    inputs: Array
    input_weight: Array
    recurrent_weight: Array
    input_bias: Array
    recurrent_bias: Array
    head_weight: Array
    head_bias: Array

    @classmethod
    def of(cls, path: Path) -> Weights:
        with safe_open(str(path), "np") as file:
            facts = json.loads(file.metadata()["rnncheck"])
            layer = [file.get_tensor(f"layer.0.{part}") for part in _LAYER_PARTS]
            head = [file.get_tensor("head.weight"), file.get_tensor("head.bias")]
            return cls(facts["cell"], facts["label"], file.get_tensor("inputs"), *layer, *head)


def network(name: str) -> Any:
    """The model in the zoo's file."""
    return rnncheck.load_model(zoo.entry(name).path, cache=False)


def black_box(name: str) -> Any:
    """The same behind a function of words."""
    inner = network(name)
    return rnncheck.wrap(lambda words: [bool(answer) for answer in inner.accepts_batch(words)], list(inner.alphabet))


def stepped(name: str) -> Any:
    """The same as three functions on numpy arrays."""
    entry = zoo.entry(name)
    steps = _Steps(Weights.of(entry.path))
    return rnncheck.wrap_steps(steps.initial, steps.step, steps.score, list(entry.alphabet))


def onnx_graph(name: str, folder: Path) -> Any:
    """The same as an ONNX graph, which is written to a file in the folder."""
    entry = zoo.entry(name)
    weights, path = Weights.of(entry.path), folder / f"{name}.onnx"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_graph_of(weights))
    empty, output = bool(network(name).accepts(())), "auto" if weights.label is not None else "logit"
    return rnncheck.load_model(path, alphabet=list(entry.alphabet), label=weights.label, empty=empty, output=output)


def partner(name: str) -> Any:
    """What a network is compared with."""
    return network(PARTNERS[name]) if name in PARTNERS else rnncheck.DFAModel(zoo.entry(name).spec().dfa)


FORMS: dict[str, Callable[[str, Path], Any]] = {
    "network": lambda name, folder: network(name),
    "callable": lambda name, folder: black_box(name),
    "steps": lambda name, folder: stepped(name),
    "onnx": onnx_graph,
}


class _Steps:
    """A one-layer network in double precision, stepped by numpy."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._width = weights.recurrent_weight.shape[1]
        self._from_letter = (weights.inputs @ weights.input_weight.T + weights.input_bias).astype(np.float64)
        self._from_state = weights.recurrent_weight.T.astype(np.float64)
        self._advance = {"lstm": self._lstm, "gru": self._gru, "rnn_tanh": self._elman}[weights.cell]

    def initial(self, rows: int) -> Array:
        return np.zeros((rows, self._width * (2 if self._weights.cell == "lstm" else 1)))

    def step(self, states: Array, letters: Array) -> Array:
        hidden = states[:, : self._width]
        from_state = hidden @ self._from_state + self._weights.recurrent_bias
        return self._advance(states, self._from_letter[letters], from_state)

    def score(self, states: Array) -> Array:
        outputs = states[:, : self._width] @ self._weights.head_weight.T + self._weights.head_bias
        label = self._weights.label
        if label is None:
            return np.asarray(outputs[:, 0])
        return np.asarray(outputs[:, label] - np.delete(outputs, label, axis=1).max(axis=1))

    def _lstm(self, states: Array, below: Array, own: Array) -> Array:
        enter, forget, new, output = np.split(below + own, 4, axis=1)
        memory = _sigmoid(forget) * states[:, self._width :] + _sigmoid(enter) * np.tanh(new)
        return np.concatenate([_sigmoid(output) * np.tanh(memory), memory], axis=1)

    def _gru(self, states: Array, below: Array, own: Array) -> Array:
        (reset, update, new), (own_reset, own_update, own_new) = np.split(below, 3, axis=1), np.split(own, 3, axis=1)
        kept = _sigmoid(update + own_update)
        return np.asarray((1 - kept) * np.tanh(new + _sigmoid(reset + own_reset) * own_new) + kept * states)

    def _elman(self, states: Array, below: Array, own: Array) -> Array:
        return np.tanh(below + own)


def _sigmoid(values: Array) -> Array:
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * values))


def _graph_of(weights: Weights) -> bytes:
    """The bytes of an ONNX file: an input table, one recurrent operator, a linear head, and a tanh for two outputs."""
    from onnx import TensorProto, helper, numpy_helper

    reorder = functools.partial(_reordered, order=_ONNX_GATES[weights.cell])
    biases = [reorder(weights.input_bias), reorder(weights.recurrent_bias)]
    stored = {
        "table": weights.inputs,
        "W": reorder(weights.input_weight)[None],
        "R": reorder(weights.recurrent_weight)[None],
        "B": np.concatenate(biases)[None],
        "F": weights.head_weight,
        "f": weights.head_bias,
        "zero": np.array([0]),
    }
    operator, more = _ONNX_OPERATORS[weights.cell], {"linear_before_reset": 1} if weights.cell == "gru" else {}
    hidden = weights.recurrent_weight.shape[1]
    nodes = [
        helper.make_node("Gather", ["table", "x"], ["vectors"]),
        helper.make_node("Transpose", ["vectors"], ["sequence"], perm=[1, 0, 2]),
        helper.make_node(operator, ["sequence", "W", "R", "B"], ["", "last"], hidden_size=hidden, **more),
        helper.make_node("Squeeze", ["last", "zero"], ["top"]),
        helper.make_node("Gemm", ["top", "F", "f"], ["logits"], transB=1),
    ]
    if weights.label is None:
        nodes.append(helper.make_node("Tanh", ["logits"], ["answer"]))
    made = helper.make_graph(
        nodes,
        "golden",
        [helper.make_tensor_value_info("x", TensorProto.INT64, ["B", "T"])],
        [helper.make_tensor_value_info("logits" if weights.label is not None else "answer", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.ascontiguousarray(value), key) for key, value in stored.items()],
    )
    content: bytes = helper.make_model(
        made, opset_imports=[helper.make_opsetid("", 17)], ir_version=9
    ).SerializeToString()
    return content


def _reordered(array: Array, order: Sequence[int]) -> Array:
    blocks = np.split(array, len(order))
    return np.concatenate([blocks[number] for number in order])
