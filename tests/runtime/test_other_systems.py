"""The core runs where the system has neither flock nor an alarm, as on Windows."""

import subprocess
import sys

import pytest

WITHOUT = """
import signal, sys
sys.modules["fcntl"] = None
for name in ("SIGALRM", "setitimer", "getitimer", "ITIMER_REAL", "alarm"):
    delattr(signal, name)
"""

VERIFY = """
import rnncheck, rnncheck.zoo
from rnncheck.cli import main
model = rnncheck.wrap(lambda words: [len(word) > 2 for word in words], ["a", "b"], timeout=60)
verdict = rnncheck.verify(model, rnncheck.Spec.from_regex("a*", ["a", "b"]), timeout=600)
assert verdict.violated
verdict.save_report("report.html")
try:
    main(["verify", str(rnncheck.zoo.path("response-lstm")), "--regex", ".*", "--epsilon", "0.1", "--gamma", "0.1",
          "--search-steps", "0", "--checkpoint", "c", "--timeout", "600", "--json", "v.json"])
except SystemExit as end:
    assert end.code == 0, end.code
import os
assert sorted(os.listdir()) == ["c", "report.html", "v.json"], os.listdir()
"""

TRAIN = """
import rnncheck, rnncheck.zoo
from rnncheck.cli import main
for more in ([], ["--resume"]):
    try:
        main(["train", "--regex", "a*", "--alphabet", "a,b", "-o", "n.safetensors", "--epochs", "1", "--count", "20",
              "--hidden", "4", "--checkpoint", "part", *more])
    except SystemExit as end:
        assert not end.code, end.code
"""

BENCH = """
from rnncheck.cli import main
if __name__ == "__main__":
    try:
        main(["bench", "summary", "run"])
    except SystemExit as end:
        assert end.code == 2, end.code
    from rnncheck.experiments.folder import RunFolder
    folder = RunFolder.begun("run", "random", {}, None)
    with folder.locked():
        folder.write("verdicts/x.json", b"{}")
    assert RunFolder.existing("run").has("verdicts/x.json")
"""


@pytest.mark.parametrize(
    "work", [VERIFY, pytest.param(TRAIN, marks=pytest.mark.slow), BENCH], ids=["verify", "train", "bench"]
)
def test_the_core_runs_without_flock_and_without_an_alarm(tmp_path, work: str) -> None:
    if work is TRAIN:
        pytest.importorskip("torch")
    program = tmp_path / "program.py"
    program.write_text(WITHOUT + work)
    folder = tmp_path / "work"
    folder.mkdir()
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr


def test_windows_locks_by_its_own_means(monkeypatch, tmp_path) -> None:
    """The same promise by another door: a file that is locked is not locked again."""
    import errno
    import types

    from rnncheck.runtime import locks

    held: set[int] = set()

    def locking(handle: int, mode: int, count: int) -> None:
        if held:
            raise OSError(errno.EACCES, "Permission denied")
        held.add(handle)

    monkeypatch.setattr(locks, "_fcntl", None)
    monkeypatch.setattr(locks, "_msvcrt", types.SimpleNamespace(locking=locking, LK_NBLCK=2))
    with (tmp_path / "lock").open("w") as first, (tmp_path / "lock").open("w") as second:
        assert locks.lock(first.fileno())
        assert not locks.lock(second.fileno())
