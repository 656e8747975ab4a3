"""A cache of computed scores, for many verifications of one network.

Samples and comparisons of several verifications mostly use the same words. Only the computing is saved: a cached step
is counted and charged to the budget like any other, so no verdict and no count depends on a cache.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from rnncheck.models.protocol import Letters, Scores, States, Tick
from rnncheck.words import WordBatch

_MOST_BYTES = 1 << 27  # the most that each cache holds; further scores are computed again


class ScoreCache:
    """The scores along whole words. They may differ in their last bits from those of another batch; answers do not."""

    def __init__(self) -> None:
        self._known: dict[bytes, Scores] = {}
        self._bytes = 0

    def scores(self, words: WordBatch, tick: Tick, compute: Callable[[WordBatch, Tick], Scores]) -> Scores:
        """The score after every letter of every word, aligned with ``words.codes``."""
        codes, offsets = np.ascontiguousarray(words.codes), words.offsets.tolist()
        keys = [codes[start:end].tobytes() for start, end in itertools.pairwise(offsets)]
        missing = [row for row, key in enumerate(keys) if key not in self._known]
        fresh = words.take(np.array(missing, dtype=np.int64))
        tick(len(words.codes) - len(fresh.codes))
        computed = compute(fresh, tick)
        out = np.empty(len(words.codes), dtype=np.float64)
        for row, key in enumerate(keys):
            if key in self._known:
                out[offsets[row] : offsets[row + 1]] = self._known[key]
        for nth, row in enumerate(missing):
            found = computed[fresh.offsets[nth] : fresh.offsets[nth + 1]]
            out[offsets[row] : offsets[row + 1]] = found
            self._keep(keys[row], found)
        return out

    def _keep(self, key: bytes, scores: Scores) -> None:
        if self._bytes < _MOST_BYTES:
            self._known[key] = scores.copy()
            self._bytes += len(key) + scores.nbytes


class StepCache:
    """The steps of a reference, which computes each row by itself: the same state and letter give the same bits."""

    def __init__(self) -> None:
        self._known: dict[bytes, bytes] = {}
        self._bytes = 0

    def step(self, states: States, letters: Letters, compute: Callable[[States, Letters], States]) -> States:
        """The states after the letters."""
        if not len(states):
            return compute(states, letters)
        letter_bytes = np.ascontiguousarray(letters, dtype="<i8").view(np.uint8).reshape(len(letters), -1)
        joined = np.concatenate([np.ascontiguousarray(states).view(np.uint8), letter_bytes], axis=1)
        width, whole = joined.shape[1], joined.tobytes()
        keys = [whole[start : start + width] for start in range(0, len(whole), width)]
        missing = [row for row, key in enumerate(keys) if key not in self._known]
        after = np.empty(states.shape, dtype=states.dtype)
        if missing:
            after[missing] = compute(states[missing], letters[missing])
        if len(missing) < len(keys):
            rows = np.setdiff1d(np.arange(len(keys)), missing)
            known = b"".join(self._known[keys[row]] for row in rows.tolist())
            after[rows] = np.frombuffer(known, dtype=states.dtype).reshape(len(rows), -1)
        for row in missing:
            if self._bytes < _MOST_BYTES:
                self._known[keys[row]] = after[row].tobytes()
                self._bytes += 2 * width
        return after


@dataclass(frozen=True)
class ReferenceCache:
    """The cached results of a reference: whole words, and steps."""

    words: ScoreCache = field(default_factory=ScoreCache)
    steps: StepCache = field(default_factory=StepCache)
