"""Affine forms contain what every evaluator computes, and know what boxes forget."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from rnncheck.models.network import Cell, RecurrentNetwork
from rnncheck.proofs.abstract_network import AbstractNetwork
from rnncheck.proofs.domains.interval import Interval, Rounding
from rnncheck.proofs.domains.zonotope import Zonotope, ZonotopeSemantics
from support.networks import ByTorch, random_network
from support.proofs import engine_step, points_in, torch_step
from support.rotating_network import rotating_network


def boxes_around(rng: np.random.Generator, width: int, *, least: float = 0.0) -> Interval:
    middle = rng.uniform(-1, 1, size=(12, width))
    radius = rng.choice([1e-6, 1e-3, 0.1, 1.0], size=(12, 1)) + least
    return Interval(middle - radius, middle + radius)


def contained(network: RecurrentNetwork, rng: np.random.Generator, steps: int, *, by_engine: bool = True) -> None:
    """Points of boxes, stepped by PyTorch and the engine, are in the forms of the boxes, and so are their scores."""
    abstract, judge = AbstractNetwork(network), ByTorch(network)
    boxes = boxes_around(rng, abstract.width)
    forms = Zonotope.of(boxes)
    points = points_in(boxes, rng, 20).reshape(-1, abstract.width)
    walks = [points] * (3 if by_engine else 1)
    for letter in rng.integers(len(network.alphabet), size=steps).tolist():
        forms = abstract.step_zonotopes(forms).rows((slice(None), letter))
        lo, hi = (np.repeat(end, 20, axis=0) for end in (forms.interval.lo, forms.interval.hi))
        engines = zip(walks[1:], (np.float32, np.float64), strict=False)
        walks = [torch_step(judge, walks[0], letter)] + [
            engine_step(network, walk, letter, kind)[0] for walk, kind in engines
        ]
        for walk in walks:
            assert ((lo <= walk) & (walk <= hi)).all()
        above, below = (np.repeat(abstract.margin(forms, accept), 20) for accept in (True, False))
        top = walks[-1][:, abstract.network.layers[0].hidden * (len(network.layers) - 1) :][
            :, : network.layers[-1].hidden
        ]
        out = top @ network.head_weight.T.astype(np.float64) + network.head_bias
        if network.label is None:
            lead = out[:, 0]
        else:
            lead = out[:, network.label] - np.delete(out, network.label, axis=1).max(axis=1)
        assert (above <= lead).all()
        assert (lead <= -below).all()


@pytest.mark.parametrize("cell", list(Cell))
@pytest.mark.parametrize(("hidden", "scale", "outputs"), [((6,), 0.5, 1), ((4, 4), 3.0, 1), ((4,), 3.0, 3)])
def test_forms_contain_every_evaluator(cell: Cell, hidden: tuple[int, ...], scale: float, outputs: int) -> None:
    network = random_network(cell, hidden, seed=outputs, scale=scale, outputs=outputs)
    contained(network, np.random.default_rng(outputs), steps=4)


@pytest.mark.parametrize("cell", list(Cell))
def test_saturated_gates_are_contained(cell: Cell) -> None:
    """Weights so large that slopes are zero at one end, and relu grows without limit."""
    contained(random_network(cell, (5,), seed=7, scale=60.0), np.random.default_rng(7), steps=3, by_engine=False)


def test_what_turns_and_shrinks_together_stays_small() -> None:
    abstract = AbstractNetwork(rotating_network())
    start = Interval(np.full((1, 2), -0.05), np.full((1, 2), 0.05))
    boxes, forms = start, Zonotope.of(start)
    for _ in range(8):
        boxes, forms = abstract.step(boxes)[:, 0], abstract.step_zonotopes(forms).rows((slice(None), 0))
    assert (boxes.hi - boxes.lo > 0.15).all()
    assert (forms.interval.hi - forms.interval.lo < 0.05).all()


@pytest.mark.parametrize("name", ["tanh", "sigmoid", "relu"])
def test_functions_contain_their_values(name: str) -> None:
    rng = np.random.default_rng(3)
    functions: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "tanh": np.tanh,
        "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
        "relu": lambda x: np.maximum(x, 0.0),
    }
    exact = functions[name]
    lo = rng.normal(size=(400, 1)) * 10.0 ** rng.integers(-3, 2, size=(400, 1))
    hi = lo + np.abs(rng.normal(size=(400, 1))) * rng.choice([0.0, 1e-9, 1.0, 10.0], size=(400, 1))
    form = Zonotope.of(Interval(lo, hi))
    after = getattr(ZonotopeSemantics(Rounding()), name)(form)
    for share in np.linspace(0, 1, 21):
        x = lo + share * (hi - lo)
        along = np.where(hi > lo, (x - form.centre) / np.where(form.radius > 0, form.radius, 1.0), 0.0)
        line = after.centre + along * after.generators[:, 0]
        assert (np.abs(exact(x) - line) <= after.error + 1e-12).all()


def test_products_contain_their_values() -> None:
    rng = np.random.default_rng(4)
    on = ZonotopeSemantics(Rounding())
    for _ in range(200):
        a, b, z = (
            Zonotope(rng.normal(size=(1, 2)), rng.normal(size=(1, 3, 2)), np.abs(rng.normal(size=(1, 2))))
            for _ in "abz"
        )
        product, mean = on.computed(on.products((a, b))), on.blend(z, a, b)
        unknowns = rng.choice([-1.0, 1.0, rng.uniform(-1, 1)], size=(1, 3, 1))
        x, y, s = (
            (f.centre + (unknowns * f.generators).sum(1) + rng.choice([-1.0, 1.0], size=(1, 2)) * f.error)
            for f in (a, b, z)
        )
        for form, value in ((product, x * y), (mean, (1 - s) * x + s * y)):
            assert (np.abs(value - form.centre - (unknowns * form.generators).sum(1)) <= form.error).all()


@pytest.mark.parametrize("cell", list(Cell))
@pytest.mark.parametrize("value", [1e37, 3e38])
def test_nothing_is_certain_where_numbers_have_no_bounds(cell: Cell, value: float) -> None:
    network = random_network(cell, (3,))
    weight = network.layers[0].recurrent_weight.copy()
    weight[:, 0] = value
    layer = type(network.layers[0])(network.layers[0].input_weight, weight, network.layers[0].input_bias, None)
    abstract = AbstractNetwork(
        type(network)(network.alphabet, cell, network.inputs, (layer,), network.head_weight, network.head_bias)
    )
    forms = Zonotope.of(Interval(np.full((1, abstract.width), 0.4), np.full((1, abstract.width), 0.6)))
    for _ in range(3):
        forms = abstract.step_zonotopes(forms).rows((slice(None), 0))
    assert not abstract.margin(forms, True)[0] > 0.0
    assert not abstract.margin(forms, False)[0] > 0.0
