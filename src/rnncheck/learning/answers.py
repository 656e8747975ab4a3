"""What a learner knows about the target: one answer a word, each asked for once."""

from __future__ import annotations

import heapq
import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import numpy as np

from rnncheck.automata.dfa import DFA, Mask
from rnncheck.errors import InconsistentAnswersError, InputError, LearningBoundReached
from rnncheck.words import Codes, WordBatch, shortlex_key

Query: TypeAlias = tuple[Codes, Codes]
Ask: TypeAlias = Callable[[Sequence[Query]], Iterable[bool]]

# Below this a loop over the words is quicker than whole-array steps, of which there are as many as letters in a word.
_FEW_WORDS = 64


class Answers:
    """Remembers every answer, asks only for what is new, and refuses words above ``max_query_length``.

    Because no word is asked for twice, what a learner sees is a function of the word even where ``ask`` is not:
    answers that change cannot send it round in circles.

    With ``prefixes`` the prefixes of every suffix are asked for in the same batch as the suffix.
    """

    def __init__(self, ask: Ask, *, max_query_length: int | None = None, prefixes: bool = False) -> None:
        self._ask: Ask | None = ask
        self.max_query_length = max_query_length
        self.prefixes = prefixes
        self._answers: dict[Codes, bool] = {}
        self._shelves: defaultdict[int, _Shelf] = defaultdict(_Shelf)  # by the number of bits of the words' lengths
        self._shelved = 0

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_ask": None, "_shelves": defaultdict(_Shelf), "_shelved": 0}

    def connect(self, ask: Ask) -> None:
        """Ask here from now on."""
        self._ask = ask

    def __len__(self) -> int:
        return len(self._answers)

    def __getitem__(self, word: Codes) -> bool:
        return self._answers[word]

    def known(self, word: Codes) -> bool | None:
        """The remembered answer, or None."""
        return self._answers.get(word)

    def tell(self, word: Codes, answer: bool) -> None:
        """Remember an answer that somebody else got."""
        if self._answers.setdefault(word, answer) != answer:
            raise InconsistentAnswersError(word, before=not answer)

    def of(self, queries: Sequence[Query]) -> list[bool]:
        """One answer a query, in order; the words that are new are asked for in one batch."""
        words = [access + suffix for access, suffix in queries]
        new = {word: query for word, query in zip(words, queries, strict=True) if word not in self._answers}
        if new:
            limit = self.max_query_length
            if limit is not None and max(map(len, new)) > limit:
                raise LearningBoundReached("max_query_length", limit)
            if self.prefixes:
                new |= self._new_prefixes(new.values())
            self._answers.update(zip(new, self._replies(list(new.values())), strict=True))
        return [self._answers[word] for word in words]

    def confirm(self, words: Sequence[Codes]) -> None:
        """Ask once more for remembered words; an InconsistentAnswersError when an answer has changed."""
        if words:
            for word, reply in zip(words, self._replies([((), word) for word in words]), strict=True):
                self.tell(word, reply)

    def disagreements(self, dfa: DFA, limit: int) -> list[Codes]:
        """The shortlex-least remembered words, at most ``limit``, to which the automaton gives another answer."""
        for word in itertools.islice(self._answers, self._shelved, None):
            self._shelves[len(word).bit_length()].fresh[word] = self._answers[word]
        self._shelved = len(self._answers)
        wrong: list[Codes] = []
        for bits in sorted(self._shelves):
            if len(wrong) >= limit:  # all further words are longer
                break
            wrong += self._shelves[bits].disagreements(dfa)
        return heapq.nsmallest(limit, wrong, key=shortlex_key)

    def _new_prefixes(self, queries: Iterable[Query]) -> dict[Codes, Query]:
        shorter = ((access, suffix[:length]) for access, suffix in queries for length in range(1, len(suffix)))
        return {access + suffix: (access, suffix) for access, suffix in shorter if access + suffix not in self._answers}

    def _replies(self, queries: list[Query]) -> list[bool]:
        if self._ask is None:
            raise InputError("a restored learner does not know whom to ask; call connect(ask) first")
        replies = [bool(reply) for reply in self._ask(queries)]
        if len(replies) != len(queries):
            raise InputError(f"ask() gave {len(replies)} answers to {len(queries)} queries; give one each, in order")
        return replies


class _Shelf:
    """Words of similar length with their answers: most of them packed for whole-array work, the latest not yet."""

    def __init__(self) -> None:
        self.fresh: dict[Codes, bool] = {}
        self._batch = WordBatch.from_codes([])
        self._answers: Mask = np.zeros(0, dtype=np.bool_)

    def disagreements(self, dfa: DFA) -> list[Codes]:
        if len(self.fresh) > max(_FEW_WORDS, len(self._batch) // 4):
            self._answers = np.concatenate([self._answers, list(self.fresh.values())])
            self._batch = WordBatch.from_codes([*self._batch, *self.fresh])
            self.fresh = {}
        packed = dfa.accepts_batch(self._batch) if len(self._batch) else self._answers
        wrong = [self._batch[int(i)] for i in np.flatnonzero(packed != self._answers)]
        table, accepting = dfa.transitions.tolist(), dfa.accepting.tolist()
        for word, answer in self.fresh.items():
            state = dfa.initial
            for letter in word:
                state = table[state][letter]
            if accepting[state] != answer:
                wrong.append(word)
        return wrong
