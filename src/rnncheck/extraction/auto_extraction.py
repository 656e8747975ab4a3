"""Extraction by several methods in turns; the first automaton that passes a test is the result.

A small language is learned from answers at once, and then nothing else is tried. Where the learner is not done after a
while, the language is large or the network noisy: cells of its hidden states, if it shows them, and state merging then
have their share of the work, counted in letters and not in seconds. Each method has its share of γ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from rnncheck.extraction.decision_tree import tree
from rnncheck.extraction.merging import merging
from rnncheck.extraction.method import Extracting, Extraction
from rnncheck.extraction.pac import pac
from rnncheck.learning.learning_task import LearningTask
from rnncheck.probability.confidence import Confidence

_PATIENCE = 100_000  # letters of the method before it that a method waits for
# How many letters of a method are as much work as one of a learner: a tree reads thousands at once.
_LETTERS_FOR_ONE = MappingProxyType({"tree": 64})

_RUNS: Mapping[str, Callable[[LearningTask], Extracting]] = MappingProxyType(
    {"pac": pac, "tree": tree, "merging": merging}
)


@dataclass
class _Run:
    """A running method, with its own task and the letters of its queries.

    The letters of a test count once it has failed: while an automaton passes, there is no reason to try another method.
    """

    name: str
    task: LearningTask
    work: Extracting
    letters: int
    testing: int = 0
    ended: Extraction | None = None

    @classmethod
    def of(cls, name: str, task: LearningTask, confidence: Confidence, letters: int) -> _Run:
        own = task.sibling(confidence)
        return cls(name, own, _RUNS[name](own), letters)

    def turn(self) -> None:
        """One piece of work."""
        before = self.task.oracle.cost.work
        try:
            next(self.work)
        except StopIteration as end:
            self.ended = end.value
        self.testing += (self.task.oracle.cost.work - before) // _LETTERS_FOR_ONE.get(self.name, 1)
        if not self.task.testing:
            self.letters, self.testing = self.letters + self.testing, 0


def auto(task: LearningTask) -> Extracting:
    """Give the next turn to the method that has had the least work, until an automaton passes or all have ended."""
    names = _applicable(task)
    share = replace(task.confidence, gamma=task.confidence.gamma / len(names))
    runs = [_Run.of(name, task, share, place * _PATIENCE) for place, name in enumerate(names)]
    task.so_far = lambda why: _unfinished(task, runs, why)
    while active := [run for run in runs if run.ended is None]:
        run = min(active, key=lambda each: each.letters)
        run.turn()
        task.working, task.hypothesis, task.rounds = run.name, run.task.latest(), run.task.rounds
        if run.ended is not None and (run.ended.passed or run.ended.violation is not None):
            return replace(run.ended, confidence=task.confidence, how=_why(runs, run))
        yield
    first = runs[0].ended
    assert first is not None
    ends = "; ".join(f"{run.name}: {run.ended.unfinished}" for run in runs if run.ended is not None)
    return replace(first, confidence=task.confidence, unfinished=ends)


def _unfinished(task: LearningTask, runs: list[_Run], why: str) -> Extraction:
    """The result when the work is ended from outside, with the progress of each method."""
    latest = task.latest() or task.constants()[0]
    started = [run for run in runs if run.task.latest() is not None] or runs[:1]
    worked = ", ".join(f"{run.name} ({'ended' if run.ended is not None else 'running'})" for run in started)
    return Extraction(latest, task.confidence, unfinished=f"{why}; no automaton had passed", how=f"tried: {worked}")


def _applicable(task: LearningTask) -> list[str]:
    """The methods that this task allows, in order; with the user's own words merging comes first."""
    states_usable = task.oracle.stepping and not task.several_labels and task.max_length is None
    others = ["tree", "merging"] if states_usable else ["merging"]
    return ["merging", "pac", *others[:-1]] if task.settings.known_words else ["pac", *others]


def _why(runs: list[_Run], passed: _Run) -> str:
    """Which method made the automaton, and which others were tried."""
    worked = [run.name for run in runs if run is not passed and run.letters > runs.index(run) * _PATIENCE]
    if not worked:
        return f"{passed.name} finished at once, so nothing else was tried"
    return f"{passed.name} was the first to pass; {' and '.join(worked)} were tried too"
