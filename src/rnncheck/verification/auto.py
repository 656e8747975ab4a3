"""All of it at once: exhaustive search, guided search, property-directed learning and sampling, taking turns.

They share one oracle, so that none pays for what another has asked. A turn goes to the activity that has had the
least of its share of network steps, so the order depends on the question alone and not on the clock. The first
confirmed violation ends all; when the sample is large enough, the strongest guarantee earned is given.
"""

from __future__ import annotations

from dataclasses import dataclass

from rnncheck.exhaustive import ExhaustiveSearch
from rnncheck.guided import GuidedSearch
from rnncheck.models.protocol import SteppingModel
from rnncheck.prefix_tree import PrefixTree
from rnncheck.verdict import Outcome
from rnncheck.verification.pdv import pdv
from rnncheck.verification.smc import smc
from rnncheck.verification.task import Algorithm, Finding, Task, violated


@dataclass
class _Activity:
    """An algorithm with a share of the work. ``decides``: its own end ends everything."""

    algorithm: Algorithm
    share: float
    decides: bool
    steps: int = 0
    finding: Finding | None = None

    @property
    def urgency(self) -> float:
        return self.steps / self.share


def auto(task: Task) -> Algorithm:
    """Give each activity its share until one finds a violation or the sampling is done."""
    activities = [_Activity(smc(task), 1.0, decides=True), _Activity(pdv(task), 1.0, decides=False)]
    if isinstance(task.oracle.model, SteppingModel):
        activities += [
            _Activity(exhaustive(task), 0.25, decides=False),
            _Activity(guided(task), 1.0, decides=False),
        ]
    hypothesis_epsilon = None
    while True:
        running = [activity for activity in activities if activity.finding is None]
        activity = min(running, key=lambda activity: activity.urgency)
        before = task.oracle.cost.network_steps
        try:
            next(activity.algorithm)
        except StopIteration as stop:
            finding: Finding = stop.value
            if finding.outcome is Outcome.VIOLATED:
                return finding
            hypothesis_epsilon = finding.hypothesis_epsilon or hypothesis_epsilon
            if activity.decides or finding.outcome is Outcome.SATISFIED:
                return Finding(finding.outcome, finding.reason, hypothesis_epsilon=hypothesis_epsilon)
            activity.finding = finding
        # A turn without a step (a question answered from memory) still counts a little, or it could go on for ever.
        activity.steps += max(1, task.oracle.cost.network_steps - before)
        yield


def exhaustive(task: Task, longest: int | None = None) -> Algorithm:
    """Ask every word, shortest first, up to a length (without end where none is given)."""
    search = ExhaustiveSearch(_tree(task))
    while not search.finished and (longest is None or search.length < longest):
        search.next_length()
        if task.confirmed(search.violation):
            return violated(search.violation, "the shortest of all violations, by exhaustive search")
        task.state.exact_length = search.length
        yield
    if search.finished:
        return Finding(Outcome.SATISFIED, "no word at all can be a violation")
    return Finding(
        Outcome.UNDECIDED, f"every word of at most {search.length} letters was asked, and none is a violation"
    )


def guided(task: Task) -> Algorithm:
    """Follow the model's scores towards a violation, until somebody stops the search."""
    search = GuidedSearch(_tree(task), task.rng("guided"))
    while not search.finished:
        search.advance()
        yield
    if task.confirmed(search.violation):
        return violated(search.violation, "found by following the model's scores, confirmed")
    return Finding(Outcome.SATISFIED, "no word at all can be a violation")


def _tree(task: Task) -> PrefixTree:
    model = task.oracle.model
    assert isinstance(model, SteppingModel)
    return PrefixTree(model, task.spec, task.relation, task.oracle.tick)
