"""A disk that is full when a result is written: the old file stays, the error says so, and no verdict is lost."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from rnncheck import Alphabet, InputError, load_model, zoo

MODEL = str(zoo.entry("even-elman").path)
QUICK = ["--epsilon", "0.05", "--gamma", "0.05"]
TRAIN = ["train", "--regex", "a*", "--alphabet", "a,b", "--count", "60", "--epochs", "1"]
REPAIR = ["repair", MODEL, "--regex", ".*", "--effort", "0.001", "--no-harden", "-o", "n.safetensors"]
HARDEN = ["harden", str(zoo.entry("even-provable-elman").path), "--regex", "(b* a b* a)* b*", "--relation", "equal",
          "--iterations", "1", "-o", "n.safetensors"]  # fmt: skip
OLD = b"what was there before"
CONTACTS = "0 anna ben\n1 ben carl\n2 carl anna\n"

# Each: the command, and the files that it is asked to write.
COMMANDS = {
    "verdict": (["verify", MODEL, "--regex", ".*", *QUICK, "--json", "v.json"], ["v.json"]),
    "report": (["verify", MODEL, "--regex", ".*", *QUICK, "--report", "r.html"], ["r.html"]),
    "both": (
        ["verify", MODEL, "--regex", ".*", *QUICK, "--json", "v.json", "--report", "r.html"],
        ["v.json", "r.html"],
    ),
    "extracted automaton": (["extract", MODEL, *QUICK, "-o", "a.dot"], ["a.dot"]),
    "Moore machine": (["extract", MODEL, "--moore", *QUICK, "-o", "m.json"], ["m.json"]),
    "trained network": ([*TRAIN, "-o", "n.safetensors"], ["n.safetensors"]),
    "training checkpoint": (
        [*TRAIN, "--checkpoint", "c.checkpoint", "-o", "n.safetensors"],
        ["n.safetensors", "c.checkpoint"],
    ),
    "repaired network": ([*REPAIR, "--json", "r.json", "--report", "r.html"], ["n.safetensors", "r.json", "r.html"]),
    "hardened network": ([*HARDEN, "--certificate", "p.json"], ["n.safetensors", "p.json"]),
    "drawing": (["draw", "given.json", "-o", "d.svg"], ["d.svg"]),
    "picture of a specification": (["spec", "show", "--regex", "a*", "--alphabet", "a,b", "--svg", "s.svg"], ["s.svg"]),
    "converted specification": (["spec", "convert", "--dfa", "given.json", "--to", "a.dot"], ["a.dot"]),
    "report of a verdict": (["report", "given.verdict.json", "--report", "r.html"], ["r.html"]),
    "specification of contacts": (["contacts", "spec", "contacts.txt", "-o", "c.json"], ["c.json"]),
    "contacts": (["contacts", "generate", "--people", "5", "-o", "g.csv"], ["g.csv"]),
    "words of contacts": (["contacts", "dataset", "contacts.txt", "-o", "words"], ["words/train.tsv"]),
    "surrogates": (["compare-surrogates", MODEL, "--method", "grid", *QUICK, "--report", "s.html"], ["s.html"]),
}


@pytest.fixture
def prepared(tmp_path, monkeypatch, run) -> Path:
    """A folder with what the commands read."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "contacts.txt").write_text(CONTACTS)
    (tmp_path / "words").mkdir()
    assert run("spec", "convert", "--regex", "a*", "--alphabet", "a,b", "--to", "given.json").code == 0
    assert run("verify", MODEL, "--regex", ".*", *QUICK, "--json", "given.verdict.json").code == 0
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
def test_the_old_file_survives_and_the_error_says_so(prepared, run, monkeypatch, command: str) -> None:
    arguments, files = COMMANDS[command]
    for name in files:
        (prepared / name).write_bytes(OLD)
    before = sorted(path for path in prepared.rglob("*"))

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("rnncheck.runtime.files.os.fsync", full)
    result = run(*arguments)
    assert result.code == 2
    assert "No space left on device; nothing was changed" in result.err
    assert Path(files[0]).name in result.err
    assert [(prepared / name).read_bytes() for name in files] == [OLD] * len(files)
    assert sorted(path for path in prepared.rglob("*")) == before


def test_the_verdict_is_told_all_the_same(prepared, run, monkeypatch) -> None:
    """Should print what was found before it tries to write it."""
    monkeypatch.setattr(
        "rnncheck.runtime.files.os.fsync", lambda _: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full"))
    )
    result = run(*COMMANDS["both"][0])
    assert "PROVED" in result.out
    assert "v.json" in result.err
    assert "r.html" in result.err


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ([*TRAIN, "-o", "n.safetensors"], "test words right"),
        ([*HARDEN, "--certificate", "p.json"], "is proved for every word"),
        ([*REPAIR, "--json", "r.json", "--report", "r.html"], "written"),
    ],
    ids=["train", "harden", "repair"],
)
def test_what_took_long_to_make_is_kept_elsewhere(prepared, run, monkeypatch, command: list[str], said: str) -> None:
    """Should write the network among temporary files where its own place is full, and everything else as asked."""
    elsewhere = prepared / "elsewhere"
    written_here: list[Path] = []
    elsewhere.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(elsewhere))

    def full_at_first(file: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{file}"))
        if path.parent == prepared and not written_here:  # the network is the first file
            written_here.append(path)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("rnncheck.runtime.files.os.fsync", full_at_first)
    result = run(*command)
    (kept,) = elsewhere.iterdir()
    assert result.code == 2
    assert f"it is kept as {kept}" in result.err
    assert said in result.out
    assert str(kept) in result.out
    assert load_model(kept).alphabet == Alphabet(["a", "b"])
    others = [
        command[place + 1] for place, part in enumerate(command) if part in ("--certificate", "--json", "--report")
    ]
    assert all((prepared / name).exists() for name in others)
    if "r.json" in others:
        assert json.loads((prepared / "r.json").read_text())["output"] == str(kept)


def test_a_training_goes_on_without_its_checkpoint(prepared, run, monkeypatch) -> None:
    monkeypatch.setattr(
        "rnncheck.training.training_checkpoint.write_sealed",
        lambda *_: (_ for _ in ()).throw(InputError("the disk is full")),
    )
    result = run(*TRAIN, "--checkpoint", "c.checkpoint", "-o", "n.safetensors")
    assert result.code == 0
    assert "could not have been resumed" in result.out
    assert (prepared / "n.safetensors").exists()


def test_a_checkpoint_that_cannot_be_written_any_more_costs_no_verdict(prepared, run, monkeypatch) -> None:
    """Should go on to the end, and say that the run could not have been resumed."""
    monkeypatch.setattr(
        "rnncheck.runtime.files.os.fsync", lambda _: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full"))
    )
    result = run("verify", MODEL, "--regex", ".*", *QUICK, "--checkpoint", "c.checkpoint")
    assert result.code == 0
    assert "PROVED" in result.out
    assert "could not have been resumed" in result.out


@pytest.mark.parametrize(
    "command",
    [
        ["verify", "no-such-model", "--regex", ".*", "--json"],
        ["verify", "no-such-model", "--regex", ".*", "--report"],
        ["verify", "no-such-model", "--regex", ".*", "--checkpoint"],
        ["extract", "no-such-model", "-o"],
        ["train", "--regex", "oops(", "-o"],
        ["compare-surrogates", "no-such-model", "--report"],
        ["compare-surrogates", "no-such-model", "--plot"],
        ["report", "no-such-verdict", "--report"],
        ["draw", "no-such-automaton", "-o"],
        ["contacts", "generate", "-o"],
        ["contacts", "spec", "contacts.txt", "-o"],
    ],
    ids=lambda command: " ".join(command[:1] + command[-1:]),
)
def test_a_place_that_cannot_be_written_is_named_before_the_work_begins(prepared, run, command: list[str]) -> None:
    result = run(*command, "nowhere/file")
    assert result.code == 2
    assert "nowhere/file: cannot be written: there is no folder nowhere" in result.err
