"""How new queries reach a model: stepped from stored states, or as whole words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from rnncheck.automata.dfa import Mask
from rnncheck.automata.moore import Outputs
from rnncheck.models.protocol import Model, States, slices_within
from rnncheck.oracle.cache import WordKeys
from rnncheck.oracle.counters import Counters
from rnncheck.oracle.prefix_states import PrefixStates, walk
from rnncheck.oracle.readout import Readout
from rnncheck.words import Codes, IntArray, WordBatch

Pair: TypeAlias = tuple[bytes, bytes]  # a prefix whose state is continued, and the suffix to read
Store: TypeAlias = Callable[[Mapping[bytes, int]], None]

_ROWS_AT_ONCE = 4096  # enough to keep the cores busy, few enough to notice a deadline soon
_LETTERS_AT_ONCE = 1 << 18
_PREFIX_LETTERS_AT_ONCE = 1 << 20
_FEWEST_LETTERS = 1 << 10  # of the first call of a black-box model, before its speed is known
_REFERENCES_AT_ONCE = 64
_QUICK = 0.1  # seconds; the budget is checked about this often


class QueryBackend(ABC):
    """Sends new queries to a model. Answers are yes and no, or the positions of labels."""

    @abstractmethod
    def split(self, key: bytes) -> Pair:
        """The cheapest way to query a word: a prefix to continue from, and the suffix to read."""

    @abstractmethod
    def answer(self, pairs: Sequence[Pair], store: Store) -> None:
        """Query the words ``prefix + suffix``, which are distinct, and store answers as soon as they are known."""

    @abstractmethod
    def prefix_answers(self, words: WordBatch) -> Mask | Outputs:
        """The answers after every letter of every word."""


class WholeWordBackend(QueryBackend):
    """For black-box models, which only read whole words."""

    def __init__(self, model: Model, keys: WordKeys, counters: Counters) -> None:
        self._model = model
        self._keys = keys
        self._counters = counters
        self._letters_at_once = _FEWEST_LETTERS

    def split(self, key: bytes) -> Pair:
        return b"", key

    def answer(self, pairs: Sequence[Pair], store: Store) -> None:
        words = sorted((prefix + suffix for prefix, suffix in pairs), key=len)
        for start, end, answers in self._query_in_pieces(self._keys.batch(words)):
            store(dict(zip(words[start:end], answers.tolist(), strict=True)))

    def prefix_answers(self, words: WordBatch) -> Mask:
        out = np.empty(len(words.codes), dtype=np.bool_)
        keys = self._keys.keys(words)
        letters_of_prefixes = words.lengths * (words.lengths + 1) // 2
        for first, last in slices_within(np.append(0, np.cumsum(letters_of_prefixes)), _LETTERS_AT_ONCE):
            prefixes = [prefix for key in keys[first:last] for prefix in self._keys.prefixes(key)]
            for start, end, answers in self._query_in_pieces(self._keys.batch(prefixes)):
                out[words.offsets[first] + start : words.offsets[first] + end] = answers
                self._counters.queries += end - start
        return out

    def _query_in_pieces(self, words: WordBatch) -> Iterator[tuple[int, int, Mask]]:
        """Yield (start, end, answers): small pieces first, larger ones while the model is quick."""
        start, clock = 0, self._counters.budget.clock
        while start < len(words):
            last = np.searchsorted(words.offsets, words.offsets[start] + self._letters_at_once, side="right") - 1
            end = max(start + 1, int(last))
            part = words.take(np.arange(start, end))
            self._counters.tick(len(part.codes))
            started = clock()
            answers = self._model.accepts_batch(part)
            took = clock() - started
            if took < _QUICK and self._letters_at_once < _LETTERS_AT_ONCE:
                self._letters_at_once *= 2
            elif took > 2 * _QUICK and self._letters_at_once > _FEWEST_LETTERS:
                self._letters_at_once //= 2
            yield start, end, answers
            start = end


class SteppingBackend(QueryBackend):
    """For stepping models: computes each prefix that is not stored once, all words in step."""

    def __init__(
        self, readout: Readout, keys: WordKeys, counters: Counters, *, state_bytes: int, working_bytes: int
    ) -> None:
        self._readout = readout
        self._model = model = readout.model
        self._keys = keys
        self._counters = counters
        self._stored = PrefixStates(model, state_bytes)
        row_bytes = max(1, model.initial(1).nbytes)
        # Three arrays of states exist at a time: before the words, before the letter, and after it.
        self._rows_at_once = int(np.clip(working_bytes // (3 * row_bytes), 1, _ROWS_AT_ONCE))

    def split(self, key: bytes) -> Pair:
        prefix = self._stored.longest_prefix(key)
        return prefix, key[len(prefix) :]

    def answer(self, pairs: Sequence[Pair], store: Store) -> None:
        if (b"", b"") in pairs:
            store({b"": self._readout.empty})
            pairs = [pair for pair in pairs if pair != (b"", b"")]
        rows = SortedRows(pairs, self._keys)
        for first in range(0, len(rows.prefixes), self._rows_at_once):
            last = min(first + self._rows_at_once, len(rows.prefixes))
            states = self._states_after(rows.prefixes[first:last])
            for part in rows.parts(first, last, self._rows_at_once):
                for words, now, at in self._walk(rows, part, states, first):
                    self._read(words, now[at], store)

    def prefix_answers(self, words: WordBatch) -> Mask | Outputs:
        found: list[Mask | Outputs] = []
        for first, last in slices_within(words.offsets, _PREFIX_LETTERS_AT_ONCE):
            part = words.take(np.arange(first, last))
            outputs, ambiguous = self._readout.along(part, self._counters.tick)
            prefixes = {position: part.prefix_ending_at(position) for position in np.flatnonzero(ambiguous).tolist()}
            resolved = dict(self._reference_outputs(list(dict.fromkeys(prefixes.values()))))
            for position, word in prefixes.items():
                outputs[position] = resolved[word]
            found.append(outputs)
            self._counters.count_prefixes(part)
        return found[0] if len(found) == 1 else np.concatenate([np.zeros(0, dtype=np.bool_), *found])

    def _states_after(self, keys: Sequence[bytes]) -> States:
        """The states after distinct words: stored ones, or computed from a stored prefix and then stored."""
        states = self._model.initial(len(keys))
        row_of = {key: row for row, key in enumerate(keys)}
        stored = [key for key in keys if key in self._stored]
        if stored:
            states[[row_of[key] for key in stored]] = self._stored.get(stored)
        missing = [self.split(key) for key in keys if key and key not in self._stored]
        if missing:
            rows = SortedRows(missing, self._keys)
            initial = self._states_after(rows.prefixes)
            for words, now, at in self._walk(rows, slice(0, len(missing)), initial, 0):
                reached = now[at]
                states[[row_of[word] for word in words]] = reached
                self._stored.put(words, reached)
        return states

    def _walk(
        self, rows: SortedRows, part: slice, states: States, first: int
    ) -> Iterator[tuple[list[bytes], States, IntArray]]:
        """Walk some rows; ``states`` are those after the prefixes from number ``first`` on."""
        at = rows.prefix[part] - first
        steps = walk(self._model, states, at, rows.letters, rows.starts[part], rows.lengths[part], self._counters.tick)
        for ended, now, at in steps:
            yield [rows.words[row] for row in (ended + part.start).tolist()], now, at

    def _read(self, words: Sequence[bytes], states: States, store: Store) -> None:
        """Store the clear outputs first, then those of the reference, whose queries may exceed the budget."""
        outputs, ambiguous = self._readout.at(states)
        rows = zip(words, outputs.tolist(), ambiguous.tolist(), strict=True)
        store({word: output for word, output, is_ambiguous in rows if not is_ambiguous})
        key_of = {self._keys.codes(words[row]): words[row] for row in np.flatnonzero(ambiguous).tolist()}
        for word, output in self._reference_outputs(list(key_of)):
            store({key_of[word]: output})

    def _reference_outputs(self, words: Sequence[Codes]) -> Iterator[tuple[Codes, int]]:
        """Words with the reference's outputs, a few at a time: it may be slow, and the budget must be kept."""
        for start in range(0, len(words), _REFERENCES_AT_ONCE):
            some = words[start : start + _REFERENCES_AT_ONCE]
            self._counters.tick(sum(map(len, some)))
            yield from zip(some, self._readout.reference(some), strict=True)


class SortedRows:
    """Pairs in the order that ``walk`` needs: by prefix, then by suffix."""

    def __init__(self, pairs: Sequence[Pair], keys: WordKeys) -> None:
        number_of = {prefix: number for number, prefix in enumerate(dict.fromkeys(b for b, _ in pairs))}
        suffixes = sorted({suffix for _, suffix in pairs})
        rank_of = {suffix: rank for rank, suffix in enumerate(suffixes)}
        prefix = np.array([number_of[b] for b, _ in pairs], dtype=np.int64)
        rank = np.array([rank_of[suffix] for _, suffix in pairs], dtype=np.int64)
        order = np.lexsort((rank, prefix))
        ends = np.append(0, np.cumsum(keys.lengths(suffixes)))
        self.prefixes = list(number_of)
        self.prefix = prefix[order]
        self.words = [pairs[row][0] + pairs[row][1] for row in order.tolist()]
        self.letters = keys.letters(b"".join(suffixes))
        self.starts = ends[:-1][rank[order]]
        self.lengths = np.diff(ends)[rank[order]]

    def parts(self, first: int, last: int, at_most: int) -> Iterator[slice]:
        """The rows of the prefixes ``first`` to ``last - 1``, in slices."""
        start, end = np.searchsorted(self.prefix, [first, last]).tolist()
        for at in range(start, end, at_most):
            yield slice(at, min(at + at_most, end))
