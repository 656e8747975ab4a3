"""What holds for every test."""

import math
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def no_progress_by_the_clock() -> Iterator[None]:
    """Commands tell their progress every ten seconds: on a busy machine what they print would be something else."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rnncheck.cli.progress._ELSEWHERE", math.inf)
        yield
