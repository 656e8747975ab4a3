"""Statistical confidence: ε, γ, and the bound that turns them into a number of words, and back.

All claims are about one unknown probability: that a word drawn from a named distribution is a failure.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass

from rnncheck.errors import InputError

_MOST_WORDS = 1e15


class Bound(enum.Enum):
    """The inequality that gives the number of words.

    With no failure among n independent words, ``EXACT`` bounds the failure probability by 1 − γ^(1/n): a one-sided
    claim, which is enough for a yes/no answer. ``HOEFFDING`` is the two-sided bound of the paper's SMC, here
    for every test. ``PAPER`` draws as many words as the paper does: by Hoeffding's bound for SMC, by the exact one for
    each test of a hypothesis; the claim is that of the exact bound.
    """

    EXACT = "exact"
    HOEFFDING = "hoeffding"
    PAPER = "paper"


@dataclass(frozen=True)
class Confidence:
    """P(failure) < ``epsilon`` with confidence 1 − ``gamma``, by a ``bound``. The defaults of all of rnncheck are here.

    A learner chooses its hypothesis number k (from 0) after earlier tests, so test number k gets the share γ / 2^(k+1)
    of the allowed error: all tests together stay below γ. For the exact bound this is the paper's
    (1/ε)(ln(1/γ) + (k+1) ln 2), up to ln(1 − ε) ≈ −ε. A single test has all of γ.
    """

    epsilon: float = 5e-4
    gamma: float = 5e-4
    bound: Bound = Bound.EXACT

    def __post_init__(self) -> None:
        check_probability("epsilon", self.epsilon)
        check_probability("gamma", self.gamma)

    @property
    def words(self) -> int:
        """The number of words without a failure that shows the claim."""
        if self.bound is not Bound.EXACT:
            return self._whole((math.log(2.0) - math.log(self.gamma)) / 2.0, squared=True)
        return self._whole(math.log(self.gamma) / (math.log1p(-self.epsilon) / self.epsilon))

    def words_of_test(self, number: int) -> int:
        """The number of words without a failure that shows the claim for hypothesis ``number`` (from 0)."""
        if self.bound is Bound.HOEFFDING:
            return self._whole((math.log(2.0) - self._log_share(number)) / 2.0, squared=True)
        return self._whole(-self._log_share(number))

    def achieved(self, words: int) -> float:
        """The smallest ε that ``words`` words without a failure show; 1.0 without any words."""
        return self._achieved(words, math.log(self.gamma))

    def achieved_by_test(self, words: int, number: int) -> float:
        """The smallest ε that ``words`` words without a failure show for hypothesis ``number``, with its share of γ."""
        return self._achieved(words, self._log_share(number))

    def _log_share(self, number: int) -> float:
        return math.log(self.gamma) - (number + 1) * math.log(2.0)

    def _achieved(self, words: int, log_gamma: float) -> float:
        if words <= 0:
            return 1.0
        if self.bound is Bound.HOEFFDING:
            return min(1.0, math.sqrt((math.log(2.0) - log_gamma) / (2.0 * words)))
        return -math.expm1(log_gamma / words)

    def _whole(self, words: float, *, squared: bool = False) -> int:
        """``words`` over ε (or ε²), rounded up; an InputError where they are too many to draw."""
        for _ in range(2 if squared else 1):
            words /= self.epsilon  # infinite rather than an error where it is too large for a float
        if words > _MOST_WORDS:
            raise InputError(
                f"epsilon {self.epsilon:g} needs more than {_MOST_WORDS:.0e} words, too many to draw; give a larger one"
            )
        return math.ceil(words)


def check_probability(name: str, value: float) -> None:
    """Raise InputError for an ε or a γ that is not strictly between 0 and 1."""
    if isinstance(value, str) or not 0.0 < value < 1.0:
        raise InputError(f"{name} {value!r} is not a number between 0 and 1 (both excluded)")
