"""Random walks along timed contacts, many at once: the raw material of data sets.

Walks are rows of a matrix of people's positions, filled up with -1 behind their end.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rnncheck.contacts.paths import respect_time
from rnncheck.contacts.temporal import TemporalNetwork
from rnncheck.words import IntArray, WordBatch

NOBODY = -1

# How often a step is drawn again where it would go straight back. People in contact stay so for a while, and walks
# would mostly go to and fro between two of them.
_DRAWS = 4


def timed_walks(
    network: TemporalNetwork,
    lengths: IntArray,
    rng: np.random.Generator,
    *,
    strict: bool = False,
    turn_back: bool = False,
) -> IntArray:
    """Walks of these numbers of people, each along contacts whose times never go back.

    Where k contacts are still needed, the next one is the first of k that are drawn from all that the person has from
    now on: so the walk spreads over the time there is. A walk that finds no further contact ends early. With
    ``turn_back`` the clock of each walk is once set back to a random earlier time, at a random person that is neither
    the first nor the last.
    """
    index = network.index
    walks = np.full((len(lengths), int(lengths.max(initial=1))), NOBODY, dtype=np.int64)
    order = np.argsort(index.rank, kind="stable")
    at = order[_first_of(np.full(len(lengths), len(order)), lengths - 1, rng)]
    walks[:, 0], walks[:, 1] = index.start[at], index.end[at]
    clock = index.rank[at]
    turning = 1 + rng.integers(np.maximum(lengths - 2, 1))
    alive = lengths > 2
    for step in range(1, walks.shape[1] - 1):
        moving = np.flatnonzero(alive)
        if turn_back:
            turns = moving[turning[moving] == step]
            clock[turns] = rng.integers(np.maximum(clock[turns], 1))
        person, previous = walks[moving, step], walks[moving, step - 1]
        begin = np.searchsorted(index.person_keys, person * index.width + clock[moving] + strict)
        left = index.person_offsets[person + 1] - begin
        alive[moving] = left > 0
        open_, begin, left = moving[left > 0], begin[left > 0], left[left > 0]
        previous = previous[alive[moving]]
        chosen = _next_contact(network, begin, left, lengths[open_] - 1 - step, previous, rng)
        walks[open_, step + 1] = index.person_partner[chosen]
        clock[open_] = index.person_rank[chosen]
        alive &= lengths > step + 2
    return walks


def broken_walks(
    network: TemporalNetwork, lengths: IntArray, rng: np.random.Generator, *, strict: bool = False
) -> IntArray:
    """Walks of these numbers of people that may break at every step.

    Each step goes on to a contact that is not before the last one, goes back to an earlier contact, goes to someone
    never met, or stays: each as likely as the others, as far as there is one.
    """
    index = network.index
    walks = np.full((len(lengths), int(lengths.max(initial=1))), NOBODY, dtype=np.int64)
    at = rng.integers(len(index.rank), size=len(lengths))
    walks[:, 0], clock = index.start[at], index.rank[at]
    for step in range(walks.shape[1] - 1):
        moving = np.flatnonzero(lengths > step + 1)
        person, now = walks[moving, step], clock[moving]
        first, last = index.person_offsets[person], index.person_offsets[person + 1]
        key = person * index.width + now
        onward = _one_from(np.searchsorted(index.person_keys, key + (strict and step > 0)), last, rng)
        earlier = _one_from(first, np.searchsorted(index.person_keys, key), rng)
        stranger = _stranger(network, person, rng)
        again = _one_from(index.person_offsets[stranger], index.person_offsets[stranger + 1], rng)
        partner, rank = index.person_partner, index.person_rank
        moves = np.array([partner[onward], partner[earlier], stranger, person])
        clocks = np.array([rank[onward], rank[earlier], rank[again], now])
        possible = np.array([onward, earlier, stranger, person]) >= 0
        chosen = np.argmax(np.where(possible, rng.random(possible.shape), -1.0), axis=0), np.arange(len(moving))
        walks[moving, step + 1], clock[moving] = moves[chosen], clocks[chosen]
    return walks


def as_words(walks: IntArray, lengths: IntArray) -> WordBatch:
    """The first people of each row as a word."""
    inside = np.arange(walks.shape[1]) < lengths[:, None]
    return WordBatch(walks[inside], np.concatenate([[0], np.cumsum(lengths)]))


def pairs_met(network: TemporalNetwork, walks: IntArray, lengths: IntArray) -> npt.NDArray[np.bool_]:
    """Whether every two neighbours of each walk ever met."""
    outside = np.arange(1, walks.shape[1]) >= lengths[:, None]
    return np.asarray((network.met[walks[:, :-1], walks[:, 1:]] | outside).all(axis=1))


def walks_respect_time(
    network: TemporalNetwork, walks: IntArray, lengths: IntArray, *, strict: bool
) -> npt.NDArray[np.bool_]:
    return respect_time(network, as_words(walks, lengths), strict=strict)


def is_whole(walks: IntArray, lengths: IntArray) -> npt.NDArray[np.bool_]:
    """Whether each walk has the requested number of people."""
    return np.asarray(walks[np.arange(len(walks)), lengths - 1] != NOBODY)


def _next_contact(
    network: TemporalNetwork,
    begin: IntArray,
    left: IntArray,
    needed: IntArray,
    previous: IntArray,
    rng: np.random.Generator,
) -> IntArray:
    chosen = begin + _first_of(left, needed, rng)
    for _ in range(_DRAWS - 1):
        back = np.flatnonzero(network.index.person_partner[chosen] == previous)
        chosen[back] = begin[back] + _first_of(left[back], needed[back], rng)
    return chosen


def _first_of(left: IntArray, needed: IntArray, rng: np.random.Generator) -> IntArray:
    """The least of ``needed`` positions drawn from ``left`` ones."""
    least = 1.0 - rng.random(len(left)) ** (1.0 / np.maximum(needed, 1))
    return np.minimum((least * left).astype(np.int64), left - 1)


def _one_from(begin: IntArray, end: IntArray, rng: np.random.Generator) -> IntArray:
    """A position from ``begin`` up to ``end`` for each; -1 where there is none."""
    at = begin + (rng.random(len(begin)) * (end - begin)).astype(np.int64)
    return np.where(begin < end, at, -1)


def _stranger(network: TemporalNetwork, person: IntArray, rng: np.random.Generator) -> IntArray:
    """Someone whom each never met; -1 if no draw gives one."""
    drawn = rng.integers(len(network.people), size=(_DRAWS, len(person)))
    strange = ~network.met[person, drawn] & (drawn != person)
    found = drawn[np.argmax(strange, axis=0), np.arange(len(person))]
    return np.where(strange.any(axis=0), found, -1)
