"""Word distributions: probabilities by definition, sampling by counting, masses by brute force."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnncheck.automata.dfa import DFA
from rnncheck.automata.language import all_words as everything
from rnncheck.automata.language import empty_language
from rnncheck.errors import AlphabetError, AutomatonError, InputError
from rnncheck.probability import expected as code
from rnncheck.probability.distributions import WordDistribution
from rnncheck.words import Alphabet, WordBatch
from support.strategies import (
    ONE_LINE,
    accepted,
    all_words,
    dfas,
    far_enough,
    plain_alphabets,
    random_dfa,
    with_letters,
    words,
)

AB = Alphabet(["a", "b"])
ABC = Alphabet(["a", "b", "c"])
TEXT = [tuple(word) for word in ("ab", "abab", "ba", "", "abc", "cabab", "ab", "aab", "abcab", "b")]


@st.composite
def independent(draw, alphabet: Alphabet) -> WordDistribution:
    weights = draw(st.none() | st.lists(st.integers(0, 5), min_size=len(alphabet), max_size=len(alphabet)).filter(any))
    return WordDistribution(alphabet, weights, draw(st.floats(0.4, 1.0)))


@st.composite
def ngrams(draw, alphabet: Alphabet) -> WordDistribution:
    given_words = draw(st.lists(words(alphabet, max_size=5), min_size=1, max_size=8))
    return WordDistribution.fit(
        alphabet, given_words, order=draw(st.integers(1, 4)), smoothing=draw(st.sampled_from([0.1, 0.5, 3.0]))
    )


@st.composite
def distributions_with_dfas(draw) -> tuple[WordDistribution, DFA]:
    alphabet = draw(plain_alphabets())
    distribution = draw(independent(alphabet) | ngrams(alphabet))
    return distribution, draw(dfas(Alphabet(draw(st.permutations(alphabet.letters)))))


def probability(distribution: WordDistribution, word) -> float:
    return distribution.probability(distribution.alphabet.encode(word))


def longer_than(distribution: WordDistribution, length: int) -> float:
    """The probability of a word of more than ``length`` letters, by moving probability through the contexts."""
    here = np.zeros(len(distribution.stopping))
    here[0] = 1.0
    for _ in range(length + 1):
        flow = here[:, None] * distribution.continuing
        here = np.zeros_like(here)
        np.add.at(here, distribution.next_context, flow)
    return float(here.sum())


def deviation(batch: WordBatch, distribution: WordDistribution, length: int) -> float:
    """Pearson's chi-square over the words of at most ``length`` letters, as standard deviations from its mean."""
    drawn = Counter(batch)
    statistic, cells = 0.0, 0
    for codes in itertools.chain.from_iterable(
        itertools.product(range(len(distribution.alphabet)), repeat=n) for n in range(length + 1)
    ):
        expected = len(batch) * distribution.probability(codes)
        if expected == 0.0:
            assert drawn[codes] == 0
        if expected >= 5.0:
            statistic += (drawn[codes] - expected) ** 2 / expected
            cells += 1
    assert cells >= 3
    return (statistic - cells) / math.sqrt(2 * cells)


class TestIndependentLetters:
    @given(st.floats(1e-6, 1.0), st.lists(st.floats(0.01, 10), min_size=3, max_size=3), st.data())
    def test_probability_by_definition(self, stop, weights, data):
        distribution = WordDistribution(ABC, weights, stop)
        word = data.draw(words(ABC))
        by_hand = stop
        for letter in word:
            by_hand *= weights["abc".index(letter)] / sum(weights) * (1 - stop)
        assert probability(distribution, word) == pytest.approx(by_hand, rel=1e-12)

    @given(st.floats(1e-6, 1.0))
    def test_mean_length(self, stop):
        assert WordDistribution(ABC, stop=stop).mean_length() == pytest.approx(1 / stop - 1, rel=1e-9, abs=1e-12)

    def test_the_paper_is_the_default(self):
        distribution = WordDistribution(AB)
        assert distribution.mean_length() == pytest.approx(99)
        assert distribution.describe() == {"kind": "independent letters", "stop": 0.01, "weights": "uniform"}
        assert probability(distribution, ("a", "b")) == pytest.approx(0.01 * (0.99 / 2) ** 2)

    def test_weights_by_letter(self):
        by_name = WordDistribution(ABC, {"c": 3, "a": 1, "b": 0})
        assert by_name.describe()["weights"] == {"a": 0.25, "b": 0.0, "c": 0.75}
        assert np.array_equal(by_name.continuing, WordDistribution(ABC, [1, 0, 3]).continuing)

    @pytest.mark.parametrize("weights", [[1e308, 1e308], [5e-324, 5e-324], [1e308, 0], [3, 3]])
    def test_extreme_weights(self, weights):
        chances = WordDistribution(AB, weights, 0.5).continuing[0]
        assert chances.sum() == pytest.approx(0.5)
        assert chances[0] == pytest.approx(0.25 if weights[1] else 0.5)

    @pytest.mark.parametrize("weights", [None, [1, 2, 3], [0, 1, 1], [1, 1, 0], [0, 1, 0]])
    def test_sampling_frequencies(self, weights):
        distribution = WordDistribution(ABC, weights, 0.4)
        batch = distribution.sample(np.random.default_rng(7), 40_000)
        assert abs(deviation(batch, distribution, 4)) < 4
        assert batch.lengths.mean() == pytest.approx(1.5, abs=0.05)

    def test_always_stopping(self):
        distribution = WordDistribution(ABC, [1, 2, 3], 1.0)
        assert list(distribution.sample(np.random.default_rng(0), 5)) == [()] * 5
        assert distribution.mean_length() == 0.0
        assert distribution.mass(everything(ABC)) == 1.0

    @pytest.mark.parametrize(
        ("arguments", "part"),
        [
            ({"stop": 0.0}, "stop probability 0.0"),
            ({"stop": -0.1}, "stop probability -0.1"),
            ({"stop": 1.1}, "stop probability 1.1"),
            ({"stop": math.nan}, "stop probability nan"),
            ({"stop": 1e-17}, "stop probability 1e-17"),
            ({"weights": [1]}, "1 weights for 2 letters"),
            ({"weights": [[1, 2]]}, "2 weights for 2 letters"),
            ({"weights": [1, -1]}, "at least 0"),
            ({"weights": [0, 0]}, "not all 0"),
            ({"weights": {}}, "2 of 2 letters have no weight"),
            ({"weights": [1, math.inf]}, "finite"),
            ({"weights": [1, math.nan]}, "finite"),
            ({"weights": ["x", 1]}, "not numbers"),
            ({"weights": {"a": None, "b": 1}}, "must be"),
        ],
    )
    def test_bad_parameters(self, arguments, part):
        with pytest.raises(InputError, match=ONE_LINE) as caught:
            WordDistribution(AB, **arguments)
        assert part in str(caught.value)

    def test_weights_of_unknown_letters(self):
        with pytest.raises(AlphabetError, match="unknown letter 'c'"):
            WordDistribution(AB, {"a": 1, "c": 1})


class TestNGrams:
    @staticmethod
    def by_definition(alphabet, given_words, order, smoothing, word) -> float:
        """P(word) from counts of each history in the given words, recounted every time; None marks start and end."""
        outcomes = [*alphabet, None]

        def chance(outcome, history) -> float:
            following = [
                (None, *given, None)[at]
                for given in given_words
                for at in range(1, len(given) + 2)
                if (None, *given, None)[max(0, at - len(history)) : at] == history
            ]
            shorter = chance(outcome, history[1:]) if history else 1 / len(outcomes)
            return (following.count(outcome) + smoothing * shorter) / (len(following) + smoothing)

        total = 1.0
        for at in range(1, len(word) + 2):
            history = (None, *word)[max(0, at - (order - 1)) : at] if order > 1 else ()
            total *= chance((*word, None)[at - 1], history)
        return total

    @pytest.mark.parametrize("order", [1, 2, 3, 4])
    @pytest.mark.parametrize("smoothing", [0.01, 0.5, 2.0])
    def test_probability_by_definition(self, order, smoothing):
        model = WordDistribution.fit(ABC, TEXT, order=order, smoothing=smoothing)
        for word in all_words(ABC, 3):
            assert probability(model, word) == pytest.approx(
                self.by_definition(ABC, TEXT, order, smoothing, word), rel=1e-12
            )

    @given(plain_alphabets().flatmap(ngrams))
    def test_every_context_is_a_distribution(self, model):
        totals = model.continuing.sum(axis=1) + model.stopping
        assert totals == pytest.approx(np.ones(len(totals)))
        assert (model.continuing > 0).all()
        assert (model.stopping > 0).all()
        assert (model.next_context >= 0).all()
        assert (model.next_context < len(totals)).all()

    def test_first_letters_and_empty_words_are_as_frequent_as_given(self):
        model = WordDistribution.fit(AB, [("a", "b", "b", "b")] * 100, order=2, smoothing=0.1)
        assert probability(model, ()) < 0.001
        starts_with_b = DFA(AB, [[1, 2], [1, 1], [2, 2]], [False, False, True])
        assert model.mass(starts_with_b) < 0.001
        model = WordDistribution.fit(AB, [()] * 50 + [("a", "a")] * 50, order=3, smoothing=0.1)
        assert probability(model, ()) == pytest.approx(0.5, abs=0.01)
        assert probability(model, ("a", "a")) == pytest.approx(0.5, abs=0.01)

    @pytest.mark.parametrize("order", [1, 2, 3])
    def test_sampling_frequencies(self, order):
        model = WordDistribution.fit(ABC, TEXT, order=order)
        batch = model.sample(np.random.default_rng(order), 40_000)
        assert abs(deviation(batch, model, 4)) < 4
        spread = batch.lengths.std() / math.sqrt(len(batch))
        assert abs(batch.lengths.mean() - model.mean_length()) < 4 * spread

    def test_only_empty_words(self):
        model = WordDistribution.fit(AB, [(), ()], order=3)
        assert probability(model, ()) > 0.7
        assert abs(deviation(model.sample(np.random.default_rng(1), 20_000), model, 2)) < 4

    def test_a_letter_never_seen(self):
        model = WordDistribution.fit(ABC, [("a", "b")] * 5, order=3)
        assert probability(model, ("c", "c", "a")) > 0
        assert math.fsum(probability(model, word) for word in all_words(ABC, 7)) + longer_than(model, 7) == (
            pytest.approx(1.0)
        )

    def test_encoded_words_fit_alike(self):
        batch = WordBatch.from_words(ABC, TEXT)
        a, b = WordDistribution.fit(ABC, TEXT, order=3), WordDistribution.fit(ABC, batch, order=3)
        assert a.describe() == b.describe()
        assert np.array_equal(a.continuing, b.continuing)

    def test_facts(self):
        facts = WordDistribution.fit(ABC, TEXT, order=3, smoothing=0.25).describe()
        assert facts["kind"] == "n-gram"
        assert (facts["order"], facts["smoothing"], facts["words"]) == (3, 0.25, len(TEXT))
        digest = facts["words_sha256"]
        assert len(digest) == 64
        assert WordDistribution.fit(ABC, TEXT[::-1]).describe()["words_sha256"] != digest
        facts["kind"] = "changed"
        assert WordDistribution.fit(ABC, TEXT).describe()["kind"] == "n-gram"

    @pytest.mark.parametrize(
        ("arguments", "part"),
        [
            ({"order": 0}, "order 0"),
            ({"smoothing": 0.0}, "smoothing 0.0"),
            ({"smoothing": -1.0}, "smoothing -1.0"),
            ({"smoothing": math.nan}, "smoothing nan"),
            ({"smoothing": math.inf}, "smoothing inf"),
            ({"words": []}, "at least one word"),
            ({"words": "ab"}, "not the string"),
            ({"words": [("z",)]}, "unknown letter 'z'"),
        ],
    )
    def test_bad_parameters(self, arguments, part):
        with pytest.raises(InputError, match=ONE_LINE) as caught:
            WordDistribution.fit(AB, arguments.pop("words", [("a",)]), **arguments)
        assert part in str(caught.value)


class TestSampling:
    DRAWN_FROM = pytest.mark.parametrize(
        "distribution",
        [
            WordDistribution(ABC, stop=0.1),
            WordDistribution(ABC, [1, 2, 3], 0.1),
            WordDistribution.fit(ABC, TEXT, order=1),
            WordDistribution.fit(ABC, TEXT, order=3),
        ],
        ids=["uniform", "weighted", "letters counted", "n-gram"],
    )

    @DRAWN_FROM
    def test_the_seed_decides(self, distribution):
        first, again, other = (distribution.sample(np.random.default_rng(seed), 50) for seed in (1, 1, 2))
        assert first == again
        assert first != other
        first.check_codes(3)

    @DRAWN_FROM
    def test_how_many(self, distribution):
        rng = np.random.default_rng(0)
        assert list(distribution.sample(rng, 0)) == []
        assert len(distribution.sample(rng, 1)) == 1
        with pytest.raises(InputError, match="-1 words"):
            distribution.sample(rng, -1)

    @DRAWN_FROM
    def test_words_of_a_batch_are_independent(self, distribution):
        lengths = distribution.sample(np.random.default_rng(3), 20_000).lengths.astype(float)
        neighbours = np.corrcoef(lengths[:-1], lengths[1:])[0, 1]
        assert abs(neighbours) < 4 / math.sqrt(20_000)


class TestMass:
    @given(distributions_with_dfas())
    @settings(max_examples=60)
    def test_every_short_word(self, pair):
        distribution, dfa = pair
        length = far_enough(dfa.alphabet)
        found = math.fsum(probability(distribution, word) for word in accepted(dfa, length))
        missing = longer_than(distribution, length)
        for pairs in (10**9, 0):
            with patch.object(code, "_ELIMINATED", pairs):
                mass = distribution.mass(dfa)
            assert found - 1e-12 <= mass <= found + missing + 1e-12

    @given(distributions_with_dfas())
    def test_both_ways_agree_and_parts_make_a_whole(self, pair):
        distribution, dfa = pair
        with patch.object(code, "_ELIMINATED", 0):
            step_by_step, length = distribution.mass(dfa), distribution.mean_length()
        assert distribution.mass(dfa) == pytest.approx(step_by_step, abs=1e-11)
        assert distribution.mean_length() == pytest.approx(length, abs=1e-9, rel=1e-9)
        assert distribution.mass(dfa) + distribution.mass(dfa.complement()) == pytest.approx(1.0, abs=1e-11)
        assert distribution.mass(everything(dfa.alphabet)) == pytest.approx(1.0, abs=1e-11)
        assert distribution.mass(empty_language(dfa.alphabet)) == 0.0

    @given(plain_alphabets().flatmap(ngrams))
    @settings(max_examples=30)
    def test_mean_length_from_the_definition(self, model):
        # The mean is the sum over n of the probability to be longer than n.
        total, n = 0.0, 0
        while (more := longer_than(model, n)) > 1e-10 and n < 300:
            total, n = total + more, n + 1
        assert model.mean_length() == pytest.approx(total, rel=1e-3 if n == 300 else 1e-6, abs=1e-6)

    @pytest.mark.parametrize("order", [None, 1, 2, 3])
    def test_sampling(self, order):
        model = WordDistribution(ABC, [1, 2, 4]) if order is None else WordDistribution.fit(ABC, TEXT, order=order)
        rng = np.random.default_rng(11)
        batch = model.sample(rng, 50_000)
        for states in (2, 5, 30):
            dfa = with_letters(
                DFA(ABC, rng.integers(states, size=(states, 3)), rng.random(states) < 0.5), Alphabet("cab".__iter__())
            )
            share = dfa.over(ABC).accepts_batch(batch).mean()
            mass = model.mass(dfa)
            assert abs(share - mass) <= 4.5 * math.sqrt(mass * (1 - mass) / len(batch)) + 1e-9

    def test_known_masses(self):
        # An even number of letters with stop probability p: p · Σ (1 − p)^2k = 1 / (2 − p).
        even = DFA(AB, [[1, 1], [0, 0]], [True, False])
        for stop in (1e-6, 1e-3, 0.01, 0.5, 1.0):
            assert WordDistribution(AB, stop=stop).mass(even) == pytest.approx(1 / (2 - stop), abs=1e-9)

    def test_large_automata(self):
        rng = np.random.default_rng(4)
        dfa = random_dfa(rng, 2000, 3)
        distribution = WordDistribution(dfa.alphabet, stop=0.05)
        step_by_step = distribution.mass(dfa)
        with patch.object(code, "_ELIMINATED", 10_000):
            assert distribution.mass(dfa) == pytest.approx(step_by_step, abs=1e-11)

    def test_other_letters(self):
        with pytest.raises(AutomatonError, match="'c' is only in the first"):
            WordDistribution(ABC).mass(everything(AB))
