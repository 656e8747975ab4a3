"""A network whose errors turn as they shrink: boxes grow around them, and no letter by itself brings them back."""

from __future__ import annotations

import numpy as np

from rnncheck.models.network import Cell, Layer, RecurrentNetwork
from support.networks import letters


def rotating_network(
    edge: float = 0.4, *, accepts: bool = True, labels: int = 1, dtype: type = np.float32
) -> RecurrentNetwork:
    """``h = tanh(0.8 R h + x)``, R a turn by 45°; its answer changes where a number of h exceeds ``edge``.

    Its states stay below 0.25. A letter makes of a small box one that is up to 1.13 times as wide, of a circle one of
    0.8 times its radius.
    """
    turn = 0.8 * np.array([[1.0, -1.0], [1.0, 1.0]]) / np.sqrt(2.0)
    sign = 1.0 if accepts else -1.0
    head, bias = np.array([[-sign, 0.0]]), np.array([sign * edge])
    if labels > 1:  # the answer is output 1, against one of zeros and others that never win
        head = np.vstack([np.zeros((1, 2)), head, np.zeros((labels - 2, 2))])
        bias = np.concatenate([[0.0], bias, np.full(labels - 2, -1.0)])
    return RecurrentNetwork(
        letters(2),
        Cell.RNN_TANH,
        np.array([[0.05, 0.0], [0.0, 0.05]]).astype(dtype),
        (Layer(np.eye(2).astype(dtype), turn.astype(dtype)),),
        head.astype(dtype),
        bias.astype(dtype),
        label=1 if labels > 1 else None,
    )
