"""Read a recurrent classifier off the record of a module: every function between the letters and the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from rnncheck.models.engine.mlp_head import HeadLayer, log_odds
from rnncheck.models.foreign.graph_flow import (
    FEATURES,
    LAYERS,
    ONE,
    PROBABILITIES,
    TIME,
    Recurrence,
    Stage,
    Value,
    check_answer,
    combine,
    join,
    picked_from_softmax,
    sum_of_picks,
)
from rnncheck.models.foreign.torch.record_values import (
    CASTS,
    EACH_NUMBER,
    NEW,
    NO_NUMBERS,
    SAME,
    WITH_CONSTANT,
    Constants,
    RecordValues,
    floats_of,
    memory_of,
)
from rnncheck.models.foreign.torch.recording import (
    SINGLE_STEP,
    Call,
    PlainSize,
    Record,
    RecordedSize,
    cell_of_function,
    tensors_in,
)
from rnncheck.models.network import Floats, Layer
from rnncheck.models.self_check import MismatchError

# Arithmetic with a constant number; names with "r" have the constant first.
_ARITHMETIC = {"add": "add", "sub": "sub", "subtract": "sub", "rsub": "rsub", "mul": "mul", "multiply": "mul"}
_ARITHMETIC |= {"div": "div", "divide": "div", "true_divide": "div"}
_ARITHMETIC |= {"__add__": "add", "__radd__": "add", "__sub__": "sub", "__rsub__": "rsub", "__mul__": "mul"}
_ARITHMETIC |= {"__rmul__": "mul", "__truediv__": "div"}


@dataclass(frozen=True)
class RecordReading:
    """What a record shows: how the answer is computed, the input of the recurrence, and the logits."""

    answer: Value
    fed: Any
    logits: Any


def read_record(record: Record, word: tuple[Any, str], output: Any, constants: Constants) -> RecordReading:
    """How the output is computed from the word; a MismatchError names what is not supported.

    ``word`` is the tensor that the module was called with, and its axes ("BT" batch × time, "TB", "T"; followed by "F"
    for one-hot vectors).
    """
    reader = _Reader(constants)
    reader.begin(*word)
    for call in record.calls:
        try:
            reader.read(call)
        except MismatchError as reason:
            if "takes letter" in str(reason):  # if the letter's position was calculated, that is the better message
                reader.check_uses([use for use in record.uses if use[1] == "calculates with"])
            raise
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:  # unexpected arguments
            how = f"{type(error).__name__}: {error}"
            raise MismatchError(f"it calls {call.name} in a way that is not supported ({how})") from error
    reader.check_uses(record.uses)
    answer = check_answer(reader.values.get(id(output)))
    fed = reader.fed[id(answer.layers[0])] if answer.layers else None
    return RecordReading(answer, fed, reader.logits.get(id(output)))


class _Reader(RecordValues):
    """Reads a record call by call: what each function of PyTorch makes of the values."""

    def read(self, call: Call) -> None:
        if call.foreign:
            raise MismatchError(f"it calls {call.name} under a {call.foreign}, whose code may compute something else")
        dependent = [tensor for tensor in call.tensors if id(tensor) in self.values]
        timed = any(self._is_time(size.tensor, size.axis) for size in call.lengths)
        if call.name in NO_NUMBERS or (call.name == "type" and isinstance(call.result, str)):
            self._read_size(call)
        elif not dependent:
            self._read_constant(call, timed)
        elif call.name in NEW and len(call.tensors) == 1 and call.tensors[0] is call.args[0]:
            self._read_new(call, timed)
        else:
            self._check_origins(call)
            if call.options.get("out") is not None:
                raise MismatchError(f"it calls {call.name} with out=…, which writes to a tensor that may be known")
            name = call.name.removesuffix("_") if not call.name.endswith("__") else call.name
            step = _STEPS.get(name)
            if step is None:
                kind = cell_of_function(name)
                if kind is None:
                    raise MismatchError(f"it calls {call.name}, which is not supported")
                step = _reject_cell_loop if name.endswith(SINGLE_STEP) else _Reader.recurrent
            if timed and name not in _TAKE_LENGTHS:
                raise MismatchError(f"it calls {call.name} with the length of the word")
            self._numbers_used.update(memory_of(tensor) for tensor in call.tensors if id(tensor) not in self.values)
            if name != call.name or (call.result is call.args[0] and name in EACH_NUMBER):
                self._forget_aliases(call, [call.args[0]])
            step(self, call)

    # --- changes of shape ---------------------------------------------------------------------------------------------

    def same(self, call: Call) -> None:
        self._set_reshaped(call, self._value(call))

    def cast(self, call: Call) -> None:
        value, before, after = self._value(call), call.args[0].dtype, call.result.dtype
        if before is not after and not value.each_letter:
            raise MismatchError(f"it turns {before} into {after} after its recurrent layers")
        if before.is_floating_point and not after.is_floating_point:
            raise MismatchError(f"it turns {before} into {after}")
        self._set_reshaped(call, value)

    def expand(self, call: Call) -> None:
        if call.args[0].shape != call.result.shape:
            raise MismatchError(f"it calls {call.name}, which repeats numbers of the word")
        self.same(call)

    def reshape(self, call: Call) -> None:
        value = self._value(call)
        given: Any = call.given[1:]
        shape = given[0] if len(given) == 1 and isinstance(given[0], tuple | list) else given
        known = {
            place: self._is_time(size.tensor, size.axis)
            for place, size in enumerate(shape)
            if isinstance(size, RecordedSize | PlainSize) and id(size.tensor) in self._axes
        }
        self._set_reshaped(call, value.reshaped(call.args[0].shape, call.result.shape, call.name, known))

    def squeeze(self, call: Call) -> None:
        value, shape, axes = self._value(call), call.args[0].shape, call.argument(1, "dim")
        if axes is None:
            if TIME in value.axes:
                raise MismatchError("it calls squeeze without an axis, and a word of one letter loses its time axis")
            axes = [axis for axis, size in enumerate(shape) if size == 1]
        if isinstance(axes, int):
            axes = [axes]
        for axis in sorted((value.axis(axis) for axis in axes), reverse=True):
            if value.axes[axis] == TIME:
                raise MismatchError("it calls squeeze along the letters of the word")
            if shape[axis] == 1:
                value = value.without(axis, call.name, 1)
        self._set_reshaped(call, value)

    def unsqueeze(self, call: Call) -> None:
        self._set_reshaped(call, self._value(call).with_one(call.argument(1, "dim")))

    def transpose(self, call: Call) -> None:
        value = self._value(call)
        order = list(range(len(value.axes)))
        if call.name in ("t", "T", "mT"):
            if len(order) > 2:
                raise MismatchError(f"it calls {call.name} on more than two axes")
            order.reverse()
        else:
            one, other = (value.axis(call.argument(1 + i, f"dim{i}")) for i in range(2))
            order[one], order[other] = order[other], order[one]
        self._set_reshaped(call, value.permuted(order))

    def permute(self, call: Call) -> None:
        order = call.argument(1, "dims")
        order = call.args[1:] if isinstance(order, int) else order
        self._set_reshaped(call, self._value(call).permuted(order))

    def select(self, call: Call) -> None:
        axis, index = call.argument(1, "dim"), call.argument(2, "index")
        value, size = self._value(call), call.args[0].shape[axis]
        self._set_reshaped(call, value.selected(axis, int(index), size, call.name))

    def some_entries(self, call: Call) -> None:
        axis, start, stop, step = (call.argument(1 + i, n) for i, n in enumerate(("dim", "start", "end", "step")))
        value, size = self._value(call), call.args[0].shape[axis or 0]
        stop = None if stop is None or stop >= _NO_END else stop
        self._set_reshaped(call, value.sliced(axis or 0, start, stop, step, size, call.name))

    def getitem(self, call: Call) -> None:
        table, index = call.args[0], call.args[1]
        if id(table) not in self.values and isinstance(index, torch.Tensor):  # rows of a table, as an embedding does
            self._embedded(call, index, table)
            return
        value, shape, at = self._value(call), list(table.shape), 0
        parts = list(index) if isinstance(index, tuple) else [index]
        for part in parts:
            if not (part is None or part is Ellipsis or isinstance(part, slice) or type(part) is int):
                raise MismatchError(f"it takes entries by a {type(part).__name__}")
        missing = len(shape) - sum(part is not None and part is not Ellipsis for part in parts)
        for part in parts:
            if part is Ellipsis:
                at += missing
            elif part is None:
                value, shape = value.with_one(at), [*shape[:at], 1, *shape[at:]]
                at += 1
            elif isinstance(part, slice):
                value = value.sliced(at, part.start, part.stop, part.step, shape[at], "an index")
                shape[at] = len(range(*part.indices(shape[at])))
                at += 1
            else:
                value = value.selected(at, part, shape.pop(at), "an index")
        self._set_reshaped(call, value)

    # --- functions ----------------------------------------------------------------------------------------------------

    def embedding(self, call: Call) -> None:
        letters, table = call.args[0], call.argument(1, "weight")
        if id(letters) not in self.values:  # in TorchScript the table comes first
            letters, table = table, letters
        self._embedded(call, letters, table)

    def _embedded(self, call: Call, letters: Any, table: Any) -> None:
        value = self.values.get(id(letters))
        if value is None or not self._is_constant(table) or table.dim() != 2:
            raise MismatchError(f"it calls {call.name} on something other than letters")
        self._set(call.result, value.embedded(call.name))

    def one_hot(self, call: Call) -> None:
        if call.argument(1, "num_classes", -1) < 1:
            raise MismatchError("it calls one_hot without a number of classes")
        self._set(call.result, self._value(call).embedded(call.name))

    def linear(self, call: Call) -> None:
        weight, bias = call.argument(1, "weight"), call.argument(2, "bias")
        layer = HeadLayer("linear", self._numbers(weight, call), None if bias is None else self._numbers(bias, call))
        self._set(call.result, self._value(call).along_features(layer, -1, call.name))

    def matmul(self, call: Call) -> None:
        value, weight = self._value(call), call.args[1]
        if not self._is_constant(weight) or weight.dim() != 2:
            raise MismatchError(f"it calls {call.name} on two values of the word")
        layer = HeadLayer("linear", np.ascontiguousarray(self._numbers(weight, call).T))
        self._set(call.result, value.along_features(layer, -1, call.name))

    def layer_norm(self, call: Call) -> None:
        shape = call.argument(1, "normalized_shape")
        if len(shape) != 1:
            raise MismatchError("it calls layer_norm over several axes")
        weight, bias = (call.argument(place, name) for place, name in ((2, "weight"), (3, "bias")))
        scale, shift = (None if array is None else self._numbers(array, call) for array in (weight, bias))
        layer = HeadLayer("layer_norm", scale, shift, float(call.argument(4, "eps", 1e-5)))
        self._set(call.result, self._value(call).along_features(layer, -1, call.name))

    def batch_norm(self, call: Call) -> None:
        names = ("running_mean", "running_var", "weight", "bias", "training")
        if len(call.args) == 9:  # in TorchScript the weights come first
            weight, bias, mean, variance, training = call.args[1:6]
        else:
            mean, variance, weight, bias, training = (call.argument(i, name) for i, name in enumerate(names, start=1))
        if training or mean is None or variance is None:
            raise MismatchError("its batch_norm reads the words of a batch together, in evaluation mode too")
        own = [None if array is None else self._numbers(array, call) for array in (weight, bias)]
        statistics = self._numbers(mean, call), self._numbers(variance, call)
        epsilon = float(call.argument(7, "eps", 1e-5))
        self._set(call.result, self._value(call).batch_normalised(*statistics, own, epsilon))

    def each_number(self, call: Call) -> None:
        name = call.name.removesuffix("_")
        before = self._logits(call) if name in PROBABILITIES else None
        layer = HeadLayer(name)
        if name == "gelu" and call.argument(1, "approximate", "none") != "none":
            layer = HeadLayer("gelu_tanh")
        elif name == "leaky_relu":
            layer = HeadLayer(name, np.array(call.argument(1, "negative_slope", 0.01), np.float32))
        self._set(call.result, self._value(call).through(layer, name), before)

    def _logits(self, call: Call) -> Any:
        self._numbers_used.add(memory_of(call.args[0]))
        return call.args[0]

    def softmax(self, call: Call) -> None:
        value, axis, name = self._value(call), call.argument(1, "dim"), call.name.removesuffix("_")
        if axis is None:
            raise MismatchError(f"it calls {name} without an axis")
        self._set(call.result, value.along_features(HeadLayer(name), axis, name), self._logits(call))

    def dropout(self, call: Call) -> None:
        if call.argument(2, "training", call.argument(2, "train", True)) and call.argument(1, "p", 0.5):
            raise MismatchError("it drops numbers at random, in evaluation mode too")
        self._set_reshaped(call, self._value(call))

    def with_constant(self, call: Call) -> None:
        values = [self.values[id(tensor)] for tensor in call.tensors if id(tensor) in self.values]
        if len(values) > 1:
            if any(tensor.shape != call.result.shape for tensor in call.tensors):
                raise MismatchError(f"it calls {call.name} on values of different kinds")
            result, sign = None, {"add": 1, "sub": -1}.get(_ARITHMETIC.get(call.name, ""))
            if sign is not None and len(values) == len(call.args) == 2 and not call.options:
                result = sum_of_picks(values, sign)
            self._set(call.result, result or combine(values, call.name))
            return
        own = next(tensor for tensor in call.tensors if id(tensor) in self.values)
        others = [tensor for tensor in call.tensors if tensor is not own]
        for other in others:
            values[0].check_constant(other.shape, call.result.shape, own.shape, call.name)
        done = self._with_arithmetic(values[0], own, call)
        self._set(call.result, done or values[0].through(HeadLayer(call.name), call.name))

    def _with_arithmetic(self, value: Value, own: Any, call: Call) -> Value | None:
        """The result of adding, subtracting, multiplying by or dividing by a constant; None if not supported."""
        kind = _ARITHMETIC.get(call.name)
        if kind is None or value.each_letter or len(call.args) != 2 or call.options or call.result.dtype != own.dtype:
            return None
        first, second = call.args
        if second is own:
            kind, second = {"sub": "rsub", "rsub": "sub", "div": "rdiv"}.get(kind, kind), first
        if isinstance(second, torch.Tensor):
            number = self._numbers(second, call)
        else:
            number = np.asarray(second, dtype=np.float64)
        number = number.reshape(-1).astype(str(own.dtype).removeprefix("torch."))
        match kind:
            case "add":
                return value.shifted(number, call.name)
            case "sub":
                layer = HeadLayer("scale", None, -number)
            case "rsub":
                layer = HeadLayer("scale", np.full_like(number, -1), number)
            case "mul":
                layer = HeadLayer("scale", number)
            case "div":
                layer = HeadLayer("scale", 1 / number)
            case _:
                return None
        return value.through(layer, call.name)

    def cat(self, call: Call) -> None:
        parts, axis = call.args[0], call.argument(1, "dim", 0)
        if any(id(part) not in self.values for part in parts):
            raise MismatchError(f"it calls {call.name} on values of the word and constants")
        values = [self.values[id(part)] for part in parts]
        self._set(call.result, join(values, axis, [part.shape for part in parts], call.name))

    def recurrent(self, call: Call) -> None:
        """A recurrent layer of PyTorch: input, initial state, weights, whether biased, layers, dropout, and so on."""
        if len(call.args) < 9 or not isinstance(call.args[3], bool):
            raise MismatchError(f"it calls {call.name} on a packed sequence, whose lengths are separate numbers")
        fed, first, weights, biased, count, dropout, training, bidirectional, batch_first = call.args[:9]
        if bidirectional:
            raise MismatchError("its recurrent layer is bidirectional, so a word cannot be read letter by letter")
        if training and dropout:
            raise MismatchError("it drops numbers at random, in evaluation mode too")
        each = 4 if biased else 2
        if len(weights) != each * count:
            raise MismatchError("its LSTM has a projection (proj_size)")
        value = self.values.get(id(fed))
        if value is None:
            raise MismatchError(f"its {call.name} reads no letters")
        states = tensors_in(first)
        if any(id(state) in self.values for state in states):
            raise MismatchError(f"its {call.name} begins in a state that depends on the word")
        begun = any(bool((state != 0).any()) for state in states)
        cell = cell_of_function(call.name)
        layers = [
            Recurrence(call.name, cell, self._layer(call, weights[each * i : each * (i + 1)]), first_state=begun)
            for i in range(count)
        ]
        result = value.recurrent(layers, 1 if batch_first else 0, call.name)
        if not value.layers:
            self.fed[id(result.layers[0])] = fed
            self._numbers_used.add(memory_of(fed))
        sequence, *last = call.result
        self._set(sequence, result)
        below = len(value.layers)
        for number, tensor in enumerate(last):
            stage = Stage.MEMORY if number else Stage.STATE
            depths = tuple(range(below + 1, below + count + 1))
            self._set(tensor, Value(stage, (LAYERS, ONE, FEATURES), result.layers, (), depths))

    def _layer(self, call: Call, weights: Sequence[Any]) -> Layer:
        arrays = [None if weight is None else self._numbers(weight, call) for weight in weights]
        arrays += [None] * (4 - len(arrays))
        return Layer(*arrays)  # type: ignore[arg-type]


def _reject_cell_loop(_: _Reader, call: Call) -> None:
    raise MismatchError(
        f"it calls {call.name} in a loop of Python code, which may count letters; rnncheck.wrap_steps takes the step"
    )


_NO_END = 1 << 31  # a slice to there, or further, goes to the end
_TAKE_LENGTHS = {"view", "reshape", "expand", "unflatten", "view_as", "reshape_as", "expand_as"}
_STEPS: Mapping[str, Callable[[_Reader, Call], None]] = {
    **dict.fromkeys(SAME, _Reader.same),
    **dict.fromkeys(CASTS, _Reader.cast),
    **dict.fromkeys(EACH_NUMBER, _Reader.each_number),
    **dict.fromkeys(WITH_CONSTANT, _Reader.with_constant),
    **dict.fromkeys(("view", "reshape", "flatten", "ravel", "unflatten", "view_as", "reshape_as"), _Reader.reshape),
    **dict.fromkeys(("transpose", "swapaxes", "swapdims", "t", "T", "mT"), _Reader.transpose),
    **dict.fromkeys(("softmax", "log_softmax", "_softmax", "_log_softmax"), _Reader.softmax),
    **dict.fromkeys(("matmul", "mm", "__matmul__"), _Reader.matmul),
    **dict.fromkeys(("expand", "expand_as"), _Reader.expand),
    **dict.fromkeys(("cat", "concat", "concatenate"), _Reader.cat),
    "permute": _Reader.permute,
    "squeeze": _Reader.squeeze,
    "unsqueeze": _Reader.unsqueeze,
    "select": _Reader.select,
    "slice": _Reader.some_entries,
    "__getitem__": _Reader.getitem,
    "embedding": _Reader.embedding,
    "one_hot": _Reader.one_hot,
    "linear": _Reader.linear,
    "layer_norm": _Reader.layer_norm,
    "batch_norm": _Reader.batch_norm,
    "dropout": _Reader.dropout,
}


def letter_rows(reading: RecordReading, letters: Sequence[int]) -> Floats:
    """The input of the first recurrent layer for each letter of a word."""
    if reading.fed is None:
        raise MismatchError("it calls no recurrent layer of PyTorch")
    return floats_of(reading.fed).reshape(len(letters), -1)


def logits_of(reading: RecordReading, outputs: int) -> npt.NDArray[np.float64]:
    """The output of the head, before the last activation if that makes probabilities."""
    result = floats_of(reading.logits).astype(np.float64)
    choice = picked_from_softmax(reading.answer)
    if choice is not None and choice.weight is not None:
        result = log_odds(result.reshape(-1, choice.weight.shape[1])[-1:], choice.weight)
    if result.size % outputs:
        raise MismatchError(
            f"its linear layer's output has shape {result.shape} for a word, and the module's has {outputs} numbers"
        )
    return np.asarray(result.reshape(-1, outputs)[-1])
