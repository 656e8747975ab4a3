"""Drawing words and looking at what the model does with them.

Words that cannot matter are counted and not run. Of those that are run every prefix is looked at: any violation among
them is reported, and a drawn word on which model and hypothesis differ is cut to its shortest prefix that shows it.
Only the drawn words themselves enter a statistical claim, so only they can fail a test.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from rnncheck.automata.dfa import DFA, Mask
from rnncheck.oracle import Oracle
from rnncheck.probability.distributions import WordDistribution
from rnncheck.relations import Relation
from rnncheck.words import Codes, IntArray, WordBatch, shortlex_key

# Words a batch: few at first, because many networks fail at once, then as many as the engine likes.
_FIRST_BATCH = 64
_LARGEST_BATCH = 1024


Side: TypeAlias = tuple[DFA, Relation]  # an automaton, and the relation that the model should be in to it


@dataclass(frozen=True)
class Drawn:
    """What a batch showed: a violation of the property, and a word on which hypothesis and model are at odds."""

    words: int
    violation: Codes | None
    difference: Codes | None


class Sampler:
    """Draws batches and compares model, specification and, where there is one, hypothesis.

    ``words`` counts the words drawn so far in whole batches without a violation: one pooled sample for the property,
    whatever hypotheses they were drawn to test, because R and A do not depend on the hypothesis.
    """

    def __init__(
        self,
        oracle: Oracle,
        spec: DFA,
        relation: Relation,
        distribution: WordDistribution,
        rng: np.random.Generator,
    ) -> None:
        self._oracle = oracle
        self._spec = spec
        self._relation = relation
        self._distribution = distribution
        self._rng = rng
        self._batch = _FIRST_BATCH
        self.words = 0
        self.longest = 0

    def draw(self, most: int, hypothesis: DFA | None = None, agreement: Relation | None = None) -> Drawn:
        """Draw a batch of at most ``most`` words. It counts as a whole, or, where it holds a violation, not at all.

        ``agreement`` is the relation that model and hypothesis should be in: the property's own unless told.
        """
        batch = self._distribution.sample(self._rng, min(most, self._batch))
        self._batch = min(2 * self._batch, _LARGEST_BATCH)
        sides = [(self._spec, self._relation)]
        if hypothesis is not None:
            sides.append((hypothesis, agreement or self._relation))
        matters = np.zeros(len(batch), dtype=bool)
        for other, relation in sides:
            matters |= relation.can_break(other.accepts_batch(batch))
        violation, difference = self._look(batch.take(matters), sides)
        if violation is None:
            self.words += len(batch)
        return Drawn(len(batch), violation, difference)

    def _look(self, words: WordBatch, sides: list[Side]) -> tuple[Codes | None, Codes | None]:
        """The least violation, prefixes included, and the least difference (a stepping model tells of prefixes)."""
        if self._oracle.stepping:
            ends = words.offsets[1:][words.lengths > 0] - 1
            answers = self._oracle.prefix_answers(words)
            found = [_broken_prefix(words, answers, self._spec, self._relation)]
            found += [_broken_prefix(words, answers, *side, of=ends) for side in sides[1:]]
        else:
            answers = self._oracle.answers(words)
            found = [_broken_word(words, answers, *side) for side in sides]
        self.longest = max(self.longest, int(words.lengths.max(initial=0)))
        if (words.lengths == 0).any():
            accepted = np.array([self._oracle.answer(())])
            found = [
                () if relation.broken(accepted, other.accepting[[other.initial]])[0] else word
                for (other, relation), word in zip(sides, found, strict=True)
            ]
        return found[0], found[1] if len(found) > 1 else None


def _broken_prefix(
    words: WordBatch, answers: Mask, other: DFA, relation: Relation, of: IntArray | None = None
) -> Codes | None:
    """The shortlex-least prefix that breaks the relation.

    With ``of``, the positions of last letters, only prefixes of words that break it as a whole are looked at.
    """
    broken = relation.broken(answers, other.accepting[other.visited(words)])
    owner = np.repeat(np.arange(len(words)), words.lengths)
    if of is not None:
        failed = np.zeros(len(words), dtype=bool)
        failed[owner[of[broken[of]]]] = True
        broken &= failed[owner]
    at = np.flatnonzero(broken)
    if not len(at):
        return None
    lengths = at - words.offsets[owner[at]] + 1
    shortest = np.flatnonzero(lengths == lengths.min())
    return min(words[int(owner[at[i]])][: int(lengths[i])] for i in shortest)


def _broken_word(words: WordBatch, answers: Mask, other: DFA, relation: Relation) -> Codes | None:
    """The shortlex-least word that breaks the relation."""
    broken = np.flatnonzero(relation.broken(answers, other.accepts_batch(words)))
    return min((words[int(i)] for i in broken), key=shortlex_key, default=None)
