"""A search for violations of a model that only knows whole words: random words, changed a little, again and again.

For every state of the specification at which a word could be a violation, the words that come closest to one are kept:
those whose score is nearest to the wrong side, or, where the model gives no scores, those that came last. They are cut,
prolonged, mixed and repeated in part; runs and loops are what networks lose count of. The search proves nothing when it
finds nothing.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rnncheck.models.protocol import Scores
from rnncheck.oracle import MembershipOracle
from rnncheck.relations import Property, Relation
from rnncheck.search.sampler import WordSource
from rnncheck.words import Codes, WordBatch

_AT_ONCE = 128
_DRAWN_EVERY = 4  # rounds, so that the kept words do not stay among themselves
_KEPT = 16  # words for each state of the specification
_LONGEST = 40  # letters of a word that is kept: every one is read from the beginning
_LONGEST_RUN = 16


class MutationSearch:
    """Asks some changed words at a time. ``words`` counts them."""

    def __init__(
        self, oracle: MembershipOracle, watched: Property, source: WordSource, rng: np.random.Generator
    ) -> None:
        self._oracle = oracle
        self._watched = watched.over(oracle.alphabet)
        self._source = source
        self._rng = rng
        self._letters = len(oracle.alphabet)
        self._kept: dict[int, list[tuple[float, Codes]]] = {}
        self._asked: set[Codes] = set()
        self._rounds = 0
        self._scored = True  # until the model shows that it gives none
        self.words = 0
        self.violation: Codes | None = None

    @property
    def finished(self) -> bool:
        """Whether a violation was found, or none can be."""
        return self.violation is not None or not self._watched.may_violate.any()

    def advance(self) -> None:
        """Ask one more batch; call it only while not ``finished``."""
        drawn = not self._kept or self._rounds % _DRAWN_EVERY == 0
        self._rounds += 1
        words = self._drawn() if drawn else [self._changed() for _ in range(_AT_ONCE)]
        fresh = [word for word in dict.fromkeys(words) if word not in self._asked]
        ends = self._watched.spec.end_states(WordBatch.from_codes(fresh))
        possible = np.flatnonzero(self._watched.may_violate[ends])
        if len(possible):
            self._ask([fresh[row] for row in possible.tolist()], ends[possible])

    def _ask(self, words: list[Codes], ends: npt.NDArray[np.integer]) -> None:
        self._asked.update(words)
        self.words += len(words)
        answers = self._oracle.answers(words)
        broken = self._watched.broken(answers, ends)
        if broken.any():
            self.violation = min((words[row] for row in np.flatnonzero(broken).tolist()), key=len)
            return
        for word, end, value in zip(words, ends.tolist(), self._closeness(words, ends).tolist(), strict=True):
            kept = self._kept.setdefault(end, [])
            kept.append((value, word))
            kept.sort(key=lambda entry: (-entry[0], len(entry[1])))
            del kept[_KEPT:]

    def _closeness(self, words: list[Codes], ends: npt.NDArray[np.integer]) -> Scores:
        """How near each word is to the wrong side; of words without scores the later ones are preferred."""
        scores = self._oracle.scores(WordBatch.from_codes(words)) if self._scored else None
        if scores is None:
            self._scored = False
            return np.arange(len(words), dtype=np.float64) + self.words
        accepted = self._watched.spec.accepting[ends]
        if self._watched.relation is not Relation.EQUAL:
            accepted = np.full(len(words), self._watched.relation is Relation.SUPERSET)
        return np.nan_to_num(np.where(accepted, -scores, scores))

    def _drawn(self) -> list[Codes]:
        """Random words and their beginnings, of all lengths that are kept."""
        words = list(self._source.sample(self._rng, _AT_ONCE))
        return [word[: int(self._rng.integers(_LONGEST + 1))] for word in words]

    def _pick(self) -> Codes:
        states = list(self._kept)
        kept = self._kept[states[int(self._rng.integers(len(states)))]]
        return kept[int(self._rng.integers(len(kept)))][1]

    def _changed(self) -> Codes:
        """A kept word, changed at one to three places."""
        word = self._pick()
        for _ in range(int(self._rng.integers(1, 4))):
            word = self._changed_once(word)[:_LONGEST]
        return word

    def _changed_once(self, word: Codes) -> Codes:
        rng = self._rng
        start, end = sorted(rng.integers(len(word) + 1, size=2).tolist())
        letter, times = int(rng.integers(self._letters)), int(rng.integers(1, _LONGEST_RUN + 1))
        kind = int(rng.integers(6))
        if kind == 0:  # cut
            return word[:start] + word[end:]
        if kind == 1:  # another letter
            return (*word[:start], letter, *word[start + 1 :])
        if kind == 2:  # one more
            return (*word[:start], letter, *word[start:])
        if kind == 3:  # a run
            return word[:start] + (letter,) * times + word[start:]
        if kind == 4:  # a loop
            return word[:end] + word[start:end] * min(times, 4) + word[end:]
        other = self._pick()  # the end of another
        return word[:start] + other[int(rng.integers(len(other) + 1)) :]
