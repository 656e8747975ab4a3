"""Further counterexamples, each of another kind.

The kind of a counterexample is the edge of the specification that its last letter takes: there the word becomes a
violation. Words of one kind mostly have one cause; a word of another kind has another one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from rnncheck.automata.dfa import DFA, Mask
from rnncheck.models.protocol import Scores
from rnncheck.search.exhaustive import ExhaustiveSearch
from rnncheck.search.guided import GuidedSearch
from rnncheck.search.prefix_tree import Frontier, PrefixTree
from rnncheck.search.shrinking import shrink
from rnncheck.verification.verification_task import Task
from rnncheck.words import Codes, WordBatch

Kind: TypeAlias = tuple[int, int] | None  # a state of the specification and a letter; None for the empty word

_STEPS = 50_000  # network steps for each further counterexample, at most
_SHORT_WORDS, _SHORTEST = 0.4, 64  # the share of them for querying every short word, and the greatest length of these


def kind_of(spec: DFA, word: Codes) -> Kind:
    """The edge of the specification that the last letter takes."""
    return (int(spec.end_states(WordBatch.from_codes([word[:-1]]))[0]), word[-1]) if word else None


def find_others(task: Task, spec: DFA, first: Codes, count: int, found: Callable[[Codes], None]) -> None:
    """Call ``found`` with up to ``count`` counterexamples of kinds that differ from the first and each other."""
    known = {kind_of(spec, first)}
    while len(known) <= count:
        word = _find_another(task, spec, known)
        if word is None:
            return
        known.add(kind_of(spec, word))
        found(word)


def _find_another(task: Task, spec: DFA, known: set[Kind]) -> Codes | None:
    """A counterexample of a new kind, shrunk."""
    word = _search(task, _OtherKinds(task, spec, known))
    if not task.confirmed(word) or word is None:
        return None

    def holds(words: Sequence[Codes]) -> Mask:
        new = np.array([kind_of(spec, word) not in known for word in words], dtype=np.bool_)
        return task.violating(words) & new

    best = [word]

    def keep(smaller: Codes) -> None:
        if task.violates(smaller):
            best.append(smaller)

    shrink(word, len(task.spec.alphabet), holds, found=keep)
    return best[-1]


def _search(task: Task, tree: PrefixTree) -> Codes | None:
    """Search every short word, then promising ones."""
    memory, end = task.settings.memory_limit // 4, task.oracle.cost.work + _STEPS
    search = ExhaustiveSearch(tree, memory)
    longest = search.affordable(_SHORTEST, int(_SHORT_WORDS * _STEPS))
    while search.length < longest and not search.finished:
        search.next_length(last=search.length + 1 == longest)
    if search.finished or not task.oracle.stepping:
        return search.violation
    beams = GuidedSearch(tree, task.rng("another"), memory=memory)
    while not beams.finished and task.oracle.cost.work < end:
        beams.advance()
    return beams.violation


class _OtherKinds(PrefixTree):
    """The prefix tree, where words of known kinds do not count as violations."""

    def __init__(self, task: Task, spec: DFA, known: set[Kind]) -> None:
        super().__init__(task.oracle.stepper, task.prop)
        self._full_spec = spec  # the specification without the assumption
        self._known = known

    def empty_word_violates(self) -> bool:
        return None not in self._known and super().empty_word_violates()

    def broken(self, frontier: Frontier, scores: Scores) -> Mask:
        result = super().broken(frontier, scores)
        rows = np.flatnonzero(result)
        words = frontier.words[rows]
        offsets = np.arange(len(rows) + 1, dtype=np.int64) * (words.shape[1] - 1)
        before = self._full_spec.end_states(WordBatch(words[:, :-1].ravel(), offsets))
        kinds = zip(before.tolist(), words[:, -1].tolist(), strict=True)
        result[rows] = [kind not in self._known for kind in kinds]
        return result
