"""Random words given that they are in a regular language: how a rare language is sampled without waiting for it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rnncheck.automata.dfa import DFA
from rnncheck.errors import InputError
from rnncheck.probability.distributions import Probabilities, WordDistribution
from rnncheck.words import IntArray, WordBatch

_DENSE_PAIRS = 1_500  # up to so many (state, context) pairs one linear solve; above, sums until nothing is added
_NEGLIGIBLE = 1e-14


class ConditionedDistribution:
    """Words of a distribution, drawn from those that an automaton accepts, each as often as it would come there.

    A word is drawn letter by letter. A letter is as likely as in the distribution, times the chance that the word is
    accepted in the end. So every word drawn is in the language, however small its ``mass``.
    """

    def __init__(self, distribution: WordDistribution, dfa: DFA) -> None:
        dfa = dfa.over(distribution.alphabet)
        contexts = len(distribution.stopping)
        pairs = len(dfa) * contexts
        ends = (dfa.accepting[:, None] * distribution.stopping[None, :]).reshape(pairs)
        goes_to = dfa.transitions[:, None, :].astype(np.int64) * contexts + distribution.next_context[None, :, :]
        self._goes_to: IntArray = goes_to.reshape(pairs, -1)
        chance = np.tile(distribution.going_on, (len(dfa), 1))
        accepted = _chances(ends, chance, self._goes_to)
        self._start = dfa.initial * contexts
        self.mass = float(np.clip(accepted[self._start], 0.0, 1.0))
        if self.mass <= 0.0:
            raise InputError("no word of the language has a positive probability, so none can be drawn")
        possible = np.maximum(accepted, np.finfo(np.float64).tiny)[:, None]
        steps = np.hstack([ends[:, None], chance * accepted[self._goes_to]]) / possible
        self._cumulated: Probabilities = np.cumsum(steps, axis=1)
        self._cumulated /= np.maximum(self._cumulated[:, -1:], np.finfo(np.float64).tiny)

    def sample(self, rng: np.random.Generator, count: int) -> WordBatch:
        """Draw ``count`` independent words."""
        rows = np.arange(count)
        at: IntArray = np.full(count, self._start, dtype=np.int64)
        letters: list[npt.NDArray[np.int64]] = []
        owners: list[IntArray] = []
        while len(rows):
            picked = (rng.random(len(rows))[:, None] >= self._cumulated[at]).sum(axis=1)
            going = picked > 0
            rows, codes = rows[going], picked[going] - 1
            at = self._goes_to[at[going], codes]
            letters.append(codes)
            owners.append(rows)
        owner = np.concatenate([*owners, rows[:0]])
        offsets = np.zeros(count + 1, dtype=np.int64)
        np.cumsum(np.bincount(owner, minlength=count), out=offsets[1:])
        flat = np.concatenate([*letters, rows[:0]])
        return WordBatch(flat[np.argsort(owner, kind="stable")], offsets)


def conditioned(distribution: WordDistribution, dfa: DFA) -> ConditionedDistribution | None:
    """The distribution given that a word is in the language; None where no word of it has a positive probability."""
    try:
        return ConditionedDistribution(distribution, dfa)
    except InputError:
        return None


def _chances(ends: Probabilities, chance: Probabilities, goes_to: IntArray) -> Probabilities:
    """For each pair the probability that a word which has come there is accepted."""
    pairs = len(ends)
    if pairs <= _DENSE_PAIRS:
        matrix = np.eye(pairs)
        np.subtract.at(matrix, (np.repeat(np.arange(pairs), goes_to.shape[1]), goes_to.ravel()), chance.ravel())
        return np.asarray(np.maximum(np.linalg.solve(matrix, ends), 0.0))
    accepted = ends.copy()
    while True:
        better = ends + (chance * accepted[goes_to]).sum(axis=1)
        if (better - accepted).max() <= _NEGLIGIBLE:
            return np.asarray(better)
        accepted = better
