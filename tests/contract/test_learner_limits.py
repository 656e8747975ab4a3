"""What every learner does at its limits: bounds, words known before, and answers that contradict each other."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Sequence

import numpy as np
import pytest

from rnncheck.automata.dfa import DFA
from rnncheck.automata.language import least_word
from rnncheck.automata.minimisation import canonical, minimise
from rnncheck.errors import InconsistentAnswersError, InputError, LearningBoundReached
from rnncheck.learning import LEARNERS, Query, make_learner
from rnncheck.words import Codes, WordBatch
from support.teachers import (
    BITS,
    NOT_REGULAR,
    VARIANTS,
    ZOO,
    Function,
    ShortestWords,
    Target,
    check_access_words,
    keylock,
    learn,
    make,
    random_dfa,
)

each_learner = pytest.mark.parametrize("name", LEARNERS)
each_variant = pytest.mark.parametrize("variant", VARIANTS)


@each_variant
@pytest.mark.parametrize("language", NOT_REGULAR)
def test_the_bound_on_states_is_named_and_leaves_a_hypothesis(variant: str, language: str) -> None:
    target = Function(NOT_REGULAR[language])
    learner = make(variant, BITS, target.ask, max_states=12)
    with pytest.raises(LearningBoundReached, match="max_states = 12") as caught:
        target.teach(learner)
    assert (caught.value.reason, caught.value.bound) == ("max_states", 12)
    assert 2 <= len(learner.hypothesis) <= 12
    check_access_words(learner)
    # Still usable: what agrees is refused, what does not meets the bound again.
    hypothesis = learner.hypothesis
    assert learner.refine(()) is False
    with pytest.raises(LearningBoundReached):
        learner.refine(target.counterexample(hypothesis))
    check_access_words(learner)


@each_variant
@pytest.mark.parametrize("language", NOT_REGULAR)
def test_the_bound_on_query_length_is_named_and_kept(variant: str, language: str) -> None:
    target = Function(NOT_REGULAR[language])
    learner = make(variant, BITS, target.ask, max_query_length=9)
    with pytest.raises(LearningBoundReached, match="max_query_length = 9") as caught:
        target.teach(learner)
    assert (caught.value.reason, caught.value.bound) == ("max_query_length", 9)
    assert target.longest <= 9
    check_access_words(learner)
    assert pickle.loads(pickle.dumps(caught.value)).bound == 9


@each_learner
def test_bounds_that_are_just_enough_are_not_reached(name: str) -> None:
    dfa = keylock(6)
    learner = make_learner(name, dfa.alphabet, Target(dfa).ask, max_states=len(minimise(dfa)))
    learn(learner, ShortestWords(dfa))
    assert canonical(learner.hypothesis) == canonical(dfa)


@each_learner
def test_the_least_bounds_suffice_for_two_states(name: str) -> None:
    """Should learn "at least one 1" with two states and words of two letters."""
    dfa = DFA(BITS, [[0, 1], [1, 1]], [False, True])
    learner = make_learner(name, BITS, Target(dfa).ask, max_states=2, max_query_length=2)
    assert learner.hypothesis == dfa


@each_learner
@pytest.mark.parametrize("bound", [{"max_states": 1}, {"max_query_length": 1}, {"max_states": 2.5}])
def test_bounds_too_small_for_a_first_hypothesis_are_refused(name: str, bound: dict[str, object]) -> None:
    with pytest.raises(InputError, match=next(iter(bound))):
        make_learner(name, BITS, Target(ZOO["Tomita 1"]).ask, **bound)


# -- known words ------------------------------------------------------------------------------------------------------


@each_variant
def test_known_answers_are_used_and_not_asked_for(variant: str) -> None:
    dfa = random_dfa(12, 2, seed=1)
    rng = np.random.default_rng(0)
    words = [tuple(rng.integers(0, 2, n).tolist()) for n in rng.integers(0, 40, 150)]
    answers = dfa.accepts_batch(WordBatch.from_codes(words)).tolist()
    known = dict(zip(words, answers, strict=True))
    assert 10 < sum(known.values()) < len(known) - 10
    target = Target(dfa)
    learner = make(variant, dfa.alphabet, target.ask, known=known)
    assert learner.hypothesis.accepts_batch(WordBatch.from_codes(known)).tolist() == list(known.values())
    assert len(learner.hypothesis) > 5
    learn(learner, ShortestWords(dfa))
    assert canonical(learner.hypothesis) == canonical(dfa)
    assert not set(target.words) & set(known)


@each_variant
def test_known_words_without_answers_are_asked_for_in_one_batch(variant: str) -> None:
    dfa = keylock(5, letters=2)
    accepted = dfa.alphabet.encode(least_word(dfa) or ())
    words = [accepted, (*accepted, 0, 1), (1, 1, 1, 0, 1, 1, 0)]
    target = Target(dfa)
    learner = make(variant, dfa.alphabet, target.ask, known=words)
    batch = WordBatch.from_codes(words)
    assert learner.hypothesis.accepts_batch(batch).tolist() == dfa.accepts_batch(batch).tolist()
    first = next(queries for queries in target.batches if ((), accepted) in queries)
    assert {access + suffix for access, suffix in first} >= set(words)
    assert len(target.words) == len(set(target.words))


@each_learner
def test_a_bound_reached_by_the_known_words_leaves_a_hypothesis(name: str) -> None:
    dfa = keylock(10, letters=2)
    words = [w for n in range(12) for w in itertools.product((0, 1), repeat=n)]
    known = dict(zip(words, dfa.accepts_batch(WordBatch.from_codes(words)).tolist(), strict=True))
    learner = make_learner(name, dfa.alphabet, Target(dfa).ask, known=known, max_states=4)
    with pytest.raises(LearningBoundReached, match="max_states = 4"):
        learner.start()
    assert 1 <= len(learner.hypothesis) <= 4


# -- inconsistent answers ---------------------------------------------------------------------------------------------


@each_variant
def test_an_answer_that_changes_is_a_named_error(variant: str) -> None:
    dfa = ZOO["Tomita 4"]
    lies: set[Codes] = set()

    def ask(queries: Sequence[Query]) -> list[bool]:
        return [dfa.accepts(BITS.decode(a + s)) != (a + s in lies) for a, s in queries]

    learner = make(variant, BITS, ask)
    learn(learner, ShortestWords(dfa))
    hypothesis = learner.hypothesis
    word = learner.access_words[-1]
    assert learner.refine(word) is False
    lies.add(word)
    with pytest.raises(InconsistentAnswersError) as caught:
        learner.refine(word)
    assert caught.value.word == word
    assert pickle.loads(pickle.dumps(caught.value)).word == word
    assert learner.hypothesis is hypothesis


@each_learner
def test_a_known_answer_that_is_wrong_is_found_out(name: str) -> None:
    dfa = ZOO["Tomita 1"]
    learner = make_learner(name, BITS, Target(dfa).ask, known={(1, 1, 1, 1): False})
    with pytest.raises(InconsistentAnswersError, match="1, 1, 1, 1"):
        learn(learner, ShortestWords(dfa))


@each_variant
def test_answers_at_random_do_not_make_it_run_for_ever(variant: str) -> None:
    rng = np.random.default_rng(3)
    learner = make(variant, BITS, lambda queries: rng.random(len(queries)) < 0.5, max_states=40)
    try:
        for n in range(7):
            for word in itertools.product((0, 1), repeat=n):
                learner.refine(word)
    except (LearningBoundReached, InconsistentAnswersError):
        pass
    check_access_words(learner)


@each_learner
@pytest.mark.parametrize("answers", [[], [True] * 1000])
def test_a_wrong_number_of_answers_is_an_error(name: str, answers: list[bool]) -> None:
    with pytest.raises(InputError, match="one each"):
        make_learner(name, BITS, lambda _: answers).start()


@each_learner
@pytest.mark.parametrize("word", [(2,), (0, -1), ("0",), "01", 5, (0.0,)])
def test_words_that_are_none_are_refused(name: str, word: object) -> None:
    learner = make_learner(name, BITS, Target(ZOO["Tomita 1"]).ask)
    with pytest.raises(InputError, match="letter position"):
        learner.refine(word)
    with pytest.raises(InputError, match="letter position"):
        make_learner(name, BITS, Target(ZOO["Tomita 1"]).ask, known=[word])


def test_unknown_learners_are_named() -> None:
    with pytest.raises(InputError, match="'nerode'; known are ttt, kv, lstar, lstar-prefixes"):
        make_learner("nerode", BITS, Target(ZOO["Tomita 1"]).ask)
