"""Memory and open files over a long run: they must not grow.

    python scripts/endurance.py --seconds 1200

Two processes' worth of work in one: the first half of the time goes to one single verification whose sample would last
for days, with a checkpoint; the second half to one verification after the other, of every method and relation, with
checkpoints, reports and replays. Memory and open files are read about every second. Each half is flat when its last
quarter takes hardly more than its second one (the first warms up); exit code 1 says that one was not.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import rnncheck
from rnncheck import VerifySettings, zoo
from rnncheck.checker import replay
from rnncheck.relations import Relation
from rnncheck.verification.methods import METHODS

_ALLOWED_GROWTH = 32.0  # MiB: the allocator keeps some pages, and pieces of work differ
_EVERY = 1.0  # seconds


@dataclass
class Readings:
    """What the process took, about every second."""

    mebibytes: list[float] = field(default_factory=list)
    files: list[int] = field(default_factory=list)
    threads: list[int] = field(default_factory=list)
    last: float = 0.0

    def read(self) -> None:
        now = time.monotonic()
        if now - self.last < _EVERY:
            return
        self.last = now
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        self.mebibytes.append(pages * os.sysconf("SC_PAGE_SIZE") / 2**20)
        self.files.append(len(os.listdir("/proc/self/fd")))
        self.threads.append(len(os.listdir("/proc/self/task")))

    def flat(self) -> bool:
        return (
            self._quarter(self.mebibytes, 3) <= self._quarter(self.mebibytes, 1) + _ALLOWED_GROWTH
            and self._quarter(self.files, 3) <= self._quarter(self.files, 1)
            and self._quarter(self.threads, 3) <= self._quarter(self.threads, 1)
        )

    def __str__(self) -> str:
        memory = ", ".join(f"{self._quarter(self.mebibytes, n):.0f}" for n in range(4))
        files = ", ".join(f"{self._quarter(self.files, n):.0f}" for n in range(4))
        return (
            f"{len(self.mebibytes)} readings; MiB in the four quarters (median): {memory}, peak "
            f"{max(self.mebibytes):.0f}; open files: {files}; threads at most {max(self.threads)}"
        )

    @staticmethod
    def _quarter(values: list[float] | list[int], number: int) -> float:
        return float(np.median(np.array_split(values, 4)[number]))


def one_long_verification(seconds: float, folder: Path, readings: Readings) -> str:
    entry = zoo.entry("tokens-gru")
    settings = VerifySettings(checkpoint=str(folder / "long.checkpoint"), checkpoint_seconds=20.0)
    verdict = rnncheck.verify(
        rnncheck.load_model(entry.path),
        entry.spec(),
        epsilon=1e-8,
        gamma=1e-8,
        timeout=seconds,
        progress=lambda _: readings.read(),
        settings=settings,
    )
    size = (folder / "long.checkpoint").stat().st_size / 2**20
    asked = verdict.cost.membership_queries
    return f"one verification, {verdict.outcome.value}: {asked} membership queries, checkpoint of {size:.1f} MiB"


def many_verifications(seconds: float, folder: Path, readings: Readings) -> str:
    end = time.monotonic() + seconds
    kinds = itertools.cycle(itertools.product(zoo.entries(), METHODS, Relation))
    for count, (entry, method, relation) in enumerate(kinds):
        if time.monotonic() > end:
            return f"{count} verifications, each with checkpoint, report and replay"
        model = rnncheck.load_model(entry.path)
        verdict = rnncheck.verify(
            model,
            entry.spec(),
            method=method,
            relation=relation,
            epsilon=0.01,
            gamma=0.01,
            seed=count,
            timeout=10.0,
            settings=VerifySettings(checkpoint=str(folder / "many.checkpoint"), search_steps=20_000),
        )
        verdict.save_report(folder / "report.html")
        replay(verdict, model)
        readings.read()
    raise AssertionError


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1200.0)
    half = parser.parse_args().seconds / 2
    halves: list[Callable[[float, Path, Readings], str]] = [one_long_verification, many_verifications]
    flat = True
    for work in halves:
        readings = Readings()
        with tempfile.TemporaryDirectory() as folder:
            done = work(half, Path(folder), readings)
        flat &= readings.flat()
        sys.stdout.write(f"{done}\n  {'flat' if readings.flat() else 'NOT FLAT'}: {readings}\n")
        sys.stdout.flush()
    return 0 if flat else 1


if __name__ == "__main__":
    sys.exit(main())
