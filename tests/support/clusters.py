"""A real Dask scheduler with two worker processes."""

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.paths import TESTS


class Cluster:
    """Scheduler and workers as users start them, from the command line."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")]),
            "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "20s",
            "DASK_DISTRIBUTED__DASHBOARD__LINK": "",
        }
        file = folder / "scheduler.json"
        self._processes = [
            self._start("dask_scheduler", "--scheduler-file", file, "--port", "0", "--host", "127.0.0.1",
                        "--no-dashboard")
        ]  # fmt: skip
        self.workers = [
            self._start("dask_worker", "--scheduler-file", file, "--nthreads", "1", "--no-dashboard", "--no-nanny",
                        "--local-directory", folder / f"worker-{number}")
            for number in range(2)
        ]  # fmt: skip
        self._processes += self.workers
        self.address = self._address(file)

    def _start(self, program: str, *arguments: object) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-W", "ignore", "-m", f"distributed.cli.{program}", *map(str, arguments)]
        log = (self._folder / f"{program}-{time.monotonic_ns()}.log").open("wb")
        with log:
            return subprocess.Popen(command, stdout=log, stderr=log, env=self._environment)

    def _address(self, file: Path) -> str:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):  # not there, or half written
                return str(json.loads(file.read_text())["address"])
            time.sleep(0.01)
        pytest.fail("the scheduler did not start")

    def close(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait()
