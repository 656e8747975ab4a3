"""Boxes along a word contain the states of every evaluator."""

from __future__ import annotations

import numpy as np
import pytest

from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.engine.reference import reference_prefix_scores
from rnncheck.models.network import Cell
from rnncheck.proofs.abstract_network import AbstractNetwork
from support.networks import ByTorch, random_network


@pytest.mark.parametrize("cell", list(Cell))
@pytest.mark.parametrize("hidden", [(6,), (5, 5)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_states_of_every_evaluator_stay_inside(cell: Cell, hidden: tuple[int, ...], dtype: type) -> None:
    """Boxes along a word, from the initial state on: engine, reference and PyTorch all walk through them."""
    for seed in range(2):
        network = random_network(cell, hidden, seed=seed, scale=2.0 if cell.kind.bounded else 0.6, dtype=dtype)
        abstract = AbstractNetwork(network)
        rng = np.random.default_rng(seed)
        word = rng.integers(len(network.alphabet), size=30)
        states = abstract.initial
        by_torch = ByTorch(network).outputs(word[None])[0, :, 0]
        by_reference = reference_prefix_scores(network, tuple(word.tolist()))
        engines = [CompiledNetwork(network, dtype=kind) for kind in (np.float32, np.float64)]
        rows = [engine.initial(1) for engine in engines]
        for place, letter in enumerate(word.tolist()):
            states = abstract.step(states)[:, letter]
            above, below = abstract.margin(states, True)[0], abstract.margin(states, False)[0]
            rows = [engine.step(row, np.array([letter])) for engine, row in zip(engines, rows, strict=True)]
            scores = [engine.scores(row)[0] for engine, row in zip(engines, rows, strict=True)]
            for score in (*scores, by_torch[place] - network.logit_threshold, by_reference[place]):
                assert above <= score <= -below
