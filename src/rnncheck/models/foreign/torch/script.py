"""TorchScript modules, executed function by function.

PyTorch runs the graph of such a module without calling Python, so its calls cannot be recorded. Here Python walks the
same graph and calls every function of PyTorch in it. The module's own answer counts; the walk only shows its layers.
"""

from __future__ import annotations

import copy
import operator
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from rnncheck.models.self_check import MismatchError

_MOST_ROUNDS = 100_000  # of a loop; no classifier of words has more


def is_scripted(module: torch.nn.Module) -> bool:
    """Whether a module is TorchScript, by torch.jit.script or trace, or from a file."""
    return isinstance(module, torch.jit.ScriptModule)


def layers_of_kind(module: torch.nn.Module, kinds: tuple[str, ...]) -> list[Any]:
    """The parts of a TorchScript module that were made of modules of these kinds."""
    parts = module.modules() if is_scripted(module) else ()
    return [part for part in parts if getattr(part, "original_name", "") in kinds]


def parts_for_digest(module: Any) -> tuple[object, ...]:
    """Everything that the answers depend on: the graph in evaluation mode, with its tensors and values."""
    copied = copy.deepcopy(module)
    copied.eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TorchScript is old
        graph = torch.jit.freeze(copied).graph
    constants = [node.output().toIValue() for node in graph.findAllNodes("prim::Constant")]
    tensors = [
        (str(value.dtype), tuple(value.shape), value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy())
        for value in constants
        if isinstance(value, torch.Tensor)
    ]
    # Each process makes names unique; apart from that, the same file gives the same text.
    return re.sub(r"___torch_mangle_\d+\.", "", graph.str(False)), tensors


def follow(module: Any, arguments: Sequence[Any]) -> Any:
    """The module's output, its functions called one by one; a MismatchError if one is unknown."""
    graph = module.inlined_graph
    names = [value.debugName() for value in graph.inputs()]
    if len(names) != 1 + len(arguments):
        raise MismatchError(f"its TorchScript takes {len(names) - 1} arguments, and {len(arguments)} were given")
    values = dict(zip(names, (module, *arguments), strict=True))
    _run(graph.nodes(), values)
    results = [values[value.debugName()] for value in graph.outputs()]
    return results[0] if len(results) == 1 else tuple(results)


def _run(nodes: Any, values: dict[str, Any]) -> None:
    for node in nodes:
        kind = node.kind()
        outputs = [value.debugName() for value in node.outputs()]
        given = [values[value.debugName()] for value in node.inputs()]
        if kind == "prim::If":
            results = _of_block(list(node.blocks())[0 if given[0] else 1], values)
        elif kind == "prim::Loop":
            results = _loop(next(iter(node.blocks())), given, values)
        elif kind == "prim::Constant":
            results = [next(iter(node.outputs())).toIValue()]
        elif kind == "prim::GetAttr":
            results = [getattr(given[0], node.s("name"))]
        else:
            results = _call_operator(kind, node, given, len(outputs))
        values.update(zip(outputs, results, strict=True))


def _of_block(block: Any, values: dict[str, Any]) -> list[Any]:
    _run(block.nodes(), values)
    return [values[value.debugName()] for value in block.outputs()]


def _loop(body: Any, given: list[Any], values: dict[str, Any]) -> list[Any]:
    """Run a loop, given its largest number of rounds, whether to begin, and the values carried between rounds."""
    most, continues, *carried = given
    names = [value.debugName() for value in body.inputs()]
    number = 0
    while continues and number < most:
        if number == _MOST_ROUNDS:
            raise MismatchError(f"a loop in it takes more than {_MOST_ROUNDS} rounds")
        values.update(zip(names, (number, *carried), strict=True))
        continues, *carried = _of_block(body, values)
        number += 1
    return carried


def _call_operator(kind: str, node: Any, given: list[Any], outputs: int) -> list[Any]:
    space, _, name = kind.partition("::")
    if kind in _PLAIN:
        return [_PLAIN[kind](*given)]
    if kind in _SPREADING:
        return list(given[0])
    if space == "aten" and not any(map(_holds_tensors, given)) and name in _OF_NUMBERS:
        return [_OF_NUMBERS[name](*given)]
    packet = getattr(torch.ops.aten, name, None) if space == "aten" else None
    if packet is None:
        raise MismatchError(f"its TorchScript has {kind}, which is not supported")
    places = torch._C.parse_schema(node.schema()).arguments
    named = {place.name: value for place, value in zip(places, given, strict=True) if place.kwarg_only}
    result = packet(*given[: len(given) - len(named)], **named)
    if name == "size" and isinstance(result, tuple):
        result = list(result)  # as TorchScript has it
    return [result] if outputs == 1 else [] if not outputs else list(result)


def _holds_tensors(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_holds_tensors, value))
    return isinstance(value, torch.Tensor)


def _raise_mismatch(message: Any, *_: Any) -> Any:
    raise MismatchError(f"its TorchScript raised: {message}")


def _number(value: Any) -> Any:
    """A number that tracing wrapped as a tensor, such as a length; the value of a real tensor, which is recorded."""
    return int(value) if isinstance(value, torch.Tensor) else value


_PLAIN: Mapping[str, Callable[..., Any]] = {
    "prim::ListConstruct": lambda *items: list(items),
    "prim::TupleConstruct": lambda *items: tuple(items),
    "prim::TupleIndex": operator.getitem,
    "prim::Uninitialized": lambda: None,
    "prim::RaiseException": _raise_mismatch,
    "prim::unchecked_cast": lambda value: value,
    "prim::NumToTensor": lambda value: value,
    "prim::device": lambda value: value.device,
    "prim::dtype": lambda value: value.dtype,
    "aten::list": list,
    "aten::Int": _number,
    "aten::IntImplicit": _number,
    "aten::Bool": bool,
    "aten::__is__": lambda one, other: one is other,
    "aten::__isnot__": lambda one, other: one is not other,
    "aten::dim": lambda value: value.dim(),
    "aten::append": lambda items, value: items.append(value) or items,
    "aten::warn": lambda *_: None,
}
_SPREADING = ("prim::TupleUnpack", "prim::ListUnpack")
_OF_NUMBERS: Mapping[str, Callable[..., Any]] = {
    **{name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge", "add", "sub", "mul", "neg")},
    "floordiv": operator.floordiv,
    "remainder": operator.mod,
    "len": len,
    "__contains__": operator.contains,
    "__not__": operator.not_,
    "__and__": operator.and_,
    "__or__": operator.or_,
    "__getitem__": operator.getitem,
    "format": lambda text, *values: text.format(*values),
    "min": min,
    "max": max,
    "__range_length": lambda start, stop, step: len(range(start, stop, step)),
    "__derive_index": lambda index, start, step: start + index * step,
}
