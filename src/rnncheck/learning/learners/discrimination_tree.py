"""Discrimination trees: which words the target distinguishes, as far as was seen.

An inner node holds a discriminator d and has a child for every answer; a word w goes to the child of the target's
answer to w + d. Words that end in different leaves are distinguished by the discriminator where their paths separate.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence

from rnncheck.learning.learners.answers import Answers, Sifted
from rnncheck.runtime.cooperative import CooperativeWork
from rnncheck.words import Codes

ROOT = 0


class DiscriminationTree:
    """Nodes are numbers, the root 0. It starts as a root with the empty suffix, and a leaf for each output."""

    def __init__(self, outputs: int = 2) -> None:
        self._outputs = outputs
        self.discriminators: list[Codes | None] = [None]  # None: a leaf
        # Arrays, because each refinement copies the tree.
        self._first_child = array("q", [ROOT])
        self._parents = array("q", [ROOT])
        self._depths = array("q", [0])
        self.longest = 0  # letters of a discriminator
        self.sifted: Sifted = {}
        self.split(ROOT, ())

    def copy(self) -> DiscriminationTree:
        twin = DiscriminationTree.__new__(DiscriminationTree)
        twin._outputs, twin.longest = self._outputs, self.longest
        twin.discriminators = self.discriminators.copy()
        twin._first_child = self._first_child[:]
        twin._parents = self._parents[:]
        twin._depths = self._depths[:]
        twin.sifted = {}
        return twin

    def __len__(self) -> int:
        """The number of nodes."""
        return len(self.discriminators)

    def is_leaf(self, node: int) -> bool:
        return self.discriminators[node] is None

    def split(self, leaf: int, discriminator: Codes) -> None:
        """Turn a leaf into an inner node with new leaves."""
        new, outputs = len(self.discriminators), self._outputs
        self.discriminators[leaf] = discriminator
        self.longest = max(self.longest, len(discriminator))
        self._first_child[leaf] = new
        self.discriminators += [None] * outputs
        self._first_child.extend([ROOT] * outputs)
        self._parents.extend([leaf] * outputs)
        self._depths.extend([self._depths[leaf] + 1] * outputs)

    def sift(self, words: Sequence[Codes], nodes: Sequence[int], answers: Answers) -> CooperativeWork[list[int]]:
        """The leaf that each word reaches from its node; all words go in step, one batch per level."""
        at, discriminators, first_child = list(nodes), self.discriminators, self._first_child
        moving = [(i, words[i], d) for i, node in enumerate(at) if (d := discriminators[node]) is not None]
        while moving:
            yield from answers.asking_new(
                {word + d: (word, d) for _, word, d in moving if word + d not in answers}, sifted=self.sifted
            )
            still = []
            for i, word, d in moving:
                at[i] = node = first_child[at[i]] + answers[word + d]
                if (below := discriminators[node]) is not None:
                    still.append((i, word, below))
            moving = still
        return at

    def path(self, node: int, top: int = ROOT) -> list[Codes]:
        """The discriminators above a node, up to that of ``top``."""
        found, parents, discriminators = [], self._parents, self.discriminators
        while node != top:
            node = parents[node]
            found.append(discriminators[node] or ())
        return found

    def is_above(self, node: int, discriminator: Codes) -> bool:
        """Whether a discriminator is above a node."""
        if len(discriminator) > self.longest:
            return False
        parents, discriminators = self._parents, self.discriminators
        while node != ROOT:
            node = parents[node]
            if discriminators[node] == discriminator:
                return True
        return False

    def parting(self, nodes: Iterable[int]) -> Codes:
        """The discriminator at which the paths to two or more different leaves separate."""
        depths, parents = self._depths, self._parents
        common, *others = set(nodes)
        for node in others:
            while node != common:
                if depths[node] > depths[common]:
                    node = parents[node]
                else:
                    common = parents[common]
        return self.discriminators[common] or ()
