"""Training words for a specification: drawn from a distribution, labelled by the automaton, with both labels present.

Under a distribution of long words many languages are unbalanced: of words with 99 letters, almost none is in (ab)*.
Then words of the rarer label are drawn as the distribution would draw them, given that label and their length, and near
misses of these words are added, since nothing else shows the border of a thin language.
"""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from rnncheck.automata.dfa import DFA
from rnncheck.automata.language import is_empty, is_finite
from rnncheck.automata.minimisation import minimise
from rnncheck.errors import InputError
from rnncheck.probability.distributions import WordDistribution, distribution_over
from rnncheck.training.datasets import LabelledWords, TrainingData, split_positions
from rnncheck.words import Codes, IntArray, WordBatch

# All words up to some length are always training words: short words matter to users, and a sample may miss some.
_SHORT_WORDS = 500
_SHORT_SHARE = 0.1  # the largest share of drawn words that short; with more, too few would be left to measure with
_TABLE_CELLS = 50_000_000  # of the conditioned sampler, 8 bytes each; longer words are cut to what fits


def data_from_automaton(
    dfa: DFA,
    rng: np.random.Generator,
    *,
    distribution: WordDistribution | None = None,
    count: int = 10_000,
    balance: float = 0.3,
    pumped: float = 0.0,
    validation: float = 0.1,
    test: float = 0.1,
) -> TrainingData:
    """Draw about ``count`` words, label them with ``dfa``, and split them.

    Where fewer than the share ``balance`` of the words drawn have one of the labels, words of that label and near
    misses of them take the place of others; the data then notes it. Repetitions are dropped, so there may be fewer
    words than requested.

    ``pumped`` is the share of words to make of a short loop that is repeated to the length drawn, with a few letters
    before and after. Random words have no long runs, so a network may forget in the course of one; these words help.
    """
    if count < 10:
        raise InputError(f"{count} words are too few to train on; give at least 10")
    if not 0.0 <= balance <= 0.5:
        raise InputError(f"balance {balance} is not between 0 and 0.5, the share of the rarer label")
    if not 0.0 <= pumped <= 0.5:
        raise InputError(f"pumped {pumped} is not between 0 and 0.5, the share of words with a repeated loop")
    dfa = minimise(dfa)
    distribution = distribution_over(dfa.alphabet, distribution)
    drawn = list(distribution.sample(rng, count))
    added, notes = _rarer_words(dfa, distribution, rng, drawn, balance)
    repeated = [_pumped(word, rng) for word in drawn[len(drawn) - round(pumped * count) :]]
    drawn[len(drawn) - len(repeated) :] = repeated
    drawn[: len(added)] = added
    all_up_to = _short_length(len(dfa.alphabet), drawn)
    longer = WordBatch.from_codes(dict.fromkeys(word for word in drawn if len(word) > all_up_to))
    answers = dfa.accepts_batch(longer).astype(np.int64)
    parts = split_positions(answers, rng, validation=validation, test=test)
    train, chosen_by, measured_with = (longer.take(part) for part in parts)
    train = WordBatch.from_codes(itertools.chain(_all_words(len(dfa.alphabet), all_up_to), train))
    return TrainingData(
        _labelled(dfa, train),
        _labelled(dfa, chosen_by),
        _labelled(dfa, measured_with),
        target=dfa,
        notes=tuple(notes),
        facts={
            "words": count,
            "balance": balance,
            "pumped": pumped,
            "distribution": distribution.describe(),
            "states": len(dfa),
        },
    )


def _labelled(dfa: DFA, words: WordBatch) -> LabelledWords:
    return LabelledWords(dfa.alphabet, words, dfa.accepts_batch(words).astype(np.int64))


def _rarer_words(
    dfa: DFA, distribution: WordDistribution, rng: np.random.Generator, drawn: list[Codes], balance: float
) -> tuple[list[Codes], list[str]]:
    """Words to replace drawn ones so that both labels occur, and notes about it."""
    accepted = dfa.accepts_batch(WordBatch.from_codes(drawn))
    yes_is_rarer = bool(accepted.mean() < 0.5)
    label, verb = ("yes", "accepts") if yes_is_rarer else ("no", "rejects")
    rarer_language = dfa if yes_is_rarer else dfa.complement()
    share = float((accepted == yes_is_rarer).mean())
    if is_empty(rarer_language):
        return [], [f"the specification {verb} no word: every label is {'no' if yes_is_rarer else 'yes'}"]
    notes = []
    if is_finite(rarer_language):
        notes.append(f"the specification {verb} only finitely many words: few can be labelled {label}")
    # SampleResult words keep their share s of the rarer label, additions are all of it: s (1 - x) + x = balance.
    missing = round(len(drawn) * (balance - share) / (1.0 - share))
    if missing <= 0:
        return [], notes
    lengths = np.array([len(word) for word in drawn[:missing]], dtype=np.int64)
    sampler = ConditionedSampler(rarer_language, distribution, int(lengths.max()))
    if not len(sampler.lengths):
        return [], [*notes, f"no word that the distribution draws is labelled {label}: all drawn have the other label"]
    rarer = list(sampler.sample(rng, lengths))
    near = [_changed(word, len(dfa.alphabet), rng) for word in rarer]
    notes.append(
        f"of the words drawn {share:.2%} are labelled {label}: {len(set(rarer))} more and near misses were added"
    )
    # A near miss may carry either label. At most all drawn words give way.
    return (rarer + near)[: len(drawn)], notes


class ConditionedSampler:
    """Draws words of given lengths as a distribution does, given that an automaton accepts them."""

    def __init__(self, dfa: DFA, distribution: WordDistribution, longest: int) -> None:
        """No word has more than ``longest`` letters."""
        contexts = len(distribution.stopping)
        self._letters = distribution.continuing
        self._contexts = contexts
        table = dfa.transitions.astype(np.int64)
        pairs = len(table) * contexts
        # The pair of state q and context c has the number q · contexts + c.
        self._next = (table[:, None, :] * contexts + distribution.next_context[None, :, :]).reshape(pairs, -1)
        self._start = dfa.initial * contexts
        longest = min(longest, _TABLE_CELLS // pairs)
        # chances[n, p]: up to a factor that depends on n alone, the probability to stop after exactly n more letters
        # in an accepting state.
        self._chances = np.zeros((longest + 1, pairs))
        self._chances[0] = np.outer(dfa.accepting, distribution.stopping).ravel()
        letters = np.tile(self._letters, (len(table), 1))
        live = _reachable(self._next, self._start)
        for n in range(1, longest + 1):
            row = (letters * self._chances[n - 1][self._next]).sum(axis=1) * live
            self._chances[n] = row / (row.max() or 1.0)
        self.lengths: IntArray = np.flatnonzero(self._chances[:, self._start])  # of which there are words at all

    def sample(self, rng: np.random.Generator, lengths: IntArray) -> WordBatch:
        """One word for each length; where no word is that long, one of the nearest length that has any."""
        if not len(self.lengths):
            raise InputError(f"no word of at most {len(self._chances) - 1} letters is accepted and can be drawn")
        lengths = self._nearest(lengths)
        offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        codes = np.empty(offsets[-1], dtype=np.int32)
        rows = np.argsort(-lengths, kind="stable")
        pairs = np.full(len(lengths), self._start)
        for t in range(int(lengths.max(initial=0))):
            rows = rows[: np.count_nonzero(lengths[rows] > t)]
            left = lengths[rows] - t - 1
            successors = self._next[pairs[rows]]
            chances = self._letters[pairs[rows] % self._contexts] * self._chances[left[:, None], successors]
            reached = np.cumsum(chances, axis=1)
            picked = (reached <= rng.random(len(rows))[:, None] * reached[:, -1:]).sum(axis=1)
            codes[offsets[:-1][rows] + t] = picked
            pairs[rows] = successors[np.arange(len(rows)), picked]
        return WordBatch(codes, offsets)

    def _nearest(self, lengths: IntArray) -> IntArray:
        above = np.searchsorted(self.lengths, lengths).clip(max=len(self.lengths) - 1)
        below = (above - 1).clip(min=0)
        nearer_below = np.abs(self.lengths[below] - lengths) <= np.abs(self.lengths[above] - lengths)
        nearest: IntArray = self.lengths[np.where(nearer_below, below, above)]
        return nearest


def _reachable(successors: npt.NDArray[np.int64], start: int) -> npt.NDArray[np.bool_]:
    seen = np.zeros(len(successors), dtype=bool)
    seen[start] = True
    front = np.array([start])
    while len(front):
        front = np.unique(successors[front])
        front = front[~seen[front]]
        seen[front] = True
    return seen


def _changed(word: Codes, letters: int, rng: np.random.Generator) -> Codes:
    """The word with one letter replaced, inserted or left out, or with another beginning."""
    place = int(rng.integers(len(word) + 1))
    letter = int(rng.integers(letters))
    match int(rng.integers(4)):
        case 0:
            return (*word[:place], letter, *word[place:])
        case 1:
            return (*word[:place], letter, *word[place + 1 :])
        case 2:
            return word[:place] + word[place + 1 :]
        case _:
            return (*rng.integers(letters, size=int(rng.integers(1, 4))).tolist(), *word[place:])


def _pumped(word: Codes, rng: np.random.Generator) -> Codes:
    """A word of the same length, and of letters from the word, that repeats a loop of one to three of them."""
    before, loop, after = (int(rng.integers(low, 4)) for low in (0, 1, 0))
    inside = len(word) - before - after
    if inside < loop:
        return word
    repeated = word[before : before + loop] * (inside // loop + 1)
    return word[:before] + repeated[:inside] + word[before + inside :]


def _short_length(letters: int, drawn: list[Codes]) -> int:
    """The length up to which every word is a training word; -1 for none."""
    lengths = np.sort([len(word) for word in drawn])
    length, total, level = -1, 0, 1
    while total + level <= min(_SHORT_WORDS, len(drawn)):
        if np.searchsorted(lengths, length + 1, side="right") > _SHORT_SHARE * len(drawn):
            break
        length, total, level = length + 1, total + level, level * letters
    return length


def _all_words(letters: int, longest: int) -> itertools.chain[Codes]:
    return itertools.chain.from_iterable(
        itertools.product(range(letters), repeat=length) for length in range(longest + 1)
    )
