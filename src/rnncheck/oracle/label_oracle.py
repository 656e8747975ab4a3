"""Which labels a network gives to words: the membership oracle for networks with several labels."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from rnncheck.automata.moore import Outputs
from rnncheck.models.labelled import LabelledNetwork, settled_labels
from rnncheck.models.protocol import Scores, SteppingModel, letters_in_step
from rnncheck.oracle.backends import Ledger, Pair, SteppedQuestions, Store
from rnncheck.oracle.cache import RememberedAnswers, WordKeys
from rnncheck.oracle.membership import DEFAULT_MEMORY, Cost, Query
from rnncheck.runtime.budget import UNLIMITED, Budget
from rnncheck.words import WordBatch

_QUERIES_AT_ONCE = 1 << 16


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
