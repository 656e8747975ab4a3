"""Hypotheses whose states are the leaves of a discrimination tree, and what their learners have in common."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Unpack

import numpy as np

from rnncheck.automata.moore import MooreMachine
from rnncheck.errors import InputError, LearningBoundReached, short_repr
from rnncheck.learning.learners.answers import Answers, Ask
from rnncheck.learning.learners.counterexamples import Search, WrongTransition
from rnncheck.learning.learners.discrimination_tree import ROOT, DiscriminationTree
from rnncheck.learning.learners.learner import Learner, Options
from rnncheck.runtime.turns import Turns
from rnncheck.words import Alphabet, Codes, IntArray, shortlex_key

DEFAULT_AT_ONCE = 16


class TreeHypothesis:
    """States with access words, each at home in a leaf, and for each transition the node it is known to lead to.

    A transition is open while that node is an inner one: its word (access word + letter) has still to be sifted down.
    Access words are closed under prefixes, so every state is reached by its own.
    """

    def __init__(self, letters: int, max_states: int, outputs: int) -> None:
        self.max_states = max_states
        self.tree = DiscriminationTree(outputs)
        self.access_words: list[Codes] = []
        self.outputs: list[int] = []
        self.members: dict[int, list[int]] = {}
        self.targets: IntArray = np.empty((0, letters), dtype=np.int64)

    def copy(self) -> TreeHypothesis:
        twin = TreeHypothesis.__new__(TreeHypothesis)
        twin.max_states = self.max_states
        twin.tree = self.tree.copy()
        twin.access_words = self.access_words.copy()
        twin.outputs = self.outputs.copy()
        twin.members = {leaf: states.copy() for leaf, states in self.members.items()}
        twin.targets = self.targets.copy()
        return twin

    def add_state(self, word: Codes, leaf: int, answers: Answers) -> None:
        """A new state at home in a leaf; its transitions are open."""
        if len(self.access_words) >= self.max_states:
            raise LearningBoundReached("max_states", self.max_states)
        self.members.setdefault(leaf, []).append(len(self.access_words))
        self.access_words.append(word)
        self.outputs.append(answers[word])
        open_row = np.full((1, self.targets.shape[1]), ROOT, dtype=np.int64)
        self.targets = np.concatenate([self.targets, open_row])

    def add_states(self, wrong: Iterable[WrongTransition], answers: Answers) -> dict[int, Codes]:
        """A new state for each leaf to which one of these transitions leads: the word of the transition with the
        least suffix. Returns the suffix that tells it from the state that was there, leaf by leaf.
        """
        least: dict[int, WrongTransition] = {}
        for transition in sorted(wrong, key=lambda t: (shortlex_key(t.suffix), t.state, t.letter)):
            least.setdefault(int(self.targets[transition.state, transition.letter]), transition)
        for leaf, transition in least.items():
            self.add_state((*self.access_words[transition.state], transition.letter), leaf, answers)
        return {leaf: transition.suffix for leaf, transition in least.items()}

    def split(self, leaf: int, discriminator: Codes, answers: Answers) -> Turns[list[int]]:
        """Split a leaf and send its states to the sides they belong to. Transitions to it become open.

        Returns the new leaves that have states.
        """
        states = self.members.pop(leaf)
        self.tree.split(leaf, discriminator)
        homes = yield from self.tree.sift([self.access_words[state] for state in states], [leaf] * len(states), answers)
        for state, home in zip(states, homes, strict=True):
            self.members.setdefault(home, []).append(state)
        return list(dict.fromkeys(homes))

    def close(self, answers: Answers) -> Turns[None]:
        """Sift the words of all open transitions down. The first to come to an empty leaf is a new state."""
        while True:
            inner = np.array([d is not None for d in self.tree.discriminators])
            places = np.argwhere(inner[self.targets]).tolist()
            if not places:
                return
            words = [(*self.access_words[state], letter) for state, letter in places]
            nodes = [int(self.targets[state, letter]) for state, letter in places]
            ends = yield from self.tree.sift(words, nodes, answers)
            for (state, letter), end in zip(places, ends, strict=True):
                self.targets[state, letter] = end
            for word, end in sorted(zip(words, ends, strict=True), key=lambda pair: shortlex_key(pair[0])):
                if end not in self.members:
                    self.add_state(word, end, answers)

    def machine(self, alphabet: Alphabet, labels: tuple[str, ...]) -> MooreMachine:
        """The hypothesis; every leaf that a transition leads to must have exactly one state."""
        number = np.full(len(self.tree.discriminators), -1)
        for leaf, states in self.members.items():
            (number[leaf],) = states
        return MooreMachine(alphabet, labels, number[self.targets], self.outputs)


class TreeLearner(Learner[TreeHypothesis]):
    """A learner with a discrimination tree.

    ``search`` says how a counterexample's wrong transition is found. Up to ``at_once`` counterexamples are worked on
    in step, each of which splits a leaf of its own: larger batches, for a few questions more.
    """

    def __init__(
        self,
        alphabet: Alphabet,
        ask: Ask,
        *,
        search: Search = Search(),  # noqa: B008 - a frozen value
        at_once: int = DEFAULT_AT_ONCE,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(alphabet, ask, **options)
        if not isinstance(at_once, int) or at_once < 1:
            raise InputError(f"at_once is {short_repr(at_once)}; at least 1 counterexample is worked on at a time")
        self.search = search
        self._at_once = at_once

    def _first(self) -> Turns[TreeHypothesis]:
        """The hypothesis that tells words apart by their own answers alone."""
        first = TreeHypothesis(len(self.alphabet), self.max_states, len(self.labels))
        (leaf,) = yield from first.tree.sift([()], [ROOT], self._answers)
        first.add_state((), leaf, self._answers)
        yield from first.close(self._answers)
        return first
