"""Sample sizes and intervals against exact binomial arithmetic."""

import itertools
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from math import comb, exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnncheck.errors import InputError
from rnncheck.probability.clopper_pearson import clopper_pearson
from rnncheck.probability.confidence import Bound, Confidence

probability = st.floats(1e-6, 0.9)


def sample_size(epsilon: float, gamma: float, bound: Bound = Bound.EXACT) -> int:
    return Confidence(epsilon, gamma, bound).words


def round_sample_size(epsilon: float, gamma: float, round_number: int, bound: Bound = Bound.EXACT) -> int:
    return Confidence(epsilon, gamma, bound).words_of_test(round_number)


def achieved_epsilon(samples: int, gamma: float, bound: Bound = Bound.EXACT) -> float:
    return Confidence(gamma=gamma, bound=bound).achieved(samples)


def round_achieved_epsilon(samples: int, gamma: float, round_number: int, bound: Bound = Bound.EXACT) -> float:
    return Confidence(gamma=gamma, bound=bound).achieved_by_test(samples, round_number)


def at_most(failures: int, samples: int, chance: Fraction) -> Fraction:
    """P(at most this many failures), exactly."""
    return sum((comb(samples, i) * chance**i * (1 - chance) ** (samples - i) for i in range(failures + 1)), Fraction(0))


def test_the_paper_s_sizes() -> None:
    assert sample_size(5e-4, 5e-4) == 15_199
    assert sample_size(5e-4, 5e-4, Bound.HOEFFDING) == 16_588_100


@given(epsilon=st.floats(0.01, 0.9), gamma=st.floats(0.001, 0.9))
def test_exact_size_is_the_smallest_that_suffices(epsilon: float, gamma: float) -> None:
    """A language with failure mass ε passes n words with probability (1 − ε)^n: at most γ at n, above it at n − 1."""
    size = sample_size(epsilon, gamma)
    passes = 1 - Fraction(epsilon)
    assert passes**size <= Fraction(gamma) * (1 + Fraction(1, 10**9))
    assert size == 1 or passes ** (size - 1) > Fraction(gamma) * (1 - Fraction(1, 10**9))


@given(epsilon=probability, gamma=probability)
def test_rounds_together_stay_below_gamma(epsilon: float, gamma: float) -> None:
    """Round k errs with probability at most (1 − ε)^n ≤ γ / 2^(k+1); the sum over all rounds is at most γ."""
    for k in range(20):
        size = round_sample_size(epsilon, gamma, k)
        assert size >= (log(1 / gamma) + (k + 1) * log(2)) / epsilon - 1e-6 * size
        assert size >= sample_size(epsilon, gamma / 2 ** (k + 1)) - 1


@given(epsilon=probability, gamma=probability, number=st.integers(0, 40), bound=st.sampled_from(Bound))
def test_a_round_gets_the_smallest_size_for_its_share(epsilon: float, gamma: float, number: int, bound: Bound) -> None:
    """Should be the least n with e^(−εn), or 2e^(−2ε²n) by Hoeffding, at most γ / 2^(number + 1)."""
    size = round_sample_size(epsilon, gamma, number, bound)
    share = gamma / 2 ** (number + 1)

    def error(words: int) -> float:
        return 2 * exp(-2 * epsilon * epsilon * words) if bound is Bound.HOEFFDING else exp(-epsilon * words)

    assert error(size) <= share * (1 + 1e-9)
    assert error(size - 1) > share * (1 - 1e-9)


@given(samples=st.integers(1, 10**9), gamma=probability, number=st.integers(0, 40), bound=st.sampled_from(Bound))
def test_a_round_shows_what_its_share_of_gamma_shows(samples: int, gamma: float, number: int, bound: Bound) -> None:
    shown = round_achieved_epsilon(samples, gamma, number, bound)
    assert shown == pytest.approx(achieved_epsilon(samples, gamma / 2 ** (number + 1), bound), rel=1e-9)


@given(epsilon=probability, gamma=probability, bound=st.sampled_from(Bound))
def test_achieved_epsilon_inverts_the_size(epsilon: float, gamma: float, bound: Bound) -> None:
    size = sample_size(epsilon, gamma, bound)
    assert achieved_epsilon(size, gamma, bound) <= epsilon * (1 + 1e-9)
    if size > 1 and bound is not Bound.PAPER:  # which draws more words than what they show needs
        assert achieved_epsilon(size - 1, gamma, bound) > epsilon * (1 - 1e-9)


def test_no_words_show_nothing() -> None:
    assert achieved_epsilon(0, 0.05) == 1.0


def test_a_few_words_show_at_most_1_by_hoeffding() -> None:
    """Should not claim a probability above 1 where √(ln(2 / γ) / 2) is 1.63."""
    assert achieved_epsilon(1, 0.01, Bound.HOEFFDING) == 1.0


def test_sizes_are_given_up_to_1e15_words() -> None:
    """Should refuse what needs more, by name, however small the ε."""
    words = log(2.0) - log(0.25)
    assert round_sample_size(words / (1e15 - 0.5), 0.25, 0) == round_sample_size(words / 1e15, 0.25, 0) == 10**15
    sizes: list[Callable[..., int]] = [sample_size, partial(round_sample_size, round_number=0)]
    for size, bound in itertools.product(sizes, Bound):
        for epsilon in (words / 1e16, 1e-160, 5e-324):
            with pytest.raises(InputError, match=f"epsilon {epsilon:g} needs more than 1e\\+15 words"):
                size(epsilon, 0.25, bound=bound)
    with pytest.raises(InputError, match="needs more than"):
        round_sample_size(words / (1e15 + 0.5), 0.25, 0)


@pytest.mark.parametrize(("failures", "samples"), [(0, 1), (0, 10), (1, 10), (5, 50), (49, 50), (50, 50), (3, 200)])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_clopper_pearson_ends_are_where_the_tails_are(failures: int, samples: int, confidence: float) -> None:
    low, high = clopper_pearson(failures, samples, confidence)
    tail = (1 - confidence) / 2
    assert 0.0 <= low <= failures / samples <= high <= 1.0
    if failures:
        assert float(1 - at_most(failures - 1, samples, Fraction(low))) == pytest.approx(tail, rel=1e-6)
    if failures < samples:
        assert float(at_most(failures, samples, Fraction(high))) == pytest.approx(tail, rel=1e-6)


def test_clopper_pearson_covers() -> None:
    """Over all outcomes of 40 draws, weighted by their probability, the interval covers at least 95 %."""
    for chance in (Fraction(1, 100), Fraction(1, 7), Fraction(1, 2), Fraction(9, 10)):
        covered = Fraction(0)
        for failures in range(41):
            low, high = clopper_pearson(failures, 40, 0.95)
            if low <= chance <= high:
                covered += comb(40, failures) * chance**failures * (1 - chance) ** (40 - failures)
        assert covered >= Fraction(95, 100)


def test_large_samples() -> None:
    low, high = clopper_pearson(500_000, 1_000_000, 0.99)
    assert low == pytest.approx(0.5 - 2.5758 * 0.0005, abs=1e-5)
    assert high == pytest.approx(0.5 + 2.5758 * 0.0005, abs=1e-5)


@pytest.mark.parametrize("value", [0.0, 1.0, -0.1, 2.0, float("nan")])
def test_probabilities_outside_are_refused(value: float) -> None:
    for size in (sample_size, partial(round_sample_size, round_number=0)):
        with pytest.raises(InputError, match="epsilon"):
            size(value, 0.1)
        with pytest.raises(InputError, match="gamma"):
            size(0.1, value)
    for shown in (achieved_epsilon, partial(round_achieved_epsilon, round_number=0)):
        with pytest.raises(InputError, match="gamma"):
            shown(10, value)
    with pytest.raises(InputError, match="confidence"):
        clopper_pearson(1, 2, value)


@pytest.mark.parametrize(("failures", "samples"), [(-1, 5), (6, 5), (0, 0)])
def test_impossible_counts_are_refused(failures: int, samples: int) -> None:
    with pytest.raises(InputError, match="impossible"):
        clopper_pearson(failures, samples, 0.9)
