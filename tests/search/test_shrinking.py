"""The shrinker against brute force: exact answers on languages where small steps suffice."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnncheck.automata.dfa import DFA
from rnncheck.automata.language import least_word
from rnncheck.search.shrinking import shrink
from rnncheck.words import Codes, shortlex_key


def shrunk(word, letters, predicate):
    return shrink(tuple(word), letters, lambda words: [predicate(word) for word in words])


@pytest.mark.parametrize(
    ("start", "letters", "predicate", "least"),
    [
        ((2, 1, 0) * 30, 3, lambda w: True, ()),
        ((2, 1, 0) * 30, 3, lambda w: len(w) >= 7, (0,) * 7),
        ((2, 1, 0) * 30, 3, lambda w: w.count(2) >= 3, (2, 2, 2)),
        ((0,) * 40 + (1,) + (0,) * 40, 2, lambda w: 1 in w and len(w) % 2 == 1, (1,)),
        ((1, 1, 1, 1), 2, lambda w: sum(w) % 2 == 0 and len(w) >= 2, (0, 0)),
        ((3, 1, 4, 1, 5, 2, 6), 7, lambda w: len(w) == 7, (0,) * 7),
    ],
)
def test_exact_minimum(start, letters, predicate, least) -> None:
    assert shrunk(start, letters, predicate) == least


def test_long_words_take_few_batches() -> None:
    batches = 0

    def holds(words):
        nonlocal batches
        batches += 1
        return [word.count(1) >= 2 for word in words]

    assert shrink((0, 1) * 500, 2, holds) == (1, 1)
    assert batches < 60


def test_words_refuted_once_are_not_asked_again() -> None:
    asked = []

    def holds(words):
        asked.extend(words)
        return [len(word) >= 5 and word[-1] == 1 for word in words]

    assert shrink((1,) * 12, 2, holds) == (0, 0, 0, 0, 1)
    refuted = [word for word in asked if not (len(word) >= 5 and word[-1] == 1)]
    assert len(refuted) == len(set(refuted))


def test_improvements_are_told_before_the_predicate_fails() -> None:
    improvements: list[Codes] = []
    calls = itertools.count()

    def holds(words):
        if next(calls) == 3:
            raise TimeoutError
        return [len(word) >= 2 for word in words]

    with pytest.raises(TimeoutError):
        shrink((1,) * 50, 2, holds, found=improvements.append)
    assert improvements
    assert all(2 <= len(word) < 50 for word in improvements)


@given(seed=st.integers(0, 10_000), data=st.data())
def test_result_holds_and_no_step_leads_further(seed: int, data) -> None:
    """On random regular predicates: the result is accepted, never larger, and locally minimal."""
    rng = np.random.default_rng(seed)
    states = int(rng.integers(1, 7))
    dfa = DFA(["a", "b"], rng.integers(states, size=(states, 2)), rng.random(states) < 0.4)
    least = least_word(dfa)
    if least is None:
        return
    accepted = [w for n in range(9) for w in itertools.product((0, 1), repeat=n) if dfa.accepts(dfa.alphabet.decode(w))]
    start = data.draw(st.sampled_from(accepted))
    result = shrunk(start, 2, lambda word: dfa.accepts(dfa.alphabet.decode(word)))
    assert result in accepted
    assert shortlex_key(dfa.alphabet.encode(least)) <= shortlex_key(result) <= shortlex_key(start)
    for size in range(1, len(result) + 1):
        for at in range(len(result) - size + 1):
            assert result[:at] + result[at + size :] not in accepted
    for position, code in enumerate(result):
        if code == 1:
            assert (*result[:position], 0, *result[position + 1 :]) not in accepted


@pytest.mark.parametrize("length", [300, 1_000, 3_000])
def test_a_long_word_that_cannot_be_shortened_costs_few_letters(length: int) -> None:
    """Should ask for about half a million letters in all, and for few of them at once, however long the word is."""
    asked, most = 0, 0

    def holds(words):
        nonlocal asked, most
        letters = sum(map(len, words))
        asked, most = asked + letters, max(most, letters)
        return [len(word) >= length for word in words]

    word = tuple(np.random.default_rng(length).integers(3, size=length).tolist())
    assert shrink(word, 3, holds) == word
    assert asked < 700_000
    assert most <= 1 << 20


@pytest.mark.parametrize("kept", [0, 20, 200, 400])
def test_long_words_lose_what_is_not_needed(kept: int) -> None:
    """Should leave out nearly all letters but those that the predicate counts, wherever these are."""
    word = tuple(np.random.default_rng(kept).integers(3, size=1_500).tolist())
    result = shrunk(word, 3, lambda w: w.count(2) >= kept)
    assert result.count(2) >= kept
    assert len(result) == kept if kept <= 200 else len(result) <= 1.5 * kept
