"""Read a recurrent classifier off an ONNX graph: its recurrent operators and the linear layer after them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rnncheck.models.cells.cell_type import OnnxForm
from rnncheck.models.network import Cell, Floats, Layer
from rnncheck.models.onnx.graph import Graph
from rnncheck.models.self_check import MismatchError

_LONGEST_PEEPHOLES = 7  # the position of an LSTM's peephole weights


@dataclass(frozen=True)
class Head:
    """The linear layer, by the names of its values."""

    logits: str
    weight: str
    transposed: bool  # the weight is inputs × outputs
    bias: str | None
    scale: float = 1.0
    bias_scale: float = 1.0


def head_of(graph: Graph, output: str) -> Head:
    """The linear layer that makes the output, but for its activation."""
    name, _ = graph.before_activation(output)
    node = graph.made_by(name)
    if node is None:
        raise MismatchError("its output is not made by a linear layer")
    if node.op_type == "Gemm":
        settings = _settings(node)
        bias = node.input[2] if len(node.input) > 2 and node.input[2] else None
        scales = float(settings.get("alpha", 1.0)), float(settings.get("beta", 1.0))
        return Head(name, node.input[1], not settings.get("transB", 0), bias, *scales)
    if node.op_type == "MatMul":
        return Head(name, node.input[1], True, None)
    if node.op_type == "Add":
        for product, bias in (node.input, reversed(node.input)):
            factor = graph.made_by(product)
            if factor is not None and factor.op_type == "MatMul":
                return Head(name, factor.input[1], True, bias)
    raise MismatchError(f"its output is made by {node.op_type}, not by a linear layer")


def linear_layer(head: Head, value_of: Callable[[str], npt.NDArray[Any]]) -> tuple[Floats, Floats]:
    """Weight (outputs × inputs) and bias of the head."""
    weight = _floats(value_of(head.weight)) * np.float32(head.scale)
    if weight.ndim != 2:
        raise MismatchError(f"its linear layer has a weight of shape {weight.shape}")
    weight = np.ascontiguousarray(weight.T if head.transposed else weight)
    if head.bias is None:
        return weight, np.zeros(len(weight), dtype=weight.dtype)
    bias = _floats(value_of(head.bias)) * np.float32(head.bias_scale)
    return weight, np.broadcast_to(bias.reshape(-1), len(weight)).copy()


def recurrent_layers(
    nodes: Sequence[Any], value_of: Callable[[str], npt.NDArray[Any]]
) -> tuple[Cell, tuple[Layer, ...]]:
    """The layers of all recurrent operators, in our order of gates."""
    if not nodes:
        raise MismatchError("it has no recurrent operator (it may be unrolled, or use Loop or Scan)")
    found = {_cell(node) for node in nodes}
    if len(found) > 1:
        raise MismatchError("its recurrent operators are of different kinds")
    cell, form = found.pop()
    return cell, tuple(_layer(node, form.gate_order, value_of) for node in nodes)


def _cell(node: Any) -> tuple[Cell, OnnxForm]:
    settings = _settings(node)
    if settings.get("direction", b"forward") != b"forward":
        direction = settings["direction"].decode()
        raise MismatchError(f"its {node.op_type} is {direction}, so a word cannot be read letter by letter")
    if "clip" in settings or settings.get("input_forget"):
        raise MismatchError(f"its {node.op_type} clips values or couples gates")
    if len(node.input) > _LONGEST_PEEPHOLES and node.input[_LONGEST_PEEPHOLES]:
        raise MismatchError("its LSTM has peepholes")
    if node.op_type == "GRU" and not settings.get("linear_before_reset"):
        raise MismatchError("its GRU resets before the recurrent product (linear_before_reset = 0)")
    given = tuple(name.decode().lower() for name in settings.get("activations", ()))
    for cell in Cell:  # without activations, the operator's first cell is what ONNX takes
        form = cell.kind.onnx
        if form is not None and form.operator == node.op_type and given in ((), form.activations):
            return cell, form
    raise MismatchError(f"its {node.op_type} has the activations {', '.join(given)}")


def _layer(node: Any, order: Sequence[int], value_of: Callable[[str], npt.NDArray[Any]]) -> Layer:
    weight, recurrent = (_floats(value_of(node.input[position])) for position in (1, 2))
    biased = len(node.input) > 3 and node.input[3]
    bias = _floats(value_of(node.input[3])).reshape(2, -1) if biased else None
    if weight.ndim != 3 or weight.shape[0] != 1 or weight.shape[1] % len(order) or recurrent.ndim != 3:
        raise MismatchError(f"its {node.op_type} has weights of shapes {weight.shape} and {recurrent.shape}")
    return Layer(
        _reordered(weight[0], order),
        _reordered(recurrent[0], order),
        None if bias is None else _reordered(bias[0], order),
        None if bias is None else _reordered(bias[1], order),
    )


def _reordered(array: Floats, order: Sequence[int]) -> Floats:
    gates = np.split(array, len(order))
    return np.concatenate([gates[gate] for gate in order])


def _settings(node: Any) -> dict[str, Any]:
    fields = {1: "f", 2: "i", 3: "s", 6: "floats", 7: "ints", 8: "strings"}
    return {
        attribute.name: getattr(attribute, fields[attribute.type])
        for attribute in node.attribute
        if attribute.type in fields
    }


def _floats(array: npt.NDArray[Any]) -> Floats:
    if array.dtype not in (np.float32, np.float64):
        raise MismatchError(f"it computes with {array.dtype}, not with float32")
    return array
