"""Smallest and canonical automata, against tables of pairs, all short words, and automata-lib."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnncheck.automata import minimisation as code
from rnncheck.automata.dfa import DFA
from rnncheck.automata.formats.libraries import to_automata_lib
from rnncheck.automata.minimisation import (
    breadth_first_order,
    canonical,
    coreachable,
    equivalence_classes,
    minimise,
    reachable,
)
from rnncheck.words import Alphabet
from support.strategies import (
    accepted,
    all_words,
    chain,
    dfa_pairs,
    dfas,
    distinguishable,
    far_enough,
    fewest_states,
    language,
    least_where,
    random_dfa,
    reached_states,
    with_letters,
)

# How many rounds look at all states before the refinement goes on from the changed ones: 0 and 1 run the second path
# on small automata, 8 is what the library uses.
PATHS = pytest.mark.parametrize("rounds", [0, 1, 8])


def minimised(dfa: DFA, rounds: int, cells: int = 1 << 18) -> DFA:
    with (
        patch.object(code, "_DENSE_ROUNDS", rounds),
        patch.object(code, "_CELLS_AT_ONCE", cells),
        patch.object(code, "_SMALL", 0),
    ):
        return minimise(dfa)


def minimised_as_small(dfa: DFA, rounds: int) -> DFA:
    """The first rounds on arrays, and the rest state by state."""
    with patch.object(code, "_SMALL", 10**9), patch.object(code, "_DENSE_ROUNDS_OF_SMALL", rounds):
        return minimise(dfa)


def swollen(rng: np.random.Generator, dfa: DFA, copies: int) -> DFA:
    """The same language with every state in many copies, and successors drawn among the copies."""
    table = np.repeat(dfa.transitions, copies, axis=0) * copies
    table = table + rng.integers(copies, size=table.shape)
    order = rng.permutation(len(table))
    place = np.argsort(order)
    return DFA(
        dfa.alphabet,
        place[table[order]],
        np.repeat(dfa.accepting, copies)[order],
        int(place[dfa.initial * copies + rng.integers(copies)]),
    )


def counter(bits: int) -> DFA:
    """Counts the letters read, in binary with the digits in the state; accepts where all digits are 1."""
    states = np.arange(1 << bits)
    table = np.stack([(states + 1) % len(states), states, states ^ 1], axis=1)
    return DFA(Alphabet(["tick", "wait", "flip"]), table, states == len(states) - 1)


class TestStates:
    @given(dfas())
    def test_reachable_and_coreachable(self, dfa):
        assert set(np.flatnonzero(reachable(dfa)).tolist()) == reached_states(dfa, dfa.initial)
        final = set(np.flatnonzero(dfa.accepting).tolist())
        for state, can in enumerate(coreachable(dfa)):
            assert can == bool(reached_states(dfa, state) & final)

    @given(dfas())
    def test_breadth_first_order_is_that_of_least_words(self, dfa):
        met = dict.fromkeys(dfa.run(word)[-1] for word in all_words(dfa.alphabet, len(dfa) if len(dfa) < 7 else 7))
        assert breadth_first_order(dfa).tolist()[: len(met)] == list(met)
        assert set(breadth_first_order(dfa).tolist()) == reached_states(dfa, dfa.initial)


class TestMinimise:
    @PATHS
    @given(dfa=dfas(), cells=st.sampled_from([1, 5, 1 << 18]))
    def test_same_language_fewest_states(self, rounds, dfa, cells):
        small = minimised(dfa, rounds, cells)
        assert language(small, far_enough(dfa.alphabet)) == language(dfa, far_enough(dfa.alphabet))
        assert least_where(small, dfa, lambda p, q: p != q) is None
        assert len(small) == fewest_states(dfa)
        assert small.alphabet == dfa.alphabet

    @PATHS
    @given(dfa=dfas())
    def test_numbered_breadth_first(self, rounds, dfa):
        small = minimised(dfa, rounds)
        assert breadth_first_order(small).tolist() == list(range(len(small)))
        assert minimised(small, rounds) == small

    @given(dfas())
    def test_all_paths_agree(self, dfa):
        assert minimised(dfa, 0) == minimised(dfa, 1) == minimised(dfa, 2) == minimise(dfa)

    @given(dfas(max_states=12))
    def test_automata_lib_finds_as_few(self, dfa):
        theirs = to_automata_lib(dfa).minify(retain_names=False).to_complete()
        assert len(minimise(dfa)) == len(theirs.states)

    @PATHS
    @given(table=dfas(max_states=7), labels=st.lists(st.integers(0, 2), min_size=7, max_size=7))
    def test_classes_under_several_labels(self, rounds, table, labels):
        labels = np.array(labels[: len(table)])
        with patch.object(code, "_DENSE_ROUNDS", rounds):
            classes = equivalence_classes(table.transitions, labels)
        assert set(classes.tolist()) == set(range(classes.max() + 1))
        apart = set()
        for label in range(3):
            apart |= distinguishable(DFA(table.alphabet, table.transitions, labels == label))
        for p in range(len(table)):
            for q in range(len(table)):
                assert (classes[p] != classes[q]) == ((p, q) in apart)


class TestLarge:
    @PATHS
    @pytest.mark.parametrize(("states", "copies", "letters"), [(40, 25, 2), (10, 200, 5), (300, 7, 3), (1, 500, 2)])
    def test_swollen_automata_shrink_again(self, rounds, states, copies, letters):
        rng = np.random.default_rng(states)
        dfa = random_dfa(rng, states, letters)
        small = minimised(swollen(rng, dfa, copies), rounds)
        assert small == minimise(dfa)
        if states <= 40:
            assert len(small) == fewest_states(dfa)

    @PATHS
    @pytest.mark.parametrize("states", [2, 3, 50, 700])
    @pytest.mark.parametrize("closed", [False, True])
    def test_chains_and_cycles_are_minimal(self, rounds, states, closed):
        dfa = chain(states, closed=closed)
        assert minimised(dfa, rounds) == dfa

    @PATHS
    def test_cycles_wound_twice_and_thrice_are_unwound(self, rounds):
        once = chain(90, closed=True)
        for turns in (2, 3):
            ahead = np.roll(np.arange(90 * turns), -1)
            wound = DFA(once.alphabet, np.stack([ahead, ahead], axis=1), np.tile(once.accepting, turns))
            assert minimised(wound, rounds) == once

    @PATHS
    def test_counters(self, rounds):
        dfa = counter(8)
        assert len(minimised(dfa, rounds)) == 256
        rng = np.random.default_rng(3)
        assert minimised(swollen(rng, dfa, 5), rounds) == minimise(dfa)

    @PATHS
    def test_two_chains_that_differ_at_the_far_end(self, rounds):
        ahead = np.arange(1, 802)
        ahead[399], ahead[799], ahead[800] = 399, 799, 0
        table = np.stack([ahead, ahead], axis=1)
        table[800] = [0, 400]
        alike = np.zeros(801, dtype=bool)
        alike[[399, 799]] = True
        assert len(minimised(DFA(["a", "b"], table, alike, 800), rounds)) == 401
        alike[799] = False
        # Without acceptance at its end the second chain is one dead state.
        assert len(minimised(DFA(["a", "b"], table, alike, 800), rounds)) == 402
        alike[798] = True
        assert len(minimised(DFA(["a", "b"], table, alike, 800), rounds)) == 801

    def test_deep_chains_take_moderate_time(self):
        assert len(minimise(chain(8000))) == 8000

    @given(st.integers(0, 2**32), st.integers(100, 400), st.integers(1, 4))
    @settings(max_examples=20)
    def test_paths_agree_on_sparse_acceptance(self, seed, states, letters):
        rng = np.random.default_rng(seed)
        near = (np.arange(states)[:, None] + rng.integers(0, 3, size=(states, letters))) % states
        accepting = np.zeros(states, dtype=bool)
        accepting[rng.integers(states, size=2)] = True
        dfa = DFA([f"l{i}" for i in range(letters)], near, accepting)
        assert minimised(dfa, 0) == minimised(dfa, 3) == minimised(dfa, 1000)


class TestHashes:
    @PATHS
    @given(dfa=dfas())
    def test_colliding_hashes_are_noticed(self, rounds, dfa):
        honest = code._scrambled
        seeds = set()

        def weak(count, seed):
            seeds.add(seed)
            hashes = honest(count, seed)
            return hashes if seed in (3, ~3) else hashes & np.uint64(1)

        with patch.object(code, "_scrambled", weak):
            small = minimised(dfa, rounds)
        assert small == minimise(dfa)
        assert seeds <= {0, 1, 2, 3, ~0, ~1, ~2, ~3}

    @PATHS
    def test_one_draw_of_hashes_is_enough(self, rounds):
        """Should never need a second one; 64 bits of which most were lost would still give the right answer, late."""
        rng = np.random.default_rng(1)
        many = [swollen(rng, random_dfa(rng, 60, letters), 5) for letters in (1, 2, 7)]
        with patch.object(code, "_scrambled", wraps=code._scrambled) as drawn:
            for dfa in (*many, swollen(rng, counter(6), 3), chain(200), chain(200, closed=True)):
                minimised(dfa, rounds)
        assert {call.args[1] for call in drawn.call_args_list} == {0, ~0}

    def test_the_numbers_are_those_of_splitmix64(self):
        """Should be the generator's published first outputs, and those from 2^40 places further on for each seed."""
        first = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC]
        assert code._scrambled(4, 0).tolist() == first

        def output(place):
            mixed = place * 0x9E3779B97F4A7C15 % 2**64
            mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 % 2**64
            mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB % 2**64
            return mixed ^ mixed >> 31

        for seed in (0, ~0, 1, ~1, 999, ~999):
            assert code._scrambled(50, seed).tolist() == [output(seed * 2**40 + place) for place in range(1, 51)]

    def test_numbers_are_distinct(self):
        drawn = np.concatenate([code._scrambled(5000, seed) for seed in (0, ~0, 1, ~1, 999, ~999)])
        assert len(np.unique(drawn)) == 30_000


class TestCanonical:
    @given(dfa_pairs(max_states=4))
    def test_equal_if_and_only_if_the_languages_are(self, pair):
        a, b = pair
        same = least_where(a, b, lambda p, q: p != q) is None
        assert (canonical(a) == canonical(b)) == same
        assert not same or hash(canonical(a)) == hash(canonical(b))
        assert not same or set(accepted(a, 5)) == set(accepted(b, 5))

    @given(dfas(), st.data())
    def test_the_order_of_letters_and_states_does_not_matter(self, dfa, data):
        order = Alphabet(data.draw(st.permutations(dfa.alphabet.letters)))
        rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
        other = swollen(rng, with_letters(dfa, order), 3)
        assert canonical(other) == canonical(dfa)
        assert canonical(dfa).alphabet.letters == tuple(sorted(dfa.alphabet))


# -- deep automata: state by state ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dense", [0, 1, 8])
@given(dfa=dfas(max_states=12))
def test_state_by_state_and_by_arrays_are_the_same(dense: int, dfa: DFA) -> None:
    found = []
    for rounds in (0, 10**9):
        with patch.object(code, "NARROW_ROUNDS", rounds), patch.object(code, "NARROW_WIDTH", 10**9):
            found.append((minimised(dfa, dense), breadth_first_order(dfa).tolist()))
    assert found[0] == found[1]
    assert len(found[0][0]) == fewest_states(dfa)
    assert minimised_as_small(dfa, dense) == found[0][0]


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("states", [30, 200, 1000])
def test_chains_in_many_copies(states: int, closed: bool) -> None:
    dfa = chain(states, closed=closed)
    assert minimise(dfa) == dfa
    assert minimise(swollen(np.random.default_rng(states), dfa, 3)) == dfa


def test_a_random_automaton_behind_a_chain() -> None:
    """Should be as by arrays alone: the refinement and the search go over from one way to the other."""
    rng = np.random.default_rng(8)
    stem, wide = 150, 400
    table = np.concatenate(
        [np.repeat(np.arange(1, stem + 1)[:, None], 2, axis=1), rng.integers(0, wide, (wide, 2)) + stem]
    )
    dfa = swollen(rng, DFA(Alphabet(["a", "b"]), table, rng.random(stem + wide) < 0.02), 2)
    with patch.object(code, "NARROW_ROUNDS", 10**9):
        expected = minimise(dfa)
    assert minimise(dfa) == expected
    assert minimised(dfa, 0) == expected
    assert minimised_as_small(dfa, 0) == expected
