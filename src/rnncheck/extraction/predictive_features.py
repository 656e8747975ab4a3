"""Features of hidden states: points that lie near each other where the network's later answers are alike."""

from __future__ import annotations

import numpy as np

from rnncheck.extraction.bisection import Floats, Points
from rnncheck.extraction.quantisation import squashed, widest_directions
from rnncheck.models.protocol import States
from rnncheck.oracle import Stepper
from rnncheck.runtime.cooperative import CooperativeWork
from rnncheck.words import Codes

_SUFFIXES = 40
_LONGEST_SUFFIX = 6
_MOST_UNITS = 128  # directions of the state space that are used
_DIMENSIONS = 24
_PENALTY = 1e-4  # on the weights of the prediction, as a share of the states' spread


class PredictiveFeatures:
    """A linear map from states to points of few dimensions, fitted to some states.

    Scores after a few suffixes are predicted from the state. Half of a distance is that of the states,
    half that of these predictions: so directions of the state space that determine the answers stand out.
    """

    def __init__(self, map_: Floats) -> None:
        self._map = map_.astype(np.float32)

    @classmethod
    def fit(cls, stepper: Stepper, states: States, rng: np.random.Generator) -> CooperativeWork[PredictiveFeatures]:
        """Fit the map to the network's scores after these states."""
        inside = squashed(states)
        inside = inside - inside.mean(axis=0)
        directions = np.eye(inside.shape[1])
        if inside.shape[1] > _MOST_UNITS:
            directions = widest_directions(inside, _MOST_UNITS)
            inside = inside @ directions
        after = []
        for suffix in _suffixes(len(stepper.alphabet), rng):
            after.append((yield from _scores_after(stepper, states, suffix)))
        scores = np.stack(after, axis=1)
        future = np.tanh(scores / max(float(np.abs(scores).mean()), np.finfo(np.float64).tiny))
        square = inside.T @ inside
        penalty = (_PENALTY * np.trace(square) / len(square) + np.finfo(np.float64).tiny) * np.eye(len(square))
        predicting = np.linalg.solve(square + penalty, inside.T @ (future - future.mean(axis=0)))
        both = np.hstack([_scaled(inside, np.eye(len(square))), _scaled(inside, predicting)])
        kept = min(_DIMENSIONS, inside.shape[1])
        return cls(directions @ both @ widest_directions(inside @ both, kept))

    def points(self, states: States) -> Points:
        return np.asarray(squashed(states).astype(np.float32) @ self._map)


def _scaled(inside: Floats, map_: Floats) -> Floats:
    """The map, scaled so that the images of these points have a total variance of 1."""
    spread = float((inside @ map_).var(axis=0).sum())
    return map_ / np.sqrt(spread) if spread > 0.0 else map_


def _suffixes(letters: int, rng: np.random.Generator) -> list[Codes]:
    """The empty one, some of one letter, and longer ones."""
    short: list[Codes] = [(), *((int(letter),) for letter in rng.permutation(letters)[: _SUFFIXES // 3])]
    sizes = rng.integers(2, _LONGEST_SUFFIX + 1, size=_SUFFIXES - len(short))
    return [*short, *(tuple(rng.integers(letters, size=int(size)).tolist()) for size in sizes)]


def _scores_after(stepper: Stepper, states: States, suffix: Codes) -> CooperativeWork[Floats]:
    for letter in suffix:
        states = stepper.step(states, np.full(len(states), letter))
        yield
    return stepper.scores(states)
