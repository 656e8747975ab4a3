"""``rnncheck robust`` and ``rnncheck spec near``, from arguments to exit code."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

from rnncheck import InputError, Robustness, zoo
from rnncheck.automata.edits import Edits
from rnncheck.report.page.robustness_page import robustness_page

MODEL = str(zoo.path("tomita4-gru"))


def test_a_robust_word(run, tmp_path: Path) -> None:
    result = run("robust", MODEL, "--word", "1 1 1 1 1 1", "--distance", "2", "--json", tmp_path / "out.json")
    assert result.code == 0
    assert result.out.startswith("robust: 1 1 1 1 1 1 is accepted; every word within distance 2 was queried")
    found = Robustness.from_json((tmp_path / "out.json").read_text())
    assert found.robust
    assert found.compared > 0


def test_the_nearest_flip_is_shown_letter_by_letter(run) -> None:
    result = run("robust", MODEL, "--word", "1 1 0 0 1", "--distance", "2")
    assert result.code == 1
    before, after, marks = result.out.splitlines()[1:4]
    assert before.split() == ["accepted", "1", "1", "0", "0", "1"]
    assert after.split()[0] == "rejected"
    assert marks.strip() == "^"


def test_a_file_of_words_gives_a_table_a_document_and_a_page(run, tmp_path: Path) -> None:
    words = tmp_path / "words.txt"
    words.write_text("1 1 1 1\n0 0 1 1\n1 1 1 1 1 1\n")
    result = run("robust", MODEL, "--words-file", words, "--distance", "2", "--json", "-")
    assert result.code == 1
    document = json.loads(result.out)
    assert [one["distance"] for one in document["words"]] == [None, 1, None]
    result = run("robust", MODEL, "--words-file", words, "--distance", "2", "--report", tmp_path / "page.html")
    assert "not robust: 3 words, distance 2" in result.out
    page = (tmp_path / "page.html").read_text()
    assert "<h1>Not robust</h1>" in page
    assert "no word nearer flips" in page


def test_a_run_is_gone_on_with(run, tmp_path: Path) -> None:
    asked = ["robust", MODEL, "--word", "1 1 1 1", "--checkpoint", tmp_path / "kept"]
    assert run(*asked).code == 0
    assert run(*asked, "--resume").code == 0
    refused = run(*asked, "--resume", "--distance", "2")
    assert refused.code == 2
    assert "another question: its distance" in refused.err


def test_a_file_that_cannot_be_written_takes_no_answer_away(run, tmp_path: Path, monkeypatch) -> None:
    def full(*_):
        raise InputError("out.json: No space left on device")

    monkeypatch.setattr(importlib.import_module("rnncheck.cli.results"), "write_atomically", full)
    result = run("robust", MODEL, "--word", "1 1 1 1", "--json", tmp_path / "out.json")
    assert result.code == 2
    assert result.out.startswith("robust: 1 1 1 1 is accepted")
    assert "No space left" in result.err


def test_letters_cannot_become_markup() -> None:
    from rnncheck import Alphabet, Spec, robust
    from rnncheck.models.adapters import DFAModel

    letters = Alphabet(["<script>", "b"])
    found = robust(DFAModel(Spec.from_regex("b*", letters).dfa), [("b", "b")])
    assert "<script>b" not in robustness_page(found, Edits())
    assert "&lt;script&gt;" in robustness_page(found, Edits())


def test_the_words_near_a_specification(run, tmp_path: Path) -> None:
    near = tmp_path / "near.json"
    asked = ("spec", "near", "--regex", "(1 1)*", "--alphabet", "0,1")
    assert run(*asked, "--distance", "1", "--to", near).code == 0
    tested = run("spec", "test", "--dfa", near, "--word", "1 1 1", "--word", "1 0 1", "--word", "0 0 1 1")
    assert [line.split()[0] for line in tested.out.splitlines()] == ["accepted", "accepted", "rejected"]
    assert (
        run("verify", MODEL, "--dfa", near, "--relation", "superset", "--epsilon", "0.01", "--gamma", "0.01").code == 0
    )


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--edits", "flip"], "edit 'flip' is unknown; choose from substitute, insert, delete, swap"),
        (["--edits", ","], "no edits; choose from"),
        (["--edits", ""], "no edits; choose from"),
        (["--distance", "-1"], "distance -1 is negative"),
        (["--distance", "5"], "distance 5 is larger than the word '1 1 1' of 3 letters"),
        (["--locked", "x"], "the edits name 'x', which is not a letter"),
        (["--word", "1 x"], "unknown letter 'x'"),
        (["--resume"], "--resume has no effect without the --checkpoint FILE"),
        (["--weights", "none.toml"], "none.toml: cannot be read"),
    ],
)
def test_bad_input_is_one_line(run, options, says: str) -> None:
    result = run("robust", MODEL, "--word", "1 1 1", *options)
    assert result.code == 2
    assert says in result.err
    assert len(result.err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[costs]\nsubstitute = -1\n", "the cost of substitute is -1; an edit costs more than 0"),
        ("[costs]\nflip = 1\n", "edit 'flip' is unknown"),
        ("[cost]\nswap = 1\n", "'cost' is unknown; give [costs]"),
        ("", "no edits; choose from"),
        ("costs = 3\n", "costs and replace are no tables"),
        ("[replace]\n1 = 3\n", "replacing '1' is 3"),
        ("[costs\n", "edits.toml: Expected"),
    ],
)
def test_bad_costs_name_their_file(run, tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "edits.toml").write_text(text)
    result = run("robust", MODEL, "--word", "1 1 1", "--weights", tmp_path / "edits.toml")
    assert result.code == 2
    assert says in result.err
    assert "edits.toml" in result.err
