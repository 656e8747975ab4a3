"""The words that are made of a word."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rnncheck.repairs.near_words import near_misses

Codes = tuple[int, ...]


def all_near_misses(word: Codes, letters: int) -> set[Codes]:
    """By the definition: one letter changed, put in, left out or exchanged with the next."""
    found = {(*word[:i], letter, *word[i:]) for i in range(len(word) + 1) for letter in range(letters)}
    found |= {(*word[:i], letter, *word[i + 1 :]) for i in range(len(word)) for letter in range(letters)}
    found |= {word[:i] + word[i + 1 :] for i in range(len(word))}
    found |= {(*word[:i], word[i + 1], word[i], *word[i + 2 :]) for i in range(len(word) - 1)}
    return found - {word}


@given(st.integers(1, 3), st.data())
@settings(max_examples=60)
def test_near_misses_are_all_words_one_edit_away_or_some_of_them(letters: int, data: st.DataObject) -> None:
    word = tuple(data.draw(st.lists(st.integers(0, letters - 1), max_size=6)))
    expected = all_near_misses(word, letters)
    rng = np.random.default_rng(0)
    assert set(near_misses(word, letters, rng, 1_000)) == expected
    some = near_misses(word, letters, rng, 3)
    assert len(some) <= 3
    assert len(set(some)) == len(some)
    assert set(some) <= expected
