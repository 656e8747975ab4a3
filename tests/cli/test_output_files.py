"""No output takes an input's place or another output's, by whatever name; devices, pipes and links stay."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from rnncheck import zoo
from rnncheck.errors import InputError
from rnncheck.runtime.files import check_writable, write_atomically

QUICK = ["--epsilon", "0.05", "--gamma", "0.05"]
VERIFY = ["verify", "m.safetensors", "--dfa", "a.json", *QUICK]

SUITE = """
[models.mine]
path = "m.safetensors"
[distributions.usual]
words_like = "words.txt"
[properties.even]
dfa = "hard.json"
assume = "dfa:b.json"
distribution = "usual"
data = "data.txt"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run) -> Path:
    """A folder with what commands read, also under other names."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.safetensors").write_bytes(zoo.entry("even-elman").path.read_bytes())
    assert run("spec", "convert", "--regex", ".*", "--alphabet", "a,b", "--to", "a.json").code == 0
    assert run("verify", "m.safetensors", "--dfa", "a.json", *QUICK, "--json", "v.json").code == 0
    (tmp_path / "words.txt").write_text("a a\nb b\n")
    (tmp_path / "labelled.tsv").write_text("1\ta a\n0\ta\n")
    (tmp_path / "contacts.txt").write_text("0 anna ben\n1 ben carl\n2 carl anna\n")
    (tmp_path / "train.tsv").write_text("0 anna ben\n1 ben carl\n2 carl anna\n")
    (tmp_path / "released").mkdir()
    (tmp_path / "released" / "meta").write_text("alphabet = a,b\n")
    (tmp_path / "suite.toml").write_text(SUITE)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "alphabet.txt").write_text("a\nb\n")  # read along with a model beside it
    (tmp_path / "link").symlink_to("m.safetensors")
    os.link(tmp_path / "a.json", tmp_path / "hard.json")
    return tmp_path


CLASHES = [
    [*VERIFY, "--json", "m.safetensors"],
    [*VERIFY, "--json", "./m.safetensors"],
    [*VERIFY, "--json", "link"],
    [*VERIFY, "--report", "a.json"],
    [*VERIFY, "--report", "hard.json"],
    [*VERIFY, "--checkpoint", "m.safetensors"],
    [*VERIFY, "--words-like", "words.txt", "--json", "words.txt"],
    [*VERIFY, "--known-words", "words.txt", "--json", "words.txt"],
    [*VERIFY, "--json", "x", "--report", "x"],
    [*VERIFY, "--json", "x", "--report", "released/../x"],
    [*VERIFY, "--json", "x", "--checkpoint", "x"],
    ["verify", "released", "--dfa", "a.json", "--json", "released/meta"],
    [*VERIFY, "--assume", "dfa:b.json", "--json", "b.json"],
    ["verify", "sub/m.pt", "--dfa", "a.json", "--json", "sub/alphabet.txt"],
    ["diff", "m.safetensors", "sub/m.pt", "--json", "sub/alphabet.txt"],
    *(["check", "suite.toml", "--json", name] for name in ("suite.toml", "m.safetensors", "a.json", "b.json")),
    *(["check", "suite.toml", "--checkpoint", name] for name in ("link", "words.txt", "./data.txt")),
    ["prove", "m.safetensors", "--spec", "suite.toml", "--report", "data.txt"],
    ["repair", "m.safetensors", "--spec", "suite.toml", "-o", "x.safetensors", "--json", "b.json"],
    ["extract", "m.safetensors", *QUICK, "-o", "m.safetensors"],
    ["train", "--dfa", "a.json", "-o", "a.json"],
    ["train", "--words", "labelled.tsv", "-o", "labelled.tsv"],
    ["train", "--dfa", "a.json", "-o", "n.safetensors", "--checkpoint", "n.safetensors"],
    ["report", "v.json", "--report", "v.json"],
    ["report", "v.json", "--model", "m.safetensors", "--report", "m.safetensors"],
    ["draw", "a.json", "-o", "a.json"],
    ["spec", "convert", "--dfa", "a.json", "--to", "hard.json"],
    ["spec", "show", "--dfa", "a.json", "--svg", "a.json"],
    ["compare-surrogates", "m.safetensors", "--dfa", "a.json", "--report", "m.safetensors"],
    ["compare-surrogates", "m.safetensors", "--dfa", "a.json", "--report", "x.png", "--plot", "x.png"],
    ["contacts", "spec", "contacts.txt", "-o", "contacts.txt"],
    ["contacts", "check", "contacts.txt", "--path", "anna ben", "--graph", "contacts.txt"],
    ["contacts", "check", "contacts.txt", "--path", "anna ben", "--graph", "x", "--timeline", "x"],
    ["contacts", "dataset", "train.tsv", "-o", "."],
]


@pytest.mark.parametrize("command", CLASHES, ids=" ".join)
def test_an_output_that_is_an_input_or_another_output_is_refused_before_the_work(
    folder: Path, run, command: list[str]
) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    result = run(*command)
    assert result.code == 2
    assert "would overwrite" in result.err or "are one file" in result.err
    assert result.err.count("\n") == 1
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_what_an_earlier_run_wrote_is_written_anew(folder: Path, run) -> None:
    """Should refuse no second run of the same command, in the model's own folder too."""
    for _ in range(2):
        assert run(*VERIFY, "--json", "v.json", "--report", "r.html").code == 0
    assert run("contacts", "dataset", "contacts.txt", "-o", ".").code == 0
    assert run("contacts", "dataset", "contacts.txt", "-o", ".").code == 0


def test_stdout_is_an_output_too(folder: Path) -> None:
    """Should not write JSON into the file that stdout goes to: one of the two would be lost."""
    command = [sys.executable, "-m", "rnncheck", *VERIFY, "--json"]
    with open("both", "w") as file:
        done = subprocess.run([*command, "both"], stdout=file, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, "--json and stdout are one file" in done.stderr) == (2, True)


def test_several_outputs_may_go_to_the_null_device_which_stays_one(folder: Path, run) -> None:
    assert run(*VERIFY, "--json", os.devnull, "--report", os.devnull).code == 0
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    """Should neither replace it, nor open it before there is something to write."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    check_writable(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    write_atomically(pipe, "content" * 20_000)
    reader.join()
    assert read == ["content" * 20_000]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_process_substitution_gets_the_verdict(folder: Path) -> None:
    command = " ".join([sys.executable, "-m", "rnncheck", *VERIFY, "--json", ">(cat > copy)"])
    subprocess.run(["bash", "-c", f"{command}; wait $!"], check=True, stdout=subprocess.DEVNULL)
    assert json.loads((folder / "copy").read_text())["verdict"] == "satisfied"


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_stays_and_its_file_is_replaced_in_one_step(tmp_path: Path, exists: bool) -> None:
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "file", tmp_path / "link"
    link.symlink_to("there/file")
    if exists:
        target.write_text("old")
        target.chmod(0o640)
    check_writable(link)
    write_atomically(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert not target.is_symlink()
    assert [path.name for path in target.parent.iterdir()] == ["file"]
    if exists:
        assert target.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("name", ["loop", "dangling/file", "folder", "file/inside"])
def test_what_cannot_be_written_is_one_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    for attempt in (check_writable, lambda path: write_atomically(path, "")):
        with pytest.raises(InputError, match="cannot be written"):
            attempt(tmp_path / name)
