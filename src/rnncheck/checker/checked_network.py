"""A network on sets of states, for checking proofs: the textbook's cell equations, and the decision.

The equations of the common cells are written here again, so that a mistake in those of ``models.cells``, which the
prover uses, shows. Those of any other cell are read off its cell type (``read_equations``).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rnncheck.checker.checked_zonotope import Zonotope, ZonotopeEvaluator
from rnncheck.checker.outward import Evaluator, Interval, linear
from rnncheck.checker.read_equations import Operations, ReadEquations, reference_states, reference_step
from rnncheck.models.cells.cell_type import CellType, Layer
from rnncheck.models.cells.elman import ElmanRelu, ElmanTanh
from rnncheck.models.cells.gru import Gru
from rnncheck.models.cells.lstm import Lstm
from rnncheck.models.network import RecurrentNetwork
from rnncheck.models.thresholds import LEAST_LEAD
from rnncheck.verdict.certificate import Arithmetic

# Which of the equations below a cell type has. A subclass may have others, so its type must be this very one.
_OWN_EQUATIONS: dict[type[CellType], str] = {ElmanTanh: "tanh", ElmanRelu: "relu", Gru: "gru", Lstm: "lstm"}


@dataclass(frozen=True, eq=False)
class PreparedStates:
    """States of every layer, and the contribution of the recurrent weights, which does not depend on the letter."""

    hidden: list[Any]
    memory: list[Any]
    recurrent: list[Any]


class CheckedNetwork:
    """The cell equations, on intervals and on zonotopes."""

    def __init__(self, network: RecurrentNetwork, arithmetic: Arithmetic) -> None:
        self._network = network
        self._by = Evaluator(arithmetic.unit, arithmetic.tanh, arithmetic.sigmoid)
        ends = np.cumsum([0] + [layer.hidden for layer in network.layers]).tolist()
        self._places = [slice(*pair) for pair in itertools.pairwise(ends)]
        self._hidden = ends[-1]
        self.cell, self._kind = network.cell.value, network.cell.kind
        self._remembers = self._kind.memory
        self.width = self._hidden * (2 if self._remembers else 1)

    @property
    def has_own_equations(self) -> bool:
        """Whether the cell equations are the checker's own."""
        return type(self._kind) in _OWN_EQUATIONS

    def reference_agrees(self) -> bool:
        """Whether the cell's reference step leads into the bounds of one step, at some states and every letter."""
        states = reference_states(self._network)
        with np.errstate(all="ignore"):
            prepared = self.prepare(Interval(states, states))
            for letter in range(len(self._network.alphabet)):
                after = self.step(prepared, letter)
                said = reference_step(self._network, states, np.full(len(states), letter))
                if ((said < after.low) | (after.high < said)).any():
                    return False
        return True

    def prepare(self, boxes: Interval) -> PreparedStates:
        return self._prepare(self._by, lambda place: boxes[:, place])

    def step(self, boxes: PreparedStates, letter: int) -> Interval:
        """The image of every box under a letter."""
        inputs = self._input(letter)
        parts = self._step(self._by, Interval(inputs, inputs), boxes)
        return Interval(np.hstack([part.low for part in parts]), np.hstack([part.high for part in parts]))

    def prepare_zonotopes(self, states: Zonotope) -> PreparedStates:
        return self._prepare(ZonotopeEvaluator(self._by), states.error_as_generators().numbers)

    def step_zonotopes(self, states: PreparedStates, letter: int) -> Zonotope:
        """The image of zonotopes under a letter."""
        return Zonotope.concatenate(
            self._step(ZonotopeEvaluator(self._by), Zonotope.point(self._input(letter)), states)
        )

    def _input(self, letter: int) -> npt.NDArray[np.float64]:
        return np.asarray(self._network.inputs[letter], dtype=np.float64)[None, :]

    def _prepare(self, by: Operations, numbers: Callable[[slice], Any]) -> PreparedStates:
        hidden, memory = [numbers(place) for place in self._places], []
        if self._remembers:
            memory = [numbers(slice(self._hidden + at.start, self._hidden + at.stop)) for at in self._places]
        layers = self._network.layers
        recurrent = [
            by.linear(layer.recurrent_weight, layer.recurrent_bias, h) for layer, h in zip(layers, hidden, strict=True)
        ]
        return PreparedStates(hidden, memory, recurrent)

    def _step(self, by: Operations, x: Any, states: PreparedStates) -> list[Any]:
        hidden, memory = [], []
        for number, layer in enumerate(self._network.layers):
            x, c = self._layer(by, layer, x, states, number)
            hidden.append(x)
            memory += [c] if c is not None else []
        return hidden + memory

    def _layer(self, by: Operations, layer: Layer, x: Any, states: PreparedStates, number: int) -> tuple[Any, Any]:
        equations = _OWN_EQUATIONS.get(type(self._kind))
        if equations is None:
            c = states.memory[number] if self._remembers else None
            h, c = self._kind.step_on(ReadEquations(by), layer, x, states.hidden[number], c)
            return h, c if self._remembers else None
        n = layer.hidden
        given, own = by.linear(layer.input_weight, layer.input_bias, x), states.recurrent[number]
        gate = [slice(i * n, (i + 1) * n) for i in range(4)]

        def both(i: int) -> Any:
            return by.rounded(given.part(gate[i]) + own.part(gate[i]))

        match equations:
            case "tanh":
                return by.tanh(both(0)), None
            case "relu":
                return by.relu(both(0)), None
            case "gru":
                r, z = by.sigmoid(both(0)), by.sigmoid(both(1))
                new = by.tanh(by.rounded(given.part(gate[2]) + own.part(gate[2]).scaled(r)))
                return by.mean(z, new, states.hidden[number]), None
            case "lstm":
                i, f, g, o = by.sigmoid(both(0)), by.sigmoid(both(1)), by.tanh(both(2)), by.sigmoid(both(3))
                c = by.rounded(by.products((f, states.memory[number]), (i, g)))
                return by.rounded(by.products((o, by.tanh(c)))), c
        raise AssertionError(equations)

    def zonotope_decisions(self, states: Zonotope) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Like ``decisions``: one linear map of all states, then bounds of the result."""
        network, top = self._network, states.numbers(self._places[-1])
        by, others = ZonotopeEvaluator(self._by), [j for j in range(network.outputs) if j != network.label]
        with np.errstate(all="ignore"):
            if network.label is None:
                return self._by_score(by.rounded(by.linear(network.head_weight, network.head_bias, top)).bounds()[:, 0])
            leads = [self._zonotope_lead(network.label, other, top) for other in others]
        return _leading(leads)

    def _zonotope_lead(self, label: int, other: int, top: Zonotope) -> Interval:
        weight, bias = self._network.head_weight.astype(np.float64), self._network.head_bias.astype(np.float64)
        by = ZonotopeEvaluator(self._by)
        ours, theirs = (by.linear(weight[[j]], bias[[j]], top) for j in (label, other))
        lead = ours + by.linear(-weight[[other]], -bias[[other]], top)
        return lead.exact.bounds().spread(by.error(ours)).spread(by.error(theirs))[:, 0]

    def decisions(self, boxes: Interval) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """In which boxes the network accepts for certain, and in which it rejects for certain."""
        network, top = self._network, boxes[:, self._places[-1]]
        with np.errstate(all="ignore"):
            if network.label is None:
                return self._by_score(self._by.rounded(linear(network.head_weight, network.head_bias, top))[:, 0])
            others = [j for j in range(network.outputs) if j != network.label]
            return _leading([self._lead(network.label, other, top) for other in others])

    def _by_score(self, out: Interval) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        probable = self._by.sigmoid(out)
        # Evaluators may round the threshold, and may compare the logit.
        threshold, logit = self._network.threshold, self._network.logit_threshold
        near, gap = 2.0 * self._by.unit, 2.0**-40 * (1.0 + abs(logit))
        accepts = (probable.low > threshold + near) & (out.low > logit + gap)
        return accepts, (probable.high < threshold - near) & (out.high < logit - gap)

    def _lead(self, label: int, other: int, top: Interval) -> Interval:
        """By how much one output exceeds another. Shared terms cancel; the rounding errors of both do not."""
        weight, bias = self._network.head_weight.astype(np.float64), self._network.head_bias.astype(np.float64)
        totals = [linear(weight[[j]], bias[[j]], top) for j in (label, other)]
        exact = Interval(np.zeros((len(top.low), 1)), np.zeros((len(top.low), 1)))
        for column, (ours, theirs) in enumerate(zip(weight[label], weight[other], strict=True)):
            exact = exact + _minus(ours, theirs) * top[:, column : column + 1]
        exact = exact + _minus(bias[label], bias[other])
        for total in totals:
            exact = exact.spread(self._by.error(total))
        return exact[:, 0]


def _leading(leads: list[Interval]) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Where one output exceeds all others for certain, and where some other exceeds it."""
    ahead = np.all([lead.low > LEAST_LEAD for lead in leads], axis=0)
    return ahead, np.any([lead.high < -LEAST_LEAD for lead in leads], axis=0)


def _minus(a: Any, b: Any) -> Interval:
    return Interval(a, a) + Interval(-b, -b)
