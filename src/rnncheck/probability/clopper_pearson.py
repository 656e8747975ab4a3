"""Confidence intervals for the probability of a failure."""

from __future__ import annotations

import math

from rnncheck.errors import InputError
from rnncheck.probability.confidence import check_probability


def clopper_pearson(failures: int, samples: int, confidence: float = 0.95) -> tuple[float, float]:
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
