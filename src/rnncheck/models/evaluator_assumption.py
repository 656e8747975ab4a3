"""What proofs assume of every evaluator, as numbers. What they mean, and why, is in docs/evaluator-assumption.md.

The prover and the checker take the numbers from here, and bound what follows from them by code of their own.
"""

from __future__ import annotations

UNIT = 2.0**-24  # relative error of one operation: float32, or better
FUNCTION_UNITS = 8.0  # absolute error of tanh and sigmoid, in these units
OVERFLOW = 2.0**120  # of numbers that are as large nothing is claimed: float32 may overflow on the way, in some order
UNDERFLOW = 2.0**-100  # more than underflow, or flushing to zero, changes in a product of factors of size 1
