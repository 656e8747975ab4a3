"""How many words to draw, and what may be claimed afterwards.

All claims are about one unknown probability: that a word drawn from a named distribution is a failure.
"""

from __future__ import annotations

import enum
import math

from rnncheck.errors import InputError

_MOST_WORDS = 1e15


class Bound(enum.Enum):
    """Which inequality the number of words comes from.

    With no failure among n independent words, ``EXACT`` bounds the failure probability by 1 − γ^(1/n): a claim in one
    direction, which is all that a yes/no answer needs. ``HOEFFDING`` is the paper's two-sided bound.
    """

    EXACT = "exact"
    HOEFFDING = "hoeffding"


def check_probability(name: str, value: float) -> None:
    """Refuse an ε or a γ that is not strictly between 0 and 1."""
    if isinstance(value, str) or not 0.0 < value < 1.0:
        raise InputError(f"{name} {value!r} is not a number between 0 and 1 (both excluded)")


def sample_size(epsilon: float, gamma: float, bound: Bound = Bound.EXACT) -> int:
    """How many words without a failure show P(failure) < ε with confidence 1 − γ."""
    check_probability("epsilon", epsilon)
    check_probability("gamma", gamma)
    if bound is Bound.HOEFFDING:
        return _whole((math.log(2.0) - math.log(gamma)) / 2.0, epsilon, epsilon)
    return _whole(math.log(gamma) / (math.log1p(-epsilon) / epsilon), epsilon)


def _whole(words: float, *shares: float) -> int:
    """``words`` divided by the shares, rounded up; refused where nobody could draw so many."""
    for share in shares:
        words /= share  # infinite rather than an error where it is too large for a float
    if words > _MOST_WORDS:
        raise InputError(
            f"epsilon {shares[0]:g} needs more than {_MOST_WORDS:.0e} words, which nobody can draw; give a larger one"
        )
    return math.ceil(words)


def round_sample_size(epsilon: float, gamma: float, round_number: int, bound: Bound = Bound.EXACT) -> int:
    """The size of the test of hypothesis number ``round_number`` (from 0), which the learner chose after earlier tests.

    Round k gets the share γ / 2^(k+1) of the allowed error, so that all rounds together stay below γ; for the exact
    bound this is the paper's (1/ε)(ln(1/γ) + (k+1) ln 2), up to ln(1 − ε) ≈ −ε.
    """
    check_probability("epsilon", epsilon)
    check_probability("gamma", gamma)
    log_share = math.log(gamma) - (round_number + 1) * math.log(2.0)
    if bound is Bound.HOEFFDING:
        return _whole((math.log(2.0) - log_share) / 2.0, epsilon, epsilon)
    return _whole(-log_share, epsilon)


def shown_epsilon(samples: int, gamma: float, bound: Bound = Bound.EXACT) -> float:
    """The smallest ε that this many words without a failure show, with confidence 1 − γ; 1.0 without any words."""
    check_probability("gamma", gamma)
    return _shown(samples, math.log(gamma), bound)


def _shown(samples: int, log_gamma: float, bound: Bound) -> float:
    if samples <= 0:
        return 1.0
    if bound is Bound.HOEFFDING:
        return min(1.0, math.sqrt((math.log(2.0) - log_gamma) / (2.0 * samples)))
    return -math.expm1(log_gamma / samples)


def round_shown_epsilon(samples: int, gamma: float, round_number: int, bound: Bound = Bound.EXACT) -> float:
    """What this many words without a failure show of hypothesis number ``round_number`` (from 0), by its share of γ."""
    check_probability("gamma", gamma)
    return _shown(samples, math.log(gamma) - (round_number + 1) * math.log(2.0), bound)


def clopper_pearson(failures: int, samples: int, confidence: float) -> tuple[float, float]:
    """The exact two-sided interval for a probability of which ``failures`` among ``samples`` were seen."""
    check_probability("confidence", confidence)
    if not 0 <= failures <= samples or samples == 0:
        raise InputError(f"{failures} failures among {samples} words is impossible")
    tail = (1.0 - confidence) / 2.0
    low = 0.0 if failures == 0 else _beta_quantile(tail, failures, samples - failures + 1)
    high = 1.0 if failures == samples else _beta_quantile(1.0 - tail, failures + 1, samples - failures)
    return low, high


def _beta_quantile(probability: float, a: int, b: int) -> float:
    """The x at which the regularised incomplete beta function I_x(a, b) reaches a probability, by bisection."""
    low, high = 0.0, 1.0
    while True:
        middle = (low + high) / 2.0
        if middle in (low, high):
            return middle
        if _incomplete_beta(middle, a, b) < probability:
            low = middle
        else:
            high = middle


def _incomplete_beta(x: float, a: int, b: int) -> float:
    """I_x(a, b) for 0 < x < 1, by its continued fraction on the side where that converges fast."""
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    if x < (a + 1.0) / (a + b + 2.0):
        return math.exp(log_front) * _beta_fraction(x, a, b) / a
    return 1.0 - math.exp(log_front) * _beta_fraction(1.0 - x, b, a) / b


def _beta_fraction(x: float, a: int, b: int) -> float:
    """The continued fraction of the incomplete beta function, evaluated forwards (Lentz).

    For x up to (a + 1) / (a + b + 2) and whole a, b ≥ 1 nothing here comes near 0: the first coefficient of each pair
    is not negative until it is 0 at m = b, where the fraction ends, and the second one is above −1.
    """
    numerator = 1.0
    denominator = 1.0 / (1.0 - (a + b) * x / (a + 1.0))
    value = denominator
    for m in range(1, 100_000):
        for coefficient in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            denominator = 1.0 / (1.0 + coefficient * denominator)
            numerator = 1.0 + coefficient / numerator
            value *= denominator * numerator
        if abs(denominator * numerator - 1.0) < 1e-15:
            break
    return value
