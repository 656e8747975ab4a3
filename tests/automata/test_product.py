"""Boolean combinations and witnesses, against every short word and a plain search over pairs."""

from __future__ import annotations

import contextlib
import itertools
import math
import operator
import tracemalloc
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnncheck.automata import minimisation
from rnncheck.automata import product as code
from rnncheck.automata.dfa import DFA
from rnncheck.automata.minimisation import breadth_first_order, minimise
from rnncheck.automata.product import (
    difference,
    difference_witness,
    inclusion_witness,
    intersection,
    product,
    symmetric_difference,
    union,
)
from rnncheck.errors import AutomatonError, ResourceLimitError, StateLimitError
from rnncheck.words import Alphabet, shortlex_key
from support.strategies import chain, dfa_pairs, far_enough, language, least_where, random_dfa

OPERATIONS = [
    (intersection, lambda p, q: p and q),
    (union, lambda p, q: p or q),
    (difference, lambda p, q: p and not q),
    (symmetric_difference, lambda p, q: p != q),
]
WITNESSES = [(inclusion_witness, lambda p, q: p and not q), (difference_witness, lambda p, q: p != q)]
# Visited pairs are kept in a flat table or, beyond a number of cells, in sorted runs; successors are computed for some
# pairs at a time.
MEMORIES = pytest.mark.parametrize(("flat", "cells"), [(1 << 27, 1 << 21), (0, 1 << 21), (1 << 27, 1), (0, 7)])


@contextlib.contextmanager
def memory(flat: int, cells: int):
    with patch.object(code, "_FLAT_PAIRS", flat), patch.object(code, "_CELLS_AT_ONCE", cells):
        yield


@contextlib.contextmanager
def narrow(rounds: int, ends: int):
    """Continue pair by pair after some rounds, until there are many pairs of one length."""
    with (
        patch.object(minimisation, "NARROW_ROUNDS", rounds),
        patch.object(code, "_NARROW_ENDS", ends),
        patch.object(code, "_SMALL", 0),
    ):
        yield


class TestDeep:
    """Few pairs at each length: the search goes on pair by pair, and back to arrays where there are many."""

    @pytest.mark.parametrize("flat", [0, 1 << 27])
    @pytest.mark.parametrize("ends", [2, 3, 1000])
    @pytest.mark.parametrize(("witness", "meaning"), WITNESSES)
    @given(pair=dfa_pairs())
    @settings(max_examples=40)
    def test_the_least_word_is_the_same(self, flat, ends, witness, meaning, pair):
        a, b = pair
        with memory(flat, 1 << 21), narrow(1, ends):
            found = witness(a, b)
        with narrow(10**9, ends):
            assert found == witness(a, b)
        assert found == witness(a, b)  # small automata begin pair by pair
        assert found is None or meaning(a.accepts(found), b.accepts(found))

    @pytest.mark.parametrize("states", [40, 300])
    def test_the_end_of_a_chain_is_found(self, states):
        a = chain(states)
        nothing = DFA(a.alphabet, [[0, 0]], [False])
        assert inclusion_witness(a, nothing) == ("l0",) * (states - 2)
        assert inclusion_witness(nothing, a) is None
        assert difference_witness(a, chain(states)) is None
        assert difference_witness(a, chain(states + 1)) == ("l0",) * (states - 2)

    def test_a_chain_that_ends_in_a_wide_part(self):
        """Should find the same word as pair by pair, and as by arrays, where the search goes over twice."""
        rng = np.random.default_rng(3)
        wide, stem = 600, 100
        table = rng.integers(0, wide, (wide, 3)) + stem
        table = np.concatenate([np.repeat(np.arange(1, stem + 1)[:, None], 3, axis=1), table])
        accepting = np.zeros(len(table), dtype=bool)
        a = DFA(Alphabet(["a", "b", "c"]), table, accepting)
        accepting[int(breadth_first_order(a)[-1])] = True
        b = DFA(Alphabet(["a", "b", "c"]), table, accepting)
        found = difference_witness(a, b)
        for rounds in (1, 10**9):
            with narrow(rounds, 10**9):
                assert difference_witness(a, b) == found
        assert found is not None
        assert b.accepts(found)


class TestOperations:
    @MEMORIES
    @pytest.mark.parametrize(("operation", "meaning"), OPERATIONS)
    @given(pair=dfa_pairs())
    @settings(max_examples=40)
    def test_every_short_word(self, flat, cells, operation, meaning, pair):
        a, b = pair
        with memory(flat, cells):
            both = operation(a, b)
        length = far_enough(a.alphabet)
        in_a, in_b = language(a, length), language(b, length)
        assert language(both, length) == {word: meaning(in_a[word], in_b[word]) for word in in_a}
        assert len(both) <= len(a) * len(b)
        assert both.alphabet == a.alphabet

    @MEMORIES
    @given(pair=dfa_pairs())
    def test_pairs_are_kept(self, flat, cells, pair):
        a, b = pair
        with memory(flat, cells):
            both = product(a, b, np.logical_and)
        letter_of_b = [b.alphabet.index(letter) for letter in a.alphabet]
        assert (both.left[both.dfa.initial], both.right[both.dfa.initial]) == (a.initial, b.initial)
        for state, row in enumerate(both.dfa.transitions):
            p, q = both.left[state], both.right[state]
            assert both.dfa.accepting[state] == (a.accepting[p] and b.accepting[q])
            assert both.left[row].tolist() == a.transitions[p].tolist()
            assert both.right[row].tolist() == b.transitions[q, letter_of_b].tolist()
        assert len(set(zip(both.left.tolist(), both.right.tolist(), strict=True))) == len(both.dfa)
        assert breadth_first_order(both.dfa).tolist() == list(range(len(both.dfa)))

    @given(dfa_pairs())
    def test_any_combination_of_acceptance(self, pair):
        a, b = pair
        for combination, meaning in ((np.less_equal, operator.le), (lambda p, _: p, lambda p, _: p)):
            both = product(a, b, combination).dfa
            in_a, in_b = language(a, 4), language(b, 4)
            assert language(both, 4) == {word: meaning(in_a[word], in_b[word]) for word in in_a}

    @pytest.mark.parametrize(("operation", "_"), OPERATIONS)
    def test_the_limit_is_exact(self, operation, _):
        a, b = chain(7, closed=True), chain(8, closed=True)
        assert len(operation(a, b, 56)) == 56
        with pytest.raises(StateLimitError, match="automata with 7 and 8 states needs more than 55 states"):
            operation(a, b, 55)

    def test_different_letters(self):
        a, b = DFA(["a"], [[0]], [True]), DFA(["b"], [[0]], [True])
        for operation in (intersection, union, difference, symmetric_difference, inclusion_witness, difference_witness):
            with pytest.raises(AutomatonError, match="'a' is only in the first; 'b' is only in the second"):
                operation(a, b)


class TestWitnesses:
    @MEMORIES
    @pytest.mark.parametrize(("witness", "meaning"), WITNESSES)
    @given(pair=dfa_pairs())
    def test_shortlex_least_of_all_words(self, flat, cells, witness, meaning, pair):
        a, b = pair
        with memory(flat, cells):
            word = witness(a, b)
        length = far_enough(a.alphabet)
        in_a, in_b = language(a, length), language(b, length)
        found = [w for w in in_a if meaning(in_a[w], in_b[w])]
        if found:
            least = min(found, key=lambda w: shortlex_key(a.alphabet.encode(w)))
            assert word == least
        else:
            assert word is None or len(word) > length
        assert word == least_where(a, b, meaning)
        if word is not None:
            assert len(word) < len(a) * len(b)
            assert meaning(a.accepts(word), b.accepts(word))

    @given(dfa_pairs(max_states=4))
    def test_none_exactly_for_inclusion(self, pair):
        a, b = pair
        assert (inclusion_witness(a, b) is None) == (not minimise(difference(a, b)).accepting.any())
        assert inclusion_witness(intersection(a, b), b) is None
        assert inclusion_witness(a, union(a, b)) is None
        assert difference_witness(a, minimise(a)) is None
        assert (difference_witness(a, b) is None) == (
            inclusion_witness(a, b) is None and inclusion_witness(b, a) is None
        )

    @MEMORIES
    @pytest.mark.parametrize(("n", "m"), [(1, 1), (7, 8), (16, 15), (31, 32), (6, 9), (12, 1)])
    def test_as_long_as_the_product_is_large(self, flat, cells, n, m):
        # The words of a length ≡ −1 modulo n and modulo m: the shortest has lcm(n, m) − 1 letters.
        a, b = chain(n, closed=True), chain(m, closed=True)
        with memory(flat, cells):
            word = inclusion_witness(a, b.complement())
        assert word == ("l0",) * (math.lcm(n, m) - 1)

    def test_the_order_of_letters_is_that_of_the_first(self):
        a = DFA(["z", "a"], [[1, 1], [1, 1]], [False, True])
        nothing = DFA(["a", "z"], [[0, 0]], [False])
        assert inclusion_witness(a, nothing) == ("z",)
        assert difference_witness(nothing, a) == ("a",)

    def test_the_empty_word(self):
        yes, no = DFA(["a"], [[0]], [True]), DFA(["a"], [[0]], [False])
        assert inclusion_witness(yes, no) == ()
        assert inclusion_witness(no, yes) is None
        assert difference_witness(no, yes) == ()
        assert difference_witness(yes, yes) is None


class TestLarge:
    @pytest.mark.parametrize("letters", [1, 2, 20])
    def test_both_memories_agree(self, letters):
        rng = np.random.default_rng(letters)
        for _ in range(5):
            a, b = random_dfa(rng, 60, letters), random_dfa(rng, 70, letters)
            # Acceptance that differs rarely, so that witnesses are long.
            b = DFA(a.alphabet, b.transitions, np.arange(70) == 69)
            a = DFA(a.alphabet, a.transitions, np.arange(60) == 59)
            both = intersection(a, b)
            word = inclusion_witness(a, b.complement())
            with memory(0, 1 << 21):
                assert intersection(a, b) == both
                assert inclusion_witness(a, b.complement()) == word
            assert word == least_where(a, b.complement(), lambda p, q: p and not q)

    def test_many_letters_do_not_take_memory_for_all_at_once(self):
        rng = np.random.default_rng(5)
        yes = np.ones(400, dtype=bool)
        alphabet = Alphabet(map(str, range(100)))
        a, b = (DFA(alphabet, rng.integers(400, size=(400, 100)), yes) for _ in range(2))
        tracemalloc.start()
        try:
            assert inclusion_witness(a, b) is None
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 110e6  # 16 million successors of 8 bytes are 128 MB

    def test_too_many_pairs(self):
        a, b = chain(30, closed=True), chain(31, closed=True)
        with (
            patch.object(code, "_MAX_PAIRS_MET", 500),
            pytest.raises(ResourceLimitError, match="more than 500 pairs"),
        ):
            inclusion_witness(a, b.complement())

    @given(st.lists(st.lists(st.integers(0, 40), max_size=15), max_size=12))
    def test_memories_say_what_is_new(self, calls):
        flat, in_runs = code._FlatSeen(41), code._SortedSeen()
        seen: set[int] = set()
        for candidates in calls:
            expected = []
            for candidate in candidates:
                expected.append(candidate not in seen)
                seen.add(candidate)
            for each in (flat, in_runs):
                assert each.new(np.array(candidates, dtype=np.int64)).tolist() == expected
            lengths = [len(run) for run in in_runs._runs]
            assert sum(lengths) == len(seen)
            assert all(2 * later <= earlier for earlier, later in itertools.pairwise(lengths))

    def test_runs_are_merged_only_where_they_are_of_similar_length(self):
        """Should not sort what is long again for every few numbers that come."""
        memory = code._SortedSeen()
        ends = [0, 8, 12, 14, 15, 16]
        lengths = []
        for start, end in itertools.pairwise(ends):
            memory.new(np.arange(start, end))
            lengths.append([len(run) for run in memory._runs])
        assert lengths == [[8], [8, 4], [8, 4, 2], [8, 4, 2, 1], [16]]

    @pytest.mark.parametrize(("flat", "memory"), [(64, "_FlatSeen"), (63, "_SortedSeen")])
    def test_the_table_of_pairs_is_flat_while_it_has_few_cells(self, flat, memory):
        """Should need a cell for each of 8 · 8 pairs and not one more."""
        with patch.object(code, "_FLAT_PAIRS", flat):
            search = code._PairSearch(chain(8), chain(8))
        assert type(search._seen) is getattr(code, memory)
