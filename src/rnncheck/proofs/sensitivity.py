"""Which numbers of a network state later answers depend on: a box may be wide in the others."""

from __future__ import annotations

import numpy as np

from rnncheck.proofs.abstract_network import AbstractNetwork
from rnncheck.proofs.domains.interval import Bounds, Box
from rnncheck.proofs.domains.zonotope import Form

_STATES = 16  # at most
_NUMBERS = 1 << 20  # of slopes; fewer states where there are many
_LETTERS = 20  # to come to a state; nothing but the network itself decides which are usual
_SMALL = 1e-3
_NARROWEST, _WIDEST = 0.2, 20.0


def widths(network: AbstractNetwork, letters: int) -> Bounds:
    """How wide each number of a box may be, relative to the others: less, the more scores depend on it.

    By the slopes of the scores after up to so many letters, at states of random words. It is a guess for a search: a
    proof does not rest on it.
    """
    rng = np.random.default_rng(0)
    rows = int(np.clip(_NUMBERS // (network.letters * network.width**2 * letters), 1, _STATES))
    states = np.zeros((rows, network.width))
    for _ in range(_LETTERS):
        states = network.step(Box.point(states)).lo[np.arange(rows), rng.integers(network.letters, size=rows)]
    near = Form.of(Box(states - _SMALL, states + _SMALL))
    slopes = np.zeros(network.width)
    for _ in range(letters):
        near = network.step_forms(near).rows((np.arange(rows), rng.integers(network.letters, size=rows)))
        if not np.isfinite(near.centre).all():
            return np.ones(network.width)
        slopes += network.score_slopes(near.generators[:, : network.width]).mean(axis=0)
    if not (slopes > 0.0).all():
        return np.ones(network.width)
    logs = np.log(slopes)
    return np.asarray(np.clip(np.exp((logs.mean() - logs) / 2), _NARROWEST, _WIDEST))
