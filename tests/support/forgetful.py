"""Models that are right about every word, but for what they have to remember for too long."""

from __future__ import annotations

import numpy as np

from rnncheck import wrap_steps
from rnncheck.automata.dfa import DFA
from rnncheck.models.cells.cell_type import Layer
from rnncheck.models.network import Cell, RecurrentNetwork
from rnncheck.models.protocol import SteppingModel
from rnncheck.words import Alphabet

KINDS = ("flat", "graded", "decaying", "overflowing")
_OPEN, _SHUT = 30.0, -30.0  # of gates


def forgetful(dfa: DFA, letters: int, kind: str = "flat", neutral: str = "c") -> SteppingModel:
    """An automaton that goes back to its initial state after ``letters`` neutral ones in a row.

    ``flat``: its scores are 1 and -1. ``graded``: they fall a little with each letter. ``decaying``: it remembers by a
    number that is multiplied by one below 1. ``overflowing``: it counts the letters, and is in its initial state only
    when the counter is at 0 again.
    """
    table = dfa.transitions.astype(np.int64)
    quiet = dfa.alphabet.encode([neutral])[0]
    fading = np.float32(0.5 ** (1.0 / (letters - 0.5)))

    def initial(rows: int) -> dict[str, np.ndarray]:
        start = np.full(rows, dfa.initial)
        return {"at": start, "age": np.zeros(rows, dtype=np.int64), "memory": np.ones(rows, dtype=np.float32)}

    def step(states: dict[str, np.ndarray], codes: np.ndarray) -> dict[str, np.ndarray]:
        is_quiet = codes == quiet
        age = np.where(is_quiet, states["age"] + 1, 0)
        memory = np.where(is_quiet, states["memory"] * fading, np.float32(1.0)).astype(np.float32)
        memory = np.maximum(memory, np.float32(0.25))
        if kind == "overflowing":
            before = np.where(overflowed(states) & ~is_quiet, dfa.initial, states["at"])
            return {"at": table[before, codes], "age": age % letters, "memory": memory}
        forgotten = memory < 0.5 if kind == "decaying" else age >= letters
        at = np.where(forgotten, dfa.initial, table[states["at"], codes])
        return {"at": at, "age": np.minimum(age, letters), "memory": memory}

    def overflowed(states: dict[str, np.ndarray]) -> np.ndarray:
        return np.asarray((states["age"] == 0) & (states["memory"] < 0.75))  # after at least one neutral letter

    def score(states: dict[str, np.ndarray]) -> np.ndarray:
        at, age = states["at"], states["age"]
        if kind == "overflowing":
            at = np.where(overflowed(states), dfa.initial, at)
        sign = np.where(dfa.accepting[at], 1.0, -1.0)
        return sign * (1.0 - 0.9 * age / letters) if kind == "graded" else sign

    return wrap_steps(initial, step, score, dfa.alphabet, empty=bool(dfa.accepting[dfa.initial]))


def fading_gru(letters: int) -> RecurrentNetwork:
    """A GRU of one unit for "each a is answered by a b": a opens the memory, b shuts it, and c lets it fade until it is
    below one half, after this many letters.
    """
    kept = 0.5 ** (1.0 / (letters - 0.5))
    update = np.log(kept / (1.0 - kept))
    gates = np.array([[_OPEN, _SHUT, _OPEN], [_OPEN, _SHUT, _SHUT], [_OPEN, update, 0.0]], dtype=np.float32)
    return RecurrentNetwork(
        Alphabet(["a", "b", "c"]),
        Cell.GRU,
        np.eye(3, dtype=np.float32),
        (Layer(gates.T.copy(), np.zeros((3, 1), dtype=np.float32)),),
        np.array([[-20.0]], dtype=np.float32),
        np.array([10.0], dtype=np.float32),
    )
