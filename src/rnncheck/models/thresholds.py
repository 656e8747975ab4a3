"""The output at which ``sigmoid(output) > threshold`` becomes true, to the last bit.

A probability is a float, and near 0 and 1 floats are far coarser than those of the output it is computed from. So the
logit of the threshold is not where answers change: the largest output that is not accepted is found once, by
bisection, and outputs are compared with that.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from rnncheck.errors import ModelError

# The smallest lead of the largest of several outputs that softmax or its logarithm cannot hide: where the lead is
# smaller than their rounding, two results may be equal in float32, or in the other order. This is far more than that.
LEAST_LEAD = 2.0**-18


def check_threshold(threshold: float, dtype: npt.DTypeLike = np.float32) -> None:
    """Raise a ModelError if a threshold is not a probability, or is rounded to 0 or 1 in this arithmetic."""
    if not 0.0 < threshold < 1.0:
        raise ModelError(f"threshold {threshold} is not between 0 and 1")
    rounded = float(np.array(threshold, dtype=dtype))
    if rounded in (0.0, 1.0):
        raise ModelError(
            f"threshold {threshold} is {rounded:g} in {np.dtype(dtype).name}, in which the network computes; give one "
            "further from it"
        )


@functools.lru_cache(maxsize=64)
def largest_rejected(threshold: float, dtype: np.dtype[Any]) -> float:
    """The largest number of this type whose sigmoid, computed in the type, does not exceed the threshold.

    The exponential is taken in double precision and then rounded, so that the result is the same on every processor.
    """
    check_threshold(threshold, dtype)
    limit = dtype.type(threshold)
    bits: npt.DTypeLike = np.int32 if dtype == np.float32 else np.int64
    largest = int(np.array(np.finfo(dtype).max, dtype=dtype).view(bits))
    low, high = -largest, largest  # floats in their order: rejected at ``low``, accepted at ``high``
    while high - low > 1:
        middle = (low + high) // 2
        value = math.copysign(float(np.array(abs(middle), dtype=bits).view(dtype)), middle)
        if _sigmoid(value, dtype) > limit:
            high = middle
        else:
            low = middle
    return math.copysign(float(np.array(abs(low), dtype=bits).view(dtype)), low)


def _sigmoid(x: float, dtype: np.dtype[Any]) -> Any:
    with np.errstate(over="ignore"):
        one, power = dtype.type(1), dtype.type(np.exp(np.float64(-x)))
        return one / (one + power)
