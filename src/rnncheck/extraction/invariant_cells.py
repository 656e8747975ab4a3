"""Automata that contain a network's language, by proof: classes of words with boxes of network states.

Where the boxes do not determine the network's answer, the automaton accepts. This is proved and needs no sample: the
automaton accepts every word that the network accepts. Words are classified by their last letters and by the state of an
automaton before these: that of the verified property, or else one that is learned first. The latter may be wrong: it
determines how precise the result is, not whether it is right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from rnncheck.automata.dfa import DFA
from rnncheck.automata.minimisation import minimise
from rnncheck.errors import ModelError
from rnncheck.extraction.method import Extracting, Extraction
from rnncheck.extraction.pac import pac
from rnncheck.learning.learning_task import LearningTask
from rnncheck.models.engine.stepped_reference import SteppedReference
from rnncheck.models.labelled import network_of
from rnncheck.models.network import RecurrentNetwork
from rnncheck.proofs.invariant import Progress
from rnncheck.proofs.partial_invariant import PartialInvariant, best_partial_invariant, probability_bound
from rnncheck.proofs.proof_search import ProofSettings
from rnncheck.relations import Property, Relation
from rnncheck.runtime.cooperative import CooperativeWork, reporting
from rnncheck.words import Codes

_ROUNDS = 100  # proofs that close mostly need fewer


def cells(task: LearningTask) -> Extracting:
    """With a watched property, the cells of one context after the other; else the best of all contexts."""
    try:
        network = network_of(task.oracle.model)
    except ModelError:
        kind = task.oracle.model.describe().get("kind", "a model")
        raise ModelError(
            f"the extraction method cells encloses the states of a network by its weights, and this model ({kind}) "
            "shows none; give a network file, or choose another method"
        ) from None
    if task.watched is not None:
        return (yield from _Cells(task, network, task.watched).of_context(0))
    learned = yield from pac(task)
    return (yield from _Cells(task, network, Property(minimise(learned.automaton.support), Relation.EQUAL)).best())


@dataclass(frozen=True)
class _Cells:
    """``guide`` has the automaton whose states classify words, with the answers that the network should give there."""

    task: LearningTask
    network: RecurrentNetwork
    guide: Property

    def of_context(self, context: int) -> Extracting:
        """The surrogate by the last ``context`` letters; after a spurious suspect it is refined by one letter more."""
        found = yield from self._find_cells(context, lambda each: self._mass(each.unproved()))
        if found is None:
            return self._extraction(None, f"contexts of {context} letters need more than {self._most} classes")

        def refine(spurious: Sequence[Codes]) -> Extracting:
            return self.of_context(context + 1)

        last = context == self._settings.context
        extraction = self._extraction(found, f"contexts of {context} letters, the longest tried, are too short")
        return extraction if last else replace(extraction, refine=refine)

    def best(self) -> Extracting:
        """The cells with the least probability of words whose answer is open, over all contexts."""
        best: PartialInvariant | None = None
        least = 1.0
        for context in range(self._settings.context + 1):
            found = yield from self._find_cells(context, lambda each: self._mass(each.open_words()))
            if found is None:
                break
            mass = self._mass(found.open_words())
            if best is None or mass < least:
                best, least = found, mass
                self.task.hypothesis = minimise(found.over_approximation())
                self.task.so_far = partial(self._extraction, best)
            if not least:
                break
        return self._extraction(best, "the boxes leave the answers to other words open")

    def _find_cells(
        self, context: int, weight: Callable[[PartialInvariant], float]
    ) -> CooperativeWork[PartialInvariant | None]:
        empty = self.task.oracle.reference_answer(())
        work = best_partial_invariant(self.network, self.guide, context, empty, self._settings, weight)
        return (yield from reporting(work, self._report))

    def _report(self, progress: Progress) -> None:
        self.task.boxes = (progress.growing, progress.classes)

    def _extraction(self, found: PartialInvariant | None, unfinished: str) -> Extraction:
        task = self.task
        task.rounds += 1
        if found is None:  # this automaton contains every language
            task.hypothesis = task.constants()[1]
            return Extraction(task.hypothesis, task.confidence, unfinished=unfinished, open_mass=1.0)
        task.hypothesis = minimise(found.over_approximation() if task.watched is None else found.surrogate())
        own = isinstance(task.oracle.model.by_reference(), SteppedReference)
        return Extraction(
            task.hypothesis,
            task.confidence,
            unfinished=unfinished,
            how=f"{len(found.partition)} classes of words by their last {found.context} letters"
            + ("" if own else ", of the weights as they were read"),
            cells=found,
            open_mass=self._mass(found.open_words()),
        )

    def _mass(self, words: DFA) -> float:
        return probability_bound(self.task.distribution, words)

    @property
    def _most(self) -> int:
        return self.task.max_states - len(self.guide.spec)

    @property
    def _settings(self) -> ProofSettings:
        return ProofSettings(classes=max(1, self._most), rounds=_ROUNDS)
