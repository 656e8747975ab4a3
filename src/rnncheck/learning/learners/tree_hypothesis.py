"""Hypotheses whose states are the leaves of a discrimination tree, and what their learners have in common."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
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
_NONE = -1


class TreeHypothesis:
    """States with access words, each belonging to a leaf, and for each transition the node it is known to lead to.

    A transition is open while its word (access word + letter) has still to be sifted down from that node. ``state_at``
    has for each node the first state that belongs there, -1 for none; ``blocks`` the states of leaves with several.
    Access words are closed under prefixes, so every state is reached by its own.

    Transitions are numbered state by state. Those that lead to a leaf are a linked list, and all numbers are in arrays,
    because each refinement copies the hypothesis.
    """

    def __init__(self, letters: int, max_states: int, outputs: int) -> None:
        self.letters = letters
        self.max_states = max_states
        self.tree = DiscriminationTree(outputs)
        self.access_words: list[Codes] = []
        self.outputs = array("q")
        self.homes = array("q")  # the leaf of each state
        self.state_at = array("q", [_NONE] * len(self.tree))
        self.blocks: dict[int, list[int]] = {}
        self.ends = array("q")  # the node of each transition
        self._first_into = array("q", [_NONE] * len(self.tree))
        self._next_into = array("q")
        self._open: set[int] = set()
        self._moved: dict[int, int] = {}  # states, and the node that they were in, or below which they were placed

    def copy(self) -> TreeHypothesis:
        """A copy of a complete hypothesis, which has no blocks and no open transitions."""
        twin = TreeHypothesis.__new__(TreeHypothesis)
        twin.letters, twin.max_states = self.letters, self.max_states
        twin.tree = self.tree.copy()
        twin.access_words = self.access_words.copy()
        twin.outputs, twin.homes, twin.state_at = self.outputs[:], self.homes[:], self.state_at[:]
        twin.ends, twin._first_into, twin._next_into = self.ends[:], self._first_into[:], self._next_into[:]
        twin.blocks, twin._open, twin._moved = {}, set(), {}
        return twin

    @property
    def targets(self) -> IntArray:
        """For each state and letter the node that the transition leads to."""
        return np.array(self.ends).reshape(-1, self.letters)

    def row(self, state: int) -> array[int]:
        """The nodes that the transitions of a state lead to."""
        return self.ends[state * self.letters : (state + 1) * self.letters]

    def members(self, leaf: int) -> list[int]:
        """The states of a leaf."""
        state = self.state_at[leaf]
        return self.blocks.get(leaf, [] if state < 0 else [state])

    def add_state(self, word: Codes, leaf: int, answers: Answers) -> None:
        """Add a state to a leaf; its transitions are open."""
        state, letters = len(self.access_words), self.letters
        if state >= self.max_states:
            raise LearningBoundReached("max_states", self.max_states)
        self.homes.append(leaf)
        self._place(state, leaf)
        self._moved[state] = ROOT
        self.access_words.append(word)
        self.outputs.append(answers[word])
        self.ends.extend([ROOT] * letters)
        self._next_into.extend([_NONE] * letters)
        self._open.update(range(state * letters, (state + 1) * letters))

    def _place(self, state: int, leaf: int) -> None:
        self.homes[state] = leaf
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
            least.setdefault(self.ends[transition.state * self.letters + transition.letter], transition)
        for leaf, transition in least.items():
            self.add_state((*self.access_words[transition.state], transition.letter), leaf, answers)
        return {leaf: transition.suffix for leaf, transition in least.items()}

    def split(self, leaf: int, discriminator: Codes, answers: Answers) -> CooperativeWork[list[int]]:
        """Split a leaf and sift its states into the new leaves. Transitions to it become open.

        Returns the new leaves that have states.
        """
        states = self.members(leaf)
        self.blocks.pop(leaf, None)
        self.state_at[leaf] = _NONE
        self._open.update(self._transitions_into(leaf))
        self._first_into[leaf] = _NONE
        self.tree.split(leaf, discriminator)
        new = [_NONE] * (len(self.tree) - len(self.state_at))
        self.state_at.extend(new)
        self._first_into.extend(new)
        homes = yield from self.tree.sift([self.access_words[state] for state in states], [leaf] * len(states), answers)
        for state, home in zip(states, homes, strict=True):
            self._moved.setdefault(state, leaf)
            self._place(state, home)
        return list(dict.fromkeys(homes))

    def close(self, answers: Answers) -> CooperativeWork[None]:
        """Sift the words of all open transitions. The first that reaches an empty leaf is a new state."""
        letters, first_into = self.letters, self._first_into
        while self._open:
            places, self._open = sorted(self._open), set()
            words = [(*self.access_words[place // letters], place % letters) for place in places]
            ends = yield from self.tree.sift(words, [self.ends[place] for place in places], answers)
            found = []
            for place, word, end in zip(places, words, ends, strict=True):
                self.ends[place] = end
                self._next_into[place] = first_into[end]
                first_into[end] = place
                if self.state_at[end] < 0:
                    found.append((word, end))
            for word, end in sorted(found, key=lambda pair: shortlex_key(pair[0])):
                if self.state_at[end] < 0:
                    self.add_state(word, end, answers)

    def _transitions_into(self, leaf: int) -> Iterator[int]:
        place = self._first_into[leaf]
        while place >= 0:
            yield place
            place = self._next_into[place]

    def machine(self, alphabet: Alphabet, labels: tuple[str, ...]) -> MooreMachine:
        """The hypothesis; every leaf that a transition leads to must have exactly one state."""
        assert not self.blocks
        return MooreMachine(alphabet, labels, np.array(self.state_at)[self.targets], self.outputs)

    # A word that was sifted is the word of a transition (q, c) and a discriminator d above the leaf of its target p, so
    # the answers to it and to (access word of p) + d are the same, and the hypothesis is right about both or neither.
    # Let d be c' + d'. If d' is above the leaf of the target p' of (p, c'), then that holds of the words of p with d
    # and of p' with d' too, and so on with shorter discriminators; about the empty one the hypothesis is right. So
    # only the words of p with d where d' is not above that leaf need to be looked at.

    def watch(self, answers: Answers) -> None:
        """When the hypothesis is complete, have the words of new states looked at that no shorter ones stand for."""
        tree, letters = self.tree, self.letters
        for state, above in self._moved.items():
            passed: dict[int, set[Codes]] = {}
            for discriminator in tree.path(self.homes[state], above):
                if discriminator:
                    letter, shorter = discriminator[0], discriminator[1:]
                    if letter not in passed:
                        passed[letter] = set(tree.path(self.ends[state * letters + letter]))
                    if shorter not in passed[letter]:
                        answers.watch(self.access_words[state], discriminator)
        self._moved.clear()

    def committed(self, answers: Answers) -> None:
        answers.end_sift(self.tree.sifted)

    def implied(self, wrong: Iterable[Codes]) -> set[Codes]:
        """The sifted words that the hypothesis gets wrong, from the others that it gets wrong."""
        access, letters = self.access_words, self.letters
        cells = list({cell for word in wrong for cell in self._cells_of(word)})
        seen, found = set(cells), set[Codes]()
        while cells:
            state, discriminator = cells.pop()
            for place in self._transitions_into(self.homes[state]):
                before, longer = place // letters, (place % letters, *discriminator)
                found.add(access[before] + longer)
                if (before, longer) not in seen and self.tree.is_above(self.homes[before], longer):
                    seen.add((before, longer))
                    cells.append((before, longer))
        return found

    def _cells_of(self, word: Codes) -> Iterator[tuple[int, Codes]]:
        """The states and discriminators above their leaves with access word + discriminator = this word."""
        state, letters, access = 0, self.letters, self.access_words
        first = max(0, len(word) - self.tree.longest)
        for letter in word[:first]:
            state = self.state_at[self.ends[state * letters + letter]]
        if access[state] != word[:first]:  # then no longer prefix is an access word either
            return
        for length in range(first, len(word)):
            if self.tree.is_above(self.homes[state], word[length:]):
                yield state, word[length:]
            state = self.state_at[self.ends[state * letters + word[length]]]
            if access[state] != word[: length + 1]:
                return


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
        first.watch(self._answers)
        return first
