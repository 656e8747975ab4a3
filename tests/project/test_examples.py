"""The scripts in ``examples/`` run, and find what they say they find."""

import contextlib
import importlib
import io
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import rnncheck
from support.paths import ROOT

EXAMPLES = ROOT / "examples"


def run_example(name: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    return out.getvalue()


def test_the_demo_runs() -> None:
    """Should find the fault of one network and none of the other, and replay both verdicts."""
    out = run_example("demo")
    assert "VIOLATED" in out
    assert "SATISFIED (statistical)" in out
    assert "REFUTED" not in out
    assert out.count("the verdict stands") == 2


@pytest.mark.slow
def test_the_xml_example_says_which_tag_is_not_closed() -> None:
    """Should find every tag closed at the usual threshold, and not at a low one."""
    usual, low = run_example("xml_tags").split("accepting above 0.07:")
    assert usual.count("satisfied") == 3
    assert "every <title> is followed by </title>: violated\n    not in <book> <title>" in low
    assert "every <author> is followed by </author>: satisfied" in low


def test_a_network_of_nested_tags_breaks_a_regular_property() -> None:
    """Should find documents that are accepted and, by the stack of the example itself, not well-formed."""
    out = run_example("matching_tags")
    assert re.search(r"its closing tag: violated\n  accepted: .* \(not well-formed\)\n  and so with", out)
    assert "(well-formed)" not in out


@pytest.mark.slow
def test_the_example_with_three_labels_finds_all_right() -> None:
    """Should check each label against the others."""
    out = run_example("token_labels")
    right = re.findall(r"^(\w+) exactly for .*: satisfied$", out, flags=re.MULTILINE)
    assert right == ["integer", "decimal", "malformed"]


def test_the_access_log_example_finds_the_gap() -> None:
    """Should find a session that reads or writes before a login."""
    out = run_example("access_log")
    (session,) = re.findall(r"taken for normal: (.*)", out)
    before_login = session.split("login")[0].split()
    assert {"read", "write"} & set(before_login)


def test_the_contact_example_tells_the_counterexample_in_words() -> None:
    """Should name people who never met, or one person twice."""
    out = run_example("contact_sequences")
    assert re.search(r"the network accepts .*(never met|the same person twice)", out)


def test_the_pytest_example_passes(tmp_path: Path) -> None:
    """Should pass two properties and expect the failure of one."""
    shutil.copy(EXAMPLES / "test_my_model.py", tmp_path)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_my_model.py"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert "2 passed, 1 xfailed" in result.stdout, result.stdout


def test_every_example_is_in_their_readme() -> None:
    text = (EXAMPLES / "README.md").read_text()
    for script in EXAMPLES.glob("*.py"):
        assert f"[{script.name}]({script.name})" in text


@pytest.mark.parametrize(("script", "package"), [("published_g2p", "g2p_en"), ("published_keras", "textgenrnn")])
def test_the_example_of_a_published_network_says_what_it_needs(script: str, package: str) -> None:
    """Should name the package where it is not installed; its weights are nobody's to commit."""
    done = subprocess.run([sys.executable, EXAMPLES / f"{script}.py"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 or f"pip install --no-deps {package}" in done.stderr


@pytest.mark.parametrize("layer", ["Rwkv", "Mamba"])
def test_steps_of_modern_recurrences_are_their_whole_words(layer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Should be so with random weights, before anything is trained; and a step that is off by little is refused."""
    torch = pytest.importorskip("torch")
    monkeypatch.syspath_prepend(EXAMPLES)
    example: Any = importlib.import_module("modern_recurrences")
    torch.manual_seed(1)
    module = getattr(example, layer)()
    model = rnncheck.wrap_steps(
        module.initial, module.step, module.score, example.LETTERS, empty=True, whole_words=example.whole_words(module)
    )
    check = model.describe()["self_check"]
    assert check["whole_words"] == check["words"] > 10
    assert check["largest_difference"] < 1e-4
    with pytest.raises(rnncheck.ModelError):
        rnncheck.wrap_steps(
            module.initial, module.step, lambda states: module.score(states) + 0.1, example.LETTERS, empty=True,
            whole_words=example.whole_words(module),
        )  # fmt: skip
