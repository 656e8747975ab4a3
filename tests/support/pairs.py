"""Every pair of two lists of cases, of which a quick run takes as many as it needs to have each case."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest


def each_with_one(first: Collection[Any], second: Collection[Any]) -> list[Any]:
    """All pairs as parameters; each of ``first`` has one of ``second`` in turn, and its other pairs are slow.

    For cases that do not depend on each other: a run of ``make test`` has each of them, ``make test-all`` every pair.
    """
    return [
        pytest.param(one, other, marks=() if number % len(second) == place else pytest.mark.slow)
        for number, one in enumerate(first)
        for place, other in enumerate(second)
    ]
