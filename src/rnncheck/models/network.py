"""A recurrent classifier as plain arrays: files store it, training makes it, and the engine compiles it."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from rnncheck.errors import ModelError
from rnncheck.models.cells import Cell
from rnncheck.models.cells.cell_type import Floats, Layer
from rnncheck.models.label_names import check_labels, number_names
from rnncheck.models.thresholds import check_threshold, largest_rejected
from rnncheck.words import Alphabet

__all__ = ["Cell", "Floats", "Layer", "RecurrentNetwork"]


@dataclass(frozen=True, eq=False)
class RecurrentNetwork:
    """A recurrent classifier of words, validated when it is made.

    ``inputs`` has the input vector of each letter: the rows of an embedding, or the identity for one-hot. The
    head reads the top layer's hidden state after the last letter. With one output the word is accepted when
    ``sigmoid(output) > threshold``; with several, when ``label`` is the argmax. The answer to the empty word is read
    off the initial state (all zeros) or, if ``padding`` is given, off the state after feeding that vector once.
    """

    alphabet: Alphabet
    cell: Cell
    inputs: Floats
    layers: tuple[Layer, ...]
    head_weight: Floats  # outputs × H
    head_bias: Floats  # outputs
    threshold: float = 0.5
    label: int | None = None
    labels: tuple[str, ...] | None = None
    padding: Floats | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)  # training data, accuracy: shown, never used

    def __post_init__(self) -> None:
        if not self.layers:
            raise ModelError("the network has no recurrent layer; it needs at least one")
        _expect("input table", self.inputs, (len(self.alphabet), None), "one row for each letter of the alphabet")
        if self.padding is not None:
            _expect("padding vector", self.padding, (self.inputs.shape[1],), "the size of an input vector")
        width = int(self.inputs.shape[1])
        for number, layer in enumerate(self.layers):
            _check_layer(number, layer, self.cell, width)
            width = layer.hidden
        _expect("head weight", self.head_weight, (None, width), "one column for each hidden unit of the top layer")
        outputs = len(self.head_weight)
        _expect("head bias", self.head_bias, (outputs,), "one value per output")
        check_threshold(self.threshold, self.number_type)
        check_labels(outputs, self.label, self.labels)

    @property
    def outputs(self) -> int:
        return len(self.head_weight)

    @property
    def label_names(self) -> tuple[str, ...] | None:
        """The names of several outputs, or their numbers if they have none; None for a single output."""
        return None if self.outputs == 1 else self.labels or number_names(self.outputs)

    @functools.cached_property
    def logit_threshold(self) -> float:
        """The largest output whose ``sigmoid`` does not exceed the threshold, in the arithmetic of the weights."""
        return largest_rejected(self.threshold, self.number_type)

    @functools.cached_property
    def number_type(self) -> np.dtype[Any]:
        """The arithmetic of the weights: float64 if any of them is."""
        return np.result_type(*(array for array in self._arrays() if array is not None))

    def scores(self, outputs: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """The distance of each row of outputs from the threshold, positive where the word is accepted."""
        outputs = outputs.astype(np.float64)
        if self.label is None:
            return np.asarray(outputs[:, 0] - self.logit_threshold)
        return np.asarray(outputs[:, self.label] - outputs[:, self._other_outputs].max(axis=1))

    @functools.cached_property
    def _other_outputs(self) -> list[int]:
        return [output for output in range(self.outputs) if output != self.label]

    def describe(self) -> dict[str, Any]:
        """Facts for a report."""
        return {
            "kind": "recurrent network",
            "cell": self.cell.value,
            "hidden": [layer.hidden for layer in self.layers],
            "inputs": int(self.inputs.shape[1]),
            "letters": len(self.alphabet),
            "outputs": self.outputs,
            "label": self.label if self.labels is None or self.label is None else self.labels[self.label],
            "labels": None if self.labels is None else list(self.labels),
            "threshold": self.threshold,
            "empty_word": "initial state" if self.padding is None else "padding vector fed once",
            "reference": self.facts.get("reference", "the network's own formulas, on the word alone"),
            "sha256": self.sha256(),
            "facts": dict(self.facts),
        }

    def sha256(self) -> str:
        """A digest of everything that determines the answers."""
        digest = hashlib.sha256()
        named = () if self.labels is None else (self.labels,)  # specifications of labels name them
        digest.update(repr((self.alphabet.letters, self.cell.value, self.threshold, self.label, *named)).encode())
        for array in self._arrays():
            digest.update(b"-" if array is None else repr(array.shape).encode() + np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def _arrays(self) -> list[Floats | None]:
        parts: list[Floats | None] = [self.inputs, self.padding, self.head_weight, self.head_bias]
        for layer in self.layers:
            parts += [layer.input_weight, layer.recurrent_weight, layer.input_bias, layer.recurrent_bias]
        return parts


def _check_layer(number: int, layer: Layer, cell: Cell, width: int) -> None:
    where = f"layer {number}"
    hidden = layer.hidden if layer.recurrent_weight.ndim == 2 else None
    rows = None if hidden is None else cell.gates * hidden
    what = f"{cell.gates} × hidden rows, as a {cell.value} cell has"
    _expect(f"{where} recurrent weight", layer.recurrent_weight, (rows, hidden), what)
    _expect(f"{where} input weight", layer.input_weight, (rows, width), f"{what}, and {width} columns")
    for name, bias in (("input bias", layer.input_bias), ("recurrent bias", layer.recurrent_bias)):
        if bias is not None:
            _expect(f"{where} {name}", bias, (rows,), what)


def _expect(name: str, array: Floats, shape: tuple[int | None, ...], what: str) -> None:
    fits = array.ndim == len(shape) and all(
        expected in (None, actual) for expected, actual in zip(shape, array.shape, strict=False)
    )
    if not fits or 0 in array.shape:
        sizes = " × ".join("any" if size is None else str(size) for size in shape)
        raise ModelError(f"the {name} has shape {array.shape}, but must be {sizes}: {what}")
    if array.dtype not in (np.float32, np.float64):
        raise ModelError(f"the {name} holds {array.dtype}; weights are float32 (or float64)")
    if not np.isfinite(array).all():
        raise ModelError(f"the {name} holds NaN or infinite values; the network cannot be evaluated")
