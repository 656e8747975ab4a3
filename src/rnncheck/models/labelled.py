"""Networks with several labels, queried through the same batched oracle as all models.

A network with several outputs gives a word the label whose output is the largest. The rest of rnncheck sees a model
that accepts one of the labels; here all of them count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rnncheck.automata.dfa import Mask
from rnncheck.automata.moore import NO_YES, Outputs
from rnncheck.errors import ModelError
from rnncheck.models.black_box import BlackBoxModel
from rnncheck.models.delimiters import DelimitedBlackBox, letters_read
from rnncheck.models.engine.stepped_reference import SteppedReference
from rnncheck.models.fingerprint import digest_of
from rnncheck.models.network import RecurrentNetwork
from rnncheck.models.protocol import ByReference, Labeller, Letters, Model, Scores, States, SteppingModel
from rnncheck.words import Codes, IntArray, WordBatch

UNLABELLED = -1  # the empty word, if a model does not take it


def network_of(model: Model) -> RecurrentNetwork:
    """The network that computes a loaded model's answers."""
    network = getattr(model, "network", None)
    if isinstance(network, RecurrentNetwork):
        return network
    if letters_read(model) != model.alphabet:
        raise ModelError(
            "a network is needed, and this one is read between delimiters; leave before= and after= out (--before, "
            "--after), so that the delimiters are letters"
        )
    kind = model.describe().get("kind", type(model).__name__)
    raise ModelError(f"a recurrent network is needed, and this model ({kind}) is not one; give a network file")


def label_names(model: Model | RecurrentNetwork) -> tuple[str, ...]:
    """The names of a model's answers: its labels, or no and yes."""
    return model.label_names or NO_YES


def with_no_label(labels: Sequence[str]) -> tuple[str, ...]:
    """The labels, and one more name for having none of them."""
    name = "no label"
    while name in labels:
        name += "*"
    return (*labels, name)


def label_by_answers(answers: Sequence[bool]) -> int:
    """The label of a word, from answers whether it has each of the labels; a single answer is no or yes.

    A word that the model does not take is UNLABELLED, whatever the answers are.
    """
    if len(answers) == 1:
        return int(answers[0])
    return list(answers).index(True) if sum(answers) == 1 else UNLABELLED


class LabelledNetwork(SteppingModel):
    """A stateful model that also gives the label of a state.

    ``labels`` are those of ``label_names``. A label is represented by its position among them.
    """

    def __init__(self, model: SteppingModel) -> None:
        self.network = getattr(model, "network", None)
        self.alphabet, self.max_length = model.alphabet, model.max_length
        self.label_names, self.labels = model.label_names, label_names(model)
        # One model per label: their states mean the same, so one of them steps for all.
        self._model, self._models = model, models_by_label(model)
        self.margin = max(each.margin for each in self._models)
        self.accepts_empty = model.accepts_empty
        self.empty_score = model.empty_score
        self._labeller = model.labeller()

    @classmethod
    def of(cls, model: Model) -> LabelledNetwork:
        """The labels of a model that was loaded as one that accepts and rejects."""
        if isinstance(model, LabelledNetwork):
            return model
        if isinstance(model, SteppingModel):
            return cls(model)
        kind = model.describe().get("kind", type(model).__name__)
        raise ModelError(
            f"labels along a word are read off the states of a network, and this model ({kind}) is a black box; "
            "give a network file, or a module that can be stepped"
        )

    def for_label(self, label: int) -> LabelledNetwork:
        return LabelledNetwork(self._models[label])

    def initial(self, rows: int) -> States:
        return self._model.initial(rows)

    def step(self, states: States, letters: Letters, rows: IntArray | None = None) -> States:
        return self._model.step(states, letters, rows)

    def scores(self, states: States) -> Scores:
        return self._model.scores(states)

    def reference_answer(self, codes: Codes) -> bool:
        return self._model.reference_answer(codes)

    def describe(self) -> Mapping[str, Any]:
        return {**self._model.describe(), "labels": list(self.labels)}

    def label_scores(self, states: States) -> Scores:
        """The lead of each label over all others, states × labels: above 0 for at most one label."""
        scores = np.stack([model.scores(states) for model in self._models], axis=1)
        return scores if len(self._models) > 1 else np.hstack([-scores, scores])

    @property
    def empty_label(self) -> int:
        """The label of the empty word; UNLABELLED if the model does not take it."""
        return label_by_answers([model.accepts_empty for model in self._models])

    @property
    def outputs(self) -> tuple[str, ...]:
        """The labels, and "no label" if the empty word has none."""
        return with_no_label(self.labels) if self.empty_label == UNLABELLED else self.labels

    def reference_label(self, codes: Codes) -> int:
        """The label of one word, by the model's reference."""
        if not codes:
            return self.empty_label
        if self._labeller is not None:
            return int(self._labeller(WordBatch.from_codes([codes]))[0])
        return label_by_answers([model.reference_answer(codes) for model in self._models])

    def reference_labels_along(self, codes: Codes) -> list[int]:
        """The labels after each letter of one word, by the model's reference."""
        if not codes:
            return []
        if self._labeller is not None:
            return [self.reference_label(codes[: end + 1]) for end in range(len(codes))]
        answers = [model.reference_answers_along(codes) for model in self._models]
        return [label_by_answers(at) for at in zip(*answers, strict=True)]

    def labeller(self, *, together: bool = False) -> Labeller | None:
        return self._model.labeller(together=together)

    def fingerprint(self) -> str:
        return digest_of("labels", self._model.fingerprint())

    def by_reference(self) -> LabelledNetwork | ByReference:
        inner = self._model.by_reference()
        return LabelledNetwork(inner) if isinstance(inner, SteppedReference) else ByReference(self)


def models_by_label(model: SteppingModel) -> list[SteppingModel]:
    """One model for each label, which accepts that label; the model itself if it has no labels."""
    if model.label_names is None:
        return [model]
    found = [model.for_label(label) for label in range(len(model.label_names))]
    return [each for each in found if isinstance(each, SteppingModel)]  # as the model itself is


class WordLabels:
    """A black-box model that gives one of several labels."""

    def __init__(self, model: Model) -> None:
        assert model.label_names is not None
        self.model, self.labels = model, model.label_names
        self._models = [model.for_label(label) for label in range(len(self.labels))]

    def labels_and_leads(self, words: WordBatch) -> tuple[IntArray, Scores]:
        """The label of each word, and its lead over all others."""
        if isinstance(self.model, BlackBoxModel | DelimitedBlackBox):
            scores = self.model.label_scores_batch(words)
        else:
            given = [model.scores_batch(words) for model in self._models]
            scores = np.stack([each for each in given if each is not None], axis=1)
        labels, ambiguous = labels_by_score(scores, self._margin)
        leads = scores[np.arange(len(scores)), labels]
        ambiguous |= words.lengths == 0
        for row in np.flatnonzero(ambiguous).tolist():
            labels[row] = self.reference_label(words[row])
            leads[row] = np.inf if labels[row] == UNLABELLED else leads[row]
        return labels, np.abs(leads)

    def reference_label(self, codes: Codes) -> int:
        """The label of one word, by the model's reference."""
        return label_by_answers([model.reference_answer(codes) for model in self._models])

    @property
    def _margin(self) -> float:
        return max(float(getattr(model, "margin", 0.0)) for model in self._models)


def labels_by_score(scores: Scores, margin: float) -> tuple[Outputs, Mask]:
    """The labels that scores show, and where they are ambiguous."""
    labels = np.asarray(scores.argmax(axis=1))
    best = scores[np.arange(len(scores)), labels]
    with np.errstate(invalid="ignore"):
        ambiguous = ~(best > margin) | ~np.isfinite(scores).all(axis=1)
    return labels, ambiguous


def answers_of(model: Model, words: WordBatch) -> IntArray:
    """The position of the label that the model gives to each word; 0 or 1 if it has no labels."""
    if model.label_names is None:
        return model.accepts_batch(words).astype(np.int64)
    accepted = [model.for_label(label).accepts_batch(words) for label in range(len(model.label_names))]
    return np.asarray(np.stack(accepted, axis=1).argmax(axis=1))
