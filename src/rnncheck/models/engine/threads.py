"""Rows over cores: a few threads that share a list of pieces, while BLAS keeps to one thread per call."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from threadpoolctl import ThreadpoolController

from rnncheck.errors import InputError


class _SingleThreadedBlas:
    """Limits every BLAS call of the process to one thread; the last user to leave restores the setting.

    threadpoolctl's own context manager does the same, but costs as much as a small step, and two threads that
    overlap would restore each other's limit.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._libraries: list[Any] | None = None
        self._before: list[int] = []

    def __enter__(self) -> None:
        with self._lock:
            self._users += 1
            if self._users > 1:
                return
            if self._libraries is None:
                self._libraries = list(ThreadpoolController().select(user_api="blas").lib_controllers)
            self._before = [library.get_num_threads() for library in self._libraries]
            self._set([1] * len(self._before))

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._set(self._before)

    def _set(self, threads: list[int]) -> None:
        for library, before, count in zip(self._libraries or (), self._before, threads, strict=True):
            if before > 1:
                library.set_num_threads(count)


single_threaded_blas = _SingleThreadedBlas()


class Workers:
    """Runs pieces of work on a fixed number of threads, the caller's own included.

    The threads are started when they are first needed.
    """

    def __init__(self, threads: int | None = None) -> None:
        self.threads = thread_count(threads)
        self._pool: ThreadPoolExecutor | None = None

    def run(self, pieces: Iterable[Callable[[], None]]) -> None:
        """Run all pieces, earlier ones first; returns when all have ended.

        When one raises, no further piece is begun and its exception is raised here.
        """
        waiting = deque(pieces)
        if len(waiting) == 1 or self.threads == 1:
            with single_threaded_blas:
                for piece in waiting:
                    piece()
            return

        def work() -> None:
            try:
                while True:
                    try:
                        piece = waiting.popleft()
                    except IndexError:
                        return
                    piece()
            except BaseException:
                waiting.clear()
                raise

        helpers = min(self.threads, len(waiting)) - 1
        with single_threaded_blas:
            futures: list[Future[None]] = [self._helpers().submit(work) for _ in range(helpers)]
            try:
                work()
            finally:
                failures = [future.exception() for future in futures]
        for failure in failures:
            if failure is not None:
                raise failure

    def _helpers(self) -> ThreadPoolExecutor:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(max(1, self.threads - 1), thread_name_prefix="rnncheck")
        return self._pool


def thread_count(threads: int | None) -> int:
    """The number of threads given, or one for each core."""
    if threads is not None and threads < 1:
        raise InputError(f"threads is {threads}; give at least 1, or leave it out for all cores")
    return threads or available_cores()


def available_cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
