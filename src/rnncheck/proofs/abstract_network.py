"""A network on sets of states: one step with every letter, and bounds of the output over a whole set."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from rnncheck.models.network import Floats, RecurrentNetwork
from rnncheck.models.semantics import Semantics
from rnncheck.models.thresholds import LEAST_LEAD
from rnncheck.proofs.domains.interval import Bounds, Interval, IntervalSemantics, Rounding
from rnncheck.proofs.domains.zonotope import Zonotope, ZonotopeSemantics

_TOLERANCE = 1e-9  # relative to the threshold: covers computing it in float64
_NUMBERS_AT_ONCE = 1 << 22  # gate values; bounds the memory of a step

States = TypeVar("States", Interval, Zonotope)


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
        self._boxes_at_once = max(1, _NUMBERS_AT_ONCE // widest)
        self._reject_below, self._accept_above = self._thresholds()

    @property
    def initial(self) -> Interval:
        """The state before any letter."""
        return Interval.point(np.zeros((1, self.width)))

    def step(self, states: Interval) -> Interval:
        """The image of every box under every letter: boxes × letters × width."""
        parts = [
            self._step(states[start : start + self._boxes_at_once])
            for start in range(0, len(states.lo), self._boxes_at_once)
        ]
        if len(parts) == 1:
            return parts[0]
        return Interval(np.concatenate([part.lo for part in parts]), np.concatenate([part.hi for part in parts]))

    def _step(self, states: Interval) -> Interval:
        inputs = Interval.point(self.network.inputs)
        parts = self._step_layers(IntervalSemantics(self._rounding), inputs, lambda part: states[:, None, part])
        return Interval(*(np.concatenate([getattr(part, end) for part in parts], axis=-1) for end in ("lo", "hi")))

    def step_zonotopes(self, states: Zonotope) -> Zonotope:
        """The same for zonotopes; the error terms become generators first."""
        apart = states.error_as_generators().with_letter_axis()
        inputs = Zonotope.point(self.network.inputs)
        return Zonotope.concatenate(self._step_layers(ZonotopeSemantics(self._rounding), inputs, apart.part))

    def _step_layers(self, on: Semantics[States, Any], x: States, part: Callable[[slice], States]) -> list[States]:
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

    def margin(self, states: Interval | Zonotope, accept: bool) -> Bounds:
        """How far each set lies on the required side of the decision: certain where positive."""
        network = self.network
        with np.errstate(all="ignore"):
            if network.label is None:
                score = self._affine_output(network.head_weight, network.head_bias, states)[:, 0]
                return np.asarray(score.lo - self._accept_above if accept else self._reject_below - score.hi)
            leads = self._score_leads(states, network.label)
            return np.asarray(leads.lo.min(axis=1) if accept else (-leads.hi).max(axis=1)) - LEAST_LEAD

    def _score_leads(self, states: Interval | Zonotope, label: int) -> Interval:
        """By how much the label's output exceeds each other output: one affine map, so that shared terms cancel."""
        weight, bias = (
            np.asarray(part, dtype=np.float64) for part in (self.network.head_weight, self.network.head_bias)
        )
        own, others = weight[label], np.delete(weight, label, axis=0)
        own_bias, other_biases = bias[label], np.delete(bias, label)
        # Each output is computed and rounded by itself, so the rounding is that of both.
        both = np.abs(own) + np.abs(others), np.abs(own_bias) + np.abs(other_biases)
        return self._affine_output(own - others, own_bias - other_biases, states, both)

    def _affine_output(
        self, weight: Floats, bias: Floats, states: Interval | Zonotope, rounded: tuple[Floats, Floats] | None = None
    ) -> Interval:
        """Bounds of ``weight @ h + bias`` for the top layer; ``rounded`` are the weights whose terms are rounded."""
        top = slice(self._hidden - self._sizes[-1], self._hidden)
        if isinstance(states, Interval):
            return _affine_rounded(IntervalSemantics(self._rounding), weight, bias, states[:, top], rounded)
        return _affine_rounded(ZonotopeSemantics(self._rounding), weight, bias, states.part(top), rounded).interval

    def score_slopes(self, generators: Bounds) -> Bounds:
        """By how much the outputs change along generators, summed over the outputs."""
        top = generators[..., self._hidden - self._sizes[-1] : self._hidden]
        return np.asarray(np.abs(top @ self.network.head_weight.T).sum(axis=-1))

    def _thresholds(self) -> tuple[float, float]:
        """Outputs below the first are rejected and those above the second accepted, by every evaluator.

        One evaluator may compare the output with the threshold's logit, another its sigmoid with the threshold, both
        perhaps in float32.
        """
        threshold, rounding = self.network.threshold, self._rounding
        tolerance = (rounding.sigmoid + 4.0) * rounding.unit
        logit = self.network.logit_threshold
        apart = _TOLERANCE * (1.0 + abs(logit))
        return min(_logit(threshold - tolerance), logit - apart), max(_logit(threshold + tolerance), logit + apart)


def _affine_rounded(
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
