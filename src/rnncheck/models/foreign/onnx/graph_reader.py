"""Read a recurrent classifier off an ONNX graph: every operator between the letters and the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rnncheck.models.engine.mlp_head import HeadLayer
from rnncheck.models.foreign.graph_flow import (
    FEATURES,
    ONE,
    TIME,
    Recurrence,
    Stage,
    Value,
    check_answer,
    combine,
    join,
)
from rnncheck.models.foreign.onnx.graph import Graph, states_per_operator
from rnncheck.models.foreign.onnx.recurrent_operators import PEEPHOLES, Numbers, cell_of, floats, layer_of, settings_of
from rnncheck.models.self_check import MismatchError

_NO_END = (1 << 31) - 1  # a slice to there, or further, goes to the end
_FIRST_STATE, _SEQUENCE_LENGTHS = 5, 4  # positions among the inputs of a recurrent operator
_EACH_NUMBER = {"Relu": "relu", "Tanh": "tanh", "Sigmoid": "sigmoid", "Gelu": "gelu"}
_EACH_NUMBER |= {
    name: name
    for name in ("LeakyRelu", "Elu", "Selu", "Softplus", "Softsign", "HardSigmoid", "Exp", "Neg", "Abs", "Sqrt", "Erf")
}
_WITH_CONSTANT = ("Add", "Sub", "Mul", "Div", "Pow", "Min", "Max", "Clip", "PRelu")
_OF_SIZES = ("Gather", "Slice", "Squeeze", "Unsqueeze", "Cast", "Identity", "Concat")
_OF_STATES = (*_OF_SIZES, "Split", "Reshape", "Transpose")
# Everything computed from constants alone is a constant, except by operators that draw random numbers.
_RANDOM = ("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli")

_GRAPHS = (5, 10)  # the types of attributes that hold graphs


class GraphReader:
    """The values of a graph for one word, operator by operator.

    ``numbers`` has the outputs of every operator for that word. A value is a :class:`Value` if it depends on the
    letters, an array of truth values if it is made of sizes (True for the length of the word), and a constant
    otherwise. ``given`` are the names of states that the graph takes as inputs.
    """

    def __init__(self, graph: Graph, numbers: Mapping[str, Numbers], given: Sequence[str] = ()) -> None:
        self.graph = graph
        self._numbers = numbers
        self._stepped = bool(given)  # a graph that takes its states reads one letter at a time
        self._values: dict[str, Value] = {}
        self._sizes: dict[str, npt.NDArray[np.bool_]] = {}
        self._states = set(given)
        self._unknown: set[str] = set()  # further outputs of operators that read values
        self._local = {(function.domain, function.name) for function in graph.model.functions}
        self.fed: str | None = None  # the input of the first recurrent operator
        self.first: dict[str, Numbers] = {}  # the initial states of recurrent operators, by name

    def read(self, letters: str, axes: str, output: str, left: Sequence[str] = (), *, batch: str = ONE) -> Value:
        """How the output is computed from the letters; a MismatchError names what is not supported.

        ``left`` are the states that the graph returns, which must be those of its recurrent operators. ``batch`` is
        BATCH if the numbers are those of several words, which may not influence one another.
        """
        names = tuple({"B": batch, "T": TIME, "F": FEATURES}[axis] for axis in axes)
        self._set(letters, Value(Stage.FEATURES if FEATURES in names else Stage.LETTERS, names))
        for node in self.graph.above(output, *left):
            self._read(node)
        for name in left:
            value = self._values.get(name)
            if value is None or value.stage not in (Stage.STATE, Stage.MEMORY) or value.functions:
                raise MismatchError(f"its state {name!r} is not that of a recurrent operator")
        return check_answer(self._values.get(output))

    def _read(self, node: Any) -> None:
        kind, inputs = node.op_type, [name for name in node.input if name]
        if node.domain not in ("", "ai.onnx"):
            raise MismatchError(f"its operator {kind} of {node.domain} is not supported")
        if (node.domain, kind) in self._local:
            raise MismatchError(f"its operator {kind} is a function of its own")
        if any(attribute.type in _GRAPHS for attribute in node.attribute):
            raise MismatchError(f"its operator {kind} has graphs of its own")
        unknown = next((name for name in inputs if name in self._unknown), None)
        if unknown is not None:
            raise MismatchError(f"its operator {kind} reads {unknown!r}, which is not supported")
        dependent = [name for name in inputs if name in self._values]
        sized = [name for name in inputs if name in self._sizes]
        if kind == "Shape" and dependent:
            self._read_shape(node)
        elif not dependent and any(name in self._states for name in inputs):
            if kind not in _OF_STATES or sized:
                raise MismatchError(f"its operator {kind} changes the states that it is given")
            self._states.update(node.output)
        elif not dependent and sized:
            self._read_sizes(node, sized)
        elif not dependent:
            if kind in _RANDOM or (kind == "Dropout" and self._drops(node)):
                raise MismatchError(f"its operator {kind} draws random numbers")
        else:
            if sized and kind not in ("Reshape", "Expand"):
                raise MismatchError(f"its operator {kind} reads the length of the word")
            step = _STEPS.get(kind)
            if step is None:
                raise MismatchError(f"its operator {kind} is not supported")
            step(self, node)
            self._unknown.update(name for name in node.output if name and name not in self._values)

    # --- constants and sizes ------------------------------------------------------------------------------------------

    def constant(self, name: str, node: Any) -> Numbers:
        """A value that is the same for every word."""
        if name in self._values or name in self._sizes or name in self._states:
            raise MismatchError(f"its operator {node.op_type} reads something other than constants")
        stored = self.graph.constant(name)
        if stored is None and name not in self._numbers:
            raise MismatchError(f"its operator {node.op_type} reads {name!r}, which is not supported")
        return self._numbers[name] if stored is None else stored

    def _optional(self, node: Any, position: int) -> Numbers | None:
        name = node.input[position] if len(node.input) > position else ""
        return self.constant(name, node) if name else None

    def _shape(self, name: str) -> tuple[int, ...]:
        return tuple(self._numbers[name].shape)

    def _read_shape(self, node: Any) -> None:
        settings = settings_of(node)
        axes = self._values[node.input[0]].axes[settings.get("start", 0) : settings.get("end")]
        self._set_sizes(node.output[0], np.array([axis == TIME for axis in axes]))

    def _read_sizes(self, node: Any, sized: Sequence[str]) -> None:
        kind = node.op_type
        if kind not in _OF_SIZES or (kind != "Concat" and list(sized) != [node.input[0]]):
            raise MismatchError(
                f"its operator {kind} calculates with the length of the word, and may treat some lengths differently"
            )
        if kind == "Concat":
            parts = [self._sizes.get(name, np.zeros(self.constant_shape(name), np.bool_)) for name in node.input]
            result = np.concatenate(parts)
        elif kind == "Gather":
            result = np.take(self._sizes[sized[0]], self.constant(node.input[1], node), axis=0)
        elif kind == "Slice":
            result = self._sizes[sized[0]][tuple(self._slices(node, 1))]
        else:
            result = self._sizes[sized[0]].reshape(self._shape(node.output[0]))
        self._set_sizes(node.output[0], np.asarray(result))

    def constant_shape(self, name: str) -> tuple[int, ...]:
        stored = self.graph.constant(name)
        return self._shape(name) if stored is None else stored.shape

    def _set_sizes(self, name: str, timed: npt.NDArray[np.bool_]) -> None:
        if timed.any():  # otherwise it is the size of the batch or of the features: a constant
            self._sizes[name] = timed

    # --- values -------------------------------------------------------------------------------------------------------

    def _set(self, name: str, value: Value) -> None:
        if name in self._numbers and len(self._shape(name)) != len(value.axes):
            raise MismatchError(f"a value of shape {self._shape(name)} is not supported")
        self._values[name] = value

    def _value(self, node: Any) -> Value:
        value = self._values.get(node.input[0])
        if value is None:
            raise MismatchError(f"its operator {node.op_type} is used in a way that is not supported")
        return value

    def same(self, node: Any) -> None:
        self._set(node.output[0], self._value(node))

    def _drops(self, node: Any) -> bool:
        training = self._optional(node, 2)
        return training is not None and bool(training.any())

    def dropout(self, node: Any) -> None:
        if self._drops(node):
            raise MismatchError("its Dropout drops numbers at random")
        self.same(node)

    def cast(self, node: Any) -> None:
        value, before = self._value(node), self._numbers.get(node.input[0])
        after = self._numbers[node.output[0]]
        if not value.each_letter and before is not None and before.dtype != after.dtype:
            raise MismatchError(f"it turns {before.dtype} into {after.dtype} after its recurrent layers")
        self.same(node)

    def expand(self, node: Any) -> None:
        if self._shape(node.input[0]) != self._shape(node.output[0]):
            raise MismatchError("its operator Expand repeats numbers of the word")
        self.same(node)

    def reshape(self, node: Any) -> None:
        old, new = self._shape(node.input[0]), self._shape(node.output[0])
        self._set(node.output[0], self._value(node).reshaped(old, new, node.op_type))

    def squeeze(self, node: Any) -> None:
        value, shape = self._value(node), self._shape(node.input[0])
        axes = self._axes(node)
        if axes is None:
            if TIME in value.axes:
                raise MismatchError("its Squeeze has no axes, and a word of one letter loses one more")
            axes = [axis for axis, size in enumerate(shape) if size == 1]
        for axis in sorted((value.axis(axis) for axis in axes), reverse=True):
            value = value.without(axis, node.op_type, shape[axis])
        self._set(node.output[0], value)

    def unsqueeze(self, node: Any) -> None:
        value, axes = self._value(node), self._axes(node) or []
        rank = len(value.axes) + len(axes)
        for axis in sorted(axis + rank if axis < 0 else axis for axis in axes):
            value = value.with_one(axis)
        self._set(node.output[0], value)

    def _axes(self, node: Any) -> list[int] | None:
        given = settings_of(node).get("axes")
        if given is None:
            array = self._optional(node, 1)
            return None if array is None else [int(axis) for axis in array]
        return [int(axis) for axis in given]

    def transpose(self, node: Any) -> None:
        value = self._value(node)
        order = settings_of(node).get("perm") or list(range(len(value.axes)))[::-1]
        self._set(node.output[0], value.permuted(order))

    def gather(self, node: Any) -> None:
        axis = int(settings_of(node).get("axis", 0))
        if node.input[1] in self._values:
            table = self.constant(node.input[0], node)
            if axis or table.ndim != 2 or len(node.input) != 2:
                raise MismatchError("its operator Gather looks letters up in something other than a table")
            self._set(node.output[0], self._values[node.input[1]].embedded("Gather"))
            return
        value, index, size = self._value(node), self.constant(node.input[1], node), self._shape(node.input[0])[axis]
        if index.size != 1:
            raise MismatchError("its operator Gather takes several entries")
        number = int(index.reshape(-1)[0])
        if self._stepped and value.axes[value.axis(axis)] == TIME:
            number = -1  # there is one letter
        value = value.selected(axis, number, size, "Gather")
        self._set(node.output[0], value.with_one(value.axis(axis)) if index.ndim else value)

    def some_entries(self, node: Any) -> None:
        value, shape = self._value(node), self._shape(node.input[0])
        for axis, part in enumerate(self._slices(node, len(shape))):
            value = value.sliced(axis, part.start, part.stop, part.step, shape[axis], "Slice")
        self._set(node.output[0], value)

    def _slices(self, node: Any, rank: int) -> list[slice]:
        settings = settings_of(node)
        if "starts" in settings:  # before opset 10
            starts, ends = settings["starts"], settings["ends"]
            axes, steps = settings.get("axes") or range(len(starts)), [1] * len(starts)
        else:
            starts, ends = (self.constant(node.input[i], node).tolist() for i in (1, 2))
            given_axes, given_steps = self._optional(node, 3), self._optional(node, 4)
            axes = range(len(starts)) if given_axes is None else given_axes.tolist()
            steps = [1] * len(starts) if given_steps is None else given_steps.tolist()
        slices = [slice(None)] * rank
        for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
            slices[axis] = slice(start, None if end >= _NO_END else end, step)
        return slices

    def one_hot(self, node: Any) -> None:
        if int(settings_of(node).get("axis", -1)) != -1:
            raise MismatchError("its operator OneHot puts the features before the letters")
        for position in (1, 2):
            self.constant(node.input[position], node)
        self._set(node.output[0], self._value(node).embedded("OneHot"))

    def matmul(self, node: Any) -> None:
        weight = self.constant(node.input[1], node)
        if weight.ndim != 2:
            raise MismatchError(f"its operator MatMul has a weight of shape {weight.shape}")
        layer = HeadLayer("linear", np.ascontiguousarray(floats(weight).T))
        self._set(node.output[0], self._value(node).along_features(layer, -1, "MatMul"))

    def gemm(self, node: Any) -> None:
        settings, weight, bias = settings_of(node), self.constant(node.input[1], node), self._optional(node, 2)
        if settings.get("transA") or weight.ndim != 2:
            raise MismatchError("its operator Gemm transposes its input")
        alpha, beta = (np.float32(settings.get(name, 1.0)) for name in ("alpha", "beta"))
        rows = floats(weight) if settings.get("transB") else floats(weight).T
        rows = np.ascontiguousarray(rows if alpha == 1 else rows * alpha)
        if bias is not None:
            bias = np.broadcast_to((floats(bias) if beta == 1 else floats(bias) * beta).reshape(-1), len(rows)).copy()
        self._set(node.output[0], self._value(node).along_features(HeadLayer("linear", rows, bias), -1, "Gemm"))

    def each_number(self, node: Any) -> None:
        name = _EACH_NUMBER[node.op_type]
        if name == "gelu" and settings_of(node).get("approximate", b"none") != b"none":
            name = "gelu_tanh"
        function = HeadLayer(name)
        self._set(node.output[0], self._value(node).through(function, node.op_type))

    def softmax(self, node: Any) -> None:
        value = self._value(node)
        axis = int(settings_of(node).get("axis", -1 if self.graph.opset >= 13 else 1))
        name = {"Softmax": "softmax", "LogSoftmax": "log_softmax"}[node.op_type]
        self._set(node.output[0], value.along_features(HeadLayer(name), axis, node.op_type))

    def normalisation(self, node: Any) -> None:
        settings, value = settings_of(node), self._value(node)
        scale, shift = self.constant(node.input[1], node), self._optional(node, 2)
        if any(name in self.graph.used for name in node.output[1:]):
            raise MismatchError("its LayerNormalization shows its mean")
        layer = HeadLayer(
            "layer_norm", floats(scale), None if shift is None else floats(shift), float(settings.get("epsilon", 1e-5))
        )
        self._set(node.output[0], value.along_features(layer, int(settings.get("axis", -1)), node.op_type))

    def batch_normalisation(self, node: Any) -> None:
        settings, value = settings_of(node), self._value(node)
        others = any(name in self.graph.used for name in node.output[1:])
        if settings.get("training_mode") or not settings.get("spatial", 1) or others:
            raise MismatchError("its BatchNormalization reads the words of a batch together")
        scale, shift, mean, variance = (floats(self.constant(name, node)) for name in node.input[1:5])
        epsilon = float(settings.get("epsilon", 1e-5))
        self._set(node.output[0], value.batch_normalised(mean, variance, (scale, shift), epsilon))

    def reduce(self, node: Any) -> None:
        value, axes = self._value(node), self._axes(node)
        if axes is None or len(axes) != 1:
            raise MismatchError(f"its operator {node.op_type} goes along several axes")
        reduced = value.along_features(HeadLayer(node.op_type), axes[0], node.op_type)
        kept = settings_of(node).get("keepdims", 1)
        self._set(node.output[0], reduced.with_axes((*reduced.axes[:-1], *([ONE] if kept else []))))

    def with_constant(self, node: Any) -> None:
        kind, result = node.op_type, self._shape(node.output[0])
        dependent = [name for name in node.input if name in self._values]
        if len(dependent) > 1:
            shapes = {self._shape(name) for name in dependent}
            if shapes != {result} or len(node.input) > len(dependent):
                if kind in ("Div", "Sub"):  # a normalisation that is written out
                    self._set(node.output[0], self._normalised(node, result))
                    return
                raise MismatchError(f"its operator {kind} joins values of different kinds")
            self._set(node.output[0], combine([self._values[name] for name in dependent], kind))
            return
        value = self._values[dependent[0]]
        others = [self.constant(name, node) for name in node.input if name and name != dependent[0]]
        for other in others:
            value.check_constant(other.shape, result, self._shape(dependent[0]), kind)
        if kind == "Add":
            self._set(node.output[0], value.shifted(floats(others[0]) if not value.each_letter else others[0], kind))
        else:
            self._set(node.output[0], value.through(HeadLayer(kind), kind))

    def _normalised(self, node: Any, result: tuple[int, ...]) -> Value:
        """A value minus its mean over the features, or divided by its deviation; both share the axes of letters."""
        first, second = (self._values[name] for name in node.input[:2])
        narrow = second.axes[-1:] == (ONE,) and second.axes[:-1] == first.axes[:-1]
        if self._shape(node.input[0]) != result or not narrow:
            raise MismatchError(f"its operator {node.op_type} joins values of different kinds")
        return combine([first, second.with_axes(first.axes)], node.op_type)

    def concat(self, node: Any) -> None:
        if any(name not in self._values for name in node.input):
            raise MismatchError("its operator Concat joins values of the word and constants")
        values = [self._values[name] for name in node.input]
        shapes = [self._shape(name) for name in node.input]
        self._set(node.output[0], join(values, int(settings_of(node)["axis"]), shapes, "Concat"))

    def recurrent(self, node: Any) -> None:
        settings, kind = settings_of(node), node.op_type
        if settings.get("direction", b"forward") != b"forward":
            direction = settings["direction"].decode()
            raise MismatchError(f"its {kind} is {direction}, so a word cannot be read letter by letter")
        if len(node.input) > _SEQUENCE_LENGTHS and node.input[_SEQUENCE_LENGTHS]:
            raise MismatchError(f"its {kind} takes the lengths of words as separate numbers")
        for position in (1, 2, 3, PEEPHOLES):
            self._optional(node, position)  # all of them must be constants
        begun = False
        for name in node.input[_FIRST_STATE : _FIRST_STATE + states_per_operator()[kind]]:
            if name and name not in self._states:
                self.first[name] = self.constant(name, node)
                begun = begun or bool((self.first[name] != 0).any())
        batch_first = bool(settings.get("layout"))
        value = self._value(node)
        result = value.recurrent([self._recurrence(node, begun)], 1 if batch_first else 0, kind)
        self.fed = self.fed or node.input[0]
        outputs = [*node.output, "", "", ""]
        batch = value.axes[0 if batch_first else 1]
        if outputs[0]:
            axes = (batch, TIME, ONE, FEATURES) if batch_first else (TIME, ONE, batch, FEATURES)
            self._set(outputs[0], result.with_axes(axes))
        for name, stage in ((outputs[1], Stage.STATE), (outputs[2], Stage.MEMORY)):
            if name:
                kept = (batch, ONE, FEATURES) if batch_first else (ONE, batch, FEATURES)
                self._set(name, Value(stage, kept, result.layers))

    def _recurrence(self, node: Any, begun: bool) -> Recurrence:
        try:
            cell, form = cell_of(node)
            layer = layer_of(node, form.gate_order, lambda name: self.constant(name, node))
        except MismatchError as odd:
            return Recurrence(node.op_type, None, None, str(odd), begun)
        return Recurrence(node.op_type, cell, layer, "", begun)


_STEPS: Mapping[str, Callable[[GraphReader, Any], None]] = {
    **dict.fromkeys(_EACH_NUMBER, GraphReader.each_number),
    **dict.fromkeys(_WITH_CONSTANT, GraphReader.with_constant),
    **dict.fromkeys(("LSTM", "GRU", "RNN"), GraphReader.recurrent),
    **dict.fromkeys(("Softmax", "LogSoftmax"), GraphReader.softmax),
    **dict.fromkeys(("Reshape", "Flatten"), GraphReader.reshape),
    **dict.fromkeys(("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin"), GraphReader.reduce),
    "Identity": GraphReader.same,
    "Dropout": GraphReader.dropout,
    "Cast": GraphReader.cast,
    "Expand": GraphReader.expand,
    "Squeeze": GraphReader.squeeze,
    "Unsqueeze": GraphReader.unsqueeze,
    "Transpose": GraphReader.transpose,
    "Gather": GraphReader.gather,
    "Slice": GraphReader.some_entries,
    "OneHot": GraphReader.one_hot,
    "MatMul": GraphReader.matmul,
    "Gemm": GraphReader.gemm,
    "LayerNormalization": GraphReader.normalisation,
    "BatchNormalization": GraphReader.batch_normalisation,
    "Concat": GraphReader.concat,
}
