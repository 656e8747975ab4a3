"""What to draw of an automaton: which states, which transitions folded into one edge, and what is coloured.

A small automaton is drawn whole. Of a large one the part is drawn that matters: the states of the counterexample's
path and of the flows' loops, and those nearest to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from rnncheck.automata.dfa import DFA
from rnncheck.errors import visible
from rnncheck.report.markup import shortened
from rnncheck.words import letter_text

Transition: TypeAlias = tuple[int, int]  # a state, and the position of the letter read in it

MOST_STATES = 40
MOST_EDGES = 120
_PART_EDGES = 60  # of an automaton that is too large to be drawn whole, so much that it can be taken in
_LABEL_LETTERS = 3
_LABEL_WIDTH = 26
_LOOP_WIDTH = 12  # of a letter's way back to its own state: Graphviz keeps no room beside the state for its label
_LETTER_WIDTH = 20
_NAME_WIDTH = 14
_MANY_SOURCES = 4


@dataclass(frozen=True)
class Marks:
    """What is coloured: the transitions of a path, those of each flow's loop, and the state in which the path ends."""

    path: tuple[Transition, ...] = ()
    loops: tuple[tuple[Transition, ...], ...] = ()
    end: int | None = None

    def states(self, dfa: DFA) -> list[int]:
        """The initial state and the marked ones, the loops' first, then those of the path from its end backwards."""
        order = [dfa.initial]
        for loop in self.loops:
            order += [state for state, _ in loop]
            order += [int(dfa.transitions[state, code]) for state, code in loop[-1:]]
        order += [] if self.end is None else [self.end]
        order += [state for state, _ in reversed(self.path)]
        return list(dict.fromkeys(order))


@dataclass(frozen=True)
class Node:
    """A state in a drawing; ``left_out`` counts its transitions that are not drawn."""

    state: int
    name: str
    accepting: bool
    initial: bool
    on_path: bool
    is_end: bool
    flows: tuple[int, ...]
    left_out: int

    @property
    def label(self) -> str:
        return shortened(self.name, _NAME_WIDTH)


@dataclass(frozen=True)
class Edge:
    """The letters that lead from one state to another and are coloured alike."""

    source: int
    target: int
    letters: tuple[int, ...]
    label: str
    on_path: bool
    flows: tuple[int, ...]


@dataclass(frozen=True)
class Drawing:
    """Nodes and edges; ``total`` is the number of states that the automaton has.

    ``labelled``: the states of a Moore machine, named after their outputs; none accepts or rejects.
    """

    dfa: DFA
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    total: int
    only_marked: bool = False
    trap: int | None = None
    labelled: bool = False

    @property
    def notes(self) -> list[str]:
        """What is not drawn, in words."""
        notes = [] if self.trap is None else [self._about_trap()]
        drawn = len(self.nodes) + (self.trap is not None and all(node.state != self.trap for node in self.nodes))
        return notes if drawn == self.total and not self.only_marked else [self._about_part(), *notes]

    def _about_trap(self) -> str:
        name = shortened(visible(self.dfa.name(self.trap or 0)), _NAME_WIDTH)
        return f"Letters without an arrow lead to state {name}, a trap from which nothing is accepted any more."

    def _about_part(self) -> str:
        marked = any(node.on_path or node.flows for node in self.nodes)
        which = "those of the coloured path and the nearest to them" if marked else "those nearest to the initial state"
        edges = ", and of the transitions only the coloured ones" if self.only_marked else ""
        return (
            f"{len(self.nodes)} of {self.total} states are drawn, {which}{edges}. "
            "“+n” at a state counts its letters that are not drawn."
        )


def marks_of(dfa: DFA, word: Iterable[str] | None, flows: Iterable[tuple[Sequence[str], Sequence[str]]] = ()) -> Marks:
    """The marks of a counterexample, and of flows, each given as its prefix and its loop."""
    path: tuple[Transition, ...] = ()
    end = None
    if word is not None:
        codes = dfa.alphabet.encode(word)
        path, end = _walk(dfa, dfa.initial, codes)
    loops = []
    for prefix, loop in flows:
        _, start = _walk(dfa, dfa.initial, dfa.alphabet.encode(prefix))
        loops.append(_walk(dfa, start, dfa.alphabet.encode(loop))[0])
    return Marks(path, tuple(loops), end)


def drawing_of(
    dfa: DFA,
    marks: Marks | None = None,
    *,
    most_states: int = MOST_STATES,
    most_edges: int = MOST_EDGES,
    leave_out_trap: bool = True,
    labelled: bool = False,
) -> Drawing:
    """The drawing of an automaton, with at most ``most_states`` states and ``most_edges`` edges.

    Where many states lead to a trap, a rejecting state that is never left, these transitions are left out unless they
    are marked.
    """
    marks = marks or Marks()
    trap = _trap(dfa) if leave_out_trap and not labelled else None
    required = marks.states(dfa)[:most_states]
    shown = [state for state in _nearest(dfa, required, most_states) if state != trap or state in required]
    if len(shown) < len(dfa) - (trap is not None) or _edge_count(dfa, shown, trap) > most_edges:
        most_edges = min(most_edges, _PART_EDGES)
    while len(shown) > len(required) and _edge_count(dfa, shown, trap) > most_edges:
        shown = shown[: max(len(required), len(shown) - 1 - len(shown) // 10)]
    only_marked = _edge_count(dfa, shown, trap) > most_edges
    on_path, in_loop = frozenset(marks.path), [frozenset(loop) for loop in marks.loops]
    edges = [
        edge
        for state in sorted(shown)
        for edge in _edges(dfa, state, frozenset(shown), on_path, in_loop)
        if edge.on_path or edge.flows or not (only_marked or edge.target == trap)
    ]
    drawn = dict.fromkeys(shown, 0)
    for edge in edges:
        drawn[edge.source] += len(edge.letters) if edge.target != trap else 0
    if trap is not None:
        for state in shown:
            drawn[state] += int((dfa.transitions[state] == trap).sum())
    path_states = {state for state, _ in marks.path} | ({marks.end} if marks.end is not None else set())
    nodes = [
        Node(
            state=state,
            name=visible(dfa.name(state)),
            accepting=bool(dfa.accepting[state]),
            initial=state == dfa.initial,
            on_path=state in path_states,
            is_end=state == marks.end,
            flows=tuple(k for k, loop in enumerate(marks.loops) if any(state == at for at, _ in loop)),
            left_out=len(dfa.alphabet) - drawn[state],
        )
        for state in sorted(shown)
    ]
    return Drawing(dfa, tuple(nodes), tuple(edges), len(dfa), only_marked, trap, labelled)


def folded_label(dfa: DFA, letters: Sequence[int], width: int = _LABEL_WIDTH) -> str:
    """Letters as an edge's label: all of them, all but a few, or a few, about so wide, and how many more."""
    total = len(dfa.alphabet)
    if len(letters) == total > _LABEL_LETTERS:
        return "any letter"
    if len(letters) > _LABEL_LETTERS and total - len(letters) <= 2:
        others = sorted(set(range(total)) - set(letters))
        return "all but " + ", ".join(_short_letter(dfa, code) for code in others)
    texts: list[str] = []
    for code in letters[:_LABEL_LETTERS] if len(letters) > _LABEL_LETTERS + 1 else letters:
        text = _short_letter(dfa, code)
        if texts and len(", ".join([*texts, text])) > width:
            break
        texts.append(text)
    left = len(letters) - len(texts)
    return ", ".join(texts) + (f", +{left} more" if left else "")


def _short_letter(dfa: DFA, code: int) -> str:
    return shortened(letter_text(dfa.alphabet[code]), _LETTER_WIDTH)


def _walk(dfa: DFA, state: int, codes: Sequence[int]) -> tuple[tuple[Transition, ...], int]:
    steps = []
    for code in codes:
        steps.append((state, code))
        state = int(dfa.transitions[state, code])
    return tuple(steps), state


def _nearest(dfa: DFA, start: Sequence[int], most: int) -> list[int]:
    """At most ``most`` states: the given ones, those that they lead to, and so on; last the unreachable ones."""
    found = dict.fromkeys(start)
    front = list(found)
    while front and len(found) < most:
        after = dict.fromkeys(
            successor for state in front for successor in dict.fromkeys(dfa.transitions[state].tolist())
        )
        front = [state for state in after if state not in found]
        found.update(dict.fromkeys(front))
    if len(found) < most:
        found.update(dict.fromkeys(range(len(dfa))))
    return list(found)[:most]


def _trap(dfa: DFA) -> int | None:
    """The rejecting state that is never left, where there is one and many states lead to it."""
    stays = (dfa.transitions == np.arange(len(dfa))[:, None]).all(axis=1) & ~dfa.accepting
    traps = np.flatnonzero(stays)
    if len(traps) != 1 or traps[0] == dfa.initial:
        return None
    sources = int((dfa.transitions == traps[0]).any(axis=1).sum()) - 1
    return int(traps[0]) if sources >= _MANY_SOURCES else None


def _edge_count(dfa: DFA, shown: Sequence[int], trap: int | None) -> int:
    """How many pairs of shown states have a transition between them that is drawn."""
    inside = np.zeros(len(dfa), dtype=bool)
    inside[[state for state in shown if state != trap]] = True
    return sum(int(inside[np.unique(dfa.transitions[state])].sum()) for state in shown)


def _edges(
    dfa: DFA,
    state: int,
    shown: frozenset[int],
    on_path: frozenset[Transition],
    in_loop: Sequence[frozenset[Transition]],
) -> list[Edge]:
    """The edges out of a state: letters with the same target, those that are coloured apart from the others."""
    groups: dict[tuple[int, bool, tuple[int, ...]], list[int]] = {}
    for code, target in enumerate(dfa.transitions[state].tolist()):
        if target in shown:
            flows = tuple(k for k, loop in enumerate(in_loop) if (state, code) in loop)
            groups.setdefault((target, (state, code) in on_path, flows), []).append(code)
    found = []
    for (target, path, flows), codes in groups.items():
        label = folded_label(dfa, codes, _LOOP_WIDTH if target == state else _LABEL_WIDTH)
        found.append(Edge(state, target, tuple(codes), label, path, flows))
    return found
