"""Failure clusters: which of several counterexamples probably have the same cause.

Two are in one cluster where both are in the family of the same faulty flow (or of none), and the hidden state first
deviates at the same edge of the specification: there it is further from the mean than that of any random word that
leads to the same state of the specification. This is a hint for the user, and proves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rnncheck.automata.dfa import DFA
from rnncheck.models.protocol import States
from rnncheck.search.flows import Flow, states_along
from rnncheck.verdict.violation import FailureCluster
from rnncheck.verification.verification_task import Task
from rnncheck.words import Codes, WordBatch

_STEPS, _FEWEST_WORDS = 4_000, 8  # network steps for random words, about, and the least number of words
_LONGEST = 200  # letters of a random word that are read
_FEWEST_STATES = 8  # of a cluster of hidden states


def failure_clusters(
    task: Task, spec: DFA, words: Sequence[Codes], flows: Sequence[Flow]
) -> tuple[FailureCluster, ...]:
    """The clusters of the words, in the order of their first words."""
    deviations = _deviations(task, spec, words)
    groups: dict[tuple[object, ...], list[int]] = {}
    for number, (word, after) in enumerate(zip(words, deviations, strict=True)):
        edge = None if after is None else (_state(spec, word[: after - 1]), word[after - 1])
        # Of a word whose state never deviates only its flow is known.
        place = edge if edge is not None else number if family_of(flows, word) is None else None
        groups.setdefault((family_of(flows, word), place), []).append(number)
    found = []
    for (family, _), numbers in groups.items():
        word, after = words[numbers[0]], deviations[numbers[0]]
        found.append(
            FailureCluster(
                words=tuple(numbers),
                flow=family if isinstance(family, int) else None,
                state=None if after is None else _state(spec, word[: after - 1]),
                letter=None if after is None else spec.alphabet.letters[word[after - 1]],
                after=tuple(deviations[number] for number in numbers),
            )
        )
    return tuple(found)


def _state(spec: DFA, word: Codes) -> int:
    return int(spec.end_states(WordBatch.from_codes([word]))[0])


def family_of(flows: Sequence[Flow], word: Codes) -> int | None:
    """The first flow of which the word is a pumped form (or the form without the loop)."""
    for number, flow in enumerate(flows):
        times, rest = divmod(len(word) - len(flow.prefix) - len(flow.suffix), len(flow.loop))
        if times >= 0 and not rest and flow.word(times) == word:
            return number
    return None


def _deviations(task: Task, spec: DFA, words: Sequence[Codes]) -> list[int | None]:
    """After how many letters of each word the hidden state first leaves its cluster; None if it never does."""
    if not task.oracle.stepping:
        return [None] * len(words)
    clusters = _clusters(task, spec)
    found: list[int | None] = []
    for word, along in zip(words, states_along(task.oracle.stepper, words), strict=True):
        reached = spec.visited(WordBatch.from_codes([word])).tolist()
        leaves = (
            after
            for after, (state, hidden) in enumerate(zip(reached, _flat(along)[1:], strict=True), start=1)
            if state in clusters and clusters[state].is_left_by(hidden)
        )
        found.append(next(leaves, None))
    return found


class _Cluster:
    """Hidden states that random words lead to."""

    def __init__(self, hidden: npt.NDArray[np.float64]) -> None:
        self._mean = hidden.mean(axis=0)
        self._radius = float(np.linalg.norm(hidden - self._mean, axis=1).max())

    def is_left_by(self, hidden: npt.NDArray[np.float64]) -> bool:
        return bool(np.linalg.norm(hidden - self._mean) > self._radius)


def _clusters(task: Task, spec: DFA) -> dict[int, _Cluster]:
    """For each state of the specification that enough random words lead to, their hidden states."""
    count = max(_FEWEST_WORDS, int(_STEPS / max(1.0, min(_LONGEST, task.distribution.mean_length()))))
    drawn = task.distribution.sample(task.rng("mistakes"), count)
    words = [word[:_LONGEST] for word in drawn if word]
    if not words:
        return {}
    hidden = np.concatenate([_flat(along)[1:] for along in states_along(task.oracle.stepper, words)])
    reached = spec.visited(WordBatch.from_codes(words))
    visits = {state: np.flatnonzero(reached == state) for state in np.unique(reached).tolist()}
    return {state: _Cluster(hidden[rows]) for state, rows in visits.items() if len(rows) >= _FEWEST_STATES}


def _flat(states: States) -> npt.NDArray[np.float64]:
    return np.nan_to_num(states.reshape(len(states), -1).astype(np.float64))
