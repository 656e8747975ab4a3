"""Automata as plain tables, walked one letter at a time, and what a relation asks of two of them.

None of this is shared with the automata that verification works on.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rnncheck.automata.dfa import DFA
from rnncheck.automata.formats.dfa_json import write_json
from rnncheck.errors import FormatError
from rnncheck.words import Alphabet, Codes


@dataclass(frozen=True)
class Table:
    """A complete automaton. Its columns stand in the order of the document's alphabet."""

    rows: list[list[int]]
    initial: int
    accepting: frozenset[int]

    @classmethod
    def of(cls, automaton: DFA, states: int | None, letters: Alphabet, source: str) -> Table:
        """The table of a document's automaton; a FormatError says what does not fit the document."""
        if sorted(automaton.alphabet) != sorted(letters):
            raise FormatError("its letters are not those of the document's alphabet", source)
        if states is not None and states != len(automaton):
            raise FormatError(f"{states} states are claimed, and its table has {len(automaton)}", source)
        columns = [automaton.alphabet.index(letter) for letter in letters]
        rows = [[row[column] for column in columns] for row in automaton.transitions.tolist()]
        return cls(rows, automaton.initial, frozenset(np.flatnonzero(automaton.accepting).tolist()))

    def __len__(self) -> int:
        return len(self.rows)

    def end(self, word: Sequence[int], state: int | None = None) -> int:
        """The state in which a word ends that is read from ``state``, or from the initial one."""
        state = self.initial if state is None else state
        for letter in word:
            state = self.rows[state][letter]
        return state

    def accepts(self, word: Sequence[int]) -> bool:
        return self.end(word) in self.accepting

    def digest(self, letters: Sequence[str]) -> str:
        """The digest that a specification of this (minimal) automaton has, whatever the order of its letters."""
        order = sorted(range(len(letters)), key=letters.__getitem__)
        number = {self.initial: 0}
        queue = [self.initial]
        rows = []
        for state in queue:  # grows while it is walked
            row = []
            for column in order:
                successor = self.rows[state][column]
                if successor not in number:
                    number[successor] = len(queue)
                    queue.append(successor)
                row.append(number[successor])
            rows.append(row)
        accepting = np.array([state in self.accepting for state in queue])
        text = write_json(DFA([letters[column] for column in order], np.array(rows), accepting))
        return hashlib.sha256(text.encode()).hexdigest()


def broken(relation: str, model: bool, other: bool) -> bool:
    """Whether a word with these two answers breaks the relation."""
    return can_break(relation, other) and model != other


def can_break(relation: str, other: bool) -> bool:
    """Whether a word could break the relation, whatever the model says to it."""
    return relation == "equal" or other == (relation == "superset")


def first_broken(first: Table, second: Table, relation: str) -> Codes | None:
    """A shortest word on which the relation breaks between two automata, by a plain search over pairs of states."""
    start = (first.initial, second.initial)
    came_from: dict[tuple[int, int], tuple[tuple[int, int], int] | None] = {start: None}
    queue = deque([start])
    while queue:
        pair = queue.popleft()
        if broken(relation, pair[0] in first.accepting, pair[1] in second.accepting):
            word: list[int] = []
            while (step := came_from[pair]) is not None:
                pair, letter = step
                word.append(letter)
            return tuple(reversed(word))
        for letter, successor in enumerate(zip(first.rows[pair[0]], second.rows[pair[1]], strict=True)):
            if successor not in came_from:
                came_from[successor] = (pair, letter)
                queue.append(successor)
    return None
