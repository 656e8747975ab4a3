"""Expected rewards of a random walk that ends, accurate in nearly every digit however small they are.

The probability of a rare language is such a sum. A linear solver has a small error relative to 1, which may be larger
than that probability. So nothing is ever subtracted here: states are eliminated one by one, as Grassmann, Taksar and
Heyman do for stationary chains. Larger chains are solved component by component, the last ones first: a deep automaton
has many small components, and each of its states is visited once. Within a large component steps are summed until
nothing changes.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from rnncheck.automata.components import components
from rnncheck.automata.minimisation import leading_to, look_at_time
from rnncheck.runtime.watchdog import check_time
from rnncheck.words import IntArray

Probabilities: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.integer]

# The largest component that is eliminated (under 0.3 s); in larger ones steps are summed.
_ELIMINATED = 600
_STEPS = 16  # between two checks whether anything changes


def expected_rewards(
    goes_to: Integers, chance: Probabilities, ends: Probabilities, rewards: Probabilities
) -> Probabilities:
    """For each state the expected sum of ``rewards`` over the states that a walk from there visits, its own included.

    From state i the walk goes to ``goes_to[i, a]`` with probability ``chance[i, a]``, and ends with ``ends[i]``.
    """
    stay = np.arange(len(rewards))[:, None]
    alive = leading_to(np.where(chance > 0.0, goes_to, stay), rewards > 0.0)
    expected = np.zeros(len(rewards))
    rows = np.flatnonzero(alive)
    if not len(rows):
        return expected
    number = np.zeros(len(rewards), dtype=np.int64)
    number[rows] = np.arange(len(rows))
    goals, moves = goes_to[rows], chance[rows]
    lost = ~alive[goals]  # where no reward is left the walk may as well end
    gone = ends[rows] + np.where(lost, moves, 0.0).sum(axis=1)
    goals, moves = number[goals], np.where(lost, 0.0, moves)
    solve = _eliminated if len(rows) <= _ELIMINATED else _by_components
    expected[rows] = solve(goals, moves, gone, rewards[rows].astype(np.float64))
    return expected


def _eliminated(goals: IntArray, moves: Probabilities, gone: Probabilities, rewards: Probabilities) -> Probabilities:
    """By elimination from the last state to the first: 1 − p(k, k) is the sum of what leads elsewhere from k."""
    size = len(rewards)
    table = np.zeros((size, size + 2))
    np.add.at(table, (np.repeat(np.arange(size), goals.shape[1]), goals.ravel()), moves.ravel())
    table[:, size], table[:, size + 1] = gone, rewards
    away = np.zeros(size)
    for k in range(size - 1, -1, -1):
        away[k] = table[k, :k].sum() + table[k, size]
        share = table[:k, k] / away[k]
        used = np.flatnonzero(share)
        table[used, :k] += share[used, None] * table[k, :k]
        table[used, size:] += share[used, None] * table[k, size:]
    expected = np.zeros(size)
    for k in range(size):
        expected[k] = (table[k, size + 1] + (table[k, :k] * expected[:k]).sum()) / away[k]
    return expected


def _by_components(goals: IntArray, moves: Probabilities, gone: Probabilities, rewards: Probabilities) -> Probabilities:
    """Component by component: edges out of a component lead to states whose expectation is known."""
    size = len(rewards)
    expected = np.zeros(size)
    number = np.full(size, -1)
    for rounds, states in enumerate(components(np.where(moves > 0.0, goals, np.arange(size)[:, None]))):
        look_at_time(rounds, len(states))
        if len(states) == 1:  # like the general case, without arrays: a deep automaton has many of these
            (state,) = states
            away, gain = gone[state], rewards[state]
            for successor, move in zip(goals[state].tolist(), moves[state].tolist(), strict=True):
                if successor != state:
                    away, gain = away + move, gain + move * expected[successor]
            expected[state] = gain / away
            continue
        number[states] = np.arange(len(states))
        within = number[goals[states]]
        number[states] = -1
        staying = np.where(within >= 0, moves[states], 0.0)
        leaving = moves[states] - staying
        gains = rewards[states] + (leaving * expected[goals[states]]).sum(axis=1)
        solve = _eliminated if len(states) <= _ELIMINATED else _added_up
        expected[states] = solve(np.maximum(within, 0), staying, gone[states] + leaving.sum(axis=1), gains)
    return expected


def _added_up(goals: IntArray, moves: Probabilities, gone: Probabilities, rewards: Probabilities) -> Probabilities:
    """Sum step after step until nothing changes: the sums only grow, so then none ever will."""
    total = rewards
    while True:
        check_time()
        for _ in range(_STEPS):
            before, total = total, rewards + np.einsum("ij,ij->i", moves, total[goals])
        if np.array_equal(total, before):
            return total
