"""Partitions of the words into classes, so that the network states of each class fit into one box.

A class is given by the last k letters and the specification's state before them; each shorter word is its own class.
Class 0 is the empty word alone. Words after which no violation is possible belong to no class.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rnncheck.automata.dfa import DFA, Mask
from rnncheck.relations import Property
from rnncheck.words import Codes

NO_CLASS = -1
INITIAL = 0


@dataclass(frozen=True, eq=False)
class Partition:
    """``successors[p, a]`` is the class of the words of class p with the letter a appended."""

    successors: npt.NDArray[np.int64]
    spec_states: npt.NDArray[np.int64]
    must_accept: Mask
    must_reject: Mask
    contexts: tuple[Codes, ...]

    def __len__(self) -> int:
        return len(self.successors)


def partition_by_last_letters(prop: Property, k: int, at_most: int) -> Partition | None:
    """The partition by the last ``k`` letters and the state before them; None with more than ``at_most`` classes.

    With k = 0 a class is a state of the specification.
    """
    spec, is_open = prop.spec, prop.open_states
    numbers: dict[Any, int] = {None: INITIAL}
    waiting: deque[_Class] = deque([_Class(spec.initial, spec.initial, ())])
    classes, rows = [waiting[0]], []
    while waiting:
        at = waiting.popleft()
        row = []
        for letter, state in enumerate(spec.transitions[at.state].tolist()):
            if not is_open[state]:
                row.append(NO_CLASS)
                continue
            key = at.after(letter, state, k, spec)
            if key not in numbers:
                if len(numbers) >= at_most:
                    return None
                numbers[key] = len(numbers)
                classes.append(key)
                waiting.append(key)
            row.append(numbers[key])
        rows.append(row)
    states = np.array([each.state for each in classes], dtype=np.int64)
    accepting = spec.accepting[states]
    checked = prop.may_violate[states]
    checked[INITIAL] = False  # the empty word is checked separately
    return Partition(
        np.array(rows, dtype=np.int64).reshape(len(rows), len(spec.alphabet)),
        states,
        checked & accepting,
        checked & ~accepting,
        tuple(each.letters for each in classes),
    )


class _Class(NamedTuple):
    """The last letters, the specification's state before them, and its current state."""

    before: int
    state: int
    letters: Codes

    def after(self, letter: int, state: int, k: int, spec: DFA) -> _Class:
        if not k:
            return _Class(state, state, ())
        if len(self.letters) < k:
            return _Class(self.before, state, (*self.letters, letter))
        first, *rest = self.letters
        return _Class(int(spec.transitions[self.before, first]), state, (*rest, letter))
