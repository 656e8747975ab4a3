"""A verdict's exit code and files are the verdict's, whatever becomes of stdout and stderr: real processes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rnncheck import zoo
from support.paths import ROOT

MODEL = str(zoo.entry("even-elman").path)
QUICK = ["--epsilon", "0.05", "--gamma", "0.05"]
HOLDS = ["verify", MODEL, "--regex", ".*", *QUICK]
BROKEN = ["verify", MODEL, "--regex", "a*", *QUICK]
SMALL = ["--regex", "a*", "--alphabet", "a,b"]

# Each: a command and its exit code.
ANSWERS: dict[str, tuple[list[str], int]] = {
    "verify, satisfied": ([*HOLDS, "--json", "v.json", "--report", "r.html"], 0),
    "verify, violated": ([*BROKEN, "--json", "v.json", "--report", "r.html"], 1),
    "verify, JSON to stdout": ([*BROKEN, "--json", "-"], 1),
    "replay": (["replay", "given.json"], 3),
    "spec test": (["spec", "test", *SMALL, "--word", "a b"], 1),
    "spec test, yes": (["spec", "test", *SMALL, "--word", "a"], 0),
    "spec compare": (["spec", "compare", "regex:a*", "regex:.*", "--alphabet", "a,b"], 0),
    "classify": (["classify", MODEL, "--word", "a"], 1),
    "extract": (["extract", MODEL, *QUICK, "-o", "a.dot"], 0),
    "contacts check": (["contacts", "check", "contacts.txt", "--path", "carl anna anna"], 1),
}

Start = Callable[[list[str]], Any]


def process(arguments: list[str], **how: object) -> Any:
    command = [sys.executable, "-m", "rnncheck", *arguments]
    options: dict[str, object] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **how}
    return subprocess.run(command, check=False, **options)  # type: ignore[call-overload]


def nobody_reads(arguments: list[str]) -> Any:
    """As `| true` when the reader was quick."""
    ours, theirs = os.pipe()
    os.close(ours)
    try:
        return process(arguments, stdout=theirs)
    finally:
        os.close(theirs)


def nobody_reads_either(arguments: list[str]) -> Any:
    """As `2>&1 | true`."""
    ours, theirs = os.pipe()
    os.close(ours)
    try:
        return process(arguments, stdout=theirs, stderr=theirs)
    finally:
        os.close(theirs)


def full(arguments: list[str]) -> Any:
    with open("/dev/full", "w") as device:
        return process(arguments, stdout=device)


def closed(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rnncheck", *arguments]
    return subprocess.run(["sh", "-c", '"$@" >&- 2>&-', "sh", *command], capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "contacts.txt").write_text("0 anna ben\n1 ben carl\n2 carl anna\n")
    return tmp_path


@pytest.fixture
def given(folder: Path, verdict_text: str) -> Path:
    (folder / "given.json").write_text(verdict_text)
    return folder


@pytest.fixture(scope="module")
def verdict_text() -> Any:
    return process([*HOLDS, "--json", "-"]).stdout


@pytest.mark.parametrize(
    ("name", "start"),
    [("verify, violated", start) for start in (nobody_reads, nobody_reads_either, full, closed)]
    + [("spec test", start) for start in (nobody_reads, full)]
    + [pytest.param(name, nobody_reads, marks=pytest.mark.slow) for name in ANSWERS],
)
def test_the_exit_code_is_the_answers_whatever_becomes_of_stdout(given: Path, name: str, start: Start) -> None:
    arguments, code = ANSWERS[name]
    done = start(arguments)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in (done.stderr or "")
    for option in ("--json", "--report", "-o"):
        if option in arguments and arguments[arguments.index(option) + 1] != "-":
            assert (given / arguments[arguments.index(option) + 1]).stat().st_size > 0


def test_a_lost_result_is_told_where_somebody_can_hear_it(given: Path) -> None:
    done = full(HOLDS)
    assert done.stderr == "rnncheck: stdout: No space left on device; what is missing there is lost\n"
    assert nobody_reads(HOLDS).stderr == ""


@pytest.mark.parametrize(
    "arguments", [["spec", "show", *SMALL], ["spec", "convert", *SMALL, "--to", "-"], ["inspect", MODEL]]
)
def test_where_the_output_is_all_there_is_a_full_disk_is_a_failure_and_a_gone_reader_is_none(
    folder: Path, arguments: list[str]
) -> None:
    assert full(arguments).returncode == 2
    assert nobody_reads(arguments).returncode == 0


def test_help_ends_well_without_a_reader() -> None:
    done = nobody_reads(["verify", "--help"])
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("encoding", ["cp1252", "utf-8"])
def test_characters_that_the_terminal_lacks_are_replaced(folder: Path, encoding: str) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    done = process([*HOLDS, "--json", "v.json"], text=False, env=environment)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"PROVED" in done.stdout
    assert json.loads((folder / "v.json").read_text(encoding="utf-8"))["verdict"] == "satisfied"
    shown = process(["spec", "show", *SMALL], text=False, env=environment)
    assert shown.returncode == 0


def test_documents_on_stdout_are_utf_8_whatever_the_terminal_speaks(folder: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "cp1252"}
    letters = ["--regex", "ε|é", "--alphabet", "é,😀"]
    done = process(["spec", "convert", *letters, "--to", "-"], text=False, env=environment)
    assert "😀".encode() in done.stdout


def test_there_is_one_way_to_the_terminal() -> None:
    """Should write nothing past ``rnncheck.cli.output``."""
    others = [path for path in (ROOT / "src/rnncheck/cli").glob("*.py") if path.name != "output.py"]
    past = [path.name for path in others if re.search(r"click\.(echo|style|secho)|\bprint\(", path.read_text())]
    assert not past
