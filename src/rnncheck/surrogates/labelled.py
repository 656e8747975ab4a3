"""Networks with several labels as what they are, and their questions through the same batched oracle.

A network with several outputs says of a word the label whose output is the largest. To the rest of rnncheck it is a
model that says yes for one of them; here all of them count.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from rnncheck.budget import UNLIMITED, Budget
from rnncheck.errors import ModelError
from rnncheck.learning import Query
from rnncheck.learning.moore import NO_YES, Outputs
from rnncheck.models.network import RecurrentNetwork
from rnncheck.models.protocol import Letters, Model, Scores, States, SteppingModel, letters_in_step
from rnncheck.models.recurrent import CompiledNetwork
from rnncheck.models.reference import reference_prefix_scores
from rnncheck.oracle import DEFAULT_MEMORY, Cost
from rnncheck.oracle.asking import Ledger, Pair, SteppedQuestions, Store
from rnncheck.oracle.remembered import RememberedAnswers, WordKeys
from rnncheck.words import Codes, IntArray, WordBatch

_QUERIES_AT_ONCE = 1 << 16


def network_of(model: Model) -> RecurrentNetwork:
    """The network whose outputs a loaded model reads its answers off."""
    if isinstance(model, LabelledNetwork | CompiledNetwork):
        return model.network
    kind = model.describe().get("kind", type(model).__name__)
    raise ModelError(
        f"labels are read off a recurrent network's outputs, and this model ({kind}) answers yes or no alone; "
        "give a network file"
    )


def label_names(network: RecurrentNetwork) -> tuple[str, ...]:
    """The network's names for its outputs, or their numbers where it has none; no and yes for a single output."""
    if network.outputs <= 1:
        return NO_YES
    return network.labels or tuple(map(str, range(network.outputs)))


def labels_along(network: RecurrentNetwork, codes: Codes) -> list[int]:
    """The labels after each letter of one word, by the network's definition."""
    if not codes:
        return []
    scores = np.array([reference_prefix_scores(each, codes) for each in _one_a_label(network)])
    # In a tie the first of the largest outputs is the label; with one output, a tie with the threshold means no.
    found = np.argmax(scores >= 0.0, axis=0) if len(scores) > 1 else (scores[0] > 0.0)
    return [int(label) for label in found]


def _one_a_label(network: RecurrentNetwork) -> list[RecurrentNetwork]:
    chosen = range(network.outputs) if network.outputs > 1 else [None]
    return [dataclasses.replace(network, label=label) for label in chosen]


class LabelledNetwork(SteppingModel):
    """A compiled network that also says which label a state has.

    ``labels`` are those of ``label_names``. A label is its position among them.
    """

    def __init__(self, network: RecurrentNetwork, **options: Any) -> None:
        self.network = network
        self.alphabet = network.alphabet
        self.labels = label_names(network)
        # One model a label: they share the meaning of states, so that one of them steps for all.
        self._models = [CompiledNetwork(each, **options) for each in _one_a_label(network)]
        self._yes = self._models[network.label or 0]
        self.margin = max(model.margin for model in self._models)
        self.accepts_empty = self._yes.accepts_empty
        self.empty_score = self._yes.empty_score
        self.empty_label = self._first_true([model.accepts_empty for model in self._models])

    @classmethod
    def of(cls, model: Model) -> LabelledNetwork:
        """The labels of a model that has been loaded as one that says yes or no; they are those of its weights."""
        if isinstance(model, LabelledNetwork):
            return model
        return cls(network_of(model), **(model.computing if isinstance(model, CompiledNetwork) else {}))

    def initial(self, rows: int) -> States:
        return self._yes.initial(rows)

    def step(self, states: States, letters: Letters, rows: IntArray | None = None) -> States:
        return self._yes.step(states, letters, rows)

    def scores(self, states: States) -> Scores:
        return self._yes.scores(states)

    def definition(self, codes: Codes) -> bool:
        return self._yes.definition(codes)

    def describe(self) -> Mapping[str, object]:
        return {**self._yes.describe(), "labels": list(self.labels)}

    def label_scores(self, states: States) -> Scores:
        """For each state (one row) and label how far it is ahead of all others: above 0 for at most one of them."""
        scores = np.stack([model.scores(states) for model in self._models], axis=1)
        return scores if len(self._models) > 1 else np.hstack([-scores, scores])

    def label_definition(self, codes: Codes) -> int:
        """The label of one word, by the network's definition."""
        return self.prefix_label_definitions(codes)[-1] if codes else self.empty_label

    def prefix_label_definitions(self, codes: Codes) -> list[int]:
        """The labels after each letter of one word, by the network's definition."""
        return labels_along(self.network, codes)

    def _first_true(self, answers: list[bool]) -> int:
        return answers.index(True) if len(answers) > 1 else int(answers[0])


def settled_labels(scores: Scores, margin: float) -> tuple[Outputs, IntArray]:
    """The labels that scores show, and the rows where they show none."""
    labels = np.asarray(scores.argmax(axis=1))
    best = scores[np.arange(len(scores)), labels]
    with np.errstate(invalid="ignore"):
        unsure = ~(best > margin) | ~np.isfinite(scores).all(axis=1)
    return labels, np.flatnonzero(unsure)


class LabelOracle:
    """Answers which label a network gives to words: batched, remembered, counted, and only within a budget.

    It is made of the same parts as the oracle that answers yes or no: the states after access words are kept, so that
    only suffixes are paid for, and no word is asked for twice.
    """

    def __init__(
        self, model: LabelledNetwork, *, memory_limit: int = DEFAULT_MEMORY, budget: Budget = UNLIMITED
    ) -> None:
        self.model = model
        self._keys = WordKeys(model.alphabet)
        self._remembered = RememberedAnswers(memory_limit // 4)
        self._ledger = Ledger(budget)
        self._questions = _LabelQuestions(
            cast(SteppingModel, _SaysLabels(model)),
            self._keys,
            self._ledger,
            state_bytes=memory_limit // 2,
            working_bytes=memory_limit // 8,
        )

    @property
    def cost(self) -> Cost:
        """What has been asked so far."""
        return Cost(self._ledger.queries, self._ledger.steps, self._ledger.batches)

    def labels(self, queries: Sequence[Query]) -> Outputs:
        """One label a query (access word, suffix), in order."""
        found = [
            self._found([(self._keys.key(access), self._keys.key(suffix)) for access, suffix in queries[at:end]])
            for at, end in itertools.pairwise([*range(0, len(queries), _QUERIES_AT_ONCE), len(queries)])
        ]
        return np.array([label for part in found for label in part], dtype=np.int64)

    def _found(self, pairs: list[Pair]) -> list[int]:
        keys = [access + suffix for access, suffix in pairs]
        remembered = self._remembered.get(keys)
        new = {key: pair for key, pair, known in zip(keys, pairs, remembered, strict=True) if known is None}
        fresh: dict[bytes, int] = {}

        def store(answers: Mapping[bytes, bool]) -> None:
            fresh.update(answers)
            self._remembered.put(answers)
            self._ledger.queries += len(answers)

        if new:
            self._ledger.batches += 1
            self._questions.answer(list(new.values()), store)
        return [fresh[key] if known is None else known for key, known in zip(keys, remembered, strict=True)]

    def prefix_labels(self, words: WordBatch) -> Outputs:
        """The labels after every letter of every word, aligned with ``words.codes``. They are not remembered."""
        model = self.model
        words.check_codes(len(model.alphabet))
        out = np.empty(len(words.codes), dtype=np.int64)
        owner = np.repeat(np.arange(len(words)), words.lengths)
        states = model.initial(len(words))
        for at in letters_in_step(words.offsets[:-1], words.lengths):
            self._ledger.tick(len(at))
            states = model.step(states[: len(at)], words.codes[at])
            labels, unsure = settled_labels(model.label_scores(states), model.margin)
            for row in unsure.tolist():
                start, end = int(words.offsets[owner[at[row]]]), int(at[row]) + 1
                self._ledger.tick(end - start)
                labels[row] = model.label_definition(tuple(words.codes[start:end].tolist()))
            out[at] = labels
        self._ledger.queries += int(np.count_nonzero(words.lengths))
        return out


class _SaysLabels:
    """A labelled network with labels in the place of answers, for what asks whatever answers there are."""

    def __init__(self, model: LabelledNetwork) -> None:
        self.initial = model.initial
        self.step = model.step
        self.scores = model.label_scores
        self.margin = model.margin
        self.definition = model.label_definition
        self.accepts_empty = model.empty_label


class _LabelQuestions(SteppedQuestions):
    """Stepped questions whose answers are labels."""

    def _judge(self, words: Sequence[bytes], scores: Scores, store: Store) -> None:
        labels, unsure = settled_labels(scores, self._model.margin)
        left = set(unsure.tolist())
        sure: dict[bytes, Any] = {
            word: label for row, (word, label) in enumerate(zip(words, labels.tolist(), strict=True)) if row not in left
        }
        store(sure)
        for row in unsure.tolist():
            store({words[row]: self._define(self._keys.codes(words[row]))})
