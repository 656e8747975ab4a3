"""A model and automata on the same words: where is it not as it should be?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rnncheck.automata.moore import Hypothesis, outputs_after, outputs_along
from rnncheck.oracle import MembershipOracle
from rnncheck.relations import Relation
from rnncheck.words import Codes, WordBatch, shortlex_key


class Side(NamedTuple):
    """An automaton, and the relation that the model should be in to it.

    ``whole_words``: only a word that breaks the relation as a whole counts, and is then cut to its shortest prefix that
    does. Otherwise every prefix counts.
    """

    other: Hypothesis
    relation: Relation
    whole_words: bool = False


@dataclass(frozen=True)
class AnsweredWords:
    """Words and what the model says of them: after every letter, if it is a stepping one (``prefixes``)."""

    words: WordBatch
    answers: npt.NDArray[Any]
    prefixes: bool
    empty: npt.NDArray[Any] | None  # the answer to the empty word, where it is among the words

    @classmethod
    def of(cls, oracle: MembershipOracle, words: WordBatch) -> AnsweredWords:
        """Ask the oracle."""
        prefixes = oracle.stepping
        answers = oracle.prefix_answers(words) if prefixes else oracle.answers(words)
        empty = np.array([oracle.answer(())]) if (words.lengths == 0).any() else None
        return cls(words, answers, prefixes, empty)

    def least_broken(self, side: Side | None) -> Codes | None:
        """The shortlex-least word that breaks a side's relation; None where none does."""
        if side is None:
            return None
        other, relation, whole_words = side
        if self.empty is not None and relation.broken(self.empty, other.outputs[[other.support.initial]])[0]:
            return ()
        if self.prefixes:
            broken = relation.broken(self.answers, outputs_along(other, self.words))
            return self.words.least_prefix(broken, of_marked_words=whole_words)
        broken = relation.broken(self.answers, outputs_after(other, self.words))
        return min(self.words.take(broken), key=shortlex_key, default=None)
