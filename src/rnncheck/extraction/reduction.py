"""Smaller automata made of a larger one: the most visited states stay, and replace the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from rnncheck.automata.dfa import DFA
from rnncheck.automata.moore import Hypothesis, MooreMachine
from rnncheck.words import WordBatch

_SUFFIXES = 256
_LONGEST_SUFFIX = 12
_MOST_KEPT = 2_048  # states, unless candidates are requested
_ROWS_AT_ONCE = 1_024


def reductions(automaton: Hypothesis, words: WordBatch, most_states: int | None = None) -> Iterator[Hypothesis]:
    """Automata of 1, 2, 3, 4, 6, 8, 12, … states, and of ``most_states``, each fewer than the automaton has.

    A transition to a state that is not kept goes to the kept one with the most similar answers.
    """
    ends, counts = np.unique(automaton.support.visited(words), return_counts=True)
    often = np.zeros(len(automaton), dtype=np.int64)
    often[ends] = counts
    by_visits = np.argsort(-often, kind="stable")
    sizes = _sizes(len(automaton), most_states)
    for size, alike in zip(sizes, _most_alike(_signatures(automaton), by_visits, sizes), strict=True):
        kept = np.sort(by_visits[:size])
        goes_to = np.searchsorted(kept, alike)
        goes_to[kept] = np.arange(size)
        yield _of_states(automaton, kept, goes_to)


def _sizes(states: int, most_states: int | None) -> list[int]:
    sizes, power = {1, *([] if most_states is None else [most_states])}, 2
    while power < min(states, _MOST_KEPT):
        sizes |= {power, power + power // 2}
        power *= 2
    return sorted(size for size in sizes if size < states)


def _of_states(automaton: Hypothesis, kept: npt.NDArray[np.integer], goes_to: npt.NDArray[np.integer]) -> Hypothesis:
    table, initial = goes_to[automaton.transitions[kept]], int(goes_to[automaton.initial])
    if isinstance(automaton, MooreMachine):
        return MooreMachine(automaton.alphabet, automaton.labels, table, automaton.outputs[kept], initial)
    return DFA(automaton.alphabet, table, automaton.accepting[kept], initial)


def _signatures(automaton: Hypothesis) -> npt.NDArray[np.int64]:
    """The outputs of every state after the same random suffixes, one row per state."""
    rng = np.random.default_rng(0)
    columns = [automaton.outputs]
    for _ in range(_SUFFIXES):
        states = np.arange(len(automaton))
        for letter in rng.integers(len(automaton.alphabet), size=int(rng.integers(1, _LONGEST_SUFFIX + 1))):
            states = automaton.transitions[states, letter]
        columns.append(automaton.outputs[states])
    return np.stack(columns, axis=1).astype(np.int64)


def _most_alike(
    signatures: npt.NDArray[np.int64], order: npt.NDArray[np.integer], sizes: Sequence[int]
) -> npt.NDArray[np.int64]:
    """For each size, in rising order, and every state: the most similar of the first ``size`` states in the order.

    Works on some rows at a time, and compares every pair once for all sizes.
    """
    outputs = np.unique(signatures)
    found = np.zeros((len(sizes), len(signatures)), dtype=np.int64)
    for start in range(0, len(signatures), _ROWS_AT_ONCE):
        rows = signatures[start : start + _ROWS_AT_ONCE]
        before, most, best = 0, np.full(len(rows), -1.0, dtype=np.float32), np.zeros(len(rows), dtype=np.int64)
        for number, size in enumerate(sizes):
            candidates = signatures[order[before:size]]
            alike = np.zeros((len(rows), len(candidates)), dtype=np.float32)
            for output in outputs:
                alike += (rows == output).astype(np.float32) @ (candidates == output).astype(np.float32).T
            here = alike.max(axis=1)
            best = np.where(here > most, order[before + alike.argmax(axis=1)], best)
            most, before = np.maximum(most, here), size
            found[number, start : start + len(rows)] = best
    return found
