"""What a model is to the rest of rnncheck.

Every model answers batches of words. A stepping model also exposes the state between letters, so that words with a
common prefix share its cost. One rule holds for all of them: the answer to a word is a function of the word. Float
arithmetic depends on the shape of a batch, so an answer whose score lies within ``margin`` of the decision is
given by its reference: the model as its owner would call it, on that word alone. That rule is
:func:`resolve_near_threshold`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from rnncheck.automata.dfa import Mask
from rnncheck.errors import AlphabetError, ModelError, short_repr
from rnncheck.models.fingerprint import digest_of, without_digest
from rnncheck.words import Alphabet, Codes, IntArray, WordBatch, encode_batch

Scores: TypeAlias = npt.NDArray[np.float64]
States: TypeAlias = npt.NDArray[Any]  # one row per word, of whatever the model keeps between letters
Letters: TypeAlias = npt.NDArray[np.integer[Any]]
Labeller: TypeAlias = Callable[[WordBatch], IntArray]  # the label of each word, all asked by the reference
Tick: TypeAlias = Callable[[int], None]  # told the rows of a step before it is computed; raises to stop the run

# What float arithmetic may change when words are asked together, relative to the scores; more is no noise.
LARGEST_NOISE = 1e-3
NOISE_FACTOR = 100.0  # other and longer words than those tried may be noisier
BY_REFERENCE = "each word alone, by the reference"
_LETTERS_AT_ONCE = 1 << 20  # bounds the memory for the scores of all prefixes, 8 bytes each


def no_tick(rows: int) -> None:
    """Watch nothing: the silent default."""


class Model(ABC):
    """Says yes or no to words over an alphabet."""

    alphabet: Alphabet
    max_length: int | None = None  # of the words that it takes, where it does not take all
    label_names: tuple[str, ...] | None = None  # where it says one of several labels, and one of them means yes
    covers_reference: bool = False  # whether what is proved of its network holds for its reference, whatever the word

    @abstractmethod
    def accepts_batch(self, words: WordBatch | Iterable[Iterable[str]]) -> Mask:
        """One answer per word, in the same order; the same answer whatever else is in the batch."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} over {short_repr(str(self.alphabet))[1:-1]}>"

    def accepts(self, word: Iterable[str]) -> bool:
        """The answer to one word."""
        return bool(self.accepts_batch([word])[0])

    def scores_batch(self, words: WordBatch | Iterable[Iterable[str]]) -> Scores | None:
        """How far each word is from the decision, positive on the accepting side; None where there is no score."""
        return None

    def reference_answer(self, codes: Codes) -> bool:
        """The answer to one word by the model's reference: called as its owner would, on that word alone."""
        return bool(self.accepts_batch(WordBatch.from_codes([codes]))[0])

    def reference_score(self, codes: Codes) -> float | None:
        """How far the reference is from its decision about a word; None where it does not say."""
        return None

    @abstractmethod
    def describe(self) -> Mapping[str, Any]:
        """Facts for people and for verdicts: what it is, and how its queries are answered."""

    def identity(self) -> str:
        """A digest of everything that the answers depend on; a ModelError says why there is none."""
        raise without_digest(f"the code of {type(self).__name__}, which has no method identity of its own")

    def saying_yes_for(self, label: int) -> Model:
        """The same model with another of its labels meaning yes; its states, where it has states, mean the same."""
        raise ModelError(f"this model ({type(self).__name__}) answers yes or no alone, and label {label} was asked for")

    def by_reference(self) -> Model:
        """The model whose every answer is the reference's; the model itself where that is what it gives anyway."""
        return ByReference(self)


class ByReference(Model):
    """A model that asks another one's reference, one word at a time: slow, and what the other is judged by."""

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

    def identity(self) -> str:
        return digest_of("by reference", self.inner.identity())

    def by_reference(self) -> Model:
        return self


class SteppingModel(Model):
    """A model whose state after a prefix can be kept and continued from.

    States are arrays with one row per word. The empty word may be defined apart from the initial state, so it is never
    read off states: ask ``accepts_empty`` and ``empty_score``.
    """

    margin: float  # of scores of at most this size the reference gives the answer
    accepts_empty: bool
    empty_score: float

    @abstractmethod
    def initial(self, rows: int) -> States:
        """The state before any letter, ``rows`` times."""

    @abstractmethod
    def step(self, states: States, letters: Letters, rows: IntArray | None = None) -> States:
        """The states after one more letter each. ``states`` is left as it was.

        Letter ``i`` is read in state ``i``, or in state ``rows[i]`` where rows are given: a state may then be
        continued by several letters, or by none.
        """

    @abstractmethod
    def scores(self, states: States) -> Scores:
        """The score of each state; a word of at least one letter is accepted where it is positive.

        Scores are not yet answers: :func:`resolve_near_threshold` turns them into answers.
        """

    @abstractmethod
    def reference_answer(self, codes: Codes) -> bool:
        """The answer to one word by the model's reference: called as its owner would, on that word alone."""

    def reference_answers_along(self, codes: Codes) -> list[bool]:
        """The reference's answers after each letter of one word."""
        return [self.reference_answer(codes[: end + 1]) for end in range(len(codes))]

    def labeller(self, *, together: bool = False) -> Labeller | None:
        """What gives words of a letter and more their labels by the reference, all labels from one call.

        ``together`` allows words of one length to share a call, and those whose label is in doubt are asked alone. None
        where the reference is asked for each label by itself.
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
        """How far each word is from the decision, positive on the accepting side."""
        batch = encode_batch(self.alphabet, words)
        scores = np.full(len(batch), self.empty_score, dtype=np.float64)
        for start, end in slices_within(batch.offsets, _LETTERS_AT_ONCE):
            part = batch.take(np.arange(start, end))
            filled = part.lengths > 0
            scores[start:end][filled] = self.prefix_scores(part)[part.offsets[1:][filled] - 1]
        return scores

    def accepts_batch(self, words: WordBatch | Iterable[Iterable[str]]) -> Mask:
        """One answer per word, in the same order; the same answer whatever else is in the batch."""
        batch = encode_batch(self.alphabet, words)
        answers = np.full(len(batch), self.accepts_empty, dtype=np.bool_)
        filled = np.flatnonzero(batch.lengths)
        scores = self.scores_batch(batch)[filled]
        answers[filled] = resolve_near_threshold(
            scores, self.margin, lambda i: batch[int(filled[i])], self.reference_answer
        )
        return answers


def check_letters(letters: Letters, alphabet: Alphabet) -> None:
    """Refuse letter positions outside the alphabet."""
    if len(letters) and not (np.minimum.reduce(letters) >= 0 and np.maximum.reduce(letters) < len(alphabet)):
        raise AlphabetError(
            f"letter positions from {letters.min()} to {letters.max()} were given, "
            f"but the alphabet has {len(alphabet)} letters, 0 to {len(alphabet) - 1}"
        )


def resolve_near_threshold(
    scores: Scores, margin: float, word_at: Callable[[int], Codes], reference: Callable[[Codes], bool]
) -> Mask:
    """The answers that scores give: by their sign, or by the reference where they are too small to be trusted.

    A score that is not a finite number is no answer either, so the reference is asked (and complains, if it comes
    to the same). ``word_at(i)`` is the word of score ``i``.
    """
    answers = scores > 0.0
    for i in np.flatnonzero(near_threshold(scores, margin)).tolist():
        answers[i] = reference(word_at(i))
    return answers


def near_threshold(scores: Scores, margin: float) -> Mask:
    """Where a score does not decide: it is within the margin, or not a finite number."""
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
    """Cut things that end at ``offsets[1:]`` into runs of at most ``limit`` in all (or of a single larger one)."""
    start = 0
    while start < len(offsets) - 1:
        end = int(np.searchsorted(offsets, offsets[start] + limit, side="right")) - 1
        end = max(start + 1, end)
        yield start, end
        start = end
