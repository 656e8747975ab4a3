"""The loops of a property's automaton: how each is reached, and which words show what a model remembers of it.

A lasso is a prefix and a loop: however often the loop is read, the automaton comes back to the same state, and a model
that satisfies the property must remember what that state says. A completion is a word that shows whether it does: it
separates the state from others, which the model may have confused it with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rnncheck.automata.dfa import DFA
from rnncheck.relations import Property
from rnncheck.search.flows import shortest_loops
from rnncheck.words import Alphabet, Codes, IntArray

_STATES = 64  # of the automaton, those nearest to its initial state
_TABLE = 1 << 20  # entries of its table that are looked at; with many letters fewer states are
_LOOPS = 8  # at each state, letters of each class, and other ways into a state
_LONGEST_LOOP = 30
_COMPLETIONS = 8  # of each state
_LONGEST_COMPLETION = 30
_CELLS = 1 << 16  # of the table of states that beginnings of completions lead to


@dataclass(frozen=True)
class Lasso:
    """A prefix and a loop. ``states`` are the automaton's after the prefix and after each letter of the loop but the
    last, which leads back to the first.
    """

    prefix: Codes
    loop: Codes
    states: tuple[int, ...]

    def word(self, letters: int) -> Codes:
        """The prefix, and so many letters of the loop, read again and again."""
        times, rest = divmod(letters, len(self.loop))
        return self.prefix + self.loop * times + self.loop[:rest]


class Lassos:
    """The lassos of a property, shortest loops first, at most ``most``, and the completions of their states.

    Only states from which a violation can follow are looked at. Letters that the automaton does not distinguish are
    one: longer loops have the first of each such class, and loops of one letter all of them, the first ones earlier.
    A state is reached by its shortest word, and before loops of one letter later on by other last letters too: the
    model may remember one event and forget another.
    """

    def __init__(self, watched: Property, most: int) -> None:
        self._watched = watched
        self._completions: dict[int, Sequence[Codes]] = {}
        self._access = _access_words(watched)
        self._near = np.fromiter(self._access, dtype=np.int64, count=len(self._access))
        columns = watched.spec.transitions[self._near]
        _, first, kind = np.unique(columns, axis=1, return_index=True, return_inverse=True)
        self._letters: IntArray = np.sort(first)
        self._kind = kind.reshape(-1)
        ranked = sorted(self._ranked(), key=lambda each: each[0])
        distinct: dict[tuple[int, Codes, Codes], Lasso] = {}
        for _, lasso in ranked:
            distinct.setdefault(_turned(lasso), lasso)
        self.all = list(distinct.values())[:most]

    def completions(self, state: int) -> Sequence[Codes]:
        """Shortlex-first words that lead from a state to where a word could be a violation and separate it from others.

        The first separates it from the initial state, if one does: to forget everything is to be there.
        """
        if state not in self._completions:
            self._completions[state] = self._separating(state)
        return self._completions[state]

    def _separating(self, state: int) -> Sequence[Codes]:
        watched, spec = self._watched, self._watched.spec
        ends = np.append(state, self._near)[None, :]
        words: list[Codes] = [()]
        found: list[Codes] = []
        shortest: Codes | None = None
        left, first = ends[0] != state, 0
        for _ in range(_LONGEST_COMPLETION + 1):
            for row in np.flatnonzero(watched.may_violate[ends[:, 0]]).tolist():
                shortest = words[row] if shortest is None else shortest
                separated = left & (spec.accepting[ends[row]] != spec.accepting[ends[row, 0]])
                if separated.any():
                    first = len(found) if separated[1] else first  # the nearest of all is the initial state
                    found.append(words[row])
                    left &= ~separated
            if not left.any() or len(found) >= _COMPLETIONS:
                break
            words, ends = self._longer(words, ends, None if shortest is None else left)
        if not found:
            return [] if shortest is None else [shortest]
        return [found[first], *found[:first], *found[first + 1 :]]

    def _longer(self, words: list[Codes], ends: IntArray, left: IntArray | None) -> tuple[list[Codes], IntArray]:
        """The words with one more letter each that may still separate a state; one of those that lead alike."""
        letters = self._letters
        grown = self._watched.spec.transitions[ends[:, None, :], letters[:, None]].reshape(-1, ends.shape[1])
        promising = self._watched.open_states[grown[:, 0]]
        if left is not None:
            promising &= ((grown != grown[:, :1]) & left).any(axis=1)
        rows = np.flatnonzero(promising)
        _, unique = np.unique(grown[rows], axis=0, return_index=True)
        rows = rows[np.sort(unique)][: max(1, _CELLS // (len(letters) * ends.shape[1]))]
        places = zip((rows // len(letters)).tolist(), letters[rows % len(letters)].tolist(), strict=True)
        return [(*words[parent], letter) for parent, letter in places], grown[rows].astype(np.int64)

    def _ranked(self) -> Iterator[tuple[tuple[int, int], Lasso]]:
        """Lassos with what they are sorted by."""
        spec = self._watched.spec
        graph, ranks = self._graph(), self._ranks()
        for place, (state, access) in enumerate(self._access.items()):
            if not self._watched.open_states[state]:
                continue
            for loop in shortest_loops(graph, place, _LOOPS, _LONGEST_LOOP):
                yield (len(loop), place), self._lasso(access, state, tuple(self._letters[list(loop)].tolist()))
            for letter, rank in ranks.items():
                if spec.transitions[state, letter] == state:
                    yield (1 + rank, place), self._lasso(access, state, (letter,))
                    for prefix, later in self._other_ways(state, letter, ranks):
                        yield (2 + rank + later, place), self._lasso(prefix, state, (letter,))

    def _ranks(self) -> dict[int, int]:
        """The first letters of each class, and how many of it come before each."""
        times: dict[int, int] = {}
        ranks = {}
        for letter, kind in enumerate(self._kind.tolist()):
            times[kind] = times.get(kind, -1) + 1
            if times[kind] < _LOOPS:
                ranks[letter] = times[kind]
        return ranks

    def _other_ways(self, state: int, loop: int, ranks: dict[int, int]) -> list[tuple[Codes, int]]:
        """Words into a state that end otherwise than its access word and than a loop of one letter, with their rank."""
        letters = np.fromiter(ranks, dtype=np.int64, count=len(ranks))
        sources, columns = np.nonzero(self._watched.spec.transitions[self._near[:, None], letters] == state)
        ways = [
            ((*self._access[int(self._near[source])], int(letters[column])), ranks[int(letters[column])])
            for source, column in zip(sources.tolist(), columns.tolist(), strict=True)
            if self._near[source] != state or letters[column] != loop
        ]
        return sorted((way for way in ways if way[0] != self._access[state]), key=lambda way: way[1])[:_LOOPS]

    def _graph(self) -> DFA:
        """The near states from which a violation can follow, and one more for all others, which leads nowhere."""
        near, open_states = self._near, self._watched.open_states
        place_of = {state: place for place, state in enumerate(near.tolist()) if open_states[state]}
        table = [
            [place_of.get(successor, len(near)) for successor in row]
            for row in self._watched.spec.transitions[near][:, self._letters].tolist()
        ]
        names = Alphabet([str(letter) for letter in self._letters.tolist()])
        table.append([len(near)] * len(names))
        return DFA(names, table, np.zeros(len(table), dtype=np.bool_))

    def _lasso(self, prefix: Codes, state: int, loop: Codes) -> Lasso:
        states = [state]
        for letter in loop[:-1]:
            states.append(int(self._watched.spec.transitions[states[-1], letter]))
        return Lasso(prefix, loop, tuple(states))


def _access_words(watched: Property) -> dict[int, Codes]:
    """Shortest words to the states nearest to the initial one, by state, in the order of the words."""
    spec = watched.spec
    most = min(_STATES, max(2, _TABLE // len(spec.alphabet)))
    access: dict[int, Codes] = {spec.initial: ()}
    queue = [spec.initial]
    for state in queue:  # grows while it is walked
        successors, letters = np.unique(spec.transitions[state], return_index=True)
        for place in np.argsort(letters).tolist():
            successor = int(successors[place])
            if successor not in access and len(access) < most:
                access[successor] = (*access[state], int(letters[place]))
                queue.append(successor)
    return access


def _turned(lasso: Lasso) -> tuple[int, Codes, Codes]:
    """One name for a longer loop, wherever on it one begins."""
    loop, states = lasso.loop, lasso.states
    prefix = lasso.prefix if len(loop) == 1 else ()
    return min((states[at], loop[at:] + loop[:at], prefix) for at in range(len(loop)))
