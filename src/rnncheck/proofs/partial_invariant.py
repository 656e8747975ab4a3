"""What boxes show that are not a proof, or not yet.

The classes of words with their boxes are a finite automaton. In each class the network certainly accepts, certainly
rejects, or the answer is open; a class may also be left without a box, and then the answer is open for every word that
passes it. So there is an automaton of all words that the network may accept, one of the words that it certainly
accepts, and one of the words that may be violations: its probability bounds that of a violation, without a sample.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace

import numpy as np

from rnncheck.automata.dfa import DFA, Mask
from rnncheck.automata.language import least_word
from rnncheck.models.network import RecurrentNetwork
from rnncheck.probability.distributions import WordDistribution
from rnncheck.proofs.abstract_network import AbstractNetwork
from rnncheck.proofs.domains.interval import Interval, Rounding
from rnncheck.proofs.invariant import AtDecision, ClosedBoxes, Ints, Progress, grow_boxes, leaking_classes
from rnncheck.proofs.proof_search import Invariant, ProofSettings
from rnncheck.proofs.word_classes import INITIAL, NO_CLASS, Partition, partition_by_last_letters
from rnncheck.relations import Property, Relation

_MOST_TO_CONTINUE = 500  # classes; where no proof is found, all of them grow until the last round
_ROUNDING = 1e-9  # relative, of an exact probability: far above its rounding error


@dataclass(frozen=True, eq=False)
class PartialInvariant:
    """Classes of words with boxes around their network states, closed under every letter except where ``left`` open.

    A class left open has neither box nor successors: nothing is known of words that pass it. In the others the network
    certainly ``accepts``, certainly ``rejects``, or neither. ``accepts_empty`` is its answer to the empty word.
    """

    prop: Property
    partition: Partition
    boxes: Interval
    left: Mask
    accepts: Mask
    rejects: Mask
    accepts_empty: bool
    context: int
    rounding: Rounding

    @property
    def undecided(self) -> Mask:
        """The classes with a box in which a word may be a violation."""
        partition = self.partition
        wrong = (partition.must_accept & ~self.accepts) | (partition.must_reject & ~self.rejects)
        return np.asarray(wrong & ~self.left)

    @property
    def proved(self) -> bool:
        """Whether no word except the empty one can be a violation."""
        return not (self.left.any() or self.undecided.any())

    def invariant(self) -> Invariant:
        """The same as a proof; only where it is one."""
        if not self.proved:
            raise ValueError("a partial invariant with open answers is no proof")
        return Invariant.of_boxes(self.partition, self.boxes, self.rounding)

    def over_approximation(self) -> DFA:
        """An automaton whose language contains that of the network."""
        return self._automaton(~self.rejects, self.accepts_empty, np.ones(len(self.prop.spec), dtype=bool))

    def under_approximation(self) -> DFA:
        """An automaton whose language is contained in that of the network."""
        return self._automaton(self.accepts, self.accepts_empty, np.zeros(len(self.prop.spec), dtype=bool))

    def surrogate(self) -> DFA:
        """The automaton to compare with the specification: if it satisfies it, so does the network.

        For the relation "subset" it contains the network's language, for "superset" it is contained in it. For "equal"
        it breaks the relation wherever the boxes do not exclude that.
        """
        relation, spec = self.prop.relation, self.prop.spec
        if relation is not Relation.EQUAL:
            return self.over_approximation() if relation is Relation.SUBSET else self.under_approximation()
        wrong = ~spec.accepting
        here = np.where(self.accepts | self.rejects, self.accepts, wrong[self.partition.spec_states])
        return self._automaton(here, self.accepts_empty, wrong)

    def open_words(self) -> DFA:
        """The words whose answer is open: the automata above differ on them."""
        unknown = ~(self.accepts | self.rejects)
        return self._automaton(unknown, False, np.ones(len(self.prop.spec), dtype=bool))

    def unproved(self) -> DFA:
        """The words that the boxes do not exclude as violations."""
        initial = np.array([self.prop.spec.initial])
        empty = bool(self.prop.broken(np.array([self.accepts_empty]), initial)[0])
        return self._automaton(self.undecided, empty, self.prop.may_violate)

    def _automaton(self, here: Mask, empty: bool, beyond: Mask) -> DFA:
        """The states are the classes, then those of the specification for words that have passed a class left open.

        ``here`` and ``beyond`` are the accepting states of each part; ``empty`` is the answer to the empty word.
        """
        spec, partition = self.prop.spec, self.partition
        classes, successors = len(partition), partition.successors
        passed = classes + spec.transitions[partition.spec_states].astype(np.int64)
        known = (successors != NO_CLASS) & ~self.left[successors]
        table = np.where(known, successors, passed)
        accepting = np.concatenate([here & ~self.left, beyond])
        accepting[INITIAL] = empty
        return DFA(spec.alphabet, np.vstack([table, classes + spec.transitions]), accepting, INITIAL)


def probability_bound(distribution: WordDistribution, words: DFA) -> float:
    """An upper bound of the probability of these words; 0 only where there are none.

    Words that are never drawn, or with a probability below the smallest float, still count.
    """
    if least_word(words) is None:
        return 0.0
    return min(1.0, max(distribution.mass(words) * (1.0 + _ROUNDING), np.finfo(np.float64).tiny.item()))


def best_partial_invariant(
    network: RecurrentNetwork,
    prop: Property,
    context: int,
    accepts_empty: bool,
    settings: ProofSettings,
    weight: Callable[[PartialInvariant], float],
) -> Generator[Progress, None, PartialInvariant | None]:
    """The partial invariant of least weight for a context, with classes at the decision left open or propagated."""
    best: PartialInvariant | None = None
    for at_decision in (AtDecision.LEAVE, AtDecision.CONTINUE):
        found = yield from find_partial_invariant(network, prop, context, at_decision, accepts_empty, settings)
        if best is None or (found is not None and weight(found) < weight(best)):
            best = found
        if best is None or weight(best) == 0.0 or len(best.partition) > _MOST_TO_CONTINUE:
            break
    return best


def find_partial_invariant(
    network: RecurrentNetwork,
    prop: Property,
    context: int,
    at_decision: AtDecision,
    accepts_empty: bool,
    settings: ProofSettings,
) -> Generator[Progress, None, PartialInvariant | None]:
    """The partial invariant by the last ``context`` letters; None where the partition has too many classes."""
    partition = partition_by_last_letters(prop, context, settings.classes)
    if partition is None:
        return None
    abstract = AbstractNetwork(network, settings.rounding)
    end = yield from grow_boxes(abstract, partition, settings.padding, settings.rounds, at_decision)
    assert isinstance(end, ClosedBoxes)  # never stuck: the search does not stop at the decision
    left = end.left
    # Check everything again from the boxes alone; usually no class leaks.
    while len(out := leaking_classes(abstract, partition, end.boxes, left)):
        left = left.copy()
        left[out] = True
    partition, boxes, left = _restrict_to_reached(partition, end.boxes, left)
    accepts, rejects = (np.asarray(abstract.margin(boxes, accept) > 0.0) & ~left for accept in (True, False))
    return PartialInvariant(prop, partition, boxes, left, accepts, rejects, accepts_empty, context, settings.rounding)


def _restrict_to_reached(partition: Partition, boxes: Interval, left: Mask) -> tuple[Partition, Interval, Mask]:
    """Only the classes that are reached without passing one left open."""
    reached = np.zeros(len(partition), dtype=bool)
    reached[INITIAL] = True
    front: Ints = np.array([INITIAL])
    while len(front):
        onward = np.unique(partition.successors[front[~left[front]]])
        front = onward[(onward != NO_CLASS) & ~reached[onward]]
        reached[front] = True
    kept = np.flatnonzero(reached)
    number = np.full(len(partition) + 1, NO_CLASS)  # the last entry is for NO_CLASS
    number[kept] = np.arange(len(kept))
    successors = number[partition.successors[kept]]
    successors[left[kept]] = NO_CLASS
    trimmed = replace(
        partition,
        successors=successors,
        spec_states=partition.spec_states[kept],
        must_accept=partition.must_accept[kept],
        must_reject=partition.must_reject[kept],
        contexts=tuple(partition.contexts[at] for at in kept.tolist()),
    )
    return trimmed, boxes[kept], left[kept]
