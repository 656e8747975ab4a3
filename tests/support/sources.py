"""Subjects that cost nothing to make."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import msgspec
import numpy as np

from rnncheck.automata.dfa import DFA
from rnncheck.errors import InputError
from rnncheck.experiments.subjects import Subject
from support.networks import random_network


class DrawnSubjects(msgspec.Struct, frozen=True):
    """Random networks that nobody trained, against random automata."""

    count: int = 3
    specs: int = 2
    broken: str = ""
    exhausted: str = ""

    def names(self) -> list[str]:
        return [f"net-{number}" for number in range(self.count)]

    def make(self, name: str, checkpoint: str | None) -> Subject:
        if name == self.broken:
            raise InputError(f"{name} cannot be made")
        if name == self.exhausted:
            raise MemoryError("no more of it")
        number = self.names().index(name)
        network = random_network(hidden=(6,), seed=number, scale=4.0)
        rng = np.random.default_rng(number)
        specs = {
            str(nth): DFA(network.alphabet, rng.integers(4, size=(4, 3)), rng.random(4) < 0.7)
            for nth in range(1, self.specs + 1)
        }
        return Subject(network, specs, {"hidden": 6, "letters": 3})


class Here:
    """An executor that does every piece at once, in this process."""

    workers = 1

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(function(*arguments))
        except Exception as error:
            future.set_exception(error)
        return future

    def close(self) -> None:
        """There is nothing to close."""
