"""State merging: from words and their answers, with the network as the arbiter of every merge (after EDSM and RPNI).

The words, the person's own (``known_words``) or sampled ones, are the paths of a tree whose nodes carry the network's
answers. From the root on, the shortest word first, a node becomes a state (it is red, in the words of that literature)
or goes into the state that has the most evidence for being the same: so many suffixes after which both were answered,
never differently. Where the tree is silent about the state, the network is asked. A language of many states, of which
a learner would ask every transition, is met here only where the words go.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from rnncheck.automata.moore import Hypothesis
from rnncheck.extraction.method import Extracting, tested
from rnncheck.learning.learning_task import LearningTask
from rnncheck.oracle import MembershipOracle, Query
from rnncheck.runtime.cooperative import CooperativeWork
from rnncheck.words import Codes, WordBatch

_LETTERS = 30_000  # of sampled words
_WORDS_AT_ONCE = 64
_SUFFIXES_ASKED = 24  # of a node, put to the network for a state
_COMMON_SUFFIXES = 12  # asked after every node: there may be few of its own
_SUFFIXES_KEPT = 10_000  # of a state; a tree of many long words has millions
_MOST_CANDIDATES = 8  # states that the network is asked about, the most evident first


@dataclass
class _Node:
    """A word of the tree: the network's answer to it, and the words that go on from it."""

    word: Codes
    answer: int
    below: dict[int, _Node] = field(default_factory=dict)

    def suffixes(self, most: int) -> dict[Codes, int]:
        """Suffixes with known answers, the shortest first, at most so many."""
        found: dict[Codes, int] = {}
        queue: list[tuple[Codes, _Node]] = [((), self)]
        for suffix, node in queue:  # grows while it is walked
            found[suffix] = node.answer
            if len(found) >= most:
                break
            queue += [((*suffix, letter), below) for letter, below in sorted(node.below.items())]
        return found


def merging(task: LearningTask) -> Extracting:
    """Merge until every word of the tree ends in a state, or there are as many states as are allowed."""
    tree = yield from _tree(task)
    merged = _Merged(task, tree)
    yield from merged.run()
    own = "the words that were given" if task.settings.known_words else "sampled words"
    return (yield from tested(task, merged.machine(), f"merged {merged.nodes} prefixes of {own}"))


def _tree(task: LearningTask) -> CooperativeWork[_Node]:
    """The prefix tree of the words with all answers."""
    oracle = task.oracle
    oracle.budget.check()
    root = _Node((), int(oracle.answer(())))
    task.hypothesis = task.automaton([[0] * len(oracle.alphabet)], [root.answer])
    left, rng = _LETTERS, task.rng("merging")
    own = [oracle.alphabet.encode(word) for word in task.settings.known_words]
    while own or (left > 0 and not task.settings.known_words):
        if own:
            words, own = WordBatch.from_codes(own[:_WORDS_AT_ONCE]), own[_WORDS_AT_ONCE:]
        else:
            words = task.distribution.sample(rng, _WORDS_AT_ONCE)
        if task.max_length is not None:
            words = words.cut(task.max_length)
        answers = iter(oracle.prefix_answers(words).tolist())
        for word in words:
            node = root
            for at, letter in enumerate(word):
                answer = int(next(answers))
                if letter not in node.below:
                    node.below[letter] = _Node(word[: at + 1], answer)
                node = node.below[letter]
        left -= len(words.codes) + len(words)
        yield
    return root


class _Merged:
    """The states so far: for each its access word, its answer, what is known after it, and its transitions."""

    def __init__(self, task: LearningTask, root: _Node) -> None:
        self._task = task
        self._oracle: MembershipOracle = task.oracle
        self._letters = len(task.oracle.alphabet)
        self._access: list[Codes] = []
        self._known: list[dict[Codes, int]] = []
        self._goes_to: list[list[int | None]] = []
        self._common = _common_suffixes(self._letters, task.rng("merging suffixes"))
        self.nodes = 0
        self._root = root

    def run(self) -> CooperativeWork[None]:
        """Give every node of the tree a state, breadth first."""
        self._add(self._root)
        queue: list[tuple[int, int, _Node]] = [(0, letter, node) for letter, node in sorted(self._root.below.items())]
        for state, letter, node in queue:  # grows while it is walked
            if self._goes_to[state][letter] is not None:
                continue  # an earlier word has shown where this transition goes
            self.nodes += 1
            home = yield from self._home(node)
            if home is None:
                if len(self._access) >= self._task.max_states:
                    continue
                home = self._add(node)
                queue += [(home, after, below) for after, below in sorted(node.below.items())]
                self._task.hypothesis = self.machine()
                self._task.rounds += 1
                yield
            self._goes_to[state][letter] = home
        yield from self._complete()

    def machine(self) -> Hypothesis:
        """The automaton so far; a transition that no word has shown goes to the initial state."""
        table = [[0 if goal is None else goal for goal in row] for row in self._goes_to]
        return self._task.automaton(table, [known[()] for known in self._known])

    def _add(self, node: _Node) -> int:
        self._access.append(node.word)
        self._known.append(node.suffixes(_SUFFIXES_KEPT))
        self._goes_to.append([None] * self._letters)
        return len(self._access) - 1

    def _home(self, node: _Node) -> CooperativeWork[int | None]:
        """The state with the most evidence that the network confirms; None where there is none."""
        seen = node.suffixes(_SUFFIXES_ASKED)
        yield from self._ask(node.word, seen, self._common)
        evidence = []
        for state, known in enumerate(self._known):
            if all(known.get(suffix, answer) == answer for suffix, answer in seen.items()):
                evidence.append((-sum(suffix in known for suffix in seen), state))
        for _, state in sorted(evidence)[:_MOST_CANDIDATES]:
            known = self._known[state]
            yield from self._ask(self._access[state], known, list(seen))
            if all(known.get(suffix, answer) == answer for suffix, answer in seen.items()):
                return state
        return None

    def _complete(self) -> CooperativeWork[None]:
        """Send each transition that no word has shown to the state that answers most like it."""
        for state in range(len(self._access)):
            yield from self._ask(self._access[state], self._known[state], self._common)
        columns = [(), *self._common]
        rows = np.array([[known.get(suffix, -1) for suffix in columns] for known in self._known])
        for state, row in enumerate(self._goes_to):
            for letter in [letter for letter in range(self._letters) if row[letter] is None]:
                after: dict[Codes, int] = {}
                yield from self._ask((*self._access[state], letter), after, columns)
                said = np.array([after.get(suffix, -2) for suffix in columns])
                row[letter] = int((rows == said).sum(axis=1).argmax())
            self._task.hypothesis = self.machine()

    def _ask(self, word: Codes, known: dict[Codes, int], suffixes: list[Codes]) -> CooperativeWork[None]:
        """Learn the answers after a word that are not known."""
        queries: list[Query] = [(word, suffix) for suffix in suffixes if suffix not in known]
        if self._task.max_length is not None:
            queries = [query for query in queries if len(word) + len(query[1]) <= self._task.max_length]
        if queries:
            for (_, suffix), answer in zip(queries, self._oracle.ask(queries).tolist(), strict=True):
                known[suffix] = int(answer)
            yield


def _common_suffixes(letters: int, rng: np.random.Generator) -> list[Codes]:
    """A few letters, and a few random suffixes."""
    single: list[Codes] = [(int(letter),) for letter in rng.permutation(letters)[: _COMMON_SUFFIXES // 2]]
    longer = [
        tuple(rng.integers(letters, size=int(size)).tolist()) for size in rng.integers(2, 8, _COMMON_SUFFIXES // 2)
    ]
    return [*single, *longer]
