"""Letters, labels, facts and names of files come from anybody: on no way to a terminal do they move the cursor."""

from __future__ import annotations

import dataclasses
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from rnncheck import Alphabet, load_model, save_network, zoo
from rnncheck.models.engine.compiled import CompiledNetwork

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e\u2066x\r\ny\x7f"
NAME = "m\x1b[8m\u202e\n.safetensors"
QUICK = ["--epsilon", "0.1", "--gamma", "0.1"]


def harmless(text: str) -> bool:
    return all(character.isprintable() or character in "\n\t" for character in text)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A network whose letters, facts and file name are of the worst kind."""
    monkeypatch.chdir(tmp_path)
    model = load_model(zoo.entry("even-elman").path)
    assert isinstance(model, CompiledNetwork)
    network = dataclasses.replace(
        model.network, alphabet=Alphabet(["a", EVIL]), facts={EVIL: EVIL, "nested": {EVIL: [EVIL]}}
    )
    save_network(network, NAME)
    (tmp_path / "c.txt").write_text("0 anna be\x1bn\n1 be\x1bn carl\n2 carl anna\n")
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_no_command_shows_what_does_not_print(run) -> None:
    dfa, verdict = "a\x1b.json", "v\x1b\n.json"
    commands: list[list[str]] = [
        ["inspect", NAME],
        ["extract", NAME, *QUICK, "-o", dfa],
        ["extract", NAME, *QUICK, "--moore", "-o", "m\x1b.json"],
        ["verify", NAME, "--regex", "a*", *QUICK, "--json", verdict, "--report", "r\x1b.html"],
        ["replay", verdict, "--model", NAME],
        ["replay", verdict],
        ["report", verdict, "--report", "r\x9b.html"],
        ["classify", NAME, "--word", "a", "--words-file", "no\x1b"],
        ["classify", NAME, "--word", "a"],
        ["spec", "show", "--dfa", dfa],
        ["spec", "test", "--dfa", dfa, "--word", "\x1b"],
        ["spec", "convert", "--dfa", dfa, "--to", "b\x1b.dot"],
        ["spec", "compare", dfa, "regex:\x1b"],
        ["draw", dfa, "-o", "d\x1b.dot"],
        ["compare-surrogates", NAME, "--method", "pac", *QUICK],
        ["contacts", "info", "c.txt"],
        ["contacts", "check", "c.txt", "--path", "anna \x1b"],
        ["contacts", "spec", "c.txt", "-o", "p\x1b.json"],
        ["verify", "no\x1b\n", "--regex", "a"],
        ["verify", NAME, "--regex", "\x1b("],
        ["verify", NAME, "--method", "\x1b"],
        ["verify", NAME, "--\x1b"],
        ["\x1b[2J"],
        ["bench", "summary", "no\x1b"],
    ]
    for command in commands:
        result = run(*command)
        assert result.out or result.err, command
        assert harmless(result.out), (command, result.out)
        assert harmless(result.err), (command, result.err)
        assert "error in rnncheck" not in result.err, result.err


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "arguments",
    [
        ["verify", NAME, "--regex", "a*", *QUICK, "--json", "-"],
        ["spec", "convert", "--regex", "a*", "--alphabet", "a,'\u2066'", "--to", "-"],
    ],
    ids=["JSON", "dot"],
)
def test_a_document_on_a_terminal_is_harmless_too(arguments: list[str]) -> None:
    """Should escape on a terminal what a file or a pipe gets as it is."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([sys.executable, "-m", "rnncheck", *arguments], stdout=theirs, stderr=subprocess.DEVNULL)
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 1 << 16)
        except OSError:  # Linux's way to say that nobody writes any more
            break
        if not part:
            break
        shown += part
    process.wait()
    os.close(ours)
    assert shown
    assert harmless(shown.decode().replace("\r\n", "\n"))
