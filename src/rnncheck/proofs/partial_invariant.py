"""Boxes that are no proof, or not yet: what they show all the same.

The classes of words with their boxes are a finite automaton. In each class the network certainly accepts, certainly
rejects, or it is open; a class may also be left without a box, and then it is open for every word that passes it. So
there is an automaton that accepts whatever the network may accept, one that accepts what it must accept, and one of the
words that are not proved to be answered as they should: its probability bounds that of a violation, without a sample.
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
from rnncheck.proofs.domains.interval import Box, Rounding
from rnncheck.proofs.invariant import AtDecision, Closed, Ints, Progress, close, leaks
from rnncheck.proofs.proof_search import Invariant, ProofSettings
from rnncheck.proofs.word_classes import INITIAL, NO_CLASS, Partition, last_letters
from rnncheck.relations import Property, Relation

_MOST_GOING_ON = 500  # classes: where nothing closes, all of them grow until the last round
_ROUNDING = 1e-9  # relative, of an exact mass: far above what its floats leave open


@dataclass(frozen=True, eq=False)
class Cells:
    """Classes of words with boxes that hold their network states: closed under every letter, but for what is ``left``.

    A class that is left has neither box nor successors: of words that pass it nothing is known. In the others the
    network ``accepts``, or ``rejects``, for certain, or neither. ``accepts_empty`` is its answer to the empty word.
    """

    wanted: Property
    partition: Partition
    boxes: Box
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
        """Whether no word but the empty one can be a violation."""
        return not (self.left.any() or self.undecided.any())

    def invariant(self) -> Invariant:
        """The proof that they are, where they are one."""
        if not self.proved:
            raise ValueError("these cells are no proof: some answer is open")
        return Invariant.of_boxes(self.partition, self.boxes, self.rounding)

    def containing(self) -> DFA:
        """An automaton whose language contains that of the network."""
        return self._automaton(~self.rejects, self.accepts_empty, np.ones(len(self.wanted.spec), dtype=bool))

    def contained(self) -> DFA:
        """An automaton whose language is contained in that of the network."""
        return self._automaton(self.accepts, self.accepts_empty, np.zeros(len(self.wanted.spec), dtype=bool))

    def surrogate(self) -> DFA:
        """The automaton to hold against the specification: where it satisfies it, the network does.

        It contains the network's language where the relation is "subset", and is contained in it for "superset". For
        "equal" it breaks the relation wherever the boxes do not exclude that.
        """
        relation, spec = self.wanted.relation, self.wanted.spec
        if relation is not Relation.EQUAL:
            return self.containing() if relation is Relation.SUBSET else self.contained()
        wrong = ~spec.accepting
        here = np.where(self.accepts | self.rejects, self.accepts, wrong[self.partition.spec_states])
        return self._automaton(here, self.accepts_empty, wrong)

    def open_words(self) -> DFA:
        """The words whose answer is open: the automata above differ on them."""
        unknown = ~(self.accepts | self.rejects)
        return self._automaton(unknown, False, np.ones(len(self.wanted.spec), dtype=bool))

    def unproved(self) -> DFA:
        """The words that may be violations, by what the boxes show."""
        initial = np.array([self.wanted.spec.initial])
        empty = bool(self.wanted.broken(np.array([self.accepts_empty]), initial)[0])
        return self._automaton(self.undecided, empty, self.wanted.may_violate)

    def _automaton(self, here: Mask, empty: bool, beyond: Mask) -> DFA:
        """States are the classes, and then those of the specification, for words that have passed what is left.

        Accepted are words that end where ``here`` or ``beyond`` says so, and the ``empty`` word where that is told.
        """
        spec, partition = self.wanted.spec, self.partition
        classes, successors = len(partition), partition.successors
        passed = classes + spec.transitions[partition.spec_states].astype(np.int64)
        known = (successors != NO_CLASS) & ~self.left[successors]
        table = np.where(known, successors, passed)
        accepting = np.concatenate([here & ~self.left, beyond])
        accepting[INITIAL] = empty
        return DFA(spec.alphabet, np.vstack([table, classes + spec.transitions]), accepting, INITIAL)


def mass_above(distribution: WordDistribution, words: DFA) -> float:
    """A bound of the probability of these words, from above; 0 where there are none, and only there.

    Words that are never drawn, or so rarely that floats cannot tell, are words all the same.
    """
    if least_word(words) is None:
        return 0.0
    return min(1.0, max(distribution.mass(words) * (1.0 + _ROUNDING), np.finfo(np.float64).tiny.item()))


def best_cells(
    network: RecurrentNetwork,
    wanted: Property,
    context: int,
    accepts_empty: bool,
    settings: ProofSettings,
    weight: Callable[[Cells], float],
) -> Generator[Progress, None, Cells | None]:
    """The cells of least weight for a context: a class where a box reaches the decision is left, or it is not."""
    best: Cells | None = None
    for at_decision in (AtDecision.LEAVE, AtDecision.GO_ON):
        found = yield from find_cells(network, wanted, context, at_decision, accepts_empty, settings)
        if best is None or (found is not None and weight(found) < weight(best)):
            best = found
        if best is None or weight(best) == 0.0 or len(best.partition) > _MOST_GOING_ON:
            break
    return best


def find_cells(
    network: RecurrentNetwork,
    wanted: Property,
    context: int,
    at_decision: AtDecision,
    accepts_empty: bool,
    settings: ProofSettings,
) -> Generator[Progress, None, Cells | None]:
    """The cells of the partition by the last ``context`` letters; None where it has too many classes."""
    partition = last_letters(wanted, context, settings.classes)
    if partition is None:
        return None
    abstract = AbstractNetwork(network, settings.rounding)
    end = yield from close(abstract, partition, settings.padding, settings.rounds, at_decision)
    assert isinstance(end, Closed)  # it goes on, so it is never stuck
    left = end.left
    # All is checked again, from the boxes alone; as a rule nothing leaks.
    while len(out := leaks(abstract, partition, end.boxes, left)):
        left = left.copy()
        left[out] = True
    partition, boxes, left = _reached(partition, end.boxes, left)
    accepts, rejects = (np.asarray(abstract.clearance(boxes, accept) > 0.0) & ~left for accept in (True, False))
    return Cells(wanted, partition, boxes, left, accepts, rejects, accepts_empty, context, settings.rounding)


def _reached(partition: Partition, boxes: Box, left: Mask) -> tuple[Partition, Box, Mask]:
    """Only the classes that words lead to without passing one that is left."""
    reached = np.zeros(len(partition), dtype=bool)
    reached[INITIAL] = True
    front: Ints = np.array([INITIAL])
    while len(front):
        onward = np.unique(partition.successors[front[~left[front]]])
        front = onward[(onward != NO_CLASS) & ~reached[onward]]
        reached[front] = True
    kept = np.flatnonzero(reached)
    number = np.full(len(partition) + 1, NO_CLASS)  # the last stands for no class
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
