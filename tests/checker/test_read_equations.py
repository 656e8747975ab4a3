"""Equations that the checker reads off a cell type: the same bounds as its own, and nothing is taken on trust."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from rnncheck.checker import Replay, Status, replay
from rnncheck.checker.checked_network import CheckedNetwork
from rnncheck.checker.checked_zonotope import Zonotope
from rnncheck.checker.outward import Interval
from rnncheck.checker.proof_checks import KNOWN_ARITHMETIC
from rnncheck.models import cells
from rnncheck.models.cells import Cell
from rnncheck.models.cells.cell_type import (
    CellType,
    Layer,
    Vector,
    contributions,
    contributions_on,
    sigmoid,
    split_gates,
)
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.network import RecurrentNetwork
from rnncheck.models.semantics import Numbers, Semantics, Terms
from rnncheck.proofs.certifying import certificate_of
from rnncheck.proofs.proof_search import Invariant, find_invariant
from rnncheck.relations import Property, Relation
from rnncheck.verdict.certificate import Certificate
from support.coupled_cell import Coupled
from support.networks import random_network
from support.provable_networks import provable_network, recent_a


def proof_of(network: RecurrentNetwork) -> Certificate:
    wanted = Property(recent_a(), Relation.SUBSET)
    found = find_invariant(network, wanted)
    assert isinstance(found, Invariant), found
    return certificate_of(found, network, wanted, accepts_empty=False)


def refuted(result: Replay) -> set[str]:
    return {check.name for check in result.having(Status.REFUTED)}


def registered(monkeypatch: pytest.MonkeyPatch, kind: CellType) -> Cell:
    """The cell type under the name of another: an enum takes no new one while a program runs."""
    monkeypatch.setitem(cells._KINDS, Cell.LSTM, kind)
    provable_network.cache_clear()
    return Cell.LSTM


@pytest.fixture(autouse=True)
def _forget_networks() -> object:
    yield
    provable_network.cache_clear()


@pytest.mark.parametrize("cell", list(Cell), ids=lambda cell: cell.value)
@pytest.mark.parametrize("scale", [0.5, 4.0])
def test_they_give_the_bounds_of_the_checkers_own(cell: Cell, scale: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Should know a cell by its very type: a subclass may have other equations, so those are read."""
    network = random_network(cell, (4, 3), scale=scale, seed=1)
    own = CheckedNetwork(network, KNOWN_ARITHMETIC)
    monkeypatch.setitem(cells._KINDS, cell, type("Subclass", (type(cell.kind),), {})())
    read = CheckedNetwork(network, KNOWN_ARITHMETIC)
    assert own.has_own_equations
    assert not read.has_own_equations
    rng = np.random.default_rng(1)
    middle, radius = rng.uniform(-1, 1, size=(20, own.width)), rng.choice([1e-6, 0.1, 1.0], size=(20, 1))
    low, high = middle - radius, middle + radius
    for letter in range(3):
        found = [each.step(each.prepare(Interval(low, high)), letter) for each in (own, read)]
        found_linked = [
            each.step_zonotopes(each.prepare_zonotopes(Zonotope.between(low, high)), letter).bounds()
            for each in (own, read)
        ]
        for ours, theirs in (found, found_linked):
            np.testing.assert_allclose(ours.low, theirs.low, rtol=0, atol=1e-12)
            np.testing.assert_allclose(ours.high, theirs.high, rtol=0, atol=1e-12)
    assert own.reference_agrees()
    assert read.reference_agrees()


def test_the_replay_says_whose_equations_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    network = provable_network(registered(monkeypatch, Coupled()))
    result = replay(proof_of(network), CompiledNetwork(network))
    assert result.status is Status.CONFIRMED
    (found,) = (check for check in result.having(Status.UNCHECKED) if check.name == "equations")
    assert "the reference step agrees" in found.seen


class OtherWeights(Coupled):
    """Its equations have input weights that are larger by one in a hundred: wrong by little, and provable."""

    def step_on(
        self, on: Semantics[Numbers, Terms], layer: Layer, x: Numbers, h: Numbers, c: Numbers
    ) -> tuple[Numbers, Numbers]:
        shifted = layer.input_weight * np.float32(1.01)
        return super().step_on(on, Layer(shifted, layer.recurrent_weight), x, h, c)


def test_equations_that_contradict_the_reference_step_are_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Should notice what the prover cannot: its proof closes."""
    network = provable_network(registered(monkeypatch, OtherWeights()))
    assert "equations" in refuted(replay(proof_of(network), CompiledNetwork(network)))


class NoGate(Coupled):
    """It blends by what is no gate, whose bounds would be wrong: the share is between -1 and 1."""

    def step(self, layer: Layer, x: Vector, h: Vector, c: Vector) -> tuple[Vector, Vector]:
        from_input, from_hidden = contributions(layer, x, h)
        forget, new, output = split_gates(from_input + from_hidden, 3)
        c = np.tanh(forget) * c + (1 - np.tanh(forget)) * np.tanh(new)
        return sigmoid(output) * np.tanh(c), c

    def step_on(
        self, on: Semantics[Numbers, Terms], layer: Layer, x: Numbers, h: Numbers, c: Numbers
    ) -> tuple[Numbers, Numbers]:
        from_input, from_hidden = contributions_on(on, layer, x, h)
        gates, size = from_input + from_hidden, layer.hidden
        forget, new, output = (on.computed(gates[gate * size : (gate + 1) * size]) for gate in range(3))
        c = on.blend(on.tanh(forget), on.tanh(new), c)
        return on.computed(on.products((on.sigmoid(output), on.tanh(c)))), c


def test_a_blend_by_what_is_no_gate_has_no_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    network = random_network(registered(monkeypatch, NoGate()), (3,), seed=2)
    checker = CheckedNetwork(network, KNOWN_ARITHMETIC)
    zero = np.zeros((1, checker.width))
    assert np.isnan(checker.step(checker.prepare(Interval(zero, zero)), 0).low).all()
    linked = checker.step_zonotopes(checker.prepare_zonotopes(Zonotope.between(zero, zero)), 0).bounds()
    assert np.isnan(linked.low).all()


class NoEquations(Coupled):
    """It has a reference step alone."""

    step_on = CellType.step_on


def test_a_certificate_for_a_cell_without_equations_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Should not confirm, and not crash: nothing is known of its steps."""
    network = provable_network(registered(monkeypatch, Coupled()))
    proof = proof_of(network)
    registered(monkeypatch, NoEquations())
    assert "boxes" in refuted(replay(proof, CompiledNetwork(network)))
    followers = msgspec.structs.replace(proof, cells=proof.cells[:1]).sealed()
    assert refuted(replay(followers, CompiledNetwork(network)))
