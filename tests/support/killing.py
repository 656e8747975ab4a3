"""Killing a process again and again in the middle of its work."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest


def kill_at_random_moments(command: Sequence[object], file: Path, kills: int) -> None:
    """Start the command so many times, and end it by SIGKILL soon after it has written the file anew."""
    rng = np.random.default_rng(0)
    for kill in range(kills):
        before = _written(file)
        process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        while process.poll() is None and _written(file) == before:
            time.sleep(0.002)
        time.sleep(rng.exponential(0.02))
        process.kill()
        assert process.communicate()[1] == b""
        if process.returncode == 0:
            pytest.fail(f"the work was over after {kill} kills; make it longer")


def _written(file: Path) -> int:
    return file.stat().st_mtime_ns if file.exists() else 0
