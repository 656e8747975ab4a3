"""Executors for independent pieces of work: processes of this machine, or a Dask cluster.

An executor takes a function and picklable arguments and returns a future. A worker that dies is replaced and its piece
is run again, so results never depend on the number of workers or on their failures. A piece that kills its worker
several times fails with an error. Values that many pieces need are shared: each is sent to a worker once.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import math
import multiprocessing
import multiprocessing.connection
import os
import queue
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from rnncheck.errors import InputError, MissingExtraError, RnncheckError, short_repr
from rnncheck.runtime.budget import BudgetExceeded

Result = TypeVar("Result")

_ATTEMPTS = 4  # at most; a piece that kills four workers would kill the fifth
_CONNECT_SECONDS = 20.0
_KEPT = 2  # shared values that a process keeps; the pieces of one network mostly end before those of the next begin
_NEVER = "1024 PiB"  # larger than any value
_SPAWN = multiprocessing.get_context("spawn")  # a fork would copy threads and locks in arbitrary states


class WorkerLostError(RnncheckError):
    """A piece of work ended its worker each time it was tried."""


class _DiedError(Exception):
    """A worker process has ended."""


class Executor(Protocol):
    """Runs pieces of work in other processes. ``close`` cancels unfinished pieces.

    Pass what ``share`` returns as an argument of pieces; they receive the value itself.
    """

    @property
    def workers(self) -> int: ...

    def share(self, value: object) -> Any: ...

    def submit(self, function: Callable[..., Result], /, *arguments: Any) -> Future[Result]: ...

    def close(self) -> None: ...


@contextlib.contextmanager
def open_executor(workers: int, cluster: str | None = None, *, seconds: float = math.inf) -> Iterator[Executor]:
    """Processes of this machine, or the cluster of a Dask scheduler's address; closed at the end.

    Connecting may take ``seconds``, and no more than 20.
    """
    executor: Executor = LocalProcesses(workers) if cluster is None else DaskCluster(cluster, seconds)
    try:
        yield executor
    finally:
        executor.close()


@dataclass(frozen=True, eq=False)
class _Shared:
    """A value that is sent to a process once; later messages refer to it by its number."""

    value: object
    number: int = field(default_factory=itertools.count().__next__)


@dataclass(frozen=True)
class _Number:
    """Refers to a shared value that the process already has."""

    number: int


class LocalProcesses:
    """A fixed number of worker processes, each replaced when it dies."""

    def __init__(self, workers: int) -> None:
        if workers < 1:
            raise InputError(f"{workers} workers cannot do anything; give at least 1")
        self.workers = workers
        self._idle: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
        self._all = [_Worker() for _ in range(workers)]
        for worker in self._all:
            self._idle.put(worker)
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="rnncheck-worker")

    def share(self, value: object) -> _Shared:
        return _Shared(value)

    def submit(self, function: Callable[..., Result], /, *arguments: Any) -> Future[Result]:
        return self._threads.submit(self._attempt, function, arguments)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in self._all:
            worker.stop()

    def _attempt(self, function: Callable[..., Result], arguments: tuple[Any, ...]) -> Result:
        worker = self._idle.get()
        try:
            for _ in range(_ATTEMPTS):
                try:
                    return worker.run(function, arguments)  # type: ignore[no-any-return]
                except _DiedError:  # the next attempt starts a new process
                    continue
        finally:
            self._idle.put(worker)
        raise WorkerLostError(
            f"{getattr(function, '__name__', function)} ended its worker process {_ATTEMPTS} times (killed, out of "
            "memory, or a crash in a library); give it more memory, or fewer workers"
        )


class _Worker:
    """One process and the pipe to it, started when there is work."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: Any = None
        self._pipe: multiprocessing.connection.Connection[Any, Any] | None = None
        self._has: list[int] = []  # the numbers of its shared values, the latest last
        self._stopped = False

    def run(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """The function's result or its exception; _DiedError when the process has ended."""
        pipe = self._connected()
        shared = {part.number: part.value for part in arguments if isinstance(part, _Shared)}
        sent = [_Number(part.number) if isinstance(part, _Shared) else part for part in arguments]
        keep = [number for number in self._has if number not in shared][-_KEPT:] + list(shared)
        try:
            pipe.send((function, sent, keep, {number: shared[number] for number in shared if number not in self._has}))
            self._has = keep
            finished, value = pipe.recv()
        except (EOFError, OSError):
            self._forget()
            raise _DiedError from None
        if finished:
            return value
        raise value

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            if self._process is not None:
                self._process.kill()

    def _connected(self) -> multiprocessing.connection.Connection[Any, Any]:
        with self._lock:
            if self._stopped:
                raise WorkerLostError("the executor is closed")
            if self._pipe is None:
                self._pipe, theirs = _SPAWN.Pipe()
                self._process = _SPAWN.Process(target=_work, args=(theirs,), daemon=True)
                self._process.start()
                theirs.close()  # otherwise the end of the process would not close the pipe
            return self._pipe

    def _forget(self) -> None:
        with self._lock:
            if self._pipe is not None:
                self._pipe.close()
                self._process.kill()
                self._process.join()
                self._pipe, self._has = None, []


def _work(pipe: multiprocessing.connection.Connection[Any, Any]) -> None:
    """The main loop of a worker: run pieces until the other end of the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that has the terminal
    threading.Thread(target=_end_with_parent, daemon=True).start()
    shared: dict[int, object] = {}
    while True:
        try:
            function, arguments, keep, new = pipe.recv()
        except (EOFError, OSError):
            return
        shared = {number: new[number] if number in new else shared[number] for number in keep}
        try:
            answer = (
                True,
                function(*(shared[part.number] if isinstance(part, _Number) else part for part in arguments)),
            )
        except Exception as error:
            answer = (False, error)
        try:
            pipe.send(answer)
        except (EOFError, OSError):
            return
        except Exception as error:  # results that cannot be pickled cannot be sent
            kind = "result" if answer[0] else "error"
            pipe.send((False, RnncheckError(f"the {kind} {short_repr(answer[1])} cannot be sent back: {error}")))


def _end_with_parent() -> None:
    """Without this a worker whose parent was killed would continue its piece beside the resumed run."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)


def _in_time(seconds: float, call: Callable[[], Result]) -> Result:
    """The result of a call, or TimeoutError: a client's own limit does not cover a server that never answers."""
    future: Future[Result] = Future()

    def work() -> None:
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    try:
        return future.result(timeout=seconds + 1.0)
    except TimeoutError as error:
        raise TimeoutError(str(error) or f"no answer within {seconds:.3g} seconds") from None


class DaskCluster:
    """The workers of a Dask scheduler. They need rnncheck installed, and unpickle what they receive."""

    def __init__(self, address: str, seconds: float = math.inf) -> None:
        try:
            from distributed import Client
        except ImportError:
            raise MissingExtraError("work on a cluster", "cluster") from None
        patience = min(_CONNECT_SECONDS, seconds)
        try:
            self._client = _in_time(patience, lambda: Client(address, timeout=patience, set_as_default=False))
        except (OSError, ValueError) as error:
            if seconds < _CONNECT_SECONDS and isinstance(error, TimeoutError):
                raise BudgetExceeded(f"the time limit was reached while connecting to {short_repr(address)}") from None
            raise InputError(
                f"no scheduler answers at {short_repr(address)}: {error}; is it tcp://HOST:PORT?"
            ) from None
        self._executor = self._client.get_executor(pure=False)

    @property
    def workers(self) -> int:
        threads: int = sum(self._client.nthreads().values())
        return max(1, threads)

    def share(self, value: object) -> object:
        """Share it as the result of a piece: workers fetch it from each other, and a lost one is computed again."""
        from dask.config import set as set_options

        with set_options({"distributed.admin.large-graph-warning-threshold": _NEVER}):  # large, and sent for once
            return self._client.submit(copy.copy, value, pure=False)

    def submit(self, function: Callable[..., Result], /, *arguments: Any) -> Future[Result]:
        future: Future[Result] = self._executor.submit(function, *arguments)
        return future

    def close(self) -> None:
        self._executor.shutdown(wait=False)
        self._client.close()
