"""Questions about one language, against every short word."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnncheck.automata import language as code
from rnncheck.automata.dfa import DFA
from rnncheck.automata.language import (
    count_words,
    empty_language,
    is_empty,
    is_finite,
    is_universal,
    least_word,
    words_up_to,
)
from rnncheck.errors import InputError
from rnncheck.words import Alphabet
from support.clocks import calls_of
from support.strategies import accepted, alphabets, chain, dfas, far_enough, language

AB = Alphabet(["a", "b"])


def counts_by_length(dfa: DFA, length: int) -> list[int]:
    """How many words of each length are accepted, by moving the number of words that end in each state."""
    table, accepting = dfa.transitions.tolist(), dfa.accepting.tolist()
    ending = [int(state == dfa.initial) for state in range(len(dfa))]
    counts = []
    for _ in range(length + 1):
        counts.append(sum(n for n, yes in zip(ending, accepting, strict=True) if yes))
        moved = [0] * len(dfa)
        for state, n in enumerate(ending):
            for successor in table[state]:
                moved[successor] += n
        ending = moved
    return counts


@given(alphabets())
def test_nothing_and_everything(alphabet):
    assert not any(language(empty_language(alphabet), 3).values())
    assert all(language(code.all_words(alphabet), 3).values())
    assert is_empty(empty_language(alphabet))
    assert is_universal(code.all_words(alphabet))
    assert least_word(empty_language(alphabet)) is None
    assert least_word(code.all_words(alphabet)) == ()


@given(dfas())
def test_empty_and_universal(dfa):
    # A word that decides need not be longer than there are states.
    counts = counts_by_length(dfa, len(dfa))
    assert is_empty(dfa) == (not any(counts))
    assert is_universal(dfa) == (counts == [len(dfa.alphabet) ** n for n in range(len(dfa) + 1)])
    assert is_universal(dfa.complement()) == is_empty(dfa)


@given(dfas())
def test_finite(dfa):
    # Infinite if and only if some word of n to 2n − 1 letters is accepted, where n is the number of states.
    counts = counts_by_length(dfa, 2 * len(dfa) - 1)
    assert is_finite(dfa) == (not any(counts[len(dfa) :]))


@given(dfas())
def test_least_word(dfa):
    found = accepted(dfa, far_enough(dfa.alphabet))
    assert least_word(dfa) == (found[0] if found else None)


@given(dfas(), st.integers(0, 6))
def test_words_up_to(dfa, length):
    listed = words_up_to(dfa, length)
    assert iter(listed) is listed
    assert list(listed) == accepted(dfa, length)


@given(dfas(), st.integers(0, 30))
def test_count_words(dfa, length):
    assert count_words(dfa, length) == counts_by_length(dfa, length)[length]
    if length <= 6:
        assert count_words(dfa, length) == sum(len(word) == length for word in accepted(dfa, length))


def test_counts_are_exact_beyond_floats():
    assert count_words(code.all_words(AB), 1000) == 2**1000
    even_b = DFA(AB, [[0, 1], [1, 0]], [True, False])
    assert count_words(even_b, 200) == 2**199


def test_only_what_can_be_accepted_in_time_is_walked():
    # One word of 60 letters among 2^61; then a finite language asked for words of any length.
    table = [[q + 1, 61] for q in range(60)] + [[61, 61], [61, 61]]
    only = DFA(AB, table, [q == 60 for q in range(62)])
    assert list(words_up_to(only, 60)) == [("a",) * 60]
    assert list(words_up_to(only, 59)) == []
    assert list(words_up_to(only, 10**15)) == [("a",) * 60]


def test_words_are_listed_lazily():
    listed = words_up_to(code.all_words(AB), 10**12)
    assert [next(listed) for _ in range(4)] == [(), ("a",), ("b",), ("a", "a")]


@pytest.mark.parametrize("question", [words_up_to, count_words])
def test_negative_lengths(question):
    with pytest.raises(InputError, match="length -1 is below 0"):
        question(empty_language(AB), -1)


def test_finite_on_deep_and_wide_automata():
    def work(states: int) -> int:
        def ask() -> None:
            assert is_finite(chain(states))
            assert not is_finite(chain(states, closed=True))

        return calls_of(ask)

    # Eight times the states: about 8 times the work, and 64 times where each layer goes through all states again.
    assert work(8000) < 16 * work(1000)
    wide = np.full((2000, 50), 1999)
    wide[0] = np.arange(1, 51)
    assert is_finite(DFA([str(i) for i in range(50)], wide, np.arange(2000) < 60))


def test_cycles_that_do_not_count():
    # A loop before which no word comes, a loop after which none is accepted, and one that is both reached and useful.
    table = [[1, 2], [2, 2], [2, 2], [3, 1]]
    assert is_finite(DFA(AB, table, [False, True, False, False]))
    assert not is_finite(DFA(AB, table, [False, True, True, False]))
    assert not is_finite(DFA(AB, table, [False, True, False, False], 3))
