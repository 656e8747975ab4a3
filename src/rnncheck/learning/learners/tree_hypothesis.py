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
from rnncheck.runtime.cooperative import CooperativeWork
from rnncheck.words import Alphabet, Codes, IntArray, shortlex_key

DEFAULT_AT_ONCE = 16


class TreeHypothesis:
    """States with access words, each belonging to a leaf, and for each transition the node it is known to lead to.

    A transition is open while its word (access word + letter) has still to be sifted down from that node. ``state_at``
    has for each node the first state that belongs there, -1 for none; ``blocks`` the states of leaves with several.
    Access words are closed under prefixes, so every state is reached by its own.
    """

    def __init__(self, letters: int, max_states: int, outputs: int) -> None:
        self.max_states = max_states
        self.tree = DiscriminationTree(outputs)
        self.access_words: list[Codes] = []
        self.outputs: IntArray = np.empty(0, dtype=np.int64)
        self.state_at: IntArray = np.full(len(self.tree), -1)
        self.blocks: dict[int, list[int]] = {}
        self.targets: IntArray = np.empty((0, letters), dtype=np.int64)
        self._open: set[tuple[int, int]] = set()

    def copy(self) -> TreeHypothesis:
        """A copy of a complete hypothesis, which has no blocks and no open transitions."""
        twin = TreeHypothesis.__new__(TreeHypothesis)
        twin.max_states = self.max_states
        twin.tree = self.tree.copy()
        twin.access_words = self.access_words.copy()
        twin.outputs = self.outputs
        twin.state_at = self.state_at.copy()
        twin.blocks, twin._open = {}, set()
        twin.targets = self.targets.copy()
        return twin

    def members(self, leaf: int) -> list[int]:
        """The states of a leaf."""
        state = int(self.state_at[leaf])
        return self.blocks.get(leaf, [] if state < 0 else [state])

    def add_state(self, word: Codes, leaf: int, answers: Answers) -> None:
        """Add a state to a leaf; its transitions are open."""
        state, letters = len(self.access_words), self.targets.shape[1]
        if state >= self.max_states:
            raise LearningBoundReached("max_states", self.max_states)
        self._place(state, leaf)
        self.access_words.append(word)
        self.outputs = np.append(self.outputs, answers[word])
        self.targets = np.concatenate([self.targets, np.full((1, letters), ROOT)])
        self._open.update((state, letter) for letter in range(letters))

    def _place(self, state: int, leaf: int) -> None:
        if there := self.members(leaf):
            self.blocks[leaf] = [*there, state]
        else:
            self.state_at[leaf] = state

    def add_states(self, wrong: Iterable[WrongTransition], answers: Answers) -> dict[int, Codes]:
        """Add a state to each leaf to which one of these transitions leads: the word of the transition with the least
        suffix. Returns for each leaf the suffix that distinguishes it from the state that was there.
        """
        least: dict[int, WrongTransition] = {}
        for transition in sorted(wrong, key=lambda t: (shortlex_key(t.suffix), t.state, t.letter)):
            least.setdefault(int(self.targets[transition.state, transition.letter]), transition)
        for leaf, transition in least.items():
            self.add_state((*self.access_words[transition.state], transition.letter), leaf, answers)
        return {leaf: transition.suffix for leaf, transition in least.items()}

    def split(self, leaf: int, discriminator: Codes, answers: Answers) -> CooperativeWork[list[int]]:
        """Split a leaf and sift its states into the new leaves. Transitions to it become open.

        Returns the new leaves that have states.
        """
        states = self.members(leaf)
        self.blocks.pop(leaf, None)
        self.state_at[leaf] = -1
        self._open.update(zip(*(places.tolist() for places in np.nonzero(self.targets == leaf)), strict=True))
        self.tree.split(leaf, discriminator)
        self.state_at = np.append(self.state_at, np.full(len(self.tree) - len(self.state_at), -1))
        homes = yield from self.tree.sift([self.access_words[state] for state in states], [leaf] * len(states), answers)
        for state, home in zip(states, homes, strict=True):
            self._place(state, home)
        return list(dict.fromkeys(homes))

    def close(self, answers: Answers) -> CooperativeWork[None]:
        """Sift the words of all open transitions. The first that reaches an empty leaf is a new state."""
        while self._open:
            places, self._open = sorted(self._open), set()
            words = [(*self.access_words[state], letter) for state, letter in places]
            nodes = [int(self.targets[place]) for place in places]
            ends = yield from self.tree.sift(words, nodes, answers)
            for place, end in zip(places, ends, strict=True):
                self.targets[place] = end
            found = [(word, end) for word, end in zip(words, ends, strict=True) if self.state_at[end] < 0]
            for word, end in sorted(found, key=lambda pair: shortlex_key(pair[0])):
                if self.state_at[end] < 0:
                    self.add_state(word, end, answers)

    def machine(self, alphabet: Alphabet, labels: tuple[str, ...]) -> MooreMachine:
        """The hypothesis; every leaf that a transition leads to must have exactly one state."""
        assert not self.blocks
        return MooreMachine(alphabet, labels, self.state_at[self.targets], self.outputs)


class TreeLearner(Learner[TreeHypothesis]):
    """A learner with a discrimination tree.

    ``search`` is how a counterexample's wrong transition is found. Up to ``at_once`` counterexamples are processed in
    step, each of which splits a different leaf: larger batches, for a few more queries.
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
            raise InputError(f"at_once is {short_repr(at_once)}; give at least 1")
        self.search = search
        self._at_once = at_once

    def _first(self) -> CooperativeWork[TreeHypothesis]:
        """The hypothesis that distinguishes words by their own answers alone."""
        first = TreeHypothesis(len(self.alphabet), self.max_states, len(self.labels))
        (leaf,) = yield from first.tree.sift([()], [ROOT], self._answers)
        first.add_state((), leaf, self._answers)
        yield from first.close(self._answers)
        return first
