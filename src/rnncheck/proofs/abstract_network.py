"""A network on sets of states: one step by every letter, and what the head says of a whole set."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from rnncheck.models.network import Floats, RecurrentNetwork
from rnncheck.models.semantics import Semantics
from rnncheck.models.thresholds import LEAST_LEAD
from rnncheck.proofs.domains.interval import Bounds, Box, Enclosure, Rounding
from rnncheck.proofs.domains.zonotope import Form, FormEnclosure

_BLUR = 1e-9  # relative, of the decision's place: what computing it in float64 leaves open
_NUMBERS_AT_ONCE = 1 << 22  # gate values; bounds the memory of a step

States = TypeVar("States", Box, Form)


class AbstractNetwork:
    """States are h₁ … hₙ of all layers one after another, then c₁ … cₙ for cells with a memory."""

    def __init__(self, network: RecurrentNetwork, rounding: Rounding | None = None) -> None:
        self.network = network
        self._rounding = rounding or Rounding()
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
        inputs = Box.point(self.network.inputs)
        parts = self._advanced(Enclosure(self._rounding), inputs, lambda part: states[:, None, part])
        return Box(*(np.concatenate([getattr(part, end) for part in parts], axis=-1) for end in ("lo", "hi")))

    def step_forms(self, states: Form) -> Form:
        """The same for forms; what a number has by itself becomes a generator before."""
        apart = states.spread_out().for_each_letter()
        inputs = Form.point(self.network.inputs)
        return Form.joined(self._advanced(FormEnclosure(self._rounding), inputs, apart.part))

    def _advanced(self, on: Semantics[States, Any], x: States, part: Callable[[slice], States]) -> list[States]:
        """One step of every layer: their h, and then their c where they have one."""
        kind, start = self.network.cell.kind, 0
        hidden, memories = [], []
        with np.errstate(all="ignore"):
            for layer, size in zip(self.network.layers, self._sizes, strict=True):
                memory = slice(self._hidden + start, self._hidden + start + size) if kind.memory else slice(0, 0)
                x, c = kind.step_on(on, layer, x, part(slice(start, start + size)), part(memory))
                hidden.append(x)
                memories.append(c)
                start += size
        return hidden + (memories if kind.memory else [])

    def clearance(self, states: Box | Form, accept: bool) -> Bounds:
        """How far each set is inside the side of the decision that it should be on: certain where positive."""
        network = self.network
        with np.errstate(all="ignore"):
            if network.label is None:
                score = self._computed(network.head_weight, network.head_bias, states)[:, 0]
                return np.asarray(score.lo - self._accept_above if accept else self._reject_below - score.hi)
            leads = self._leads(states, network.label)
            return np.asarray(leads.lo.min(axis=1) if accept else (-leads.hi).max(axis=1)) - LEAST_LEAD

    def _leads(self, states: Box | Form, label: int) -> Box:
        """By how much the label's output exceeds each other: one affine form, so that what they share cancels."""
        weight, bias = (
            np.asarray(part, dtype=np.float64) for part in (self.network.head_weight, self.network.head_bias)
        )
        own, others = weight[label], np.delete(weight, label, axis=0)
        own_bias, other_biases = bias[label], np.delete(bias, label)
        # Each output is computed and rounded by itself, so the rounding is that of both.
        both = np.abs(own) + np.abs(others), np.abs(own_bias) + np.abs(other_biases)
        return self._computed(own - others, own_bias - other_biases, states, both)

    def _computed(
        self, weight: Floats, bias: Floats, states: Box | Form, rounded: tuple[Floats, Floats] | None = None
    ) -> Box:
        """Bounds of ``weight @ h + bias`` for the top layer; ``rounded`` are the weights whose terms are rounded."""
        top = slice(self._hidden - self._sizes[-1], self._hidden)
        if isinstance(states, Box):
            return _computed_on(Enclosure(self._rounding), weight, bias, states[:, top], rounded)
        return _computed_on(FormEnclosure(self._rounding), weight, bias, states.part(top), rounded).box

    def score_slopes(self, generators: Bounds) -> Bounds:
        """By how much the outputs change along generators, all of them together."""
        top = generators[..., self._hidden - self._sizes[-1] : self._hidden]
        return np.asarray(np.abs(top @ self.network.head_weight.T).sum(axis=-1))

    def _cuts(self) -> tuple[float, float]:
        """Outputs below the first are rejected and those above the second accepted, whoever compares.

        One evaluator compares the output with the threshold's logit, another its sigmoid with the threshold, perhaps
        both in float32.
        """
        threshold, rounding = self.network.threshold, self._rounding
        blur = (rounding.sigmoid + 4.0) * rounding.unit
        cut = self.network.logit_threshold
        apart = _BLUR * (1.0 + abs(cut))
        return min(_logit(threshold - blur), cut - apart), max(_logit(threshold + blur), cut + apart)


def _computed_on(
    on: Semantics[States, Any], weight: Floats, bias: Floats, x: States, rounded: tuple[Floats, Floats] | None
) -> States:
    total = on.affine(weight, bias, x)
    if rounded is not None:
        both = on.affine(*rounded, x)
        total = dataclasses.replace(total, size=both.size, factors=both.factors)
    return on.computed(total)


def _logit(probability: float) -> float:
    if probability <= 0.0:
        return -math.inf
    return math.inf if probability >= 1.0 else math.log(probability / (1.0 - probability))
