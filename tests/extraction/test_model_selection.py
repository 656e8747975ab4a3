"""Extraction at any time: the best automaton so far, measured on fresh words, of any size asked for."""

import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnncheck import zoo
from rnncheck.automata.dfa import DFA
from rnncheck.automata.minimisation import minimise
from rnncheck.automata.moore import MooreMachine
from rnncheck.automata.product import symmetric_difference
from rnncheck.errors import InputError
from rnncheck.extraction.agreement import Point
from rnncheck.extraction.extract import extract
from rnncheck.extraction.method import Extracting, Extraction
from rnncheck.extraction.model_selection import ModelSelection
from rnncheck.extraction.reduction import reductions
from rnncheck.learning.learning_settings import LearningSettings
from rnncheck.learning.learning_task import LearningTask
from rnncheck.models.adapters import DFAModel
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.foreign.callables import CallableModel
from rnncheck.probability.distributions import WordDistribution
from rnncheck.runtime.budget import BudgetExceeded
from rnncheck.words import Alphabet, WordBatch
from support.extraction import end_of, task_for
from support.teachers import no_structure

LETTERS = Alphabet(["a", "b"])
QUICK = {"epsilon": 0.05, "gamma": 0.05}
SHORT = WordDistribution(LETTERS, stop=0.1)


def random_dfa(seed: int, states: int) -> DFA:
    rng = np.random.default_rng(seed)
    return DFA(LETTERS, rng.integers(states, size=(states, 2)), rng.random(states) < 0.5)


def ended_after(ticks: int, dfa: DFA) -> Extraction:
    count = itertools.count()
    settings = LearningSettings(clock=lambda: next(count))
    return extract(DFAModel(dfa), distribution=SHORT, timeout=ticks, settings=settings, **QUICK)


@pytest.mark.parametrize("ticks", [150, 600, 1_200, 2_500])
def test_whenever_it_ends_it_is_no_worse_than_a_constant_answer(ticks: int) -> None:
    """Should come back with an automaton and its agreement, judged here by the exact probability of a difference."""
    for seed in range(3):
        target = random_dfa(seed, 60)
        found = ended_after(ticks, target)
        accepted = SHORT.mass(target)
        right = 1.0 - SHORT.mass(symmetric_difference(found.automaton, target))
        assert right > max(accepted, 1.0 - accepted) - 0.06  # as far as 500 words can tell
        if found.measured is not None:
            assert found.measured.automaton == found.automaton
            assert "fresh words" in found.agreement_sentence
        else:
            assert "not measured" in found.agreement_sentence


def test_before_anything_is_known_there_is_nothing() -> None:
    with pytest.raises(BudgetExceeded):
        ended_after(0, random_dfa(0, 5))


def test_more_time_is_no_loss() -> None:
    target = random_dfa(4, 80)
    agreements = [ended_after(ticks, target).measured for ticks in (1_000, 1_500, 9_000)]
    assert agreements[0].agreement < agreements[-1].agreement


def test_intervals_hold_the_truth() -> None:
    """Should contain the exact agreement about as often as they say, on samples that chose nothing."""
    outside = 0
    for seed in range(20):
        target = random_dfa(seed, 40)
        found = ended_after(1_100, target)
        low, high = found.measured.interval
        outside += not low <= 1.0 - SHORT.mass(symmetric_difference(found.automaton, target)) <= high
    assert outside <= 4


def test_a_language_without_structure_is_not_called_learned() -> None:
    """Should end at the bound with the agreement that was measured."""
    model = CallableModel(lambda words: [no_structure(tuple(LETTERS.encode(word))) for word in words], LETTERS)
    settings = LearningSettings(max_states=60)
    found = extract(model, distribution=SHORT, settings=settings, **QUICK)
    assert not found.passed
    assert "max_states = 60" in found.unfinished
    assert 0.4 < found.measured.agreement < 0.9  # short words are learned by heart


@pytest.mark.parametrize("states", [1, 2, 3, 5, 20])
def test_no_more_states_than_wanted(states: int) -> None:
    target = minimise(random_dfa(6, 12))
    found = extract(DFAModel(target), distribution=SHORT, states=states, **QUICK)
    assert len(found.automaton) <= states
    assert found.passed == (states >= len(target))
    if not found.passed:
        assert f"at most {states} states" in found.unfinished


def test_the_curve_rises_to_the_automaton_that_passed() -> None:
    target = minimise(random_dfa(6, 12))
    found = extract(DFAModel(target), distribution=SHORT, **QUICK)
    sizes = [point.states for point in found.curve.points]
    assert sizes == sorted(set(sizes))
    assert found.curve.complete
    assert found.curve.points[-1].differences == found.measured.differences == 0
    assert len(sizes) >= 3


def test_several_labels_have_a_curve_too() -> None:
    model = CompiledNetwork(zoo.entry("tokens-gru").network())
    whole = extract(model, labels=True, **QUICK)
    small = extract(model, labels=True, states=3, **QUICK)
    assert whole.passed
    assert len(small.automaton) <= 3 < len(whole.automaton)
    assert isinstance(small.automaton, MooreMachine)
    assert small.automaton.labels == ("decimal", "integer", "malformed")
    assert small.measured.agreement < 1.0


def test_a_size_below_one_is_refused() -> None:
    with pytest.raises(InputError, match="states=0"):
        extract(DFAModel(random_dfa(0, 3)), states=0)


def test_an_automaton_of_many_states_is_reduced_in_little_memory() -> None:
    """Should not need a table of all pairs of states: 10 000 of them are 100 million."""
    dfa, words = random_dfa(0, 10_000), SHORT.sample(np.random.default_rng(0), 50)
    tracemalloc.start()
    made = list(itertools.islice(reductions(dfa, words), 8))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [len(smaller) for smaller in made] == [1, 2, 3, 4, 6, 8, 12, 16]
    assert peak < 150e6


def test_the_judges_words_are_not_learned_from() -> None:
    """Should leave learning as it is: the judge's words come from generators of their own, and refute nothing."""
    task = task_for(DFAModel(random_dfa(1, 9)))
    before = task.sampler.words
    end_of(ModelSelection(task).query())
    assert task.sampler.words == before
    assert task.hypothesis is None


def asking_words(task: LearningTask, batches: int) -> Extracting:
    """Work that puts words to the network, about 10 000 letters at once, and learns nothing."""
    rng = np.random.default_rng(99)
    for _ in range(batches):
        task.oracle.answers(WordDistribution(LETTERS).sample(rng, 100))
        yield
    return Extraction(task.constants()[0], task.confidence, unfinished="nothing was learned")


def with_another_answer(target: DFA, state: int) -> DFA:
    accepting = target.accepting.copy()
    accepting[state] ^= True
    return minimise(DFA(target.alphabet, target.transitions, accepting, target.initial))


def selection_after(batches: int, target: DFA, candidates: list[DFA], seed: int = 0) -> ModelSelection:
    """One that was shown the candidates before any work."""
    task = task_for(DFAModel(target), seed=seed, distribution=SHORT)
    selection = ModelSelection(task)
    work = selection.query_alongside(asking_words(task, batches))
    next(work)  # the first words that choose
    for candidate in candidates:
        selection.show(candidate, last=True)
    end_of(work)
    return selection


def test_more_words_choose_better(monkeypatch: pytest.MonkeyPatch) -> None:
    """Should tell the better of two automata after long work, by exact probabilities; 500 words are often wrong."""
    monkeypatch.setattr("rnncheck.extraction.model_selection._WORK_FOR_ONE", 0)  # any work is long
    target = minimise(random_dfa(6, 24))
    candidates = [with_another_answer(target, state) for state in range(len(target))]
    wrong = {each: SHORT.mass(symmetric_difference(each, target)) for each in candidates}
    better = next(each for each in candidates if 0.008 < wrong[each] < 0.015)
    worse = next(each for each in candidates if 0.004 < wrong[each] - wrong[better] < 0.007)
    early, late = (
        [selection_after(batches, target, [worse, better], seed).best() == better for seed in range(6)]
        for batches in (0, 6)
    )
    assert not all(early)
    assert all(late)


@pytest.mark.parametrize(
    ("seen", "states"),
    [
        ([(1, 200), (3, 2), (16, 1)], 3),  # chance explains one word of 500
        ([(1, 200), (3, 2), (16, 0)], 16),  # which may be the very language
        ([(1, 2), (16, 1)], 16),  # one answer to every word is no automaton
        ([(3, 9), (16, 1)], 16),  # chance explains no eight
        ([(9, 2), (16, 1)], 16),  # not much smaller
        ([(3, 8), (5, 6), (40, 5)], 5),  # 0.5 % of the words at most
        ([(3, 5), (40, 5)], 3),
        ([(3, 4), (40, 5)], 3),
    ],
)
def test_a_much_smaller_automaton_is_chosen_where_chance_explains_the_difference(
    seen: list[tuple[int, int]], states: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def chain(length: int) -> DFA:
        return DFA(LETTERS, [[min(at + 1, length - 1)] * 2 for at in range(length)], [at == 0 for at in range(length)])

    points = [Point(chain(size), differences, 500) for size, differences in seen]
    selection = ModelSelection(task_for(DFAModel(random_dfa(0, 3)), distribution=SHORT))
    monkeypatch.setattr(selection, "_all_seen", lambda: points)
    chosen = selection.chosen()
    assert chosen is not None
    assert chosen.point.states == states
    assert (chosen.why == "") == (chosen.point == chosen.best)
    asked_for = selection.chosen(1_000)
    assert asked_for is not None
    assert asked_for.point == chosen.best  # a size that was asked for is used


def test_never_a_larger_automaton_that_agrees_less() -> None:
    for seed in range(12):
        target = minimise(random_dfa(seed, 30))
        candidates = [with_another_answer(target, state) for state in range(0, len(target), 5)]
        selection = selection_after(
            0, target, [*candidates, *(minimise(random_dfa(seed + n, 3 + 4 * n)) for n in range(4))]
        )
        chosen = selection.chosen()
        assert chosen is not None
        points = [selection._choosing.point(each) for each in candidates]
        assert not any(
            point.states <= chosen.point.states and point.differences < chosen.point.differences for point in points
        )
        assert chosen.point.differences - chosen.best.differences <= 0.005 * chosen.best.words


def test_words_that_choose_are_no_words_that_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Should measure by the same words however many choose."""
    monkeypatch.setattr("rnncheck.extraction.model_selection._WORK_FOR_ONE", 0)
    target = minimise(random_dfa(6, 24))
    candidates = [with_another_answer(target, state) for state in range(5)]
    early, late = selection_after(0, target, candidates), selection_after(3, target, candidates)
    measured = [late.measured(each) for each in candidates]
    assert measured == [early.measured(each) for each in candidates]
    assert measured[0].words == 1_000


@pytest.mark.parametrize("batches", [0, 5, 15, 25])
def test_words_that_choose_are_a_small_share_of_the_work(batches: int) -> None:
    """Should ask nothing more at first, more where there is much work, and never more than a tenth of it."""
    target = random_dfa(1, 9)
    alone, judged, both = (task_for(DFAModel(target), distribution=SHORT) for _ in range(3))
    end_of(asking_words(alone, batches))
    end_of(ModelSelection(judged).query())
    end_of(ModelSelection(both).query_alongside(asking_words(both, batches)))
    more = both.oracle.cost.work - judged.oracle.cost.work - alone.oracle.cost.work
    assert more <= both.oracle.cost.work / 10
    assert (more > 1_000) == (batches > 10)  # a word that was answered already costs nothing


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 30))
def test_reductions_are_smaller_and_use_states_of_the_automaton(seed: int, states: int) -> None:
    dfa = minimise(random_dfa(seed, states))
    words = SHORT.sample(np.random.default_rng(seed), 50)
    made = list(reductions(dfa, words, most_states=5))
    assert [len(smaller) for smaller in made] == sorted({len(smaller) for smaller in made})
    assert all(len(smaller) < len(dfa) for smaller in made)
    assert (len(dfa) > 5) == any(len(smaller) == 5 for smaller in made)
    assert list(reductions(dfa, words)) == list(reductions(dfa, WordBatch.from_codes(list(words))))
