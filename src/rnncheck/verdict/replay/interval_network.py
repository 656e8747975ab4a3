"""A network on intervals, for checking proofs: the textbook's cell equations, and the decision."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rnncheck.models.cells.cell_type import Layer
from rnncheck.models.network import Cell, RecurrentNetwork
from rnncheck.verdict.certificate import Arithmetic
from rnncheck.verdict.replay.directed import Evaluator, Interval, Total, linear, of_products


@dataclass(frozen=True, eq=False)
class Prepared:
    """Boxes, and what their recurrent weights contribute in each layer, whatever the letter."""

    hidden: list[Interval]
    memory: list[Interval]
    recurrent: list[Total]


class IntervalNetwork:
    """The cell equations on intervals."""

    def __init__(self, network: RecurrentNetwork, arithmetic: Arithmetic) -> None:
        self._network = network
        self._by = Evaluator(arithmetic.unit, arithmetic.tanh, arithmetic.sigmoid)
        ends = np.cumsum([0] + [layer.hidden for layer in network.layers]).tolist()
        self._places = [slice(*pair) for pair in itertools.pairwise(ends)]
        self._hidden = ends[-1]
        self._remembers = network.cell is Cell.LSTM
        self.width = self._hidden * (2 if self._remembers else 1)

    def prepared(self, boxes: Interval) -> Prepared:
        hidden = [boxes[:, place] for place in self._places]
        memory = [boxes[:, self._hidden :][:, place] for place in self._places] if self._remembers else []
        layers = self._network.layers
        recurrent = [
            linear(layer.recurrent_weight, layer.recurrent_bias, h) for layer, h in zip(layers, hidden, strict=True)
        ]
        return Prepared(hidden, memory, recurrent)

    def step(self, boxes: Prepared, letter: int) -> Interval:
        """What a letter makes of every box."""
        fed = self._network.inputs[letter].astype(np.float64)[None, :]
        x, hidden, memory = Interval(fed, fed), [], []
        for number, layer in enumerate(self._network.layers):
            x, c = self._layer(layer, x, boxes, number)
            hidden.append(x)
            memory += [c] if c is not None else []
        parts = hidden + memory
        return Interval(np.hstack([part.low for part in parts]), np.hstack([part.high for part in parts]))

    def _layer(self, layer: Layer, x: Interval, boxes: Prepared, number: int) -> tuple[Interval, Interval | None]:
        by, n = self._by, layer.hidden
        given, own, h = linear(layer.input_weight, layer.input_bias, x), boxes.recurrent[number], boxes.hidden[number]
        gate = [slice(i * n, (i + 1) * n) for i in range(4)]

        def both(i: int) -> Interval:
            return by.rounded(given.part(gate[i]) + own.part(gate[i]))

        match self._network.cell:
            case Cell.RNN_TANH:
                return by.tanh(both(0)), None
            case Cell.RNN_RELU:
                total = both(0)
                return Interval(np.maximum(total.low, 0.0), np.maximum(total.high, 0.0)), None
            case Cell.GRU:
                r, z = by.sigmoid(both(0)), by.sigmoid(both(1))
                new = by.tanh(by.rounded(given.part(gate[2]) + own.part(gate[2]).scaled(r)))
                return by.mean(z, new, h), None
            case Cell.LSTM:
                i, f, g, o = by.sigmoid(both(0)), by.sigmoid(both(1)), by.tanh(both(2)), by.sigmoid(both(3))
                c = by.rounded(of_products((f, boxes.memory[number]), (i, g)))
                return by.rounded(of_products((o, by.tanh(c)))), c

    def decisions(self, boxes: Interval) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """In which boxes the network accepts for certain, and in which it rejects for certain."""
        network, top = self._network, boxes[:, self._places[-1]]
        with np.errstate(all="ignore"):
            if network.label is None:
                out = self._by.rounded(linear(network.head_weight, network.head_bias, top))[:, 0]
                probable = self._by.sigmoid(out)
                # The threshold may be rounded, and it may be the logit that is compared.
                threshold, cut = network.threshold, network.logit_threshold
                near, gap = 2.0 * self._by.unit, 2.0**-40 * (1.0 + abs(cut))
                accepts = (probable.low > threshold + near) & (out.low > cut + gap)
                return accepts, (probable.high < threshold - near) & (out.high < cut - gap)
            others = [j for j in range(network.outputs) if j != network.label]
            leads = [self._lead(network.label, other, top) for other in others]
        accepts = np.all([lead.low > 0.0 for lead in leads], axis=0)
        return accepts, np.any([lead.high < 0.0 for lead in leads], axis=0)

    def _lead(self, label: int, other: int, top: Interval) -> Interval:
        """By how much one output exceeds another. What they share cancels; the rounding of both does not."""
        weight, bias = self._network.head_weight.astype(np.float64), self._network.head_bias.astype(np.float64)
        totals = [linear(weight[[j]], bias[[j]], top) for j in (label, other)]
        exact = Interval(np.zeros((len(top.low), 1)), np.zeros((len(top.low), 1)))
        for column, (ours, theirs) in enumerate(zip(weight[label], weight[other], strict=True)):
            exact = exact + _minus(ours, theirs) * top[:, column : column + 1]
        exact = exact + _minus(bias[label], bias[other])
        for total in totals:
            exact = exact.spread(self._by.error(total))
        return exact[:, 0]


def _minus(a: Any, b: Any) -> Interval:
    return Interval(a, a) + Interval(-b, -b)
