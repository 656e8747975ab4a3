"""A search for what a model forgets: the loops of the property's automaton, repeated until a completion shows it.

However often a loop is read, the property stays in the same state. A network whose memory fades, or whose counter
overflows, does not, and random words hardly ever show it: they are short, or change the state. So every loop is read
for 16 letters, then for twice as many, and so on. Each doubling has an equal share of the steps that are left, and the
shortest loops come first. A loop is dropped when the model's state repeats, because everything after it repeats too.
The search proves nothing when it finds nothing.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rnncheck.automata.dfa import Mask
from rnncheck.models.protocol import Scores, States
from rnncheck.oracle import MembershipOracle
from rnncheck.relations import Property
from rnncheck.search.lassos import Lasso, Lassos
from rnncheck.search.prefix_tree import DEFAULT_MEMORY
from rnncheck.words import Codes, IntArray, WordBatch

_MOST = 64  # loops
_FIRST = 16  # letters of the loops that are read before the first doubling
_DOUBLINGS = 10  # that share the steps, the first letters included
_FURTHER = 24  # with more than so many steps for each letter there are further doublings
_EVERY_LETTER = 1024  # up to so many letters a completion is asked after each: a counter may overflow at one alone
_AT_ONCE = 1024  # steps of the loops between two turns
_LONGEST_TURN = 256
_AGAIN = 1.25  # a state is remembered, to see whether it comes back, until this many times as many letters are read
_TRIED = 4  # words that seem to be earlier violations


class LoopSearch(ABC):
    """Repeats loops. ``longest`` is how many letters the longest word had; words have at most ``max_length``."""

    def __init__(self, oracle: MembershipOracle, watched: Property, steps: int, max_length: int | None = None) -> None:
        self._oracle = oracle
        self._watched = watched.over(oracle.alphabet)
        self._lassos = Lassos(self._watched, _MOST)
        self._going = self._lassos.all
        self._steps = steps
        self._last = max(_FIRST << (_DOUBLINGS - 1), steps // _FURTHER)  # letters of the loops at most
        self._most_letters = max_length
        self._doublings = 0
        self._length = 0  # letters of the loops that have been read
        self.longest = 0
        self.violation: Codes | None = None

    @classmethod
    def of(
        cls,
        oracle: MembershipOracle,
        watched: Property,
        steps: int,
        max_length: int | None = None,
        memory: int = DEFAULT_MEMORY,
    ) -> LoopSearch:
        """The search that the model allows: by its states, or by whole words."""
        if oracle.stepping:
            return SteppedLoops(oracle, watched, steps, max_length, memory)
        return AskedLoops(oracle, watched, steps, max_length)

    @property
    def finished(self) -> bool:
        """Whether a violation was found, or no loop is left that can be afforded."""
        return self.violation is not None or not self._going

    def advance(self) -> None:
        """Read on for a while; call it only while not ``finished``."""
        before = self._oracle.cost.work
        self._advance()
        self._steps -= self._oracle.cost.work - before

    @abstractmethod
    def _advance(self) -> None: ...

    def _next_length(self) -> int:
        """How many letters to read next: twice as many, or as far as the longest word allows; some loops end here."""
        wanted = _FIRST << self._doublings
        most = wanted if wanted <= self._last else 0
        room = [most if self._most_letters is None else min(most, self._room(lasso)) for lasso in self._going]
        self._keep([place for place, letters in enumerate(room) if letters > self._length])
        length = min([wanted, *(letters for letters in room if letters > self._length)])
        self._doublings += length == wanted
        return length

    def _afford(self, price: Callable[[Lasso], int]) -> None:
        """Go on with as many loops as this doubling may pay for, the shortest first."""
        share = self._steps // max(1, _DOUBLINGS - self._doublings + 1)
        prices = np.cumsum([price(lasso) for lasso in self._going])
        self._keep(range(int(np.searchsorted(prices, share, side="right"))))

    def _keep(self, places: Sequence[int]) -> None:
        self._going = [self._going[place] for place in places]

    def _room(self, lasso: Lasso) -> int:
        """How many letters of the loop fit into a word."""
        completions = [word for state in lasso.states for word in self._lassos.completions(state)]
        return (self._most_letters or 0) - len(lasso.prefix) - max(map(len, completions), default=0)


class AskedLoops(LoopSearch):
    """For models that only know whole words: each loop is asked for as whole repetitions, with every completion."""

    def _advance(self) -> None:
        length = self._next_length()
        self._afford(lambda lasso: sum(map(len, self._words(lasso, length))))
        self._length = length
        words = [word for lasso in self._going for word in self._words(lasso, length)]
        if words:
            self.longest = max(self.longest, *map(len, words))
            ends = self._watched.spec.end_states(WordBatch.from_codes(words))
            broken = self._watched.broken(self._oracle.answers(words), ends)
            self.violation = min(itertools.compress(words, broken), key=len, default=None)

    def _words(self, lasso: Lasso, letters: int) -> list[Codes]:
        repeated = lasso.word(letters - letters % len(lasso.loop))
        return [repeated + word for word in self._lassos.completions(lasso.states[0])]


class SteppedLoops(LoopSearch):
    """For models that show their states: all loops are read side by side, and completed from states on the way."""

    def __init__(
        self,
        oracle: MembershipOracle,
        watched: Property,
        steps: int,
        max_length: int | None = None,
        memory: int = DEFAULT_MEMORY,
    ) -> None:
        super().__init__(oracle, watched, steps, max_length)
        self._stepper = oracle.stepper
        self._memory = memory
        self._until = 0  # how many letters this doubling goes to
        self._states = self._stepper.initial(len(self._going))
        self._begun, self._begun_at = self._states, 0  # where this doubling began
        self._known, self._known_at = self._states, 0  # what may come back

    def _advance(self) -> None:
        if self._length == self._until:
            self._double()
        if not self._going:
            return
        room = self._memory // (4 * max(1, self._states.nbytes))
        letters = min(_LONGEST_TURN, 1 + _AT_ONCE // len(self._going), 1 + room, self._until - self._length)
        trail = self._read(self._going, self._states, self._length, letters)
        self._states, self._length = trail.states[-len(self._going) :], self._length + letters
        self.longest = max(self.longest, *(len(lasso.prefix) + self._length for lasso in self._going))
        self._look(trail)
        if self.violation is None:
            self._drop_repeating(trail)

    def _double(self) -> None:
        """Begin to read the loops for as many letters again."""
        start, self._until = self._length, self._next_length()
        self._afford(lambda lasso: self._price(lasso, start))
        if not start:
            for place in range(max((len(lasso.prefix) for lasso in self._going), default=0)):
                rows = [row for row, lasso in enumerate(self._going) if len(lasso.prefix) > place]
                letters = np.array([self._going[row].prefix[place] for row in rows])
                self._states[rows] = self._stepper.step(self._states[rows], letters)
            self._known = self._states
        self._begun, self._begun_at = self._states, start

    def _price(self, lasso: Lasso, start: int) -> int:
        """Steps to read on, and to complete the word where it is completed after every letter."""
        each = 1.0
        if start < _EVERY_LETTER:
            each += float(np.mean([sum(map(len, self._after_each(state))) for state in lasso.states]))
        return int(each * (self._until - start))

    def _read(self, lassos: Sequence[Lasso], states: States, start: int, letters: int) -> _Trail:
        """Read so many letters of each loop, from states after ``start`` letters of it."""
        trail = []
        places = np.arange(start, start + letters)
        read = np.stack([np.array(lasso.loop)[places % len(lasso.loop)] for lasso in lassos], axis=1)
        ends = [np.array(lasso.states)[(places + 1) % len(lasso.loop)] for lasso in lassos]
        for row in read:
            states = self._stepper.step(states, row)
            trail.append(states)
        return _Trail(lassos, start, np.concatenate(trail), np.stack(ends, axis=1).ravel())

    def _look(self, trail: _Trail) -> None:
        """Ask completions: some after each letter as long as that is cheap, all at the end of a doubling."""
        every = np.arange(len(trail.states))
        if self._length <= _EVERY_LETTER:
            self._complete(trail, every, self._after_each)
        else:
            self._complete(trail, every, lambda state: [()] if self._watched.may_violate[state] else [])
        if self._length == self._until:
            loops = np.array([len(lasso.loop) for lasso in self._going])
            self._complete(trail, every[trail.letters + loops[trail.rows] > self._until], self._lassos.completions)

    def _after_each(self, state: int) -> list[Codes]:
        """The empty word where it can show a violation, and the first other completion."""
        words = [()] if self._watched.may_violate[state] else []
        return words + [word for word in self._lassos.completions(state)[:1] if word]

    def _complete(self, trail: _Trail, places: IntArray, words: Callable[[int], Sequence[Codes]]) -> None:
        """Ask the completions of each state at some places of a trail, until one shows a violation."""
        for state in np.unique(trail.ends[places]).tolist():
            here = places[trail.ends[places] == state]
            for word in words(state):
                if self.violation is not None:
                    return
                scores, broken = self._completed(trail, here, word)
                if broken.any():  # of scores that hardly decide the reference is asked, so the surest one is taken
                    surest = int(np.argmax(np.where(broken, np.abs(scores), -1.0)))
                    if self._is_violation(scores[surest], trail.word(int(here[surest])) + word):
                        self.violation = self._earliest(trail, int(here[surest]), word)

    def _completed(self, trail: _Trail, places: IntArray, word: Codes) -> tuple[Scores, Mask]:
        """The scores of words of the trail with a completion, and which seem to be violations."""
        states, ends = trail.states[places], trail.ends[places]
        for letter in word:
            states = self._stepper.step(states, np.full(len(places), letter))
            ends = self._watched.spec.transitions[ends, letter]
        scores = self._stepper.scores(states)
        return scores, self._watched.broken(scores > 0.0, ends)

    def _is_violation(self, score: float, word: Codes) -> bool:
        return self._breaks(bool(self._stepper.answers(np.array([score]), lambda _: word)[0]), word)

    def _breaks(self, answer: bool, word: Codes) -> bool:
        """Whether an answer to a word is a violation."""
        ends = self._watched.spec.end_states(WordBatch.from_codes([word]))
        return bool(self._watched.broken(np.array([answer]), ends)[0])

    def _earliest(self, trail: _Trail, place: int, word: Codes) -> Codes:
        """The shortest violation with this loop and completion since the doubling began: its letters are read again."""
        row, end = int(trail.rows[place]), int(trail.letters[place])
        lasso, states = trail.lassos[row], self._begun[row : row + 1]
        for start in range(self._begun_at, end, _LONGEST_TURN):
            again = self._read([lasso], states, start, min(_LONGEST_TURN, end - start))
            here = np.flatnonzero(again.ends == trail.ends[place])
            _, broken = self._completed(again, here, word)
            for at in np.flatnonzero(broken)[:_TRIED].tolist():
                earlier = again.word(int(here[at])) + word  # so long that the evaluator may have drifted
                if self._breaks(self._oracle.reference_answer(earlier), earlier):
                    return earlier
            states = again.states[-1:]
        return trail.word(place) + word

    def _drop_repeating(self, trail: _Trail) -> None:
        """Drop the loops after which the model is where it was before."""
        since = trail.letters - self._known_at
        loops = np.array([len(lasso.loop) for lasso in self._going])
        places = np.flatnonzero(since % loops[trail.rows] == 0)
        known = self._known[trail.rows[places]]
        same = (trail.states[places] == known).all(axis=tuple(range(1, known.ndim)))
        repeating = set(trail.rows[places[same]].tolist())
        if self._length >= _AGAIN * self._known_at:
            self._known, self._known_at = self._states, self._length
        if repeating:
            self._keep([row for row in range(len(self._going)) if row not in repeating])

    def _keep(self, places: Sequence[int]) -> None:
        super()._keep(places)
        rows = np.array(places, dtype=np.int64)
        self._states, self._begun, self._known = self._states[rows], self._begun[rows], self._known[rows]


@dataclass(frozen=True)
class _Trail:
    """The model's states after each of some letters of loops, and the automaton's: all loops after the first letter,
    all after the second, and so on.
    """

    lassos: Sequence[Lasso]
    start: int
    states: States
    ends: IntArray

    @property
    def rows(self) -> IntArray:
        """Which loop each is of."""
        return np.arange(len(self.ends)) % len(self.lassos)

    @property
    def letters(self) -> IntArray:
        """How many letters of the loop have been read."""
        return self.start + 1 + np.arange(len(self.ends)) // len(self.lassos)

    def word(self, place: int) -> Codes:
        return self.lassos[int(self.rows[place])].word(int(self.letters[place]))
