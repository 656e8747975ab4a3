"""How small can a surrogate be? Automata of growing size, and how often each answers as the network does.

A network is often a small automaton plus noise. Then agreement rises steeply with the first few states and creeps up
afterwards, while states are spent on the noise. The curve shows it, and its knee is where to stop.

Automata come from two sources: every hypothesis of a learner that is refined by sampled words, and truncations of the
last one, which merge states that no suffix of a few letters distinguishes. One sample selects among them, and another,
independent one measures.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rnncheck.automata.dfa import DFA, Mask
from rnncheck.automata.minimisation import minimise
from rnncheck.automata.moore import Hypothesis
from rnncheck.errors import InputError, LearningBoundReached
from rnncheck.learning.equivalence.replayed_words import ReplayedWords
from rnncheck.learning.learning_task import LearningTask, refining
from rnncheck.probability.clopper_pearson import clopper_pearson
from rnncheck.probability.confidence import check_probability
from rnncheck.probability.distributions import WordDistribution
from rnncheck.probability.expected import Probabilities
from rnncheck.runtime.budget import BudgetExceeded
from rnncheck.search.observations import Observations
from rnncheck.words import WordBatch

DEFAULT_WORDS = 2_000


@dataclass(frozen=True)
class Point:
    """An automaton, and on how many of ``words`` fresh words it differed from the network."""

    automaton: Hypothesis
    differences: int
    words: int

    @property
    def states(self) -> int:
        return len(self.automaton)

    @property
    def agreement(self) -> float:
        return 1.0 - self.differences / self.words

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval of the probability that the two agree on a random word."""
        low, high = clopper_pearson(self.differences, self.words)
        return 1.0 - high, 1.0 - low


@dataclass(frozen=True)
class AgreementCurve:
    """Points of growing size and growing agreement. ``complete``: neither time nor a bound ended the search early."""

    points: tuple[Point, ...]
    complete: bool

    def smallest(self, eta: float) -> Point | None:
        """The smallest automaton that agreed with the network on all but η of the words."""
        check_probability("eta", eta)
        return next((point for point in self.points if point.differences <= eta * point.words), None)

    def knee(self) -> Point:
        """Where the curve flattens: the point highest above the line from its first to its last one, in a tie the last.

        Only points that are better than the one before by more than two standard deviations count.
        """
        clear = [self.points[0]]
        for point in self.points[1:]:
            better = clear[-1].differences - point.differences
            if better > 2.0 * math.sqrt(clear[-1].differences + point.differences):
                clear.append(point)
        first, last = clear[0], clear[-1]
        slope = (last.agreement - first.agreement) / max(1, last.states - first.states)
        heights = {point: round(point.agreement - slope * point.states, 12) for point in clear}
        return max(clear, key=lambda point: (heights[point], point.agreement))

    def rows(self) -> list[tuple[int, float, float, float]]:
        """States, agreement, and the interval's two ends, for each point."""
        return [(point.states, point.agreement, *point.interval) for point in self.points]


def agreement_curve(task: LearningTask, words: int = DEFAULT_WORDS) -> Generator[None, None, AgreementCurve]:
    """Learn from ``words`` sampled words, select by as many others, and measure with as many again.

    Yields between pieces of work. When the budget ends during learning, the curve is made of the automata so far;
    before that, BudgetExceeded is raised.
    """
    if words < 1:
        raise InputError(f"{words} words were requested; an agreement is measured with at least 1")
    oracle, distribution = task.oracle, task.distribution
    samples = [distribution.sample(task.rng(f"curve {use}"), words) for use in ("measure", "choose", "learn")]
    measured, chosen = ((sample, oracle.answers(sample)) for sample in samples[:2])
    candidates: list[DFA] = []
    complete = True
    learner, equivalence = task.learner(), ReplayedWords()
    equivalence.keep(Observations.of(oracle, samples[2]))
    try:
        while True:
            task.begin_round(learner)
            candidates.append(minimise(learner.hypothesis))
            answer = yield from equivalence.find_counterexample(learner.hypothesis)
            if answer.counterexample is None:
                break
            yield from refining(learner, answer.counterexample, answer.others)
    except (BudgetExceeded, LearningBoundReached):
        complete = False
        if not candidates:
            raise
    candidates += truncations(candidates[-1], distribution)
    front = _front(candidates, *chosen)
    points = [_point(automaton, *measured) for automaton in front]
    return AgreementCurve(tuple(_rising(points)), complete)


def truncations(dfa: DFA, distribution: WordDistribution) -> Iterator[DFA]:
    """Smaller automata: for d = 0, 1, … states are merged if no suffix of at most d letters distinguishes them.

    Merged states have the transitions of the one that random words visit most.
    """
    visits = _visits(dfa, distribution)
    classes = dfa.accepting.astype(np.int64)
    while True:
        found, classes = np.unique(classes, return_inverse=True)
        heaviest = np.array([np.where(classes == each, visits, -1.0).argmax() for each in range(len(found))])
        table = classes[dfa.transitions[heaviest]]
        yield minimise(DFA(dfa.alphabet, table, dfa.accepting[heaviest], int(classes[dfa.initial])))
        finer = np.unique(np.column_stack([classes, classes[dfa.transitions]]), axis=0, return_inverse=True)[1].ravel()
        if finer.max() == classes.max():
            return
        classes = finer


def _visits(dfa: DFA, distribution: WordDistribution, letters: int = 1_000) -> Probabilities:
    """The probability that a random word ends in each state, up to a length that hardly any exceeds."""
    contexts = len(distribution.stopping)
    here = np.zeros((len(dfa), contexts))
    here[dfa.initial, 0] = 1.0
    ended = np.zeros(len(dfa))
    for _ in range(letters):
        ended += here @ distribution.stopping
        after = np.zeros_like(here)
        for letter in range(len(dfa.alphabet)):
            moving = here * distribution.continuing[:, letter]
            np.add.at(after, (dfa.transitions[:, letter, None], distribution.next_context[None, :, letter]), moving)
        here = after
    return ended


def _front(candidates: Iterable[DFA], words: WordBatch, answers: Mask) -> list[DFA]:
    """The automata that no other one beats in size and agreement, smallest first."""
    scored = [(len(dfa), int((dfa.accepts_batch(words) != answers).sum()), dfa) for dfa in candidates]
    kept: list[DFA] = []
    fewest = len(answers) + 1
    for _, differences, dfa in sorted(scored, key=lambda entry: entry[:2]):
        if differences < fewest:
            fewest = differences
            kept.append(dfa)
    return kept


def _point(automaton: DFA, words: WordBatch, answers: Mask) -> Point:
    return Point(automaton, int((automaton.accepts_batch(words) != answers).sum()), len(answers))


def _rising(points: Sequence[Point]) -> Iterator[Point]:
    """Leave out points that turn out to be no better than a smaller one."""
    fewest = None
    for point in points:
        if fewest is None or point.differences < fewest:
            fewest = point.differences
            yield point
