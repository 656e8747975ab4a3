"""Weights that begin as rules of an automaton (Omlin and Giles, 1996), so that training need not discover it.

One unit for each letter and state that it leads to: on after that letter was read and led there. A network with units
enough follows the automaton from the start, for a while; what is left to training are the answers, and that errors die
out. A smaller one has some of the rules.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rnncheck.automata.dfa import DFA
from rnncheck.models.cells import Cell
from rnncheck.models.cells.cell_type import Layer
from rnncheck.models.network import RecurrentNetwork

_RANDOM = 0.2  # of the recurrent weights as they were drawn is kept
_OPEN = 2.0  # a gate that lets through, before it is trained; the others are as far shut


class _Form(NamedTuple):
    """How a cell takes rules."""

    gates: tuple[float | None, ...]  # in the order of the weights: None for the part that has the rules, or how open
    off: float  # what a unit is that is not on
    on: float  # and one that is
    strength: float


_FORMS = {
    Cell.RNN_TANH: _Form((None,), -1.0, 1.0, 2.0),
    Cell.GRU: _Form((_OPEN, -_OPEN, None), -0.88, 0.88, 2.0),
    # A sigmoid is half as steep as tanh, and what is not forgotten adds up.
    Cell.LSTM: _Form((None, -2.5 * _OPEN, _OPEN, _OPEN), 0.0, 0.65, 4.0),
}

Weights = npt.NDArray[np.float64]


def with_rules(network: RecurrentNetwork, automaton: DFA) -> RecurrentNetwork:
    """The network with rules added to its weights, as many as it has units for; relu cells are left as they are."""
    if network.cell not in _FORMS:
        return network
    form = _FORMS[network.cell]
    inputs, recurrent, bias = _rules(automaton, form)
    units = network.layers[0].hidden
    by_letter = inputs[:units] @ np.linalg.pinv(np.asarray(network.inputs, dtype=np.float64)).T
    layers = [_added(form, network.layers[0], by_letter, recurrent[:units, :units], bias[:units])]
    for layer in network.layers[1:]:  # the layers above repeat what the first has found
        size = layer.hidden
        repeated = 2.0 * np.eye(size, layer.input_weight.shape[1]) / (form.on - form.off)
        bias = np.full(size, -(form.on + form.off) / (form.on - form.off))
        layers.append(_added(form, layer, repeated, np.zeros((size, size)), bias))
    return dataclasses.replace(network, layers=tuple(layers))


def _rules(automaton: DFA, form: _Form) -> tuple[Weights, Weights, Weights]:
    """Weights by letter, recurrent weights and biases.

    A unit is on when the letter is its own (2 or 0) and the unit that was on stands for a state from which the letter
    leads to its own (2 or 0): together 4, less 3. One more unit tells, by not being on yet, that no letter was read.
    """
    table = automaton.transitions
    letters = table.shape[1]
    pairs = [(letter, goal) for letter in range(letters) for goal in np.unique(table[:, letter]).tolist()]
    own = np.array([letter for letter, _ in pairs])
    goals = np.array([goal for _, goal in pairs])
    leads = (table[goals[None, :], own[:, None]] == goals[:, None]).astype(np.float64)
    at_first = 2.0 * (table[automaton.initial, own] == goals)
    count = len(pairs) + 1  # the unit that tells comes first, so that a small network has it
    recurrent, inputs, bias = np.zeros((count, count)), np.zeros((count, letters)), np.zeros(count)
    recurrent[1:, 1:] = 2.0 * leads / (form.on - form.off)
    recurrent[1:, 0] = -(recurrent[1:, 1:].sum(axis=1) * form.off + at_first) / form.on
    inputs[np.arange(1, count), own] = 2.0
    bias[0], bias[1:] = 2.0, at_first - 3.0
    return inputs, recurrent, bias


def _added(form: _Form, layer: Layer, inputs: Weights, recurrent: Weights, bias: Weights) -> Layer:
    size, used = layer.hidden, len(bias)
    weights: list[Any] = [layer.input_weight.copy(), _RANDOM * layer.recurrent_weight]
    offset = np.zeros(len(layer.input_weight)) if layer.input_bias is None else layer.input_bias.copy()
    for number, openness in enumerate(form.gates):
        own = slice(number * size, number * size + used)
        if openness is not None:
            offset[number * size : (number + 1) * size] += openness
            continue
        weights[0][own] += form.strength * inputs
        weights[1][own, :used] += form.strength * recurrent
        offset[own] += form.strength * bias
    input_weight, recurrent_weight, input_bias = (part.astype(np.float32) for part in (*weights, offset))
    return Layer(input_weight, recurrent_weight, input_bias, layer.recurrent_bias)
