"""From the loose parts that files name (states, edges, accepting states) to a DFA."""

from __future__ import annotations

import itertools
from collections.abc import Container, Sequence
from dataclasses import dataclass, field

import numpy as np

from rnncheck.automata.dfa import DFA
from rnncheck.errors import AlphabetError, FormatError, ResourceLimitError, short_repr
from rnncheck.words import Alphabet

SINK_NAME = "sink"

# A file with few states and letters can still give a large table once it is completed.
_MAX_CELLS = 1 << 26


@dataclass
class Parts:
    """What a reader collects from a file; ``build`` checks that it makes a deterministic, complete automaton.

    Lines are kept for error messages.
    """

    source: str
    states: dict[str, int] = field(default_factory=dict)  # name → number, in the order declared
    accepting: set[str] = field(default_factory=set)
    initial: list[tuple[str, int]] = field(default_factory=list)  # name, line
    edges: list[tuple[str, str, str, int]] = field(default_factory=list)  # from, letter, to, line

    def declare(self, state: str) -> None:
        self.states.setdefault(state, len(self.states))

    def build(self, alphabet: Alphabet | None, *, complete: bool) -> DFA:
        """The DFA; without ``alphabet`` its letters are those on the edges, sorted.

        A missing transition is an error unless ``complete``, which sends it to a rejecting sink.
        """
        initial = self._initial_state()
        letters = alphabet or self._letters_on_edges()
        names = list(self.states)
        accepting = [name in self.accepting for name in names]
        cells = self._cells(letters, names)
        if len(cells) < len(names) * len(letters):
            if not complete:
                raise self._missing(cells, letters, names)
            names.append(unused_name(SINK_NAME, self.states))
            accepting.append(False)
        if len(names) * len(letters) > _MAX_CELLS:
            raise ResourceLimitError(
                f"{self.source}: {len(names)} states times {len(letters)} letters is more than a table of {_MAX_CELLS} "
                "entries; use fewer letters"
            )
        # Only a sink, the last state, is entered without an edge in the file.
        table = np.full(len(names) * len(letters), len(names) - 1, dtype=np.int32)
        table[list(cells)] = list(cells.values())
        return DFA(letters, table.reshape(len(names), -1), np.array(accepting, dtype=bool), initial, names)

    def _cells(self, letters: Alphabet, names: list[str]) -> dict[int, int]:
        """The successors that the edges give: from the position state · letters + letter to a state."""
        cells: dict[int, int] = {}
        for source, letter, target, line in self.edges:
            cell = self._number(source, line) * len(letters) + self._column(letters, letter, line)
            goes_to = self._number(target, line)
            if cells.setdefault(cell, goes_to) != goes_to:
                raise FormatError(
                    f"state {short_repr(source)} has two successors on letter {short_repr(letter)}, "
                    f"{short_repr(names[cells[cell]])} and {short_repr(target)}; the automaton must be deterministic",
                    self.source,
                    line,
                )
        return cells

    def _missing(self, cells: dict[int, int], letters: Alphabet, names: list[str]) -> FormatError:
        row, column = divmod(next(cell for cell in itertools.count() if cell not in cells), len(letters))
        return FormatError(
            f"state {short_repr(names[row])} has no successor on letter {short_repr(letters[column])}; "
            "complete the automaton, or add a rejecting sink (--complete, complete=True)",
            self.source,
        )

    def _initial_state(self) -> int:
        if not self.states:
            raise FormatError("the file declares no state", self.source)
        distinct = dict.fromkeys(name for name, _ in self.initial)
        if not distinct:
            raise FormatError("no initial state; mark it with an edge from a node named __start", self.source)
        if len(distinct) > 1:
            first, second = list(distinct)[:2]
            raise FormatError(
                f"two initial states, {short_repr(first)} and {short_repr(second)}; there must be one",
                self.source,
                self.initial[-1][1],
            )
        return self._number(*self.initial[0])

    def _letters_on_edges(self) -> Alphabet:
        letters = sorted({letter for _, letter, _, _ in self.edges})
        if not letters:
            raise FormatError("no edge has a letter, so the alphabet is unknown; give one (--alphabet)", self.source)
        return Alphabet(letters)

    def _number(self, state: str, line: int) -> int:
        try:
            return self.states[state]
        except KeyError:
            raise FormatError(f"state {short_repr(state)} is used but not declared", self.source, line) from None

    def _column(self, letters: Alphabet, letter: str, line: int) -> int:
        try:
            return letters.index(letter)
        except AlphabetError as error:
            raise FormatError(str(error), self.source, line) from None


def unused_name(name: str, taken: Container[str]) -> str:
    """The name, with underscores added while it is taken."""
    while name in taken:
        name += "_"
    return name


def split_letters(label: str) -> Sequence[str]:
    """The letters of an edge label that another tool wrote: comma-separated, or the whole label where that fails."""
    parts = [part.strip() for part in label.split(",")]
    return [label] if "" in parts else parts
