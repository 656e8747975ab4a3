"""The answers of each of two models side by side, and their distance from another answer.

A model answers no or yes, or one of several labels; it is stateful or a black box.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from rnncheck.automata.moore import NO_YES
from rnncheck.models.labelled import LabelledNetwork, WordLabels
from rnncheck.models.protocol import Model, Scores, States, SteppingModel, Tick, letters_in_step
from rnncheck.words import Codes, WordBatch

Answers: TypeAlias = npt.NDArray[Any]  # positions of labels; no and yes are 0 and 1; UNLABELLED: not taken


class SteppedSide(ABC):
    """One of two stateful models: its answer in a state, and the distance from another answer."""

    labels: tuple[str, ...] = NO_YES
    model: SteppingModel
    empty: tuple[int, float]  # the answer to the empty word, and its distance from another answer

    @abstractmethod
    def read(self, states: States) -> tuple[Answers, Scores]: ...

    @abstractmethod
    def along(self, words: WordBatch, tick: Tick) -> tuple[Answers, Scores]:
        """The same after every letter of every word."""

    @abstractmethod
    def reference(self, codes: Codes) -> int: ...

    @abstractmethod
    def by_reference(self) -> Model: ...


class SteppedYesNo(SteppedSide):
    def __init__(self, model: SteppingModel) -> None:
        self.model = model
        self.empty = int(model.accepts_empty), abs(model.empty_score)

    def read(self, states: States) -> tuple[Answers, Scores]:
        return yes_or_no(self.model.scores(states))

    def along(self, words: WordBatch, tick: Tick) -> tuple[Answers, Scores]:
        return yes_or_no(self.model.prefix_scores(words, tick))

    def reference(self, codes: Codes) -> int:
        return int(self.model.reference_answer(codes))

    def by_reference(self) -> Model:
        return self.model.by_reference()


class SteppedLabels(SteppedSide):
    def __init__(self, network: LabelledNetwork) -> None:
        self.model = self._network = network
        self.labels = network.labels
        self.empty = network.empty_label, np.inf

    def read(self, states: States) -> tuple[Answers, Scores]:
        scores = self._network.label_scores(states)
        labels = scores.argmax(axis=1)
        return labels, scores[np.arange(len(scores)), labels]

    def along(self, words: WordBatch, tick: Tick) -> tuple[Answers, Scores]:
        labels, leads = np.empty(len(words.codes), dtype=np.int64), np.empty(len(words.codes), dtype=np.float64)
        states = self.model.initial(len(words))
        for at in letters_in_step(words.offsets[:-1], words.lengths):
            tick(len(at))
            states = self.model.step(states[: len(at)], words.codes[at])
            labels[at], leads[at] = self.read(states)
        return labels, leads

    def reference(self, codes: Codes) -> int:
        return self._network.reference_label(codes)

    def by_reference(self) -> Model:
        return self._network.by_reference()


class BlackBoxSide(ABC):
    """One of two black-box models."""

    labels: tuple[str, ...] = NO_YES
    model: Model

    @abstractmethod
    def answers(self, words: WordBatch) -> Answers:
        """The answer to each word."""

    @abstractmethod
    def read(self, words: WordBatch) -> tuple[Answers, Scores] | None:
        """The answers by score, with their distance from another answer; None if the model has no scores."""

    @abstractmethod
    def reference(self, codes: Codes) -> int: ...


class BlackBoxYesNo(BlackBoxSide):
    def __init__(self, model: Model) -> None:
        self.model = model

    def answers(self, words: WordBatch) -> Answers:
        return self.model.accepts_batch(words).astype(np.int64)

    def read(self, words: WordBatch) -> tuple[Answers, Scores] | None:
        scores = self.model.scores_batch(words)
        return None if scores is None else yes_or_no(scores)

    def reference(self, codes: Codes) -> int:
        return int(self.model.reference_answer(codes))


class BlackBoxLabels(BlackBoxSide):
    def __init__(self, model: Model) -> None:
        self.model, self._word_labels = model, WordLabels(model)
        self.labels = self._word_labels.labels

    def answers(self, words: WordBatch) -> Answers:
        return self._word_labels.labels_and_leads(words)[0]

    def read(self, words: WordBatch) -> tuple[Answers, Scores]:
        return self._word_labels.labels_and_leads(words)

    def reference(self, codes: Codes) -> int:
        return self._word_labels.reference_label(codes)


def yes_or_no(scores: Scores) -> tuple[Answers, Scores]:
    """The answers that scores show, and their distances from the threshold."""
    return (scores > 0.0).astype(np.int64), np.abs(scores)
