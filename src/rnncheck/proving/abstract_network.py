"""A network on boxes of states: one step by every letter, and what the head says of a whole box."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from rnncheck.models.intervals import Bounds, Box, Enclosure, Rounding, affine
from rnncheck.models.network import RecurrentNetwork

_BLUR = 1e-9  # relative, of the decision's place: what computing it in float64 leaves open
_NUMBERS_AT_ONCE = 1 << 22  # gate values; bounds the memory of a step


class AbstractNetwork:
    """States are h₁ … hₙ of all layers one after another, then c₁ … cₙ for cells with a memory."""

    def __init__(self, network: RecurrentNetwork, rounding: Rounding | None = None) -> None:
        self.network = network
        self._on = Enclosure(rounding or Rounding())
        self._inputs = Box.point(network.inputs)
        self._sizes = [layer.hidden for layer in network.layers]
        self._hidden = sum(self._sizes)
        self.width = self._hidden * (2 if network.cell.kind.memory else 1)
        self.letters = len(network.alphabet)
        widest = network.cell.gates * max(self._sizes) * self.letters
        self._cells_at_once = max(1, _NUMBERS_AT_ONCE // widest)
        self._reject_below, self._accept_above = self._cuts()

    @property
    def initial(self) -> Box:
        """The state before any letter."""
        return Box.point(np.zeros((1, self.width)))

    def step(self, states: Box) -> Box:
        """What every letter makes of every box: boxes × letters × width."""
        parts = [
            self._step(states[start : start + self._cells_at_once])
            for start in range(0, len(states.lo), self._cells_at_once)
        ]
        if len(parts) == 1:
            return parts[0]
        return Box(np.concatenate([part.lo for part in parts]), np.concatenate([part.hi for part in parts]))

    def _step(self, states: Box) -> Box:
        kind = self.network.cell.kind
        shape = (len(states.lo), self.letters, self.width)
        after = Box(np.empty(shape), np.empty(shape))
        x, start = self._inputs, 0
        with np.errstate(all="ignore"):
            for layer, size in zip(self.network.layers, self._sizes, strict=True):
                own = slice(start, start + size)
                memory = slice(self._hidden + start, self._hidden + start + size) if kind.memory else slice(0, 0)
                x, c = kind.step_on(self._on, layer, x, states[:, None, own], states[:, None, memory])
                after.lo[..., own], after.hi[..., own] = x.lo, x.hi
                after.lo[..., memory], after.hi[..., memory] = c.lo, c.hi
                start += size
        return after

    def clearance(self, states: Box, accept: bool) -> Bounds:
        """How far each box is inside the side of the decision that it should be on: certain where positive."""
        network = self.network
        top = states[:, self._hidden - self._sizes[-1] : self._hidden]
        with np.errstate(all="ignore"):
            if network.label is None:
                score = self._on.computed(affine(network.head_weight, network.head_bias, top))[:, 0]
                return np.asarray(score.lo - self._accept_above if accept else self._reject_below - score.hi)
            leads = self._leads(top, network.label)
            return np.asarray(leads.lo.min(axis=1) if accept else (-leads.hi).max(axis=1))

    def _leads(self, top: Box, label: int) -> Box:
        """By how much the label's output exceeds each other: one affine form, so that what they share cancels."""
        weight, bias = (
            np.asarray(part, dtype=np.float64) for part in (self.network.head_weight, self.network.head_bias)
        )
        own, others = weight[label], np.delete(weight, label, axis=0)
        own_bias, other_biases = bias[label], np.delete(bias, label)
        lead = affine(own - others, own_bias - other_biases, top)
        # Each output is computed and rounded by itself, so the rounding is that of both.
        both = affine(np.abs(own) + np.abs(others), np.abs(own_bias) + np.abs(other_biases), top)
        return self._on.computed(dataclasses.replace(lead, size=both.size))

    def _cuts(self) -> tuple[float, float]:
        """Outputs below the first are rejected and those above the second accepted, whoever compares.

        One evaluator compares the output with the threshold's logit, another its sigmoid with the threshold, perhaps
        both in float32.
        """
        threshold, rounding = self.network.threshold, self._on.rounding
        blur = (rounding.sigmoid + 4.0) * rounding.unit
        cut = self.network.logit_threshold
        apart = _BLUR * (1.0 + abs(cut))
        return min(_logit(threshold - blur), cut - apart), max(_logit(threshold + blur), cut + apart)


def _logit(probability: float) -> float:
    if probability <= 0.0:
        return -math.inf
    return math.inf if probability >= 1.0 else math.log(probability / (1.0 - probability))
