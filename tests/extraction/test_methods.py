"""Every extraction method: what it finds, what it honours, and where it fails."""

import itertools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnncheck import wrap, zoo
from rnncheck.automata.dfa import DFA
from rnncheck.automata.minimisation import canonical, minimise
from rnncheck.automata.product import difference_witness
from rnncheck.automata.regex.regex_compiler import compile_regex
from rnncheck.errors import InputError, MissingExtraError, ModelError
from rnncheck.extraction import EXTRACTIONS, extracting, extraction_method
from rnncheck.extraction.compare import compare_surrogates
from rnncheck.extraction.extract import extract
from rnncheck.extraction.merging import merging
from rnncheck.extraction.quantisation import quantise
from rnncheck.extraction.state_clustering import Grid, KMeans
from rnncheck.extraction.state_partition import StatePartition
from rnncheck.extraction.weiss import weiss
from rnncheck.learning.learning_settings import LearningSettings
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.exact_network import exact_network
from rnncheck.models.foreign.callables import CallableModel
from rnncheck.runtime.budget import Budget, BudgetExceeded
from rnncheck.spec import Spec
from rnncheck.verification.verify import verify
from rnncheck.verification.verify_settings import VerifySettings
from rnncheck.words import Alphabet, Word
from support.extraction import end_of, task_for

LETTERS = Alphabet(["a", "b"])
QUICK = {"epsilon": 0.05, "gamma": 0.05}
LOOKING_INSIDE: dict[str, Callable[..., Any]] = {
    name: method.run for name, method in EXTRACTIONS.items() if not method.black_box
}
each_method = pytest.mark.parametrize("method", EXTRACTIONS)
# What contains a language by proof is as fine as the boxes of a network's states are: test_partial_invariant.py.
APPROXIMATING = [name for name, method in EXTRACTIONS.items() if not method.contains]
each_looking_inside = pytest.mark.parametrize("method", LOOKING_INSIDE)


def by(method: str, **others: Any) -> VerifySettings:
    return VerifySettings(extraction=method, **others)


def all_words(alphabet: Alphabet, length: int):
    return [word for n in range(length + 1) for word in itertools.product(alphabet, repeat=n)]


@pytest.mark.parametrize("method", APPROXIMATING)
@pytest.mark.parametrize(
    "name",
    [
        "even-elman",
        "tokens-gru",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("tomita4-gru", "response-lstm")),
    ],
)
def test_the_minimal_automaton_of_a_network_is_found(method: str, name: str) -> None:
    """Should be the property's own, which the network answers like on all short words."""
    entry = zoo.entry(name)
    model = CompiledNetwork(entry.network())
    verdict = verify(model, entry.spec(), method="aamc", relation="equal", settings=by(method), **QUICK)
    assert verdict.satisfied, verdict.reason
    assert canonical(verdict.hypothesis) == canonical(entry.spec().dfa)
    assert len(minimise(verdict.hypothesis)) == len(entry.spec().dfa)
    words = all_words(entry.alphabet, 12 if len(entry.alphabet) == 2 else 7)
    assert np.array_equal(model.accepts_batch(words), verdict.hypothesis.accepts_batch(words))


@pytest.mark.slow
@pytest.mark.parametrize("number", range(1, 8))
def test_trained_networks_of_the_tomita_grammars_are_recovered(number: int) -> None:
    """Should be the grammar's minimal automaton, or differ from it only where the network does."""
    from support.tomita_networks import trained_on

    model, grammar = trained_on(number)
    words = all_words(grammar.alphabet, 12)
    learned = np.array_equal(model.accepts_batch(words), grammar.accepts_batch(words))
    for method in APPROXIMATING:
        verdict = verify(model, grammar, method="aamc", relation="equal", timeout=120, settings=by(method))
        if learned:
            assert verdict.satisfied, f"{method}: {verdict.reason}"
            assert canonical(verdict.hypothesis) == canonical(grammar)
        else:
            assert not verdict.satisfied


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 3))
def test_a_network_built_by_hand_answers_as_its_automaton(seed: int, states: int, letters: int) -> None:
    """Should give the automaton's answers to all short words, without a score near the decision."""
    rng = np.random.default_rng(seed)
    alphabet = Alphabet(["x", "y", "z"][:letters])
    dfa = DFA(
        alphabet, rng.integers(states, size=(states, letters)), rng.random(states) < 0.5, int(rng.integers(states))
    )
    model = CompiledNetwork(exact_network(dfa))
    words = all_words(alphabet, 5)
    assert np.array_equal(model.accepts_batch(words), dfa.accepts_batch(words))
    assert np.allclose(np.abs(model.scores_batch(words)), 0.5, atol=1e-6)


@pytest.mark.parametrize("kind", ["kmeans", "grid"])
@pytest.mark.parametrize("seed", range(6))
def test_quantisation_of_exact_networks_agrees_nearly_always(kind: str, seed: int) -> None:
    """Should agree on nearly all words of the distribution with networks whose automaton is known."""
    rng = np.random.default_rng(seed)
    dfa = DFA(LETTERS, rng.integers(5, size=(5, 2)), rng.random(5) < 0.5)
    task = task_for(CompiledNetwork(exact_network(dfa)))
    extraction = end_of(quantise(task, kind))
    words = task.distribution.sample(rng, 2_000)
    assert extraction.passed or "differ" in extraction.unfinished
    assert isinstance(extraction.automaton, DFA)
    assert (extraction.automaton.accepts_batch(words) == dfa.accepts_batch(words)).mean() > 0.98


@pytest.mark.parametrize("seed", range(8))
def test_weiss_never_has_more_states_than_the_network_needs(seed: int) -> None:
    """Should learn part of the truth at most: every state of its automaton is distinguished by the network itself."""
    rng = np.random.default_rng(seed)
    dfa = DFA(LETTERS, rng.integers(5, size=(5, 2)), rng.random(5) < 0.5)
    extraction = end_of(weiss(task_for(CompiledNetwork(exact_network(dfa)))))
    assert "no conflict" in extraction.how
    assert len(extraction.automaton) <= len(minimise(dfa))


DOOR = ("h", "e", "a", "d", "f", "e")


def weak_spot() -> tuple[CompiledNetwork, Spec]:
    """An even number of a, but after six letters in the right order everything is accepted."""
    alphabet = Alphabet(list("abcdefgh"))
    even = "([^a]* a [^a]* a)* [^a]*"
    truth = minimise(compile_regex(f"({even}) | {' '.join(DOOR)} .*", alphabet))
    return CompiledNetwork(exact_network(truth)), Spec.from_regex(even, alphabet)


@pytest.mark.parametrize("method", ["pac", "bounded", "weiss"])
def test_the_published_weakness(method: str) -> None:
    """Should stop with the automaton of two states, content, though a word of six letters shows that it is wrong."""
    model, spec = weak_spot()
    verdict = verify(model, spec, method="aamc", epsilon=5e-3, gamma=5e-3, settings=by(method))
    assert verdict.satisfied
    assert len(verdict.hypothesis) == 2
    assert verdict.hypothesis.accepts(DOOR) != model.accepts(DOOR)
    if method == "weiss":
        assert "proves nothing" in verdict.reason


def test_exhaustive_search_finds_what_the_methods_miss() -> None:
    model, spec = weak_spot()
    verdict = verify(model, spec, method="smc", settings=VerifySettings(exhaustive=6))
    assert verdict.counterexample == DOOR


@pytest.mark.parametrize("method", APPROXIMATING)
def test_the_same_seed_gives_the_same_automaton(method: str) -> None:
    entry = zoo.entry("tomita4-gru")
    first, second = (
        verify(CompiledNetwork(entry.network()), entry.spec(), method="aamc", seed=5, settings=by(method), **QUICK)
        for _ in range(2)
    )
    assert first.hypothesis == second.hypothesis
    assert first.cost.network_steps == second.cost.network_steps


@each_method
def test_a_deadline_is_honoured(method: str) -> None:
    """Should end undecided with a word about the time, wherever the time ends."""
    entry = zoo.entry("tomita4-gru")
    for timeout in (0, 20, 100):
        ticks = itertools.count()
        verdict = verify(
            CompiledNetwork(entry.network()),
            entry.spec(),
            method="aamc",
            timeout=timeout,
            settings=by(method, clock=lambda ticks=ticks: next(ticks)),
        )
        assert verdict.undecided
        assert "time limit" in verdict.reason


def test_merging_from_words_that_somebody_has() -> None:
    """Should learn from these words alone, ask the network for nothing but them and merges, and say so."""
    dfa = minimise(compile_regex("(a b | b a a)*", LETTERS))
    given_words = tuple(word for word in all_words(LETTERS, 7))
    found = extract(
        CompiledNetwork(exact_network(dfa)),
        method="merging",
        settings=LearningSettings(known_words=given_words),
        **QUICK,
    )
    assert found.passed
    assert found.automaton == dfa
    assert "the given words" in found.how


@settings(max_examples=4, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 8))
def test_merged_states_are_distinguished_by_the_network(seed: int, states: int) -> None:
    """Should never have more states than the network's own language needs: suffixes distinguish all."""
    rng = np.random.default_rng(seed)
    dfa = DFA(LETTERS, rng.integers(states, size=(states, 2)), rng.random(states) < 0.5)
    task = task_for(CompiledNetwork(exact_network(dfa)))
    extraction = end_of(merging(task))
    assert len(extraction.automaton) <= len(minimise(dfa))


@each_looking_inside
def test_a_spent_budget_ends_a_method(method: str) -> None:
    model = CompiledNetwork(zoo.entry("tomita4-gru").network())
    with pytest.raises(BudgetExceeded):
        end_of(LOOKING_INSIDE[method](task_for(model, budget=Budget.lasting(0))))


@pytest.mark.parametrize("method", APPROXIMATING)
def test_states_are_bounded(method: str) -> None:
    """Should give no more states than allowed, and not call that satisfied."""
    entry = zoo.entry("tomita4-gru")
    settings = by(method, max_states=2, flows=None)
    spec = Spec.from_regex(".*", entry.alphabet)
    verdict = verify(CompiledNetwork(entry.network()), spec, method="aamc", settings=settings, **QUICK)
    assert len(verdict.hypothesis) <= 2
    assert not verdict.satisfied


def test_cells_are_bounded() -> None:
    model = CompiledNetwork(zoo.entry("tomita4-gru").network())
    extraction = end_of(weiss(task_for(model), max_cells=2))
    assert "more than 2 cells" in extraction.how


@each_looking_inside
def test_a_callable_is_told_which_methods_take_it(method: str) -> None:
    """Should name the methods that need answers alone."""
    model = CallableModel(lambda words: [len(word) % 2 == 0 for word in words], LETTERS)
    with pytest.raises(ModelError, match=f"{method}.*pac or bounded"):
        end_of(extracting(method, task_for(model)))


@pytest.mark.parametrize("method", ["pac", "bounded", "merging"])
def test_methods_that_need_answers_alone_take_a_callable(method: str) -> None:
    model = CallableModel(lambda words: [len(word) % 2 == 0 for word in words], LETTERS)
    spec = Spec.from_regex("(. .)*", LETTERS)
    assert verify(model, spec, method="aamc", relation="equal", settings=by(method), **QUICK).satisfied


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(InputError, match="known are pac, bounded, merging, auto, weiss, tree, kmeans, grid, cells"):
        extraction_method("magic")
    with pytest.raises(InputError, match="kmeans and grid"):
        next(quantise(task_for(CompiledNetwork(zoo.entry("even-elman").network())), "spheres"))
    with pytest.raises(InputError, match="at least 1"):
        next(weiss(task_for(CompiledNetwork(zoo.entry("even-elman").network())), dimensions=0))


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.svm", None)
    partition = StatePartition(1)
    vectors = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    partition.refine(0, vectors[1], vectors[:1])
    with pytest.raises(MissingExtraError, match=r"rnncheck\[surrogates\]"):
        partition.refine(int(partition.cell_of(vectors)[0]), vectors[2], vectors[:1])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(2, 12))
def test_a_refinement_separates_and_keeps_what_was_separate(seed: int, width: int, count: int) -> None:
    """Should put the vector alone on its side, and never join cells again."""
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(count, width))
    partition = StatePartition(3)
    for _ in range(3):
        before = partition.cell_of(vectors)
        cell = int(before[0])
        others = (before == cell) & (np.arange(count) > 0)
        if not others.any():
            break
        partition.refine(cell, vectors[0], vectors[others])
        after = partition.cell_of(vectors)
        assert (after[others] != after[0]).all()
        apart = before[:, None] != before[None, :]
        assert (after[:, None] != after[None, :])[apart].all()


def test_k_means_finds_separate_heaps() -> None:
    rng = np.random.default_rng(0)
    heaps = np.repeat([[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]], 50, axis=0)
    found = KMeans(heaps + rng.normal(scale=0.1, size=heaps.shape), 3, rng).assign(heaps)
    assert [len(set(found[start : start + 50].tolist())) for start in (0, 50, 100)] == [1, 1, 1]
    assert len(set(found.tolist())) == 3


def test_k_means_makes_do_with_fewer_distinct_vectors() -> None:
    assert KMeans(np.array([[1.0], [1.0], [2.0]]), 3, np.random.default_rng(0)).size == 2


def test_a_grid_numbers_the_boxes_that_are_not_empty() -> None:
    vectors = np.array([[0.0, 0.0], [0.1, 0.1], [1.0, 1.0], [0.9, 0.0]])
    grid = Grid(vectors, 2, 10)
    numbers = grid.assign(vectors).tolist()
    assert grid.size == 3
    assert numbers[0] == numbers[1]
    assert len(set(numbers)) == 3
    assert grid.assign(np.array([[0.0, 1.0]]))[0] in numbers  # an empty box belongs to a neighbour


def test_a_grid_with_too_many_boxes_cuts_fewer_dimensions() -> None:
    vectors = np.random.default_rng(0).normal(size=(200, 8))
    assert Grid(vectors, 2, 10).size <= 10


def test_the_least_examples_start_weiss_off() -> None:
    """Should not stop with one state on a language whose shortest rejected word has three letters."""
    extraction = end_of(weiss(task_for(CompiledNetwork(zoo.entry("tomita4-gru").network()))))
    assert difference_witness(extraction.automaton, zoo.entry("tomita4-gru").spec().dfa) is None


@pytest.mark.parametrize("method", EXTRACTIONS)
def test_a_model_of_short_words_is_not_asked_for_longer_ones(method: str) -> None:
    """Should extract by answers alone, and refuse to follow states to words that nobody may ask."""
    lengths: list[int] = []

    def even(words: Sequence[Word]) -> list[bool]:
        lengths.extend(map(len, words))
        return [word.count("a") % 2 == 0 for word in words]

    model = wrap(even, LETTERS, max_length=9)
    if not extraction_method(method).black_box:
        with pytest.raises(InputError, match="limited to 9 letters; choose pac"):
            extract(model, method=method, **QUICK)
        return
    found = extract(model, method=method, **QUICK)
    assert max(lengths) <= 9
    assert found.automaton == DFA(LETTERS, [[1, 0], [0, 1]], [True, False])


def test_surrogates_of_a_model_of_short_words_are_compared_on_these() -> None:
    asked: list[int] = []

    def few(words: Sequence[Word]) -> list[bool]:
        asked.extend(map(len, words))
        return [len(word) < 9 for word in words]

    model = wrap(few, LETTERS, max_length=10)
    spec = Spec.from_regex(".{0,7}", LETTERS)
    found = compare_surrogates(model, spec, methods=["pac", "weiss"], words=200, timeout=30)
    assert max(asked) <= 10
    assert found.results[0].property_check.real
    assert "limited to 10 letters" in found.results[1].ending
