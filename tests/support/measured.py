"""Verifications in a process of their own, so that their memory can be measured."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from support.memory import PEAK_KIB
from support.paths import TESTS

_PREAMBLE = f"""
import json, sys
sys.path[:0] = [{str(TESTS)!r}]
from rnncheck import Alphabet, Spec, VerifySettings, WordDistribution, verify, wrap
from support.clocks import Ticking

def ticking():
    return VerifySettings(clock=Ticking())

def report(verdict, **more):
    guarantee = verdict.guarantee
    print(json.dumps({{
        "outcome": verdict.outcome.value,
        "reason": verdict.reason,
        "word": verdict.counterexample,
        "epsilon": None if guarantee is None else guarantee.epsilon,
        "exact_length": None if guarantee is None else guarantee.exact_length,
        **more,
    }}), flush=True)
"""
_END = f"""
print({PEAK_KIB})
"""


@dataclass(frozen=True)
class Measured:
    """What a process reported, one entry a verification, and its peak memory."""

    reports: list[dict[str, Any]]
    mebibytes: float


def measured(code: str, *arguments: str, timeout: float = 300.0) -> Measured:
    """Run code that calls ``report(verdict)``; it finds ``arguments`` in ``sys.argv[1:]``."""
    done = subprocess.run(
        [sys.executable, "-c", _PREAMBLE + code + _END, *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    if done.returncode:
        raise AssertionError(done.stderr[-3000:])
    *lines, peak = done.stdout.splitlines()
    return Measured([json.loads(line) for line in lines], int(peak) / 1024)
