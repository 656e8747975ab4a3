"""Queries about the language of one automaton."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from rnncheck.automata.dfa import DFA
from rnncheck.automata.minimisation import closed_backwards, coreachable, reachable
from rnncheck.automata.product import inclusion_witness
from rnncheck.errors import InputError
from rnncheck.words import Alphabet, Word


def empty_language(alphabet: Alphabet) -> DFA:
    """The automaton that rejects every word."""
    return DFA(alphabet, np.zeros((1, len(alphabet)), dtype=np.int32), np.array([False]))


def all_words(alphabet: Alphabet) -> DFA:
    """The automaton that accepts every word."""
    return empty_language(alphabet).complement()


def short_words(alphabet: Alphabet, length: int) -> DFA:
    """The automaton of the words of at most ``length`` letters."""
    if length < 0:
        raise InputError(f"length {length} is below 0")
    counted = np.minimum(np.arange(1, length + 3), length + 1)  # state n: n letters read; the last state: too many
    return DFA(alphabet, np.repeat(counted[:, None], len(alphabet), axis=1), np.arange(length + 2) <= length)


def is_empty(dfa: DFA) -> bool:
    """Whether no word is accepted."""
    return not dfa.accepting[reachable(dfa)].any()


def is_universal(dfa: DFA) -> bool:
    """Whether every word is accepted."""
    return bool(dfa.accepting[reachable(dfa)].all())


def is_finite(dfa: DFA) -> bool:
    """Whether only finitely many words are accepted."""
    useful = reachable(dfa) & coreachable(dfa)
    # The language is finite if and only if the useful part has no cycle: remove states without useful successors.
    onward = np.where(useful, useful[dfa.transitions].sum(axis=1), dfa.transitions.size + 1)
    return bool(closed_backwards(dfa.transitions, onward == 0, onward).sum() == useful.sum())


def least_word(dfa: DFA) -> Word | None:
    """The shortlex-least accepted word; None when there is none."""
    return inclusion_witness(dfa, empty_language(dfa.alphabet))


def words_up_to(dfa: DFA, length: int) -> Iterator[Word]:
    """Every accepted word of at most ``length`` letters, in shortlex order.

    Only prefixes that can still be completed in time are visited, so the cost is proportional to the result.
    """
    if length < 0:
        raise InputError(f"length {length} is below 0")
    return _walk_words(dfa, length)


def _walk_words(dfa: DFA, length: int) -> Iterator[Word]:
    alive = _alive_within(dfa, length)
    successors = dfa.transitions.tolist()
    left = length
    front: list[tuple[tuple[int, ...], int]] = [((), dfa.initial)] if alive(left)[dfa.initial] else []
    while front:
        for codes, state in front:
            if dfa.accepting[state]:
                yield dfa.alphabet.decode(codes)
        left -= 1
        if left < 0:
            return
        may_follow = alive(left)
        front = [
            ((*codes, letter), successor)
            for codes, state in front
            for letter, successor in enumerate(successors[state])
            if may_follow[successor]
        ]


def count_words(dfa: DFA, length: int) -> int:
    """The exact number of accepted words of ``length`` letters."""
    if length < 0:
        raise InputError(f"length {length} is below 0")
    counts = [int(accepted) for accepted in dfa.accepting]
    table = dfa.transitions.tolist()
    for _ in range(length):
        counts = [sum(counts[successor] for successor in row) for row in table]
    return counts[dfa.initial]


def _alive_within(dfa: DFA, length: int) -> Callable[[int], list[bool]]:
    """``result(n)[q]``, for n up to ``length``: some word of at most n letters leads from q to acceptance."""
    masks = [dfa.accepting]
    while len(masks) <= length:
        mask = dfa.accepting | masks[-1][dfa.transitions].any(axis=1)
        if np.array_equal(mask, masks[-1]):
            break  # longer words reach nothing new
        masks.append(mask)
    alive = [mask.tolist() for mask in masks]
    return lambda n: alive[min(n, len(alive) - 1)]
