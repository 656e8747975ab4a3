"""Run ONNX graphs with onnxruntime: whole words, or one letter at a time with the states fed back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import onnxruntime

from rnncheck.errors import ModelError, short_repr
from rnncheck.models.black_box import Decision, Outputs
from rnncheck.models.fingerprint import digest_of
from rnncheck.models.foreign.input_layouts import InputLayout, rows_of
from rnncheck.models.foreign.onnx.graph import State
from rnncheck.models.protocol import Labeller, Letters, Scores, States, SteppingModel
from rnncheck.models.self_check import MismatchError, Reference
from rnncheck.words import Alphabet, Codes, IntArray, WordBatch

_TYPES: Mapping[str, Any] = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
}
_ROWS_AT_ONCE = 1024
_MARGIN_FLOOR, _MARGIN_FACTOR, _TOLERANCE = 1e-4, 100.0, 1e-3


class Program:
    """A graph that onnxruntime runs on the CPU. No library of custom operators is ever loaded."""

    def __init__(self, content: bytes, threads: int | None) -> None:
        self._made_of = (content, threads)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = threads or 0
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # leaves the cores to other work
        try:
            # The fallback would try the same again and print a message into our output.
            self._session = onnxruntime.InferenceSession(
                content, options, providers=["CPUExecutionProvider"], enable_fallback=0
            )
        except Exception as error:  # onnxruntime's exceptions have no common class of their own
            raise ModelError(f"onnxruntime cannot load the graph ({short_repr(str(error), 200)})") from None
        self.types = {value.name: _TYPES.get(value.type) for value in self._session.get_inputs()}

    def __reduce__(self) -> tuple[Any, ...]:
        return (Program, self._made_of)

    def fingerprint(self) -> str:
        return digest_of(self._made_of[0])

    def run(self, names: Sequence[str], feeds: Mapping[str, npt.NDArray[Any]]) -> list[npt.NDArray[Any]]:
        """The values of these outputs."""
        typed = {name: value.astype(self.types[name], copy=False) for name, value in feeds.items()}
        try:
            values: list[npt.NDArray[Any]] = self._session.run(list(names), typed)
        except Exception as error:  # as above
            raise ModelError(f"onnxruntime failed on the graph ({short_repr(str(error), 200)})") from None
        return values


class Runner(Protocol):
    """A way to run a graph on words."""

    def values(self, layout: InputLayout, codes: IntArray, names: Sequence[str] = ()) -> list[npt.NDArray[Any]]:
        """The graph's output, then the values of ``names``, for words of equal length."""


@dataclass(frozen=True)
class WholeGraph:
    """A graph that takes whole words."""

    program: Program
    letters: str
    output: str

    def values(self, layout: InputLayout, codes: IntArray, names: Sequence[str] = ()) -> list[npt.NDArray[Any]]:
        return self.program.run([self.output, *names], {self.letters: layout.encode(codes)})


@dataclass(frozen=True)
class SteppedGraph:
    """A graph that takes one letter and its states, run letter by letter."""

    program: Program
    letters: str
    output: str
    states: tuple[State, ...]

    @property
    def width(self) -> int:
        return sum(state.size for state in self.states)

    def initial(self, rows: int) -> States:
        """The states before the first letter: zeros, or the graph's own."""
        states = np.zeros((rows, self.width), dtype=np.float32)
        at = 0
        for state in self.states:
            if state.first is not None:
                states[:, at : at + state.size] = state.first
            at += state.size
        return states

    def step(
        self, rows: States, array: npt.NDArray[Any], names: Sequence[str] = ()
    ) -> tuple[States, list[npt.NDArray[Any]]]:
        """The states after one more letter, and the values of the output and of ``names``."""
        feeds = {self.letters: array}
        at = 0
        for state in self.states:
            feeds[state.input_name] = state.from_rows(rows[:, at : at + state.size])
            at += state.size
        outputs = [*(state.output_name for state in self.states), self.output, *names]
        values = self.program.run(outputs, feeds)
        left = [state.to_rows(value) for state, value in zip(self.states, values, strict=False)]
        return np.concatenate(left, axis=1), values[len(self.states) :]

    def values(self, layout: InputLayout, codes: IntArray, names: Sequence[str] = ()) -> list[npt.NDArray[Any]]:
        if not codes.shape[1]:
            raise ModelError("a graph that takes its states as inputs has no answer to the empty word")
        rows = self.initial(len(codes))
        values: list[npt.NDArray[Any]] = []
        for t in range(codes.shape[1]):
            rows, values = self.step(rows, layout.encode(codes[:, t : t + 1]), names)
        return values


@dataclass(frozen=True)
class OnnxOriginal:
    """A graph as its owner would run it, which also gives the logits if there is a linear layer at its end."""

    plain: Runner
    watched: Runner
    layout: InputLayout
    outputs: int
    logits: str | None

    def __call__(self, codes: IntArray) -> Outputs:
        return rows_of(self.plain.values(self.layout, codes)[0], len(codes))

    def logits_and_outputs(self, word: Codes) -> tuple[Outputs, Outputs]:
        if self.logits is None:
            raise MismatchError("it has no linear layer at its end")
        codes = np.array([word], dtype=np.int64)
        logits = self.watched.values(self.layout, codes, [self.logits])[1]
        if logits.size % self.outputs:
            raise MismatchError(f"its linear layer's output has shape {logits.shape} for a word of {len(word)} letters")
        return logits.astype(np.float64).reshape(-1, self.outputs)[-1], self(codes)[0]

    def largest_batch(self, letters: int) -> int:
        return 1  # a call costs little, and a graph may have branches


class OnnxSteps(SteppingModel):
    """A graph stepped by onnxruntime. The last columns of its states are its outputs."""

    def __init__(
        self,
        alphabet: Alphabet,
        graph: SteppedGraph,
        layout: InputLayout,
        decision: Decision,
        reference: Reference,
        facts: Mapping[str, object],
        rng: np.random.Generator | None,
        *,
        together: bool,
    ) -> None:
        """Without ``rng`` the caller sets the margin. ``together``: words of a batch do not influence one another."""
        self.alphabet = alphabet
        self._graph = graph
        self._layout = layout
        self._decision = decision
        self._reference = reference
        self._facts = dict(facts)
        self._together = together
        self.label_names = decision.label_names
        self.empty_score, self.accepts_empty = reference(())
        self.margin = _MARGIN_FLOOR
        if rng is not None:
            self.margin = self._calibrate(rng)

    def for_label(self, label: int) -> OnnxSteps:
        decision, reference = self._decision.for_label(label), self._reference.for_label(label)
        parts = self.alphabet, self._graph, self._layout, decision, reference, self._facts, None
        other = OnnxSteps(*parts, together=self._together)
        other.margin, other.max_length = self.margin, self.max_length
        return other

    def initial(self, rows: int) -> States:
        outputs = np.zeros((rows, self._decision.outputs), dtype=np.float32)
        return np.concatenate([self._graph.initial(rows), outputs], axis=1)

    def step(self, states: States, letters: Letters, rows: IntArray | None = None) -> States:
        before = states if rows is None else states[rows]
        if len(before) != len(letters):
            raise ModelError(f"{len(letters)} letters for {len(before)} states; give one each, or say which rows")
        after, width = np.empty_like(before), self._graph.width
        codes = np.asarray(letters, dtype=np.int64)[:, None]
        most = _ROWS_AT_ONCE if self._together else 1
        for start in range(0, len(before), most):
            block = slice(start, start + most)
            rows_left, values = self._graph.step(before[block, :width], self._layout.encode(codes[block]))
            after[block, :width] = rows_left
            after[block, width:] = rows_of(values[0], len(rows_left))
        return after

    def scores(self, states: States) -> Scores:
        return self._decision.scores(states[:, self._graph.width :].astype(np.float64))

    def reference_answer(self, codes: Codes) -> bool:
        return self._reference(codes).accepted

    def labeller(self, *, together: bool = False) -> Labeller | None:
        return self._reference.labeller(len(self.alphabet), together=together)

    def describe(self) -> Mapping[str, Any]:
        return {
            **self._facts,
            **self._decision.describe(),
            "letters": len(self.alphabet),
            "queries": "stepped by onnxruntime",
            "margin": self.margin,
        }

    def fingerprint(self) -> str:
        parts = self._graph, self._layout, self._decision, self._reference, self.margin
        return digest_of("ONNX graph, stepped", list(self.alphabet), *parts)

    def _calibrate(self, rng: np.random.Generator) -> float:
        """The margin that covers rounding; a MismatchError if steps and reference differ by more."""
        lengths = [1, 1, 2, 2, 3, 5, 8, 13, 21, 34, 55, 99, 150]
        words = [tuple(rng.integers(len(self.alphabet), size=length).tolist()) for length in lengths]
        margin = _MARGIN_FLOOR
        for each in self._decision.by_label():  # the margin must be enough for every label
            of_label = self if each == self._decision else self.for_label(each.label or 0)
            ours = of_label.scores_batch(WordBatch.from_codes(words))
            theirs = np.array([of_label._reference(word).score for word in words])
            largest = float(np.abs(ours - theirs).max())
            if not largest <= _TOLERANCE * max(float(np.ptp(theirs)), 1e-2):
                raise MismatchError(
                    f"run letter by letter it scores up to {largest:.3g} differently than on whole words"
                )
            margin = max(margin, _MARGIN_FACTOR * largest)
        return margin
