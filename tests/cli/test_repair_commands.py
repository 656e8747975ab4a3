"""``rnncheck repair`` from the command line."""

import importlib
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import pytest

from rnncheck import RepairSettings, load_model, zoo
from rnncheck.cli import main
from rnncheck.training.fine_tuning import FineTuning

torch = pytest.importorskip("torch")
Inside: TypeAlias = Callable[..., tuple[int, str, str]]

FORMULA = "G(a -> F b)"


def _heard() -> None:
    """Let Ctrl-C be heard: a background job of a shell, which this may be, ignores it, as do its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(zoo.path("response-faulty-lstm"), tmp_path / "model.safetensors")
    return tmp_path


@pytest.fixture
def inside(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Inside:
    """``inside("model.safetensors", …)`` runs ``rnncheck repair`` in this process and in the folder."""
    monkeypatch.chdir(folder)

    def call(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as caught:
            main(["repair", *arguments])
        reported = capsys.readouterr()
        return int(caught.value.code or 0), reported.out, reported.err

    return call


def test_a_violated_network_comes_back_without_the_violation(folder: Path, inside: Inside) -> None:
    (folder / "properties.toml").write_text(f'[properties.answered]\nltlf = "{FORMULA}"\n')
    code, out, err = inside("model.safetensors", "--spec", "properties.toml", "-o", "fixed.safetensors", "--report",
                            "page.html", "--json", "report.json", "--effort", "0.01", "--no-harden")  # fmt: skip
    assert code == 0, err
    assert out.startswith("NOTHING FOUND")
    report = json.loads((folder / "report.json").read_text())
    assert report["output"] == "fixed.safetensors"
    assert report["properties"][0]["before"]["outcome"] == "violated"
    assert "Before and after" in (folder / "page.html").read_text()
    word = ["a", *["c"] * 10]
    assert load_model(folder / "model.safetensors").accepts(word)
    assert not load_model(folder / "fixed.safetensors").accepts(word)


def test_a_network_that_is_proved_already_gets_its_certificate(folder: Path, inside: Inside) -> None:
    """Should end proved, with a certificate that replay confirms."""
    shutil.copy(zoo.path("response-provable-lstm"), folder / "model.safetensors")
    code, out, err = inside("model.safetensors", "--ltlf", FORMULA, "-o", "fixed.safetensors", "--effort", "0.01",
                            "--certificate", "proof.cert", "--quiet")  # fmt: skip
    assert code == 0, err
    assert out.startswith("PROVED")
    with pytest.raises(SystemExit) as caught:
        main(["replay", "proof.cert", "--model", "model.safetensors"])
    assert caught.value.code in (0, None)


def test_a_network_without_a_fault_is_trained_for_a_proof(folder: Path, inside: Inside) -> None:
    """Should not end with "nothing found" where hardening gets a proof."""
    shutil.copy(zoo.path("even-elman"), folder / "model.safetensors")
    code, out, err = inside("model.safetensors", "--regex", "(b* a b* a)* b*", "--relation", "equal", "-o",
                            "fixed.safetensors", "--effort", "0.001")  # fmt: skip
    assert code == 0, err
    assert out.startswith("PROVED")
    assert load_model(folder / "fixed.safetensors").accepts(["a", "b", "a"])


MODULE = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        # letters
        self.embedding = torch.nn.Embedding(3, 3)
        self.recurrent = torch.nn.GRU(3, 4, batch_first=True)
        self.head = torch.nn.Linear(4, 1)
    def forward(self, words):
        return self.head(self.recurrent(self.embedding(words))[0])[:, -1, 0]

def build():
    torch.manual_seed(3)
    return Net()
"""


@dataclass(frozen=True)
class FewWords(RepairSettings):
    letters: int = 300
    held_out: int = 500
    fine_tuning: FineTuning = field(default_factory=lambda: FineTuning(min_batches=10, learning_rate=0.02))


def test_a_module_comes_back_with_its_own_layout(folder: Path, inside: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    """Should write the state dict of the person's own class, trained until the property is kept."""
    name = "net_of_the_repair_test_with_letters"
    (folder / f"{name}.py").write_text(MODULE.replace("# letters", 'self.alphabet = ["a", "b", "c"]'))
    monkeypatch.syspath_prepend(folder)
    net = importlib.import_module(name).build()
    torch.save(net.state_dict(), folder / "weights.pt")
    command = importlib.import_module("rnncheck.cli.repair_command")
    monkeypatch.setattr(command, "RepairSettings", FewWords)
    code, out, err = inside("--module", f"{name}:build", "--state", "weights.pt", "--regex", "(a|b|c)* b", "--stop",
                            "0.5", "--max-length", "8", "-o", "fixed.pt", "--effort", "0.001", "--no-harden",
                            "--max-loss", "0.2", "--quiet")  # fmt: skip
    assert code == 0, out + err
    state = torch.load(folder / "fixed.pt", weights_only=True)
    assert state.keys() == net.state_dict().keys()
    net.load_state_dict(state)
    for word in itertools.product(range(3), repeat=3):
        if word[-1] != 1:
            assert float(net(torch.tensor([word])).detach()) <= 0.0


def test_a_module_in_which_nothing_is_found(folder: Path, inside: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "net_of_the_repair_test"
    (folder / f"{name}.py").write_text(MODULE)
    monkeypatch.syspath_prepend(folder)
    torch.save(importlib.import_module(name).build().state_dict(), folder / "weights.pt")
    code, out, err = inside("--module", f"{name}:build", "--state", "weights.pt", "--alphabet", "a,b,c", "--regex",
                            "(a|b|c)*", "-o", "fixed.pt", "--effort", "0.001", "--no-harden", "--quiet")  # fmt: skip
    assert code == 0, out + err
    assert out.startswith(("NOTHING FOUND", "PROVED"))


def test_only_words_that_are_assumed_count(folder: Path, inside: Inside) -> None:
    """Should find nothing where no violation is among them: the shortest of them has 11 letters, and each has an a."""
    usual = ("model.safetensors", "--ltlf", FORMULA, "-o", "fixed.safetensors", "--effort", "0.01", "--no-harden")
    for assumed in (("--assume", "regex:(b|c)*"), ("--max-length", "8")):
        code, _, err = inside(*usual, *assumed, "--json", "report.json", "--quiet")
        assert code == 0, err
        report = json.loads((folder / "report.json").read_text())
        assert report["properties"][0]["before"]["outcome"] == "satisfied"
        assert report["rounds"] == []


def test_a_list_of_words_is_a_property_too(folder: Path, inside: Inside) -> None:
    """Should teach that the words of a file are accepted."""
    shutil.copy(zoo.path("even-elman"), folder / "model.safetensors")
    (folder / "documents.txt").write_text("a\nb a b\n")
    code, out, err = inside("model.safetensors", "--word-list", "documents.txt", "--relation", "superset", "-o",
                            "fixed.safetensors", "--effort", "0.001", "--no-harden", "--quiet")  # fmt: skip
    assert code == 0, out + err
    before, after = (load_model(folder / f"{name}.safetensors") for name in ("model", "fixed"))
    assert not before.accepts(["a"])
    assert after.accepts(["a"])
    assert after.accepts(["b", "a", "b"])
    code, _, err = inside("model.safetensors", "--word-list", "documents.txt", "-o", "documents.txt")
    assert code == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--ltlf", "G !c"], "the alphabet is missing"),
        (["--ltlf", "G !c", "--alphabet", "a,b,c", "--label", "x"], "give the number, or the names of all outputs"),
        (["--ltlf", "G !c", "--alphabet", "a,b,c", "--state", "other.pt"], "not the weights of the module"),
    ],
)
def test_a_module_that_cannot_be_repaired(
    folder: Path, inside: Inside, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    name = "net_of_the_repair_test"
    (folder / f"{name}.py").write_text(MODULE)
    monkeypatch.syspath_prepend(folder)
    torch.save({"weight": torch.zeros(2)}, folder / "other.pt")
    code, _, err = inside("--module", f"{name}:build", "-o", "fixed.pt", *arguments)
    assert code == 2
    assert said in err


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
    reported, _ = process.communicate(timeout=120)
    assert process.returncode == 3, reported
    assert reported.startswith("ENDED EARLY")
    assert not load_model(folder / "f.safetensors").accepts(["a", *["c"] * 10])  # that of the round that ended


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["model.safetensors", "-o", "f.safetensors"], "give a specification"),
        (["model.safetensors", "--ltlf", FORMULA, "-o", "model.safetensors"], "would overwrite"),
        (["model.safetensors", "--ltlf", FORMULA, "-o", "f.pt"], "must end in .safetensors"),
        (["model.onnx", "--ltlf", FORMULA, "-o", "f.safetensors"], "repair the original it was exported from"),
        (["model.safetensors", "--ltlf", FORMULA, "-o", "none/f.safetensors"], "no folder"),
        (["model.safetensors", "--ltlf", FORMULA, "--state", "w.pt", "-o", "f.safetensors"], "without --module"),
        (["model.safetensors", "--ltlf", FORMULA, "--words", "bad.tsv", "-o", "f.safetensors"], "'a' is labelled yes"),
        (["model.safetensors", "--regex", "a*", "--dfa", "none.dot", "-o", "f.safetensors"], "none.dot"),
    ],
)
def test_bad_input_is_one_line_and_changes_nothing(
    folder: Path, inside: Inside, arguments: list[str], said: str
) -> None:
    (folder / "bad.tsv").write_text("yes\ta b\nyes\ta\n")
    before = (folder / "model.safetensors").read_bytes()
    code, _, err = inside(*arguments)
    assert code == 2
    assert said in err
    assert len(err.strip().splitlines()) == 1
    assert (folder / "model.safetensors").read_bytes() == before
    assert not (folder / "f.safetensors").exists()
