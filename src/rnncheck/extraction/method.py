"""The contract of every extraction method: from a learning task to an automaton that stands for its model.

Methods that use hidden states end by their own rule, which is no evidence. Their automaton is tested on fresh words
afterwards (``check_on_fresh_words``): the claim rests on that test, whatever the method.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from rnncheck.automata.moore import Hypothesis
from rnncheck.errors import short_repr
from rnncheck.extraction.agreement import AgreementCurve, Point
from rnncheck.learning.equivalence.sampling import SamplingEquivalence
from rnncheck.learning.learning_task import LearningTask
from rnncheck.probability.confidence import Confidence
from rnncheck.proofs.partial_invariant import PartialInvariant
from rnncheck.relations import Relation
from rnncheck.verdict.facts import TotalCost
from rnncheck.verdict.guarantee import at_most
from rnncheck.words import Codes, format_word


@dataclass(frozen=True)
class Extraction:
    """An automaton extracted from a model.

    ``epsilon``: it differs from the model with probability below this, with the requested confidence; None where it
    passed no test, for the reason ``unfinished``. ``how`` describes how the method ended. ``violation`` is a violation
    of the watched property, which ended the extraction. ``measured`` is how often the automaton agrees with the model
    on fresh words, finished or not; ``curve`` the same for automata of other sizes. ``refine`` continues the extraction
    after words on which the automaton is wrong; None where the method cannot.

    Where it rests on boxes of network states (``cells``), no test is needed: the automaton contains the network's
    language, and differs from it with probability ``open_mass`` at most.
    """

    automaton: Hypothesis
    confidence: Confidence
    epsilon: float | None = None
    unfinished: str = ""
    how: str = ""
    violation: Codes | None = None
    refine: Callable[[Sequence[Codes]], Extracting] | None = field(default=None, repr=False, compare=False)
    cost: TotalCost | None = None
    cells: PartialInvariant | None = None
    open_mass: float | None = None
    measured: Point | None = None
    curve: AgreementCurve | None = None
    chosen: str = ""  # why this one, where a larger one agreed a little better

    @property
    def passed(self) -> bool:
        """Whether the automaton passed its test, or needs none."""
        return self.epsilon is not None or (
            self.cells is not None and self.open_mass is not None and self.open_mass < self.confidence.epsilon
        )

    @property
    def sentence(self) -> str:
        """What is known about the automaton."""
        if self.cells is not None and self.open_mass is not None:
            if not self.open_mass:
                return "it accepts exactly the words that the network accepts: this is proved"
            return (
                "it accepts every word that the network accepts: this is proved; it accepts others with probability "
                f"{at_most(self.open_mass)} at most"
            )
        if self.epsilon is None:
            return f"it passed no test: {self.unfinished}"
        sure = f"with confidence {1 - self.confidence.gamma:.6g}"
        return f"it differs from the network with probability below {self.epsilon:.3g}, {sure}"

    @property
    def agreement_sentence(self) -> str:
        """How often it agreed on fresh words."""
        if self.measured is None:
            return "its agreement was not measured: the time ended first"
        low, high = self.measured.interval
        seen = f"{self.measured.agreement:.4f} of {self.measured.words} fresh words"
        return f"it agrees with the network on {seen} ({low:.4f} to {high:.4f} with 95 % confidence)"


Extracting: TypeAlias = Generator[None, None, Extraction]


@dataclass(frozen=True)
class ExtractionMethod:
    """A registered method.

    ``black_box``: it needs only the model's answers, and no hidden states. ``contains``: its automaton contains the
    model's language, by proof; it is not reduced, and is as precise as the enclosure of the network.
    """

    run: Callable[[LearningTask], Extracting]
    black_box: bool = False
    contains: bool = False


def check_on_fresh_words(task: LearningTask, automaton: Hypothesis, how: str) -> Extracting:
    """Test an automaton on words that were not used to make or select it."""
    task.hypothesis = automaton
    equivalence = SamplingEquivalence(task.sampler, task.confidence, Relation.EQUAL, independent=True)
    answer = yield from task.run_test(equivalence.find_counterexample(automaton))
    unfinished = ""
    if answer.counterexample is not None:
        word = short_repr(format_word(task.oracle.alphabet.decode(answer.counterexample)), 120)
        unfinished = f"{how}, but model and automaton differ on the sampled word {word}"
    return Extraction(automaton, task.confidence, answer.epsilon, unfinished, how, answer.violation)
