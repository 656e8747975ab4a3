"""Record every PyTorch function that a module calls, with its arguments, and what Python code does with sizes.

Recording the calls, rather than reading the module's attributes, has two advantages: names do not matter, and what is
seen is what runs. Nothing is attached to the module. Branches that Python code did not take leave no trace, so the
sizes that the module gets are objects that record every comparison, calculation and conversion.
"""

from __future__ import annotations

import functools
import math
import operator
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack

from rnncheck.models.network import Cell

SINGLE_STEP = "_cell"  # the suffix of the name of a cell's function
SHAPE_ONLY = {  # functions that only change the shape or the place
    *("squeeze", "unsqueeze", "view", "view_as", "reshape", "reshape_as", "flatten", "ravel", "unflatten"),
    *("__getitem__", "slice", "select", "narrow", "transpose", "permute", "movedim", "t", "T", "mT", "contiguous"),
    *("clone", "detach", "to", "float", "double", "cpu", "expand", "expand_as"),
}
_PLAIN_TENSORS = (torch.Tensor, torch.nn.Parameter)
_LEAVES = {*_PLAIN_TENSORS, int, float, bool, str, type(None), torch.dtype, torch.device}
_FIRST = ("input", "tensors")  # names of the first argument
_NAMES_OF_NUMPY = {"axis": "dim", "x": "input", "keepdims": "keepdim"}  # PyTorch's functions take these too
# Functions that give Python code no value of the word.
_SHOW_NO_VALUES = SHAPE_ONLY | {
    *("dim", "ndim", "size", "shape", "dtype", "device", "__len__", "numel", "type", "is_floating_point"),
    *("zeros", "ones", "full", "zeros_like", "new_zeros", "tensor", "eye", "arange", "empty_like"),
}


@dataclass(frozen=True)
class Call:
    """One call of a PyTorch function; ``lengths`` are the sizes among its arguments."""

    name: str
    args: tuple[Any, ...]
    options: Mapping[str, Any]
    result: Any
    lengths: tuple[Size, ...] = ()
    foreign: str = ""  # the type whose code may run in place of the function, if there is one
    given: tuple[Any, ...] = ()  # the original arguments, with recorded sizes

    def argument(self, position: int, name: str, default: Any = None) -> Any:
        return self.args[position] if len(self.args) > position else self.options.get(name, default)

    @property
    def tensors(self) -> list[Any]:
        """All tensors among the arguments."""
        return tensors_in((self.args, self.options))


@dataclass
class Record:
    """The calls of a module for one word."""

    calls: list[Call] = field(default_factory=list)
    uses: list[tuple[Size, str]] = field(default_factory=list)  # of sizes, by Python code


class RecordedSize:
    """The size of a tensor along an axis. It behaves as an integer and records what Python code does with it."""

    __class__ = property(lambda self: int)  # so that isinstance gives the same as for a plain size

    def __init__(self, value: int, tensor: Any, axis: int, record: Record) -> None:
        self.value, self.tensor, self.axis, self._record = value, tensor, axis, record

    def record_use(self, how: str) -> int:
        self._record.uses.append((self, how))
        return self.value

    def __index__(self) -> int:
        return self.record_use("converts to a number")

    __int__ = __index__

    def __float__(self) -> float:
        return float(self.record_use("converts to a number"))

    def __bool__(self) -> bool:
        return bool(self.value)  # only distinguishes the empty word, which is evaluated separately

    def __hash__(self) -> int:
        return hash(self.record_use("looks up"))

    def __repr__(self) -> str:
        return str(self.record_use("prints"))

    def __format__(self, spec: str) -> str:
        return format(self.record_use("prints"), spec)


class PlainSize(int):
    """A size for functions that take only true integers; what Python code does with it is not seen."""

    tensor: Any
    axis: int

    @classmethod
    def of(cls, value: int, tensor: Any, axis: int, record: Record) -> PlainSize:
        size = cls(value)
        size.tensor, size.axis = tensor, axis
        record.uses.append((size, "may calculate with"))
        return size


Size = RecordedSize | PlainSize
_COMPARES = "compares"


def _recorded_operation(operation: Callable[..., Any], how: str, *, swapped: bool = False) -> Callable[..., Any]:
    def method(self: RecordedSize, *others: Any) -> Any:
        if how == _COMPARES and type(others[0]) is int and others[0] == 0:
            return operation(self.value, 0)  # the same as bool
        values = [other.record_use(how) if isinstance(other, RecordedSize) else other for other in others]
        own = self.record_use(how)
        return operation(*values, own) if swapped else operation(own, *values)

    return method


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(RecordedSize, f"__{_name}__", _recorded_operation(getattr(operator, _name), _COMPARES))
for _name in ("add", "sub", "mul", "floordiv", "truediv", "mod", "pow", "and_", "or_", "xor", "lshift", "rshift"):
    _operation = getattr(operator, _name)
    setattr(RecordedSize, f"__{_name.strip('_')}__", _recorded_operation(_operation, "calculates with"))
    setattr(RecordedSize, f"__r{_name.strip('_')}__", _recorded_operation(_operation, "calculates with", swapped=True))
for _name in ("neg", "pos", "abs", "invert"):
    setattr(RecordedSize, f"__{_name}__", _recorded_operation(getattr(operator, _name), "calculates with"))


class RecordedShape(tuple[Size, ...]):
    """A tensor's shape as a module gets it."""

    __slots__ = ()
    __class__ = property(lambda self: torch.Size)  # as above

    def numel(self) -> int:
        return math.prod(map(int, self))


class _FromScripts(TorchDispatchMode):  # type: ignore[misc]
    """While it is active, scripted functions make all their calls through Python, where they are recorded."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


class Recorder(TorchFunctionMode):  # type: ignore[misc]
    """While it is active, every call of a PyTorch function is recorded. With ``plain`` sizes are true integers."""

    def __init__(self, *, plain: bool = False) -> None:
        super().__init__()
        self.record = Record()
        self._size = PlainSize.of if plain else RecordedSize
        self._from_scripts = _FromScripts()

    def __enter__(self) -> Recorder:
        super().__enter__()
        self._from_scripts.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._from_scripts.__exit__(*error)
        super().__exit__(*error)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        lengths: list[Size] = []
        plain_args, options = _plain(tuple(args), lengths), _plain(dict(kwargs or {}), lengths)
        foreign = self._foreign((plain_args, options))
        result = func(*plain_args, **options)
        plain_args, options = _by_position(plain_args, options)
        name = _name_of(func)
        self.record.calls.append(Call(name, plain_args, options, result, tuple(lengths), foreign, tuple(args)))
        if name in ("size", "shape", "sym_size"):
            return self._sizes(plain_args, options, result)
        return result

    def _foreign(self, arguments: Any) -> str:
        """The type that may replace the function called: tensors, other arguments and modes with code of their own."""
        modes = [mode for mode in _get_current_dispatch_mode_stack() if mode is not self._from_scripts]
        odd = [value for value in _leaves(arguments) if type(value) not in _PLAIN_TENSORS]
        odd = [value for value in odd if hasattr(type(value), "__torch_function__")]
        return next((type(value).__name__ for value in (*modes, *odd)), "")

    def _sizes(self, args: Sequence[Any], options: Mapping[str, Any], result: Any) -> Any:
        tensor = args[0]
        if isinstance(result, int):
            axis = int(args[1] if len(args) > 1 else options["dim"]) % tensor.dim()
            return self._size(result, tensor, axis, self.record)
        return RecordedShape(self._size(size, tensor, axis, self.record) for axis, size in enumerate(result))


def _name_of(func: Any) -> str:
    name = str(getattr(func, "__name__", ""))
    if name == "__get__":  # the name is that of the attribute
        return str(getattr(getattr(func, "__self__", None), "__name__", name))
    if isinstance(func, torch._ops.OpOverload | torch._ops.OpOverloadPacket):
        space = func._qualified_op_name.partition("::")[0] if hasattr(func, "_qualified_op_name") else func.namespace
        return name if space == "aten" else f"{space}::{name}"  # an operator of another library may have any name
    if isinstance(func, types.FunctionType) and func.__module__.partition(".")[0] != "torch":
        return f"{func.__module__}.{name}"  # and so may a function
    return name


def _by_position(args: tuple[Any, ...], options: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments by PyTorch's own names, the first one by position."""
    named = {_NAMES_OF_NUMPY.get(name, name): value for name, value in options.items()}
    first = next((name for name in _FIRST if name in named), None)
    if args or first is None:
        return args, named
    return (named.pop(first),), named


def _plain(value: Any, lengths: list[Size]) -> Any:
    """The same value with plain integers for sizes, which are added to ``lengths``."""
    if type(value) is PlainSize:
        lengths.append(value)
        return int(value)
    if isinstance(value, RecordedSize):
        lengths.append(value)
        return value.value
    if isinstance(value, slice):
        return slice(*(_plain(part, lengths) for part in (value.start, value.stop, value.step)))
    if isinstance(value, RecordedShape):
        return torch.Size([_plain(part, lengths) for part in value])
    if type(value) in (tuple, list):
        return type(value)(_plain(part, lengths) for part in value)
    if type(value) is dict:
        return {name: _plain(part, lengths) for name, part in value.items()}
    return value


def _leaves(value: Any) -> list[Any]:
    """The leaves of a value made of tuples, lists, dicts and slices."""
    found: list[Any] = []
    _gather(value, found)
    return found


def _gather(value: Any, found: list[Any]) -> None:
    if type(value) in _LEAVES:  # nearly all are, and the questions below take long when asked for every word
        found.append(value)
    elif isinstance(value, slice):
        for part in (value.start, value.stop, value.step):
            _gather(part, found)
    elif isinstance(value, tuple | list):
        for part in value:
            _gather(part, found)
    elif isinstance(value, Mapping):
        for part in list(value.values()):
            _gather(part, found)
    else:
        found.append(value)


def tensors_in(value: Any) -> list[Any]:
    """The tensors in a result or in arguments."""
    return [leaf for leaf in _leaves(value) if isinstance(leaf, torch.Tensor)]


def last_function(calls: Sequence[Call], output: Any) -> str:
    """The name of the last function before the output, except changes of shape."""
    tensor = output
    for call in reversed(calls):
        if call.result is not tensor:
            continue
        if call.name not in SHAPE_ONLY:
            return call.name
        tensor = call.args[0]
    return ""


def reads_values(calls: Sequence[Call]) -> str | None:
    """A function through which Python code reads values, so that one word may decide about a whole batch; or None."""
    for call in calls:
        if call.name not in _SHOW_NO_VALUES and call.result is not None and not tensors_in(call.result):
            return call.name
    return None


@functools.cache
def cell_of_function(name: str) -> Cell | None:
    """The kind of cell that a PyTorch function of this name computes."""
    function = name.removesuffix(SINGLE_STEP)
    return next((cell for cell in Cell if cell.kind.torch is not None and cell.kind.torch.function == function), None)
