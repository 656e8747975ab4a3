"""How new questions reach a model: stepped from states that are held already, or as whole words."""

from __future__ import annotations

import itertools
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from rnncheck.automata.dfa import Mask
from rnncheck.models.protocol import Model, Scores, States, SteppingModel, in_doubt, settle, slices_within
from rnncheck.oracle.cache import WordKeys
from rnncheck.oracle.prefix_states import PrefixStates, walk
from rnncheck.runtime.budget import Budget
from rnncheck.words import Codes, IntArray, WordBatch

Pair: TypeAlias = tuple[bytes, bytes]  # a word's beginning, from whose state it is continued, and the rest
Store: TypeAlias = Callable[[Mapping[bytes, bool]], None]

_ROWS_AT_ONCE = 4096  # enough to keep the cores busy, few enough to hear of a deadline soon
_LETTERS_AT_ONCE = 1 << 18
_PREFIX_LETTERS_AT_ONCE = 1 << 20
_FEWEST_LETTERS = 1 << 10  # put to a model that only knows whole words, before it has shown how fast it is
_QUICK = 0.1  # seconds; the budget is looked at about so often


class Ledger:
    """The running counts, and the budget that every step is charged to."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.queries = 0
        self.steps = 0
        self.batches = 0
        self.prefix_answers = 0
        self.work = 0
        self._lock = threading.Lock()

    def tick(self, steps: int) -> None:
        """Count the steps that are about to be computed, or raise BudgetExceeded. Called by the model's threads."""
        self.budget.check()
        with self._lock:
            self.steps += steps


class Questions(ABC):
    """Puts new questions to a model."""

    @abstractmethod
    def split(self, key: bytes) -> Pair:
        """The best way to ask for a whole word."""

    @abstractmethod
    def answer(self, pairs: Sequence[Pair], store: Store) -> None:
        """Ask for the words ``beginning + rest``, which are distinct, and store answers as soon as they are known."""

    @abstractmethod
    def prefix_answers(self, words: WordBatch) -> Mask:
        """The answers after every letter of every word."""


class WholeWordQuestions(Questions):
    """For models that only know whole words."""

    def __init__(self, model: Model, keys: WordKeys, ledger: Ledger) -> None:
        self._model = model
        self._keys = keys
        self._ledger = ledger
        self._letters_at_once = _FEWEST_LETTERS

    def split(self, key: bytes) -> Pair:
        return b"", key

    def answer(self, pairs: Sequence[Pair], store: Store) -> None:
        words = sorted((beginning + rest for beginning, rest in pairs), key=len)
        for start, end, answers in self._asked(self._keys.batch(words)):
            store(dict(zip(words[start:end], answers.tolist(), strict=True)))

    def prefix_answers(self, words: WordBatch) -> Mask:
        out = np.empty(len(words.codes), dtype=np.bool_)
        keys = self._keys.keys(words)
        letters_of_prefixes = words.lengths * (words.lengths + 1) // 2
        for first, last in slices_within(np.append(0, np.cumsum(letters_of_prefixes)), _LETTERS_AT_ONCE):
            prefixes = [prefix for key in keys[first:last] for prefix in self._keys.prefixes(key)]
            for start, end, answers in self._asked(self._keys.batch(prefixes)):
                out[words.offsets[first] + start : words.offsets[first] + end] = answers
                self._ledger.queries += end - start
        return out

    def _asked(self, words: WordBatch) -> Iterator[tuple[int, int, Mask]]:
        """Answers in pieces: small ones to begin with, larger while they take no time, so that a budget is kept."""
        start, clock = 0, self._ledger.budget.clock
        while start < len(words):
            least = np.searchsorted(words.offsets, words.offsets[start] + self._letters_at_once, side="right") - 1
            end = max(start + 1, int(least))
            part = words.take(np.arange(start, end))
            self._ledger.tick(len(part.codes))
            began = clock()
            answers = self._model.accepts_batch(part)
            took = clock() - began
            if took < _QUICK and self._letters_at_once < _LETTERS_AT_ONCE:
                self._letters_at_once *= 2
            elif took > 2 * _QUICK and self._letters_at_once > _FEWEST_LETTERS:
                self._letters_at_once //= 2
            yield start, end, answers
            start = end


class SteppedQuestions(Questions):
    """For stepping models: every prefix that is not held is computed once, all words in step."""

    def __init__(
        self, model: SteppingModel, keys: WordKeys, ledger: Ledger, *, state_bytes: int, working_bytes: int
    ) -> None:
        self._model = model
        self._keys = keys
        self._ledger = ledger
        self._held = PrefixStates(model, state_bytes)
        row_bytes = max(1, model.initial(1).nbytes)
        # Three arrays of states exist at a time: where the words begin, where they are, and where they go.
        self._rows_at_once = int(np.clip(working_bytes // (3 * row_bytes), 1, _ROWS_AT_ONCE))

    def split(self, key: bytes) -> Pair:
        beginning = self._held.longest_prefix(key)
        return beginning, key[len(beginning) :]

    def answer(self, pairs: Sequence[Pair], store: Store) -> None:
        if (b"", b"") in pairs:
            store({b"": self._model.accepts_empty})
            pairs = [pair for pair in pairs if pair != (b"", b"")]
        rows = SortedRows(pairs, self._keys)
        for first in range(0, len(rows.beginnings), self._rows_at_once):
            last = min(first + self._rows_at_once, len(rows.beginnings))
            states = self._states_after(rows.beginnings[first:last])
            for part in rows.parts(first, last, self._rows_at_once):
                for words, now, at in self._walk(rows, part, states, first):
                    self._judge(words, self._model.scores(now)[at], store)

    def prefix_answers(self, words: WordBatch) -> Mask:
        out = np.empty(len(words.codes), dtype=np.bool_)
        for first, last in slices_within(words.offsets, _PREFIX_LETTERS_AT_ONCE):
            part = words.take(np.arange(first, last))
            scores = self._model.prefix_scores(part, self._ledger.tick)
            start, end = words.offsets[first], words.offsets[last]
            out[start:end] = settle(scores, self._model.margin, _prefix_at(part), self._define)
            filled = int(np.count_nonzero(part.lengths))
            self._ledger.queries += filled
            self._ledger.prefix_answers += len(part.codes) - filled
        return out

    def _states_after(self, keys: Sequence[bytes]) -> States:
        """The states after distinct words: read where they are held, else computed from what is, and then held."""
        states = self._model.initial(len(keys))
        row_of = {key: row for row, key in enumerate(keys)}
        held = [key for key in keys if key in self._held]
        if held:
            states[[row_of[key] for key in held]] = self._held.get(held)
        missing = [self.split(key) for key in keys if key and key not in self._held]
        if missing:
            rows = SortedRows(missing, self._keys)
            begun = self._states_after(rows.beginnings)
            for words, now, at in self._walk(rows, slice(0, len(missing)), begun, 0):
                reached = now[at]
                states[[row_of[word] for word in words]] = reached
                self._held.put(words, reached)
        return states

    def _walk(
        self, rows: SortedRows, part: slice, states: States, first: int
    ) -> Iterator[tuple[list[bytes], States, IntArray]]:
        """Walk some rows; ``states`` are those after the beginnings from number ``first`` on."""
        at = rows.beginning[part] - first
        steps = walk(self._model, states, at, rows.letters, rows.starts[part], rows.lengths[part], self._ledger.tick)
        for ended, now, at in steps:
            yield [rows.words[row] for row in (ended + part.start).tolist()], now, at

    def _judge(self, words: Sequence[bytes], scores: Scores, store: Store) -> None:
        """The rule of ``settle``, but what the scores decide is stored before the definition is asked: it may stop."""
        doubt = in_doubt(scores, self._model.margin).tolist()
        store(
            {word: score > 0.0 for word, score, unsure in zip(words, scores.tolist(), doubt, strict=True) if not unsure}
        )
        for word in itertools.compress(words, doubt):
            store({word: self._define(self._keys.codes(word))})

    def _define(self, codes: Codes) -> bool:
        self._ledger.tick(len(codes))
        return self._model.definition(codes)


class SortedRows:
    """Pairs in the order that ``walk`` needs: by beginning, then by the rest."""

    def __init__(self, pairs: Sequence[Pair], keys: WordKeys) -> None:
        beginning_of = {beginning: number for number, beginning in enumerate(dict.fromkeys(b for b, _ in pairs))}
        rests = sorted({rest for _, rest in pairs})
        rank_of = {rest: rank for rank, rest in enumerate(rests)}
        beginning = np.array([beginning_of[b] for b, _ in pairs], dtype=np.int64)
        rank = np.array([rank_of[rest] for _, rest in pairs], dtype=np.int64)
        order = np.lexsort((rank, beginning))
        ends = np.append(0, np.cumsum(keys.lengths(rests)))
        self.beginnings = list(beginning_of)
        self.beginning = beginning[order]
        self.words = [pairs[row][0] + pairs[row][1] for row in order.tolist()]
        self.letters = keys.letters(b"".join(rests))
        self.starts = ends[:-1][rank[order]]
        self.lengths = np.diff(ends)[rank[order]]

    def parts(self, first: int, last: int, at_most: int) -> Iterator[slice]:
        """The rows of the beginnings ``first`` to ``last - 1``, in slices."""
        start, end = np.searchsorted(self.beginning, [first, last]).tolist()
        for at in range(start, end, at_most):
            yield slice(at, min(at + at_most, end))


def _prefix_at(words: WordBatch) -> Callable[[int], Codes]:
    """The prefix that ends with the letter at a position of ``words.codes``."""

    def prefix(position: int) -> Codes:
        word = int(np.searchsorted(words.offsets, position, side="right")) - 1
        return tuple(words.codes[words.offsets[word] : position + 1].tolist())

    return prefix
