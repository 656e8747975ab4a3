"""``pytest --rnncheck suite.toml``: a test for each property and model; failures show the word, not our stack."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rnncheck import Spec
from rnncheck.models.files.safetensors_file import save_network
from support.paths import ROOT
from support.robust_networks import robust_network

SUITE = """
[defaults]
epsilon = 0.05
gamma = 0.05
search_steps = 2000
[models.mine]
path = "mine.safetensors"
[properties.answered]
description = "Every request is answered."
ltlf = "G(a -> F b)"
tags = ["safety"]
[properties.seen]
ltlf = "F b"
[properties.perhaps]
ltlf = "G(a -> F b)"
severity = "warning"
"""


def run(folder: Path, *arguments: str) -> tuple[int, str]:
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "src"),
        "PYTEST_ADDOPTS": "",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    command = [sys.executable, "-m", "pytest", "-p", "rnncheck_pytest", "-p", "no:cacheprovider", "-c", os.devnull]
    done = subprocess.run(
        [*command, "--rootdir", str(folder), *arguments],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_network(robust_network(Spec.from_ltlf("F b", ["a", "b", "c"]).dfa), tmp_path / "mine.safetensors")
    (tmp_path / "suite.toml").write_text(SUITE)
    (tmp_path / "test_other.py").write_text("def test_other():\n    pass\n")
    return tmp_path


def test_a_test_for_each_property(folder: Path) -> None:
    """Should fail with the word and the flow and without a stack, skip what is allowed, and run other tests too."""
    code, out = run(folder, "--rnncheck", "suite.toml", "-rfs")
    assert code == 1
    assert "1 failed, 2 passed, 1 skipped" in out
    assert "counterexample: b a (2 letters; the network accepts it, the specification rejects it)" in out
    assert "faulty flow:" in out
    assert "FAILED suite.toml::answered[mine] - violated: counterexample: b a" in out
    assert "allowed (warning): violated: counterexample: b a" in out
    assert "Traceback" not in out
    assert "single.py" not in out
    assert "1 skipped, 3 deselected" in run(folder, "--rnncheck", "suite.toml", "-k", "perhaps")[1]
    assert "1 failed, 3 deselected" in run(folder, "--rnncheck", "suite.toml", "-m", "safety")[1]


def test_what_is_wrong_is_told_in_a_line(folder: Path) -> None:
    """Should name the file; a model that is not there fails its own tests."""
    code, out = run(folder, "--rnncheck", "none.toml")
    assert code == 4
    assert "none.toml: cannot be read" in out
    assert "Traceback" not in out
    (folder / "mine.safetensors").unlink()
    code, out = run(folder, "--rnncheck", "suite.toml")
    assert code == 1
    assert "no such file or folder" in out
    assert "Traceback" not in out


def test_a_suite_to_begin_with(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Should be read as it is, keep what was said of the model, and write over nothing."""
    from rnncheck import Suite
    from rnncheck.cli import main

    monkeypatch.chdir(folder)

    def init(*arguments: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as caught:
            main(["init", *arguments])
        reported = capsys.readouterr()
        return int(caught.value.code or 0), reported.out + reported.err

    save_network(robust_network(Spec.from_ltlf("F 'x \\'\"'", ["a", "x '\""]).dfa), folder / 'odd "name.safetensors')
    (folder / "sub").mkdir()
    code, _ = init('odd "name.safetensors', "--threshold", "0.75", "--float64", "-o", "sub/new.toml")
    assert code == 0
    (model,) = Suite.read("sub/new.toml").models
    assert (model.threshold, model.float64, model.name) == (0.75, True, 'odd "name')
    loaded = model.load()
    assert list(loaded.alphabet) == ["a", "x '\""]
    (one,) = Suite.read("sub/new.toml").properties
    assert one.spec(loaded.alphabet).sha256() == Spec.from_ltlf("F a", loaded.alphabet).sha256()
    code, out = init("mine.safetensors", "-o", "sub/new.toml")
    assert code == 2
    assert "exists already" in out
    assert init("mine.safetensors", "-o", "sub/new.toml", "--force")[0] == 0
    assert "[properties.example]" in init("mine.safetensors", "-o", "-")[1]
