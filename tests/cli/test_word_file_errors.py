"""Whatever is wrong in a file of words, the error names the file and the line."""

from __future__ import annotations

from pathlib import Path

import pytest

from rnncheck import Alphabet, FormatError, read_words, zoo

MODEL = str(zoo.entry("even-elman").path)
SPEC = ["--regex", ".*", "--alphabet", "a,b"]
PREFIX = "# a comment\n\na b\n"
BAD = {"unknown letter": "a z", "no word": "'a", "not text": "\udcff"}

COMMANDS = {
    "classify --words-file": ["classify", MODEL, "--words-file"],
    "spec test --words-file": ["spec", "test", *SPEC, "--words-file"],
    "verify --words-like": ["verify", MODEL, "--regex", ".*", "--words-like"],
    "verify --known-words": ["verify", MODEL, "--regex", ".*", "--known-words"],
    "extract --words-like": ["extract", MODEL, "-o", "x.dot", "--words-like"],
    "extract --known-words": ["extract", MODEL, "-o", "x.dot", "--known-words"],
    "compare-surrogates --known-words": ["compare-surrogates", MODEL, "--known-words"],
    "replay --words-like": ["replay", "v.json", "--model", MODEL, "--words-like"],
}


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("command", COMMANDS)
def test_the_line_is_named(run, tmp_path: Path, monkeypatch, command: str, bad: str) -> None:
    monkeypatch.chdir(tmp_path)
    if "v.json" in COMMANDS[command]:
        assert run("verify", MODEL, "--regex", ".*", "--epsilon", "0.1", "--json", "v.json").code == 0
    (tmp_path / "words.txt").write_bytes(f"{PREFIX}{BAD[bad]}\nb\n".encode("utf-8", "surrogateescape"))
    result = run(*COMMANDS[command], "words.txt")
    assert result.code == 2
    assert result.err.startswith("rnncheck: words.txt:4: ")
    assert result.err.count("\n") == 1


@pytest.mark.parametrize("line", ["yes\ta z", "yes\t'a", "yes", "yes\t\udcff"])
def test_the_line_of_a_labelled_word_is_named(run, tmp_path: Path, monkeypatch, line: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words.tsv").write_bytes(f"# x\n\nno\ta\n{line}\n".encode("utf-8", "surrogateescape"))
    result = run("train", "--words", "words.tsv", "--alphabet", "a,b", "-o", "n.safetensors")
    assert result.code == 2
    assert result.err.startswith("rnncheck: words.tsv:4: ")


def test_in_python_too(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("a\nz\n")
    assert read_words(path) == [("a",), ("z",)]
    with pytest.raises(FormatError, match=r"words\.txt:2: unknown letter 'z'"):
        read_words(path, Alphabet(["a", "b"]))
