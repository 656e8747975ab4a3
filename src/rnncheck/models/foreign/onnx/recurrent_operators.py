"""The recurrent operators of ONNX: which cell each computes, with which weights; and attributes of nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rnncheck.models.cells.cell_type import OnnxForm
from rnncheck.models.network import Cell, Floats, Layer
from rnncheck.models.self_check import MismatchError

PEEPHOLES = 7  # the position of the peepholes among the inputs
Numbers = npt.NDArray[Any]


def cell_of(node: Any) -> tuple[Cell, OnnxForm]:
    """The cell that a recurrent operator computes; a MismatchError if it is not one of ours."""
    settings = settings_of(node)
    if "clip" in settings or settings.get("input_forget"):
        raise MismatchError(f"its {node.op_type} clips values or couples gates")
    if len(node.input) > PEEPHOLES and node.input[PEEPHOLES]:
        raise MismatchError("its LSTM has peepholes")
    if node.op_type == "GRU" and not settings.get("linear_before_reset"):
        raise MismatchError("its GRU resets before the recurrent product (linear_before_reset = 0)")
    if "activation_alpha" in settings or "activation_beta" in settings:
        raise MismatchError(f"its {node.op_type} has activations with parameters")
    given = tuple(name.decode().lower() for name in settings.get("activations", ()))
    for cell in Cell:  # without activations, ONNX's default is the operator's first cell
        form = cell.kind.onnx
        if form is not None and form.operator == node.op_type and given in ((), form.activations):
            return cell, form
    raise MismatchError(f"its {node.op_type} has the activations {', '.join(given)}")


def layer_of(node: Any, order: Sequence[int], value_of: Callable[[str], Numbers]) -> Layer:
    """The weights of a recurrent operator as a layer; a MismatchError if they do not fit."""
    weight, recurrent = (floats(value_of(node.input[position])) for position in (1, 2))
    biased = len(node.input) > 3 and node.input[3]
    bias = floats(value_of(node.input[3])).reshape(2, -1) if biased else None
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


def settings_of(node: Any) -> dict[str, Any]:
    """The attributes of a node that are numbers, texts, or lists of them."""
    fields = {1: "f", 2: "i", 3: "s", 6: "floats", 7: "ints", 8: "strings"}
    return {
        attribute.name: getattr(attribute, fields[attribute.type])
        for attribute in node.attribute
        if attribute.type in fields
    }


def floats(array: Numbers) -> Floats:
    if array.dtype not in (np.float32, np.float64):
        raise MismatchError(f"it computes with {array.dtype}, not with float32")
    return array
