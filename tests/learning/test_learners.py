"""The parts of the learners: remembered answers, the search for wrong transitions, trees and tables."""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnncheck.automata.dfa import DFA
from rnncheck.automata.minimisation import canonical, minimise
from rnncheck.automata.product import difference_witness
from rnncheck.errors import InconsistentAnswersError, InputError, LearningBoundReached
from rnncheck.learning import LEARNERS, Learner, Query, Search, make_learner
from rnncheck.learning.learners import runs
from rnncheck.learning.learners.answers import Answers
from rnncheck.learning.learners.counterexamples import _evenly_between, states_on, wrong_transitions
from rnncheck.learning.learners.discrimination_tree import ROOT, DiscriminationTree
from rnncheck.learning.learning_settings import LearningSettings
from rnncheck.runtime.cooperative import finish
from rnncheck.words import Alphabet, Codes, WordBatch, shortlex_key

BITS = Alphabet(["0", "1"])


class Log:
    """Answers for a DFA and keeps every batch."""

    def __init__(self, dfa: DFA) -> None:
        self.dfa = dfa
        self.batches: list[list[Query]] = []

    def ask(self, queries: Sequence[Query]) -> list[bool]:
        self.batches.append(list(queries))
        return [self.answer(access + suffix) for access, suffix in queries]

    def answer(self, word: Codes) -> bool:
        return bool(self.dfa.accepting[states_on(self.dfa, word)[-1]])

    @property
    def words(self) -> list[Codes]:
        return [access + suffix for batch in self.batches for access, suffix in batch]


def random_dfa(states: int, letters: int, seed: int) -> DFA:
    rng = np.random.default_rng(seed)
    alphabet = [f"t{i}" for i in range(letters)]
    return minimise(DFA(alphabet, rng.integers(0, states, (states, letters)), rng.random(states) < 0.5))


def lock(length: int) -> DFA:
    """Open for ever after ``length`` ones in a row."""
    table = [[0, state + 1] for state in range(length)] + [[length, length]]
    return DFA(BITS, table, [state == length for state in range(length + 1)])


def teach(learner: Learner[Any], dfa: DFA, padding: int = 0) -> None:
    """By least counterexamples, with letters appended where they stay counterexamples."""
    rng = np.random.default_rng(padding)
    while (witness := difference_witness(dfa, learner.hypothesis)) is not None:
        word = dfa.alphabet.encode(witness)
        longer = [word + tuple(rng.integers(0, len(dfa.alphabet), padding).tolist()) for _ in range(20)]
        batch = WordBatch.from_codes(longer)
        wrong = np.flatnonzero(dfa.accepts_batch(batch) != learner.hypothesis.accepts_batch(batch))
        assert learner.refine(longer[int(wrong[0])] if len(wrong) else word)
    assert canonical(learner.hypothesis) == canonical(dfa)


# -- answers ----------------------------------------------------------------------------------------------------------


def test_a_word_is_asked_for_once_however_it_is_split() -> None:
    log = Log(lock(2))
    answers = Answers(log.ask)
    assert answers.of([((1,), (1,)), ((), (1, 1)), ((1, 1), ()), ((0,), ())]) == [True, True, True, False]
    assert log.words == [(1, 1), (0,)]
    assert answers.of([((), (0,)), ((1,), (1,))]) == [False, True]
    assert len(log.batches) == 1
    assert (answers[(1, 1)], answers.known((0,)), answers.known((1,)), len(answers)) == (True, False, None, 2)


def test_prefixes_come_in_the_same_batch() -> None:
    log = Log(lock(2))
    answers = Answers(log.ask, prefixes=True)
    answers.of([((0,), ())])
    assert answers.of([((0,), (1, 1, 0)), ((0,), (1, 0))]) == [True, False]
    assert len(log.batches) == 2
    assert sorted(log.batches[1]) == [((0,), (1,)), ((0,), (1, 0)), ((0,), (1, 1)), ((0,), (1, 1, 0))]
    assert answers.known((0, 1, 1)) is True


def test_prefixes_are_asked_for_only_where_they_come_free() -> None:
    log = Log(lock(2))
    Answers(log.ask).of([((0,), (1, 1, 0))])
    assert log.batches == [[((0,), (1, 1, 0))]]


@pytest.mark.parametrize(("replies", "wrong"), [([0, 3, 4], "3"), ([1, 2, -1], "-1"), ([2, 9, 0], "9")])
def test_the_first_answer_that_is_none_is_named(replies: list[int], wrong: str) -> None:
    answers = Answers(lambda _: replies, outputs=3)
    with pytest.raises(InputError, match=f"^{wrong} is not an answer; there are 3, 0 to 2"):
        answers.of([((), ()), ((), (0,)), ((), (1,))])
    assert len(answers) == 0


def test_a_batch_with_a_word_above_the_bound_is_not_asked_at_all() -> None:
    log = Log(lock(2))
    answers = Answers(log.ask, max_query_length=3)
    with pytest.raises(LearningBoundReached, match="max_query_length = 3"):
        answers.of([((1,), ()), ((1, 1), (0, 0))])
    assert log.batches == []
    assert answers.of([((1, 1), (0,))]) == [True]
    answers.add((1, 1, 0, 0), True)
    assert answers.of([((1, 1), (0, 0))]) == [True]


def test_contradictions_are_named() -> None:
    answers = Answers(Log(lock(1)).ask)
    answers.add((0,), True)
    answers.add((0,), True)
    with pytest.raises(InconsistentAnswersError, match=r"\[0\] was first accepted and is now rejected"):
        answers.confirm([(0,)])
    with pytest.raises(InconsistentAnswersError, match="first accepted"):
        answers.add((0,), False)
    assert answers[(0,)] is True


@settings(max_examples=60, deadline=None)
@given(
    parts=st.lists(st.dictionaries(st.lists(st.integers(0, 1), max_size=40).map(tuple), st.booleans()), max_size=5),
    limit=st.integers(1, 5),
    seed=st.integers(0, 50),
)
def test_disagreements_are_the_least_ones(parts: list[dict[Codes, bool]], limit: int, seed: int) -> None:
    dfa = random_dfa(5, 2, seed)
    log = Log(dfa)
    answers = Answers(log.ask)
    given: dict[Codes, bool] = {}
    for part in parts:
        for word, answer in part.items():
            answers.add(word, given.setdefault(word, answer))
        wrong = sorted((word for word, answer in given.items() if answer != log.answer(word)), key=shortlex_key)
        assert answers.disagreements(dfa, limit) == wrong[:limit]
    assert pickle.loads(pickle.dumps(answers)).disagreements(dfa, limit) == answers.disagreements(dfa, limit)


def test_disagreements_are_found_among_many_words() -> None:
    """Enough words of one length to be packed, in several goes."""
    dfa = random_dfa(6, 2, 3)
    log = Log(dfa)
    answers = Answers(log.ask)
    words = list(itertools.product((0, 1), repeat=9))
    for n, word in enumerate(words):
        answers.add(word, log.answer(word) != (n % 100 == 99))
        if n % 37 == 0:
            assert len(answers.disagreements(dfa, 1000)) == (n + 1) // 100
    assert answers.disagreements(dfa, 3) == [words[99], words[199], words[299]]


@pytest.mark.parametrize("followed", [True, False])
@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("seed", range(3))
def test_disagreements_of_a_growing_hypothesis(
    monkeypatch: pytest.MonkeyPatch, name: str, seed: int, followed: bool
) -> None:
    """Should be those that running every word again finds, whether words are followed from the start or never."""
    monkeypatch.setattr(runs, "_TRANSITIONS_PER_LETTER", 0 if followed else 10**9)
    monkeypatch.setattr(runs, "_TRANSITIONS_PER_CHANGE", 0)
    dfa = random_dfa(40, 2, seed)
    original, looks = Answers.disagreements, 0

    def checked(self: Answers, hypothesis: DFA, limit: int, *others: Any) -> list[Codes]:
        nonlocal looks
        looks += 1
        found = original(self, hypothesis, limit, *others)
        batch = WordBatch.from_codes(list(self._answers))
        wrong = np.flatnonzero(hypothesis.accepts_batch(batch) != np.array(list(self._answers.values())))
        assert found == sorted((batch[int(i)] for i in wrong), key=shortlex_key)[:limit]
        return found

    monkeypatch.setattr(Answers, "disagreements", checked)
    rng = np.random.default_rng(seed)
    known = [tuple(rng.integers(0, 2, 30).tolist()) for _ in range(20)]
    learner = make_learner(name, dfa.alphabet, Log(dfa).ask, known=known)
    teach(learner, dfa, padding=20)
    assert looks > 10 or name != "ttt"


@pytest.mark.parametrize("name", ["ttt", "kv"])
@pytest.mark.parametrize("seed", range(3))
def test_words_of_lost_refinements_are_looked_at(monkeypatch: pytest.MonkeyPatch, name: str, seed: int) -> None:
    """Should find every wrong word where errors, and other work in a pause, have cut refinements short."""
    dfa, original = random_dfa(30, 3, seed), Answers.disagreements
    log, rng = Log(dfa), np.random.default_rng(seed)

    def checked(self: Answers, hypothesis: DFA, limit: int, *others: Any) -> list[Codes]:
        found = original(self, hypothesis, limit, *others)
        batch = WordBatch.from_codes(list(self._answers))
        wrong = np.flatnonzero(hypothesis.accepts_batch(batch) != np.array(list(self._answers.values())))
        assert found == sorted((batch[int(i)] for i in wrong), key=shortlex_key)[:limit]
        return found

    def ask(queries: Sequence[Query]) -> list[bool]:
        if rng.random() < 0.1:
            raise OSError
        return log.ask(queries)

    monkeypatch.setattr(Answers, "disagreements", checked)
    learner = make_learner(name, dfa.alphabet, ask)
    while True:
        try:
            witness = difference_witness(dfa, learner.hypothesis)
            if witness is None:
                break
            words = [dfa.alphabet.encode(witness), tuple(rng.integers(0, 3, 20).tolist())]
            works = [learner.refining([word]) for word in words]
            for work in works:
                for _ in itertools.islice(work, int(rng.integers(1, 20))):
                    pass
            finish(works[0])
            finish(works[1])
        except OSError:
            continue
    assert canonical(learner.hypothesis) == canonical(dfa)


# -- counterexamples --------------------------------------------------------------------------------------------------

SEARCHES = [Search(strategy, probes=probes) for strategy in ("exponential", "binary") for probes in (1, 2, 5)]


@pytest.mark.parametrize("search", SEARCHES, ids=str)
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 200), words=st.lists(st.lists(st.integers(0, 1), max_size=60).map(tuple), max_size=4))
def test_wrong_transitions_are_wrong(search: Search, seed: int, words: list[Codes]) -> None:
    target = Log(random_dfa(8, 2, seed))
    learner = make_learner("kv", target.dfa.alphabet, target.ask)
    hypothesis, access = learner.hypothesis, learner.access_words
    answers = learner._answers
    target.batches.clear()
    answers.of([((), word) for word in words])
    words = [w for w in dict.fromkeys(words) if hypothesis.accepting[states_on(hypothesis, w)[-1]] != target.answer(w)]
    target.batches.clear()
    found = finish(wrong_transitions(words, hypothesis, access, answers, search))
    assert len(found) == len(words)
    for word, wrong in zip(words, found, strict=True):
        goes_to = int(hypothesis.transitions[wrong.state, wrong.letter])
        assert word[-len(wrong.suffix) - 1 :] == (wrong.letter, *wrong.suffix)
        assert wrong.suffix
        longer = (*access[wrong.state], wrong.letter)
        assert target.answer(longer + wrong.suffix) != target.answer(access[goes_to] + wrong.suffix)
    # All words together take as many batches as the slowest alone: doubling, then bisecting, and no more.
    slowest = max(map(len, words), default=1)
    assert len(target.batches) <= 2 * math.log2(slowest) + 2
    assert len(target.words) <= len(words) * search.probes * (2 * math.log2(slowest) + 2)
    assert target.words == [] or set(map(len, target.batches)) <= set(range(1, len(words) * search.probes + 1))


def test_exponential_search_asks_short_suffixes_and_finds_a_short_one() -> None:
    dfa = lock(3)
    costs = {}
    for strategy in ("exponential", "binary"):
        log = Log(dfa)
        learner = make_learner("kv", BITS, log.ask)
        word = (0,) * 200 + (1, 1, 1)
        answers = learner._answers
        hypothesis, access = learner.hypothesis, learner.access_words
        answers.of([((), word)])
        log.batches.clear()
        (wrong,) = finish(wrong_transitions([word], hypothesis, access, answers, Search(strategy)))
        costs[strategy] = sum(len(suffix) for batch in log.batches for _, suffix in batch)
        assert {len(batch) for batch in log.batches} == {1}
        assert len(wrong.suffix) <= 2
    assert costs["exponential"] * 5 < costs["binary"]


@pytest.mark.parametrize(
    ("search", "lengths"),
    [
        (Search("exponential"), [[2], [3], [5], [9], [17], [33], [25], [21], [19], [20]]),
        (Search("exponential", probes=2), [[2, 3], [5, 9], [17, 33], [23, 28], [19, 21], [20]]),
        (Search("binary"), [[61], [31], [16], [24], [20], [18], [19]]),
        (Search("binary", probes=3), [[31, 61, 91], [9, 16, 24], [18, 20, 22], [19]]),
    ],
    ids=str,
)
def test_how_a_search_goes_on(search: Search, lengths: list[list[int]]) -> None:
    """The suffixes asked for where those of 20 letters and more are accepted: in doubling steps, then by halves."""
    log = Log(lock(20))
    learner = make_learner("kv", BITS, log.ask)
    hypothesis, access = learner.hypothesis, learner.access_words
    word = (0,) * 100 + (1,) * 20
    learner._answers.of([((), word)])
    log.batches.clear()
    (wrong,) = finish(wrong_transitions([word], hypothesis, access, learner._answers, search))
    assert [[len(suffix) for _, suffix in batch] for batch in log.batches] == lengths
    assert wrong.suffix == (1,) * 19


@given(low=st.integers(0, 50), gap=st.integers(2, 50), count=st.integers(1, 12))
def test_positions_are_spread_evenly(low: int, gap: int, count: int) -> None:
    places = _evenly_between(low, low + gap, count)
    assert len(places) == min(count, gap - 1)
    steps = [right - left for right, left in itertools.pairwise([low + gap, *places, low])]
    assert min(steps) >= 1
    assert max(steps) - min(steps) <= 1


def test_what_is_known_of_a_word_is_not_asked_again() -> None:
    log = Log(lock(4))
    learner = make_learner("kv", BITS, log.ask)
    hypothesis, access = learner.hypothesis, learner.access_words
    word = (0, 1, 0, 1, 1, 1, 1)
    answers = learner._answers
    answers.of([(access[state], word[i:]) for i, state in enumerate(states_on(hypothesis, word))])
    log.batches.clear()
    for search in SEARCHES:
        finish(wrong_transitions([word], hypothesis, access, answers, search))
    assert log.batches == []


@pytest.mark.parametrize("search", SEARCHES, ids=str)
@pytest.mark.parametrize("zeros", range(8))
def test_a_gap_that_is_known_needs_no_question(search: Search, zeros: int) -> None:
    """Where the answers before and after one letter of the word are remembered, the wrong transition is found."""
    log = Log(lock(4))
    learner = make_learner("kv", BITS, log.ask)
    hypothesis, access = learner.hypothesis, learner.access_words
    word = (0,) * zeros + (1,) * 4 + (0,) * 9
    learner._answers.of([((), word), ((), word[zeros:]), ((), word[zeros + 1 :])])
    log.batches.clear()
    (wrong,) = finish(wrong_transitions([word], hypothesis, access, learner._answers, search))
    assert wrong.suffix == word[zeros + 1 :]
    assert log.batches == []


@pytest.mark.parametrize("bad", [{"strategy": "linear"}, {"probes": 0}, {"probes": 1.5}])
def test_searches_are_checked(bad: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(bad))):
        Search(**bad)


# -- trees ------------------------------------------------------------------------------------------------------------


def test_words_are_sifted_in_step_one_batch_a_level() -> None:
    log = Log(lock(3))
    answers = Answers(log.ask)
    tree = DiscriminationTree()
    (refused, opened) = finish(tree.sift([(), (1, 1, 1)], [ROOT, ROOT], answers))
    tree.split(refused, (1,))
    (two_to_go, one_to_go) = finish(tree.sift([(), (1, 1)], [ROOT, refused], answers))
    tree.split(two_to_go, (1, 1))
    log.batches.clear()
    words = [(0, 0), (1, 0, 1), (0, 1, 1), (1, 1, 1, 1)]
    ends = finish(tree.sift(words, [ROOT] * 4, answers))
    assert [len(batch) for batch in log.batches] == [4, 3, 2]
    assert all(tree.is_leaf(end) for end in ends)
    assert len(set(ends)) == 4
    assert ends[2:] == [one_to_go, opened]
    assert tree.parting(ends[:2]) == (1, 1)
    assert tree.parting(ends[:3]) == (1,)
    assert tree.parting([ends[0], ends[3]]) == ()
    twin = tree.copy()
    twin.split(ends[0], (0,))
    assert tree.is_leaf(ends[0])


def paths(tree: DiscriminationTree) -> dict[int, list[Codes]]:
    """For each node the discriminators above it."""
    above: dict[int, list[Codes]] = {ROOT: []}
    for node, discriminator in enumerate(tree.discriminators):
        if discriminator is not None:
            for child in range(tree._first_child[node], tree._first_child[node] + 2):
                above[child] = [*above[node], discriminator]
    return above


@pytest.mark.parametrize("name", ["kv", "ttt"])
@pytest.mark.parametrize("seed", range(5))
def test_transitions_are_asked_for_only_on_their_way_down(name: str, seed: int) -> None:
    """Beside the search in counterexamples, each transition costs one question for each node above its leaf."""
    dfa = random_dfa(40, 3, seed)
    log = Log(dfa)
    learner = make_learner(name, dfa.alphabet, log.ask)
    rounds = 0
    while (witness := difference_witness(dfa, learner.hypothesis)) is not None:
        learner.refine(dfa.alphabet.encode(witness))
        rounds += 1
    structure = learner._current[0]
    above = paths(structure.tree)
    needed = {
        (*word, letter, *discriminator)
        for word, row in zip(structure.access_words, structure.targets.tolist(), strict=True)
        for letter, leaf in enumerate(row)
        for discriminator in above[leaf]
    }
    assert needed <= set(log.words)
    extra = set(log.words) - needed - {()}
    assert len(extra) <= 3 * rounds


@pytest.mark.parametrize("seed", range(6))
def test_discriminators_of_ttt_stay_short(seed: int) -> None:
    """Whatever the counterexamples, they are closed under suffixes; Kearns and Vazirani's are as long as those."""
    dfa = random_dfa(30, 3, seed)
    longest = {}
    for name in ("ttt", "kv"):
        learner = make_learner(name, dfa.alphabet, Log(dfa).ask)
        teach(learner, dfa, padding=60)
        found = {d for d in learner._current[0].tree.discriminators if d is not None}
        longest[name] = max(map(len, found))
        if name == "ttt":
            assert all(d[1:] in found for d in found)
            assert sum(map(len, found)) < 1.8 * len(found)
    assert longest["ttt"] <= 3 < longest["kv"]


@pytest.mark.parametrize("length", [2, 6, 15])
def test_ttt_resolves_blocks_that_no_letter_splits(length: int) -> None:
    """In a lock the states differ only far ahead, so the evidence has to be followed letter by letter."""
    dfa = lock(length)
    log = Log(dfa)
    learner = make_learner("ttt", BITS, log.ask)
    assert learner.refine((0, 1, 0) + (1,) * length + (0,) * 50)
    assert canonical(learner.hypothesis) == canonical(dfa)
    found = {d for d in learner._current[0].tree.discriminators if d is not None}
    assert found == {(1,) * n for n in range(length)}
    assert len(log.words) == len(set(log.words))


def test_every_step_towards_a_counterexample_is_kept() -> None:
    """A bound in the middle of a counterexample leaves the best hypothesis there was."""
    dfa = random_dfa(40, 2, 2)
    words = list(itertools.product((0, 1), repeat=9))
    learner = make_learner("kv", dfa.alphabet, Log(dfa).ask, max_states=17, at_once=1)
    with pytest.raises(LearningBoundReached):
        learner.refine_all(words)
    assert len(learner.hypothesis) == 17


@pytest.mark.parametrize("name", ["kv", "ttt"])
def test_several_counterexamples_at_once_take_fewer_batches(name: str) -> None:
    dfa = random_dfa(60, 3, 1)
    rng = np.random.default_rng(0)
    words = [tuple(rng.integers(0, 3, n).tolist()) for n in rng.integers(5, 30, 300)]
    batches = {}
    for at_once in (1, 16):
        log = Log(dfa)
        learner = make_learner(name, dfa.alphabet, log.ask, at_once=at_once)
        assert learner.refine_all(words)
        assert len(learner.hypothesis) > 40
        assert all(learner.hypothesis.accepts(dfa.alphabet.decode(w)) == log.answer(w) for w in words)
        batches[at_once] = len(log.batches)
    assert batches[16] * 2 < batches[1]
    with pytest.raises(InputError, match="at_once"):
        make_learner(name, dfa.alphabet, log.ask, at_once=0)


# -- tables -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_rivest_schapire_keeps_rows_apart_and_columns_few(seed: int) -> None:
    dfa = random_dfa(25, 2, seed)
    learner = make_learner("lstar", dfa.alphabet, Log(dfa).ask)
    teach(learner, dfa, padding=20)
    table = learner._current[0]
    assert len(table.short) == len({table.rows[word] for word in table.short}) == len(dfa)
    assert len(table.suffixes) <= len(dfa)
    assert all(word[:-1] in table.short for word in table.short)


def test_angluin_takes_all_prefixes_in() -> None:
    log = Log(lock(4))
    learner = make_learner("lstar-prefixes", BITS, log.ask)
    word = (0, 0, 1, 1, 1, 1)
    assert learner.refine(word)
    table = learner._current[0]
    assert {word[:n] for n in range(7)} <= set(table.short)
    assert table.inconsistency() is None
    assert all(suffix[1:] in table.suffixes for suffix in table.suffixes)


def test_the_least_word_of_a_row_speaks_for_it() -> None:
    dfa = DFA(BITS, [[1, 1], [2, 2], [2, 2]], [False, True, True])
    learner = make_learner("lstar", BITS, Log(dfa).ask)
    assert learner.access_words == ((), (0,))


def test_a_table_is_filled_in_one_batch_a_step() -> None:
    log = Log(lock(3))
    learner = make_learner("lstar", BITS, log.ask)
    learner.start()
    assert [len(batch) for batch in log.batches] == [3]


# -- the registry, and AALpy as a second opinion ----------------------------------------------------------------------


def test_the_registry_has_a_default() -> None:
    assert LearningSettings().learner in LEARNERS
    for name, kind in LEARNERS.items():
        assert type(make_learner(name, BITS, Log(lock(1)).ask)) is kind
        assert kind.__doc__


@pytest.mark.parametrize("name", ["kv", "lstar"])
def test_asks_no_more_words_than_aalpy(name: str) -> None:
    """The same algorithm on the same targets with the same counterexamples; AALpy sees the answers to prefixes too."""
    pytest.importorskip("aalpy")
    from aalpy.base import SUL, Oracle
    from aalpy.learning_algs import run_KV, run_Lstar

    class Target(SUL):
        def __init__(self, dfa: DFA) -> None:
            super().__init__()
            self.dfa = dfa
            self.words: set[Codes] = set()

        def pre(self) -> None:
            self.word: Codes = ()

        def post(self) -> None:
            self.words.add(self.word)

        def step(self, letter: int | None) -> bool:
            self.word += () if letter is None else (letter,)
            return bool(self.dfa.accepting[states_on(self.dfa, self.word)[-1]])

    class Teacher(Oracle):
        def find_cex(self, hypothesis: Any) -> Codes | None:
            dfa = self.sul.dfa
            number = {id(state): i for i, state in enumerate(hypothesis.states)}
            table = [[number[id(state.transitions[a])] for a in self.alphabet] for state in hypothesis.states]
            accepting = [bool(state.is_accepting) for state in hypothesis.states]
            witness = difference_witness(dfa, DFA(dfa.alphabet, table, accepting, number[id(hypothesis.initial_state)]))
            return None if witness is None else dfa.alphabet.encode(witness)

    ours = theirs = 0
    for seed in range(6):
        dfa = random_dfa(30, 3, seed)
        log = Log(dfa)
        teach(make_learner(name, dfa.alphabet, log.ask), dfa)
        ours += len(log.words)
        target = Target(dfa)
        letters = list(range(len(dfa.alphabet)))
        run = run_KV if name == "kv" else run_Lstar
        run(letters, target, Teacher(letters, target), "dfa", cache_and_non_det_check=False, print_level=0)
        theirs += len(target.words)
    assert ours <= theirs
