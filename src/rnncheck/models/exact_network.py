"""A network that answers exactly as an automaton does, with weights built by hand.

Use it to try methods where the truth is known: an extraction method, for example, or a search for rare mistakes.
"""

from __future__ import annotations

import numpy as np

from rnncheck.automata.dfa import DFA
from rnncheck.models.network import Cell, Layer, RecurrentNetwork


def exact_network(dfa: DFA) -> RecurrentNetwork:
    """One hidden unit for each state and letter, which is 1 after that letter was read in that state and 0 otherwise.

    The inputs of a unit (q, a) are all units whose transition leads to q, of which at most one is 1, and the letter a;
    it is 1 if both are: max(0, 1 + 1 − 1). One more unit is 1 after the first letter. While it is 0, the units of the
    initial state behave as if a transition led there. All values are 0 or 1, so nothing is rounded.
    """
    states, letters = dfa.transitions.shape
    units = states * letters
    goals = dfa.transitions.ravel()
    state_of = np.repeat(np.arange(states), letters)
    recurrent = np.zeros((units + 1, units + 1), dtype=np.float32)
    recurrent[:units, :units] = state_of[:, None] == goals[None, :]
    begins = state_of == dfa.initial
    recurrent[:units, units] = np.where(begins, -1.0, 0.0)
    bias = np.append(np.where(begins, 0.0, -1.0), 1.0).astype(np.float32)
    inputs = np.zeros((units + 1, letters), dtype=np.float32)
    inputs[np.arange(units), np.tile(np.arange(letters), states)] = 1.0
    accepts_empty = float(dfa.accepting[dfa.initial])
    head = np.append(dfa.accepting[goals].astype(np.float32), np.float32(-accepts_empty))
    return RecurrentNetwork(
        dfa.alphabet,
        Cell.RNN_RELU,
        np.eye(letters, dtype=np.float32),
        (Layer(inputs, recurrent, bias),),
        head[None, :],
        np.array([accepts_empty - 0.5], dtype=np.float32),
    )
