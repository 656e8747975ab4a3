"""Agreement curves and the comparison of extraction methods, judged by exact masses and by counting."""

import hashlib
import itertools

import numpy as np
import pytest

from rnncheck import zoo
from rnncheck.automata.dfa import DFA
from rnncheck.automata.minimisation import minimise
from rnncheck.automata.product import symmetric_difference
from rnncheck.display import page_of
from rnncheck.errors import InputError
from rnncheck.extraction import COMPARED
from rnncheck.extraction.agreement import AgreementCurve, Point, agreement_curve, truncations
from rnncheck.extraction.compare import compare_surrogates
from rnncheck.models.adapters import DFAModel
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.foreign.callables import CallableModel
from rnncheck.models.network import Cell
from rnncheck.models.protocol import Model
from rnncheck.probability.distributions import WordDistribution
from rnncheck.report.charts.comparison_chart import comparison_chart
from rnncheck.runtime.budget import Budget, BudgetExceeded
from rnncheck.spec import Spec
from rnncheck.verification.verify_settings import VerifySettings
from rnncheck.words import Alphabet
from support.clocks import Ticking
from support.extraction import end_of, task_for
from support.networks import random_network

LETTERS = Alphabet(["a", "b"])
QUICK = {"epsilon": 0.05, "gamma": 0.05, "words": 500}


def noisy_parity(words) -> list[bool]:
    """An even number of a, and the opposite for one word in fifty, whichever those are."""
    return [(word.count("a") % 2 == 0) != (hashlib.md5(" ".join(word).encode()).digest()[0] < 5) for word in words]


def curve_of(model: Model, *, words: int = 1_000, budget: Budget | None = None, max_states: int = 60) -> AgreementCurve:
    return end_of(agreement_curve(task_for(model, seed=1, budget=budget, max_states=max_states), words))


def test_a_small_automaton_is_found_beneath_noise() -> None:
    """Should show the knee at the two states of the parity, with an η around the noise that was put in."""
    curve = curve_of(CallableModel(noisy_parity, LETTERS), words=2_000)
    knee = curve.knee()
    assert knee.states == 2
    low, high = knee.interval
    assert low < 1 - 5 / 256 < high
    assert curve.smallest(0.05) == knee
    assert curve.smallest(1e-6) is None
    assert not curve.complete


def test_a_regular_network_ends_at_its_own_automaton() -> None:
    curve = curve_of(CompiledNetwork(zoo.entry("tomita4-gru").network()))
    assert curve.complete
    assert curve.points[-1].agreement == 1.0
    assert curve.points[-1].automaton == zoo.entry("tomita4-gru").spec().dfa
    assert curve.knee() == curve.points[-1]


@pytest.mark.parametrize("seed", range(3))
def test_points_rise_and_their_intervals_hold_the_truth(seed: int) -> None:
    """Should grow in states and agreement, and contain the exact agreement where it can be computed."""
    rng = np.random.default_rng(seed)
    truth = DFA(LETTERS, rng.integers(30, size=(30, 2)), rng.random(30) < 0.5)
    curve = curve_of(DFAModel(truth))
    for one, other in itertools.pairwise(curve.points):
        assert one.states < other.states
        assert one.agreement < other.agreement
    distribution = WordDistribution(LETTERS)
    outside = 0
    for point in curve.points:
        low, high = point.interval
        outside += not low <= 1.0 - distribution.mass(symmetric_difference(point.automaton, truth)) <= high
    assert outside <= 0.2 * len(curve.points) + 1


def test_truncations_grow_to_the_whole_automaton() -> None:
    rng = np.random.default_rng(3)
    dfa = minimise(DFA(LETTERS, rng.integers(12, size=(12, 2)), rng.random(12) < 0.5))
    sizes = [len(smaller) for smaller in truncations(dfa, WordDistribution(LETTERS))]
    assert sizes[0] <= 2
    assert sizes[-1] == len(dfa)
    assert len(sizes) > 2


def test_the_knee_is_highest_above_the_chord() -> None:
    def point(states: int, differences: int) -> Point:
        return Point(DFA(["a"], [[0]] * states, [True] * states), differences, 100)

    curve = AgreementCurve((point(1, 50), point(3, 10), point(10, 9), point(40, 5)), True)
    assert curve.knee().states == 3
    assert curve.smallest(0.09).states == 10
    assert AgreementCurve((point(2, 20), point(9, 19)), True).knee().states == 2  # one word more is no improvement
    assert AgreementCurve((point(2, 1),), True).knee().states == 2
    with pytest.raises(InputError, match="eta"):
        curve.smallest(0.0)


def test_a_curve_honours_its_budget() -> None:
    """Should raise before anything is known, and keep what it has afterwards."""
    model = CompiledNetwork(random_network(Cell.GRU, seed=1, alphabet=LETTERS, hidden=(6,), scale=4.0))
    with pytest.raises(BudgetExceeded):
        curve_of(model, budget=Budget.lasting(0))
    ticks = itertools.count()
    curve = curve_of(model, words=200, budget=Budget.lasting(4_000, clock=lambda: next(ticks)))
    assert curve.points
    with pytest.raises(InputError, match="at least 1"):
        curve_of(model, words=0)


# -- comparison -------------------------------------------------------------------------------------------------------


def test_all_methods_are_compared() -> None:
    """Should have a line for each method with what was found, measured and said of the property."""
    entry = zoo.entry("tomita4-gru")
    model = CompiledNetwork(entry.network())
    comparison = compare_surrogates(model, entry.spec(), name="net", **QUICK)
    assert [result.method for result in comparison.results] == [*COMPARED]
    for result in comparison.results:
        assert result.point.states == 4
        assert result.point.agreement == 1.0
        assert result.network_steps > 0
        assert str(result.property_check) == "satisfied"
    text = comparison.to_text()
    assert all(method in text for method in COMPARED)
    assert "knee of the curve: 4 states" in text


def test_suspects_are_tried_on_the_network() -> None:
    entry = zoo.entry("even-elman")
    model = CompiledNetwork(entry.network())
    (result,) = compare_surrogates(model, Spec.from_regex("b*", entry.alphabet), methods=["grid"], **QUICK).results
    assert result.property_check.suspect == ("a", "a")
    assert "violated by a a, confirmed" in str(result.property_check)


def test_methods_that_cannot_be_used_say_so_and_the_others_go_on() -> None:
    """Should compare what can be compared for a callable without hidden states."""
    settings = VerifySettings(clock=Ticking())
    comparison = compare_surrogates(CallableModel(noisy_parity, LETTERS), timeout=500, settings=settings, **QUICK)
    closed = [result.method for result in comparison.results if result.point is None]
    assert closed == ["weiss", "tree", "kmeans", "grid"]
    assert all("pac or bounded" in r.ending for r in comparison.results if r.method in closed)
    assert comparison.specification is None


def test_a_method_without_time_has_its_best_automaton_so_far() -> None:
    """Should be no worse than a constant answer, as far as the words that choose can tell."""
    model = CallableModel(lambda words: [len(word) % 7 > 0 for word in words], LETTERS)
    settings = VerifySettings(clock=Ticking())
    compared = compare_surrogates(model, timeout=60, methods=["pac"], settings=settings, **QUICK)
    (result,) = compared.results
    assert "time limit" in result.ending
    assert result.point.agreement > 0.8


def test_time_is_kept_for_each_road() -> None:
    entry = zoo.entry("tomita4-gru")
    comparison = compare_surrogates(CompiledNetwork(entry.network()), timeout=0, **QUICK)
    assert all("time limit" in result.ending for result in comparison.results)
    assert comparison.curve is None
    assert "no time" in comparison.to_text()
    assert "no time" in page_of(comparison)
    assert all(result.point is None for result in comparison.results)  # nothing was found, so nothing is shown


@pytest.mark.slow  # that each method does so is tested beside it
def test_the_same_seed_gives_the_same_comparison() -> None:
    entry = zoo.entry("tokens-gru")
    settings = VerifySettings(clock=lambda: 0.0)
    first, second = (
        compare_surrogates(
            CompiledNetwork(entry.network()), settings=settings, seed=3, methods=["weiss", "grid"], **QUICK
        )
        for _ in range(2)
    )
    assert first.to_text() == second.to_text()


def test_names_cannot_become_markup() -> None:
    """Should escape letters, file names and specifications in the page."""
    alphabet = Alphabet(["<script>", "b"])
    dfa = DFA(alphabet, [[0, 1], [1, 1]], [True, False])
    spec = Spec.from_regex("∅", alphabet)
    comparison = compare_surrogates(DFAModel(dfa), spec, name="<img src=x>", methods=["pac"], **QUICK)
    page = page_of(comparison)
    assert "<script>" not in page
    assert "<img src=x>" not in page
    assert "&lt;img src=x&gt;" in page


def test_a_plot_is_drawn() -> None:
    entry = zoo.entry("even-elman")
    comparison = compare_surrogates(CompiledNetwork(entry.network()), methods=["pac", "grid"], **QUICK)
    assert comparison_chart(comparison, "png").startswith(b"\x89PNG")
    assert b"<svg" in comparison_chart(comparison, "svg")
    with pytest.raises(InputError, match=r"\.png or \.svg"):
        comparison_chart(comparison, "gif")


def test_nonsense_is_refused() -> None:
    model = DFAModel(DFA(LETTERS, [[0, 0]], [True]))
    with pytest.raises(InputError, match="unknown extraction method"):
        compare_surrogates(model, methods=["magic"])
    with pytest.raises(InputError, match="at least 1"):
        compare_surrogates(model, words=0)
    with pytest.raises(InputError, match="eta"):
        compare_surrogates(model, eta=2.0)
