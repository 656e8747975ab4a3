"""A compiled network whose head has more layers than one linear layer: they are applied one by one."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rnncheck.models.black_box import Decision
from rnncheck.models.engine.compiled import MARGIN_FACTOR, MARGIN_FLOOR, CompiledNetwork, Reference, SelfCheck
from rnncheck.models.fingerprint import digest_of
from rnncheck.models.protocol import Labeller, Letters, Scores, States, SteppingModel
from rnncheck.words import Codes, IntArray

Rows = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class HeadLayer:
    """One function of a head: a linear layer, a normalisation, or an activation. It reads each row separately.

    ``weight`` is also the slope of a leaky ReLU, and the row that picks the number whose log odds are computed.
    "pick" is a linear layer without weights of its own: it takes numbers, their sums or their differences.
    """

    name: str
    weight: Rows | None = None
    bias: Rows | None = None
    epsilon: float = 0.0

    def __call__(self, rows: Rows) -> Rows:
        return _FUNCTIONS[self.name](self, rows)


def _linear(layer: HeadLayer, rows: Rows) -> Rows:
    assert layer.weight is not None
    return np.asarray(rows @ layer.weight.T + (0 if layer.bias is None else layer.bias))


def _layer_norm(layer: HeadLayer, rows: Rows) -> Rows:
    apart = rows - rows.mean(axis=-1, keepdims=True)
    normal = apart / np.sqrt((apart * apart).mean(axis=-1, keepdims=True) + rows.dtype.type(layer.epsilon))
    return np.asarray(
        normal * (1 if layer.weight is None else layer.weight) + (0 if layer.bias is None else layer.bias)
    )


def _scale(layer: HeadLayer, rows: Rows) -> Rows:
    """Scale and shift every number by its own constants."""
    return np.asarray(rows * (1 if layer.weight is None else layer.weight) + (0 if layer.bias is None else layer.bias))


def _log_softmax(layer: HeadLayer, rows: Rows) -> Rows:
    shifted = rows - rows.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))


def log_odds(logits: Rows, choice: Rows) -> Rows:
    """The logit of one of the outputs of a softmax: its sigmoid is that output."""
    chosen = int(choice.argmax())
    others = np.delete(logits, chosen, axis=-1)
    with np.errstate(invalid="ignore"):
        return np.asarray(logits[..., chosen, None] - np.logaddexp.reduce(others, axis=-1, keepdims=True))


def _gelu(_: HeadLayer, rows: Rows) -> Rows:
    return np.asarray(rows * ((1 + np.asarray(_ERF(rows / math.sqrt(2)), rows.dtype)) / 2))


def _gelu_tanh(_: HeadLayer, rows: Rows) -> Rows:
    return np.asarray(rows * ((1 + np.tanh(math.sqrt(2 / math.pi) * (rows + 0.044715 * rows**3))) / 2))


_ERF = np.frompyfunc(math.erf, 1, 1)  # numpy has none
_FUNCTIONS: Mapping[str, Callable[[HeadLayer, Rows], Rows]] = {
    "linear": _linear,
    "pick": _linear,
    "layer_norm": _layer_norm,
    "relu": lambda _, rows: np.maximum(rows, 0),
    "tanh": lambda _, rows: np.tanh(rows),
    "sigmoid": lambda _, rows: 1 / (1 + np.exp(-rows)),
    "leaky_relu": lambda layer, rows: np.where(rows > 0, rows, rows * layer.weight),
    "silu": lambda _, rows: rows / (1 + np.exp(-rows)),
    "gelu": _gelu,
    "gelu_tanh": _gelu_tanh,
    "scale": _scale,
    "log_odds": lambda layer, rows: log_odds(rows, np.asarray(layer.weight)),
    "softmax": lambda layer, rows: np.exp(_log_softmax(layer, rows)),
    "log_softmax": _log_softmax,
}
HEAD_FUNCTIONS = tuple(_FUNCTIONS)
LINEAR = ("linear", "pick")
KEEP_MEANING = ("pick", "scale")  # they do not turn logits into probabilities


class HeadedNetwork(SteppingModel):
    """A compiled network, and the layers that follow its outputs.

    ``decision`` turns the last layer's outputs into one score. ``reference`` gives the score and the answer of one
    word alone.
    """

    def __init__(
        self,
        trunk: CompiledNetwork,
        head: tuple[HeadLayer, ...],
        decision: Decision,
        reference: Reference,
        facts: Mapping[str, object],
    ) -> None:
        self.alphabet = trunk.alphabet
        self.self_check: SelfCheck | None = None
        self.margin = MARGIN_FLOOR
        self._trunk, self._head, self._decision, self._facts = trunk, head, decision, dict(facts)
        self._reference: Any = reference
        self.label_names = decision.label_names
        self.empty_score, self.accepts_empty = reference(())

    def with_self_check(self, check: SelfCheck) -> HeadedNetwork:
        """Set the margin that a comparison with the reference requires, and return the model."""
        self.self_check = check
        self.margin = max(MARGIN_FLOOR, MARGIN_FACTOR * check.largest_difference)
        return self

    def for_label(self, label: int) -> HeadedNetwork:
        decision, reference = self._decision.for_label(label), self._reference.for_label(label)
        other = HeadedNetwork(self._trunk, self._head, decision, reference, {**self._facts, **decision.describe()})
        other.max_length = self.max_length
        return other if self.self_check is None else other.with_self_check(self.self_check)

    def initial(self, rows: int) -> States:
        return self._trunk.initial(rows)

    def step(self, states: States, letters: Letters, rows: IntArray | None = None) -> States:
        return self._trunk.step(states, letters, rows)

    def scores(self, states: States) -> Scores:
        rows = self._trunk.outputs(states)
        with np.errstate(all="ignore"):
            for layer in self._head:
                rows = layer(rows)
            return self._decision.scores(rows.astype(np.float64))

    def reference_answer(self, codes: Codes) -> bool:
        return bool(self._reference(tuple(codes)).accepted)

    def reference_score(self, codes: Codes) -> float:
        return float(self._reference(tuple(codes)).score)

    def labeller(self, *, together: bool = False) -> Labeller | None:
        return self._reference.labeller(len(self.alphabet), together=together)  # type: ignore[no-any-return]

    def describe(self) -> Mapping[str, Any]:
        facts = self._trunk.describe()
        return {
            **self._facts,
            **{name: facts[name] for name in ("cell", "hidden", "inputs", "letters")},
            "head": ", ".join(["linear", *(layer.name for layer in self._head)]),
            "queries": facts["queries"],
            "margin": self.margin,
            **({} if self.self_check is None else {"self_check": asdict(self.self_check)}),
        }

    def fingerprint(self) -> str:
        head = [dataclasses.astuple(layer) for layer in self._head]
        return digest_of("network with a head", self._trunk.fingerprint(), head, self.margin, self._reference)
