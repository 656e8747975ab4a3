"""Pieces of work for the executors' tests, importable by worker processes."""

import os
import signal
from pathlib import Path


def square(number: int) -> int:
    return number * number


def where(_: int) -> int:
    return os.getpid()


def refuse(text: str) -> None:
    raise ValueError(text)


def die_once(marker: str) -> str:
    """Kills its own process the first time, and answers the second."""
    if not Path(marker).exists():
        Path(marker).write_text("died")
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"


def die_always() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def unpicklable() -> object:
    return lambda: None
