"""What every learner promises, on a zoo of named languages and on random automata, with an exact teacher."""

from __future__ import annotations

import contextlib
import itertools
import pickle
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnncheck.automata.dfa import DFA
from rnncheck.automata.formats.dot import read_dot
from rnncheck.automata.minimisation import canonical, minimise
from rnncheck.errors import InputError, LearningBoundReached
from rnncheck.learning import LEARNERS, Query
from rnncheck.runtime.cooperative import finish
from rnncheck.words import Alphabet, WordBatch
from support.paths import RELEASED
from support.teachers import (
    BITS,
    VARIANTS,
    ZOO,
    RandomWords,
    ShortestWords,
    Target,
    check_access_words,
    check_learns,
    learn,
    make,
    no_structure,
    random_dfa,
)

RANDOM = RELEASED / "random"

each_learner = pytest.mark.parametrize("name", LEARNERS)
each_variant = pytest.mark.parametrize("variant", VARIANTS)

MINIMAL_SIZES = {
    "Tomita 1": 2,
    "Tomita 2": 3,
    "Tomita 3": 5,
    "Tomita 4": 4,
    "Tomita 5": 4,
    "Tomita 6": 3,
    "Tomita 7": 5,
}


def test_the_zoo_is_what_its_names_say() -> None:
    assert {name: len(minimise(ZOO[name])) for name in MINIMAL_SIZES} == MINIMAL_SIZES
    for length in range(9):
        for word in itertools.product("01", repeat=length):
            text = "".join(word)
            runs = [(letter, len(list(group)) % 2) for letter, group in itertools.groupby(text)]
            odd = (("1", 1), ("0", 1)) in itertools.pairwise(runs)
            zeros, ones = text.count("0"), text.count("1")
            assert ZOO["Tomita 1"].accepts(word) == ("0" not in text)
            assert ZOO["Tomita 2"].accepts(word) == (text == "10" * (length // 2))
            assert ZOO["Tomita 3"].accepts(word) == (not odd)
            assert ZOO["Tomita 4"].accepts(word) == ("000" not in text)
            assert ZOO["Tomita 5"].accepts(word) == (zeros % 2 == ones % 2 == 0)
            assert ZOO["Tomita 6"].accepts(word) == ((zeros - ones) % 3 == 0)
            assert ZOO["Tomita 7"].accepts(word) == (len(runs) + text.startswith("1") <= 4)


@each_variant
@pytest.mark.parametrize("language", ZOO)
def test_learns_the_zoo_from_shortest_words(variant: str, language: str) -> None:
    check_learns(variant, ZOO[language], ShortestWords(ZOO[language]))


@pytest.mark.parametrize("variant", [*LEARNERS, "ttt prefixes"])
@pytest.mark.parametrize("language", ZOO)
def test_learns_the_zoo_from_long_words(variant: str, language: str) -> None:
    check_learns(variant, ZOO[language], RandomWords(ZOO[language], seed=1))


@each_learner
def test_learns_the_papers_specifications(name: str) -> None:
    files = sorted(RANDOM.glob("*/*.dot"))
    if not files:
        pytest.skip(f"the released specifications are not at {RANDOM}")
    for file in files[::4]:
        dfa = read_dot(file.read_text())
        check_learns(name, dfa, ShortestWords(dfa))


# -- random automata --------------------------------------------------------------------------------------------------


def sizes(count: int) -> Iterator[tuple[int, int, int]]:
    """(states, letters, seed): up to 100 states, small ones more often."""
    rng = np.random.default_rng(20)
    for seed in range(count):
        yield int(1 + 100 * rng.random() ** 3), int(rng.integers(1, 6)), seed


@each_learner
@pytest.mark.parametrize("part", [*range(2), *(pytest.param(part, marks=pytest.mark.slow) for part in range(2, 10))])
def test_learns_200_random_automata(name: str, part: int) -> None:
    for states, letters, seed in itertools.islice(sizes(200), part, None, 10):
        dfa = random_dfa(states, letters, seed)
        # Angluin's table takes all prefixes of a long word in, so it gets the short words.
        long_words = seed % 2 and name != "lstar-prefixes"
        check_learns(name, dfa, RandomWords(dfa, seed) if long_words else ShortestWords(dfa))


@each_variant
def test_learns_every_small_automaton(variant: str) -> None:
    for states, letters in ((1, 2), (2, 2), (3, 1)):
        alphabet = Alphabet([f"t{i}" for i in range(letters)])
        for table in itertools.product(range(states), repeat=states * letters):
            for accepting in itertools.product([False, True], repeat=states):
                dfa = DFA(alphabet, np.reshape(table, (states, letters)), list(accepting))
                check_learns(variant, dfa, ShortestWords(dfa))


@st.composite
def small_automata(draw: st.DrawFn) -> DFA:
    states, letters = draw(st.integers(1, 7)), draw(st.integers(1, 3))
    row = st.lists(st.integers(0, states - 1), min_size=letters, max_size=letters)
    table = draw(st.lists(row, min_size=states, max_size=states))
    accepting = draw(st.lists(st.booleans(), min_size=states, max_size=states))
    return DFA([f"t{i}" for i in range(letters)], table, accepting)


@each_variant
@settings(max_examples=40, deadline=None)
@given(dfa=small_automata(), data=st.data())
def test_learns_from_any_counterexamples(variant: str, dfa: DFA, data: st.DataObject) -> None:
    """Whatever wrong words come, in whatever order: some in vain, some several at a time."""
    target = Target(dfa)
    learner = make(variant, dfa.alphabet, target.ask)
    word = st.lists(st.integers(0, len(dfa.alphabet) - 1), max_size=12).map(tuple)
    for words in data.draw(st.lists(st.lists(word, max_size=3), max_size=5)):
        before = learner.hypothesis
        batch = WordBatch.from_codes(words)
        wrong = bool((dfa.accepts_batch(batch) != before.accepts_batch(batch)).any())
        assert learner.refine_all(words) == wrong
        assert (len(learner.hypothesis) > len(before)) == wrong
        assert (learner.hypothesis is before) != wrong
        assert dfa.accepts_batch(batch).tolist() == learner.hypothesis.accepts_batch(batch).tolist()
    learn(learner, ShortestWords(dfa))
    assert canonical(learner.hypothesis) == canonical(dfa)


@each_variant
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), data=st.data())
def test_batches_of_counterexamples_in_any_order(variant: str, seed: int, data: st.DataObject) -> None:
    """Should come to the same language by a batch in any order, with words twice, and with words resolved by now."""
    dfa = random_dfa(9, 2, seed)
    rng = np.random.default_rng(seed)
    words = [tuple(rng.integers(0, 2, n).tolist()) for n in rng.integers(0, 20, 12)]
    shuffled = data.draw(st.permutations(words + words[:4]))
    batch = WordBatch.from_codes(words)
    given = {word: bool(answer) for word, answer in zip(words, dfa.accepts_batch(batch), strict=True)}
    for answers in ({}, given):
        target = Target(dfa)
        learner = make(variant, dfa.alphabet, target.ask)
        before, known = learner.hypothesis, target.words
        wrong = (dfa.accepts_batch(batch) != before.accepts_batch(batch)).any()
        assert finish(learner.refining(shuffled, answers)) == wrong
        assert (learner.hypothesis.accepts_batch(batch) == dfa.accepts_batch(batch)).all()
        if answers:
            assert not set(target.words) & set(given) - set(known)
        settled = learner.hypothesis
        assert learner.refine_all(shuffled) is False
        assert learner.hypothesis is settled
        learn(learner, ShortestWords(dfa))
        assert canonical(learner.hypothesis) == canonical(dfa)


@each_variant
@pytest.mark.parametrize("letters", [25, pytest.param(60, marks=pytest.mark.slow)])
def test_there_is_a_pause_after_little_work(variant: str, letters: int) -> None:
    """Should read a bounded number of letters between two pauses, and have a hypothesis at each, whatever is learned.

    A language without structure: every refinement shows new states for as long as anybody looks.
    """
    alphabet = Alphabet([f"t{i}" for i in range(letters)])
    prefixes = VARIANTS[variant][1].get("prefixes", False)
    since_pause = 0

    def ask(queries: Sequence[Query]) -> list[bool]:
        nonlocal since_pause
        # Where prefixes come along, each query is one more letter after another one of the batch.
        since_pause += sum(1 if prefixes else 1 + len(access) + len(suffix) for access, suffix in queries)
        return [no_structure(access + suffix) for access, suffix in queries]

    learner = make(variant, alphabet, ask, max_states=150)
    learner.start()
    rng = np.random.default_rng(0)
    words = [tuple(rng.integers(0, letters, 12).tolist()) for _ in range(10)]
    states = len(learner.hypothesis)
    grown = since_pause = most = 0
    with contextlib.suppress(LearningBoundReached):
        for _ in itertools.islice(learner.refining(words), 400):
            most, since_pause = max(most, since_pause), 0
            grown += len(learner.hypothesis) > states
            states = len(learner.hypothesis)
    assert 0 < most <= 40_000
    if "lstar" not in variant:  # one column of a table may show states without end
        assert grown >= 3


# -- the contract, clause by clause -----------------------------------------------------------------------------------


@each_variant
def test_refuses_a_word_that_is_no_counterexample(variant: str) -> None:
    dfa = ZOO["Tomita 5"]
    target = Target(dfa)
    learner = make(variant, dfa.alphabet, target.ask)
    hypothesis, access = learner.hypothesis, learner.access_words
    agreed = [w for n in range(6) for w in itertools.product((0, 1), repeat=n)]
    batch = WordBatch.from_codes(agreed)
    agreed = [agreed[i] for i in np.flatnonzero(dfa.accepts_batch(batch) == hypothesis.accepts_batch(batch))]
    assert len(agreed) > 10
    for word in agreed:
        assert learner.refine(word) is False
        assert learner.hypothesis is hypothesis
        assert learner.access_words == access


@each_variant
def test_nothing_is_asked_before_the_first_use(variant: str) -> None:
    target = Target(ZOO["Tomita 7"])
    learner = make(variant, BITS, target.ask)
    assert target.batches == []
    learner.start()
    asked = len(target.batches)
    learner.start()
    assert len(learner.hypothesis) == len(learner.access_words)
    assert len(target.batches) == asked > 0


@each_variant
def test_hypotheses_are_complete_and_over_the_alphabet(variant: str) -> None:
    dfa = random_dfa(20, 4, 3)
    learner = make(variant, dfa.alphabet, Target(dfa).ask)
    while (word := ShortestWords(dfa)(learner.hypothesis)) is not None:
        assert learner.hypothesis.alphabet == dfa.alphabet
        assert learner.hypothesis.transitions.shape == (len(learner.access_words), 4)
        learner.refine(word)


@each_variant
def test_agrees_with_every_answer_it_has_had(variant: str) -> None:
    dfa = random_dfa(40, 3, 5)
    target = Target(dfa)
    learner = make(variant, dfa.alphabet, target.ask)
    teacher = RandomWords(dfa, 5)
    while (word := teacher(learner.hypothesis)) is not None:
        learner.refine(word)
        asked = WordBatch.from_codes(target.words)
        assert (learner.hypothesis.accepts_batch(asked) == dfa.accepts_batch(asked)).all()


@pytest.mark.parametrize("variant", [v for v in VARIANTS if VARIANTS[v][0] != "lstar-prefixes"])
def test_queries_are_split_at_access_words_or_one_letter_later(variant: str) -> None:
    dfa = random_dfa(30, 3, 8)
    target = Target(dfa)
    learner = make(variant, dfa.alphabet, target.ask)
    learn(learner, RandomWords(dfa, 8))
    access = set(learner.access_words)
    for batch in target.batches:
        for word, _ in batch:
            assert word in access or word[:-1] in access


@each_variant
def test_is_deterministic(variant: str) -> None:
    dfa = random_dfa(25, 3, 11)
    logs = []
    for _ in range(2):
        target = Target(dfa)
        learner = make(variant, dfa.alphabet, target.ask)
        learn(learner, RandomWords(dfa, 11))
        logs.append((target.batches, learner.hypothesis, learner.access_words))
    assert logs[0] == logs[1]


@each_variant
def test_goes_on_after_pickling_as_if_nothing_had_been(variant: str) -> None:
    dfa = random_dfa(25, 3, 12)
    straight, target = Target(dfa), Target(dfa)
    learn(make(variant, dfa.alphabet, straight.ask), ShortestWords(dfa))
    learner = make(variant, dfa.alphabet, target.ask)
    while (word := ShortestWords(dfa)(learner.hypothesis)) is not None:
        learner = pickle.loads(pickle.dumps(learner))
        with pytest.raises(InputError, match="connect"):
            learner.refine((0,) * 77)
        learner.connect(target.ask)
        assert learner.refine(word)
    assert target.batches == straight.batches


class StopError(Exception):
    """What a budget raises."""


@each_variant
def test_survives_interruptions_of_ask(variant: str) -> None:
    """An error inside ask loses the batch and nothing else; asked again, learning ends where it should."""
    dfa = random_dfa(15, 2, 4)
    target = Target(dfa)
    calls = itertools.count()

    def ask(queries: Sequence[Query]) -> list[bool]:
        if next(calls) % 3 == 1:
            raise StopError
        return target.ask(queries)

    learner = make(variant, dfa.alphabet, ask)
    states = 0
    while True:
        try:
            hypothesis = learner.hypothesis
            assert len(hypothesis) >= states
            states = len(hypothesis)
            check_access_words(learner)
            word = ShortestWords(dfa)(hypothesis)
            if word is None:
                break
            learner.refine(word)
        except StopError:
            continue
    assert canonical(learner.hypothesis) == canonical(dfa)
    assert len(target.words) == len(set(target.words))
