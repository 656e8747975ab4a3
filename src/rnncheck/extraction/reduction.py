"""Smaller automata made of a larger one: the states that words visit most stay, and stand in for the others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from rnncheck.automata.dfa import DFA
from rnncheck.automata.moore import Hypothesis, MooreMachine
from rnncheck.words import WordBatch

_SUFFIXES = 256
_LONGEST_SUFFIX = 12


def reductions(automaton: Hypothesis, words: WordBatch, most_states: int | None = None) -> Iterator[Hypothesis]:
    """Automata of 1, 2, 3, 4, 6, 8, 12, … states, and of ``most_states``, as far as that is fewer than there are.

    A transition to a state that is not kept goes to the kept one that answers most like it.
    """
    ends, counts = np.unique(automaton.support.visited(words), return_counts=True)
    often = np.zeros(len(automaton), dtype=np.int64)
    often[ends] = counts
    by_visits = np.argsort(-often, kind="stable")
    alike = _likeness(automaton)
    for size in _sizes(len(automaton), most_states):
        kept = np.sort(by_visits[:size])
        goes_to = alike[:, kept].argmax(axis=1)
        goes_to[kept] = np.arange(size)
        yield _of_states(automaton, kept, goes_to)


def _sizes(states: int, most_states: int | None) -> list[int]:
    sizes, power = {1, *([] if most_states is None else [most_states])}, 2
    while power < states:
        sizes |= {power, power + power // 2}
        power *= 2
    return sorted(size for size in sizes if size < states)


def _of_states(automaton: Hypothesis, kept: npt.NDArray[np.integer], goes_to: npt.NDArray[np.integer]) -> Hypothesis:
    table, initial = goes_to[automaton.transitions[kept]], int(goes_to[automaton.initial])
    if isinstance(automaton, MooreMachine):
        return MooreMachine(automaton.alphabet, automaton.labels, table, automaton.outputs[kept], initial)
    return DFA(automaton.alphabet, table, automaton.accepting[kept], initial)


def _likeness(automaton: Hypothesis) -> npt.NDArray[np.float32]:
    """After how many of the same random suffixes any two states say the same."""
    rng = np.random.default_rng(0)
    columns = [automaton.outputs]
    for _ in range(_SUFFIXES):
        states = np.arange(len(automaton))
        for letter in rng.integers(len(automaton.alphabet), size=int(rng.integers(1, _LONGEST_SUFFIX + 1))):
            states = automaton.transitions[states, letter]
        columns.append(automaton.outputs[states])
    said = np.stack(columns, axis=1)
    alike = np.zeros((len(automaton), len(automaton)), dtype=np.float32)
    for output in np.unique(said):
        says = (said == output).astype(np.float32)
        alike += says @ says.T
    return alike
