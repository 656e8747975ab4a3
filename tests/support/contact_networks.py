"""Small temporal networks, and a judge that tries every sequence of contacts. It shares no code with the library."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from hypothesis import strategies as st

from rnncheck.contacts import TemporalNetwork
from rnncheck.words import Word

Contact = tuple[int, str, str]

# The pairs of the paper's Figure 3, with times of our own: C D A B is a time-respecting path and A B C D is not.
FIGURE_3: list[Contact] = [(1, "C", "D"), (2, "B", "C"), (3, "D", "A"), (4, "A", "B"), (5, "B", "D")]


def contact_lists(max_people: int = 4, max_time: int = 5, *, loops: bool = False) -> st.SearchStrategy[list[Contact]]:
    """Lists of contacts between at least two people, repetitions among them."""
    names = [chr(ord("a") + i) for i in range(max_people)]
    contact = st.tuples(st.integers(0, max_time), st.sampled_from(names), st.sampled_from(names))
    lists = st.lists(contact if loops else contact.filter(lambda c: c[1] != c[2]), min_size=1, max_size=12)
    return lists.filter(lambda contacts: len({name for _, *pair in contacts for name in pair}) > 1)


def networks(max_people: int = 4, max_time: int = 5, *, loops: bool = False) -> st.SearchStrategy[TemporalNetwork]:
    return contact_lists(max_people, max_time, loops=loops).map(TemporalNetwork.from_contacts)


def all_paths(contacts: list[Contact], length: int, *, strict: bool) -> set[Word]:
    """Every time-respecting path of at most ``length`` people: all sequences of contacts are walked, one by one."""
    directed = {(time, *pair) for time, a, b in contacts for pair in ((a, b), (b, a))}
    found: set[Word] = {()} | {(person,) for _, person, _ in directed}
    for sequence in _contact_sequences(directed, length - 1, strict):
        found.add((sequence[0][1], *(end for _, _, end in sequence)))
    return found


def all_walks(contacts: list[Contact], length: int) -> set[Word]:
    """Every path of the contact graph of at most ``length`` people, time disregarded."""
    return all_paths([(0, a, b) for _, a, b in contacts], length, strict=False)


def _contact_sequences(directed: set[Contact], length: int, strict: bool) -> Iterator[list[Contact]]:
    pending = [[contact] for contact in directed]
    while pending:
        sequence = pending.pop()
        yield sequence
        if len(sequence) < length:
            time, _, here = sequence[-1]
            for contact in directed:
                later = contact[0] > time if strict else contact[0] >= time
                if later and contact[1] == here:
                    pending.append([*sequence, contact])


def words_up_to(people: list[str], length: int) -> Iterator[Word]:
    for n in range(length + 1):
        yield from itertools.product(people, repeat=n)
