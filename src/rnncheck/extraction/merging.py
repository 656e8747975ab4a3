"""State merging: from words and their answers, with the network as the arbiter of every merge (after EDSM and RPNI).

The words, the user's own (``known_words``) or sampled ones, are the paths of a tree whose nodes have the network's
answers. From the root on, the shortest word first, a node becomes a state (a red one, in the literature's terms) or is
merged into the state with the most evidence of being the same: the number of suffixes with known, equal answers. Where
the tree has no answer for the state, the network is queried. Of a language with many states, where a learner would
query every transition, only the part that the words visit is explored.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from rnncheck.automata.moore import Hypothesis
from rnncheck.extraction.method import Extracting, check_on_fresh_words
from rnncheck.learning.learning_task import LearningTask
from rnncheck.oracle import MembershipOracle, Query
from rnncheck.runtime.cooperative import CooperativeWork
from rnncheck.words import Codes, WordBatch

_LETTERS = 30_000  # of sampled words
_WORDS_AT_ONCE = 64
_SUFFIXES_ASKED = 24  # of a node, queried after a state
_COMMON_SUFFIXES = 12  # queried after every node: it may have few of its own
_SUFFIXES_KEPT = 10_000  # of a state; a tree of many long words has millions
_MOST_CANDIDATES = 8  # states that are checked with queries, those with the most evidence first


@dataclass
class _Node:
    """A word of the tree: the network's answer to it, and its one-letter extensions."""

    word: Codes
    answer: int
    below: dict[int, _Node] = field(default_factory=dict)

    def suffixes(self, most: int) -> dict[Codes, int]:
        """Suffixes with known answers, the shortest first, at most ``most``."""
        found: dict[Codes, int] = {}
        queue: list[tuple[Codes, _Node]] = [((), self)]
        for suffix, node in queue:  # grows during the loop
            found[suffix] = node.answer
            if len(found) >= most:
                break
            queue += [((*suffix, letter), below) for letter, below in sorted(node.below.items())]
        return found


def merging(task: LearningTask) -> Extracting:
    """Merge until every word of the tree ends in a state, or the limit of states is reached."""
    tree = yield from _tree(task)
    merger = _Merger(task, tree)
    yield from merger.run()
    own = "the given words" if task.settings.known_words else "sampled words"
    return (yield from check_on_fresh_words(task, merger.machine(), f"merged {merger.nodes} prefixes of {own}"))


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


class _Merger:
    """The states so far: for each its access word, its answer, the known answers after it, and its transitions."""

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
        for state, letter, node in queue:  # grows during the loop
            if self._goes_to[state][letter] is not None:
                continue  # an earlier word determined this transition
            self.nodes += 1
            same = yield from self._find_same_state(node)
            if same is None:
                if len(self._access) >= self._task.max_states:
                    continue
                same = self._add(node)
                queue += [(same, after, below) for after, below in sorted(node.below.items())]
                self._task.hypothesis = self.machine()
                self._task.rounds += 1
                yield
            self._goes_to[state][letter] = same
        yield from self._complete()

    def machine(self) -> Hypothesis:
        """The automaton so far; an undetermined transition goes to the initial state."""
        table = [[0 if goal is None else goal for goal in row] for row in self._goes_to]
        return self._task.automaton(table, [known[()] for known in self._known])

    def _add(self, node: _Node) -> int:
        self._access.append(node.word)
        self._known.append(node.suffixes(_SUFFIXES_KEPT))
        self._goes_to.append([None] * self._letters)
        return len(self._access) - 1

    def _find_same_state(self, node: _Node) -> CooperativeWork[int | None]:
        """The state with the most evidence of being the same, confirmed by queries; None where there is none."""
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
        """Direct each undetermined transition to the state with the most similar answers."""
        for state in range(len(self._access)):
            yield from self._ask(self._access[state], self._known[state], self._common)
        columns = [(), *self._common]
        rows = np.array([[known.get(suffix, -1) for suffix in columns] for known in self._known])
        for state, row in enumerate(self._goes_to):
            for letter in [letter for letter in range(self._letters) if row[letter] is None]:
                after: dict[Codes, int] = {}
                yield from self._ask((*self._access[state], letter), after, columns)
                answers = np.array([after.get(suffix, -2) for suffix in columns])
                row[letter] = int((rows == answers).sum(axis=1).argmax())
            self._task.hypothesis = self.machine()

    def _ask(self, word: Codes, known: dict[Codes, int], suffixes: list[Codes]) -> CooperativeWork[None]:
        """Query the unknown answers after a word and add them to ``known``."""
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
