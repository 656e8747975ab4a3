"""The automaton behind labelled words, by state merging (Lang, Pearlmutter and Price, 1998: evidence-driven, red-blue).

The words are the paths of a tree, and the label of a word is that of its node. Nodes that are certainly states are red;
their successors are blue. A blue node that differs from every red one becomes red; if there is none, the pair that
agrees on the most labels is merged, with all that follows. The result is correct on every word.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rnncheck.automata.dfa import DFA
from rnncheck.automata.minimisation import minimise
from rnncheck.errors import InputError, short_repr
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.network import RecurrentNetwork
from rnncheck.probability.distributions import WordDistribution
from rnncheck.training.datasets import LabelledWords
from rnncheck.words import Codes, WordBatch

_ROOT = 0
_QUERIED, _STOP = 1_500, 0.1  # random words on which a network is queried, of about ten letters


def automaton_from_words(
    words: LabelledWords, *, network: RecurrentNetwork | None = None, seed: int = 0, max_states: int = 200
) -> DFA:
    """The smallest automaton found by state merging that answers every word by its label.

    Without a network a transition that no word takes leads back to its state, and a state without a label rejects.
    With one, all prefixes of the words, and random words, have the network's own answers where there is no label, so
    these answers are kept. More than ``max_states`` states are an error: the words are too few, or not regular.
    """
    if not words.is_yes_no:
        raise InputError(f"labels {short_repr(words.labels)} are not yes and no; an automaton has one property")
    if network is not None and network.alphabet != words.alphabet:
        raise InputError("the network and the words have different alphabets; order the letters alike")
    known = {} if network is None else _own_answers(network, words.words, seed)
    known |= dict(zip(words.words, (words.answers == 1).tolist(), strict=True))
    tree = _Tree(len(words.alphabet))
    for word, answer in sorted(known.items(), key=lambda item: (len(item[0]), item[0])):
        tree.add(word, answer)
    red = tree.merged(max_states)
    number = {node: at for at, node in enumerate(red)}
    table = [[number[tree.below[node].get(a, node)] for a in range(len(words.alphabet))] for node in red]
    return minimise(DFA(words.alphabet, table, np.array([tree.labels.get(node, False) for node in red])))


def _own_answers(network: RecurrentNetwork, given: WordBatch, seed: int) -> dict[Codes, bool]:
    """A network's answers to all prefixes of the words, and to words around them that begin at random."""
    drawn = WordDistribution(network.alphabet, stop=_STOP).sample(np.random.default_rng(seed), _QUERIED)
    prefixes = {word[:end] for word in (*given, *drawn) for end in range(len(word) + 1)}
    queried = WordBatch.from_codes(sorted(prefixes))
    return dict(zip(queried, CompiledNetwork(network, threads=1).accepts_batch(queried).tolist(), strict=True))


class _Tree:
    """Nodes by number, the root first; edges by letter; labels where they are known."""

    def __init__(self, letters: int) -> None:
        self._letters = letters
        self.below: list[dict[int, int]] = [{}]
        self.labels: dict[int, bool] = {}

    def add(self, word: Codes, label: bool) -> None:
        node = _ROOT
        for letter in word:
            if letter not in self.below[node]:
                self.below[node][letter] = len(self.below)
                self.below.append({})
            node = self.below[node][letter]
        self.labels[node] = label

    def merged(self, most: int) -> list[int]:
        """Merge until every node that a letter leads to is red; the red ones."""
        red = [_ROOT]
        while True:
            best: _Merge | None = None
            for parent, letter, blue in self._blue(red):
                merges = (_Merge(self, parent, letter, node, blue) for node in red)
                possible = [merge for merge in merges if merge.agreed is not None]
                if not possible:
                    red.append(blue)
                    break
                own = max(possible, key=lambda merge: merge.agreed or 0)
                if best is None or (own.agreed or 0) > (best.agreed or 0):
                    best = own
            else:
                if best is None:
                    return red
                best.do()
            if len(red) > most:
                raise InputError(
                    f"the words need an automaton of more than {most} states: they are too few, or no regular "
                    "language; give more words, or a specification"
                )

    def _blue(self, red: list[int]) -> Iterator[tuple[int, int, int]]:
        """Nodes that are not red, below one that is: in the order of the red ones, then of letters."""
        known = set(red)
        for parent in red:
            for letter, node in sorted(self.below[parent].items()):
                if node not in known:
                    yield parent, letter, node


class _Merge:
    """What merging a blue node, a tree of its own, into a red one would change; ``agreed``: on how many labels."""

    def __init__(self, tree: _Tree, parent: int, letter: int, red: int, blue: int) -> None:
        self._tree = tree
        self._edges: dict[tuple[int, int], int] = {(parent, letter): red}
        self._labels: dict[int, bool] = {}
        self.agreed: int | None = 0
        left = [(red, blue)]
        while left and self.agreed is not None:
            node, folded = left.pop()
            self._agree(node, tree.labels.get(folded))
            for below, goal in tree.below[folded].items():
                at = self._edges.get((node, below), tree.below[node].get(below))
                if at is None:
                    self._edges[node, below] = goal
                else:
                    left.append((at, goal))

    def _agree(self, node: int, label: bool | None) -> None:
        if label is None or self.agreed is None:
            return
        before = self._labels.get(node, self._tree.labels.get(node))
        if before is None:
            self._labels[node] = label
        elif before == label:
            self.agreed += 1
        else:
            self.agreed = None

    def do(self) -> None:
        self._tree.labels |= self._labels
        for (node, letter), goal in self._edges.items():
            self._tree.below[node][letter] = goal
