"""The DFA value: what it refuses, what it promises, and its runs against a walk by hand."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnncheck.automata.dfa import DFA, explore
from rnncheck.errors import AlphabetError, AutomatonError, InputError, StateLimitError
from rnncheck.words import Alphabet, WordBatch
from support.strategies import ONE_LINE, all_words, dfas, far_enough, language, plain_alphabets, random_dfa, words

AB = Alphabet(["a", "b"])
EVEN_B = DFA(AB, [[0, 1], [1, 0]], [True, False])


class TestRuns:
    @given(dfas())
    def test_every_short_word(self, dfa):
        judged = language(dfa, far_enough(dfa.alphabet))
        assert list(judged) == list(all_words(dfa.alphabet, far_enough(dfa.alphabet)))
        assert dfa.accepts_batch(judged).tolist() == list(judged.values())
        for word in list(judged)[:200]:
            assert dfa.accepts(word) is judged[word]

    @given(dfas(), st.data())
    def test_batches_of_any_lengths(self, dfa, data):
        batch = data.draw(st.lists(words(dfa.alphabet, max_size=40), max_size=10))
        ends = dfa.end_states(batch)
        assert ends.tolist() == [dfa.run(word)[-1] for word in batch]
        assert dfa.accepts_batch(batch).tolist() == [dfa.accepts(word) for word in batch]
        packed = WordBatch.from_words(dfa.alphabet, batch)
        assert dfa.end_states(packed).tolist() == ends.tolist()
        assert dfa.accepts_batch(packed).dtype == bool

    @given(dfas(), st.data())
    def test_a_run_follows_the_table(self, dfa, data):
        word = data.draw(words(dfa.alphabet))
        states = dfa.run(word)
        assert len(states) == len(word) + 1
        assert states[0] == dfa.initial
        for before, letter, after in zip(states, word, states[1:], strict=False):
            assert dfa.transitions[before, dfa.alphabet.index(letter)] == after
        assert all(type(state) is int for state in states)

    @given(dfas(), st.data())
    def test_the_state_after_every_letter(self, dfa, data):
        batch = data.draw(st.lists(words(dfa.alphabet, max_size=12), max_size=8))
        expected = [state for word in batch for state in dfa.run(word)[1:]]
        for times in (1, 100):  # few words are read one by one, many side by side
            visited = dfa.visited(WordBatch.from_words(dfa.alphabet, batch * times))
            assert visited.tolist() == expected * times

    @pytest.mark.parametrize("batch", [[], [()], [(), ()], [("b",), (), ("b", "b")]])
    def test_empty_batches_and_words(self, batch):
        assert EVEN_B.accepts_batch(batch).tolist() == [len(word) % 2 == 0 for word in batch]
        assert EVEN_B.end_states(batch).shape == (len(batch),)

    def test_one_very_long_word_among_short_ones(self):
        batch = [("b",), ("b",) * 100_001, (), ("a",) * 1000]
        assert EVEN_B.accepts_batch(batch).tolist() == [False, False, True, True]

    def test_large_tables(self):
        dfa = random_dfa(np.random.default_rng(1), 3000, 100)
        batch = [dfa.alphabet.decode(codes) for codes in np.random.default_rng(2).integers(100, size=(20, 50)).tolist()]
        assert dfa.end_states(batch).tolist() == [dfa.run(word)[-1] for word in batch]

    def test_unknown_letters(self):
        for ask in (EVEN_B.run, EVEN_B.accepts, lambda word: EVEN_B.accepts_batch([word])):
            with pytest.raises(AlphabetError, match="unknown letter 'c'"):
                ask(("a", "c"))
        for ask_batch in (EVEN_B.accepts_batch, EVEN_B.visited):
            with pytest.raises(AlphabetError, match="position 2"):
                ask_batch(WordBatch.from_codes([(2,)]))
        with pytest.raises(InputError, match="not the string"):
            EVEN_B.accepts("ab")
        with pytest.raises(InputError, match="not the string"):
            EVEN_B.accepts_batch("ab")


class TestValue:
    @given(dfas(names=st.text(max_size=3)))
    def test_copies_are_equal(self, dfa):
        again = DFA(dfa.alphabet, dfa.transitions, dfa.accepting, dfa.initial)
        for same in (again, pickle.loads(pickle.dumps(dfa)), copy.copy(dfa), copy.deepcopy(dfa)):
            assert same == dfa
            assert hash(same) == hash(dfa)
        assert pickle.loads(pickle.dumps(dfa)).names == dfa.names

    @given(dfas(), dfas())
    def test_equality_is_that_of_the_parts(self, a, b):
        def parts(dfa):
            return dfa.alphabet.letters, dfa.transitions.tolist(), dfa.accepting.tolist(), dfa.initial

        assert (a == b) == (parts(a) == parts(b))
        assert a != parts(a)

    def test_nothing_can_be_changed(self):
        table, accepting = np.zeros((1, 2), dtype=np.int32), np.array([True])
        dfa = DFA(AB, table, accepting)
        table[0, 0], accepting[0] = 7, False
        assert dfa.transitions.tolist() == [[0, 0]]
        assert dfa.accepting.tolist() == [True]
        for array in (dfa.transitions, dfa.accepting):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0
        with pytest.raises(AttributeError, match="immutable"):
            dfa.initial = 0
        with pytest.raises(AttributeError, match="immutable"):
            del dfa.names
        with pytest.raises(AttributeError, match="immutable"):
            dfa.other = 1

    def test_shown_to_people(self):
        assert len(EVEN_B) == 2
        assert repr(EVEN_B) == "<DFA with 2 states, 1 accepting, over 2 letters>"
        assert EVEN_B.name(1) == "1"
        assert DFA(AB, [[0, 0]], [True], names=["home"]).name(0) == "home"

    def test_letters_in_any_iterable(self):
        assert DFA(iter("ab"), [[0, 0]], [True]).alphabet == AB

    @pytest.mark.parametrize(
        ("arguments", "part"),
        [
            (([[0]], [True]), "shape (1, 1)"),
            (([], []), "shape (0,)"),
            (([[]], [True]), "shape (1, 0)"),
            (([0, 0], [True]), "shape (2,)"),
            (([[0, 1], [0]], [True, True]), "ragged"),
            (([[0.0, 0.0]], [True]), "float64"),
            (([[False, False]], [True]), "bool"),
            (([["0", "0"]], [True]), "states are integers"),
            (([[0, 2**70]], [True]), "states are integers"),
            (([[None, 0]], [True]), "states are integers"),
            (([[0, 1]], [True]), "state 0 goes to 1 on letter 1; there are only states 0 to 0"),
            (([[-1, 0]], [True]), "goes to -1 on letter 0"),
            (([[0, 2**40]], [True]), "goes to 1099511627776"),
            (([[0, 0]], [True, False]), "one boolean for each of the 1 states"),
            (([[0, 0]], [1]), "one boolean"),
            (([[0, 0]], True), "one boolean"),
            (([[0, 0]], np.zeros((2, 2))), "one boolean"),
            (([[0, 0]], [True], 1), "initial state 1 is not one of the 1 states"),
            (([[0, 0]], [True], -1), "initial state -1"),
            (([[0, 0]], [True], 0.5), "state 0.5 is a float"),
            (([[0, 0]], [True], "0"), "state '0' is a str"),
            (([[0, 0]], [True], None), "NoneType"),
            (([[0, 0]], [True], 0, ["x", "y"]), "2 names for 1 states"),
            (([[0, 0]], [True], 0, []), "0 names for 1 states"),
            (([[0, 0]], [True], 0, [7]), "state name 7 is a int"),
        ],
    )
    def test_bad_parts(self, arguments, part):
        with pytest.raises(AutomatonError, match=ONE_LINE) as caught:
            DFA(AB, *arguments)
        assert part in str(caught.value)

    @pytest.mark.parametrize("letters", [[], ["a", "a"], "ab", [1, 2]])
    def test_bad_alphabets(self, letters):
        with pytest.raises(AlphabetError):
            DFA(letters, [[0, 0]], [True])


class TestRearranged:
    @given(dfas())
    def test_complement(self, dfa):
        other = dfa.complement()
        judged = language(dfa, far_enough(dfa.alphabet))
        assert language(other, far_enough(dfa.alphabet)) == {word: not yes for word, yes in judged.items()}
        assert other.complement() == dfa

    @given(dfas(), st.data())
    def test_over_another_order_of_letters(self, dfa, data):
        order = Alphabet(data.draw(st.permutations(dfa.alphabet.letters)))
        other = dfa.over(order)
        assert other.alphabet == order
        assert language(other, 5) == language(dfa, 5)
        assert other.over(dfa.alphabet) == dfa
        assert dfa.over(dfa.alphabet) is dfa

    def test_over_other_letters(self):
        with pytest.raises(AutomatonError, match="'c' is only in the first; 'b' is only in the second"):
            EVEN_B.over(Alphabet(["a", "c"]))
        with pytest.raises(AutomatonError, match="'b' is only in the second; both"):
            EVEN_B.over(Alphabet(["a"]))


class TestExplore:
    @given(dfas())
    def test_walks_what_is_reachable_breadth_first(self, dfa):
        table = dfa.transitions.tolist()
        found = explore(dfa.alphabet, dfa.initial, lambda q: table[q], lambda q: bool(dfa.accepting[q]), what="a copy")
        assert language(found, 5) == language(dfa, 5)
        first_met = list(dict.fromkeys(found.run(word)[-1] for word in all_words(dfa.alphabet, len(found))))
        assert first_met == list(range(len(found)))

    @given(plain_alphabets(), st.integers(1, 20))
    def test_the_limit_is_exact(self, alphabet, states):
        def count(limit: int) -> DFA:
            return explore(
                alphabet, 0, lambda q: [(q + 1) % states] * len(alphabet), bool, what="a counter", max_states=limit
            )

        assert len(count(states)) == states
        if states > 1:
            with pytest.raises(StateLimitError, match=f"a counter needs more than {states - 1} states"):
                count(states - 1)

    def test_classes_of_letters(self):
        alphabet = Alphabet(["x", "b", "y", "z"])
        found = explore(alphabet, 0, lambda q: [q, 1 - q], lambda q: q == 0, what="parity", letter_class=[0, 1, 0, 0])
        assert found.transitions.tolist() == [[0, 1, 0, 0], [1, 0, 1, 1]]
