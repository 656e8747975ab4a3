"""Watch which PyTorch functions a module calls, and read a recurrent classifier off them.

Watching the calls rather than the module's attributes has two merits: names do not matter, and what is seen is what
runs. Nothing is attached to the module.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.overrides import TorchFunctionMode

from rnncheck.models.engine.heads import HEAD_FUNCTIONS, HeadLayer
from rnncheck.models.network import Cell, Floats, Layer
from rnncheck.models.self_check import MismatchError, NetworkParts

_PROBABILITIES = ("sigmoid", "softmax", "log_softmax")
_SINGLE_STEP = "_cell"  # what the name of a cell's function has after the name of the layer's
_SAME_NUMBERS = {  # functions that only change the shape or the place
    *("squeeze", "squeeze_", "unsqueeze", "unsqueeze_", "view", "view_as", "reshape", "reshape_as", "flatten", "ravel"),
    *(
        "unflatten",
        "__getitem__",
        "slice",
        "select",
        "narrow",
        "transpose",
        "permute",
        "movedim",
        "t",
        "contiguous",
        "clone",
    ),
    *("detach", "to", "float", "double", "cpu"),
}
# Functions that cannot treat one word apart from others. A comparison, a look at a value from Python (item, tolist,
# bool) or anything unheard of may, and random words need not show it.
_CANNOT_TELL_WORDS_APART = _SAME_NUMBERS | {
    *("tensor", "zeros", "zeros_like", "new_zeros", "dim", "size", "__len__", "__get__", "numel", "type", "expand"),
    *("eye", "arange", "full", "ones", "sort", "index_select", "empty_like", "scatter_"),
    *("_pack_padded_sequence", "_pad_packed_sequence"),
    *("embedding", "one_hot", "linear", "dropout", "layer_norm", "cat", "stack", "unbind", "chunk", "split"),
    *("relu", "tanh", "gelu", "sigmoid", "sigmoid_", "softmax", "log_softmax"),
}


@dataclass(frozen=True)
class Call:
    """One call of a PyTorch function."""

    name: str
    args: tuple[Any, ...]
    options: Mapping[str, Any]
    result: Any


class Recorder(TorchFunctionMode):  # type: ignore[misc]
    """While it is active, every call of a PyTorch function is listed."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Call] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        self.calls.append(Call(getattr(func, "__name__", ""), tuple(args), kwargs or {}, result))
        return result


def parts_of(calls: Sequence[Call], inputs: Floats) -> NetworkParts:
    """The recurrent layers and the linear layer after them, from the calls for a word of one letter.

    ``inputs`` is what the first recurrent layer is fed for each letter, as :func:`first_input` finds it.
    """
    _check_for_conditions(calls)
    recurrent = [(cell, call) for call in calls if (cell := _cell(call)) is not None]
    if not recurrent:
        raise MismatchError("it calls no recurrent layer of PyTorch")
    cell = recurrent[0][0]
    if any(other is not cell for other, _ in recurrent):
        raise MismatchError("its recurrent layers are of different kinds")
    layers = tuple(layer for _, call in recurrent for layer in _layers(call))
    head, *rest = _joined(list(map(_head_layer, _head(calls))))
    if head.weight is None or head.name != "linear":  # the hidden state itself is what the rest reads
        head, rest = HeadLayer("linear", np.eye(layers[-1].hidden, dtype=inputs.dtype)), [head, *rest]
    weight = np.asarray(head.weight)
    bias = np.zeros(len(weight), dtype=weight.dtype) if head.bias is None else head.bias
    return NetworkParts(cell, layers, weight, bias, inputs, tuple(rest))


def first_input(calls: Sequence[Call]) -> Floats:
    """What the first recurrent layer was fed, as one vector."""
    first = next((call for call in calls if _cell(call) is not None), None)
    if first is None:
        raise MismatchError("it calls no recurrent layer of PyTorch")
    return _floats(first.args[0]).reshape(-1)


def logits_of(calls: Sequence[Call], outputs: int) -> npt.NDArray[np.float64]:
    """What the head put out last, before the last activation where that makes probabilities of it."""
    _check_for_conditions(calls)
    result = _floats(_head(calls)[-1].result).astype(np.float64)
    if result.size % outputs:
        raise MismatchError(f"its linear layer puts out shape {result.shape} for a word, the module {outputs} numbers")
    return np.asarray(result.reshape(-1, outputs)[-1])


def last_function(calls: Sequence[Call], output: Any) -> str:
    """The name of the function that made the output, apart from changes of shape."""
    tensor = output
    for call in reversed(calls):
        if call.result is not tensor:
            continue
        if call.name not in _SAME_NUMBERS:
            return call.name
        tensor = call.args[0]
    return ""


def _check_for_conditions(calls: Sequence[Call]) -> None:
    for call in calls:
        if call.name == "dropout" and _argument(call, 2, "training"):
            raise MismatchError("it drops numbers at random, in evaluation mode too")
        if call.name not in _CANNOT_TELL_WORDS_APART and _cell(call) is None:
            raise MismatchError(f"it calls {call.name}, by which it may treat some words apart")


def looks_at_values(calls: Sequence[Call]) -> bool:
    """Whether Python code is shown values, so that one word may decide what becomes of all words of a batch."""
    unknown = (call for call in calls if call.name not in _CANNOT_TELL_WORDS_APART and _cell(call) is None)
    return any(not _tensors(call.result) for call in unknown)


def _tensors(result: Any) -> bool:
    if isinstance(result, tuple | list):
        return bool(result) and all(map(_tensors, result))
    return result is None or isinstance(result, torch.Tensor)


@functools.cache
def cell_called(name: str) -> Cell | None:
    """The kind of cell that a PyTorch function of this name computes."""
    function = name.removesuffix(_SINGLE_STEP)
    return next((cell for cell in Cell if cell.kind.torch is not None and cell.kind.torch.function == function), None)


def _cell(call: Call) -> Cell | None:
    return cell_called(call.name)


def _head(calls: Sequence[Call]) -> list[Call]:
    """The functions after the recurrent layers that change numbers, without a last one that makes probabilities."""
    last = max((i for i, call in enumerate(calls) if _cell(call) is not None), default=-1)
    changing = [call for call in _side_by_side(calls[last + 1 :]) if _name(call) in (*HEAD_FUNCTIONS, "gelu")]
    if len(changing) > 1 and _name(changing[-1]) in _PROBABILITIES:
        changing.pop()
    odd = next((call.name for call in changing if _name(call) not in HEAD_FUNCTIONS), None)
    if odd is not None or not any(call.name == "linear" for call in changing):
        why = "no linear layer" if odd is None else f"{odd}, which we do not compile,"
        raise MismatchError(f"it has {why} after the recurrent layers")
    return changing


def _side_by_side(calls: Sequence[Call]) -> list[Call]:
    """The calls, with linear layers that read the same numbers, and whose outputs ``cat`` joins, as one."""
    made = list(calls)
    for joining in calls:
        if joining.name != "cat":
            continue
        parts = [next((call for call in made if call.result is part), None) for part in joining.args[0]]
        heads = [call for call in parts if call is not None and call.name == "linear"]
        last = joining.result.dim() - 1
        if len(heads) < max(2, len(parts)) or _argument(joining, 1, "dim") not in (-1, last):
            continue
        read = heads[0].args[0]
        if all(call.args[0] is read for call in heads):
            weights = [_argument(call, 1, "weight") for call in heads]
            biases = [_argument(call, 2, "bias") for call in heads]
            shifts = [
                weight.new_zeros(len(weight)) if bias is None else bias
                for weight, bias in zip(weights, biases, strict=True)
            ]
            one = Call("linear", (read, torch.cat(weights), torch.cat(shifts)), {}, joining.result)
            made = [one if call is joining else call for call in made if not any(call is head for head in heads)]
    return made


def _name(call: Call) -> str:
    return call.name.removesuffix("_")


def _head_layer(call: Call) -> HeadLayer:
    if call.name == "linear":
        bias = _argument(call, 2, "bias")
        return HeadLayer("linear", _floats(_argument(call, 1, "weight")), None if bias is None else _floats(bias))
    if call.name == "layer_norm":
        weight, bias = (_argument(call, place, name) for place, name in ((2, "weight"), (3, "bias")))
        scale, shift = (None if array is None else _floats(array) for array in (weight, bias))
        epsilon = _argument(call, 4, "eps")
        return HeadLayer("layer_norm", scale, shift, 1e-5 if epsilon is None else float(epsilon))
    return HeadLayer(_name(call))


def _joined(head: list[HeadLayer]) -> list[HeadLayer]:
    """Linear layers with nothing between them are one."""
    joined: list[HeadLayer] = []
    for layer in head:
        if layer.name == "linear" and joined and joined[-1].name == "linear":
            layer = _product(joined.pop(), layer)
        joined.append(layer)
    return joined


def _product(first: HeadLayer, second: HeadLayer) -> HeadLayer:
    assert first.weight is not None
    assert second.weight is not None
    if second.weight.shape[1] != len(first.weight):
        raise MismatchError("its linear layers do not read one another's numbers")
    dtype = second.weight.dtype
    weight = second.weight.astype(np.float64) @ first.weight.astype(np.float64)
    bias = np.zeros(len(weight)) if second.bias is None else second.bias.astype(np.float64)
    if first.bias is not None:
        bias = bias + second.weight.astype(np.float64) @ first.bias.astype(np.float64)
    return HeadLayer("linear", weight.astype(dtype), bias.astype(dtype))


def _layers(call: Call) -> list[Layer]:
    if call.name.endswith(_SINGLE_STEP):
        return [_layer(list(call.args[2:]))]
    flags = next((i for i, value in enumerate(call.args) if isinstance(value, bool)), None)
    if flags is None:
        raise MismatchError(f"it calls {call.name} in an unusual way")
    weights, biased, count = call.args[flags - 1], call.args[flags], call.args[flags + 1]
    if call.args[flags + 4]:
        raise MismatchError("its recurrent layer is bidirectional, so a word cannot be read letter by letter")
    each = 4 if biased else 2
    if len(weights) != each * count:
        raise MismatchError("its LSTM has a projection (proj_size)")
    return [_layer(weights[each * i : each * (i + 1)]) for i in range(count)]


def _layer(weights: Sequence[Any]) -> Layer:
    arrays = [None if weight is None else _floats(weight) for weight in weights]
    arrays += [None] * (4 - len(arrays))
    return Layer(*arrays)  # type: ignore[arg-type]


def _argument(call: Call, position: int, name: str) -> Any:
    return call.args[position] if len(call.args) > position else call.options.get(name)


def _floats(tensor: Any) -> Floats:
    if tensor.dtype not in (torch.float32, torch.float64):
        raise MismatchError(f"it computes with {tensor.dtype}, not with float32")
    return np.array(tensor.detach().cpu().numpy())
