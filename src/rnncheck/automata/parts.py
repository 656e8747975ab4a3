"""From the loose parts that files name (states, edges, accepting states) to a DFA."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from rnncheck.automata.dfa import DFA
from rnncheck.errors import FormatError, shown
from rnncheck.words import Alphabet

SINK_NAME = "sink"


@dataclass
class Parts:
    """What a reader collects from a file; ``build`` checks that it makes a deterministic, complete automaton.

    Lines are kept so that an error can say where the offender stands.
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
        table = np.full((len(self.states), len(letters)), -1, dtype=np.int64)
        for source, letter, target, line in self.edges:
            row, column = self._number(source, line), self._column(letters, letter, line)
            goes_to = self._number(target, line)
            if table[row, column] not in (-1, goes_to):
                names = list(self.states)
                raise FormatError(
                    f"state {shown(source)} has two successors on letter {shown(letter)}, "
                    f"{shown(names[table[row, column]])} and {shown(target)}; the automaton must be deterministic",
                    self.source,
                    line,
                )
            table[row, column] = goes_to
        accepting = [name in self.accepting for name in self.states]
        names = list(self.states)
        if (table < 0).any():
            if not complete:
                row, column = np.argwhere(table < 0)[0]
                raise FormatError(
                    f"state {shown(names[row])} has no successor on letter {shown(letters[column])}; "
                    "complete the automaton, or let a rejecting sink be added (--complete, complete=True)",
                    self.source,
                )
            table[table < 0] = len(names)
            table = np.vstack([table, np.full(len(letters), len(names))])
            accepting.append(False)
            names.append(_unused(SINK_NAME, self.states))
        return DFA(letters, table, np.array(accepting, dtype=bool), self._number(initial, 0), names)

    def _initial_state(self) -> str:
        if not self.states:
            raise FormatError("the file declares no state", self.source)
        distinct = dict.fromkeys(name for name, _ in self.initial)
        if not distinct:
            raise FormatError("no initial state; mark it with an edge from a node named __start", self.source)
        if len(distinct) > 1:
            first, second = list(distinct)[:2]
            raise FormatError(
                f"two initial states, {shown(first)} and {shown(second)}; there must be one",
                self.source,
                self.initial[-1][1],
            )
        return next(iter(distinct))

    def _letters_on_edges(self) -> Alphabet:
        letters = sorted({letter for _, letter, _, _ in self.edges})
        if not letters:
            raise FormatError("no edge has a letter, so the alphabet is unknown; give one (--alphabet)", self.source)
        return Alphabet(letters)

    def _number(self, state: str, line: int) -> int:
        try:
            return self.states[state]
        except KeyError:
            raise FormatError(f"state {shown(state)} is used but not declared", self.source, line) from None

    def _column(self, letters: Alphabet, letter: str, line: int) -> int:
        if letter not in letters:
            raise FormatError(f"letter {shown(letter)} is not in the alphabet {letters}", self.source, line)
        return letters.index(letter)


def _unused(name: str, taken: Iterable[str]) -> str:
    taken = set(taken)
    while name in taken:
        name += "_"
    return name


def split_letters(label: str) -> Sequence[str]:
    """The letters of an edge label that another tool wrote: comma-separated, or the whole label where that fails."""
    parts = [part.strip() for part in label.split(",")]
    return [label] if "" in parts else parts
