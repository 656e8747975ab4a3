"""Words of a finite language, drawn with equal chances."""

from __future__ import annotations

import numpy as np

from rnncheck.automata.dfa import DFA
from rnncheck.automata.minimisation import coreachable
from rnncheck.words import WordBatch


class UniformWords:
    """All words of a finite language, each as likely as any other. ``count`` is their number."""

    def __init__(self, language: DFA) -> None:
        self._language = language
        live = coreachable(language)
        words = language.accepting.astype(np.float64)
        while True:  # as often as the longest word has letters
            more = language.accepting + np.where(live[language.transitions], words[language.transitions], 0.0).sum(
                axis=1
            )
            if np.array_equal(more, words):
                break
            words = more
        self._words = words
        self.count = float(words[language.initial])

    def sample(self, rng: np.random.Generator, count: int) -> WordBatch:
        """Independent random words."""
        table, words = self._language.transitions, self._words
        states = np.full(count, self._language.initial)
        rows = np.arange(count)
        columns: list[tuple[np.ndarray, np.ndarray]] = []
        while len(rows):
            shares = np.hstack([self._language.accepting[states, None], words[table[states]]])  # to stop, or a letter
            chosen = (rng.random(len(rows))[:, None] * shares.sum(axis=1)[:, None] >= shares.cumsum(axis=1)).sum(axis=1)
            goes_on = chosen > 0
            rows, letters = rows[goes_on], chosen[goes_on] - 1
            states = table[states[goes_on], letters]
            columns.append((rows, letters))
        return _batch(count, columns)


def _batch(count: int, columns: list[tuple[np.ndarray, np.ndarray]]) -> WordBatch:
    """Words from their letters, one column of them after the other."""
    lengths = np.zeros(count, dtype=np.int64)
    for rows, _ in columns:
        lengths[rows] += 1
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    codes = np.zeros(offsets[-1], dtype=np.int64)
    for place, (rows, letters) in enumerate(columns):
        codes[offsets[rows] + place] = letters
    return WordBatch(codes, offsets)
