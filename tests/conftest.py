"""What holds for every test."""

import gc
import math
import os
import signal
from collections.abc import Iterator

import pytest

pytest_plugins = ["support.processor_time"]

# Tests run beside one another, and their networks are small: a second thread of a product waits for a core more than it
# works. The libraries read this when they are loaded, which is after this file.
for _library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")


gc.disable()  # until all is collected: a quarter of that time goes into looking for garbage


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--accept", action="store_true", help="write the sentences that tests compare with anew")


def pytest_collection_finish() -> None:
    """What was collected stays to the end: the garbage collector need not look at it again and again."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def no_progress_by_the_clock() -> Iterator[None]:
    """Commands tell their progress every ten seconds: on a busy machine what they print would be something else."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rnncheck.cli.progress._ELSEWHERE", math.inf)
        yield


@pytest.fixture(scope="session", autouse=True)
def no_cache_of_the_users(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What is remembered while tests run is nobody's business afterwards."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session", autouse=True)
def interrupts_are_heard() -> None:
    """A shell lets its background jobs ignore Ctrl-C, and so would the programs that tests interrupt."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
