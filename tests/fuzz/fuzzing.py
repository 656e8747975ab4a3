"""Runs a target on many inputs and keeps those that it must not fail on."""

from __future__ import annotations

import hashlib
import random
import signal
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from fuzz.mutations import LARGEST
from fuzz.targets import Run, Target, workplace
from rnncheck.errors import ResourceLimitError, RnncheckError, StateLimitError
from rnncheck.runtime.budget import Clock

SLOW = 1.0  # seconds of processor time that no input may take,
UNTIL_A_LIMIT = 10.0  # unless a limit on states or terms ends the work: a hundred thousand states take a while
LONGEST_MESSAGE = 1000  # characters more than the input has: a message may quote it, once
_HANGS = 60.0
_PATIENCE = 3.0


class HangingError(BaseException):
    """Raised into work that does not end; not an Exception, so that no reader takes it for a bad file."""


@dataclass(frozen=True)
class Failure:
    """An input, and what happened: an exception that is not ours, or too much time."""

    target: str
    data: bytes
    what: str
    place: str

    @property
    def file_name(self) -> str:
        return f"{self.target}-{hashlib.sha256(self.data).hexdigest()[:12]}.bin"


@dataclass
class Outcome:
    """What a run came to."""

    executions: int = 0
    refused: int = 0
    slowest: float = 0.0
    slowest_input: bytes = b""
    seconds: float = 0.0
    failures: dict[str, Failure] = field(default_factory=dict)  # one for each place


def fuzz(
    target: Target,
    *,
    seed: int = 0,
    executions: int | None = None,
    seconds: float | None = None,
    clock: Clock = time.process_time,
) -> Outcome:
    """Run for a number of executions or seconds of processor time; the clock measures each input."""
    outcome = Outcome()
    with workplace() as folder, _interrupted_when_hanging(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = target.make(Path(folder))
        for data in target.corpus():  # what is imported and compiled at the first use is not charged to an input
            execute(target.name, run, data, Outcome(), clock)
        began, began_waiting = time.process_time(), time.monotonic()
        for data in target.inputs(random.Random(seed)):
            execute(target.name, run, data, outcome, clock)
            outcome.seconds = time.process_time() - began
            if executions is not None and outcome.executions >= executions:
                break
            waited = time.monotonic() - began_waiting  # for another process that draws, say, or for a busy machine
            if seconds is not None and (outcome.seconds >= seconds or waited >= _PATIENCE * seconds):
                break
    return outcome


def execute(name: str, run: Run, data: bytes, outcome: Outcome, clock: Clock = time.process_time) -> None:
    """One execution, charged to the outcome."""
    signal.setitimer(signal.ITIMER_PROF, _HANGS)
    began, allowed = clock(), SLOW
    try:
        run(data)
    except RnncheckError as error:
        outcome.refused += 1
        if isinstance(error, StateLimitError | ResourceLimitError):
            allowed = UNTIL_A_LIMIT
        if not 0 < len(str(error)) <= len(data) + LONGEST_MESSAGE:
            _keep(outcome, Failure(name, data, f"a message of {len(str(error))} characters", "message"))
    except HangingError:
        _keep(outcome, Failure(name, data, f"still at work after {_HANGS} s", "hang"))
    except Exception as error:
        _keep(outcome, Failure(name, data, f"{type(error).__name__}: {str(error)[:200]}", _place(error)))
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    took = clock() - began
    outcome.executions += 1
    if took > outcome.slowest:
        outcome.slowest, outcome.slowest_input = took, data
    if took > allowed and len(data) <= LARGEST:
        _keep(outcome, Failure(name, data, f"took {took:.2f} s for {len(data)} bytes", "slow"))


def _keep(outcome: Outcome, failure: Failure) -> None:
    """The smallest input for each place is worth most."""
    known = outcome.failures.get(failure.place)
    if known is None or len(failure.data) < len(known.data):
        outcome.failures[failure.place] = failure


def _place(error: Exception) -> str:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "rnncheck" in frame.filename]
    last = frames[-1] if frames else traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}"


@contextmanager
def _interrupted_when_hanging() -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise HangingError

    before = signal.signal(signal.SIGPROF, stop)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
