"""Networks whose numbers are awkward: on the threshold, saturated, overflowing, denormal, not a number.

The judge is the definition, one word alone. Allowed are its answer, an error that says why there is none, or a verdict
that claims less; never another answer, and never work without end.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest

from rnncheck import Spec, verify, zoo
from rnncheck.automata.dfa import DFA
from rnncheck.errors import ModelError
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.engine.reference import reference_judgement, reference_score
from rnncheck.models.network import Cell, Layer, RecurrentNetwork
from rnncheck.oracle import MembershipOracle
from rnncheck.verification.verify_settings import VerifySettings
from rnncheck.words import Alphabet, Codes, WordBatch
from support.clocks import Ticking
from support.engine_comparison import RELEASED, Comparison, Counts, released
from support.networks import letters, random_network

AB = Alphabet(["a", "b"])
SHORT: list[Codes] = [word for length in range(8) for word in itertools.product(range(2), repeat=length)]
CELLS = list(Cell)

every_cell = pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.value)


@pytest.mark.parametrize("name", [entry.name for entry in zoo.entries()])
def test_the_engine_answers_as_the_definition_does(name: str) -> None:
    """Should agree on every prefix of random words, in every way of asking."""
    counts = Counts()
    Comparison(name, zoo.entry(name).network()).run(np.random.default_rng(1), 6, 120, counts)
    assert counts.words > 50
    assert counts.examples == []


@pytest.mark.slow
@pytest.mark.skipif(not RELEASED.is_dir(), reason=f"the released networks are not at {RELEASED}")
def test_the_engine_answers_for_the_released_networks_as_the_definition_does() -> None:
    pytest.importorskip("torch")
    counts = Counts()
    for comparison in released():
        comparison.run(np.random.default_rng(2), 10, 200, counts)
    assert counts.words > 5000
    assert counts.examples == []


def on_the_threshold(cell: Cell, seed: int) -> RecurrentNetwork:
    """A network whose threshold is, in float64, the very probability that it gives one of its words."""
    network = random_network(cell, (6,), alphabet=AB, seed=seed)
    scores = [reference_score(network, word) for word in SHORT]
    middle = sorted(scores)[len(scores) // 2]
    return dataclasses.replace(network, threshold=float(1 / (1 + np.exp(-middle))))


@every_cell
@pytest.mark.parametrize("seed", range(3))
def test_words_that_sit_on_the_threshold(cell: Cell, seed: int) -> None:
    """Should get the definition's answer, however they are asked."""
    network = on_the_threshold(cell, seed)
    expected = [reference_judgement(network, word).accepted for word in SHORT]
    nearest = min(abs(reference_score(network, word)) for word in SHORT)
    assert nearest < 1e-6
    for number_type, threads in itertools.product((np.float32, np.float64), (1, 2)):
        model = CompiledNetwork(network, dtype=number_type, threads=threads)
        assert model.accepts_batch(WordBatch.from_codes(SHORT)).tolist() == expected
        assert [model.accepts(AB.decode(word)) for word in SHORT[::7]] == expected[::7]
        assert MembershipOracle(model).answers(SHORT).tolist() == expected


def verdict_is_honest(network: RecurrentNetwork, spec: Spec) -> str:
    """Verify, and hold the verdict against the definition; the outcome, or the error's class."""
    clock = Ticking()
    try:
        model = CompiledNetwork(network, threads=1)
        settings = VerifySettings(exhaustive=6, clock=clock)
        verdict = verify(model, spec, epsilon=0.05, gamma=0.05, timeout=500.0, settings=settings)
    except ModelError:
        return "refused"
    finally:
        assert clock() < 1000.0
    if verdict.violated:
        word = network.alphabet.encode(verdict.counterexample)
        assert reference_judgement(network, word).accepted
        assert not spec.accepts(verdict.counterexample)
    elif verdict.guarantee is not None and verdict.guarantee.exact_length is not None:
        exact = verdict.guarantee.exact_length
        for word in (word for word in SHORT if len(word) <= exact and not spec.accepts(AB.decode(word))):
            assert not reference_judgement(network, word).accepted
    return verdict.outcome.value


SPECS = [Spec.from_regex("a*", AB), Spec.from_regex(".* b", AB), Spec.from_ltlf("G(a -> F b)", AB)]


@pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning")
@every_cell
@pytest.mark.parametrize("scale", [1e2, pytest.param(1e6, marks=pytest.mark.slow), 1e15, 1e30, 1e37])
def test_huge_weights(cell: Cell, scale: float) -> None:
    """Should saturate or overflow into an error that names the word, never into a wrong answer."""
    seed = int(np.log10(scale))
    spec = SPECS[seed % len(SPECS)]
    verdict_is_honest(random_network(cell, (5,), alphabet=AB, seed=seed, scale=scale), spec)
    beyond = scale * 1e200 if scale > 1e20 else scale  # what float32 cannot hold
    verdict_is_honest(random_network(cell, (5,), alphabet=AB, seed=seed, scale=beyond, dtype=np.float64), spec)


@every_cell
@pytest.mark.parametrize(
    ("scale", "dtype"), [(1e-38, np.float32), (1e-44, np.float32), (1e-310, np.float64), (5e-324, np.float64)]
)
def test_denormal_weights(cell: Cell, scale: float, dtype: type) -> None:
    """Should come out as a network that hardly moves from its threshold, and every answer is the definition's."""
    network = random_network(cell, (5,), alphabet=AB, scale=scale, dtype=dtype)
    model = CompiledNetwork(network, threads=1)
    expected = [reference_judgement(network, word).accepted for word in SHORT]
    assert model.accepts_batch(WordBatch.from_codes(SHORT)).tolist() == expected
    verdict_is_honest(network, SPECS[0])


def explosive(after: int) -> RecurrentNetwork:
    """``h₁ = h₂ = relu(2 h)`` on a, and the output h₁ − h₂: NaN from some length on."""
    start = np.float32(2.0 ** (128 - after))
    one = np.ones((1, 1), np.float32)
    layer = Layer(np.array([[start], [start]], np.float32), 2 * np.eye(2, dtype=np.float32))
    head = np.array([[1, -1]], np.float32), np.zeros(1, np.float32)
    return RecurrentNetwork(letters(1), Cell.RNN_RELU, one, (layer,), *head, threshold=0.9)


def test_not_a_number_on_long_words_only() -> None:
    """Should be an error that names a word, or a verdict on the words that have answers."""
    network = explosive(120)
    assert not reference_judgement(network, (0,) * 110).accepted
    with pytest.raises(ModelError, match=r"outputs \[nan\] on the word"):
        reference_judgement(network, (0,) * 140)
    model = CompiledNetwork(network, threads=1)
    nothing = Spec.from_dfa(DFA(letters(1), [[0]], [False]))
    for method in ("smc", "pdv", "aamc", "auto"):
        with pytest.raises(ModelError, match=r"outputs .* on the word .*overflow"):
            verify(model, nothing, method=method, timeout=60.0)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", ["inputs", "head_weight", "head_bias", "recurrent"])
def test_weights_that_are_no_numbers_are_refused(value: float, where: str) -> None:
    """Should never reach a verification, whichever array they stand in and whichever letter they belong to."""
    network = random_network(hidden=(3,), alphabet=AB)
    (layer,) = network.layers
    changed = (layer.recurrent_weight if where == "recurrent" else getattr(network, where)).copy()
    changed.flat[-1] = value
    parts = {"layers": (layer, changed)} if where == "recurrent" else {where: changed}
    with pytest.raises(ModelError):
        with_parts(network, parts)


def with_parts(network: RecurrentNetwork, parts: dict[str, Any]) -> RecurrentNetwork:
    if "layers" in parts:
        layer, weight = parts["layers"]
        parts = {"layers": (dataclasses.replace(layer, recurrent_weight=weight),)}
    return dataclasses.replace(network, **parts)


def test_an_elman_network_whose_rounding_grows_is_refused_or_answers_by_its_definition() -> None:
    """Should not trust a stepped score that has nothing to do with the definition's any more."""
    counts = Counts()
    refused = 0
    for seed in range(12):
        network = random_network(Cell.RNN_TANH, (16,), alphabet=AB, scale=4.0, seed=seed)
        try:
            comparison = Comparison(f"seed {seed}", network)
        except ModelError:  # it says that values depend on rounding
            refused += 1
            continue
        comparison.run(np.random.default_rng(seed), 3, 400, counts)
    assert refused < 12
    assert counts.examples == []
