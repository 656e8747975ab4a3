"""What every cell type promises. A new one is tried by all of this as soon as it is registered."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from rnncheck import load_model, verify
from rnncheck.checker import Replay, Status, replay
from rnncheck.checker.checked_network import CheckedNetwork
from rnncheck.checker.checked_zonotope import Zonotope
from rnncheck.checker.outward import Interval
from rnncheck.checker.proof_checks import KNOWN_ARITHMETIC
from rnncheck.checker.read_equations import reference_states, reference_step
from rnncheck.models.cells import Cell
from rnncheck.models.cells.cell_type import CellType, Layer
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.engine.reference import reference_judgement
from rnncheck.models.files.safetensors_file import save_network
from rnncheck.models.network import RecurrentNetwork
from rnncheck.models.semantics import Semantics
from rnncheck.proofs.abstract_network import AbstractNetwork
from rnncheck.proofs.certifying import certificate_of
from rnncheck.proofs.domains.interval import Interval as ProverInterval
from rnncheck.proofs.domains.zonotope import Zonotope as ProverZonotope
from rnncheck.proofs.proof_search import Invariant, NotProved, find_invariant
from rnncheck.relations import Property, Relation
from rnncheck.spec import Spec
from rnncheck.verdict.certificate import Certificate
from rnncheck.words import WordBatch
from support.networks import random_network
from support.paths import ROOT
from support.proofs import all_words, engine_step, points_in
from support.provable_networks import provable_network, recent_a

each_cell = pytest.mark.parametrize("cell", list(Cell), ids=lambda cell: cell.value)
has_equations = [cell for cell in Cell if type(cell.kind).step_on is not CellType.step_on]
each_with_equations = pytest.mark.parametrize("cell", has_equations, ids=lambda cell: cell.value)
each_depth = pytest.mark.parametrize("layers", [1, 2])
MODELS_PAGE = ROOT / "docs" / "models.md"
SCALES = (0.3, 1.0, 2.0)  # larger ones make chaos, which the engine refuses to compare


def some_states(network: RecurrentNetwork, count: int, seed: int = 0) -> np.ndarray:
    """States that words lead to, and others, as float32 holds them."""
    states = reference_states(network)
    chosen = np.random.default_rng(seed).choice(len(states), count)
    return states[chosen].astype(np.float32).astype(np.float64)


# -- the reference step ------------------------------------------------------------------------------------------------


@each_cell
def test_the_reference_step_has_the_shapes_and_reads_nothing_else(cell: Cell) -> None:
    """Should answer each row of several as it answers it alone, and leave its arguments as they were."""
    rng = np.random.default_rng(1)
    network = random_network(cell, (5,), seed=1)
    layer = network.layers[0]
    x, h, c = (rng.normal(size=(7, size)).astype(np.float32) for size in (4, 5, 5))
    before = [array.copy() for array in (x, h, c)]
    hidden, memory = cell.kind.step(layer, x, h, c)
    assert hidden.shape == memory.shape == h.shape
    assert all(np.array_equal(*pair) for pair in zip(before, (x, h, c), strict=True))
    for row in range(7):
        alone = cell.kind.step(layer, x[row], h[row], c[row])
        np.testing.assert_array_equal(alone, (hidden[row], memory[row]))
    if not cell.kind.memory:
        np.testing.assert_array_equal(cell.kind.step(layer, x, h, c + 1)[0], hidden)


@each_cell
def test_layers_may_have_no_biases(cell: Cell) -> None:
    with_none, with_zeros = (random_network(cell, (4,), bias=bias, seed=2) for bias in (False, True))
    layer = with_none.layers[0]
    zeros = np.zeros(cell.gates * 4, dtype=np.float32)
    same = Layer(layer.input_weight, layer.recurrent_weight, zeros, zeros)
    with_zeros = dataclasses.replace(with_none, layers=(same,))
    states, letters = some_states(with_none, 10), np.arange(10) % 3
    first, second = (reference_step(each, states, letters) for each in (with_none, with_zeros))
    np.testing.assert_allclose(first, second)


@each_cell
def test_what_is_called_bounded_is_bounded(cell: Cell) -> None:
    network = random_network(cell, (6,), scale=20.0, seed=3)
    states = reference_states(network)
    for letter in np.arange(200) % 3:
        states = reference_step(network, states, np.full(len(states), letter))
    if cell.kind.bounded:
        assert np.abs(states[:, :6]).max() <= 1.5


# -- the engine --------------------------------------------------------------------------------------------------------


@each_cell
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_engine_steps_as_the_reference_does(cell: Cell, scale: float, dtype: type) -> None:
    network = random_network(cell, (5, 3), scale=scale, seed=4)
    states = some_states(network, 40)
    for letter in range(3):
        expected = reference_step(network, states, np.full(len(states), letter))
        found, _ = engine_step(network, states, letter, dtype)
        tolerance = 1e-11 if dtype is np.float64 else 3e-5 * max(1.0, float(np.abs(expected).max()))
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


@each_cell
def test_the_engine_answers_as_the_reference_does(cell: Cell) -> None:
    network, words = random_network(cell, (5, 4), seed=5), all_words(3, 5)
    middle = np.median([reference_judgement(network, word).score for word in words])
    model = CompiledNetwork(dataclasses.replace(network, head_bias=(network.head_bias - middle).astype(np.float32)))
    said = [reference_judgement(model.network, word).accepted for word in words]
    assert model.accepts_batch(words).tolist() == said
    assert len(set(said)) == 2


# -- files, and a verification -----------------------------------------------------------------------------------------


@each_cell
@each_depth
def test_files_hold_its_networks(cell: Cell, layers: int, tmp_path: Path) -> None:
    network = random_network(cell, (4,) * layers, seed=6, padding=layers == 2)
    save_network(network, tmp_path / "network.safetensors")
    loaded = load_model(tmp_path / "network.safetensors")
    assert isinstance(loaded, CompiledNetwork)
    assert loaded.network.cell is cell
    assert loaded.network.sha256() == network.sha256()
    words = all_words(3, 4)
    np.testing.assert_array_equal(loaded.accepts_batch(words), CompiledNetwork(network).accepts_batch(words))


@each_cell
def test_a_violation_is_found_shortened_and_confirmed(cell: Cell) -> None:
    """Should end with a violation of which no letter can be left out."""
    model = CompiledNetwork(provable_network(cell))
    without_b = Spec.from_regex("a*", model.alphabet)
    verdict = verify(model, without_b, method="smc", seed=1)
    assert verdict.violated
    word = model.alphabet.encode(verdict.counterexample or ())
    assert model.reference_answer(word)
    for place in range(len(word)):
        shorter = word[:place] + word[place + 1 :]
        assert 1 not in shorter or not model.reference_answer(shorter)
    assert replay(verdict, model).status is Status.CONFIRMED


# -- the equations, which proofs are made of ---------------------------------------------------------------------------


class _Exact:
    """A sum in float64."""

    def __init__(self, value: np.ndarray) -> None:
        self.value = value

    def __add__(self, other: _Exact) -> _Exact:
        return _Exact(self.value + other.value)

    def __getitem__(self, part: slice) -> _Exact:
        return _Exact(self.value[..., part])

    def times(self, factor: np.ndarray) -> _Exact:
        return _Exact(self.value * factor)


class _InFloat64(Semantics[np.ndarray, _Exact]):
    """The operations in float64, and which of them may be given what."""

    def __init__(self) -> None:
        self.gates: list[np.ndarray] = []

    def affine(self, weight: Any, bias: Any | None, x: np.ndarray, /) -> _Exact:
        return _Exact(x @ weight.T.astype(np.float64) + (0.0 if bias is None else bias))

    def products(self, *pairs: tuple[np.ndarray, np.ndarray]) -> _Exact:
        return _Exact(sum((a * b for a, b in pairs), np.zeros(1)))

    def computed(self, total: _Exact, /) -> np.ndarray:
        return total.value

    def tanh(self, x: np.ndarray, /) -> np.ndarray:
        return np.tanh(x)

    def sigmoid(self, x: np.ndarray, /) -> np.ndarray:
        self.gates.append(1.0 / (1.0 + np.exp(-x)))
        return self.gates[-1]

    def relu(self, x: np.ndarray, /) -> np.ndarray:
        return np.maximum(x, 0.0)

    def keeping(self, gate: np.ndarray, /) -> np.ndarray:
        return gate

    def blend(self, z: np.ndarray, new: np.ndarray, old: np.ndarray, /) -> np.ndarray:
        assert any(z is gate for gate in self.gates), "the first argument of blend is what sigmoid returned"
        return (1.0 - z) * new + z * old

    def unknown(self, x: np.ndarray, h: np.ndarray, /) -> np.ndarray:
        raise AssertionError("the cell has equations")


@each_with_equations
@pytest.mark.parametrize("scale", SCALES)
def test_the_equations_are_those_of_the_reference_step(cell: Cell, scale: float) -> None:
    network = random_network(cell, (5,), scale=scale, seed=7)
    states = some_states(network, 50)
    h, c = states[:, :5], states[:, 5:] if cell.kind.memory else np.zeros((50, 5))
    x = network.inputs[np.arange(50) % 3].astype(np.float64)
    hidden, memory = cell.kind.step_on(_InFloat64(), network.layers[0], x, h, c)
    expected = cell.kind.step(network.layers[0], x, h, c)
    np.testing.assert_allclose(hidden, expected[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(memory, expected[1], rtol=0, atol=1e-12)


@each_with_equations
@pytest.mark.parametrize("scale", SCALES)
def test_no_evaluation_leaves_the_bounds_of_prover_and_checker(cell: Cell, scale: float) -> None:
    """Should hold for intervals and zonotopes, by the reference step and by the engine in both precisions."""
    network = random_network(cell, (4, 3), scale=scale, seed=8)
    prover, checker = AbstractNetwork(network), CheckedNetwork(network, KNOWN_ARITHMETIC)
    rng = np.random.default_rng(8)
    middle = some_states(network, 24)
    radius = rng.choice([1e-6, 1e-3, 0.1, 1.0], size=(24, 1))
    low, high = middle - radius, middle + radius
    points = points_in(ProverInterval(low, high), rng, 20).reshape(-1, prover.width)
    for letter in range(3):
        steps = [engine_step(network, points, letter, dtype)[0] for dtype in (np.float32, np.float64)]
        steps.append(reference_step(network, points, np.full(len(points), letter)))
        boxes = prover.step(ProverInterval(low, high))[:, letter]
        forms = prover.step_zonotopes(ProverZonotope.of(ProverInterval(low, high))).rows((slice(None), letter)).interval
        intervals = checker.step(checker.prepare(Interval(low, high)), letter)
        linked = checker.step_zonotopes(checker.prepare_zonotopes(Zonotope.between(low, high)), letter).bounds()
        for bounds in ((boxes.lo, boxes.hi), (forms.lo, forms.hi), (intervals.low, intervals.high),
                       (linked.low, linked.high)):  # fmt: skip
            assert np.isfinite(bounds[0]).all()
            lows, highs = (np.repeat(end, 20, axis=0) for end in bounds)
            for found in steps:
                assert ((lows <= found) & (found <= highs)).all()


# -- proofs, and their replay ------------------------------------------------------------------------------------------


def proof_of(network: RecurrentNetwork) -> Certificate:
    wanted = Property(recent_a(), Relation.SUBSET)
    found = find_invariant(network, wanted)
    assert isinstance(found, Invariant), found
    return certificate_of(found, network, wanted, CompiledNetwork(network).accepts_empty)


def refuted(result: Replay) -> set[str]:
    return {check.name for check in result.having(Status.REFUTED)}


def resealed(proof: Certificate, **parts: Any) -> Certificate:
    """Another certificate, with the digest that belongs to it."""
    return msgspec.structs.replace(proof, **parts).sealed()


@each_with_equations
@each_depth
def test_what_is_proved_is_confirmed_by_replay(cell: Cell, layers: int) -> None:
    network = provable_network(cell, layers)
    model = CompiledNetwork(network)
    words = all_words(2, 10)
    answers, allowed = (each.accepts_batch(words) for each in (model, recent_a()))
    assert answers.any()
    assert (answers <= allowed).all()
    result = replay(proof_of(network).to_json(), model)
    assert result.status is Status.CONFIRMED, result
    assert {check.name for check in result.having(Status.CONFIRMED)} >= {"boxes", "decisions", "network"}


@each_with_equations
def test_verify_proves_and_replays_with_files_alone(cell: Cell, tmp_path: Path) -> None:
    from rnncheck import VerifySettings
    from rnncheck.checker import ReplaySettings

    save_network(provable_network(cell), tmp_path / "network.safetensors")
    model = load_model(tmp_path / "network.safetensors")
    settings = VerifySettings(certificate=str(tmp_path / "proof.json"))
    verdict = verify(model, Spec.from_dfa(recent_a()), method="prove", relation="subset", settings=settings)
    assert verdict.satisfied
    proof = Certificate.from_json((tmp_path / "proof.json").read_bytes())
    again = load_model(tmp_path / "network.safetensors")
    result = replay(verdict.to_json(), again, ReplaySettings(certificate=proof))
    assert result.status is Status.CONFIRMED, result


@each_with_equations
def test_a_tampered_certificate_is_refuted(cell: Cell) -> None:
    network = provable_network(cell)
    model, proof = CompiledNetwork(network), proof_of(network)
    number = len(proof.cells) - 1
    each = proof.cells[number]
    middle = tuple(((np.array(each.lower) + np.array(each.upper)) / 2).tolist())
    far = (np.float64(-9.0),) * len(middle), (np.float64(9.0),) * len(middle)
    for change in ({"lower": middle}, {"upper": middle}, {"lower": far[0], "upper": far[1]}):
        cells = (*proof.cells[:-1], msgspec.structs.replace(each, **change))
        assert refuted(replay(resealed(proof, cells=cells), model)) & {"boxes", "decisions"}
    for parts in ({"accepts_empty": True}, {"relation": Relation.SUPERSET}, {"cells": proof.cells[:-1]}):
        assert refuted(replay(resealed(proof, **parts), model))


@each_with_equations
def test_a_proof_of_another_network_is_refuted(cell: Cell) -> None:
    """Should not confirm it under the digest of the other network either."""
    network = provable_network(cell)
    proof = proof_of(network)
    other = dataclasses.replace(network, head_bias=network.head_bias + np.float32(30.0))
    assert CompiledNetwork(other).accepts_batch(WordBatch.from_codes([(1,) * 8]))[0]
    named = msgspec.structs.replace(proof.network, sha256=other.sha256())
    assert refuted(replay(resealed(proof, network=named), CompiledNetwork(other))) & {"decisions", "empty word"}


@each_cell
def test_nothing_is_proved_of_a_network_that_is_wrong_or_has_no_equations(cell: Cell) -> None:
    network = provable_network(cell)
    if cell in has_equations:
        network = dataclasses.replace(network, head_bias=network.head_bias + np.float32(30.0))
    assert isinstance(find_invariant(network, Property(recent_a(), Relation.SUBSET)), NotProved)


@each_cell
@pytest.mark.skipif(not MODELS_PAGE.is_file(), reason="the tests are not in the source tree")
def test_the_documentation_names_it(cell: Cell) -> None:
    assert f"`{cell.value}`" in MODELS_PAGE.read_text()
