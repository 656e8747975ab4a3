"""Networks with several labels as what they are, and their questions through the same batched oracle.

A network with several outputs says of a word the label whose output is the largest. To the rest of rnncheck it is a
model that says yes for one of them; here all of them count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rnncheck.automata.dfa import Mask
from rnncheck.automata.moore import NO_YES, Outputs
from rnncheck.errors import ModelError
from rnncheck.models.black_box import WholeWords
from rnncheck.models.delimiters import WholeBetween, letters_read
from rnncheck.models.engine.stepped_reference import SteppedReference
from rnncheck.models.fingerprint import digest_of
from rnncheck.models.network import RecurrentNetwork
from rnncheck.models.protocol import ByReference, Labeller, Letters, Model, Scores, States, SteppingModel
from rnncheck.words import Codes, IntArray, WordBatch

UNLABELLED = -1  # of the empty word, where a model cannot be asked for it


def network_of(model: Model) -> RecurrentNetwork:
    """The network whose outputs a loaded model reads its answers off."""
    network = getattr(model, "network", None)
    if isinstance(network, RecurrentNetwork):
        return network
    if letters_read(model) != model.alphabet:
        raise ModelError(
            "a network is asked for, and this one is read between markers; leave before= and after= out (--before, "
            "--after), so that the markers are letters"
        )
    kind = model.describe().get("kind", type(model).__name__)
    raise ModelError(f"a recurrent network is asked for, and this model ({kind}) is none; give a network file")


def label_names(model: Model | RecurrentNetwork) -> tuple[str, ...]:
    """The names of what a model says of words: its labels, or no and yes."""
    return model.label_names or NO_YES


def with_no_label(labels: Sequence[str]) -> tuple[str, ...]:
    """The labels, and a name beside them for having none."""
    name = "no label"
    while name in labels:
        name += "*"
    return (*labels, name)


def label_by_answers(answers: Sequence[bool]) -> int:
    """The label that a word has, where each model answers whether it has one of them; a single one says no or yes.

    A word that a model is not asked for has none, whatever is answered in its place: UNLABELLED.
    """
    if len(answers) == 1:
        return int(answers[0])
    return list(answers).index(True) if sum(answers) == 1 else UNLABELLED


class LabelledNetwork(SteppingModel):
    """A stepping model that also says which label a state has.

    ``labels`` are those of ``label_names``. A label is its position among them.
    """

    def __init__(self, model: SteppingModel) -> None:
        self.network = getattr(model, "network", None)
        self.alphabet, self.max_length = model.alphabet, model.max_length
        self.label_names, self.labels = model.label_names, label_names(model)
        # One model a label: they share the meaning of states, so that one of them steps for all.
        self._yes, self._models = model, sayers(model)
        self.margin = max(each.margin for each in self._models)
        self.accepts_empty = model.accepts_empty
        self.empty_score = model.empty_score
        self._labeller = model.labeller()

    @classmethod
    def of(cls, model: Model) -> LabelledNetwork:
        """The labels of a model that has been loaded as one that says yes or no."""
        if isinstance(model, LabelledNetwork):
            return model
        if isinstance(model, SteppingModel):
            return cls(model)
        kind = model.describe().get("kind", type(model).__name__)
        raise ModelError(
            f"labels along a word are read off the states of a network, and this model ({kind}) is asked for whole "
            "words; give a network file, or a module that can be stepped"
        )

    def saying_yes_for(self, label: int) -> LabelledNetwork:
        return LabelledNetwork(self._models[label])

    def initial(self, rows: int) -> States:
        return self._yes.initial(rows)

    def step(self, states: States, letters: Letters, rows: IntArray | None = None) -> States:
        return self._yes.step(states, letters, rows)

    def scores(self, states: States) -> Scores:
        return self._yes.scores(states)

    def reference_answer(self, codes: Codes) -> bool:
        return self._yes.reference_answer(codes)

    def describe(self) -> Mapping[str, Any]:
        return {**self._yes.describe(), "labels": list(self.labels)}

    def label_scores(self, states: States) -> Scores:
        """For each state (one row) and label how far it is ahead of all others: above 0 for at most one of them."""
        scores = np.stack([model.scores(states) for model in self._models], axis=1)
        return scores if len(self._models) > 1 else np.hstack([-scores, scores])

    @property
    def empty_label(self) -> int:
        """The label of the empty word; UNLABELLED where the model cannot be asked for it."""
        return label_by_answers([model.accepts_empty for model in self._models])

    @property
    def outputs(self) -> tuple[str, ...]:
        """The labels, and "no label" where the empty word has none."""
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
        return self._yes.labeller(together=together)

    def identity(self) -> str:
        return digest_of("labels", self._yes.identity())

    def by_reference(self) -> LabelledNetwork | ByReference:
        inner = self._yes.by_reference()
        return LabelledNetwork(inner) if isinstance(inner, SteppedReference) else ByReference(self)


def sayers(model: SteppingModel) -> list[SteppingModel]:
    """The model once for each of its labels, which means yes; itself alone where it says yes or no."""
    if model.label_names is None:
        return [model]
    found = [model.saying_yes_for(label) for label in range(len(model.label_names))]
    return [each for each in found if isinstance(each, SteppingModel)]  # as the model itself is


class WordLabels:
    """A model that says one of several labels, asked for whole words."""

    def __init__(self, model: Model) -> None:
        assert model.label_names is not None
        self.model, self.labels = model, model.label_names
        self._models = [model.saying_yes_for(label) for label in range(len(self.labels))]

    def said(self, words: WordBatch) -> tuple[IntArray, Scores]:
        """The label of each word, and how far it is ahead of all others."""
        if isinstance(self.model, WholeWords | WholeBetween):
            scores = self.model.label_scores_batch(words)
        else:
            given = [model.scores_batch(words) for model in self._models]
            scores = np.stack([each for each in given if each is not None], axis=1)
        labels, unsure = labels_by_score(scores, self._margin)
        leads = scores[np.arange(len(scores)), labels]
        unsure |= words.lengths == 0
        for row in np.flatnonzero(unsure).tolist():
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
    """The labels that scores show, and where they are in doubt."""
    labels = np.asarray(scores.argmax(axis=1))
    best = scores[np.arange(len(scores)), labels]
    with np.errstate(invalid="ignore"):
        unsure = ~(best > margin) | ~np.isfinite(scores).all(axis=1)
    return labels, unsure


def answers_of(model: Model, words: WordBatch) -> IntArray:
    """The position of the label that the model gives to each whole word; of one that says yes or no alone, 0 or 1."""
    if model.label_names is None:
        return model.accepts_batch(words).astype(np.int64)
    said = [model.saying_yes_for(label).accepts_batch(words) for label in range(len(model.label_names))]
    return np.asarray(np.stack(said, axis=1).argmax(axis=1))
