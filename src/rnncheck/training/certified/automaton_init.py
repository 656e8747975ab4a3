"""Initial weights that follow an automaton (Omlin and Giles, 1996), so that training need not discover it.

There is one unit for each letter and state that it leads to, which is on after that letter was read and led there. A
network with enough units follows the automaton for a while from the start; training has to learn the answers, and that
errors die out. A smaller network has some of the rules.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rnncheck.automata.dfa import DFA
from rnncheck.models.cells import Cell
from rnncheck.models.cells.cell_type import Layer
from rnncheck.models.network import RecurrentNetwork

Weights = npt.NDArray[np.float64]

_RANDOM = 0.5  # the sum of a unit's random recurrent weights, so that errors die out in them
_OPEN = 5.0  # a gate that lets through, before it is trained; the others are as far shut
_STRENGTHS = np.arange(2.0, 12.0, 0.5)
_MANY = 3  # with this many times as many rules as units, rules are not joined
_SLACK, _LEFT = 1.0, 0.5  # the random part of a unit's input; the part of an error that may be left after a step


class _Form(NamedTuple):
    """How rules are written into a cell."""

    gates: tuple[float | None, ...]  # in the order of the weights: None for the part with the rules, or how open
    off: float  # the value of a unit that is off
    on: float  # and of one that is on
    slope: Callable[[Weights], Weights]  # of the value of a unit, by its input


def _tanh_slope(x: Weights) -> Weights:
    return 1.0 / np.cosh(x) ** 2


def _sigmoid_slope(x: Weights) -> Weights:
    return 0.5 * np.exp(-x)


_FORMS = {
    Cell.RNN_TANH: _Form((None,), -1.0, 1.0, _tanh_slope),
    Cell.GRU: _Form((_OPEN, -_OPEN, None), -0.99, 0.99, _tanh_slope),
    Cell.LSTM: _Form((None, -_OPEN, _OPEN, _OPEN), 0.0, 0.755, _sigmoid_slope),
}


def with_rules(network: RecurrentNetwork, automaton: DFA) -> RecurrentNetwork:
    """The network with rules added to its weights, as many as it has units for; relu cells are not changed."""
    if network.cell not in _FORMS:
        return network
    form = _FORMS[network.cell]
    units = network.layers[0].hidden
    inputs, recurrent, bias = _rules(automaton, form, units)
    by_letter = inputs @ np.linalg.pinv(np.asarray(network.inputs, dtype=np.float64)).T
    layers = [_added(form, network.layers[0], by_letter, recurrent, bias)]
    for layer in network.layers[1:]:  # the layers above copy the first
        size = layer.hidden
        repeated = 2.0 * np.eye(size, layer.input_weight.shape[1]) / (form.on - form.off)
        bias = np.full(size, -(form.on + form.off) / (form.on - form.off))
        strength = _strength(form, repeated)
        layers.append(_added(form, layer, strength * repeated, np.zeros((size, size)), strength * bias))
    return dataclasses.replace(network, layers=tuple(layers))


class Rule(NamedTuple):
    """A unit that is on after these letters, read in these states, which lead to the goal.

    ``but`` are rules for the exceptions.
    """

    goal: int
    origins: dict[int, frozenset[int]]  # by letter
    but: tuple[Rule, ...] = ()

    def levels(self) -> list[frozenset[int]]:
        """The sets of states, from the smallest."""
        return sorted(set(self.origins.values()), key=len)

    def with_(self, other: Rule, *but: Rule) -> Rule | None:
        """One rule for both, if one unit can follow it: each set of states must contain the smaller ones."""
        origins = self.origins | other.origins
        for rule in but:
            for letter, states in rule.origins.items():
                origins[letter] |= states
        joined = Rule(self.goal, origins, self.but + other.but + but)
        return joined if all(a < b for a, b in itertools.pairwise(joined.levels())) else None


def chosen_rules(automaton: DFA, units: int) -> tuple[list[Rule], int | None]:
    """The rules, and the state that is represented by no unit being on, if there is one.

    There is one rule for each letter and state that it leads to. If there are more rules than units, the state that
    most letters lead to has none, and one unit follows several rules where it can. A network with fewer units has the
    first rules.
    """
    table = automaton.transitions
    rules = [
        Rule(goal, {letter: frozenset(np.flatnonzero(table[:, letter] == goal).tolist())})
        for letter in range(table.shape[1])
        for goal in np.unique(table[:, letter]).tolist()
    ]
    if len(rules) <= units or len(rules) > _MANY * units:
        return rules, None
    implicit_state = int(np.bincount([rule.goal for rule in rules]).argmax())
    rules = [rule for rule in rules if rule.goal != implicit_state]
    while len(rules) > units:
        joined = next(_joined(rules), None)
        if joined is None:
            break
        a, b, both = joined
        rules = [both if rule is a else rule for rule in rules if rule is not b]
    return rules, implicit_state


def _joined(rules: list[Rule]) -> Iterator[tuple[Rule, Rule, Rule]]:
    """Two rules with one goal, and the one for both; first those that need no exception."""
    exceptions = [rule for each in rules for rule in each.but]  # these must stay as they are
    free = [rule for rule in rules if all(rule is not each for each in exceptions)]
    pairs = [(a, b) for a, b in itertools.combinations(free, 2) if a.goal == b.goal]
    for a, b in pairs:
        if both := a.with_(b):
            yield a, b, both
    exact = [rule for rule in rules if len(rule.origins) == 1]
    for (a, b), rule in itertools.product(pairs, exact):
        fits = rule.goal != a.goal and rule.origins.keys() <= a.origins.keys() | b.origins.keys()
        if fits and (both := a.with_(b, rule)):
            yield a, b, both


def _rules(automaton: DFA, form: _Form, units: int) -> tuple[Weights, Weights, Weights]:
    """Weights by letter, recurrent weights and biases.

    A unit is on when the letter is its own (2 or 0) and the unit that was on stands for a state from which the letter
    leads to its own (2 or 0): together 4, less 3. With several letters, those that lead there from more states need
    less. One more unit is off as long as no letter was read.
    """
    chosen, implicit_state = chosen_rules(automaton, units - 1)
    rules = chosen[: units - 1]
    count = len(rules) + 1
    recurrent, inputs, bias = (np.zeros(shape) for shape in ((count, count), (count, len(automaton.alphabet)), count))
    bias[0] = 2.0
    encoding = np.zeros((len(rules), len(automaton)))  # how the units that are on add up to the state
    for unit, rule in enumerate(rules):
        encoding[unit, rule.goal] += 1.0
        for at, other in enumerate(rules):
            encoding[at, rule.goal] -= any(each is other for each in rule.but)
    for unit, rule in enumerate(rules, start=1):
        levels = rule.levels()
        leads = np.zeros(len(automaton))
        for level in levels:
            leads[list(level)] += 2.0
        inputs[unit] = 2.0 - 2.0 * len(levels)
        for letter, origins in rule.origins.items():
            inputs[unit, letter] = 4.0 - 2.0 * (len(levels) - levels.index(origins))
        without = 0.0 if implicit_state is None else leads[implicit_state]
        recurrent[unit, 1:] = encoding @ (leads - without) / (form.on - form.off)
        recurrent[unit, 0] = -(recurrent[unit, 1:].sum() * form.off + leads[automaton.initial] - without) / form.on
        bias[unit] = leads[automaton.initial] - 3.0
    strength = _strength(form, recurrent[1:, 1:]) if len(rules) == len(chosen) else _STRENGTHS[0]
    return strength * inputs, strength * recurrent, strength * bias


def _strength(form: _Form, recurrent: Weights) -> float:
    """The strength of weights for which errors die out."""
    left = form.slope(_STRENGTHS - _SLACK) * _STRENGTHS * np.abs(recurrent).sum(axis=1).max(initial=0.0)
    return float(_STRENGTHS[np.append(np.flatnonzero(left < _LEFT), len(_STRENGTHS) - 1)[0]])


def _added(form: _Form, layer: Layer, inputs: Weights, recurrent: Weights, bias: Weights) -> Layer:
    size, used = layer.hidden, len(bias)
    together = np.abs(layer.recurrent_weight).sum(axis=1, keepdims=True)
    weights: list[Any] = [layer.input_weight.copy(), _RANDOM / together * layer.recurrent_weight]
    offset = np.zeros(len(layer.input_weight)) if layer.input_bias is None else layer.input_bias.copy()
    for number, openness in enumerate(form.gates):
        own = slice(number * size, number * size + used)
        if openness is not None:
            offset[number * size : (number + 1) * size] += openness
            continue
        weights[0][own] += inputs
        weights[1][own, :used] += recurrent
        offset[own] += bias
    input_weight, recurrent_weight, input_bias = (part.astype(np.float32) for part in (*weights, offset))
    return Layer(input_weight, recurrent_weight, input_bias, layer.recurrent_bias)
