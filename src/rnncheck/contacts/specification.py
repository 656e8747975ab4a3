"""Automata of contact sequences: over the people as letters, built directly as tables of integers.

All of them accept the empty word and single people, as the specifications that the paper's authors released do: no
contact is claimed by them that did not happen.
"""

from __future__ import annotations

import numpy as np

from rnncheck.automata.dfa import DEFAULT_MAX_STATES, DFA, Table
from rnncheck.automata.formats.parts import unused_name
from rnncheck.contacts.temporal import TemporalNetwork
from rnncheck.errors import InputError, StateLimitError
from rnncheck.words import IntArray


def graph_automaton(network: TemporalNetwork) -> DFA:
    """The paths of the contact graph, time disregarded: every two neighbours in the word met at some time.

    One state per person, a start and a sink. People may occur any number of times.
    """
    people = len(network.people)
    sink = people + 1
    table = np.full((people + 2, people), sink, dtype=np.int32)
    table[0] = np.arange(1, people + 1)
    table[1:sink] = np.where(network.met, table[0], sink)
    start_name = unused_name("start", network.people)
    names = (start_name, *network.people, unused_name("rejected", (*network.people, start_name)))
    return DFA(network.people, table, np.arange(people + 2) != sink, names=names)


def spaced_automaton(network: TemporalNetwork, gap: int, *, max_states: int = DEFAULT_MAX_STATES) -> DFA:
    """The paths of the contact graph in which no one occurs again within ``gap`` steps, time disregarded.

    With gap 1 no one follows themselves, with gap 2 no path goes there and straight back, and if the gap is at least
    the number of people less one, no one occurs twice. A state is the last ``gap`` people: their number grows
    with every step of the gap by about the number of neighbours of each person.
    """
    if gap < 1:
        raise InputError(f"a gap of {gap} steps bounds nothing; give at least 1, or use the contact graph as it is")
    neighbours = [np.flatnonzero(row).tolist() for row in network.met]
    number: dict[tuple[int, ...], int] = {(): 0}
    queue: list[tuple[int, ...]] = [()]
    edges: list[tuple[int, int, int]] = []
    for state, recent in enumerate(queue):  # grows while it is walked
        for person in neighbours[recent[-1]] if recent else range(len(network.people)):
            if person in recent:
                continue
            target = (*recent, person)[-gap:]
            if target not in number:
                if len(queue) + 1 >= max_states:  # the sink is a state too
                    raise StateLimitError(f"the automaton of contact paths with gap {gap}", max_states)
                number[target] = len(queue)
                queue.append(target)
            edges.append((state, person, number[target]))
    return _with_sink(network, len(queue), np.array(edges, dtype=np.int64).T)


def time_automaton(network: TemporalNetwork, *, strict: bool = False, max_states: int = DEFAULT_MAX_STATES) -> DFA:
    """The time-respecting paths themselves (see :mod:`rnncheck.contacts.paths`).

    A state is one person and the earliest time at which a path can have reached them; so there are at most twice the
    number of contacts, plus one per person.
    """
    people, index = len(network.people), network.index
    number = np.full(len(index.person_keys) + people, -1, dtype=np.int64)
    frontier = index.person_offsets[:-1] + np.arange(people)  # people who start a path have all contacts before them
    number[frontier] = 1 + np.arange(people)
    edges = [np.stack([np.zeros(people, dtype=np.int64), np.arange(people), number[frontier]])]
    states = 1 + people
    while len(frontier):
        source, letter, target = _steps(network, frontier, strict=strict)
        frontier = np.unique(target[number[target] < 0])
        number[frontier] = states + np.arange(len(frontier))
        states += len(frontier)
        if states + 1 > max_states:
            raise StateLimitError("the automaton of time-respecting paths", max_states)
        edges.append(np.stack([number[source], letter, number[target]]))
    return _with_sink(network, states, np.concatenate(edges, axis=1))


def _steps(network: TemporalNetwork, states: IntArray, *, strict: bool) -> tuple[IntArray, IntArray, IntArray]:
    """All steps from these states: the state, the person met, the state then.

    A state is the position, among the contacts that are ordered by person and time, of the first one that is still to
    come for the person who is reached, plus the number of that person, so that the end of one is not the next's start.
    Arrivals between the same two contacts of one person have the same future, and are one state.
    """
    index = network.index
    person = np.searchsorted(index.person_offsets + np.arange(len(index.person_offsets)), states, "right") - 1
    position = states - person
    continuing = position < index.person_offsets[person + 1]
    start, not_before = person[continuing], index.person_rank[position[continuing]]
    question, met, rank = _first_meetings(network, start, not_before)
    next_contact = np.searchsorted(index.person_keys, met * index.width + rank + strict)
    return states[continuing][question], met, next_contact + met


def _first_meetings(
    network: TemporalNetwork, start: IntArray, not_before: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """For each person and rank: everybody whom that person meets from then on, and the rank of the first time.

    Three arrays of one length: the index of the question, the person met, the rank.
    """
    degrees = network.met.sum(axis=1)
    neighbours = np.nonzero(network.met)[1]
    first_neighbour = np.cumsum(degrees) - degrees
    counts = degrees[start]
    question = np.repeat(np.arange(len(start)), counts)
    within = np.arange(len(question)) - np.repeat(np.cumsum(counts) - counts, counts)
    person = neighbours[first_neighbour[start][question] + within]
    rank = network.index.next_rank(start[question], person, not_before[question])
    found = rank >= 0
    return question[found], person[found], rank[found]


def _with_sink(network: TemporalNetwork, states: int, edges: IntArray) -> DFA:
    """The automaton of these edges (rows: from, letter, to), all of its states accepting, and a sink for the rest."""
    table: Table = np.full((states + 1, len(network.people)), states, dtype=np.int32)
    table[edges[0], edges[1]] = edges[2]
    return DFA(network.people, table, np.arange(states + 1) != states)
