"""Every evaluation of a tiny cell lies in every enclosure: all orders, groupings and fusions, not a sample of them.

Where precisions are mixed there are too many for a whole cell: of each intermediate result the ends and some others
are followed then.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("flint")

from rnncheck.checker import outward
from rnncheck.checker.checked_network import CheckedNetwork
from rnncheck.checker.checked_zonotope import Zonotope
from rnncheck.checker.outward import Interval
from rnncheck.checker.proof_checks import KNOWN_ARITHMETIC
from rnncheck.models.cells import Cell
from rnncheck.models.network import RecurrentNetwork
from rnncheck.proofs.abstract_network import AbstractNetwork
from rnncheck.proofs.domains import interval, zonotope
from rnncheck.proofs.domains.interval import Interval as ProverInterval
from rnncheck.proofs.domains.zonotope import Zonotope as ProverZonotope
from support.enclosures import FUNCTION_UNITS, UNIT, Domain, bounds, domains
from support.evaluation_orders import MACHINES, MIXED, Columns, Machine, Term, all_sums, groupings, trees
from support.networks import letters, random_network

CELLS = [Cell.RNN_TANH, Cell.RNN_RELU, Cell.GRU, Cell.LSTM]
SIZES = [(1, 2), (2, 1), (2, 2)]  # units, inputs: sums of 5 and 6 terms
MOST = 12  # values of an intermediate result that are followed where precisions are mixed


def float32(values: np.ndarray) -> np.ndarray:
    return values.astype(np.float32).astype(np.float64)


# -- all orders are all of them ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [2, 3, 4, 5, 6])
def test_all_sums_are_those_of_every_grouping(count: int) -> None:
    rng = np.random.default_rng(count)
    for _ in range(3):
        terms = float32(rng.normal(size=count) * 10.0 ** rng.uniform(-4, 4, size=count)).tolist()
        one_by_one = list(groupings(terms))
        assert len(one_by_one) == trees(count)
        assert sorted(set(one_by_one)) == all_sums([Term.value(term) for term in terms], MACHINES[0]).tolist()


def test_fused_additions_round_once() -> None:
    """Should round the exact sum of a product and a number, where rounding the product first gives another."""
    a = float(np.float32(1.0 + 2.0**-23))
    product = Term.product(a, a, MACHINES[1])  # 1 + 2⁻²² + 2⁻⁴⁶
    assert all_sums([product, Term.value(-1.0 - 2.0**-22)], MACHINES[1]).tolist() == [0.0, 2.0**-46]
    assert all_sums([product, Term.value(2.0**-24)], MACHINES[1]).tolist() == [1 + 2.0**-22, 1 + 3 * 2.0**-23]


# -- the machine computes a cell ---------------------------------------------------------------------------------------


def thinned(values: np.ndarray, machine: Machine) -> np.ndarray:
    """All of them; where precisions are mixed there are too many, and the ends and some others stand for them."""
    if machine is not MIXED or len(values) <= MOST:
        return values
    return values[np.linspace(0, len(values) - 1, MOST).astype(np.int64)]


def applied(function: Callable[[np.ndarray], np.ndarray], x: np.ndarray, machine: Machine) -> np.ndarray:
    """The function's value, and the farthest from it that the assumption allows on either side."""
    exact, error = function(x), FUNCTION_UNITS * UNIT * (1.0 - 1e-6)
    found = [exact, exact - error, exact + error]
    if machine.single and not machine.double:
        near, below, above = (float32(each) for each in found)
        below = np.where(below < exact - error, float32(np.nextafter(below.astype(np.float32), np.float32(9))), below)
        above = np.where(above > exact + error, float32(np.nextafter(above.astype(np.float32), np.float32(-9))), above)
        found = [near, below, above]
    return thinned(np.unique(np.concatenate(found)), machine)


def logistic(x: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-x))


class Evaluations:
    """Every value that one unit of a cell may have after a letter."""

    def __init__(self, network: RecurrentNetwork, state: np.ndarray, machine: Machine) -> None:
        self._layer, self._cell, self._machine = network.layers[0], network.cell, machine
        self._x = network.inputs[0].astype(np.float64)
        self._h, self._c = state[: self._layer.hidden], state[self._layer.hidden :]

    def _terms(self, gate: int, unit: int) -> tuple[list[Term], list[Term]]:
        row, layer = gate * self._layer.hidden + unit, self._layer
        sides = (layer.input_weight, self._x, layer.input_bias), (layer.recurrent_weight, self._h, layer.recurrent_bias)
        given, own = (
            [Term.product(float(w), float(v), self._machine) for w, v in zip(weight[row], values, strict=True)]
            + [Term.value(float(bias[row]))]
            for weight, values, bias in sides
        )
        return given, own

    def _gate(self, gate: int, unit: int, function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        given, own = self._terms(gate, unit)
        return applied(function, thinned(all_sums(given + own, self._machine), self._machine), self._machine)

    def hidden(self, unit: int) -> np.ndarray:
        """The hidden state of a unit, in all evaluations."""
        match self._cell:
            case Cell.RNN_TANH:
                return self._gate(0, unit, np.tanh)
            case Cell.RNN_RELU:
                given, own = self._terms(0, unit)
                return np.maximum(all_sums(given + own, self._machine), 0.0)
            case Cell.GRU:
                return self._gru(unit)
            case _:
                memory = thinned(self.memory(unit), self._machine)
                return Term.product(self._gate(3, unit, logistic), applied(np.tanh, memory, self._machine),
                                    self._machine).values  # fmt: skip

    def memory(self, unit: int) -> np.ndarray:
        """An LSTM's ``f c + i g``."""
        machine = self._machine
        kept = Term.product(self._gate(1, unit, logistic), float(self._c[unit]), machine)
        new = Term.product(self._gate(0, unit, logistic), self._gate(2, unit, np.tanh), machine)
        return all_sums([kept, new], machine)

    def _gru(self, unit: int) -> np.ndarray:
        machine = self._machine
        reset, update = (self._gate(gate, unit, logistic) for gate in (0, 1))
        given, own = self._terms(2, unit)
        scaled = Term.product(reset, thinned(all_sums(own, machine), machine), machine)
        sums = [all_sums([*given, scaled], machine)]
        for share in (reset[0], reset[-1]):  # the gate may scale every term instead of their sum
            apart = [Term.product(share, term.values, machine) for term in own]
            sums.append(all_sums(given + apart, machine))
        new = applied(np.tanh, thinned(np.unique(np.concatenate(sums)), machine), machine)
        return means(update, new, float(self._h[unit]), machine)


def means(shares: np.ndarray, new: np.ndarray, old: float, machine: Machine) -> np.ndarray:
    """``(1 - z) n + z h`` in the ways it is written, and with other groupings and fusions of each."""
    by = Columns(machine)
    z, n = (part.reshape(1, -1) for part in np.meshgrid(shares, new))
    h, one = np.full_like(z, old), np.ones_like(z)
    rest, apart, minus = by.sum(one, -z), by.sum(h, -n), by.product(-z, n)
    kept = by.product(z, h)
    ways = [
        by.fused(rest, n, kept),
        by.fused(z, h, by.product(rest, n)),
        by.fused(apart, z, n),
        by.sum(n, by.product(apart, 2.0 * z) / 2.0),
        by.fused(z, h, by.fused(-z, n, n)),
        by.sum(n, by.sum(minus, kept)),
        by.sum(by.fused(z, h, n), minus),
    ]
    return np.unique(np.concatenate([way.ravel() for way in ways]))


# -- and lies in all enclosures ----------------------------------------------------------------------------------------


def enclosures(
    network: RecurrentNetwork, low: np.ndarray, high: np.ndarray
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    prover, checker = AbstractNetwork(network), CheckedNetwork(network, KNOWN_ARITHMETIC)
    with np.errstate(all="ignore"):
        box = prover.step(ProverInterval(low, high))[:, 0]
        form = prover.step_zonotopes(ProverZonotope.of(ProverInterval(low, high))).rows((slice(None), 0)).interval
        plain = checker.step(checker.prepare(Interval(low, high)), 0)
        linked = checker.step_zonotopes(checker.prepare_zonotopes(Zonotope.between(low, high)), 0).bounds()
    return {
        "prover boxes": (box.lo[0], box.hi[0]),
        "prover zonotopes": (form.lo[0], form.hi[0]),
        "checker intervals": (plain.low[0], plain.high[0]),
        "checker zonotopes": (linked.low[0], linked.high[0]),
    }


def tiny_network(cell: Cell, size: tuple[int, int], seed: int) -> tuple[RecurrentNetwork, np.ndarray]:
    """A network of one or two units, and a state; weights of usual, large, tiny and mixed sizes, or that cancel."""
    units, inputs = size
    rng = np.random.default_rng(seed)
    network = random_network(cell, (units,), alphabet=letters(1), inputs=inputs, seed=seed, scale=2.0)
    layer = network.layers[0]
    factor = [1.0, 8.0, 1e-20, 1.0, 1.0][seed % 5]
    parts = {
        field.name: (getattr(layer, field.name) * np.float32(factor)).astype(np.float32)
        for field in dataclasses.fields(layer)
    }
    if seed % 5 == 3:
        parts = {
            name: (part * 10.0 ** rng.uniform(-6, 1, size=part.shape)).astype(np.float32)
            for name, part in parts.items()
        }
    if seed % 5 == 4:  # biases that nearly cancel
        parts["recurrent_bias"] = (-parts["input_bias"] * np.float32(1.0 - 2.0**-12)).astype(np.float32)
    state = float32(rng.uniform(-1, 1, size=units * (2 if cell.kind.memory else 1)))
    if cell.kind.memory:
        state[units:] *= 3.0
    return dataclasses.replace(network, layers=(dataclasses.replace(layer, **parts),)), float32(state)


def check_cell(cell: Cell, machine: Machine, size: tuple[int, int], seed: int, whose: str = "") -> int:
    """Compare all evaluations with all enclosures of a point and of a box around it; how many evaluations differ."""
    network, state = tiny_network(cell, size, seed)
    evaluations, count = Evaluations(network, state, machine), 0
    for radius in (0.0, 1e-3):
        found = enclosures(network, state[None, :] - radius, state[None, :] + radius)
        for unit in range(size[0]):
            values = {unit: evaluations.hidden(unit)}
            if cell.kind.memory:
                values[size[0] + unit] = evaluations.memory(unit)
            for place, reached in values.items():
                count += len(reached)
                for name, (low, high) in found.items():
                    if name.startswith(whose):
                        assert low[place] <= reached.min(), (name, place)
                        assert reached.max() <= high[place], (name, place)
    return count


def check_networks(cell: Cell, machine: Machine, whose: str = "") -> int:
    return sum(check_cell(cell, machine, SIZES[seed % 3], seed, whose) for seed in range(6))


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.value)
@pytest.mark.parametrize("machine", [*MACHINES, MIXED], ids=str)
def test_every_evaluation_of_a_tiny_cell_is_enclosed(cell: Cell, machine: Machine) -> None:
    assert check_networks(cell, machine) > 15


def check_sums(domain: Domain, machine: Machine) -> None:
    rng = np.random.default_rng(1)
    for case in range(15):
        columns, scale = 1 + case % 5, [1.0, 1e-21, 1e4][case % 3]
        weight, x = (float32(rng.normal(size=columns) * scale) for _ in range(2))
        bias = float32(rng.normal(size=1) * scale**2)
        if case % 2 and columns > 1:
            weight[1], x[1] = -weight[0], float32(x[:1] * (1 + 2.0**-20))[0]
        terms = [Term.product(float(w), float(v), machine) for w, v in zip(weight, x, strict=True)]
        reached = all_sums([*terms, Term.value(bias)], machine)
        low, high = bounds(domain.computed(domain.affine(weight[None, :], bias, domain.of(x[None, :], x[None, :]))))
        assert low[0, 0] <= reached.min()
        assert reached.max() <= high[0, 0]


@pytest.mark.parametrize("domain", domains(), ids=str)
@pytest.mark.parametrize("machine", [*MACHINES, MIXED], ids=str)
def test_every_evaluation_of_a_sum_is_enclosed(domain: Domain, machine: Machine) -> None:
    check_sums(domain, machine)


# -- these tests can fail ----------------------------------------------------------------------------------------------


def without_error(self: Any, total: Any) -> np.ndarray:
    return np.zeros_like(total.sizes)


def exact_line(
    x: ProverZonotope, function: Any, slope: Any, _: float, plain: Any = zonotope._monotone
) -> ProverZonotope:
    return plain(x, function, slope, 0.0)


MUTATIONS: dict[str, tuple[str, list[tuple[Any, str, Any]]]] = {
    "prover: no rounding of sums": ("prover", [(interval, "_MORE_ROUNDINGS", -7)]),
    "prover: exact functions": ("prover", [
        (interval.IntervalSemantics, "tanh", lambda _, x: ProverInterval(np.tanh(x.lo), np.tanh(x.hi))),
        (interval.IntervalSemantics, "sigmoid", lambda _, x: ProverInterval(logistic(x.lo), logistic(x.hi))),
        (zonotope, "_monotone", exact_line),
    ]),
    "checker: no error of sums": ("checker", [(outward.Evaluator, "error", without_error)]),
    "checker: exact functions": ("checker", [(outward, "_FUNCTION_ULPS", -8.0 * 2.0**29)]),
}  # fmt: skip
NOTICED_IN = {"sums": [Cell.RNN_RELU, Cell.LSTM], "functions": [Cell.RNN_TANH, Cell.GRU, Cell.LSTM]}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mistake_in_an_enclosure_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Should be noticed in each of the two enclosures by itself, and in every kind of cell that shows it."""
    whose, changes = MUTATIONS[name]
    for place, attribute, value in changes:
        monkeypatch.setattr(place, attribute, value)
    for domain in domains():
        if not domain.name.startswith(whose):
            continue
        if name.endswith("sums"):
            with pytest.raises(AssertionError):
                check_sums(domain, MACHINES[1])
        for cell in NOTICED_IN[name.split()[-1]]:
            with pytest.raises(AssertionError):
                check_networks(cell, MACHINES[1], domain.name)
