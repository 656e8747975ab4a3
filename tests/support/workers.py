"""Pieces of work for the executors' tests, importable by worker processes."""

import os
import signal
from pathlib import Path


class Travelling:
    """A value that counts how often it is sent away."""

    sent = 0

    def __init__(self, name: str) -> None:
        self.name = name

    def __reduce__(self) -> tuple[object, ...]:
        Travelling.sent += 1
        return Travelling, (self.name,)


def name_of(value: Travelling, _: int) -> str:
    return value.name


def die_once_with(value: Travelling, marker: str) -> str:
    die_once(marker)
    return value.name


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
