"""The TTT learner (Isberner, Howar and Steffen): a discrimination tree whose discriminators stay short.

A counterexample proves that a leaf holds two states and gives a suffix that distinguishes them. That suffix may be as
long as the counterexample, and every later query that passed it would pay for its letters. So it never enters the
tree. It is kept aside as evidence, and the leaf is a *block* of several states until a letter c is found under which
their transitions lead to different leaves: where the paths to those leaves separate stands a discriminator d, and c + d
distinguishes the states too, without another query about them. Each discriminator is thus one letter longer than
another one, and the set of them is closed under suffixes.

Where no letter does that, the shortest evidence c + v distinguishes two states of a block whose transitions under c
lead to the same leaf. Then v splits that leaf, which gives a new state there or shorter evidence, until a letter is
found: evidence of one letter always ends in different leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rnncheck.automata.dfa import DFA
from rnncheck.learning.learners.answers import Answers
from rnncheck.learning.learners.counterexamples import wrong_transitions
from rnncheck.learning.learners.tree_hypothesis import TreeHypothesis, TreeLearner
from rnncheck.runtime.cooperative import CooperativeWork
from rnncheck.words import Codes, shortlex_key

# New states that one refinement may have at least, before it splits by long suffixes; or as many as there are.
_MOST_MORE = 16


class TTT(TreeLearner):
    """About as many queries as Kearns and Vazirani's learner, with short suffixes whatever the counterexamples."""

    def _refined(
        self, structure: TreeHypothesis, hypothesis: DFA, words: Sequence[Codes]
    ) -> CooperativeWork[TreeHypothesis]:
        answers = self._answers
        wrong = yield from wrong_transitions(words, hypothesis, structure.access_words, answers, self.search)
        refined = structure.copy()
        blocks = refined.add_states(wrong, answers)
        yield from refined.close(answers)
        most = len(structure.access_words) + max(len(structure.access_words), _MOST_MORE)
        yield from _Blocks(refined, answers, {leaf: [suffix] for leaf, suffix in blocks.items()}).resolve(most)
        refined.watch(answers)
        return refined


class _Evidence(NamedTuple):
    """Two states of one block that a suffix distinguishes."""

    suffix: Codes
    block: int
    one: int
    other: int


class _Blocks:
    """The leaves with several states. ``suffixes`` of a block distinguish all its states."""

    def __init__(self, hypothesis: TreeHypothesis, answers: Answers, suffixes: dict[int, list[Codes]]) -> None:
        self.hypothesis = hypothesis
        self.answers = answers
        self.suffixes = suffixes

    def resolve(self, most_states: int) -> CooperativeWork[None]:
        """Split blocks until every leaf has one state, the shortest discriminators first.

        Each look one letter further may show new states, whose transitions may show others; in a network this may not
        end. From ``most_states`` on the evidence itself is the discriminator, so that there is a hypothesis soon.
        """
        while self.suffixes:
            if found := self._discriminators():
                yield from self._split_all(found)
            elif len(self.hypothesis.access_words) < most_states:
                yield from self._look_one_letter_further()
            else:
                yield from self._split_all({e.block: e.suffix for e in self._shortest_evidence()})
            yield from self.hypothesis.close(self.answers)

    def _discriminators(self) -> dict[int, Codes]:
        """For the blocks that have one: the shortest that is a letter and a discriminator of the tree."""
        found, hypothesis = {}, self.hypothesis
        for block in self.suffixes:
            columns = enumerate(zip(*map(hypothesis.row, hypothesis.members(block)), strict=True))
            choice = [(c, *hypothesis.tree.parting(nodes)) for c, nodes in columns if len(set(nodes)) > 1]
            if choice:
                found[block] = min(choice, key=shortlex_key)
        return found

    def _split_all(self, discriminators: dict[int, Codes]) -> CooperativeWork[None]:
        for block, discriminator in discriminators.items():
            suffixes = self.suffixes.pop(block)
            for leaf in (yield from self.hypothesis.split(block, discriminator, self.answers)):
                if len(self.hypothesis.members(leaf)) > 1:
                    self.suffixes[leaf] = suffixes.copy()

    def _shortest_evidence(self) -> list[_Evidence]:
        """The least of each block."""
        least = []
        for block, suffixes in self.suffixes.items():
            first, *others = self.hypothesis.members(block)
            for suffix in sorted(suffixes, key=shortlex_key):
                value = self._value(first, suffix)
                other = next((state for state in others if self._value(state, suffix) != value), None)
                if other is not None:
                    least.append(_Evidence(suffix, block, first, other))
                    break
        return least

    def _look_one_letter_further(self) -> CooperativeWork[None]:
        """The states of the shortest evidence go to the same leaf under its first letter, one pair for each leaf
        considered; the rest of the evidence distinguishes the states of that leaf.
        """
        evidence = sorted(self._shortest_evidence(), key=lambda e: (shortlex_key(e.suffix), e[1:]))
        further: dict[int, _Evidence] = {}
        for each in evidence:
            if len(each.suffix) == len(evidence[0].suffix):
                further.setdefault(self.hypothesis.row(each.one)[each.suffix[0]], each)
        for leaf, each in further.items():
            self.suffixes.setdefault(leaf, []).append(each.suffix[1:])
        access = self.hypothesis.access_words
        residents = {leaf: [access[state] for state in self.hypothesis.members(leaf)] for leaf in further}
        arrivals = {
            leaf: [(*access[state], each.suffix[0]) for state in (each.one, each.other)]
            for leaf, each in further.items()
        }
        yield from self.answers.asking(
            [
                (word, suffix)
                for leaf in further
                for word in residents[leaf] + arrivals[leaf]
                for suffix in self.suffixes[leaf]
            ]
        )
        for leaf in further:
            rows = {self._row(word, leaf) for word in residents[leaf]}
            for word in arrivals[leaf]:
                if self._row(word, leaf) not in rows:
                    self.hypothesis.add_state(word, leaf, self.answers)

    def _row(self, word: Codes, leaf: int) -> tuple[int, ...]:
        return tuple(self.answers[word + suffix] for suffix in self.suffixes[leaf])

    def _value(self, state: int, suffix: Codes) -> int:
        return self.answers[self.hypothesis.access_words[state] + suffix]
