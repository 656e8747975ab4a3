"""How much later answers depend on each number of a network state: a box may be wide in the others."""

from __future__ import annotations

import numpy as np

from rnncheck.proofs.abstract_network import AbstractNetwork
from rnncheck.proofs.domains.interval import Bounds, Interval
from rnncheck.proofs.domains.zonotope import Zonotope

_STATES = 16  # at most
_NUMBERS = 1 << 20  # of slopes; with large networks fewer states are used
_LETTERS = 20  # read to reach a typical state
_SMALL = 1e-3
_NARROWEST, _WIDEST = 0.2, 20.0


def widths(network: AbstractNetwork, letters: int) -> Bounds:
    """How wide each number of a box may be, relative to the others: the more the scores depend on it, the narrower.

    Estimated from the slopes of the scores after up to ``letters`` letters, at states of random words. It only guides
    the search: no proof rests on it.
    """
    rng = np.random.default_rng(0)
    rows = int(np.clip(_NUMBERS // (network.letters * network.width**2 * letters), 1, _STATES))
    states = np.zeros((rows, network.width))
    for _ in range(_LETTERS):
        states = network.step(Interval.point(states)).lo[np.arange(rows), rng.integers(network.letters, size=rows)]
    near = Zonotope.of(Interval(states - _SMALL, states + _SMALL))
    slopes = np.zeros(network.width)
    for _ in range(letters):
        near = network.step_zonotopes(near).rows((np.arange(rows), rng.integers(network.letters, size=rows)))
        if not np.isfinite(near.centre).all():
            return np.ones(network.width)
        slopes += network.score_slopes(near.generators[:, : network.width]).mean(axis=0)
    if not (slopes > 0.0).all():
        return np.ones(network.width)
    logs = np.log(slopes)
    return np.asarray(np.clip(np.exp((logs.mean() - logs) / 2), _NARROWEST, _WIDEST))
