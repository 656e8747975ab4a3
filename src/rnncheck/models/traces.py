"""Networks checked by the labels they give along a word, against a specification over letters and labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from rnncheck.automata.dfa import DFA, Mask
from rnncheck.automata.label_specs import PairAlphabet
from rnncheck.models.delimiters import without_the_empty_word
from rnncheck.models.fingerprint import digest_of
from rnncheck.models.labelled import LabelledNetwork, labels_by_score
from rnncheck.models.protocol import ByReference, Labeller, Letters, Model, Scores, States, SteppingModel
from rnncheck.words import Codes, IntArray, WordBatch, encode_batch


class TraceModel(SteppingModel):
    """Accepts the words whose trace satisfies a specification over letters and labels.

    A state consists of the network's state, the specification's, and whether a label on the way was ambiguous. If one
    was, the score is 0, so that the reference decides: the labels of all prefixes as the network itself gives them.
    ``text`` is the source of the specification ``spec``, for reports.
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
        labels, ambiguous = labels_by_score(self._network.label_scores(inner), self._network.margin)
        after = np.empty((len(inner), inner.shape[1] + 2), dtype=inner.dtype)
        after[:, :-2] = inner
        after[:, -2] = self.spec.transitions[before[:, -2].astype(np.int64), self._pairs.code(letters, labels)]
        after[:, -1] = before[:, -1]
        after[ambiguous, -1] = 1
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
        return without_the_empty_word(self._network.describe())  # its label is in no trace

    def fingerprint(self) -> str:
        spec = self.spec
        return digest_of("trace", self._network.fingerprint(), list(spec.alphabet), spec.transitions, spec.accepting,
                         spec.initial)  # fmt: skip

    def by_reference(self) -> Model:
        return self._by_reference(together=False)

    def by_reference_together(self) -> Model:
        """The same, but words of one length may be given to the reference together, ambiguous ones alone."""
        return self._by_reference(together=True)

    def _by_reference(self, *, together: bool) -> Model:
        network = self._network.by_reference()
        if isinstance(network, LabelledNetwork):
            return TraceModel(network, self.spec, self.text)
        labeller = self._network.labeller(together=together)
        return ByReference(self) if labeller is None else TraceReference(self, labeller)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the network."""
        return self._network.labels

    def labels_along(self, word: Iterable[str]) -> list[str]:
        """The label that the network gives after each letter of a word."""
        codes = self.alphabet.encode(word)
        return [self._network.labels[label] for label in self._network.reference_labels_along(codes)]

    def next_spec_states(self, states: IntArray, letters: IntArray, labels: IntArray) -> IntArray:
        """The specification's states after one more letter each, for which the network gives these labels."""
        return np.asarray(self.spec.transitions[states, self._pairs.code(letters, labels)])


class TraceReference(ByReference):
    """A trace model that queries the reference; words with a common prefix share its answers on the prefix."""

    inner: TraceModel

    def __init__(self, inner: TraceModel, labeller: Labeller) -> None:
        super().__init__(inner)
        self._labeller = labeller
        self._decided = decided_states(inner.spec)

    def accepts_batch(self, words: WordBatch | Iterable[Iterable[str]]) -> Mask:
        """The answers to all words, read side by side until the specification's answer can no longer change."""
        batch, spec = encode_batch(self.alphabet, words), self.inner.spec
        batch.check_codes(len(self.alphabet))
        states = np.full(len(batch), spec.initial, dtype=np.int64)
        prefixes = np.zeros(len(batch), dtype=np.int64)  # the same number for the same prefix
        for length in range(1, int(batch.lengths.max(initial=0)) + 1):
            rows = np.flatnonzero((batch.lengths >= length) & ~self._decided[states])
            letters = batch.codes[batch.offsets[rows] + length - 1].astype(np.int64)
            pairs = prefixes[rows] * len(self.alphabet) + letters
            _, first, prefixes[rows] = np.unique(pairs, return_index=True, return_inverse=True)
            if len(rows):
                distinct = [batch[int(row)][:length] for row in rows[first]]
                labels = self._labeller(WordBatch.from_codes(distinct))[prefixes[rows]]
                states[rows] = self.inner.next_spec_states(states[rows], letters, labels)
        return np.asarray(spec.accepting[states])


def decided_states(automaton: DFA) -> Mask:
    """The states from which every word has the same answer."""
    accepting = automaton.accepting.copy()
    decided = np.ones(len(automaton), dtype=np.bool_)
    while True:
        after = decided[automaton.transitions].all(axis=1)
        still = decided & after & (accepting[automaton.transitions] == accepting[:, None]).all(axis=1)
        if (still == decided).all():
            return decided
        decided = still


def trace_model(model: Model, spec: DFA, text: str = "") -> TraceModel:
    """The model that accepts where the labels of ``model`` satisfy a specification over letters and labels."""
    return model if isinstance(model, TraceModel) else TraceModel(LabelledNetwork.of(model), spec, text)
