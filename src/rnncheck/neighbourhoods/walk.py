"""Every word of some finite languages, queried once: common prefixes are stepped once, whichever words they belong to.

The prefix tree is walked depth first, many words at a time, so that no word is stepped twice and little is held.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rnncheck.automata.branches import Branches
from rnncheck.automata.dfa import DFA
from rnncheck.automata.minimisation import coreachable
from rnncheck.models.protocol import States
from rnncheck.oracle import Stepper
from rnncheck.runtime.watchdog import check_time
from rnncheck.search.prefix_tree import DEFAULT_MEMORY
from rnncheck.words import Codes, IntArray

_LEAST_AT_ONCE, _AT_ONCE = 16, 4096  # words; more would not fit the caches


@dataclass(frozen=True)
class Ball:
    """A finite language of words that should all get one answer."""

    words: DFA
    answer: bool


def prefixes(language: DFA) -> float:
    """How many prefixes of at least one letter the words of a finite language have: the steps of a walk."""
    live = coreachable(language)
    paths = np.zeros(len(language))
    paths[language.initial] = float(live[language.initial])
    total = 0.0
    goals, letters = language.transitions.ravel(), len(language.alphabet)
    while paths.any():
        check_time()
        paths = np.where(live, np.bincount(goals, np.repeat(paths, letters), len(language)), 0.0)
        total += float(paths.sum())
    return total


@dataclass(frozen=True)
class _Open:
    """Words of one length that are to be continued, with the states they lead to: the model's, and some languages'.

    ``word`` and ``place`` go together: word number ``word[i]`` has led to the state ``place[i]`` of the joint table.
    Numbers of words begin with ``first``.
    """

    words: npt.NDArray[np.int32]
    states: States
    word: IntArray
    place: IntArray
    first: int = 0

    @property
    def bytes(self) -> int:
        return int(self.words.nbytes + self.states.nbytes + self.word.nbytes + self.place.nbytes)

    def split(self, count: int) -> tuple[_Open, _Open | None]:
        """The first words, and the others."""
        if len(self.words) <= count:
            return self, None
        end = self.first + count
        cut = int(np.searchsorted(self.word, end))
        some = _Open(self.words[:count], self.states[:count], self.word[:cut], self.place[:cut], self.first)
        return some, _Open(self.words[count:], self.states[count:], self.word[cut:], self.place[cut:], end)


class Walk:
    """A walk through all words of some balls, until each has shown a word with the other answer or has none.

    ``flips[i]`` is such a word of ball ``i``, or None. The states to be continued take about ``memory`` bytes.
    """

    def __init__(self, stepper: Stepper, balls: Sequence[Ball], memory: int = DEFAULT_MEMORY) -> None:
        self._stepper = stepper
        self._memory = memory
        self.flips: list[Codes | None] = [None] * len(balls)
        offsets = np.cumsum([0, *(len(ball.words) for ball in balls)])
        self._table = np.vstack([ball.words.transitions + offset for ball, offset in zip(balls, offsets, strict=False)])
        self._accepting = np.concatenate([ball.words.accepting for ball in balls])
        self._live = np.concatenate([coreachable(ball.words) for ball in balls])
        self._branches = Branches(self._table, self._live)
        self._ball = np.repeat(np.arange(len(balls)), [len(ball.words) for ball in balls])
        self._answer = np.array([ball.answer for ball in balls])
        initial = np.array([ball.words.initial for ball in balls]) + offsets[:-1]
        for place in initial[self._accepting[initial]]:
            self._note(int(place), (), stepper.accepts_empty)
        root = np.zeros((1, 0), dtype=np.int32)
        self._stack = [_Open(root, stepper.initial(1), np.zeros(len(balls), dtype=np.int64), initial)]

    @property
    def finished(self) -> bool:
        return not self._stack

    def advance(self) -> None:
        """Continue some words by every letter that leads anywhere, and ask those that are in a ball."""
        at_once = self._at_once()
        some, others = self._stack.pop().split(at_once)
        if others is not None:
            self._stack.append(others)
        below = self._below(some)
        if below is not None:
            self._ask(below)
            self._stack.append(below)

    def _at_once(self) -> int:
        """How many words to continue: few where much waits, so that it does not grow by much."""
        top, _ = self._stack[-1].split(_AT_ONCE)
        free = self._memory - sum(waiting.bytes for waiting in self._stack)
        room = free // max(1, top.bytes // len(top.words))
        fits = int(np.searchsorted(np.cumsum(self._branches.counts(top.place)), room))
        return _AT_ONCE if fits == len(top.place) else max(_LEAST_AT_ONCE, int(top.word[fits]) - top.first)

    def _below(self, some: _Open) -> _Open | None:
        letters = self._table.shape[1]
        rows, codes = self._branches.follow(some.place)
        places = self._table[some.place[rows], codes]
        kept = self._live[places]  # some balls need no more queries
        if not kept.any():
            return None
        children, word = np.unique((some.word[rows[kept]] - some.first) * letters + codes[kept], return_inverse=True)
        parents, codes = children // letters, children % letters
        states = self._stepper.step(some.states, codes, rows=parents)
        words = np.hstack([some.words[parents], codes[:, None].astype(np.int32)])
        order = np.argsort(word, kind="stable")
        return _Open(words, states, word[order], places[kept][order])

    def _ask(self, open_words: _Open) -> None:
        inside = self._accepting[open_words.place]
        rows = np.unique(open_words.word[inside])
        if not len(rows):
            return
        scores = self._stepper.scores(open_words.states[rows])
        answers = np.zeros(len(open_words.words), dtype=bool)
        answers[rows] = self._stepper.answers(scores, lambda i: tuple(open_words.words[rows[i]].tolist()))
        flipped = inside & (answers[open_words.word] != self._answer[self._ball[open_words.place]])
        for entry in np.flatnonzero(flipped):
            row = open_words.word[entry]
            self._note(int(open_words.place[entry]), tuple(open_words.words[row].tolist()), bool(answers[row]))

    def _note(self, place: int, word: Codes, answer: bool) -> None:
        ball = self._ball[place]
        if answer == self._answer[ball] or self.flips[ball] is not None:
            return
        self.flips[ball] = word
        self._live[self._ball == ball] = False  # it needs no more queries
