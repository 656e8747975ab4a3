"""Models made of other things: an automaton as a model, and the complement of a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from rnncheck.automata.dfa import DFA, Mask
from rnncheck.models.fingerprint import digest_of
from rnncheck.models.protocol import Letters, Model, Scores, States, SteppingModel, Tick, check_letters, no_tick
from rnncheck.words import Codes, IntArray, WordBatch


class DFAModel(SteppingModel):
    """An automaton that answers like a network: a state is a number, a score is 1 or -1, and nothing is rounded."""

    margin = 0.0

    def __init__(self, dfa: DFA) -> None:
        self.dfa = dfa
        self.alphabet = dfa.alphabet
        self.accepts_empty = bool(dfa.accepting[dfa.initial])
        self.empty_score = 1.0 if self.accepts_empty else -1.0

    def initial(self, rows: int) -> States:
        return np.full(rows, self.dfa.initial, dtype=np.int32)

    def step(self, states: States, letters: Letters, rows: IntArray | None = None) -> States:
        check_letters(letters, self.alphabet)
        return self.dfa.transitions[states if rows is None else states[rows], letters]

    def scores(self, states: States) -> Scores:
        return np.where(self.dfa.accepting[states], 1.0, -1.0)

    def reference_answer(self, codes: Codes) -> bool:
        return bool(self.dfa.accepts_batch(WordBatch.from_codes([codes]))[0])

    def accepts_batch(self, words: WordBatch | Iterable[Iterable[str]]) -> Mask:
        return self.dfa.accepts_batch(words)

    def fingerprint(self) -> str:
        return digest_of("automaton", list(self.alphabet), self.dfa.transitions, self.dfa.accepting, self.dfa.initial)

    def by_reference(self) -> Model:
        return self

    def describe(self) -> Mapping[str, Any]:
        return {
            "kind": "automaton",
            "states": len(self.dfa),
            "letters": len(self.alphabet),
            "queries": "stepped through the transition table",
        }


def complement(model: Model) -> Model:
    """The model that accepts what ``model`` rejects; it is stateful if ``model`` is."""
    if isinstance(model, (ComplementModel, SteppingComplementModel)):
        return model.inner
    return SteppingComplementModel(model) if isinstance(model, SteppingModel) else ComplementModel(model)


class ComplementModel(Model):
    """The opposite of a black-box model."""

    def __init__(self, inner: Model) -> None:
        self.inner = inner
        self.alphabet, self.max_length = inner.alphabet, inner.max_length

    def accepts_batch(self, words: WordBatch | Iterable[Iterable[str]]) -> Mask:
        return ~self.inner.accepts_batch(words)

    def scores_batch(self, words: WordBatch | Iterable[Iterable[str]]) -> Scores | None:
        scores = self.inner.scores_batch(words)
        return None if scores is None else -scores

    def reference_answer(self, codes: Codes) -> bool:
        return not self.inner.reference_answer(codes)

    def reference_score(self, codes: Codes) -> float | None:
        score = self.inner.reference_score(codes)
        return None if score is None else -score

    def describe(self) -> Mapping[str, Any]:
        return {"kind": "complement", "of": dict(self.inner.describe())}

    def fingerprint(self) -> str:
        return digest_of("complement", self.inner.fingerprint())

    def by_reference(self) -> Model:
        return complement(self.inner.by_reference())


class SteppingComplementModel(SteppingModel):
    """The opposite of a stepping model."""

    def __init__(self, inner: SteppingModel) -> None:
        self.inner = inner
        self.alphabet, self.max_length = inner.alphabet, inner.max_length
        self.margin = inner.margin
        self.accepts_empty = not inner.accepts_empty
        self.empty_score = -inner.empty_score

    def initial(self, rows: int) -> States:
        return self.inner.initial(rows)

    def step(self, states: States, letters: Letters, rows: IntArray | None = None) -> States:
        return self.inner.step(states, letters, rows)

    def scores(self, states: States) -> Scores:
        return -self.inner.scores(states)

    def prefix_scores(self, words: WordBatch, tick: Tick = no_tick) -> Scores:
        return -self.inner.prefix_scores(words, tick)

    def reference_answer(self, codes: Codes) -> bool:
        return not self.inner.reference_answer(codes)

    def reference_score(self, codes: Codes) -> float | None:
        score = self.inner.reference_score(codes)
        return None if score is None else -score

    def describe(self) -> Mapping[str, Any]:
        return {"kind": "complement", "of": dict(self.inner.describe())}

    def fingerprint(self) -> str:
        return digest_of("complement", self.inner.fingerprint())

    def by_reference(self) -> Model:
        return complement(self.inner.by_reference())
