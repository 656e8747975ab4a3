"""``rnncheck repair`` from the command line."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rnncheck import load_model, zoo

pytest.importorskip("torch")

FORMULA = "G(a -> F b)"


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rnncheck", "repair", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)


def _heard() -> None:
    """Let Ctrl-C be heard: a background job of a shell, which this may be, ignores it, as do its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(zoo.path("response-faulty-lstm"), tmp_path / "model.safetensors")
    return tmp_path


@pytest.mark.slow
def test_a_violated_network_comes_back_without_the_violation(folder: Path) -> None:
    (folder / "properties.toml").write_text(f'[properties.answered]\nltlf = "{FORMULA}"\n')
    result = run(folder, "model.safetensors", "--spec", "properties.toml", "-o", "fixed.safetensors", "--report",
                 "page.html", "--json", "report.json", "--effort", "0.1", "--no-harden", "--quiet")  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("NOTHING FOUND")
    report = json.loads((folder / "report.json").read_text())
    assert report["output"] == "fixed.safetensors"
    assert report["properties"][0]["before"]["outcome"] == "violated"
    assert "Before and after" in (folder / "page.html").read_text()
    word = ["a", *["c"] * 10]
    assert load_model(folder / "model.safetensors").accepts(word)
    assert not load_model(folder / "fixed.safetensors").accepts(word)


@pytest.mark.slow
def test_ctrl_c_tells_what_there_is_and_exits_with_3(folder: Path) -> None:
    command = [sys.executable, "-m", "rnncheck", "repair", "model.safetensors", "--ltlf", FORMULA, "-o",
               "f.safetensors", "--checkpoint", "run.checkpoint", "--effort", "1000"]  # fmt: skip
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                               preexec_fn=_heard)  # fmt: skip
    end = time.monotonic() + 120
    while not (folder / "run.checkpoint").exists() and time.monotonic() < end:
        time.sleep(0.1)
    os.kill(process.pid, signal.SIGINT)
    told, _ = process.communicate(timeout=120)
    assert process.returncode == 3, told
    assert told.startswith("ENDED EARLY")
    assert not load_model(folder / "f.safetensors").accepts(["a", *["c"] * 10])  # that of the round that ended


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["model.safetensors", "-o", "f.safetensors"], "give a specification"),
        (["model.safetensors", "--ltlf", FORMULA, "-o", "model.safetensors"], "would be written over"),
        (["model.safetensors", "--ltlf", FORMULA, "-o", "f.pt"], "must end in .safetensors"),
        (["model.onnx", "--ltlf", FORMULA, "-o", "f.safetensors"], "repair the original it was exported from"),
        (["model.safetensors", "--ltlf", FORMULA, "-o", "none/f.safetensors"], "no folder"),
        (["model.safetensors", "--ltlf", FORMULA, "--state", "w.pt", "-o", "f.safetensors"], "without --module"),
        (["model.safetensors", "--ltlf", FORMULA, "--words", "bad.tsv", "-o", "f.safetensors"], "'a' is labelled yes"),
        (["model.safetensors", "--regex", "a*", "--dfa", "none.dot", "-o", "f.safetensors"], "none.dot"),
    ],
)
def test_bad_input_is_one_line_and_changes_nothing(folder: Path, arguments: list[str], said: str) -> None:
    (folder / "bad.tsv").write_text("yes\ta b\nyes\ta\n")
    before = (folder / "model.safetensors").read_bytes()
    result = run(folder, *arguments)
    assert result.returncode == 2
    assert said in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert (folder / "model.safetensors").read_bytes() == before
    assert not (folder / "f.safetensors").exists()
