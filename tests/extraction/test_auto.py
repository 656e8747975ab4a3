"""Extraction by what suits: which methods work, what is claimed, and what is said of it."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from rnncheck import zoo
from rnncheck.automata.dfa import DFA
from rnncheck.automata.minimisation import canonical, minimise
from rnncheck.automata.moore import MooreMachine
from rnncheck.extraction.auto_extraction import auto
from rnncheck.extraction.extract import extract
from rnncheck.learning.learning_settings import LearningSettings
from rnncheck.models.adapters import DFAModel
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.foreign.callables import CallableModel
from rnncheck.probability.distributions import WordDistribution
from rnncheck.words import Alphabet
from support.extraction import end_of, task_for
from support.teachers import no_structure

LETTERS = Alphabet(["a", "b"])
QUICK = {"epsilon": 0.05, "gamma": 0.05, "distribution": WordDistribution(LETTERS, stop=0.1)}


def random_dfa(seed: int, states: int) -> DFA:
    rng = np.random.default_rng(seed)
    return DFA(LETTERS, rng.integers(states, size=(states, 2)), rng.random(states) < 0.5)


def without_structure() -> CallableModel:
    return CallableModel(lambda words: [no_structure(tuple(LETTERS.encode(word))) for word in words], LETTERS)


def test_a_small_language_is_learned_and_nothing_else_tried() -> None:
    target = random_dfa(6, 12)
    found = extract(DFAModel(target), method="auto", **QUICK)
    assert found.passed
    assert canonical(found.automaton) == canonical(target)
    assert found.how == "pac finished at once, so nothing else was tried"


def test_nothing_else_is_tried_while_an_automaton_passes() -> None:
    """Should stay with the learner, however many words its last test needs."""
    model = CompiledNetwork(zoo.entry("tokens-gru").network())
    found = extract(model, method="auto", epsilon=0.005, gamma=0.005)
    assert found.passed
    assert found.how == "pac finished at once, so nothing else was tried"


def test_words_of_ones_own_are_merged_first() -> None:
    target = minimise(random_dfa(6, 4))
    own = tuple(word for n in range(7) for word in itertools.product("ab", repeat=n))
    found = extract(DFAModel(target), method="auto", settings=LearningSettings(known_words=own), **QUICK)
    assert found.passed
    assert found.how.startswith("merging finished at once")


def test_reading_the_words_that_were_given_counts_as_work() -> None:
    """Should give the learner its turn while merging still reads them, after 100 000 letters."""
    own = (tuple("ab" * 15),) * 5_000
    task = task_for(DFAModel(random_dfa(6, 12)), known_words=own)
    for _ in auto(task):
        if task.working == "pac":
            break
    assert task.working == "pac"
    assert task.oracle.cost.work < 110_000


@pytest.mark.parametrize("timeout", [60, 200, 400])
def test_a_time_limit_leaves_no_reason_empty(timeout: int) -> None:
    count = itertools.count()
    settings = LearningSettings(clock=lambda: next(count), known_words=(tuple("ab"),) * 2_000)
    found = extract(DFAModel(random_dfa(6, 12)), method="auto", timeout=timeout, settings=settings, **QUICK)
    assert not found.passed
    assert found.unfinished.startswith("the time limit was reached")
    assert found.how


def test_each_method_has_its_share_of_gamma() -> None:
    """Should draw as many words for the automaton that passes as a third of γ needs: three methods may pass."""
    task = task_for(CompiledNetwork(zoo.entry("tomita4-gru").network()))
    found = end_of(auto(task))
    assert found.passed
    assert found.confidence == task.confidence
    share = replace(task.confidence, gamma=task.confidence.gamma / 3)
    assert task.sampler.words >= share.words_of_test(0) > task.confidence.words_of_test(0)


def test_where_none_passes_it_says_how_each_ended() -> None:
    """Should try what needs answers alone, and come back with the best automaton seen and whose it is."""
    found = extract(without_structure(), method="auto", settings=LearningSettings(max_states=30), **QUICK)
    assert not found.passed
    assert "pac: " in found.unfinished
    assert "merging: " in found.unfinished
    assert "tree" not in found.unfinished
    assert found.how in {f"the best automaton seen is of {name}" for name in ("pac", "merging")}


def test_when_the_time_is_over_the_best_of_all_methods_is_taken() -> None:
    count = itertools.count()
    settings = LearningSettings(clock=lambda: next(count))
    found = extract(without_structure(), method="auto", timeout=2_000, settings=settings, **QUICK)
    assert not found.passed
    assert found.measured is not None
    assert "time limit" in found.unfinished


@pytest.mark.parametrize("letters", [25, 100])
@pytest.mark.parametrize("method", ["pac", "merging", "auto"])
def test_there_is_progress_after_little_work(letters: int, method: str) -> None:
    """Should tell how far it is before many letters are read, on a language that has no end of states."""
    alphabet = Alphabet([f"t{i}" for i in range(letters)])
    model = CallableModel(lambda words: [no_structure(tuple(alphabet.encode(word))) for word in words], alphabet)
    count, steps = itertools.count(), [0]
    extract(
        model,
        method=method,
        distribution=WordDistribution(alphabet, stop=0.1),
        timeout=800,
        settings=LearningSettings(clock=lambda: next(count)),
        progress=lambda progress: steps.append(progress.network_steps),
    )
    assert len(steps) > 50
    assert max(np.diff(steps)) <= 40_000


def test_several_labels_are_extracted_by_what_suits() -> None:
    model = CompiledNetwork(zoo.entry("tokens-gru").network())
    found = extract(model, method="auto", labels=True, epsilon=0.02, gamma=0.02)
    assert found.passed
    assert isinstance(found.automaton, MooreMachine)
    assert len(found.automaton) == 6


def test_turns_are_the_same_every_time() -> None:
    """Should go by counted letters: the same automaton at the same expense."""
    settings = LearningSettings(max_states=40)
    runs = [extract(without_structure(), method="auto", settings=settings, **QUICK) for _ in range(2)]
    assert runs[0].automaton == runs[1].automaton
    assert len({(run.cost.membership_queries, run.cost.network_steps, run.cost.rounds) for run in runs}) == 1
