"""Extraction by a tree of cells: cells within cells, sums over them, and what the automata are worth."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnncheck import zoo
from rnncheck.automata.dfa import DFA
from rnncheck.automata.minimisation import minimise
from rnncheck.automata.product import symmetric_difference
from rnncheck.extraction.bisection import Bisection, grouped_sums
from rnncheck.extraction.decision_tree import tree
from rnncheck.extraction.extract import extract, extraction_task
from rnncheck.extraction.quantisation import squashed
from rnncheck.learning.learning_settings import MAX_STATES, MAX_STATES_IN_TIME, LearningSettings
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.exact_network import exact_network
from rnncheck.models.network import Cell
from rnncheck.probability.confidence import Confidence
from rnncheck.probability.distributions import WordDistribution
from rnncheck.words import Alphabet
from support.extraction import end_of, task_for
from support.networks import random_network

LETTERS = Alphabet(["a", "b"])
SHORT = WordDistribution(LETTERS, stop=0.1)


def exact(seed: int, states: int, letters: Alphabet = LETTERS) -> DFA:
    rng = np.random.default_rng(seed)
    width = len(letters)
    return minimise(DFA(letters, rng.integers(states, size=(states, width)), rng.random(states) < 0.5))


def cloud(seed: int, count: int = 300, dimensions: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, dimensions)).astype(np.float32)


def grown(points: np.ndarray, *sizes: int) -> Bisection:
    cells, rng = Bisection(points.shape[1]), np.random.default_rng(0)
    for size in sizes:
        end_of(cells.grow(points, size, rng))
    return cells


@settings(max_examples=20)
@given(st.integers(0, 1000), st.integers(1, 40), st.integers(1, 60))
def test_a_finer_tree_only_halves_cells(seed: int, coarse: int, fine: int) -> None:
    """Should have as many cells as asked for, none empty, each inside one of before."""
    points = cloud(seed)
    before = grown(points, coarse)
    after = grown(points, coarse, max(coarse, fine))
    assert (before.size, after.size) == (coarse, max(coarse, fine))
    coarse_cells, fine_cells = (end_of(cells.cells(points)) for cells in (before, after))
    assert set(fine_cells.tolist()) == set(range(after.size))
    assert len(set(zip(coarse_cells.tolist(), fine_cells.tolist(), strict=True))) == after.size


def test_points_that_are_the_same_stay_together() -> None:
    """Should end when every cell holds one point, however often, though more cells are asked for."""
    different = cloud(1, 7)
    points = np.repeat(different, 50, axis=0)
    cells = grown(points, 100)
    assert cells.size == 7
    assert len(set(end_of(cells.cells(different)).tolist())) == 7
    assert grown(np.zeros((10, 2), dtype=np.float32), 4).size == 1


@pytest.mark.parametrize("size", [1, 2, 9, 30])
def test_sums_go_up_and_missing_rows_come_down(size: int) -> None:
    """Should be what every node finds by looking at the leaves below it, and above it."""
    points = cloud(2)
    cells = grown(points, size)
    parent = {int(child): node for node, left in enumerate(cells.left) if left >= 0 for child in (left, left + 1)}
    nodes = cells.leaves[end_of(cells.cells(points))]
    sums = grouped_sums(points, nodes, len(cells.left))
    own = sums.copy()
    cells.sum_upwards(sums)
    for node in range(len(cells.left)):
        below = [leaf for leaf in cells.leaves if node in (leaf, *ancestors(int(leaf), parent))]
        assert np.allclose(sums[node], own[below].sum(axis=0))
    rows = np.arange(len(cells.left), dtype=np.float64)[:, None]
    missing = np.arange(len(rows)) % 3 == 1
    missing[0] = False
    above = [
        node if not missing[node] else next(each for each in ancestors(node, parent) if not missing[each])
        for node in range(len(rows))
    ]
    handed = rows.copy()
    cells.fill_downwards(handed, missing)
    assert handed[:, 0].tolist() == above


def ancestors(node: int, parent: dict[int, int]) -> list[int]:
    found = []
    while node in parent:
        node = parent[node]
        found.append(node)
    return found


@pytest.mark.parametrize("seed", range(4))
def test_networks_built_by_hand_are_found(seed: int) -> None:
    """Should answer as the automaton that the network was built from, by exact probability."""
    target = exact(seed, 12)
    model = CompiledNetwork(exact_network(target))
    found = extract(model, method="tree", distribution=SHORT, epsilon=0.02, gamma=0.02)
    assert SHORT.mass(symmetric_difference(found.automaton, target)) < 0.02
    assert found.passed


def test_more_cells_say_more() -> None:
    """Should come nearer to a random network, whose language no small automaton knows, the more states it may have."""
    model = CompiledNetwork(random_network(Cell.GRU, (12,), alphabet=LETTERS, seed=9, scale=6.0))
    agreements = [
        extract(
            model, method="tree", distribution=SHORT, settings=LearningSettings(max_states=states), seed=1
        ).measured.agreement
        for states in (4, 600)
    ]
    assert agreements[0] < agreements[1]


def test_the_time_limit_is_the_bound_unless_there_is_one() -> None:
    model = CompiledNetwork(zoo.entry("tomita4-gru").network())

    def bound(timeout: float | None, states: int | None = None) -> int:
        chosen = LearningSettings(max_states=states)
        return extraction_task(model, Confidence(0.1, 0.1), None, 0, timeout, chosen).max_states

    assert bound(None) == MAX_STATES
    assert bound(60.0) == MAX_STATES_IN_TIME
    assert bound(60.0, 7) == bound(None, 7) == 7


@pytest.mark.parametrize("letters", [25, 100])
def test_there_is_progress_after_little_work(letters: int) -> None:
    """Should tell how far it is before many letters are read."""
    alphabet = Alphabet([f"t{i}" for i in range(letters)])
    model = CompiledNetwork(random_network(Cell.GRU, (6,), alphabet=alphabet, scale=2.0))
    steps = [0]
    extract(
        model,
        method="tree",
        distribution=WordDistribution(alphabet, stop=0.1),
        settings=LearningSettings(max_states=200),
        progress=lambda progress: steps.append(progress.network_steps),
    )
    assert len(steps) > 50
    assert max(np.diff(steps)) <= 40_000


def test_states_that_tell_nothing_are_one_state() -> None:
    """Should be a constant answer where all weights are 0, in one unit as in many."""
    for hidden in (1, 30):
        model = CompiledNetwork(random_network(Cell.RNN_TANH, (hidden,), alphabet=LETTERS, scale=0.0, threshold=0.3))
        found = extract(model, method="tree", distribution=SHORT, epsilon=0.05, gamma=0.05)
        assert found.passed
        assert len(found.automaton) == 1


def test_infinite_states_are_seen_at_the_end_of_the_scale() -> None:
    assert squashed(np.array([[np.inf, -np.inf, 0.0, 1.0]])).tolist() == [[1.0, -1.0, 0.0, 0.5]]


def test_intervals_hold_the_truth() -> None:
    """Should contain the exact agreement about as often as they say, wherever it ended: fresh words measure."""
    outside = 0
    for seed in range(6):
        target = exact(seed, 25)
        found = extract(
            CompiledNetwork(exact_network(target)),
            method="tree",
            distribution=SHORT,
            seed=seed,
            settings=LearningSettings(max_states=6),
        )
        low, high = found.measured.interval
        outside += not low <= 1.0 - SHORT.mass(symmetric_difference(found.automaton.support, target)) <= high
    assert outside <= 2


def test_words_without_letters_end_it_too() -> None:
    """Should find the one answer where the distribution draws nothing but the empty word, or nearly."""
    model = CompiledNetwork(zoo.entry("tomita4-gru").network())
    task = task_for(model, max_states=40)
    task.distribution = WordDistribution(model.alphabet, stop=1.0)
    found = end_of(tree(task))
    assert found.automaton.support.accepts(()) == model.accepts(())


def test_the_best_stage_is_taken_wherever_the_time_ends() -> None:
    """Should be no worse on the words that choose than any stage before."""
    model = CompiledNetwork(random_network(Cell.GRU, (12,), alphabet=LETTERS, seed=12, scale=4.0))
    sizes = []
    for ticks in (4_000, 5_000, 8_000):
        count = itertools.count()
        found = extract(
            model,
            method="tree",
            distribution=SHORT,
            timeout=ticks,
            settings=LearningSettings(clock=count.__next__),
        )
        sizes.append(len(found.automaton))
        assert found.measured is not None
        assert found.measured.automaton == found.automaton
        low, high = found.measured.interval
        words = SHORT.sample(np.random.default_rng(99), 4_000)
        fresh = float((found.automaton.support.accepts_batch(words) == model.accepts_batch(words)).mean())
        assert low - 0.03 < fresh < high + 0.03
    assert sizes[0] < sizes[-1]
