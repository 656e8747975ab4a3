"""The reference of a recurrent network, stepped: its own formulas, each word by itself, with the states kept.

Its answers equal those of :func:`reference_judgement` bit by bit, and it shares the cost of common prefixes and of
Python itself. It is for networks whose rounding errors take the engine away from their reference, and for checking
claims about many words.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from rnncheck.automata.dfa import Mask
from rnncheck.models.cells.cell_type import Vector, row_products
from rnncheck.models.engine.reference import not_finite_error, reference_answers_along, reference_judgement
from rnncheck.models.engine.score_cache import ReferenceCache
from rnncheck.models.engine.threads import single_threaded_blas
from rnncheck.models.fingerprint import digest_of
from rnncheck.models.network import RecurrentNetwork
from rnncheck.models.protocol import (
    BY_REFERENCE,
    Letters,
    Scores,
    States,
    SteppingModel,
    Tick,
    check_letters,
    letters_in_step,
    no_tick,
)
from rnncheck.words import Codes, IntArray, WordBatch, encode_batch

# In the rows that are read at a time; memory for more would be allocated and released at every step.
_GATE_VALUES = 1 << 16


class SteppedReference(SteppingModel):
    """A stateful model whose every answer is the reference's.

    A state is the hidden states of all layers, followed by their memories.
    """

    margin = 0.0
    covers_reference = True

    def __init__(
        self, network: RecurrentNetwork, facts: Mapping[str, Any] | None = None, cache: ReferenceCache | None = None
    ) -> None:
        self.network = network
        self._cache = cache
        self.alphabet, self.label_names = network.alphabet, network.label_names
        self._facts = dict(network.describe() if facts is None else facts)
        self._sizes = [layer.hidden for layer in network.layers] * 2
        ends = np.cumsum(self._sizes).tolist()
        self._parts = [slice(end - size, end) for end, size in zip(ends, self._sizes, strict=True)]
        self._kinds = _number_types(network)
        self._at_once = max(1, _GATE_VALUES // max(len(layer.recurrent_weight) for layer in network.layers))
        self.empty_score, self.accepts_empty = reference_judgement(network, ())

    def initial(self, rows: int) -> States:
        return np.zeros((rows, sum(self._sizes)), dtype=self.network.number_type)

    def step(self, states: States, letters: Letters, rows: IntArray | None = None) -> States:
        letters = np.asarray(letters)
        check_letters(letters, self.alphabet)
        with single_threaded_blas, np.errstate(all="ignore"):
            return self._cached_step(states if rows is None else states[rows], letters)

    def prefix_scores(self, words: WordBatch, tick: Tick = no_tick) -> Scores:
        words.check_codes(len(self.alphabet))
        if self._cache is not None:
            return self._cache.words.scores(words, tick, self._prefix_scores)
        return self._prefix_scores(words, tick)

    def _prefix_scores(self, words: WordBatch, tick: Tick) -> Scores:
        """The same as for every stateful model, with less overhead at each of many short steps."""
        out = np.empty(len(words.codes), dtype=np.float64)
        states = self.initial(len(words))
        places, passed, kept = [], [], 0
        with single_threaded_blas, np.errstate(all="ignore"):
            for at in letters_in_step(words.offsets[:-1], words.lengths):
                tick(len(at))
                states = self._next(states[: len(at)], words.codes[at])
                places.append(at)
                passed.append(states)
                kept += states.size
                if kept > _GATE_VALUES:
                    out[np.concatenate(places)] = self.scores(np.concatenate(passed))
                    places, passed, kept = [], [], 0
        if places:
            out[np.concatenate(places)] = self.scores(np.concatenate(passed))
        return out

    def scores(self, states: States) -> Scores:
        return self.network.scores(self._outputs(states))

    def accepts_batch(self, words: WordBatch | Iterable[Iterable[str]]) -> Mask:
        """The answers to all words, side by side; each has its own products, so it is answered as if alone."""
        batch = encode_batch(self.alphabet, words)
        batch.check_codes(len(self.alphabet))
        lengths, states = batch.lengths, self.initial(len(batch))
        with single_threaded_blas, np.errstate(all="ignore"):
            for place in range(int(lengths.max(initial=0))):
                rows = np.flatnonzero(lengths > place)
                states[rows] = self._cached_step(states[rows], batch.codes[batch.offsets[rows] + place])
        outputs = self._outputs(states)
        for row in np.flatnonzero((lengths > 0) & ~np.isfinite(outputs).all(axis=1)).tolist():
            raise not_finite_error(self.network, batch[row], outputs[row].tolist())
        label = self.network.label
        answers = self.network.scores(outputs) > 0.0 if label is None else outputs.argmax(axis=1) == label
        return np.asarray(np.where(lengths > 0, answers, self.accepts_empty))

    def reference_answer(self, codes: Codes) -> bool:
        return reference_judgement(self.network, codes).accepted

    def reference_answers_along(self, codes: Codes) -> list[bool]:
        return reference_answers_along(self.network, codes)

    def for_label(self, label: int) -> SteppedReference:
        other = SteppedReference(dataclasses.replace(self.network, label=label), self._facts)
        other.max_length = self.max_length
        return other

    def describe(self) -> Mapping[str, Any]:
        return {**self._facts, "queries": f"stepped, {BY_REFERENCE}", "margin": self.margin}

    def fingerprint(self) -> str:
        return digest_of("reference", self.network.sha256())

    def by_reference(self) -> SteppedReference:
        return self

    def _cached_step(self, states: States, letters: Letters) -> States:
        if self._cache is not None:
            return self._cache.steps.step(states, letters, self._next)
        return self._next(states, letters)

    def _next(self, states: States, letters: Letters) -> States:
        """The states after the letters, some rows at a time: each row has its own products anyway."""
        after = np.empty(states.shape, dtype=states.dtype)
        for start in range(0, len(states), self._at_once):
            some = slice(start, start + self._at_once)
            after[some] = self._some_next(states[some], letters[some])
        return after

    def _some_next(self, states: States, letters: Letters) -> States:
        parts = [states[:, part] for part in self._parts]
        layers = self.network.layers
        hidden, memory = parts[: len(layers)], parts[len(layers) :]
        cell = self.network.cell.kind
        x: Vector = self.network.inputs[letters]
        for number, (layer, kind) in enumerate(zip(layers, self._kinds, strict=True)):
            hidden[number], memory[number] = cell.step(
                layer, x, hidden[number].astype(kind), memory[number].astype(kind)
            )
            x = hidden[number]
        return np.concatenate([*hidden, *memory], axis=1, dtype=states.dtype)

    def _outputs(self, states: States) -> Vector:
        """The outputs of the head for each state."""
        top = sum(self._sizes[: len(self.network.layers) - 1])
        hidden = states[:, top : top + self.network.layers[-1].hidden].astype(self._kinds[-1])
        with single_threaded_blas, np.errstate(all="ignore"):
            return row_products(self.network.head_weight, hidden) + self.network.head_bias


def _number_types(network: RecurrentNetwork) -> list[np.dtype[Any]]:
    """The number type of each layer: the widest of its inputs and of its own weights."""
    kinds, kind = [], network.inputs.dtype
    for layer in network.layers:
        weights = (layer.input_weight, layer.recurrent_weight, layer.input_bias, layer.recurrent_bias)
        kind = np.result_type(kind, *(weight for weight in weights if weight is not None))
        kinds.append(kind)
    return kinds
