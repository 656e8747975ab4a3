"""An ONNX file as a model.

Three ways to answer are tried, the fastest first: the weights of the graph's recurrent operators and of the linear
layer at its end are compiled into our own engine; or onnxruntime steps the graph, letter by letter, with its states fed
back (states that it takes as inputs, or that are made inputs of its recurrent operators); or it is run on whole words.
The first two require that every operator between the letters and the answer is supported (see ``graph_reader``), and
they must agree with the original graph on random words. The reference of the model is the original graph, run by
onnxruntime on a word alone.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from rnncheck.errors import ModelError
from rnncheck.models.black_box import DEFAULT_BATCH, BlackBoxModel, Decision, calibrate
from rnncheck.models.foreign.graph_flow import BATCH, Value, parts_of, same_network
from rnncheck.models.foreign.input_layouts import (
    EMPTY_WORD_REJECTED,
    InputLayout,
    check_ids,
    find_encoding,
    row_of_first_letter,
)
from rnncheck.models.foreign.onnx.graph import Graph, State, free_sizes, read_graph, states_per_operator
from rnncheck.models.foreign.onnx.graph_reader import GraphReader
from rnncheck.models.foreign.onnx.recurrent_operators import floats
from rnncheck.models.foreign.onnx.sessions import OnnxOriginal, OnnxSteps, Program, SteppedGraph, WholeGraph
from rnncheck.models.protocol import Model
from rnncheck.models.self_check import (
    MismatchError,
    OutputMeaning,
    Reference,
    compile_and_check,
    probability_by_range,
)
from rnncheck.words import Alphabet, IntArray

_INTEGERS = {onnx.TensorProto.INT64, onnx.TensorProto.INT32}
_RECORDED_LENGTHS = (2, 3, 7)  # letters; the network read must be the same for each
_LETTERS_AT_ONCE = 256  # the letters of a word off which inputs are read
_FLOATS = {onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE}


@dataclass(frozen=True)
class _Interface:
    """The inputs and outputs of a graph."""

    letters: str
    output: str
    one_hot: bool
    shape: tuple[int | None, ...] | None  # of the letters' input; None for a free size, or for an unknown shape
    states: tuple[State, ...]


class OnnxFile:
    """One graph on its way to a model."""

    def __init__(
        self,
        path: Path,
        alphabet: Alphabet,
        meaning: OutputMeaning,
        first_row: int | None,
        ids: tuple[int, ...] | None,
        seed: int,
    ) -> None:
        model, self.sha256 = read_graph(path)
        self._alphabet = alphabet
        self._ids = ids
        self._meaning = meaning
        self._rng = np.random.default_rng(seed)
        self._interface = _interface(Graph(model))
        model, self.notes = free_sizes(model, _axes_to_keep(self._interface))
        self._graph = Graph(model)
        self._logits = self._name_of_logits()
        self._plain = self._runner(model)
        self._watched = self._runner(self._graph.with_outputs([self._logits]))
        candidates = [
            (functools.partial(_laid, layout), layout.batched, str(layout)) for layout in self._layouts(first_row)
        ]
        encoding = find_encoding(self._raw, candidates, len(alphabet), self._rng)
        self.layout: InputLayout = encoding.encode(np.zeros((1, 1), dtype=np.int64))[0]
        self.batched = encoding.batched
        self.notes += self.layout.notes()
        self.original = OnnxOriginal(self._plain, self._watched, self.layout, encoding.outputs, self._logits)

    def as_compiled(self, empty: bool, facts: Mapping[str, object]) -> Model:
        """The graph's weights in our own engine."""
        answer, reader = self._read_all()
        if self._interface.states:
            self._check_that_states_are_carried()
        entry = reader.fed
        if entry is None:
            raise MismatchError("it has no recurrent operator (it may be unrolled, or use Loop or Scan)")
        vectors = []
        for word in self._words_of_all_letters():
            values = self._values(word, [entry])[entry]
            vectors.append(floats(values).reshape(len(word), -1))
        parts = parts_of(answer, np.concatenate(vectors)[: len(self._alphabet)])
        return compile_and_check(
            parts, self.original, self._alphabet, self._meaning, empty, facts, self._rng, complete=True
        )

    def as_stepping(self, decision: Decision, empty: bool, facts: Mapping[str, object]) -> Model:
        """The graph, stepped by onnxruntime."""
        graph, model = (
            (self._plain, self._graph.model) if isinstance(self._plain, SteppedGraph) else self._with_exposed_states()
        )
        original = OnnxOriginal(self._plain, self._plain, self.layout, decision.outputs, None)
        reference = Reference(original, decision, empty)
        together = self._keeps_words_apart(model, graph.states)
        return OnnxSteps(self._alphabet, graph, self.layout, decision, reference, facts, self._rng, together=together)

    def as_black_box(self, decision: Decision, empty: bool, facts: Mapping[str, object]) -> Model:
        """The graph, run on whole words."""
        most = DEFAULT_BATCH if self.batched and not self._graph.branches() else 1
        most, margin = calibrate(self.original, decision, len(self._alphabet), most, self._rng)
        return BlackBoxModel(
            self._alphabet, self.original, decision, empty=empty, batch_size=most, margin=margin, facts=facts
        )

    def decision(self) -> Decision:
        """The decision, if the graph could not be compiled."""
        meaning, outputs = self._meaning, self.original.outputs
        probability = meaning.probability
        if outputs == 1 and probability is None:
            name, activation = self._graph.before_activation(self._interface.output)
            if activation == "Sigmoid":
                probability = True
            elif not activation and self._graph.is_linear(name):
                probability = False
        if outputs == 1 and probability is None:
            probability = probability_by_range(self.original, len(self._alphabet), self._rng)
            what = "a probability" if probability else "a logit"
            self.notes.append(f"the output is taken for {what}, by its range on 32 words")
        return meaning.decision(outputs, bool(probability))

    def _runner(self, model: Any) -> WholeGraph | SteppedGraph:
        program = Program(model.SerializeToString(), self._meaning.threads)
        interface = self._interface
        if interface.states:
            return SteppedGraph(program, interface.letters, interface.output, interface.states)
        return WholeGraph(program, interface.letters, interface.output)

    def _keeps_words_apart(self, model: Any, states: Sequence[State]) -> bool:
        """Whether a graph that takes one letter and its states computes each word of a batch separately."""
        graph, interface = Graph(model), self._interface
        left = [state.output_name for state in states]
        made = [name for node in graph.above(interface.output, *left) for name in node.output if name]
        codes = np.array([[0], [len(self._alphabet) - 1], [0]])
        try:
            program = Program(graph.with_outputs(made).SerializeToString(), self._meaning.threads)
            runner = SteppedGraph(program, interface.letters, interface.output, tuple(states))
            numbers = dict(zip(made, runner.values(self.layout, codes, made)[1:], strict=True))
            numbers[interface.letters] = self.layout.encode(codes)
            reader = GraphReader(graph, numbers, [state.input_name for state in states])
            axes = self.layout.axes + ("F" if self.layout.one_hot else "")
            reader.read(interface.letters, axes, interface.output, left, batch=BATCH)
        except (MismatchError, ModelError):
            return False
        return True

    def _with_exposed_states(self) -> tuple[SteppedGraph, Any]:
        _, reader = self._read_all()
        model, states = self._graph.with_states(reader.first)
        if not states:
            raise MismatchError("it has no recurrent operator to step")
        program = Program(model.SerializeToString(), self._meaning.threads)
        return SteppedGraph(program, self._interface.letters, self._interface.output, states), model

    def _read_all(self) -> tuple[Value, GraphReader]:
        """How the answer is computed from the letters; a MismatchError names what is not supported."""
        letters = len(self._alphabet)
        lengths = (1,) if self._interface.states else _RECORDED_LENGTHS
        read = [self._read(tuple(letter % letters for letter in range(length))) for length in lengths]
        if not all(same_network(read[0][0], answer) for answer, _ in read):
            raise MismatchError("it computes something different for words of another length")
        return read[-1]

    def _read(self, word: tuple[int, ...]) -> tuple[Value, GraphReader]:
        interface, layout = self._interface, self.layout
        left = [state.output_name for state in interface.states]
        made = [name for node in self._graph.above(interface.output, *left) for name in node.output if name]
        numbers = self._values(word, made)
        numbers[interface.letters] = layout.encode(np.array([word]))
        reader = GraphReader(self._graph, numbers, [state.input_name for state in interface.states])
        # A graph that takes one letter of each word has no axis for time.
        axes = layout.axes + ("F" if layout.one_hot else "")
        return reader.read(interface.letters, axes, interface.output, left), reader

    def _values(self, word: Sequence[int], names: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
        """The values of these names for a word."""
        requested = [name for name in dict.fromkeys(names) if name != self._interface.output]
        try:
            runner = self._runner(self._graph.with_outputs(requested))
            output, *values = runner.values(self.layout, np.array([word]), requested)
        except ModelError as error:
            raise MismatchError(f"its inner values cannot be read: {error}") from None
        return {self._interface.output: output, **dict(zip(requested, values, strict=True))}

    def _words_of_all_letters(self) -> list[tuple[int, ...]]:
        letters = len(self._alphabet)
        if self._interface.states:
            return [(letter,) for letter in range(letters)]
        return [
            tuple(letter % letters for letter in range(start, max(min(start + _LETTERS_AT_ONCE, letters), start + 2)))
            for start in range(0, letters, _LETTERS_AT_ONCE)
        ]

    def _check_that_states_are_carried(self) -> None:
        """Raise a MismatchError unless each recurrent operator gets back the state that it left.

        Between them there are only changes of shape, which move every number to a place of its own.
        """
        nodes = [node for node in self._graph.above(self._interface.output) if node.op_type in states_per_operator()]
        pairs = [
            (node.input[5 + nth], node.output[1 + nth])
            for node in nodes
            for nth in range(states_per_operator()[node.op_type])
            if "" not in ("".join(node.input[5 + nth : 6 + nth]), "".join(node.output[1 + nth : 2 + nth]))
        ]
        if len(pairs) != sum(states_per_operator()[node.op_type] for node in nodes):
            raise MismatchError("a recurrent operator in it starts again with each letter")
        begun = [name for name, _ in pairs]
        requested = [name for name in begun if self._graph.made_by(name) is not None]
        model, outputs = self._graph.with_given_outputs(nodes)
        states = self._interface.states
        width = sum(state.size for state in states)
        given = np.arange(1, width + 1, dtype=np.float32)
        feeds = {self._interface.letters: self.layout.encode(np.array([[0]]))}
        numbers: dict[str, npt.NDArray[Any]] = {}
        at = 0
        for state in states:
            numbers[state.input_name] = given[at : at + state.size]
            feeds[state.input_name] = state.from_rows(numbers[state.input_name][None])
            at += state.size
        at = -1
        for shapes in outputs:  # the outputs of each operator get numbers of their own
            size = int(np.prod(next(iter(shapes.values()))))
            for name, shape in shapes.items():
                numbers[name] = feeds[name] = np.arange(at, at - size, -1, dtype=np.float32).reshape(shape)
            at -= size
        left_names = [state.output_name for state in states]
        try:
            program = Program(Graph(model).with_outputs(requested).SerializeToString(), self._meaning.threads)
            values = program.run([*left_names, *requested], feeds)
        except ModelError as error:
            raise MismatchError(f"its states cannot be followed: {error}") from None
        left = np.concatenate([state.to_rows(value)[0] for state, value in zip(states, values, strict=False)])
        numbers |= dict(zip(requested, values[len(states) :], strict=True))
        places: list[int] = []
        for first, last in pairs:
            taken = np.rint(numbers[first].reshape(-1)).astype(np.int64) - 1
            if not np.array_equal(left[taken], numbers[last].reshape(-1)):
                raise MismatchError("a recurrent operator in it does not start in the state that it left")
            places += taken.tolist()
        if sorted(places) != list(range(width)):
            raise MismatchError("a state in it is not that of one recurrent operator")

    def _raw(self, laid: tuple[InputLayout, IntArray]) -> npt.NDArray[Any]:
        return self._plain.values(*laid)[0]

    def _name_of_logits(self) -> str:
        """The value that the last activation turns into probabilities; the output itself if there is none."""
        name, activation = self._graph.before_activation(self._interface.output)
        return name if activation else self._interface.output

    def _layouts(self, given: int | None) -> list[InputLayout]:
        """The layouts that fit the type and the rank of the letters' input, with this first row if it is given."""
        interface, letters = self._interface, len(self._alphabet)
        shape = interface.shape
        if interface.one_hot:
            size = shape[-1] if shape else None
            rows = letters + (given or 0) if size is None else size
        else:
            rows = self._graph.rows_looked_up(interface.letters) or letters + (given or 0)
        if self._ids is None:
            first_row, note = row_of_first_letter(letters, rows, None, given)
            self.notes += [note] if note else []
        else:
            known = (
                (shape[-1] if shape else None) if interface.one_hot else self._graph.rows_looked_up(interface.letters)
            )
            first_row, rows = 0, known or max(self._ids) + 1
            check_ids(self._ids, rows, given, "one-hot input" if interface.one_hot else "embedding")
        rank = None if shape is None else len(shape) - interface.one_hot
        single = "B" if interface.states else "T"
        axes = {1: (single,), 2: ("BT", "TB")}.get(rank or 0, ("BT", "TB", single))
        return [InputLayout(axis, interface.one_hot, first_row, rows, self._ids) for axis in axes]


def load_onnx(
    path: Path,
    alphabet: Alphabet | None,
    meaning: OutputMeaning,
    *,
    first_row: int | None = None,
    ids: tuple[int, ...] | None = None,
    empty: bool | None = None,
    seed: int = 0,
) -> Model:
    """The model in an ONNX file; the errors do not name the file."""
    if alphabet is None:
        raise ModelError(
            "an ONNX file does not contain its letters; give alphabet=… (--alphabet a,b,c), or put them into a file "
            "beside it, one per line: <file>.alphabet or alphabet.txt"
        )
    file = OnnxFile(path, alphabet, meaning, first_row, ids, seed)
    if empty is None:
        file.notes.append(f"ONNX does not define recurrent operators on the empty word; {EMPTY_WORD_REJECTED}")
    facts: dict[str, object] = {
        "kind": "ONNX graph",
        "input": str(file.layout),
        "reference": "the graph run by onnxruntime on the word alone",
        "sha256": file.sha256,
        "notes": file.notes,
    }
    try:
        return file.as_compiled(bool(empty), facts)
    except MismatchError as reason:
        facts["compiling"] = f"not possible: {reason}"
    decision = file.decision()
    try:
        return file.as_stepping(
            decision, bool(empty), {**facts, "stepping": "by onnxruntime, with its states fed back"}
        )
    except (MismatchError, ModelError) as reason:
        facts["stepping"] = f"not possible: {reason}"
    return file.as_black_box(decision, bool(empty), facts)


def _laid(layout: InputLayout, codes: IntArray) -> tuple[InputLayout, IntArray]:
    return layout, codes


def _axes_to_keep(interface: _Interface) -> dict[str, set[int]]:
    rank = len(interface.shape or ())
    keep = {interface.letters: {rank - 1} if interface.one_hot and rank else set()}
    for state in interface.states:
        keep[state.input_name] = {axis for axis in range(len(state.shape)) if axis != state.axis}
    return keep


def _interface(graph: Graph) -> _Interface:
    """Find the letters' input, the output, and the states that go in and out."""
    integers = [value for value in graph.inputs if value.type.tensor_type.elem_type in _INTEGERS]
    floats = [value for value in graph.inputs if value.type.tensor_type.elem_type in _FLOATS]
    if len(integers) + len(floats) != len(graph.inputs) or not graph.inputs:
        raise ModelError("the graph takes something other than letter numbers, one-hot vectors and states")
    if len(integers) > 1:
        names = ", ".join(value.name for value in integers)
        raise ModelError(f"the graph takes {len(integers)} integer inputs ({names}); expected the letters alone")
    letters = (integers or floats)[0]
    given = [value for value in graph.inputs if value is not letters]
    left = graph.outputs[1:]
    if given and len(left) != len(given):
        raise ModelError(
            f"the graph takes {len(given)} states and returns {len(left)}; it must return each, after the answer"
        )
    states = tuple(_state(value, out.name) for value, out in zip(given, left, strict=False)) if given else ()
    return _Interface(letters.name, graph.outputs[0].name, not integers, _shape(letters), states)


def _shape(value: Any) -> tuple[int | None, ...] | None:
    kind = value.type.tensor_type
    if not kind.HasField("shape"):
        return None
    return tuple(dim.dim_value if dim.HasField("dim_value") else None for dim in kind.shape.dim)


def _state(value: Any, left: str) -> State:
    """A state with its batch axis: the only free one, or else the usual one for its rank."""
    shape = _shape(value)
    if not shape:
        raise ModelError(f"the graph's state {value.name!r} has no shape")
    free = [axis for axis, size in enumerate(shape) if size is None]
    axis = free[0] if len(free) == 1 else max(0, len(shape) - 2)
    sizes = [1 if i == axis else size for i, size in enumerate(shape)]
    if any(size is None for size in sizes):
        raise ModelError(f"the graph's state {value.name!r} has a free size besides the batch: {shape}")
    return State(value.name, left, tuple(size or 1 for size in sizes), axis)
