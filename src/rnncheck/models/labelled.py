"""Networks with several labels as what they are, and their questions through the same batched oracle.

A network with several outputs says of a word the label whose output is the largest. To the rest of rnncheck it is a
model that says yes for one of them; here all of them count.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rnncheck.automata.dfa import Mask
from rnncheck.automata.moore import NO_YES, Outputs
from rnncheck.errors import ModelError
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.engine.stepped_reference import SteppedReference
from rnncheck.models.identity import digest_of
from rnncheck.models.markers import letters_read
from rnncheck.models.network import RecurrentNetwork
from rnncheck.models.protocol import ByReference, Letters, Model, Scores, States, SteppingModel
from rnncheck.words import Codes, IntArray


def network_of(model: Model) -> RecurrentNetwork:
    """The network whose outputs a loaded model reads its answers off."""
    network = getattr(model, "network", None)
    if isinstance(network, RecurrentNetwork):
        return network
    raise _without_labels(model)


def _without_labels(model: Model) -> ModelError:
    if letters_read(model) != model.alphabet:
        return ModelError(
            "between markers a model says yes or no to one label alone, and all labels are asked for; "
            "leave before= and after= out (--before, --after), so that the markers are letters"
        )
    kind = model.describe().get("kind", type(model).__name__)
    return ModelError(
        f"labels are read off a recurrent network's outputs, and this model ({kind}) answers yes or no alone; "
        "give a network file"
    )


def label_names(network: RecurrentNetwork) -> tuple[str, ...]:
    """The network's names for its outputs, or their numbers where it has none; no and yes for a single output."""
    if network.outputs <= 1:
        return NO_YES
    return network.labels or tuple(map(str, range(network.outputs)))


class LabelledNetwork(SteppingModel):
    """A stepped network that also says which label a state has.

    ``labels`` are those of ``label_names``. A label is its position among them.
    """

    def __init__(self, model: CompiledNetwork | SteppedReference) -> None:
        self.network = network = model.network
        self.alphabet, self.max_length = network.alphabet, model.max_length
        self.labels = label_names(network)
        # One model a label: they share the meaning of states, so that one of them steps for all.
        several = network.outputs > 1
        self._models = [model.saying_yes_for(label) for label in range(network.outputs)] if several else [model]
        self._yes = self._models[network.label or 0]
        self.margin = max(model.margin for model in self._models)
        self.accepts_empty = self._yes.accepts_empty
        self.empty_score = self._yes.empty_score
        self.empty_label = self._first_true([model.accepts_empty for model in self._models])

    @classmethod
    def of(cls, model: Model) -> LabelledNetwork:
        """The labels of a model that has been loaded as one that says yes or no."""
        if isinstance(model, LabelledNetwork):
            return model
        if isinstance(model, CompiledNetwork | SteppedReference):
            return cls(model)
        raise _without_labels(model)

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

    def reference_label(self, codes: Codes) -> int:
        """The label of one word, by the network's reference."""
        return self.reference_labels_along(codes)[-1] if codes else self.empty_label

    def reference_labels_along(self, codes: Codes) -> list[int]:
        """The labels after each letter of one word, by the network's reference."""
        if not codes:
            return []
        answers = [model.reference_answers_along(codes) for model in self._models]
        return [self._first_true(list(at)) for at in zip(*answers, strict=True)]

    def identity(self) -> str:
        return digest_of("labels", self._yes.identity())

    def by_reference(self) -> LabelledNetwork | ByReference:
        inner = self._yes.by_reference()
        return LabelledNetwork(inner) if isinstance(inner, SteppedReference) else ByReference(self)

    def _first_true(self, answers: list[bool]) -> int:
        return answers.index(True) if len(answers) > 1 else int(answers[0])


def labels_by_score(scores: Scores, margin: float) -> tuple[Outputs, Mask]:
    """The labels that scores show, and where they are in doubt."""
    labels = np.asarray(scores.argmax(axis=1))
    best = scores[np.arange(len(scores)), labels]
    with np.errstate(invalid="ignore"):
        unsure = ~(best > margin) | ~np.isfinite(scores).all(axis=1)
    return labels, unsure
