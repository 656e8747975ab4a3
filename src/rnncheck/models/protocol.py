"""The interface of models.

Every model answers batches of words. A stateful model also exposes the state between letters, so that words with a
common prefix share its cost. One rule holds for all of them: the answer to a word is a function of the word. Float
arithmetic depends on the shape of a batch, so where a score lies within ``margin`` of the threshold the reference
gives the answer: the model as its owner would call it, on that word alone. :func:`resolve_near_threshold` is that
rule.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from rnncheck.automata.dfa import Mask
from rnncheck.errors import AlphabetError, ModelError, short_repr
from rnncheck.models.fingerprint import digest_of, no_digest
from rnncheck.words import Alphabet, Codes, IntArray, WordBatch, encode_batch

Scores: TypeAlias = npt.NDArray[np.float64]
States: TypeAlias = npt.NDArray[Any]  # one row per word; the model decides what is in it
Letters: TypeAlias = npt.NDArray[np.integer[Any]]
Labeller: TypeAlias = Callable[[WordBatch], IntArray]  # the label of each word, by the reference
Tick: TypeAlias = Callable[[int], None]  # called with the rows of a step before it is computed; raises to stop the run

# The largest difference, relative to the scores, that float arithmetic explains when words are evaluated together.
LARGEST_NOISE = 1e-3
NOISE_FACTOR = 100.0  # other and longer words than those tried may be noisier
BY_REFERENCE = "each word alone, by the reference"
_LETTERS_AT_ONCE = 1 << 20  # bounds the memory for the scores of all prefixes, 8 bytes each


def no_tick(rows: int) -> None:
    """Do nothing: the default."""


class Model(ABC):
    """Accepts or rejects words over an alphabet."""

    alphabet: Alphabet
    max_length: int | None = None  # the longest words that it takes; None: no limit
    label_names: tuple[str, ...] | None = None  # of a model with several labels, one of which accepts
    covers_reference: bool = False  # whether a proof about its network holds for its reference, on every word

    @abstractmethod
    def accepts_batch(self, words: WordBatch | Iterable[Iterable[str]]) -> Mask:
        """One answer per word, in the same order; it does not depend on the other words of the batch."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} over {short_repr(str(self.alphabet))[1:-1]}>"

    def accepts(self, word: Iterable[str]) -> bool:
        """The answer to one word."""
        return bool(self.accepts_batch([word])[0])

    def scores_batch(self, words: WordBatch | Iterable[Iterable[str]]) -> Scores | None:
        """The distance of each word from the threshold, positive if it is accepted; None if there are no scores."""
        return None

    def reference_answer(self, codes: Codes) -> bool:
        """The answer to one word by the reference: the model called as its owner would, on that word alone."""
        return bool(self.accepts_batch(WordBatch.from_codes([codes]))[0])

    def reference_score(self, codes: Codes) -> float | None:
        """The reference's distance from the threshold for one word; None if it has no scores."""
        return None

    @abstractmethod
    def describe(self) -> Mapping[str, Any]:
        """Facts for reports and verdicts: what the model is, and how its queries are answered."""

    def fingerprint(self) -> str:
        """A digest of everything that the answers depend on; a ModelError says why there is none."""
        raise no_digest(f"the code of {type(self).__name__}, which has no method fingerprint of its own")

    def for_label(self, label: int) -> Model:
        """The same model with another accepting label; its states, if it has any, mean the same."""
        raise ModelError(f"this model ({type(self).__name__}) has no labels, and label {label} was requested")

    def by_reference(self) -> Model:
        """The model whose every answer is the reference's; the model itself if its answers are those anyway."""
        return ByReference(self)


class ByReference(Model):
    """A model that queries the reference of another one, one word at a time: slow, and decisive."""

    def __init__(self, inner: Model) -> None:
        self.inner = inner
        self.alphabet, self.max_length = inner.alphabet, inner.max_length

    def accepts_batch(self, words: WordBatch | Iterable[Iterable[str]]) -> Mask:
        batch = encode_batch(self.alphabet, words)
        return np.fromiter(map(self.inner.reference_answer, batch), dtype=np.bool_, count=len(batch))

    def reference_answer(self, codes: Codes) -> bool:
        return self.inner.reference_answer(codes)

    def describe(self) -> Mapping[str, Any]:
        return {**self.inner.describe(), "queries": f"black box, {BY_REFERENCE}"}

    def fingerprint(self) -> str:
        return digest_of("by reference", self.inner.fingerprint())

    def by_reference(self) -> Model:
        return self


class SteppingModel(Model):
    """A stateful model: its state after a prefix can be kept and continued from.

    States are arrays with one row per word. The empty word may be defined apart from the initial state, so its answer
    is never read off states: use ``accepts_empty`` and ``empty_score``.
    """

    margin: float  # the reference gives the answer where the score is at most this far from 0
    accepts_empty: bool
    empty_score: float

    @abstractmethod
    def initial(self, rows: int) -> States:
        """The state before any letter, ``rows`` times."""

    @abstractmethod
    def step(self, states: States, letters: Letters, rows: IntArray | None = None) -> States:
        """The states after one more letter each. ``states`` is not changed.

        Letter ``i`` is read in state ``i``, or in state ``rows[i]`` if ``rows`` is given: then a state may be
        continued by several letters, or by none.
        """

    @abstractmethod
    def scores(self, states: States) -> Scores:
        """The score of each state; a word of at least one letter is accepted where it is positive.

        Scores are not yet answers: :func:`resolve_near_threshold` turns them into answers.
        """

    @abstractmethod
    def reference_answer(self, codes: Codes) -> bool:
        """The answer to one word by the reference: the model called as its owner would, on that word alone."""

    def reference_answers_along(self, codes: Codes) -> list[bool]:
        """The reference's answers after each letter of one word."""
        return [self.reference_answer(codes[: end + 1]) for end in range(len(codes))]

    def labeller(self, *, together: bool = False) -> Labeller | None:
        """A function that labels words of at least one letter by the reference, all labels from one call.

        With ``together`` words of one length may share a call, and those with an ambiguous label are evaluated alone.
        None if the reference has to be queried for each label separately.
        """
        return None

    def prefix_scores(self, words: WordBatch, tick: Tick = no_tick) -> Scores:
        """The score after every letter of every word, aligned with ``words.codes``."""
        words.check_codes(len(self.alphabet))
        out = np.empty(len(words.codes), dtype=np.float64)
        states = self.initial(len(words))
        for at in letters_in_step(words.offsets[:-1], words.lengths):
            tick(len(at))
            states = self.step(states[: len(at)], words.codes[at])
            out[at] = self.scores(states)
        return out

    def scores_batch(self, words: WordBatch | Iterable[Iterable[str]]) -> Scores:
        """The distance of each word from the threshold, positive if it is accepted."""
        batch = encode_batch(self.alphabet, words)
        scores = np.full(len(batch), self.empty_score, dtype=np.float64)
        for start, end in slices_within(batch.offsets, _LETTERS_AT_ONCE):
            part = batch.take(np.arange(start, end))
            filled = part.lengths > 0
            scores[start:end][filled] = self.prefix_scores(part)[part.offsets[1:][filled] - 1]
        return scores

    def accepts_batch(self, words: WordBatch | Iterable[Iterable[str]]) -> Mask:
        """One answer per word, in the same order; it does not depend on the other words of the batch."""
        batch = encode_batch(self.alphabet, words)
        answers = np.full(len(batch), self.accepts_empty, dtype=np.bool_)
        filled = np.flatnonzero(batch.lengths)
        scores = self.scores_batch(batch)[filled]
        answers[filled] = resolve_near_threshold(
            scores, self.margin, lambda i: batch[int(filled[i])], self.reference_answer
        )
        return answers


def check_letters(letters: Letters, alphabet: Alphabet) -> None:
    """Raise an AlphabetError for letter positions outside the alphabet."""
    if len(letters) and not (np.minimum.reduce(letters) >= 0 and np.maximum.reduce(letters) < len(alphabet)):
        raise AlphabetError(
            f"letter positions from {letters.min()} to {letters.max()} were given, "
            f"but the alphabet has {len(alphabet)} letters, 0 to {len(alphabet) - 1}"
        )


def resolve_near_threshold(
    scores: Scores, margin: float, word_at: Callable[[int], Codes], reference: Callable[[Codes], bool]
) -> Mask:
    """The answers that scores give: by their sign, or by the reference if they are too small to be trusted.

    A score that is not a finite number is no answer either, so the reference is queried (and raises an error if its
    own outputs are not finite). ``word_at(i)`` is the word of score ``i``.
    """
    answers = scores > 0.0
    for i in np.flatnonzero(near_threshold(scores, margin)).tolist():
        answers[i] = reference(word_at(i))
    return answers


def near_threshold(scores: Scores, margin: float) -> Mask:
    """Where a score is ambiguous: within the margin, or not a finite number."""
    return ~(np.abs(scores) > margin) | np.isinf(scores)


def letters_in_step(starts: IntArray, lengths: IntArray) -> Iterator[IntArray]:
    """Positions of the first letters of words, then of the second letters, and so on.

    A word has ``lengths[i]`` letters from position ``starts[i]`` on. Longer words stand first, so each yield is at
    most as long as the one before, and its rows are the first rows of the one before: a batch of states shrinks as
    words end, and no row does idle work.
    """
    longest_first = starts[np.argsort(-lengths, kind="stable")]
    running = len(lengths) - np.cumsum(np.bincount(lengths, minlength=1))  # running[t]: words longer than t
    for t, count in enumerate(running[:-1].tolist()):
        yield longest_first[:count] + t


def slices_within(offsets: IntArray, limit: int) -> Iterator[tuple[int, int]]:
    """Split items that end at ``offsets[1:]`` into runs of at most ``limit`` in total (or of one larger item)."""
    start = 0
    while start < len(offsets) - 1:
        end = int(np.searchsorted(offsets, offsets[start] + limit, side="right")) - 1
        end = max(start + 1, end)
        yield start, end
        start = end
