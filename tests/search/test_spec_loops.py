"""Loops of the property, repeated: against brute force on automata, and on models that forget."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from rnncheck.automata.dfa import DFA
from rnncheck.models.adapters import DFAModel
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.foreign.callables import CallableModel
from rnncheck.models.protocol import Model
from rnncheck.oracle import MembershipOracle
from rnncheck.relations import Property, Relation
from rnncheck.search.lassos import Lassos
from rnncheck.search.spec_loops import LoopSearch
from rnncheck.spec import Spec
from rnncheck.words import Alphabet, Codes, WordBatch
from support.forgetful import KINDS, fading_gru, forgetful

ABC = Alphabet(["a", "b", "c"])
RESPONSE = Spec.from_ltlf("G(a -> F b)", ABC).dfa
ENDS_IN_B_AFTER_A = Spec.from_regex(".* a .* b", ABC).dfa  # what is remembered shows after another b alone
STEPS = 200_000  # what the default leaves to loops


def random_property(seed: int, relation: Relation, states: int = 5) -> Property:
    rng = np.random.default_rng(seed)
    spec = DFA(ABC, rng.integers(states, size=(states, 3)), rng.random(states) < 0.5)
    return Property(spec, relation, None if seed % 2 else rng.random(states) < 0.7)


def searched(model: Model, watched: Property, steps: int = STEPS, **limits: int) -> LoopSearch:
    search = LoopSearch.of(MembershipOracle(model), watched, steps, **limits)
    while not search.finished:
        search.advance()
    return search


def end(spec: DFA, word: Codes, state: int | None = None) -> int:
    state = spec.initial if state is None else state
    for letter in word:
        state = int(spec.transitions[state, letter])
    return state


def is_violation(model: Model, watched: Property, word: Codes) -> bool:
    answer = model.accepts_batch(WordBatch.from_codes([word]))
    return bool(watched.broken(answer, np.array([end(watched.spec, word)]))[0])


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("seed", range(12))
def test_lassos_lead_back_and_completions_separate(seed: int, relation: Relation) -> None:
    watched = random_property(seed, relation)
    spec, lassos = watched.spec, Lassos(watched, 64)
    lengths = [len(lasso.loop) for lasso in lassos.all]
    longer = [length for length in lengths if length > 1]
    assert longer == sorted(longer)
    assert lengths[:1] == sorted(lengths)[:1]
    short = [word for n in range(7) for word in itertools.product(range(3), repeat=n)]
    reached = {end(spec, word) for word in short}
    for lasso in lassos.all:
        assert lasso.word(len(lasso.loop) + 1) == (*lasso.prefix, *lasso.loop, lasso.loop[0])
        for letters in range(2 * len(lasso.loop) + 1):
            assert end(spec, lasso.word(letters)) == lasso.states[letters % len(lasso.loop)]
    for state in {state for lasso in lassos.all for state in lasso.states}:
        completions = lassos.completions(state)
        assert all(watched.may_violate[end(spec, word, state)] for word in completions)
        useful = [word for word in short if watched.may_violate[end(spec, word, state)]]
        assert completions or not useful

        def separated(words: list[Codes], other: int, state: int = state) -> bool:
            accepting = spec.accepting
            return any(accepting[end(spec, word, state)] != accepting[end(spec, word, other)] for word in words)

        for other in reached:
            assert separated(list(completions), other) == separated(useful, other)
        if completions and separated(useful, spec.initial):
            assert separated([completions[0]], spec.initial)


@pytest.mark.parametrize("relation", Relation)
def test_every_loop_of_one_letter_is_there(relation: Relation) -> None:
    """Where a violation can follow, and all letters of a class that the automaton does not distinguish."""
    for seed in range(12):
        watched = random_property(seed, relation, states=3)
        spec = watched.spec
        reached = {end(spec, word) for n in range(4) for word in itertools.product(range(3), repeat=n)}
        expected = {
            (state, letter)
            for state in reached
            for letter in range(3)
            if watched.open_states[state] and spec.transitions[state, letter] == state
        }
        found = Lassos(watched, 1000).all
        assert {(lasso.states[0], lasso.loop[0]) for lasso in found if len(lasso.loop) == 1} == expected


def test_a_property_of_one_state_has_loops_after_each_letter() -> None:
    """As where two models are compared: what one of them forgets is no state of the property."""
    watched = Property(DFA(ABC, [[0, 0, 0]], [True]), Relation.EQUAL)
    assert {(lasso.prefix, lasso.loop) for lasso in Lassos(watched, 64).all} >= {
        (prefix, (loop,)) for loop in range(3) for prefix in [(), *((letter,) for letter in range(3) if letter != loop)]
    }


def test_many_letters_and_many_states_are_looked_at_in_part() -> None:
    letters = Alphabet([f"p{i}" for i in range(20_000)])
    steps = np.zeros((2, len(letters)), dtype=np.int32)
    steps[0, 7] = 1
    steps[1] = 1
    steps[1, 9] = 0
    lassos = Lassos(Property(DFA(letters, steps, [True, False]), Relation.SUBSET), 64).all
    assert [lasso.loop for lasso in lassos[:3]] == [(0,), (9,), (0,)]
    assert len(lassos) <= 64
    chain = np.minimum(np.arange(1, 50_001), 49_999)
    large = DFA(["a", "b"], np.stack([chain, np.arange(50_000)], axis=1), np.arange(50_000) % 2 == 0)
    assert [lasso.loop for lasso in Lassos(Property(large, Relation.EQUAL), 64).all] == [(1,)] * 64


@pytest.mark.parametrize("relation", Relation)
def test_violations_are_real_and_automata_end_the_search(relation: Relation) -> None:
    """An automaton's state repeats soon, so that few steps are made where it is right."""
    found = 0
    for seed in range(12):
        watched, other = random_property(seed, relation), random_property(seed + 50, relation)
        model = DFAModel(other.spec)
        search = searched(model, watched)
        if search.violation is not None:
            found += 1
            assert is_violation(model, watched, search.violation)
        right = searched(DFAModel(watched.spec), watched)
        assert right.violation is None
        assert right.longest < 300
    assert found >= 6


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("letters", [20, 100, 500, 1000, pytest.param(5000, marks=pytest.mark.slow)])
def test_what_is_forgotten_is_found_at_its_first_letter(letters: int, kind: str) -> None:
    if kind == "overflowing" and letters > 1000:
        pytest.skip("a counter that is wrong at one letter alone is asked at every letter up to 1024")
    model, watched = forgetful(RESPONSE, letters, kind), Property(RESPONSE, Relation.SUBSET)
    search = searched(model, watched)
    assert search.violation == (0, *(2,) * letters)


@pytest.mark.parametrize("letters", [20, 100, 500, 1000, 5000])
def test_a_gate_that_lets_its_memory_fade(letters: int) -> None:
    """A network, whose scores decay; rounding moves the letter at which it forgets a little."""
    model, watched = CompiledNetwork(fading_gru(letters)), Property(RESPONSE, Relation.SUBSET)
    found = searched(model, watched).violation
    assert found is not None
    assert is_violation(model, watched, found)
    assert abs(len(found) - letters) <= 1 + letters // 100


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("kind", KINDS)
def test_what_only_a_completion_shows(relation: Relation, kind: str) -> None:
    """Before the last b the model answers as it should, whether it remembers the a or not."""
    spec = ENDS_IN_B_AFTER_A
    if relation is Relation.SUBSET:  # then the opposite is wrongly accepted
        spec = spec.complement()
    model, watched = forgetful(spec, 200, kind), Property(spec, relation)
    assert searched(model, watched).violation in ((0, *(2,) * 200, 1), (0, 1, *(2,) * 200, 1))


def test_words_that_do_not_count_are_no_violations() -> None:
    """Only words with a second b count: the completion must have two."""
    both = Spec.from_regex(".* b .* b .*", ABC).dfa
    watched = Property.assuming(ENDS_IN_B_AFTER_A, Relation.SUPERSET, both)
    model = forgetful(ENDS_IN_B_AFTER_A, 200)
    found = searched(model, watched).violation
    assert found is not None
    assert is_violation(model, watched, found)
    assert found.count(1) >= 2


@pytest.mark.parametrize("stepping", [True, False])
@pytest.mark.parametrize(("max_length", "violated"), [(2, False), (5, False), (101, False), (102, True), (1000, True)])
def test_no_word_is_longer_than_allowed(stepping: bool, max_length: int, violated: bool) -> None:
    """The shortest violation has 102 letters."""
    inner = forgetful(ENDS_IN_B_AFTER_A, 100)
    asked: list[int] = []

    def whole_words(words: list[tuple[str, ...]]) -> list[bool]:
        asked.extend(map(len, words))
        return inner.accepts_batch(words).tolist()

    model = inner if stepping else CallableModel(whole_words, ABC, max_length=max_length)
    search = searched(model, Property(ENDS_IN_B_AFTER_A, Relation.SUPERSET), max_length=max_length)
    assert (search.violation is not None) == violated
    assert search.longest <= max_length
    assert max(asked, default=0) <= max_length


@pytest.mark.parametrize("letters", [20, 500])
def test_models_that_only_know_whole_words(letters: int) -> None:
    inner, watched = forgetful(RESPONSE, letters), Property(RESPONSE, Relation.SUBSET)
    model = CallableModel(lambda words: inner.accepts_batch(words).tolist(), ABC)
    found = searched(model, watched, steps=50_000).violation
    assert found is not None
    assert is_violation(model, watched, found)


@pytest.mark.parametrize("stepping", [True, False])
@pytest.mark.parametrize("steps", [0, 1_000, 20_000, 200_000])
def test_the_steps_are_kept(stepping: bool, steps: int) -> None:
    """Of a network whose state never repeats; what is asked at the end of a doubling comes on top."""
    network = CompiledNetwork(fading_gru(10**7))
    model = network if stepping else CallableModel(lambda words: network.accepts_batch(words).tolist(), ABC)
    oracle = MembershipOracle(model)
    search = LoopSearch.of(oracle, Property(RESPONSE, Relation.SUBSET), steps)
    turns = 0
    while not search.finished:
        before = oracle.cost.work
        search.advance()
        turns = max(turns, oracle.cost.work - before)
    assert oracle.cost.work <= 1.02 * steps
    if stepping:
        assert turns < 5_000


def test_one_reference_a_turn_where_scores_hardly_decide() -> None:
    """Scores within the margin are the reference's to judge, and a word of a thousand letters is read anew for each."""
    network = fading_gru(50)
    flat = CompiledNetwork(network, margin=1e3)  # no score decides
    oracle = MembershipOracle(flat)
    search = LoopSearch.of(oracle, Property(RESPONSE, Relation.SUBSET), STEPS)
    while not search.finished:
        search.advance()
    assert search.violation is not None
    assert oracle.cost.work < 10_000
