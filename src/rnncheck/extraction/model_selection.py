"""The best automaton so far, for an extraction that may end at any time.

Two samples are put to the network before learning begins. One chooses among hypotheses, smaller automata made of them,
and constant answers; the other, in which nothing was chosen, measures what was chosen. Neither is learned from.

A few hundred words cannot tell two large automata apart that differ rarely, and large ones take long to find: as the
work goes on, more words choose, a fixed share of its letters, and all that was seen is judged by them, too.
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
_WORK_FOR_ONE = 10  # letters of work for each letter of the words that choose, where these are more than the first
_MEASURING = 1_000
_WORTH_HALF_THE_STATES = 0.005  # of the words: so much more may be answered wrongly by an automaton of half the size
_AT_ONCE = 50  # words, or a twentieth of them
_GROWTH = 1.1  # a hypothesis is looked at when it has so many times the states of the last one, or the last has of it


class _Sample:
    """Words with the network's answers, as many as there was time for."""

    def __init__(self, task: LearningTask, use: str) -> None:
        self._task = task
        self._rng = task.rng(f"judge, {use}")
        self.answered = WordBatch.from_codes([])
        self.answers: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    def asking(self, words: int) -> CooperativeWork[None]:
        """Put so many more words to the network."""
        drawn = self._task.distribution.sample(self._rng, words)
        if self._task.max_length is not None:
            drawn = drawn.cut(self._task.max_length)
        at_once = max(_AT_ONCE, words // 20)
        for start in range(0, words, at_once):
            some = drawn.take(np.arange(start, min(start + at_once, words)))
            said = self._task.oracle.answers(some)
            self.answered, self.answers = WordBatch.joined([self.answered, some]), np.append(self.answers, said)
            yield

    @property
    def letters(self) -> int:
        """How many there are, where a word has one more for its end."""
        return len(self.answered.codes) + len(self.answered)

    def point(self, automaton: Hypothesis) -> Point:
        return self.brought_up_to_date(Point(automaton, 0, 0))

    def brought_up_to_date(self, point: Point) -> Point:
        """The point of the first words, with those that were asked since."""
        words = len(self.answers)
        if point.words == words:
            return point
        said = outputs_after(point.automaton, self.answered.take(np.arange(point.words, words)))
        differences = int((said.astype(np.int64) != self.answers[point.words :]).sum())
        return Point(point.automaton, point.differences + differences, words)


@dataclass(frozen=True)
class Chosen:
    """The automaton that was chosen, and the one that agreed best; often the same."""

    point: Point
    best: Point

    @property
    def why(self) -> str:
        """Why it is not the one that agreed best; nothing where it is."""
        if self.point.states == self.best.states:
            return ""
        return (
            f"one of {self.best.states} states differs on {self.best.differences} of the {self.best.words} words that "
            f"choose, this one of {self.point.states} on {self.point.differences}: too little to tell them apart"
        )


class Judge:
    """Knows the best automaton of any size among those it was shown."""

    def __init__(self, task: LearningTask) -> None:
        self._task = task
        self._choosing = _Sample(task, "choose")
        self._measuring = _Sample(task, "measure")
        self._seen: list[Point] = []
        self._maker: dict[int, str] = {}  # of the automaton with that id, which is kept in a point
        self._last_size: dict[str, int] = {}

    def asking(self) -> CooperativeWork[None]:
        """Put the first words to the network."""
        yield from self._choosing.asking(_CHOOSING)
        yield from self._measuring.asking(_MEASURING)

    def asking_beside(self, work: Extracting) -> Extracting:
        """The work after the first words; while it goes on, twice the words choose whenever its letters allow it."""
        yield from self.asking()
        while True:
            try:
                next(work)
            except StopIteration as end:
                extraction: Extraction = end.value
                return extraction
            yield
            if self._more_may_choose():
                yield from self._choosing.asking(len(self._choosing.answers))
                self._seen = list(map(self._choosing.brought_up_to_date, self._seen))

    def _more_may_choose(self) -> bool:
        letters = 2 * self._choosing.letters
        return len(self._choosing.answers) < _MOST_CHOOSING and _WORK_FOR_ONE * letters <= self._task.oracle.cost.work

    def show(self, hypothesis: Hypothesis | None, maker: str = "", *, last: bool = False) -> None:
        """Look at a method's hypothesis, if it is of another size than its last one or is the last."""
        if hypothesis is None:
            return
        before = self._last_size.get(maker, 0)
        if last or not before / _GROWTH < len(hypothesis) < max(before + 1, _GROWTH * before):
            self._last_size[maker] = len(hypothesis)
            self._look_at(smallest(hypothesis), maker)

    def reduce(self, most_states: int | None) -> None:
        """Look at smaller automata made of the best one, too."""
        best = self.best()
        if best is not None:
            words = self._choosing.answered.take(np.arange(min(_CHOOSING, len(self._choosing.answered))))
            for smaller in reductions(best, words, most_states):
                self._look_at(smallest(smaller), self.maker(best))

    def maker(self, automaton: Hypothesis) -> str:
        """The method that an automaton it was shown is of."""
        return self._maker.get(id(automaton), "")

    def best(self, most_states: int | None = None) -> Hypothesis | None:
        """The automaton of at most so many states that agrees best, the smallest in a tie; a constant answer at least.

        None where nothing was asked yet.
        """
        points = self._of_at_most(most_states)
        return _best_of(points).automaton if points else None

    def chosen(self, most_states: int | None = None) -> Chosen | None:
        """The best automaton of at most so many states; of any size, the smallest that agrees about as well."""
        points = self._of_at_most(most_states)
        if not points:
            return None
        best = _best_of(points)
        as_good = [best] if most_states is not None else [each for each in points if _as_good(each, best)]
        return Chosen(min(as_good, key=lambda each: each.states), best)

    def measured(self, automaton: Hypothesis) -> Point | None:
        """How often an automaton agrees, on words that chose nothing; None where there are none."""
        return self._measuring.point(automaton) if len(self._measuring.answers) else None

    def curve(self, last: Hypothesis, *, complete: bool) -> AgreementCurve | None:
        """Agreement against states: of the automata that no smaller one beats, and of the last where it is better."""
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
        return [*map(self._choosing.point, constants), *map(self._choosing.brought_up_to_date, self._seen)]

    def _look_at(self, automaton: Hypothesis, maker: str) -> None:
        if len(self._choosing.answers):
            self._maker[id(automaton)] = maker
            self._seen.append(self._choosing.point(automaton))


def _best_of(points: Sequence[Point]) -> Point:
    return min(points, key=lambda point: (point.differences, point.states))


def _as_good(point: Point, best: Point) -> bool:
    """Whether it is the best, or half as large at most and no worse than chance explains, nor by more than it is worth.

    A best one that was right throughout may be the very language, and is kept; and one answer to all is no automaton.
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
