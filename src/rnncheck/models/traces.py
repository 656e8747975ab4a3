"""Networks judged by the labels they give along a word, against a specification over letters and labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from rnncheck.automata.dfa import DFA
from rnncheck.automata.label_specs import PairAlphabet
from rnncheck.models.identity import digest_of
from rnncheck.models.labelled import LabelledNetwork, labels_by_score
from rnncheck.models.protocol import ByReference, Letters, Model, Scores, States, SteppingModel
from rnncheck.words import Codes, IntArray


class TraceModel(SteppingModel):
    """Says yes to the words whose trace satisfies a specification over letters and labels.

    A state is the network's, the specification's, and whether some label on the way was too close to call. In that
    case the score is 0, so that the reference decides: the labels of all prefixes as the network itself gives them.
    ``text`` is what the specification ``spec`` was made of, for people.
    """

    margin = 0.5

    def __init__(self, network: LabelledNetwork, spec: DFA, text: str = "") -> None:
        self._network = network
        self.text = text
        self._pairs = PairAlphabet(network.alphabet, network.labels)
        self.spec = spec.over(self._pairs.pairs)
        self.alphabet, self.max_length = network.alphabet, network.max_length
        self.accepts_empty = bool(self.spec.accepting[self.spec.initial])
        self.empty_score = 1.0 if self.accepts_empty else -1.0

    def initial(self, rows: int) -> States:
        inner = self._network.initial(rows)
        extra = np.tile(np.array([[self.spec.initial, 0]], dtype=inner.dtype), (rows, 1))
        return np.hstack([inner, extra])

    def step(self, states: States, letters: Letters, rows: IntArray | None = None) -> States:
        letters = np.asarray(letters)
        before = states if rows is None else states[rows]
        inner = self._network.step(np.ascontiguousarray(before[:, :-2]), letters)
        labels, unsure = labels_by_score(self._network.label_scores(inner), self._network.margin)
        after = np.empty((len(inner), inner.shape[1] + 2), dtype=inner.dtype)
        after[:, :-2] = inner
        after[:, -2] = self.spec.transitions[before[:, -2].astype(np.int64), self._pairs.code(letters, labels)]
        after[:, -1] = before[:, -1]
        after[unsure, -1] = 1
        return after

    def scores(self, states: States) -> Scores:
        answers = np.where(self.spec.accepting[states[:, -2].astype(np.int64)], 1.0, -1.0)
        return np.asarray(np.where(states[:, -1] > 0, 0.0, answers))

    def reference_answer(self, codes: Codes) -> bool:
        state = self.spec.initial
        if codes:
            labels = np.array(self._network.reference_labels_along(codes))
            for pair in self._pairs.code(np.array(codes), labels).tolist():
                state = int(self.spec.transitions[state, pair])
        return bool(self.spec.accepting[state])

    def describe(self) -> Mapping[str, Any]:
        return self._network.describe()

    def identity(self) -> str:
        spec = self.spec
        return digest_of("trace", self._network.identity(), list(spec.alphabet), spec.transitions, spec.accepting,
                         spec.initial)  # fmt: skip

    def by_reference(self) -> Model:
        network = self._network.by_reference()
        return TraceModel(network, self.spec, self.text) if isinstance(network, LabelledNetwork) else ByReference(self)

    @property
    def labels(self) -> tuple[str, ...]:
        """What the network may say."""
        return self._network.labels

    def said_along(self, word: Iterable[str]) -> list[str]:
        """The label that the network gives to the word so far, after each of its letters."""
        codes = self.alphabet.encode(word)
        return [self._network.labels[label] for label in self._network.reference_labels_along(codes)]


def as_judged(model: Model, spec: DFA, text: str = "") -> TraceModel:
    """The model judged by its labels, against a specification over letters and labels."""
    return model if isinstance(model, TraceModel) else TraceModel(LabelledNetwork.of(model), spec, text)
