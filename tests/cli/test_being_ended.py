"""SIGTERM is handled like Ctrl-C, and neither ever shows a traceback, from the first moment on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from rnncheck import SuiteResult
from rnncheck.suite.suite_checkpoint import SuiteCheckpoint

START = "import sys; from rnncheck_start import main; sys.argv[0] = 'rnncheck'; main()"
# A module that says on stderr where it is, and stays there.
WAITING = "import sys, time\nsys.stderr.write('ready\\n')\nsys.stderr.flush()\ntime.sleep(600)\n"
ENDS = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])


def heard() -> None:
    """Let both signals be heard: a background job of a shell, which this may be, ignores Ctrl-C, as do its children."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def ended(folder: Path, number: int, *arguments: str, way: Sequence[str] = ("-c", START)) -> tuple[int, str, str]:
    """Exit code, stdout and the rest of stderr of a command that gets the signal once it says ``ready``."""
    process = subprocess.Popen(
        [sys.executable, *way, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heard,
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "ready\n"
    process.send_signal(number)
    out, err = process.communicate()
    return process.returncode, out, err


@ENDS
@pytest.mark.parametrize(
    ("loading", "command"),
    [("click", "--version"), ("numpy", "inspect")],  # which the command line imports first, and a command
    ids=["click", "numpy"],
)
@pytest.mark.parametrize("way", [("-c", START), ("-m", "rnncheck")], ids=["rnncheck", "python -m rnncheck"])
def test_while_python_is_still_loading(
    tmp_path: Path, number: int, loading: str, command: str, way: Sequence[str]
) -> None:
    (tmp_path / f"{loading}.py").write_text(WAITING)
    assert ended(tmp_path, number, command, way=way) == (128 + number, "", "interrupted\n")


@ENDS
def test_a_program_that_imports_rnncheck_keeps_its_signals(tmp_path: Path, number: int) -> None:
    """Should leave Ctrl-C to a program of the user's, however that is started."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "__init__.py").write_text(
        f"import signal\nfirst = signal.getsignal({number})\nimport rnncheck"
    )
    (tmp_path / "mine" / "__main__.py").write_text(
        f"import signal, mine\nassert signal.getsignal({number}) == mine.first\nprint('kept')\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mine", "-m"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout == "kept\n", done.stderr


@ENDS
def test_while_a_model_is_being_loaded(tmp_path: Path, number: int) -> None:
    """Should exit as shells have it: there is no verdict to tell."""
    (tmp_path / "mine.py").write_text(WAITING)
    code, out, err = ended(tmp_path, number, "verify", "--module", "mine:model", "--alphabet", "a,b", "--regex", "a*")
    assert (code, out, err.strip()) == (128 + number, "", "interrupted")


@ENDS
def test_a_verification_ends_with_the_verdict_so_far(tmp_path: Path, number: int) -> None:
    (tmp_path / "mine.py").write_text(
        "import os, sys, time\ncalls = 0\ndef model(words):\n    global calls\n    calls += 1\n    if calls == 40:\n"
        "        sys.stderr.write('ready\\n')\n        sys.stderr.flush()\n        time.sleep(600)\n"
        "    return [False for word in words]\n"
    )
    code, out, err = ended(
        tmp_path, number, "verify", "--module", "mine:model", "--alphabet", "a,b", "--regex", "a*", "--bound",
        "hoeffding", "--method", "smc", "--json", "v.json", "--quiet",
    )  # fmt: skip
    assert (code, err) == (3, "")
    assert out.startswith("? UNDECIDED")
    assert json.loads((tmp_path / "v.json").read_text())["reason"] == "interrupted"


@ENDS
def test_a_property_file_ends_with_what_is_known(tmp_path: Path, number: int) -> None:
    """While words are compared with the reference, one at a time: not satisfied, and no other check is begun."""
    (tmp_path / "mine.py").write_text(
        "import sys, time\ncalls = 0\ndef model(words):\n    global calls\n    calls += len(words) == 1\n"
        "    if calls == 50:\n        calls += 1\n        sys.stderr.write('ready\\n')\n        sys.stderr.flush()\n"
        "        time.sleep(600)\n    return ['b' not in word for word in words]\n"
    )
    (tmp_path / "suite.toml").write_text(
        '[defaults]\nepsilon = 0.1\ngamma = 0.1\nmethod = "smc"\n[models.mine]\nmodule = "mine:model"\n'
        'alphabet = ["a", "b"]\n[properties.one]\nregex = "a*"\n[properties.two]\nregex = "a*"\n'
    )
    code, out, err = ended(
        tmp_path, number, "check", "suite.toml", "--checkpoint", "kept.json", "--json", "all.json", "--quiet"
    )
    assert (code, err) == (3, "")
    assert "UNDECIDED" in out
    first, second = SuiteResult.from_json((tmp_path / "all.json").read_text()).checks
    assert (first.outcome, first.sentence()) == ("undecided", "interrupted")
    assert second.verdict is None
    assert SuiteCheckpoint(tmp_path / "kept.json", resume=True).earlier() == {}


def test_a_wish_to_be_left_alone_is_respected(tmp_path: Path) -> None:
    """Should continue if the program that started it has the signal ignored, as nohup does for another."""
    (tmp_path / "mine.py").write_text(
        "import os, signal\n"
        "def model(words):\n    os.kill(os.getpid(), signal.SIGTERM)\n    return [False] * len(words)\n"
    )
    verify = ["verify", "--module", "mine:model", "--alphabet", "a,b", "--regex", ".*", "--epsilon", "0.1", "--quiet"]
    done = subprocess.run(
        ["sh", "-c", 'trap "" TERM; exec "$@"', "sh", sys.executable, "-c", START, *verify],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("arguments", "way"),
    [
        (["verify", "--no-such-option"], "(see rnncheck verify --help)"),
        (["verify", "--method", "guess"], "(see rnncheck verify --help)"),
        (["verify", "--epsilon", "many"], "(see rnncheck verify --help)"),
        (["verify"], "(see rnncheck verify --help)"),
        (["spec", "show"], "(see rnncheck spec show --help)"),
        (["spec", "nothing"], "(see rnncheck spec --help)"),
        (["nothing"], "(see rnncheck --help)"),
        (["report", "x.json"], "(see rnncheck report --help)"),
        (["contacts", "dataset", "x", "-o"], "(see rnncheck contacts dataset --help)"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_usage_error_is_one_line_with_the_way_to_the_help(run, arguments: list[str], way: str) -> None:
    result = run(*arguments)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("rnncheck: ")
    assert result.err.endswith(f" {way}\n")
    assert result.err.count("\n") == 1
