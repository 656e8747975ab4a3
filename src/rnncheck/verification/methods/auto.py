"""All of them in turns: exhaustive search, guided search, repeated loops, property-directed learning and sampling.

They share one oracle, so that none pays for what another has queried. The next turn goes to the activity that will have
had the least of its share of the work after it. Some algorithms yield the work of their next turn; for the others it is
that of their last turn. So an activity with long turns waits until the others have caught up, and the order depends on
the question alone and not on the clock or the cache. The first confirmed violation ends all; when the sample is large
enough, and a cheap proof fails, the strongest guarantee so far is the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rnncheck.errors import ModelError
from rnncheck.verdict.facts import Outcome
from rnncheck.verification.methods.pdv import pdv
from rnncheck.verification.methods.proof_method import prove_cheaply
from rnncheck.verification.methods.smc import by_mass, sample_may_violate, smc
from rnncheck.verification.searches import exhaustive, guided, mutation, repeated_loops
from rnncheck.verification.verification_task import Algorithm, Finding, Task

_LESS = 0.25  # the share of activities that rarely find what the others do not
_RARE = 0.5  # words that could be violations are also sampled separately where random words are less often such
_LEAST_PRICE = 256  # steps that a turn is charged with at least
_LOOPS = 5  # one in this many steps of the searches repeats loops of the property
_WHOLE_WORDS = 4  # the searches of black-box models have this many times fewer steps


@dataclass
class _Activity:
    """An algorithm with a share of the work."""

    algorithm: Algorithm
    share: float
    steps: int = 0
    turns: int = 0
    next_steps: int = 0  # expected steps of its next turn: as yielded, or those of its last turn
    finding: Finding | None = None
    failure: ModelError | None = None

    @property
    def running(self) -> bool:
        return self.finding is None and self.failure is None

    @property
    def started(self) -> bool:
        """Whether it has done a piece of work; its first turn may only yield what that will take."""
        return self.turns > 1 or not self.running

    def turn(self, task: Task) -> None:
        """Let the algorithm work until it yields or ends."""
        before, announced = task.oracle.cost.work, None
        try:
            announced = next(self.algorithm)
        except StopIteration as end:
            self.finding = end.value
        except ModelError as error:
            self.failure = error
        # Turns of few steps take time too, and an activity without steps could take all turns.
        taken = max(_LEAST_PRICE, task.oracle.cost.work - before)
        self.steps += taken
        self.turns += 1
        self.next_steps = taken if announced is None else announced

    @property
    def due(self) -> float:
        """Its priority: its work after the next turn, relative to its share. The least is next."""
        return (self.steps + self.next_steps) / self.share


def auto(task: Task) -> Algorithm:
    """Give each activity its share until one finds a violation, or all required work is done.

    "Satisfied" needs the sample (or a tested hypothesis), a piece of work of each activity, and ``search_steps`` spent
    on the guided search and on loops of the property's automaton without a violation.
    Where the model fails one activity (on long words, say), the others may still find a violation; if they do not,
    the failure is the result.
    """
    # Coverage finds a violation in two thirds of the steps that sampling needs here (benchmarks/README.md).
    sampling, learning = _Activity(smc(task), 1.0), _Activity(pdv(task, "coverage"), 1.0)
    stepping = task.oracle.stepping
    searching = _Activity(guided(task) if stepping else mutation(task), 1.0)
    activities = [sampling, learning]
    below_epsilon = task.may_violate.below_epsilon
    if below_epsilon:  # then sampling draws words that could be violations, and ε needs no sample
        sampling.share = _LESS
    elif 0.0 < task.may_violate.mass < _RARE:
        activities.append(_Activity(sample_may_violate(task), _LESS))
    # A black-box model reads every word from the start, and mostly slowly.
    search_steps = task.settings.search_steps // (1 if stepping else _WHOLE_WORDS)
    repeating = _Activity(repeated_loops(task, search_steps // _LOOPS), _LESS)
    activities += [searching, _Activity(exhaustive(task), _LESS), repeating]
    while True:
        activity = min((some for some in activities if some.running), key=lambda some: some.due)
        activity.turn(task)
        yield None
        finding = activity.finding
        if finding is not None and (finding.outcome is Outcome.VIOLATED or finding.proof):
            return finding
        failure = next((some.failure for some in activities if some.failure is not None), None)
        if failure is not None:
            task.best_so_far = Finding(Outcome.UNDECIDED, str(failure))
            if not _can_find_violation([sampling, learning, searching], search_steps):
                raise failure
            continue
        if finding is not None and finding.outcome is Outcome.SATISFIED:
            task.best_so_far = _stronger(task.best_so_far, finding)
        searched = searching.steps + repeating.steps >= search_steps and all(some.started for some in activities)
        if searched and (task.best_so_far or below_epsilon):
            proof = yield from prove_cheaply(task)
            return (task.best_so_far or by_mass(task)) if proof.outcome is Outcome.UNDECIDED else proof
        if not sampling.running:  # the sample is complete: only the search remains
            activities = [some for some in activities if some is not learning]


def _can_find_violation(activities: Sequence[_Activity], search_steps: int) -> bool:
    """Whether one of them is still searching, within the limit of search steps."""
    running = [some for some in activities if some.running]
    return bool(running) and max(some.steps for some in running) < search_steps


def _stronger(earlier: Finding | None, later: Finding) -> Finding:
    """The finding that also has a bound for a hypothesis."""
    return earlier if earlier is not None and later.hypothesis_epsilon is None else later
