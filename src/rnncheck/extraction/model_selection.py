"""Model selection: the best automaton so far, for an extraction that may end at any time.

Two samples are queried before learning starts. One selects among hypotheses, smaller automata made of them, and
constant answers; the other, independent one measures the selected automaton. Neither is learned from.

A few hundred words cannot distinguish two large automata that rarely differ, and large ones take long to find: the
selecting sample grows with the work, by a fixed share of its letters, and all candidates are compared on it again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rnncheck.automata.minimisation import minimise
from rnncheck.automata.moore import Hypothesis, MooreMachine, outputs_after
from rnncheck.extraction.agreement import AgreementCurve, Point
from rnncheck.extraction.method import Extracting, Extraction
from rnncheck.extraction.reduction import reductions
from rnncheck.learning.learning_task import LearningTask
from rnncheck.runtime.cooperative import CooperativeWork
from rnncheck.words import WordBatch

_CHOOSING = 500
_MOST_CHOOSING = 16_000
_WORK_FOR_ONE = 10  # letters of work for each letter of further selecting words
_MEASURING = 1_000
_WORTH_HALF_THE_STATES = 0.005  # the share of words that an automaton of half the size may answer worse
_AT_ONCE = 50  # words per batch at least; or a twentieth of them
_GROWTH = 1.1  # a hypothesis is compared when it has grown or shrunk by this factor since the last one


class _Sample:
    """Words with the network's answers, as many as time allowed."""

    def __init__(self, task: LearningTask, use: str) -> None:
        self._task = task
        self._rng = task.rng(f"judge, {use}")
        self.words = WordBatch.from_codes([])
        self.answers: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    def query(self, words: int) -> CooperativeWork[None]:
        """Query that many further words."""
        drawn = self._task.distribution.sample(self._rng, words)
        if self._task.max_length is not None:
            drawn = drawn.cut(self._task.max_length)
        at_once = max(_AT_ONCE, words // 20)
        for start in range(0, words, at_once):
            some = drawn.take(np.arange(start, min(start + at_once, words)))
            answers = self._task.oracle.answers(some)
            self.words, self.answers = WordBatch.joined([self.words, some]), np.append(self.answers, answers)
            yield

    @property
    def letters(self) -> int:
        """The letters of all words, each counted with one more for its end."""
        return len(self.words.codes) + len(self.words)

    def point(self, automaton: Hypothesis) -> Point:
        return self.updated(Point(automaton, 0, 0))

    def updated(self, point: Point) -> Point:
        """The point with the words that were queried since."""
        words = len(self.answers)
        if point.words == words:
            return point
        outputs = outputs_after(point.automaton, self.words.take(np.arange(point.words, words)))
        differences = int((outputs.astype(np.int64) != self.answers[point.words :]).sum())
        return Point(point.automaton, point.differences + differences, words)


@dataclass(frozen=True)
class Chosen:
    """The selected automaton, and the one that agreed best; often the same."""

    point: Point
    best: Point

    @property
    def why(self) -> str:
        """Why it is not the one that agreed best; empty where it is."""
        if self.point.states == self.best.states:
            return ""
        return (
            f"one of {self.best.states} states differs on {self.best.differences} of the {self.best.words} words that "
            f"select, this one of {self.point.states} on {self.point.differences}: too little to distinguish them"
        )


class ModelSelection:
    """Selects the best automaton of each size among those it was shown."""

    def __init__(self, task: LearningTask) -> None:
        self._task = task
        self._choosing = _Sample(task, "choose")
        self._measuring = _Sample(task, "measure")
        self._seen: list[Point] = []
        self._maker: dict[int, str] = {}  # of the automaton with that id, which is kept in a point
        self._last_size: dict[str, int] = {}

    def query(self) -> CooperativeWork[None]:
        """Query the first words."""
        yield from self._choosing.query(_CHOOSING)
        yield from self._measuring.query(_MEASURING)

    def query_alongside(self, work: Extracting) -> Extracting:
        """Query the first words and run the work, doubling the selecting sample whenever its letters allow it."""
        yield from self.query()
        while True:
            try:
                next(work)
            except StopIteration as end:
                extraction: Extraction = end.value
                return extraction
            yield
            if self._can_double_sample():
                yield from self._choosing.query(len(self._choosing.answers))
                self._seen = list(map(self._choosing.updated, self._seen))

    def _can_double_sample(self) -> bool:
        letters = 2 * self._choosing.letters
        return len(self._choosing.answers) < _MOST_CHOOSING and _WORK_FOR_ONE * letters <= self._task.oracle.cost.work

    def show(self, hypothesis: Hypothesis | None, maker: str = "", *, last: bool = False) -> None:
        """Compare a method's hypothesis, if its size differs from that of its last one, or it is the last."""
        if hypothesis is None:
            return
        before = self._last_size.get(maker, 0)
        if last or not before / _GROWTH < len(hypothesis) < max(before + 1, _GROWTH * before):
            self._last_size[maker] = len(hypothesis)
            self._compare(smallest(hypothesis), maker)

    def reduce(self, most_states: int | None) -> None:
        """Also compare smaller automata made of the best one."""
        best = self.best()
        if best is not None:
            words = self._choosing.words.take(np.arange(min(_CHOOSING, len(self._choosing.words))))
            for smaller in reductions(best, words, most_states):
                self._compare(smallest(smaller), self.maker(best))

    def maker(self, automaton: Hypothesis) -> str:
        """The method that made a shown automaton."""
        return self._maker.get(id(automaton), "")

    def best(self, most_states: int | None = None) -> Hypothesis | None:
        """The automaton of at most ``most_states`` that agrees best, the smallest in a tie; at least a constant answer.

        None where nothing was queried yet.
        """
        points = self._of_at_most(most_states)
        return _best_of(points).automaton if points else None

    def chosen(self, most_states: int | None = None) -> Chosen | None:
        """The best automaton of at most ``most_states``; without a limit, the smallest that agrees about as well."""
        points = self._of_at_most(most_states)
        if not points:
            return None
        best = _best_of(points)
        as_good = [best] if most_states is not None else [each for each in points if _as_good(each, best)]
        return Chosen(min(as_good, key=lambda each: each.states), best)

    def measured(self, automaton: Hypothesis) -> Point | None:
        """How often an automaton agrees on the independent sample; None where that is empty."""
        return self._measuring.point(automaton) if len(self._measuring.answers) else None

    def curve(self, last: Hypothesis, *, complete: bool) -> AgreementCurve | None:
        """Agreement against states: automata that no smaller one beats, and the last one where it is better."""
        if not len(self._measuring.answers):
            return None
        points: list[Point] = []
        fewest = len(self._choosing.answers) + 1
        for seen in sorted(self._all_seen(), key=lambda point: (point.states, point.differences)):
            if seen.differences < fewest:
                fewest = seen.differences
                measured = self._measuring.point(seen.automaton)
                if not points or measured.differences < points[-1].differences:
                    points.append(measured)
        end = self._measuring.point(last)
        if end.states > points[-1].states and end.differences < points[-1].differences:
            points.append(end)
        return AgreementCurve(tuple(points), complete)

    def _of_at_most(self, most_states: int | None) -> list[Point]:
        return [point for point in self._all_seen() if most_states is None or point.states <= most_states]

    def _all_seen(self) -> list[Point]:
        constants = self._task.constants() if len(self._choosing.answers) else []
        return [*map(self._choosing.point, constants), *map(self._choosing.updated, self._seen)]

    def _compare(self, automaton: Hypothesis, maker: str) -> None:
        if len(self._choosing.answers):
            self._maker[id(automaton)] = maker
            self._seen.append(self._choosing.point(automaton))


def _best_of(points: Sequence[Point]) -> Point:
    return min(points, key=lambda point: (point.differences, point.states))


def _as_good(point: Point, best: Point) -> bool:
    """Whether it is the best, or at most half as large and not much worse: within chance, and within what half the size
    is worth.

    A best one without a difference may have exactly the language, and is kept; a constant answer is never as good.
    """
    worse = point.differences - best.differences
    if worse == 0:
        return point.states <= best.states
    if not best.differences or point.states == 1:
        return False
    by_chance = math.sqrt(point.differences + best.differences)
    return 2 * point.states <= best.states and worse <= min(by_chance, _WORTH_HALF_THE_STATES * best.words)


def smallest(automaton: Hypothesis) -> Hypothesis:
    """The minimal automaton, or machine, of the same answers."""
    return automaton.minimised() if isinstance(automaton, MooreMachine) else minimise(automaton)
