"""Killing a process inside a write: at a stage, and at a write, that the test names."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

STAGES = ("opened", "half written", "before fsync", "before rename", "after rename")

# Python runs this in every process that it starts in the folder's environment, workers included. It finds the files by
# the name that ``rnncheck.runtime.files`` gives to what is not yet whole.
_HOOK = """
import os, signal, tempfile

stage, left = os.environ["RNNCHECK_TEST_KILL"].rsplit(":", 1)
left = int(left)
mkstemp, fsync, replace = tempfile.mkstemp, os.fsync, os.replace


def reached(now, name):
    global left
    if now == stage and ".rnncheck-" in str(name):
        left -= 1
        return left == 0
    return False


def die():
    os.killpg(0, signal.SIGKILL)
    signal.pause()


def killing_mkstemp(*arguments, **options):
    made = mkstemp(*arguments, **options)
    if reached("opened", made[1]):
        die()
    return made


def killing_fsync(handle):
    name = os.readlink(f"/proc/self/fd/{handle}")
    if reached("half written", name):
        os.ftruncate(handle, os.fstat(handle).st_size // 2)
        die()
    if reached("before fsync", name):
        die()
    fsync(handle)


def killing_replace(source, target, **options):
    if reached("before rename", source):
        die()
    replace(source, target, **options)
    if reached("after rename", source):
        die()


tempfile.mkstemp, os.fsync, os.replace = killing_mkstemp, killing_fsync, killing_replace
"""


def kill_inside_writes(
    command: Sequence[object], hooks: Path, moments: Sequence[tuple[str, int]]
) -> Iterator[tuple[str, int]]:
    """Run the command once for each moment, a stage and the number of the write; it must be killed there each time."""
    hooks.mkdir()
    (hooks / "sitecustomize.py").write_text(_HOOK)
    path = os.pathsep.join([str(hooks), *filter(None, [os.environ.get("PYTHONPATH")])])
    for stage, write in moments:
        environment = {**os.environ, "PYTHONPATH": path, "RNNCHECK_TEST_KILL": f"{stage}:{write}"}
        done = subprocess.run(
            list(map(str, command)), env=environment, capture_output=True, start_new_session=True, timeout=600
        )
        assert done.returncode == -signal.SIGKILL, f"not killed {stage}, write {write}: {done.stderr.decode()[-2000:]}"
        assert done.stderr == b""
        yield stage, write
