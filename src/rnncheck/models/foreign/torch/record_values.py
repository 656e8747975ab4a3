"""The values of a record: which tensors depend on the word, which are constants, and which are not known any more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from rnncheck.models.foreign.graph_flow import FEATURES, ONE, TIME, Stage, Value
from rnncheck.models.foreign.torch.recording import Call, Size, tensors_in
from rnncheck.models.network import Floats
from rnncheck.models.self_check import MismatchError

NO_NUMBERS = {"dim", "ndim", "size", "shape", "dtype", "device", "is_floating_point", "is_cuda", "layout", "is_sparse"}
NO_NUMBERS |= {"is_nested", "requires_grad", "numel", "__len__"}
CASTS = {"to", "type", "float", "double", "long", "int", "type_as"}
SAME = {"contiguous", "clone", "detach", "detach.default", "cpu", "data", "alias"}
EACH_NUMBER = {"relu", "tanh", "sigmoid", "gelu", "silu", "elu", "leaky_relu", "hardtanh", "softplus", "selu"}
WITH_CONSTANT = {"add", "sub", "mul", "div", "true_divide", "__add__", "__radd__", "__sub__", "__rsub__", "rsub"}
WITH_CONSTANT |= {"__mul__", "__rmul__", "__truediv__", "__rtruediv__", "subtract", "multiply", "divide"}
# Functions whose results depend on constants alone are constants too.
_OF_CONSTANTS = CASTS | SAME | EACH_NUMBER | WITH_CONSTANT | {
    *("zeros", "ones", "full", "zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full", "tensor"),
    *("as_tensor", "eye", "arange", "linear", "matmul", "cat", "stack", "expand", "expand_as", "repeat", "softmax"),
    *("squeeze", "unsqueeze", "view", "reshape", "flatten", "transpose", "permute", "t", "T", "mT", "__getitem__"),
    *("select", "exp", "neg", "sqrt", "abs", "unflatten", "view_as", "_weight_norm", "unbind", "chunk", "split"),
}  # fmt: skip
# Functions that make a tensor of which the word determines no more than the type.
NEW = {"new_zeros", "new_ones", "new_full", "zeros_like", "ones_like", "full_like"}
# Functions that change a tensor though their name does not end with "_"; and those that let code change one unseen.
_CHANGES = {f"__i{name}__" for name in ("add", "sub", "mul", "div", "truediv", "floordiv", "mod", "pow", "and", "or")}
_CHANGES |= {"__setitem__", "__set__", "__ixor__", "__ilshift__", "__irshift__"}
_SHARES = {"numpy", "__array__", "data_ptr", "storage", "_typed_storage", "untyped_storage", "__dlpack__"}
_CHANGES_NO_NUMBERS = {"requires_grad_", "detach_"}


class Constants:
    """The tensors that a module keeps: parameters, buffers, and attributes that are tensors; with their numbers.

    With ``any_origin`` all other tensors that no recorded function made are constants too: a TorchScript graph has no
    Python code that could have computed them from the word.
    """

    def __init__(self, module: torch.nn.Module, *, any_origin: bool) -> None:
        self.tensors = [*module.parameters(), *module.buffers()]
        for part in module.modules():
            kept = [value for value in vars(part).values() if isinstance(value, torch.Tensor | list | tuple)]
            self.tensors += tensors_in(kept)
        self.any_origin = any_origin
        self.own = set(map(id, self.tensors))
        self.memory = set(map(memory_of, self.tensors)) - {0}
        self._arrays: dict[int, Floats] = {}

    def floats(self, tensor: Any) -> Floats:
        """The numbers of a tensor, read only once if the module keeps it."""
        if id(tensor) not in self.own:
            return floats_of(tensor)
        if id(tensor) not in self._arrays:
            self._arrays[id(tensor)] = floats_of(tensor)
        return self._arrays[id(tensor)]


class RecordValues:
    """The values of a record, call by call. The record keeps its tensors alive, so their ids are unique."""

    def __init__(self, constants: Constants) -> None:
        self.values: dict[int, Value] = {}
        self.logits: dict[int, Any] = {}  # for each value, the tensor before the last activation into probabilities
        self.fed: dict[int, Any] = {}  # the input of the lowest recurrent layer
        self._tracked: list[Any] = []
        self._axes: dict[int, tuple[str, ...]] = {}  # of every tensor that ever had a value
        self._numbers_used: set[int] = set()  # the memory of tensors whose numbers were used
        self._kept = constants
        self._constants = set(constants.own)
        self._unseen: dict[int, str] = {}  # tensors made by a function that is not in _OF_CONSTANTS

    def begin(self, tensor: Any, axes: str) -> None:
        names = tuple({"B": ONE, "T": TIME, "F": FEATURES}[axis] for axis in axes)
        self._set(tensor, Value(Stage.FEATURES if FEATURES in names else Stage.LETTERS, names))

    def check_uses(self, uses: Sequence[tuple[Size, str]]) -> None:
        """Raise a MismatchError for code that does more with the length of the word than pass it to PyTorch."""
        for size, how in uses:
            if self._is_time(size.tensor, size.axis):
                raise MismatchError(
                    f"its Python code {how} the length of the word, and may treat some lengths differently"
                )

    def _read_size(self, call: Call) -> None:
        value = self.values.get(id(call.args[0])) if call.args else None
        if value is None:
            return
        seen = value.axes if call.name == "numel" else value.axes[:1] if call.name == "__len__" else ()
        if TIME in seen:
            raise MismatchError(
                "its Python code takes the length of the word as a number, and may treat some lengths differently"
            )

    def _read_constant(self, call: Call, timed: bool) -> None:
        if timed:
            raise MismatchError(f"it calls {call.name} with the length of the word")
        if call.name in _SHARES and call.tensors:
            raise MismatchError(f"it calls {call.name}, through which a tensor can be changed unseen")
        in_place = call.name.endswith("_") and not call.name.endswith("__")
        changed = tensors_in(call.args[:1]) if in_place or call.name in _CHANGES else []
        changed += tensors_in(call.options.get("out"))
        if changed and call.name not in _CHANGES_NO_NUMBERS:
            self._forget_aliases(call, changed)
        known = call.name.removesuffix("_") if in_place else call.name
        fine = (known in _OF_CONSTANTS or known in ("zero", "fill", "requires_grad")) and all(
            self._is_constant(tensor) for tensor in call.tensors
        )
        for tensor in [*changed, *tensors_in(call.result)]:
            self._tracked.append(tensor)
            if fine:
                self._constants.add(id(tensor))
            elif changed or id(tensor) not in self._constants:
                self._constants.discard(id(tensor))
                before = (self._unseen[id(one)] for one in call.tensors if id(one) in self._unseen)
                self._unseen[id(tensor)] = next(before, call.name)

    def _read_new(self, call: Call, timed: bool) -> None:
        """Zeros, ones or a number, in a shape that must not depend on the length of the word."""
        if timed or (call.name.endswith("_like") and TIME in self._value(call).axes):
            raise MismatchError(f"it calls {call.name} with the length of the word")
        self._tracked.append(call.result)
        self._constants.add(id(call.result))

    def _check_origins(self, call: Call) -> None:
        for tensor in call.tensors:
            if id(tensor) in self.values or self._is_constant(tensor):
                continue
            made_by = self._unseen.get(id(tensor))
            if made_by is not None:
                raise MismatchError(f"it calls {made_by}, whose result need not be the same each time")
            raise MismatchError(
                f"it calls {call.name} with a tensor that is neither a parameter nor a buffer, nor made by a function "
                "that was seen"
            )

    def _is_constant(self, tensor: Any) -> bool:
        if id(tensor) in self.values or id(tensor) in self._unseen:
            return False
        return self._kept.any_origin or id(tensor) in self._constants

    def _is_time(self, tensor: Any, axis: int) -> bool:
        axes = self._axes.get(id(tensor))
        return axes is not None and axes[axis] == TIME

    def _forget_aliases(self, call: Call, tensors: Sequence[Any]) -> None:
        """Forget all tensors that share the memory of tensors changed in place."""
        changed = {id(tensor) for tensor in tensors}
        memory = set(map(memory_of, tensors))
        if memory & self._kept.memory:
            raise MismatchError(f"it changes a tensor of its own ({call.name})")
        if memory & self._numbers_used:
            raise MismatchError(f"it changes a tensor after it was used ({call.name})")
        for tensor in self._tracked:
            if id(tensor) not in changed and memory_of(tensor) in memory:
                self.values.pop(id(tensor), None)
                self._constants.discard(id(tensor))
                self._unseen[id(tensor)] = call.name

    def _set(self, tensor: Any, value: Value, logits: Any = None) -> None:
        if tensor.dim() != len(value.axes):
            raise MismatchError(f"a value of shape {tuple(tensor.shape)} is not supported")
        if not value.each_letter and tensor.dtype not in (torch.float32, torch.float64):
            raise MismatchError(f"it computes with {tensor.dtype}, not with float32")
        self._tracked.append(tensor)
        self._unseen.pop(id(tensor), None)
        self._axes[id(tensor)] = value.axes
        self.values[id(tensor)] = value
        self.logits[id(tensor)] = tensor if logits is None else logits

    def _set_reshaped(self, call: Call, value: Value) -> None:
        """Set a result that has some or all numbers of the first argument."""
        logits = self.logits[id(call.args[0])]
        self._set(call.result, value, None if logits is call.args[0] else logits)

    def _numbers(self, tensor: Any, call: Call) -> Floats:
        """The numbers of a constant."""
        if not self._is_constant(tensor):
            raise MismatchError(f"it calls {call.name} with weights that depend on the word")
        return self._kept.floats(tensor)

    def _value(self, call: Call) -> Value:
        value = self.values.get(id(call.args[0])) if call.args else None
        if value is None:
            raise MismatchError(f"it calls {call.name} in a way that is not supported")
        return value


def memory_of(tensor: Any) -> int:
    """The address of a tensor's numbers, which its views share."""
    return int(tensor.untyped_storage().data_ptr())


def floats_of(tensor: Any) -> Floats:
    if tensor.dtype not in (torch.float32, torch.float64):
        raise MismatchError(f"it computes with {tensor.dtype}, not with float32")
    return np.array(tensor.detach().cpu().numpy())
