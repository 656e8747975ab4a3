"""The TTT learner (Isberner, Howar and Steffen): a discrimination tree whose discriminators stay short.

A counterexample proves that a leaf holds two states and gives a suffix that tells them apart. That suffix may be as
long as the counterexample, and every later question that passed it would pay for its letters. So it never enters the
tree. It is kept aside as evidence, and the leaf is a *block* of several states until a letter c is found under which
their transitions lead to different leaves: where the ways to those leaves part stands a discriminator d, and c + d
tells the states apart too, without one more question about them. All discriminators are thus one letter longer than
another one, and the set of them is closed under suffixes.

Where no letter does that, the shortest evidence c + v tells two states of a block apart whose transitions under c lead
to the same leaf. Then v splits that leaf, which gives a new state there or shorter evidence, until a letter is found:
evidence of one letter always ends in different leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rnncheck.automata.dfa import DFA
from rnncheck.learning.learners.answers import Answers
from rnncheck.learning.learners.counterexamples import wrong_transitions
from rnncheck.learning.learners.tree_hypothesis import TreeHypothesis, TreeLearner
from rnncheck.words import Codes, shortlex_key


class TTT(TreeLearner):
    """About as many questions as Kearns and Vazirani's learner, with short suffixes whatever the counterexamples."""

    def _refined(self, structure: TreeHypothesis, hypothesis: DFA, words: Sequence[Codes]) -> TreeHypothesis:
        answers = self._answers
        wrong = wrong_transitions(words, hypothesis, structure.access_words, answers, self.search)
        refined = structure.copy()
        blocks = refined.add_states(wrong, answers)
        refined.close(answers)
        _Blocks(refined, answers, {leaf: [suffix] for leaf, suffix in blocks.items()}).resolve()
        return refined


class _Evidence(NamedTuple):
    """Two states of one block that a suffix tells apart."""

    suffix: Codes
    block: int
    one: int
    other: int


class _Blocks:
    """The leaves with several states. ``suffixes`` of a block tell all its states apart."""

    def __init__(self, hypothesis: TreeHypothesis, answers: Answers, suffixes: dict[int, list[Codes]]) -> None:
        self.hypothesis = hypothesis
        self.answers = answers
        self.suffixes = suffixes

    def resolve(self) -> None:
        """Split blocks until every leaf has one state, the shortest discriminators first."""
        while self.suffixes:
            if found := self._discriminators():
                for block, discriminator in found.items():
                    self._split(block, discriminator)
            else:
                self._look_one_letter_further(self._shortest_evidence())
            self.hypothesis.close(self.answers)

    def _discriminators(self) -> dict[int, Codes]:
        """For the blocks that have one: the shortest that is a letter and a discriminator of the tree."""
        found = {}
        for block in self.suffixes:
            rows = self.hypothesis.targets[self.hypothesis.members[block]]
            columns = [(letter, set(rows[:, letter].tolist())) for letter in range(rows.shape[1])]
            choice = [(c, *self.hypothesis.tree.parting(leaves)) for c, leaves in columns if len(leaves) > 1]
            if choice:
                found[block] = min(choice, key=shortlex_key)
        return found

    def _split(self, block: int, discriminator: Codes) -> None:
        suffixes = self.suffixes.pop(block)
        states = self.hypothesis.members[block]
        self.hypothesis.split(block, discriminator, self.answers)
        for leaf, members in self.hypothesis.members.items():
            if len(members) > 1 and members[0] in states:
                self.suffixes[leaf] = suffixes.copy()

    def _shortest_evidence(self) -> _Evidence:
        found = []
        for block, suffixes in self.suffixes.items():
            first, *others = self.hypothesis.members[block]
            for suffix in suffixes:
                value = self._value(first, suffix)
                found += [_Evidence(suffix, block, first, s) for s in others if self._value(s, suffix) != value]
        return min(found, key=lambda evidence: (shortlex_key(evidence.suffix), evidence[1:]))

    def _look_one_letter_further(self, evidence: _Evidence) -> None:
        """Both states go to the same leaf under the first letter; the rest tells apart what is in that leaf."""
        letter, rest = evidence.suffix[0], evidence.suffix[1:]
        access = self.hypothesis.access_words
        leaf = int(self.hypothesis.targets[evidence.one, letter])
        suffixes = self.suffixes.setdefault(leaf, [])
        suffixes.append(rest)
        residents = [access[state] for state in self.hypothesis.members[leaf]]
        arrivals = [(*access[evidence.one], letter), (*access[evidence.other], letter)]
        words = residents + arrivals
        asked = self.answers.of([(word, suffix) for word in words for suffix in suffixes])
        width = len(suffixes)
        rows = [tuple(asked[i * width : (i + 1) * width]) for i in range(len(words))]
        for word, row in zip(arrivals, rows[len(residents) :], strict=True):
            if row not in rows[: len(residents)]:
                self.hypothesis.add_state(word, leaf, self.answers)

    def _value(self, state: int, suffix: Codes) -> int:
        return self.answers[self.hypothesis.access_words[state] + suffix]
