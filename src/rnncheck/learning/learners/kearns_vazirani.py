"""Kearns and Vazirani's learner: a discrimination tree, split by the suffix that the counterexample gives."""

from __future__ import annotations

from collections.abc import Sequence

from rnncheck.automata.dfa import DFA
from rnncheck.learning.learners.counterexamples import wrong_transitions
from rnncheck.learning.learners.tree_hypothesis import TreeHypothesis, TreeLearner
from rnncheck.runtime.cooperative import CooperativeWork
from rnncheck.words import Codes


class KearnsVazirani(TreeLearner):
    """One query per transition and level of the tree; after a split only the transitions to the split leaf move on.

    Discriminators are suffixes of counterexamples, of whatever length.
    """

    def _refined(
        self, structure: TreeHypothesis, hypothesis: DFA, words: Sequence[Codes]
    ) -> CooperativeWork[TreeHypothesis]:
        answers = self._answers
        wrong = yield from wrong_transitions(words, hypothesis, structure.access_words, answers, self.search)
        refined = structure.copy()
        for leaf, suffix in refined.add_states(wrong, answers).items():
            yield from refined.split(leaf, suffix, answers)
        yield from refined.close(answers)
        refined.watch(answers)
        return refined
