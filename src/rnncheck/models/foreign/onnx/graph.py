"""Read an ONNX file safely, and change its graph: output inner values, free fixed sizes, take and return states."""

from __future__ import annotations

import copy
import functools
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import external_data_helper, numpy_helper

from rnncheck.errors import ModelError, short_repr
from rnncheck.models.cells import Cell

DEFAULT_LIMIT = 2 << 30  # bytes, the limit of protocol buffers
_FIRST_STATE_INPUT = 5  # initial_h; an LSTM's initial_c follows
_FIRST_STATE_OUTPUT = 1  # Y_h; an LSTM's Y_c follows
_SHAPE_ONLY = {"Squeeze", "Unsqueeze", "Reshape", "Flatten", "Identity", "Cast", "Transpose", "Gather", "Slice"}
_ACTIVATIONS = {"Sigmoid", "Softmax", "LogSoftmax"}


@dataclass(frozen=True)
class State:
    """A state that a graph takes and returns."""

    input_name: str
    output_name: str
    shape: tuple[int, ...]  # the batch axis counts 1
    axis: int  # of the batch
    first: tuple[float, ...] | None = None  # its value before the first letter; None: zeros

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))

    def from_rows(self, rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Rows (words × numbers) as the graph takes them."""
        rest = [size for axis, size in enumerate(self.shape) if axis != self.axis]
        return np.ascontiguousarray(np.moveaxis(rows.reshape(len(rows), *rest), 0, self.axis))

    def to_rows(self, value: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """What the graph returns, as rows."""
        rows = np.moveaxis(value, self.axis, 0) if value.ndim == len(self.shape) else value[:0]
        if rows[:1].size != self.size:
            raise ModelError(
                f"the state output {self.output_name!r} has shape {value.shape}; its input has {self.shape}"
            )
        return rows.reshape(len(rows), self.size)


def states_per_operator() -> dict[str, int]:
    """The number of states that each recurrent operator keeps between letters."""
    return {form.operator: 1 + cell.kind.memory for cell in Cell if (form := cell.kind.onnx) is not None}


def read_graph(path: Path, *, limit: int = DEFAULT_LIMIT) -> tuple[Any, str]:
    """The model in a file, and a digest of all of it. External data is read only from the file's own folder."""
    try:
        if path.stat().st_size > limit:
            raise ModelError(f"has {path.stat().st_size} bytes, more than the limit of {limit}")
        content = path.read_bytes()
        model = onnx.load_from_string(content, format="protobuf")
    except OSError as error:
        raise ModelError(f"cannot be read: {error.strerror or error}") from None
    except ModelError:
        raise
    except Exception as error:  # the parser's exception, whose class is not public
        raise ModelError(f"is not an ONNX file ({short_repr(str(error), 100)})") from None
    if not model.graph.node or not model.graph.output:
        raise ModelError("is not an ONNX file: it holds no graph")
    digest = hashlib.sha256(content)
    for array in _read_external_data(model, path.parent, limit):
        digest.update(hashlib.sha256(array).digest())
    return model, digest.hexdigest()


def _read_external_data(model: Any, folder: Path, limit: int) -> Iterator[bytes]:
    """Load the arrays that are stored in other files into the model, and yield each."""
    home = folder.resolve()
    total = 0
    for tensor in _tensors(model):
        if tensor.data_location != onnx.TensorProto.EXTERNAL:
            continue
        entries = {entry.key: entry.value for entry in tensor.external_data}
        location = entries.get("location", "")
        try:
            target = (home / location).resolve()
            if not location or home not in target.parents:
                raise ModelError(
                    f"stores the array {short_repr(tensor.name)} in {short_repr(location)}, outside the model's own "
                    "folder; copy it into the folder and save the model again"
                )
            if not target.is_file():
                raise ModelError(f"needs the file {short_repr(location)} beside it, which is missing")
            length = entries.get("length", "")
            total += int(length) if length.isdecimal() else target.stat().st_size
        except (OSError, ValueError) as error:  # an impossible file name, a number with thousands of digits
            raise ModelError(
                f"has damaged external data for {short_repr(tensor.name)} ({short_repr(str(error), 100)})"
            ) from None
        if total > limit:
            raise ModelError(f"stores {total} bytes of arrays in other files, more than the limit of {limit}")
        try:
            external_data_helper.load_external_data_for_tensor(tensor, str(home))
        except Exception as error:  # the helper raises whatever its checks raise
            raise ModelError(
                f"has damaged external data for {short_repr(tensor.name)} ({short_repr(str(error), 100)})"
            ) from None
        tensor.data_location = onnx.TensorProto.DEFAULT
        del tensor.external_data[:]
        yield tensor.raw_data


def _tensors(model: Any) -> Iterator[Any]:
    """Every stored array of a model, in any of its parts."""
    yield from _tensors_of_graph(model.graph)
    for function in model.functions:
        yield from _tensors_of_nodes(function.node)
    for training in model.training_info:
        yield from _tensors_of_graph(training.initialization)
        yield from _tensors_of_graph(training.algorithm)


def _tensors_of_graph(graph: Any) -> Iterator[Any]:
    yield from graph.initializer
    for sparse in graph.sparse_initializer:
        yield from (sparse.values, sparse.indices)
    yield from _tensors_of_nodes(graph.node)


def _tensors_of_nodes(nodes: Iterable[Any]) -> Iterator[Any]:
    for node in nodes:
        for attribute in node.attribute:
            yield attribute.t
            yield from attribute.tensors
            for sparse in (attribute.sparse_tensor, *attribute.sparse_tensors):
                yield from (sparse.values, sparse.indices)
            for graph in (attribute.g, *attribute.graphs):
                yield from _tensors_of_graph(graph)


class Graph:
    """A model's main graph, with common queries."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self._nodes = list(model.graph.node)  # kept, so that each node is one object
        self._made_by = {name: node for node in self._nodes for name in node.output if name}
        self._stored = {tensor.name: tensor for tensor in model.graph.initializer}

    @property
    def inputs(self) -> list[Any]:
        """The inputs to be given by a caller; old files list stored arrays among them."""
        return [value for value in self.model.graph.input if value.name not in self._stored]

    @property
    def outputs(self) -> list[Any]:
        return list(self.model.graph.output)

    @property
    def recurrent(self) -> list[Any]:
        """The recurrent operators of the main graph, in execution order."""
        operators = states_per_operator()
        return [node for node in self.model.graph.node if node.op_type in operators and node.domain in ("", "ai.onnx")]

    @property
    def opset(self) -> int:
        """The version of ONNX's own operators."""
        return next((int(opset.version) for opset in self.model.opset_import if opset.domain in ("", "ai.onnx")), 1)

    @functools.cached_property
    def used(self) -> set[str]:
        """The values that an operator reads, or that the graph returns."""
        read = {name for node in self.model.graph.node for name in node.input}
        return read | {value.name for value in self.outputs}

    def above(self, *names: str) -> list[Any]:
        """The nodes that compute these values, in execution order."""
        open_names, found = list(names), set()
        while open_names:
            node = self.made_by(open_names.pop())
            if node is not None and id(node) not in found:
                found.add(id(node))
                open_names += [name for name in node.input if name]
        return [node for node in self._nodes if id(node) in found]

    def branches(self) -> bool:
        """Whether one word may decide how all words of a batch are computed."""
        return any(node.op_type in ("If", "Loop", "Scan") for node in self.model.graph.node)

    def made_by(self, name: str) -> Any | None:
        """The node that makes a value; None for inputs and stored arrays."""
        return self._made_by.get(name)

    def constant(self, name: str) -> npt.NDArray[Any] | None:
        """The value of a stored array or of a Constant node."""
        if name in self._stored:
            return np.asarray(numpy_helper.to_array(self._stored[name]))
        node = self.made_by(name)
        if node is not None and node.op_type == "Constant":
            for attribute in node.attribute:
                if attribute.name == "value":
                    return np.asarray(numpy_helper.to_array(attribute.t))
        return None

    def before_activation(self, name: str) -> tuple[str, str]:
        """Walk back from a value over changes of shape, and over an activation if there is one.

        Returns the name of the value reached and the activation's operator ("" if there is none).
        """
        while (node := self.made_by(name)) is not None:
            if node.op_type in _ACTIVATIONS:
                return node.input[0], node.op_type
            if node.op_type not in _SHAPE_ONLY:
                break
            name = node.input[0]
        return name, ""

    def is_linear(self, name: str) -> bool:
        """Whether a linear layer computes a value; its bias may be an operator of its own."""
        node = self.made_by(name)
        products = [node] if node is None or node.op_type != "Add" else [self.made_by(each) for each in node.input]
        return any(node is not None and node.op_type in ("Gemm", "MatMul") for node in products)

    def rows_looked_up(self, name: str) -> int | None:
        """The number of rows of the table in which the values of this input are looked up; None if there is none."""
        names = {name}
        for node in self.model.graph.node:
            if node.op_type == "Gather" and len(node.input) > 1 and node.input[1] in names:
                table = self.constant(node.input[0])
                if table is not None and table.ndim == 2:
                    return len(table)
            if node.op_type in _SHAPE_ONLY and node.input[0] in names:
                names.update(node.output)
        return None

    def with_outputs(self, names: Iterable[str]) -> Any:
        """A copy of the model that also returns these inner values."""
        model = copy.deepcopy(self.model)
        known = {value.name for value in model.graph.output}
        for name in dict.fromkeys(names):
            if name not in known:
                model.graph.output.append(onnx.ValueInfoProto(name=name))
        return model

    def with_given_outputs(self, recurrent: Iterable[Any]) -> tuple[Any, list[dict[str, tuple[int, ...]]]]:
        """A copy that takes the outputs of these operators for one letter as inputs; and their shapes by name.

        Names in one mapping have the same numbers: an operator's outputs for one letter, and its last state.
        """
        model = copy.deepcopy(self.model)
        inner = {name for node in recurrent for name in node.output if name}
        given: list[dict[str, tuple[int, ...]]] = []
        for node in model.graph.node:
            if inner.isdisjoint(node.output):
                continue
            shape: tuple[int, ...] = (1, 1, _attribute(node, "hidden_size"))
            shapes = {name: shape if place else (1, *shape) for place, name in enumerate(node.output) if name}
            for name, sizes in shapes.items():
                model.graph.input.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, sizes))
            memory = set(node.output[2:])
            parts = [{name: shapes[name] for name in shapes if (name in memory) == kept} for kept in (False, True)]
            given += [part for part in parts if part]
            for place in range(len(node.output)):
                node.output[place] = f"rnncheck_unused_{len(model.graph.input)}_{place}"
        return model, given

    def with_states(self, first: Mapping[str, npt.NDArray[Any]]) -> tuple[Any, tuple[State, ...]]:
        """A copy whose recurrent operators take their initial states and return their last ones; and those states.

        ``first`` has the graph's own initial states by name.
        """
        model = copy.deepcopy(self.model)
        kept = states_per_operator()
        states: list[State] = []
        for number, node in enumerate(Graph(model).recurrent):
            hidden = _attribute(node, "hidden_size")
            axis = 0 if _attribute(node, "layout") else 1
            shape = (1, 1, hidden)
            for nth in range(kept[node.op_type]):
                given = f"rnncheck_state_{number}_{nth}_in"
                place = _FIRST_STATE_INPUT + nth
                begun = first.get(node.input[place]) if len(node.input) > place and node.input[place] else None
                _set(node.input, place, given)
                left = _name_output(node, _FIRST_STATE_OUTPUT + nth, f"rnncheck_state_{number}_{nth}_out")
                sizes = [f"rows_{number}" if i == axis else size for i, size in enumerate(shape)]
                model.graph.input.append(onnx.helper.make_tensor_value_info(given, onnx.TensorProto.FLOAT, sizes))
                model.graph.output.append(onnx.ValueInfoProto(name=left))
                own = None if begun is None else tuple(begun.reshape(-1).tolist())
                states.append(State(given, left, shape, axis, own))
        return model, tuple(states)


def free_sizes(model: Any, keep: Mapping[str, set[int]]) -> tuple[Any, list[str]]:
    """A copy whose inputs have free sizes except on the axes to keep; and notes on sizes that were fixed."""
    model = copy.deepcopy(model)
    notes = []
    for value in model.graph.input:
        if value.name not in keep:
            continue
        dims = value.type.tensor_type.shape.dim
        fixed = [
            dim.dim_value for axis, dim in enumerate(dims) if dim.HasField("dim_value") and axis not in keep[value.name]
        ]
        if fixed:
            sizes = " × ".join(str(dim.dim_value or dim.dim_param or "?") for dim in dims)
            notes.append(
                f"the file fixes the shape of the input {value.name!r} to {sizes}; other sizes are allowed too"
            )
        for axis, dim in enumerate(dims):
            if axis not in keep[value.name]:
                dim.Clear()
                dim.dim_param = f"{value.name}_{axis}"
    if notes:  # shapes inferred for the fixed sizes would contradict the free ones
        del model.graph.value_info[:]
        for value in model.graph.output:
            value.type.tensor_type.ClearField("shape")
    return model, notes


def _set(values: Any, position: int, name: str) -> None:
    while len(values) <= position:
        values.append("")
    values[position] = name


def _name_output(node: Any, position: int, name: str) -> str:
    """The name of a node's output, which gets this one if it has none."""
    while len(node.output) <= position:
        node.output.append("")
    if not node.output[position]:
        node.output[position] = name
    return str(node.output[position])


def _attribute(node: Any, name: str) -> int:
    return next((int(attribute.i) for attribute in node.attribute if attribute.name == name), 0)
