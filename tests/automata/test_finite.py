"""Specifications that are lists of words."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnncheck import Alphabet, Spec
from rnncheck.errors import AlphabetError, StateLimitError

LETTERS = ("a", "b")
short_words = st.lists(st.lists(st.sampled_from(LETTERS), max_size=4).map(tuple), max_size=8)


@given(short_words)
def test_these_words_and_no_others(words: list[tuple[str, ...]]) -> None:
    """Should agree with the list itself, empty word and repetitions included, on all words of up to 5 letters."""
    spec = Spec.from_words(words, LETTERS)
    for length in range(6):
        for word in itertools.product(LETTERS, repeat=length):
            assert spec.accepts(word) == (word in words)


def test_the_letters_are_those_of_the_words_unless_given() -> None:
    assert Spec.from_words([("<b>", "x"), ()]).alphabet == Alphabet(["<b>", "x"])
    with pytest.raises(AlphabetError, match="a list of words"):
        Spec.from_words([()])
    with pytest.raises(AlphabetError, match="'c'"):
        Spec.from_words([("c",)], LETTERS)


def test_a_long_list_is_limited() -> None:
    with pytest.raises(StateLimitError, match="the list of words needs more than 10 states"):
        Spec.from_words([("a",) * 20], max_states=10)
