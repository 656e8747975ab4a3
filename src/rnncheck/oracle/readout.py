"""What an oracle reads off a model's states: yes or no, or one of several labels.

A score may lie too close to the threshold to be trusted. Such outputs are marked as ambiguous, and the model's
reference resolves them.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from rnncheck.automata.dfa import Mask
from rnncheck.automata.moore import Outputs
from rnncheck.models.labelled import LabelledNetwork, labels_by_score
from rnncheck.models.protocol import Model, States, SteppingModel, Tick, letters_in_step, near_threshold
from rnncheck.words import Codes, WordBatch

Read: TypeAlias = tuple[Mask | Outputs, Mask]  # the outputs, and where they are ambiguous


class Readout(ABC):
    """From states to outputs. ``empty`` is the output of the empty word, which has no state."""

    model: SteppingModel
    empty: int

    @abstractmethod
    def at(self, states: States) -> Read:
        """The output of each state."""

    @abstractmethod
    def along(self, words: WordBatch, tick: Tick) -> Read:
        """The output after every letter of every word, aligned with ``words.codes``."""

    @abstractmethod
    def reference(self, words: Sequence[Codes]) -> Sequence[int]:
        """The outputs of words by the model's reference, each read by itself."""


class AnswerReadout(Readout):
    """Yes or no."""

    def __init__(self, model: SteppingModel) -> None:
        self.model = model
        self.empty = model.accepts_empty

    def at(self, states: States) -> Read:
        scores = self.model.scores(states)
        return scores > 0.0, near_threshold(scores, self.model.margin)

    def along(self, words: WordBatch, tick: Tick) -> Read:
        scores = self.model.prefix_scores(words, tick)
        return scores > 0.0, near_threshold(scores, self.model.margin)

    def reference(self, words: Sequence[Codes]) -> Sequence[int]:
        answers: list[int] = self._by_reference.accepts_batch(WordBatch.from_codes(words)).tolist()
        return answers

    @functools.cached_property
    def _by_reference(self) -> Model:
        return self.model.by_reference()


class LabelReadout(Readout):
    """The positions of labels."""

    def __init__(self, network: LabelledNetwork) -> None:
        self.model = network
        self._network = network
        self.empty = network.empty_label % len(network.outputs)  # UNLABELLED is the last of the outputs

    def at(self, states: States) -> Read:
        return labels_by_score(self._network.label_scores(states), self._network.margin)

    def along(self, words: WordBatch, tick: Tick) -> Read:
        labels = np.empty(len(words.codes), dtype=np.int64)
        ambiguous = np.empty(len(words.codes), dtype=np.bool_)
        states = self.model.initial(len(words))
        for at in letters_in_step(words.offsets[:-1], words.lengths):
            tick(len(at))
            states = self.model.step(states[: len(at)], words.codes[at])
            labels[at], ambiguous[at] = self.at(states)
        return labels, ambiguous

    def reference(self, words: Sequence[Codes]) -> Sequence[int]:
        return list(map(self._network.reference_label, words))
