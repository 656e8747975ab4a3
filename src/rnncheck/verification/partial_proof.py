"""Partial proofs, where boxes do not prove all words: which words are proved, and up to which length all are."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rnncheck.models.network import RecurrentNetwork
from rnncheck.proofs.bounded import BoundedProof, prove_bounded
from rnncheck.proofs.certifying import certificate_of
from rnncheck.proofs.invariant import Progress
from rnncheck.proofs.partial_invariant import PartialInvariant, best_partial_invariant, probability_bound
from rnncheck.proofs.projection import project_boxes
from rnncheck.runtime.cooperative import CooperativeWork, reporting
from rnncheck.verdict.facts import Outcome
from rnncheck.verdict.guarantee import at_most
from rnncheck.verification.verification_task import Algorithm, Finding, Task

# Without a proof boxes grow until they are stopped, and more of them show little more.
_CLASSES = 2_000
_ROUNDS = 100


def prove_partly(task: Task, network: RecurrentNetwork, why: str) -> Algorithm:
    """Bound the probability of unproved words, and prove short words separately. ``why``: why not all are proved.

    "Satisfied" where that bound is below the requested one; the empty word was queried before.
    """
    part = _Part(task, network)
    task.last_look = lambda ended: part.so_far(f"{ended}; {why}")
    yield from part.lengths()
    yield from part.cells()
    return part.finding(why)


@dataclass
class _Part:
    """The results so far."""

    task: Task
    network: RecurrentNetwork
    best: PartialInvariant | None = None
    bound: float = 1.0
    longest: BoundedProof | None = None

    def __post_init__(self) -> None:
        own = self.task.settings.proof
        self._settings = replace(own, classes=min(own.classes, _CLASSES), rounds=min(own.rounds, _ROUNDS))
        self.bound = self.task.may_violate.mass  # which holds whatever the network answers

    def lengths(self) -> CooperativeWork[None]:
        """The greatest length to which all words are proved, over all contexts."""
        for context in range(self._settings.context + 1):
            work = prove_bounded(self.network, self.task.prop, context, self._settings)
            found = yield from reporting(work, self._report)
            if found is None:
                break
            if self.longest is None or found.length > self.longest.length:
                self.longest = found
            if found.length == self._settings.longest:
                break

    def cells(self) -> CooperativeWork[None]:
        """The cells that leave the least probability unproved, over all contexts."""
        empty = self.task.oracle.reference_answer(())
        for context in range(self._settings.context + 1):
            work = best_partial_invariant(self.network, self.task.prop, context, empty, self._settings, self._unproved)
            found = yield from reporting(work, self._report)
            if found is None:
                break
            if self._unproved(found) < self.bound:
                self.best, self.bound = found, self._unproved(found)

    def finding(self, why: str) -> Finding:
        """The strongest finding."""
        task, best = self.task, self.best
        if best is None:
            return Finding(Outcome.UNDECIDED, f"not proved: {why}", lengths=self.longest)
        enough = self.bound < task.settings.proof.epsilon
        reason = (
            f"{len(best.partition)} boxes prove all words except some with probability at most {at_most(self.bound)}"
            if enough
            else f"not proved: {why}"
        )
        return Finding(
            Outcome.SATISFIED if enough else Outcome.UNDECIDED,
            reason,
            certificate=certificate_of(best, self.network, task.prop, best.accepts_empty),
            unproved=self.bound,
            shown=project_boxes(self.network, best),
            lengths=self.longest,
        )

    def so_far(self, why: str) -> Algorithm:
        """The finding when the budget has ended."""
        yield None
        return self.finding(why)

    def _unproved(self, cells: PartialInvariant) -> float:
        return probability_bound(self.task.distribution, cells.unproved())

    def _report(self, progress: Progress) -> None:
        self.task.boxes = (progress.growing, progress.classes)
