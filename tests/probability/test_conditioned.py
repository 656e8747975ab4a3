"""Words given that they are in a language, and the probability of languages that hardly any word is in."""

from __future__ import annotations

import math
import tracemalloc
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnncheck.automata.dfa import DFA
from rnncheck.automata.language import empty_language
from rnncheck.automata.product import intersection
from rnncheck.probability import expected
from rnncheck.probability.conditioned import conditioned
from rnncheck.probability.distributions import WordDistribution, _padded, _places
from rnncheck.spec import Spec
from rnncheck.words import Alphabet
from support.clocks import calls_of
from support.strategies import all_words, chain, dfas, plain_alphabets, random_dfa

AB = Alphabet(["a", "b"])
TEXT = [("a", "b", "b"), ("b",), ("a", "a", "b"), ()]


def exactly(distribution: WordDistribution, dfa: DFA) -> Fraction:
    """The mass by exact elimination over fractions: no rounding anywhere."""
    contexts = len(distribution.stopping)
    size = len(dfa) * contexts
    table = [[Fraction(int(i == j)) for j in range(size)] + [Fraction(0)] for i in range(size)]
    for state in range(len(dfa)):
        for context in range(contexts):
            row = table[state * contexts + context]
            for letter in range(len(dfa.alphabet)):
                to = int(dfa.transitions[state, letter]) * contexts + int(distribution.next_context[context, letter])
                row[to] -= Fraction(float(distribution.continuing[context, letter]))
            row[size] = Fraction(float(distribution.stopping[context])) * int(dfa.accepting[state])
    for k in range(size):
        pivot = next(i for i in range(k, size) if table[i][k])
        table[k], table[pivot] = table[pivot], table[k]
        for i in range(size):
            if i != k and table[i][k]:
                factor = table[i][k] / table[k][k]
                table[i] = [x - factor * y for x, y in zip(table[i], table[k], strict=True)]
    start = dfa.initial * contexts
    return table[start][size] / table[start][start]


@st.composite
def drawn_from(draw) -> tuple[WordDistribution, DFA]:
    alphabet = draw(plain_alphabets())
    weights = draw(st.lists(st.sampled_from([0.0, 1e-6, 1.0, 7.0]), min_size=len(alphabet), max_size=len(alphabet)))
    if not any(weights):
        weights[0] = 1.0
    return WordDistribution(alphabet, weights, draw(st.sampled_from([1e-6, 0.01, 0.5]))), draw(dfas(alphabet))


@given(drawn_from())
@settings(max_examples=60)
def test_masses_are_right_to_nearly_the_last_digit(pair) -> None:
    """Should lose nothing to subtraction, however small the mass: a linear solve has no digit right at 1e-20."""
    distribution, dfa = pair
    truth = exactly(distribution, dfa)
    # The probabilities of letters, as floats, may not add up to 1 − stop in the last digit: 1/stop letters multiply it.
    rounding = max(1e-10, 1e-15 / distribution.stopping[0])
    assert distribution.mass(dfa) == pytest.approx(float(truth), rel=rounding, abs=0.0)


@pytest.mark.parametrize("eliminated", [0, 1, 2, 3])
@given(pair=drawn_from())
@settings(max_examples=30)
def test_steps_added_up_are_as_exact(eliminated: int, pair) -> None:
    """Should be so however large the components are whose states are eliminated."""
    distribution, dfa = pair
    if distribution.stopping[0] < 0.01:
        return  # millions of steps
    with patch.object(expected, "_ELIMINATED", eliminated):
        assert distribution.mass(dfa) == pytest.approx(float(exactly(distribution, dfa)), rel=1e-10, abs=0.0)


@pytest.mark.parametrize("eliminated", [0, 600])
def test_the_mass_of_one_long_word(eliminated: int) -> None:
    """Should be that word's probability, 1e-31, and not what is left of a 1 after rounding."""
    length = 100
    table = [[at + 1 if at < length else length + 1, length + 1] for at in range(length + 1)] + [[length + 1] * 2]
    dfa = DFA(AB, table, [at == length for at in range(length + 2)])
    distribution = WordDistribution(AB)
    with patch.object(expected, "_ELIMINATED", eliminated):
        assert distribution.mass(dfa) == pytest.approx(distribution.probability((0,) * length), rel=1e-12, abs=0.0)
        drawn = conditioned(distribution, dfa)
        assert drawn is not None
        assert list(drawn.sample(np.random.default_rng(0), 3)) == [(0,) * length] * 3


def test_work_of_a_deep_automaton() -> None:
    """Should grow like its states: each round over all of them took the square."""
    distribution = WordDistribution(chain(3).alphabet)

    def work(states: int) -> int:
        return calls_of(lambda: distribution.mass(chain(states)))

    with patch.object(expected, "_added_up", side_effect=AssertionError("a chain needs no steps")):
        assert work(16_000) < 12 * work(2_000)
        # A chain accepts the words of one length.
        assert distribution.mass(chain(5_002)) == pytest.approx(0.01 * 0.99**5_000, rel=1e-10)


@given(drawn_from())
@settings(max_examples=60)
def test_a_word_has_its_probability_divided_by_the_mass(pair) -> None:
    distribution, dfa = pair
    mass, drawn = distribution.mass(dfa), conditioned(distribution, dfa)
    assert (drawn is None) == (mass == 0.0)
    if drawn is None:
        return
    assert drawn.continuing.sum(axis=1) + drawn.stopping == pytest.approx(1.0, rel=1e-9)
    for word in all_words(dfa.alphabet, 3):
        codes = dfa.alphabet.encode(word)
        meant = distribution.probability(codes) / mass if dfa.accepts(word) else 0.0
        assert drawn.probability(codes) == pytest.approx(meant, rel=1e-9, abs=0.0)


@pytest.mark.parametrize("seed", range(1, 5))
@pytest.mark.parametrize("order", [None, 2])
def test_conditioned_words_come_as_often_as_they_should(seed: int, order: int | None) -> None:
    """Should draw accepted words alone, each with its probability divided by the language's."""
    rng = np.random.default_rng(seed)
    dfa = DFA(AB, rng.integers(4, size=(4, 2)), rng.random(4) < 0.5)
    distribution = WordDistribution(AB, [2, 1], 0.2) if order is None else WordDistribution.fit(AB, TEXT, order=order)
    drawn = conditioned(distribution, dfa)
    assert drawn is not None
    words = drawn.sample(rng, 20_000)
    assert dfa.accepts_batch(words).all()
    found, mass = list(words), distribution.mass(dfa)
    for word in ((), (0,), (1,), (0, 1), (0, 0)):
        meant = distribution.probability(word) / mass if dfa.accepts(AB.decode(word)) else 0.0
        assert abs(found.count(word) / 20_000 - meant) <= 4.5 * math.sqrt(meant * (1 - meant) / 20_000)


def test_one_context_is_not_taken_for_the_distribution_before() -> None:
    """Words without a b need one context, as independent letters do, and have other chances."""
    drawn = conditioned(WordDistribution(AB, stop=0.1), DFA(AB, [[0, 1], [1, 1]], [True, False]))
    assert drawn is not None
    assert len(drawn.stopping) == 1
    words = drawn.sample(np.random.default_rng(0), 5_000)
    assert not words.codes.any()
    assert words.lengths.mean() == pytest.approx(0.45 / 0.55, abs=0.05)


@given(drawn_from(), st.data())
@settings(max_examples=30)
def test_conditions_add_up(pair, data) -> None:
    """Should not matter whether two languages are asked for at once or one after the other."""
    distribution, first = pair
    second = data.draw(dfas(first.alphabet))
    both = distribution.mass(intersection(first, second))
    once = conditioned(distribution, first)
    if once is not None:
        assert once.mass(second) == pytest.approx(both / distribution.mass(first), rel=1e-8, abs=0.0)


def test_large_automata_and_ngrams() -> None:
    dfa = random_dfa(np.random.default_rng(0), 900, 2)
    distribution = WordDistribution.fit(dfa.alphabet, [[dfa.alphabet[i] for i in word] for word in ((0, 1, 1), (1,))])
    drawn = conditioned(distribution, dfa)
    assert drawn is not None
    assert dfa.accepts_batch(drawn.sample(np.random.default_rng(1), 500)).all()


def test_an_impossible_language_cannot_be_drawn_from() -> None:
    assert conditioned(WordDistribution(AB), empty_language(AB)) is None
    only_b = DFA(AB, [[1, 2], [1, 1], [1, 1]], [False, False, True])
    assert conditioned(WordDistribution(AB, [1, 0]), only_b) is None


def test_drawing_over_many_letters_takes_memory_for_the_words_alone() -> None:
    """Should never hold a row of all letters for each word: 20,000 words over 20,000 letters took 3.2 GB."""
    letters = Alphabet([f"t{number}" for number in range(2_000)])
    words = conditioned(WordDistribution(letters), Spec.from_ltlf("F t1", letters).dfa)
    assert words is not None
    rng = np.random.default_rng(0)
    words.sample(rng, 1)  # what is kept for all samples
    tracemalloc.start()
    drawn = words.sample(rng, 1_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20 * (drawn.codes.nbytes + drawn.offsets.nbytes) < 1_000 * 2_000 * 8


def test_letters_are_drawn_as_by_looking_at_every_chance() -> None:
    rng = np.random.default_rng(1)
    table = np.sort(np.round(rng.random((5, 7)), 1), axis=1)
    rows, values = rng.integers(5, size=500), np.round(rng.random(500), 1)
    found = _places(_padded(table), rows, values)
    assert np.array_equal(found, (values[:, None] >= table[rows]).sum(axis=1))
