"""The reference of a recurrent network, stepped: its own formulas, one word at a time, with the states kept.

It says bit by bit what :func:`reference_judgement` says of the whole word, and shares the cost of common prefixes. It
is for networks that rounding carries away from their reference, and for checking claims about many words.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from rnncheck.automata.dfa import Mask
from rnncheck.models.cells.cell_type import Vector
from rnncheck.models.engine.reference import reference_answers_along, reference_judgement
from rnncheck.models.engine.threads import single_threaded_blas
from rnncheck.models.identity import digest_of
from rnncheck.models.network import RecurrentNetwork
from rnncheck.models.protocol import BY_REFERENCE, Letters, Scores, States, SteppingModel, check_letters
from rnncheck.words import Codes, IntArray, WordBatch, encode_batch


class SteppedReference(SteppingModel):
    """Every answer is the reference's. A state is the hidden states of all layers, then their memories."""

    margin = 0.0

    def __init__(self, network: RecurrentNetwork, facts: Mapping[str, Any] | None = None) -> None:
        self.network = network
        self.alphabet = network.alphabet
        self._facts = dict(network.describe() if facts is None else facts)
        self._sizes = [layer.hidden for layer in network.layers] * 2
        self._cuts = np.cumsum(self._sizes)[:-1]
        self._kinds = _number_types(network)
        self.empty_score, self.accepts_empty = reference_judgement(network, ())

    def initial(self, rows: int) -> States:
        return np.zeros((rows, sum(self._sizes)), dtype=self.network.number_type)

    def step(self, states: States, letters: Letters, rows: IntArray | None = None) -> States:
        letters = np.asarray(letters)
        check_letters(letters, self.alphabet)
        before = states if rows is None else states[rows]
        after = np.empty_like(before)
        with single_threaded_blas, np.errstate(all="ignore"):
            for row, letter in enumerate(letters.tolist()):
                after[row] = self._next(before[row], letter)
        return after

    def scores(self, states: States) -> Scores:
        top = sum(self._sizes[: len(self.network.layers) - 1])
        layer = self.network.layers[-1]
        network = self.network
        out = np.empty(len(states), dtype=np.float64)
        with single_threaded_blas, np.errstate(all="ignore"):
            for row, state in enumerate(states):
                hidden = state[top : top + layer.hidden].astype(self._kinds[-1])
                out[row] = network.score(network.head_weight @ hidden + network.head_bias)
        return out

    def accepts_batch(self, words: WordBatch | Iterable[Iterable[str]]) -> Mask:
        batch = encode_batch(self.alphabet, words)  # nothing is gained by stepping them side by side
        return np.fromiter(map(self.reference_answer, batch), dtype=np.bool_, count=len(batch))

    def reference_answer(self, codes: Codes) -> bool:
        return reference_judgement(self.network, codes).accepted

    def reference_answers_along(self, codes: Codes) -> list[bool]:
        """The reference's answers after each letter of one word."""
        return reference_answers_along(self.network, codes)

    def saying_yes_for(self, label: int | None) -> SteppedReference:
        """The same network with another output that means yes."""
        return SteppedReference(dataclasses.replace(self.network, label=label), self._facts)

    def describe(self) -> Mapping[str, Any]:
        return {**self._facts, "queries": BY_REFERENCE, "margin": self.margin}

    def identity(self) -> str:
        return digest_of("reference", self.network.sha256())

    def by_reference(self) -> SteppedReference:
        return self

    def _next(self, state: npt.NDArray[Any], letter: int) -> npt.NDArray[Any]:
        parts = np.split(state, self._cuts)
        layers = self.network.layers
        hidden, memory = parts[: len(layers)], parts[len(layers) :]
        cell = self.network.cell.kind
        x: Vector = self.network.inputs[letter]
        for number, (layer, kind) in enumerate(zip(layers, self._kinds, strict=True)):
            hidden[number], memory[number] = cell.step(
                layer, x, hidden[number].astype(kind), memory[number].astype(kind)
            )
            x = hidden[number]
        return np.concatenate([*hidden, *memory])


def _number_types(network: RecurrentNetwork) -> list[np.dtype[Any]]:
    """What each layer computes in: the widest type of what it is fed and of its own weights."""
    kinds, kind = [], network.inputs.dtype
    for layer in network.layers:
        weights = (layer.input_weight, layer.recurrent_weight, layer.input_bias, layer.recurrent_bias)
        kind = np.result_type(kind, *(weight for weight in weights if weight is not None))
        kinds.append(kind)
    return kinds
