"""Learning automata from a model: learners, and the equivalence oracles that test their hypotheses."""

from rnncheck.learning.equivalence import EQUIVALENCES
from rnncheck.learning.equivalence.oracle import EquivalenceAnswer, EquivalenceOracle
from rnncheck.learning.learners import LEARNERS, make_learner
from rnncheck.learning.learners.answers import Query as Query
from rnncheck.learning.learners.counterexamples import Search
from rnncheck.learning.learners.learner import DEFAULT_MAX_STATES, Learner

__all__ = [
    "DEFAULT_MAX_STATES",
    "EQUIVALENCES",
    "LEARNERS",
    "EquivalenceAnswer",
    "EquivalenceOracle",
    "Learner",
    "Search",
    "make_learner",
]
