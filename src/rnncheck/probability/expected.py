"""What is expected of a random walk that ends: sums of rewards, exact to nearly the last digit however small they are.

The probability of a rare language is such a sum. A linear solve would get it right to some digits of 1, and the
probability of a rare language has none of these. So nothing is ever subtracted here: states are eliminated one by one
as Grassmann, Taksar and Heyman do for stationary chains, or, where there are too many, steps are added up until
nothing changes.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from rnncheck.automata.dfa import Mask
from rnncheck.automata.minimisation import incoming_states, look_at_time
from rnncheck.runtime.watchdog import check_time
from rnncheck.words import IntArray

Probabilities: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.integer]

# Up to so many states they are eliminated (under 0.3 s); above, steps are added up.
_ELIMINATED = 600
_STEPS = 16  # between two looks whether anything changes


def expected_rewards(
    goes_to: Integers, chance: Probabilities, ends: Probabilities, rewards: Probabilities
) -> Probabilities:
    """For each state the expected sum of ``rewards`` over the states that a walk from there visits, its own included.

    From state i the walk goes to ``goes_to[i, a]`` with probability ``chance[i, a]``, and ends with ``ends[i]``.
    """
    alive = _leads_to(goes_to, chance, rewards > 0.0)
    expected = np.zeros(len(rewards))
    rows = np.flatnonzero(alive)
    if not len(rows):
        return expected
    number = np.zeros(len(rewards), dtype=np.int64)
    number[rows] = np.arange(len(rows))
    goals, moves = goes_to[rows], chance[rows]
    lost = ~alive[goals]  # where nothing can be gained any more the walk may as well end
    gone = ends[rows] + np.where(lost, moves, 0.0).sum(axis=1)
    goals, moves = number[goals], np.where(lost, 0.0, moves)
    solve = _eliminated if len(rows) <= _ELIMINATED else _added_up
    expected[rows] = solve(goals, moves, gone, rewards[rows].astype(np.float64))
    return expected


def _leads_to(goes_to: Integers, chance: Probabilities, goal: Mask) -> Mask:
    """From which states a walk can come to the goal."""
    here = np.arange(len(goal))[:, None]
    predecessors = incoming_states(np.where(chance > 0.0, goes_to, here))
    reached = goal.copy()
    front, rounds = np.flatnonzero(goal), 0
    while len(front):
        rounds += 1
        look_at_time(rounds, len(front))
        before = np.unique(predecessors(front))
        front = before[~reached[before]]
        reached[front] = True
    return reached


def _eliminated(goals: IntArray, moves: Probabilities, gone: Probabilities, rewards: Probabilities) -> Probabilities:
    """By elimination from the last state to the first: 1 − p(k, k) is what leads elsewhere from k, a sum."""
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


def _added_up(goals: IntArray, moves: Probabilities, gone: Probabilities, rewards: Probabilities) -> Probabilities:
    """Step after step, until no sum changes any more: they only grow, so then none ever will."""
    total = rewards
    while True:
        check_time()
        for _ in range(_STEPS):
            before, total = total, rewards + np.einsum("ij,ij->i", moves, total[goals])
        if np.array_equal(total, before):
            return total
