"""All of it at once: exhaustive search, guided search, repeated loops, property-directed learning and sampling, taking
turns.

They share one oracle, so that none pays for what another has asked. A turn goes to the activity that will have had the
least of its share of the work after it. An algorithm that knows what its next turn takes says so; of the others it is
what the last one took. So what takes long turns waits until the others have come so far, and the order depends on the
question alone and not on the clock or on what is remembered. The first confirmed violation ends all; when the sample is
large enough, and no proof can be had cheaply, the strongest guarantee so far is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rnncheck.errors import ModelError
from rnncheck.verdict.facts import Outcome
from rnncheck.verification.methods.pdv import pdv
from rnncheck.verification.methods.proof_method import prove_cheaply
from rnncheck.verification.methods.smc import by_mass, sample_possible, smc
from rnncheck.verification.searches import exhaustive, guided, mutation, repeated_loops
from rnncheck.verification.verification_task import Algorithm, Finding, Task

_LESS = 0.25  # the share of what rarely finds anything that the others do not
_RARE = 0.5  # words that could be violations are drawn apart where random words are it less often
_LEAST_PRICE = 256  # steps that a turn is charged with at least
_LOOPS = 5  # one step of the searches in so many repeats loops of the property
_WHOLE_WORDS = 4  # the search has one step for so many, where the model only knows whole words


@dataclass
class _Activity:
    """An algorithm with a share of the work."""

    algorithm: Algorithm
    share: float
    steps: int = 0
    turns: int = 0
    ahead: int = 0  # steps of its next turn, about: where it does not know them, those of its last one
    finding: Finding | None = None
    failure: ModelError | None = None

    @property
    def running(self) -> bool:
        return self.finding is None and self.failure is None

    @property
    def begun(self) -> bool:
        """Whether it has done a piece of work; in its first turn it may only say what that will take."""
        return self.turns > 1 or not self.running

    def turn(self, task: Task) -> None:
        """Let the algorithm work until it yields or ends."""
        before, known = task.oracle.cost.work, None
        try:
            known = next(self.algorithm)
        except StopIteration as end:
            self.finding = end.value
        except ModelError as error:
            self.failure = error
        # A turn of few steps takes time too, and one that needs none could have all the turns.
        taken = max(_LEAST_PRICE, task.oracle.cost.work - before)
        self.steps += taken
        self.turns += 1
        self.ahead = taken if known is None else known

    @property
    def due(self) -> float:
        """When its next turn is: what it will have had of its share then."""
        return (self.steps + self.ahead) / self.share


def auto(task: Task) -> Algorithm:
    """Give each activity its share until one finds a violation, or all that was promised is done.

    "Satisfied" needs the sample (or a tested hypothesis), a piece of work of each activity, and ``search_steps`` spent
    in vain on the guided search and on loops of the property's automaton.
    Where the model fails one activity (on long words, say), the others may still find a violation; if they do not,
    the failure is the result.
    """
    # Coverage finds a violation in two thirds of the steps that sampling needs here (benchmarks/README.md).
    sampling, learning = _Activity(smc(task), 1.0), _Activity(pdv(task, "coverage"), 1.0)
    stepping = task.oracle.stepping
    searching = _Activity(guided(task) if stepping else mutation(task), 1.0)
    activities = [sampling, learning]
    alone = task.may_violate.alone_below_epsilon
    if alone:  # sampling draws words that could be violations, and no sample is needed for ε
        sampling.share = _LESS
    elif 0.0 < task.may_violate.mass < _RARE:
        activities.append(_Activity(sample_possible(task), _LESS))
    # A model without states reads every word from its beginning, and mostly slowly.
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
            if not _hopeful([sampling, learning, searching], search_steps):
                raise failure
            continue
        if finding is not None and finding.outcome is Outcome.SATISFIED:
            task.best_so_far = _stronger(task.best_so_far, finding)
        searched = searching.steps + repeating.steps >= search_steps and all(some.begun for some in activities)
        if searched and (task.best_so_far or alone):
            proof = yield from prove_cheaply(task)
            return (task.best_so_far or by_mass(task)) if proof.outcome is Outcome.UNDECIDED else proof
        if not sampling.running:  # the sample is complete: what is left to do is the search
            activities = [some for some in activities if some is not learning]


def _hopeful(activities: Sequence[_Activity], search_steps: int) -> bool:
    """Whether one of them still looks for a violation, within the steps that a search in vain may take."""
    running = [some for some in activities if some.running]
    return bool(running) and max(some.steps for some in running) < search_steps


def _stronger(earlier: Finding | None, later: Finding) -> Finding:
    """The finding that also says something about a hypothesis."""
    return earlier if earlier is not None and later.hypothesis_epsilon is None else later
