"""Automata as plain tables, read one letter at a time, and the relation between two of them.

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

_MOST_ROWS = 500_000


@dataclass(frozen=True)
class Table:
    """A complete automaton. Its columns stand in the order of the document's alphabet."""

    rows: list[list[int]]
    initial: int
    accepting: frozenset[int]
    ignored: frozenset[int] = frozenset()  # words that end there do not count

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
        """The state after reading a word from ``state``, or from the initial one."""
        state = self.initial if state is None else state
        for letter in word:
            state = self.rows[state][letter]
        return state

    def accepts(self, word: Sequence[int]) -> bool:
        return self.end(word) in self.accepting

    def may_violate(self, relation: str, state: int) -> bool:
        """Whether a word that ends in a state could break the relation to this automaton."""
        return state not in self.ignored and may_violate(relation, state in self.accepting)

    def breaks(self, relation: str, word: Sequence[int], answer: bool) -> bool:
        """Whether a word with this answer of the model breaks the relation."""
        state = self.end(word)
        return self.may_violate(relation, state) and answer != (state in self.accepting)

    def assuming(self, other: Table | None, longest: int | None) -> Table:
        """The same automaton, with words ignored that the other rejects or that have more than ``longest`` letters."""
        if other is None and longest is None:
            return self
        rows_of_other = [[0] * len(self.rows[0])] if other is None else other.rows
        start = (self.initial, 0 if other is None else other.initial, 0)
        number, queue, rows = {start: 0}, [start], []
        for mine, theirs, length in queue:  # grows while it is walked
            after = length if longest is None else min(length + 1, longest + 1)
            row = []
            for pair in zip(self.rows[mine], rows_of_other[theirs], strict=True):
                key = (*pair, after)
                if key not in number:
                    number[key] = len(queue)
                    queue.append(key)
                row.append(number[key])
            rows.append(row)
            if len(rows) > _MOST_ROWS:
                raise FormatError(f"beside the specification it has more than {_MOST_ROWS} states", "assumption")
        ignored = (
            place
            for place, (_, theirs, length) in enumerate(queue)
            if (other is not None and theirs not in other.accepting) or (longest is not None and length > longest)
        )
        accepting = (place for place, (mine, _, _) in enumerate(queue) if mine in self.accepting)
        return Table(rows, 0, frozenset(accepting), frozenset(ignored))

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


def may_violate(relation: str, other: bool) -> bool:
    """Whether a word could break the relation, for some answer of the model."""
    return relation == "equal" or other == (relation == "superset")


def first_broken(first: Table, second: Table, relation: str) -> Codes | None:
    """A shortest word that counts on which the relation of the first to the second breaks, by a plain search."""
    start = (first.initial, second.initial)
    came_from: dict[tuple[int, int], tuple[tuple[int, int], int] | None] = {start: None}
    queue = deque([start])
    while queue:
        pair = queue.popleft()
        if second.may_violate(relation, pair[1]) and (pair[0] in first.accepting) != (pair[1] in second.accepting):
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


def may_be_violated(table: Table, relation: str) -> bool:
    """Whether some word that counts could break the relation, whatever the model says."""
    seen, queue = {table.initial}, [table.initial]
    for state in queue:  # grows while it is walked
        if table.may_violate(relation, state):
            return True
        for successor in table.rows[state]:
            if successor not in seen:
                seen.add(successor)
                queue.append(successor)
    return False
