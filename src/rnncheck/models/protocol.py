"""What a model is to the rest of rnncheck.

Every model answers batches of words. A stepping model also exposes the state between letters, so that words with a
common prefix share its cost. One rule holds for all of them: the answer to a word is a function of the word. Float
arithmetic depends on the shape of a batch, so an answer whose score lies within ``margin`` of the decision is
settled by ``definition``: the model as its owner would call it, on that word alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from rnncheck.automata.dfa import Mask
from rnncheck.words import Alphabet, Codes, WordBatch

Scores: TypeAlias = npt.NDArray[np.float64]
States: TypeAlias = npt.NDArray[Any]  # one row a word, of whatever the model keeps between letters
Letters: TypeAlias = npt.NDArray[np.integer[Any]]


class Model(ABC):
    """Says yes or no to words over an alphabet."""

    alphabet: Alphabet

    @abstractmethod
    def accepts_batch(self, words: WordBatch | Iterable[Iterable[str]]) -> Mask:
        """One answer a word, in the same order; the same answer whatever else is in the batch."""

    def accepts(self, word: Iterable[str]) -> bool:
        """The answer to one word."""
        return bool(self.accepts_batch([word])[0])

    def scores_batch(self, words: WordBatch | Iterable[Iterable[str]]) -> Scores | None:
        """How far each word is from the decision, positive on the accepting side; None where there is no score."""
        return None

    @abstractmethod
    def describe(self) -> Mapping[str, object]:
        """Facts for people and for certificates: what it is, and how its queries are answered."""


class SteppingModel(Model):
    """A model whose state after a prefix can be kept and continued from.

    States are arrays with one row a word. The empty word may be defined apart from the initial state, so it is never
    read off states: ask ``accepts_empty``.
    """

    margin: float  # scores of at most this size are settled by ``definition``
    accepts_empty: bool

    @abstractmethod
    def initial(self, rows: int) -> States:
        """The state before any letter, ``rows`` times."""

    @abstractmethod
    def step(self, states: States, letters: Letters) -> States:
        """The states after one more letter each. ``states`` is left as it was."""

    @abstractmethod
    def scores(self, states: States) -> Scores:
        """The score of each state; a word of at least one letter is accepted where it is positive."""

    @abstractmethod
    def definition(self, codes: Codes) -> bool:
        """The answer to one word by the model's own definition, called on that word alone."""
