"""Networks built from an automaton so that noise dies out: proofs close on them, and what they accept is known."""

from __future__ import annotations

import numpy as np

from rnncheck.automata.dfa import DFA
from rnncheck.models.network import Cell, Layer, RecurrentNetwork


def robust_network(
    dfa: DFA, cell: Cell = Cell.RNN_TANH, *, layers: int = 1, labels: int = 1, gain: float = 6.0
) -> RecurrentNetwork:
    """One unit for each state and letter: near 1 after that letter was read in that state, else near -1.

    One more unit is near 1 after the first letter; while it is 0, the units of the initial state are set as if they are
    in it. In a GRU the update gate, in an LSTM the forget gate stays shut, so that both compute an Elman step.
    """
    recurrent, inputs, bias = _elman(dfa)
    if cell is Cell.LSTM:  # its units are near ±tanh(1)
        recurrent = recurrent / np.tanh(1.0)
    stack = [_as_cell(cell, gain * inputs, gain * recurrent, gain * bias)]
    size = len(recurrent)
    for _ in range(layers - 1):
        stack.append(_as_cell(cell, gain * np.eye(size), np.zeros((size, size)), np.zeros(size)))
    weight, head_bias = _head(dfa)
    if cell is Cell.LSTM:
        weight = weight / np.tanh(1.0)
    weight, head_bias = gain * weight, gain * head_bias
    chosen = {}
    if labels > 1:  # label 1 means yes, label 0 no, the others lose against one of them
        weight = np.vstack([-weight, weight] + [0 * weight] * (labels - 2)) / 2
        head_bias = np.concatenate([-head_bias, head_bias] + [0 * head_bias] * (labels - 2)) / 2
        chosen = {"label": 1}
    return RecurrentNetwork(
        dfa.alphabet,
        cell,
        np.eye(len(dfa.alphabet), dtype=np.float32),
        tuple(stack),
        weight.astype(np.float32),
        head_bias.astype(np.float32),
        **chosen,
    )


def _elman(dfa: DFA) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    states, letters = dfa.transitions.shape
    units = states * letters
    goals = dfa.transitions.ravel()
    state_of = np.repeat(np.arange(states), letters)
    begins = np.where(state_of == dfa.initial, 1.0, -1.0)
    recurrent = np.zeros((units + 1, units + 1))
    recurrent[:units, :units] = state_of[:, None] == goals[None, :]
    before = recurrent[:units, :units].sum(axis=1)
    recurrent[:units, units] = before - 1 - begins
    inputs = np.zeros((units + 1, letters))
    inputs[np.arange(units), np.tile(np.arange(letters), states)] = 2.0
    bias = np.append(begins - 2.0, 1.0)
    return recurrent, inputs, bias


def _head(dfa: DFA) -> tuple[np.ndarray, np.ndarray]:
    said = dfa.accepting[dfa.transitions.ravel()].astype(float)
    empty = 1.0 if dfa.accepting[dfa.initial] else -1.0
    return np.append(said, said.sum() - 1 - empty)[None, :], np.array([empty])


def _as_cell(cell: Cell, inputs: np.ndarray, recurrent: np.ndarray, bias: np.ndarray) -> Layer:
    shut, wide = np.full(len(bias), -40.0), np.full(len(bias), 40.0)
    none_in, none = np.zeros_like(inputs), np.zeros_like(recurrent)
    gates = {
        Cell.RNN_TANH: [(inputs, recurrent, bias)],
        Cell.GRU: [(none_in, none, wide), (none_in, none, shut), (inputs, recurrent, bias)],
        Cell.LSTM: [
            (none_in, none, wide),
            (none_in, none, shut),
            (inputs, recurrent, bias),
            (none_in, none, wide),
        ],
    }[cell]
    parts = [np.concatenate(part).astype(np.float32) for part in zip(*gates, strict=True)]
    return Layer(parts[0], parts[1], parts[2], np.zeros_like(parts[2]))
