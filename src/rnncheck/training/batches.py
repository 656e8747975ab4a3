"""Words as rectangles of letters and answers, with little padding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from rnncheck.automata.dfa import DFA
from rnncheck.training.datasets import LabelledWords, TrainingData
from rnncheck.words import IntArray, WordBatch

Hashes: TypeAlias = npt.NDArray[np.uint64]
Floats: TypeAlias = npt.NDArray[np.float32]

UNKNOWN = -1  # the answer of a position that is not trained on
_LARGEST_WEIGHT = 20  # relative to the weight of a single label
_POOL = 32  # the number of batches whose shuffled words are sorted by length together, to leave little padding


@dataclass(frozen=True, eq=False)
class Batch:
    """``letters[t, i]``: letter t of word i, 0 after its end. ``answers[t, i]``: the answer to its first t letters."""

    letters: IntArray  # T × words
    answers: IntArray  # T + 1 × words
    weights: Floats | None = None  # how much each word counts, 1 on average; None: 1


@dataclass(frozen=True, eq=False)
class Stage:
    """Words, and an answer to each of their prefixes: of word i, ``answers[starts[i] + t]`` after t letters.

    ``every_prefix`` says whether a word may be cut: then its first letters are as good a stage as the whole.
    ``times`` is how often each word counts; None means once.
    """

    words: WordBatch
    answers: IntArray
    every_prefix: bool
    times: IntArray | None = None

    @property
    def starts(self) -> IntArray:
        starts: IntArray = self.words.offsets[:-1] + np.arange(len(self.words))
        return starts

    def label_weights(self, labels: int, chosen: Floats | None = None) -> Floats:
        """The weight of an answer with each label, 1 on average: as chosen, in proportion, or else balanced.

        Balanced weights are larger for rare labels, so that none is ignored.
        """
        lengths = self.words.lengths
        counted = None if self.times is None else np.repeat(self.times, lengths + 1)[self.answers != UNKNOWN]
        known = np.bincount(self.answers[self.answers != UNKNOWN], weights=counted, minlength=labels)
        weights = known.sum() / np.maximum(known, known.sum() / _LARGEST_WEIGHT) if chosen is None else chosen
        normalised: Floats = (weights * known.sum() / (weights * known).sum()).astype(np.float32)
        return normalised

    def thinned(self, rng: np.random.Generator, prefixes: int) -> Stage:
        """Whole words: the words, and ``prefixes`` random prefixes of each with a known answer, without repetitions.

        A model that evaluates each prefix separately is faster on words of one length than on all prefixes.
        """
        lengths = self.words.lengths
        ends = [lengths, *(rng.random((prefixes, len(lengths))) * (lengths + 1)).astype(np.int64)]
        found = {
            word[:end]: answer
            for some in ends
            for word, end, answer in zip(
                self.words, some.tolist(), self.answers[self.starts + some].tolist(), strict=True
            )
            if answer != UNKNOWN
        }
        return _whole_words(WordBatch.from_codes(list(found)), np.array(list(found.values()), dtype=np.int64))

    def usable(self, longest: int) -> IntArray:
        """The positions of the words to use when none may have more than ``longest`` letters."""
        if self.every_prefix:
            return np.arange(len(self.words))
        return np.flatnonzero(self.words.lengths <= longest)

    def shuffled_batches(self, rng: np.random.Generator, size: int, longest: int) -> Iterator[Batch]:
        """The usable words in random order, cut where they may be, words of similar length together."""
        lengths = np.minimum(self.words.lengths, longest)
        order = rng.permutation(self.usable(longest))
        pools = np.split(order, range(_POOL * size, len(order), _POOL * size))
        order = np.concatenate([pool[np.argsort(lengths[pool], kind="stable")] for pool in pools])
        groups = np.split(order, range(size, len(order), size))
        for number in rng.permutation(len(groups)):
            yield self.batch(groups[number], longest)

    def sorted_batches(self, size: int) -> Iterator[tuple[IntArray, Batch]]:
        """All words, whole, shortest first, each batch with the positions of its words."""
        order = np.argsort(self.words.lengths, kind="stable")
        for rows in np.split(order, range(size, len(order), size)):
            yield rows, self.batch(rows)

    def batch(self, rows: IntArray, longest: int | None = None) -> Batch:
        """The words at these positions as a rectangle; no more than the first ``longest`` letters of each."""
        lengths = self.words.lengths[rows]
        if longest is not None:
            lengths = np.minimum(lengths, longest)
        times = np.arange(int(lengths.max()) + 1)[:, None]
        inside = times < lengths
        letters = np.zeros(inside[:-1].shape, dtype=np.int64)
        letters[inside[:-1]] = self.words.codes[(self.words.offsets[rows] + times)[inside]]
        known = times <= lengths
        answers = np.full(known.shape, UNKNOWN, dtype=np.int64)
        answers[known] = self.answers[(self.starts[rows] + times)[known]]
        if self.times is None:
            return Batch(letters, answers)
        return Batch(letters, answers, (self.times[rows] / self.times.mean()).astype(np.float32))


def training_stage(data: TrainingData) -> Stage:
    """The answers to learn from the training words: at each known prefix that is not held out, or at whole words."""
    if data.target is None:
        return (
            whole_word_stage(data.train) if data.train.times is None else _counted_stage(data.train, data.train.times)
        )
    answers = prefix_answers(data.target, data.train.words)
    held_out = np.concatenate([_word_hashes(part.words) for part in (data.validation, data.test)])
    # A chance collision of these 64-bit hashes would only keep one more prefix out of the stage.
    answers[np.isin(_prefix_hashes(data.train.words), held_out)] = UNKNOWN
    return Stage(data.train.words, answers, every_prefix=True)


def whole_word_stage(words: LabelledWords) -> Stage:
    """The answers to whole words."""
    return _whole_words(words.words, words.answers)


def _whole_words(words: WordBatch, answers: IntArray, times: IntArray | None = None) -> Stage:
    placed = np.full(len(words.codes) + len(words), UNKNOWN, dtype=np.int64)
    placed[words.offsets[1:] + np.arange(len(words))] = answers
    return Stage(words, placed, every_prefix=False, times=times)


def _counted_stage(words: LabelledWords, times: IntArray) -> Stage:
    """The answers to whole words, each word with each of its labels as often as it has it."""
    rows, answers = np.nonzero(times)
    return _whole_words(words.words.take(rows), answers, times[rows, answers])


def prefix_answers(dfa: DFA, words: WordBatch) -> IntArray:
    """0 or 1 for each prefix of each word, the empty one first: whether ``dfa`` accepts it."""
    states = np.full(len(words.codes) + len(words), dfa.initial, dtype=np.int64)
    for before, after, codes in _steps(words):
        states[after] = dfa.transitions[states[before], codes]
    return dfa.accepting[states].astype(np.int64)


def among_prefixes(words: WordBatch, trained: WordBatch) -> npt.NDArray[np.bool_]:
    """Which words are prefixes of training words (a chance collision of 64 bits may name one more)."""
    return np.isin(_word_hashes(words), _prefix_hashes(trained))


def _prefix_hashes(words: WordBatch) -> Hashes:
    hashes = np.ones(len(words.codes) + len(words), dtype=np.uint64)
    for before, after, codes in _steps(words):
        mixed = (hashes[before] ^ (hashes[before] >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        hashes[after] = mixed + (codes.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    return hashes


def _word_hashes(words: WordBatch) -> Hashes:
    ends = words.offsets[1:] + np.arange(len(words))
    whole: Hashes = _prefix_hashes(words)[ends]
    return whole


def _steps(words: WordBatch) -> Iterator[tuple[IntArray, IntArray, npt.NDArray[np.int32]]]:
    """Letter by letter for all words at once: positions before and after the letter, and the letters."""
    lengths = words.lengths
    order = np.argsort(-lengths, kind="stable")
    starts = words.offsets[:-1] + np.arange(len(words))
    for t in range(int(lengths.max(initial=0))):
        order = order[: np.count_nonzero(lengths[order] > t)]
        yield starts[order] + t, starts[order] + t + 1, words.codes[words.offsets[order] + t]
