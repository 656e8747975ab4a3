"""Distributions of random words, and the probability of a language under them.

Every distribution is a Markov chain over contexts: in a context the word stops, or continues with a letter that leads
to the next context. Independent letters need one context; an n-gram model has one for each history in its data.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Self

import numpy as np
import numpy.typing as npt

from rnncheck.automata.dfa import DFA, Table
from rnncheck.errors import InputError, WrongTypeError, short_repr
from rnncheck.probability.expected import Probabilities, expected_rewards
from rnncheck.words import Alphabet, Codes, IntArray, WordBatch, encode_batch

# Words of a million letters on average: longer ones no longer fit in memory, nor 1 − stop in a float without loss.
_LEAST_STOP = 1e-6
_START = -1  # stands before the first letter in histories


class WordDistribution:
    """Random words over an alphabet.

    ``WordDistribution(alphabet)`` is the paper's: independent letters, uniform unless ``weights`` say otherwise, and
    after each letter the word stops with probability ``stop``, so P(w) = p_a1 ⋯ p_an · (1 − stop)^n · stop and the
    mean length is 1/stop − 1. ``WordDistribution.fit`` learns an n-gram model from words.

    ``continuing[c, a]`` is the probability of letter a in context c, ``stopping[c]`` that of the end.
    """

    def __init__(
        self,
        alphabet: Alphabet,
        weights: Mapping[str, float] | Sequence[float] | None = None,
        stop: float = 0.01,
    ) -> None:
        if not _LEAST_STOP <= stop <= 1.0:
            raise InputError(
                f"stop probability {stop} is not between {_LEAST_STOP} and 1; the mean length is 1/stop − 1"
            )
        letters = _normalised(alphabet, weights)
        self.alphabet = alphabet
        self.continuing: Probabilities = (1.0 - stop) * letters[None, :]
        self.stopping: Probabilities = np.array([stop])
        self.next_context: Table = np.zeros((1, len(alphabet)), dtype=np.int32)
        self._facts: dict[str, object] = {
            "kind": "independent letters",
            "stop": stop,
            "weights": "uniform" if weights is None else dict(zip(alphabet, letters.tolist(), strict=True)),
        }

    def __repr__(self) -> str:
        facts = ", ".join(f"{name} {short_repr(value)}" for name, value in self._facts.items() if name != "kind")
        return f"<{type(self).__name__} over {short_repr(str(self.alphabet))[1:-1]}: {self._facts['kind']}, {facts}>"

    @classmethod
    def fit(
        cls,
        alphabet: Alphabet,
        words: WordBatch | Iterable[Iterable[str]],
        *,
        order: int = 2,
        smoothing: float = 0.5,
    ) -> Self:
        """An n-gram model of ``order`` n: the next letter, or the end, depends on the last n − 1 letters.

        The start of the word counts as a letter there, so first letters, and empty words, are as frequent as given.
        Counts are smoothed towards the next shorter history, and finally towards the uniform choice among all letters
        and the end, each with ``smoothing`` extra observations: every word keeps a positive probability.
        """
        if order < 1:
            raise InputError(f"order {order} of an n-gram model is below 1; 1 ignores history, 2 looks at one letter")
        if not 0.0 < smoothing < np.inf:
            raise InputError(f"smoothing {smoothing} is not positive and finite; 0 would make unseen words impossible")
        batch = encode_batch(alphabet, words)
        if not len(batch):
            raise InputError("an n-gram model needs at least one word to learn from")
        chances = _smoothed(_history_counts(batch, order, len(alphabet) + 1), smoothing)
        # Context 0 is where words begin.
        start = (_START,) if order > 1 else ()
        histories = [start, *(history for history in chances if history != start)]
        rows = np.array([chances[history] for history in histories])
        digest = hashlib.sha256(batch.codes.tobytes() + batch.offsets.tobytes())
        return cls.of_contexts(
            alphabet,
            continuing=rows[:, :-1],
            stopping=rows[:, -1],
            next_context=_next_histories(histories, order, len(alphabet)),
            facts={
                "kind": "n-gram",
                "order": order,
                "smoothing": smoothing,
                "words": len(batch),
                "words_sha256": digest.hexdigest(),
            },
        )

    @classmethod
    def of_contexts(
        cls,
        alphabet: Alphabet,
        *,
        continuing: Probabilities,
        stopping: Probabilities,
        next_context: npt.NDArray[np.integer],
        facts: Mapping[str, object],
    ) -> Self:
        """The distribution of a Markov chain that begins in context 0; ``facts`` name it in a verdict."""
        model = cls(alphabet)
        model.continuing, model.stopping, model.next_context = continuing, stopping, next_context.astype(np.int32)
        model._facts = dict(facts)
        return model

    def over(self, alphabet: Alphabet) -> Self:
        """The same distribution with its letters in the order of ``alphabet``, which must have the same letters."""
        if alphabet == self.alphabet:
            return self
        if set(alphabet) != set(self.alphabet):
            odd = sorted(set(alphabet) ^ set(self.alphabet))[0]
            raise InputError(
                f"the distribution draws words over other letters than the model's: {short_repr(odd)} is in only one "
                "of the two alphabets; make the distribution for the model's alphabet"
            )
        columns = [self.alphabet.index(letter) for letter in alphabet]
        return self.of_contexts(
            alphabet,
            continuing=self.continuing[:, columns],
            stopping=self.stopping,
            next_context=self.next_context[:, columns],
            facts=self._facts,
        )

    def describe(self) -> dict[str, object]:
        """The facts that name this distribution in a verdict."""
        return dict(self._facts)

    def sample(self, rng: np.random.Generator, count: int) -> WordBatch:
        """Draw ``count`` independent words."""
        if count < 0:
            raise InputError(f"{count} words cannot be drawn; give 0 or more")
        if len(self.stopping) == 1:
            return self._sample_independent(rng, count)
        chances = self._chances
        rows = np.arange(count)
        contexts = np.zeros(count, dtype=np.int32)
        who: list[npt.NDArray[np.int64]] = [rows[:0]]
        what: list[npt.NDArray[np.int64]] = [rows[:0]]
        while len(rows):
            choice = _places(chances, contexts, rng.random(len(rows)))
            going = choice > 0
            rows, letters = rows[going], choice[going] - 1
            contexts = self.next_context[contexts[going], letters]
            who.append(rows)
            what.append(letters)
        owner = np.concatenate(who)
        offsets = np.zeros(count + 1, dtype=np.int64)
        np.cumsum(np.bincount(owner, minlength=count), out=offsets[1:])
        # A stable sort by owner puts each word's letters side by side, still in the order drawn.
        return WordBatch(np.concatenate(what)[np.argsort(owner, kind="stable")], offsets)

    @functools.cached_property
    def _chances(self) -> Probabilities:
        """In each context: to stop, or to stop or go on with one of the first letters. What is impossible adds 0."""
        chances = np.cumsum(np.hstack([self.stopping[:, None], self.continuing]), axis=1)
        return _padded(chances / chances[:, -1:])

    def _sample_independent(self, rng: np.random.Generator, count: int) -> WordBatch:
        offsets = np.zeros(count + 1, dtype=np.int64)
        np.cumsum(rng.geometric(self.stopping[0], size=count) - 1, out=offsets[1:])
        total = int(offsets[-1])
        if (self.continuing == self.continuing[0, 0]).all():
            return WordBatch(rng.integers(len(self.alphabet), size=total, dtype=np.int32), offsets)
        chances = np.cumsum(self.continuing[0])
        codes = np.searchsorted(chances[:-1], rng.random(total) * chances[-1], side="right")
        return WordBatch(codes, offsets)

    def probability(self, codes: Codes) -> float:
        """The probability of exactly this word."""
        context, chance = 0, 1.0
        for code in codes:
            chance *= float(self.continuing[context, code])
            context = int(self.next_context[context, code])
        return chance * float(self.stopping[context])

    def mean_length(self) -> float:
        """The expected number of letters of a word."""
        return float(
            expected_rewards(self.next_context, self.continuing, self.stopping, self.continuing.sum(axis=1))[0]
        )

    def mass(self, dfa: DFA) -> float:
        """The probability that a random word is in the language of ``dfa``; exact even if tiny."""
        beside = BesideAutomaton(self, dfa)
        return float(min(1.0, beside.accepted[beside.start]))


def distribution_over(alphabet: Alphabet, given: WordDistribution | None) -> WordDistribution:
    """The given distribution over an alphabet; without one, the default.

    Claims need exact probabilities, not only samples, so an object that only draws words is not accepted.
    """
    if given is None:
        return WordDistribution(alphabet)
    if not isinstance(given, WordDistribution):
        raise WrongTypeError(
            f"distribution={short_repr(given)} is a {type(given).__name__}; give a WordDistribution, or draw words and "
            "fit one to them: WordDistribution.fit(alphabet, words)"
        )
    return given.over(alphabet)


class BesideAutomaton:
    """The product of a distribution and an automaton.

    Pairs of a state and a context are numbered ``state · contexts + context``. ``accepted`` is the probability, for
    each pair, that a word which has reached it is accepted in the end.
    """

    def __init__(self, distribution: WordDistribution, dfa: DFA) -> None:
        dfa = dfa.over(distribution.alphabet)
        contexts = len(distribution.stopping)
        pairs = len(dfa) * contexts
        self.start = dfa.initial * contexts
        goes_to = dfa.transitions[:, None, :].astype(np.int64) * contexts + distribution.next_context[None, :, :]
        self.goes_to: IntArray = goes_to.reshape(pairs, -1)
        self.chance: Probabilities = np.tile(distribution.continuing, (len(dfa), 1))
        stops = np.tile(distribution.stopping, len(dfa))
        self.accepted_here: Probabilities = np.where(np.repeat(dfa.accepting, contexts), stops, 0.0)
        self.accepted = expected_rewards(self.goes_to, self.chance, stops, self.accepted_here)


def _padded(table: Probabilities) -> Probabilities:
    """Pad rows to 2ᵏ − 1 numbers, for the bisection of ``_places``."""
    wide = (1 << table.shape[1].bit_length()) - 1
    return np.pad(table, ((0, 0), (0, wide - table.shape[1])), constant_values=np.inf)


def _places(padded: Probabilities, rows: npt.NDArray[np.integer], values: Probabilities) -> IntArray:
    """For each value the count of numbers in its nondecreasing row that are not larger, by bisection without copies."""
    flat, before = padded.ravel(), rows * np.int64(padded.shape[1]) - 1
    found: IntArray = np.zeros(len(values), dtype=np.int64)
    step = (padded.shape[1] + 1) // 2
    while step:
        found += step * (values >= flat[before + found + step])
        step //= 2
    return found


def _normalised(alphabet: Alphabet, weights: Mapping[str, float] | Sequence[float] | None) -> Probabilities:
    if weights is None:
        return np.full(len(alphabet), 1.0 / len(alphabet))
    given: object = weights
    if isinstance(weights, Mapping):
        for letter in weights:
            alphabet.index(letter)
        missing = [letter for letter in alphabet if letter not in weights]
        if missing:
            raise InputError(
                f"{len(missing)} of {len(alphabet)} letters have no weight, {short_repr(missing[0])} among them; name "
                "every letter, or give all others one (--weights '…,*=1', dict.fromkeys(alphabet, 1.0) | weights)"
            )
        given = [weights[letter] for letter in alphabet]
    try:
        values = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"letter weights {short_repr(given)} are not numbers") from None
    if values.shape != (len(alphabet),):
        raise InputError(
            f"{values.size} weights for {len(alphabet)} letters; give one per letter, or a mapping by letter"
        )
    if not np.isfinite(values).all() or (values < 0).any() or not values.any():
        raise InputError(f"letter weights {short_repr(values.tolist())} must be at least 0, finite, and not all 0")
    values /= values.max()  # so that the sum cannot overflow
    normalised: Probabilities = values / values.sum()
    return normalised


def _history_counts(batch: WordBatch, order: int, outcomes: int) -> dict[Codes, Probabilities]:
    """For every history of fewer than ``order`` letters that occurs, shortest first, how often each outcome follows."""
    seen: dict[Codes, dict[int, int]] = {}
    for word in batch:
        letters = (_START, *word)
        for end, outcome in enumerate((*word, outcomes - 1), start=1):
            for back in range(min(order - 1, end) + 1):
                following = seen.setdefault(letters[end - back : end], {})
                following[outcome] = following.get(outcome, 0) + 1
    counts = {history: np.zeros(outcomes) for history in sorted(seen, key=lambda history: (len(history), history))}
    for history, row in counts.items():
        row[list(seen[history])] = list(seen[history].values())
    return counts


def _smoothed(counts: dict[Codes, Probabilities], smoothing: float) -> dict[Codes, Probabilities]:
    """The probability of each outcome after each history; shorter histories must come first."""
    chances: dict[Codes, Probabilities] = {}
    for history, row in counts.items():
        prior = chances[history[1:]] if history else np.full(len(row), 1.0 / len(row))
        chances[history] = (row + smoothing * prior) / (row.sum() + smoothing)
    return chances


def _next_histories(histories: list[Codes], order: int, letters: int) -> Table:
    """After a history and a letter, the longest known history that the new one ends with."""
    number = {history: row for row, history in enumerate(histories)}
    table = np.zeros((len(histories), letters), dtype=np.int32)
    for row, history in enumerate(histories):
        for letter in range(letters):
            longer = (*history, letter)[-(order - 1) :] if order > 1 else ()
            while longer not in number:
                longer = longer[1:]
            table[row, letter] = number[longer]
    return table
