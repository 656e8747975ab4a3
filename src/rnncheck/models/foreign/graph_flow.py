"""The recurrent classifier that a graph of operations computes, or the operation that is not supported.

Random words cannot show that a graph is what it seems to be: an operation may matter on one word in a billion. So every
value between the letters and the answer is accounted for. It is at one of the stages below, and only known operations
change its stage; any other raises :class:`MismatchError`, which names the operation. The sources of operations
(a recorded PyTorch module, an ONNX graph) translate theirs into the ones here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from rnncheck.models.engine.mlp_head import HEAD_FUNCTIONS, LINEAR, HeadLayer
from rnncheck.models.network import Cell, Floats, Layer
from rnncheck.models.self_check import MismatchError, NetworkParts

# The meaning of an axis. Graphs are read with a batch of one word, whose axis is like any other of one entry; BATCH is
# used only to check that the words of a batch do not influence one another.
ONE, TIME, FEATURES, LAYERS, BATCH = "1", "T", "F", "L", "B"
PROBABILITIES = ("sigmoid", "softmax", "log_softmax")


class Stage(Enum):
    """What a value is computed from."""

    LETTERS = "letters"  # for each letter its number, or something computed from that number alone
    FEATURES = "features"  # for each letter a vector that depends on that letter alone
    SEQUENCE = "sequence"  # for each letter something computed from the recurrent state after it
    STATE = "state"  # something computed from the recurrent state after the last letter
    MEMORY = "memory"  # an LSTM's memory, from which no answer may be computed


@dataclass(frozen=True, eq=False)
class Recurrence:
    """One recurrent layer of a graph; ``cell`` and ``layer`` are None if it is not supported, and ``odd`` says why."""

    operator: str
    cell: Cell | None
    layer: Layer | None
    odd: str = ""
    first_state: bool = False  # whether its initial state is not zero
    before: tuple[HeadLayer, ...] = ()  # functions between the layer below and this one


@dataclass(frozen=True)
class Value:
    """A value of a graph that depends on the letters, with a meaning for every axis."""

    stage: Stage
    axes: tuple[str, ...]
    layers: tuple[Recurrence, ...] = ()
    functions: tuple[HeadLayer, ...] = ()  # since the last recurrent layer
    depths: tuple[int, ...] = ()  # along the axis of layers: the number of ``layers`` that each entry has passed

    @property
    def each_letter(self) -> bool:
        """Whether it depends on one letter alone, so that its numbers can be read off any word with that letter."""
        return self.stage in (Stage.LETTERS, Stage.FEATURES)

    def axis(self, number: int) -> int:
        return number + len(self.axes) if number < 0 else number

    def with_axes(self, axes: Sequence[str]) -> Value:
        return dataclasses.replace(self, axes=tuple(axes))

    # --- changes of shape ---------------------------------------------------------------------------------------------

    def permuted(self, order: Sequence[int]) -> Value:
        return self.with_axes([self.axes[self.axis(axis)] for axis in order])

    def without(self, axis: int, name: str, size: int) -> Value:
        """Without an axis of one entry; the time axis of a word of one letter is another one, which must stay."""
        axis = self.axis(axis)
        if self.axes[axis] in (TIME, BATCH) or size != 1:
            raise MismatchError(f"it calls {name} along the letters of the word")
        depth = self.depths if self.axes[axis] != LAYERS else ()
        return dataclasses.replace(self._at_depth(axis, 0), axes=_drop(self.axes, axis), depths=depth)

    def with_one(self, axis: int) -> Value:
        place = axis + len(self.axes) + 1 if axis < 0 else axis
        return self.with_axes((*self.axes[:place], ONE, *self.axes[place:]))

    def reshaped(
        self, old: Sequence[int], new: Sequence[int], name: str, timed: Mapping[int, bool] | None = None
    ) -> Value:
        """With another shape. Only axes of one entry may be added or removed; time and features stay as they are.

        ``timed`` says for some axes of the new shape whether their size is the length of the word. A word of one
        letter has several axes of one entry, and only this distinguishes them.
        """
        timed = timed or {}
        if LAYERS in self.axes and len(self.depths) > 1:
            raise MismatchError(f"it calls {name} on the states of several layers")
        if LAYERS in self.axes:
            place = self.axes.index(LAYERS)
            alone = (*self.axes[:place], ONE, *self.axes[place + 1 :])
            return self._at_depth(place, 0).with_axes(alone).reshaped(old, new, name, timed)
        kept = [(axis, size) for axis, size in zip(self.axes, old, strict=True) if axis == TIME or size != 1]
        sizes = [size for _, size in kept]
        axes, at = [], 0
        for place, size in enumerate(new):
            fits = at < len(kept) and size == sizes[at] and (size != 1 or kept[at][0] == TIME)
            if fits and timed.get(place) in (None, kept[at][0] == TIME):
                axes.append(kept[at][0])
                at += 1
            elif size == 1:
                axes.append(ONE)
            else:
                break
        if at < len(kept) or len(axes) != len(new):
            raise MismatchError(f"it calls {name}, which joins or splits the axes of letters and features")
        return self.with_axes(axes)

    def selected(self, axis: int, index: int, size: int, name: str) -> Value:
        """One entry along an axis, which is removed. Of the letters of a word only the last can be taken."""
        axis = self.axis(axis)
        what = self.axes[axis]
        if what == BATCH:
            raise MismatchError(f"it takes one word of a batch ({name})")
        if what == TIME:
            if index != -1:
                raise MismatchError(f"it takes letter {index} of the word ({name}), and only the last is supported")
            stage = Stage.MEMORY if self.stage is Stage.MEMORY else Stage.STATE
            return dataclasses.replace(self, stage=stage, axes=_drop(self.axes, axis))
        if what == FEATURES and not self.each_letter and size > 1:
            return self._with_pick(np.array([index]), size).with_axes(_drop(self.axes, axis))
        return dataclasses.replace(self._at_depth(axis, index), axes=_drop(self.axes, axis))

    def sliced(self, axis: int, start: int | None, stop: int | None, step: int | None, size: int, name: str) -> Value:
        """Some entries along an axis; ``stop`` is None for all that follow."""
        axis = self.axis(axis)
        what = self.axes[axis]
        if step not in (None, 1):
            raise MismatchError(f"it takes every {step}th entry ({name})")
        if start in (None, 0) and stop is None:
            return self
        if what == BATCH:
            raise MismatchError(f"it takes some words of a batch ({name})")
        if what == TIME:
            if start == -1 and stop is None:
                last = self.selected(axis, -1, size, name)
                return last.with_one(axis)
            raise MismatchError(f"it takes letters {start or 0} to {'the end' if stop is None else stop} of the word")
        chosen = np.arange(size)[slice(start, stop)]
        if what == LAYERS:
            return dataclasses.replace(self, depths=tuple(np.array(self.depths)[chosen].tolist()))
        if len(chosen) == size or self.each_letter:
            return self
        return self._with_pick(chosen, size)

    def _at_depth(self, axis: int, index: int) -> Value:
        """The state of one layer, if states of several layers are stacked."""
        if self.axes[axis] != LAYERS:
            return self
        return dataclasses.replace(self, layers=self.layers[: self.depths[index]], depths=())

    def _with_pick(self, chosen: Any, size: int) -> Value:
        rows = np.eye(size, dtype=np.float32)[chosen]
        return dataclasses.replace(self, functions=(*self.functions, HeadLayer("pick", rows)))

    # --- functions ----------------------------------------------------------------------------------------------------

    def through(self, function: HeadLayer, name: str) -> Value:
        """The result of a function that computes every position separately."""
        if self.stage is Stage.MEMORY or LAYERS in self.axes:
            raise MismatchError(f"it calls {name} on the states of its recurrent layer, not on its last output")
        if self.each_letter:
            return self
        return dataclasses.replace(self, functions=(*self.functions, function))

    def along_features(self, function: HeadLayer, axis: int, name: str) -> Value:
        """The result of a function that reads the features of a position together, along the last axis."""
        if not self.axes or self.axis(axis) != len(self.axes) - 1 or self.axes[-1] not in (FEATURES, ONE):
            raise MismatchError(f"it calls {name} along another axis than the features")
        if self.axes[-1] == ONE and FEATURES in self.axes:
            raise MismatchError(f"it calls {name} along another axis than the features")
        if self.stage is Stage.LETTERS:
            return dataclasses.replace(self, stage=Stage.FEATURES, axes=(*self.axes[:-1], FEATURES))
        return self.through(function, name).with_axes((*self.axes[:-1], FEATURES))

    def shifted(self, bias: Floats, name: str) -> Value:
        """With constants added: as the bias of a linear layer that has none, or as a function of its own."""
        if not self.each_letter and self.functions and self.functions[-1].name == "linear":
            linear = self.functions[-1]
            if linear.weight is not None and linear.bias is None and bias.size in (1, len(linear.weight)):
                whole = np.broadcast_to(bias.reshape(-1), len(linear.weight)).copy()
                biased = dataclasses.replace(linear, bias=whole)
                return dataclasses.replace(self, functions=(*self.functions[:-1], biased))
        return self.through(HeadLayer("scale", None, bias.reshape(-1)), name)

    def batch_normalised(self, mean: Floats, variance: Floats, own: Sequence[Floats | None], epsilon: float) -> Value:
        """The result of batch normalisation with stored statistics: each feature is scaled and shifted.

        The features are the second axis, whatever follows; ``own`` are the learned scale and shift.
        """
        if len(self.axes) < 2 or self.axes[1] != FEATURES:
            raise MismatchError("it calls batch_norm along another axis than the features")
        scale = 1 / np.sqrt(variance.astype(np.float64) + epsilon) * (1 if own[0] is None else own[0])
        shift = (0 if own[1] is None else own[1]) - mean * scale
        layer = HeadLayer("scale", scale.astype(mean.dtype), shift.astype(mean.dtype))
        return self.through(layer, "batch_norm")

    def embedded(self, name: str) -> Value:
        """A row of a table for each letter."""
        if self.stage is not Stage.LETTERS:
            raise MismatchError(f"it calls {name} on something other than letters")
        return Value(Stage.FEATURES, (*self.axes, FEATURES))

    def check_constant(self, shape: Sequence[int], result: Sequence[int], own: Sequence[int], name: str) -> None:
        """Raise a MismatchError unless a constant is the same at every position, so that it can be combined.

        ``own`` is the value's own shape and ``result`` that of the result.
        """
        aligned = [1] * (len(result) - len(shape)) + list(shape)
        if tuple(result) != tuple(own) or any(
            size != 1 and axis != FEATURES for size, axis in zip(aligned, self.axes, strict=True)
        ):
            raise MismatchError(f"it calls {name} with constants that differ from position to position")

    def recurrent(self, layers: Sequence[Recurrence], time_axis: int, name: str) -> Value:
        """The output sequence of recurrent layers, one above the other."""
        if self.stage is Stage.STATE or self.stage is Stage.MEMORY or len(self.axes) != 3 or LAYERS in self.axes:
            raise MismatchError(f"its {name} reads something other than the letters one by one")
        if self.axes[time_axis] != TIME or self.axes[1 - time_axis] not in (ONE, BATCH) or self.axes[2] == TIME:
            raise MismatchError(f"its {name} does not read along the letters of the word, but along another axis")
        first, *others = layers
        first = dataclasses.replace(first, before=self.functions)
        return Value(Stage.SEQUENCE, (*self.axes[:2], FEATURES), (*self.layers, first, *others))


def join(values: Sequence[Value], axis: int, sizes: Sequence[Sequence[int]], name: str) -> Value:
    """The result of joining values along an axis."""
    first = values[0]
    axis = first.axis(axis)
    if any(len(value.axes) != len(first.axes) or value.axes[axis] in (TIME, BATCH) for value in values):
        raise MismatchError(f"it calls {name} along the letters of the word")
    kept = first.stage in (Stage.STATE, Stage.MEMORY)
    states = kept and all(value.stage is first.stage and not value.functions for value in values)
    if states and all(value.axes[axis] in (ONE, LAYERS) and FEATURES in value.axes for value in values):
        longest = max((value.layers for value in values), key=len)
        if all(value.layers == longest[: len(value.layers)] for value in values):
            depths = [depth for value in values for depth in value.depths or (len(value.layers),)]
            axes = (*first.axes[:axis], LAYERS, *first.axes[axis + 1 :])
            return Value(first.stage, axes, longest, (), tuple(depths))
    if axis != len(first.axes) - 1:
        raise MismatchError(f"it calls {name} along another axis than the features")
    axes = (*first.axes[:-1], FEATURES)
    if all(value.each_letter and value.axes[:-1] == first.axes[:-1] for value in values):
        return Value(Stage.FEATURES, axes)
    side_by_side = _side_by_side(values)
    return (combine(values, name) if side_by_side is None else side_by_side).with_axes(axes)


def _side_by_side(values: Sequence[Value]) -> Value | None:
    """One linear layer in place of several that read the same numbers and whose outputs are joined."""
    first = values[0]
    linear = [value.functions[-1] for value in values if value.functions and value.functions[-1].name in LINEAR]
    alike = all(
        value.stage is first.stage and value.layers == first.layers and value.functions[:-1] == first.functions[:-1]
        for value in values
    )
    if len(linear) < len(values) or not alike:
        return None
    weights = [layer.weight for layer in linear if layer.weight is not None]
    biases = [np.zeros(len(w), w.dtype) if layer.bias is None else layer.bias for w, layer in zip(weights, linear)]  # noqa: B905
    if all(layer.name == "pick" for layer in linear):
        whole = HeadLayer("pick", np.concatenate(weights))
    else:
        whole = HeadLayer("linear", np.concatenate(weights), np.concatenate(biases))
    return dataclasses.replace(first, functions=(*first.functions[:-1], whole))


def combine(values: Sequence[Value], name: str) -> Value:
    """The result of a function of several values, position by position."""
    stages = {value.stage for value in values}
    axes = {value.axes for value in values}
    if Stage.MEMORY in stages or any(LAYERS in value.axes for value in values) or len(axes) > 1:
        raise MismatchError(f"it calls {name} on values of different kinds")
    if all(value.each_letter for value in values):
        return Value(Stage.FEATURES if Stage.FEATURES in stages else Stage.LETTERS, values[0].axes)
    if Stage.STATE in stages and len(stages) > 1:
        raise MismatchError(f"it calls {name} on a state after the last letter and on values of every letter")
    layers = tuple(dict.fromkeys(layer for value in values for layer in value.layers))
    stage = Stage.STATE if stages == {Stage.STATE} else Stage.SEQUENCE
    return Value(stage, values[0].axes, layers, (HeadLayer(name),))


def sum_of_picks(values: Sequence[Value], sign: int) -> Value | None:
    """The sum or the difference of two numbers picked from the same value, as one linear layer."""
    first, second = values
    alike = (first.stage, first.axes, first.layers, first.functions[:-1]) == (
        *(second.stage, second.axes, second.layers),
        second.functions[:-1],
    )
    picked = [value.functions[-1] for value in values if value.functions and _only_picks(value.functions[-1])]
    if not alike or len(picked) < 2 or picked[0].weight is None or picked[1].weight is None:
        return None
    if picked[0].weight.shape != picked[1].weight.shape:
        return None
    whole = HeadLayer("pick", picked[0].weight + sign * picked[1].weight)
    return dataclasses.replace(first, functions=(*first.functions[:-1], whole))


def check_answer(value: Value | None) -> Value:
    """Check that a model's output is computed from the state after the last letter, and return its value."""
    if value is None:
        raise MismatchError("its output does not depend on the letters")
    if value.stage is not Stage.STATE or TIME in value.axes or LAYERS in value.axes:
        raise MismatchError("its output is not computed from the last output of its recurrent layer alone")
    return value


def parts_of(answer: Value, inputs: Floats, *, odds: bool = False) -> NetworkParts:
    """The network that computes the answer, if our engine supports all of its parts.

    ``inputs`` are the inputs of the first recurrent layer for each letter. ``odds`` says that the logits of an output
    of a softmax are its log odds (see ``picked_from_softmax``).
    """
    if not answer.layers:
        raise MismatchError("it has no recurrent layer")
    for layer in answer.layers:
        if layer.cell is None or layer.layer is None:
            raise MismatchError(layer.odd)
        if layer.first_state:
            raise MismatchError(f"its {layer.operator} has an initial state that is not zero")
        if layer.before:
            names = ", ".join(function.name for function in layer.before)
            raise MismatchError(f"it computes {names} between its recurrent layers")
    cells = {layer.cell for layer in answer.layers}
    if len(cells) > 1:
        raise MismatchError("its recurrent layers are of different kinds")
    functions = list(answer.functions)
    if odds and picked_from_softmax(answer) is not None:
        functions[-2:] = [HeadLayer("log_odds", functions[-1].weight), HeadLayer("sigmoid")]
    activation = functions.pop().name if len(functions) > 1 and functions[-1].name in PROBABILITIES else ""
    odd = next((function.name for function in functions if function.name not in HEAD_FUNCTIONS), None)
    if odd is not None or not any(function.name in LINEAR for function in functions):
        why = "no linear layer" if odd is None else f"{odd}, which is not compiled,"
        raise MismatchError(f"it has {why} after its recurrent layers")
    head, *rest = _merge_picks(functions)
    if len(rest) > 1 and rest[-2].name in PROBABILITIES and _only_picks(rest[-1]):
        raise MismatchError(f"its output is one of the numbers that {rest[-2].name} computes, which has no logits")
    layers = tuple(layer.layer for layer in answer.layers if layer.layer is not None)
    if head.weight is None or head.name not in LINEAR:  # the rest reads the hidden state itself
        head, rest = HeadLayer("linear", np.eye(layers[-1].hidden, dtype=inputs.dtype)), [head, *rest]
    weight = np.asarray(head.weight)
    bias = np.zeros(len(weight), dtype=weight.dtype) if head.bias is None else head.bias
    cell = next(cell for cell in cells if cell is not None)
    return NetworkParts(cell, layers, weight, bias, inputs, tuple(rest), activation)


def picked_from_softmax(answer: Value) -> HeadLayer | None:
    """The layer that picks one number of a softmax as the answer; None if the answer is something else."""
    *_, softmax, choice = (None, None, *answer.functions)
    if softmax is None or choice is None or softmax.name != "softmax" or not _only_picks(choice):
        return None
    return choice if choice.weight is not None and choice.weight.shape[0] == 1 < choice.weight.shape[1] else None


def _merge_picks(functions: Sequence[HeadLayer]) -> list[HeadLayer]:
    """Merge linear layers that only pick numbers of another one into it: every product stays the graph's own.

    Other layers stay separate: one layer in place of two rounds differently, the more the larger the numbers between.
    """
    merged: list[HeadLayer] = []
    for function in functions:
        if merged and merged[-1].name == "linear" and _only_picks(function):
            function = _picked_rows(merged.pop(), function)
        merged.append(function)
    return merged


def _only_picks(function: HeadLayer) -> bool:
    """Whether a function only takes some of its inputs."""
    weight = function.weight
    if function.name != "pick" or weight is None:
        return False
    return bool((weight >= 0).all() and (weight.sum(axis=1) == 1).all())


def _picked_rows(linear: HeadLayer, choice: HeadLayer) -> HeadLayer:
    assert linear.weight is not None
    assert choice.weight is not None
    if choice.weight.shape[1] != len(linear.weight):
        raise MismatchError("its linear layers do not read one another's numbers")
    rows = choice.weight.argmax(axis=1)
    bias = None if linear.bias is None else np.broadcast_to(linear.bias, len(linear.weight))[rows]
    return HeadLayer("linear", linear.weight[rows], bias)


def same_network(one: Value, other: Value) -> bool:
    """Whether a graph was read as the same network for words of different lengths."""
    pairs = zip(one.layers, other.layers, strict=False)
    return (
        (one.stage, one.axes, len(one.layers)) == (other.stage, other.axes, len(other.layers))
        and _same_functions(one.functions, other.functions)
        and all(
            a.cell is b.cell
            and a.first_state == b.first_state
            and _same_functions(a.before, b.before)
            and _same_weights(a.layer, b.layer)
            for a, b in pairs
        )
    )


def _same(a: Any, b: Any) -> bool:
    return a is b or (a is not None and b is not None and np.array_equal(a, b))


def _same_weights(one: Layer | None, other: Layer | None) -> bool:
    if one is None or other is None:
        return one is other
    return all(_same(getattr(one, field.name), getattr(other, field.name)) for field in dataclasses.fields(one))


def _same_functions(one: Sequence[HeadLayer], other: Sequence[HeadLayer]) -> bool:
    return len(one) == len(other) and all(
        a.name == b.name and _same(a.weight, b.weight) and _same(a.bias, b.bias) and a.epsilon == b.epsilon
        for a, b in zip(one, other, strict=True)
    )


def _drop(axes: tuple[str, ...], axis: int) -> tuple[str, ...]:
    return (*axes[:axis], *axes[axis + 1 :])
