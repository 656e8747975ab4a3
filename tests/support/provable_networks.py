"""A small network of any cell type of which a property can be proved, found without knowing the cell's equations."""

from __future__ import annotations

import dataclasses
import functools
import itertools

import numpy as np

from rnncheck.automata.dfa import DFA
from rnncheck.checker.read_equations import reference_states, reference_step
from rnncheck.models.cells import Cell
from rnncheck.models.network import Layer, RecurrentNetwork
from rnncheck.spec import Spec
from support.networks import letters, random_network

RECENT = 4  # the property: that many letters at the end have an ``a`` among them


@functools.cache
def recent_a() -> DFA:
    """The words with an ``a`` among their last four letters."""
    return Spec.from_regex("(a|b)* a" + " b?" * (RECENT - 1), letters(2)).dfa


@functools.cache
def provable_network(cell: Cell, layers: int = 1) -> RecurrentNetwork:
    """It forgets, and accepts some words: all of them have an ``a`` among their last letters.

    Small recurrent weights make it forget. Its head reads the direction in which states after ``a`` and after ``b``
    differ, with its threshold between the two.
    """
    for seed in itertools.count():
        found = _with_head(_forgetting(cell, layers, seed))
        if found is not None:
            return found
    raise AssertionError


def _forgetting(cell: Cell, layers: int, seed: int) -> RecurrentNetwork:
    network = random_network(cell, (4,) * layers, alphabet=letters(2), inputs=2, bias=False, seed=seed)
    forgetting = tuple(
        Layer(np.float32(2) * layer.input_weight, np.float32(0.2) * layer.recurrent_weight) for layer in network.layers
    )
    inputs = np.array([[1.0, -0.5], [-1.0, 0.5]], dtype=np.float32)
    return dataclasses.replace(network, inputs=inputs, layers=forgetting)


def _with_head(network: RecurrentNetwork) -> RecurrentNetwork | None:
    """The network with a head that tells recent letters apart, or None where its states hardly differ."""
    start = reference_states(network)
    top = slice(network.layers[0].hidden * (len(network.layers) - 1), network.layers[0].hidden * len(network.layers))
    after_a, after_b = (_after(network, start, letter)[:, top] for letter in (0, 1))
    direction = after_a.mean(axis=0) - after_b.mean(axis=0)
    never, always = max(0.0, float((after_b @ direction).max())), float((after_a @ direction).min())
    if always - never < 0.05:
        return None
    scale = 8.0 / (always - never)
    weight, bias = scale * direction[None, :], np.array([-scale * (always + never) / 2])
    return dataclasses.replace(network, head_weight=weight.astype(np.float32), head_bias=bias.astype(np.float32))


def _after(network: RecurrentNetwork, states: np.ndarray, letter: int) -> np.ndarray:
    for _ in range(RECENT):
        states = reference_step(network, states, np.full(len(states), letter))
    return states
