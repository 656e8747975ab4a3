"""Learning automata from a model: learners, and the equivalence oracles that test their hypotheses."""

from rnncheck.learning.equivalence import EQUIVALENCES
from rnncheck.learning.equivalence.oracle import EquivalenceAnswer, EquivalenceOracle
from rnncheck.learning.learners import LEARNERS, make_learner
from rnncheck.learning.learners.counterexamples import Search
from rnncheck.learning.learners.learner import MAX_HYPOTHESIS_STATES, Learner
from rnncheck.oracle import Query

__all__ = [
    "EQUIVALENCES",
    "LEARNERS",
    "MAX_HYPOTHESIS_STATES",
    "EquivalenceAnswer",
    "EquivalenceOracle",
    "Learner",
    "Query",
    "Search",
    "make_learner",
]
