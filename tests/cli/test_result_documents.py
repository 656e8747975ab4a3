"""The JSON documents of commands whose result has no schema of its own, and what --verbose shows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rnncheck import zoo

MODEL = zoo.path("response-lstm")
SPEC = ("--regex", "a*", "--alphabet", "a,b")


@pytest.mark.parametrize(
    ("arguments", "facts"),
    [
        (["inspect", MODEL], {"schema": "rnncheck/inspect/1", "alphabet": ["a", "b", "c"]}),
        (["spec", "show", *SPEC], {"schema": "rnncheck/spec-show/1", "states": "2, 1 accepting"}),
        (
            ["spec", "test", *SPEC, "--word", "a b"],
            {"schema": "rnncheck/spec-test/1", "words": [{"word": ["a", "b"], "accepted": False}]},
        ),
        (
            ["spec", "compare", "regex:a*", "regex:a", "--alphabet", "a"],
            {"schema": "rnncheck/spec-compare/1", "relation": "subset", "holds": False, "witness": []},
        ),
    ],
    ids=lambda value: " ".join(map(str, value[:2])) if isinstance(value, list) else "",
)  # fmt: skip
def test_a_result_has_a_document(run, tmp_path: Path, arguments: list[str], facts: dict[str, object]) -> None:
    """Should print it alone, or write it beside the same lines."""
    shown = run(*arguments)
    printed = run(*arguments, "--json", "-")
    document = json.loads(printed.out)
    assert {name: document[name] for name in facts} == facts
    path = tmp_path / "result.json"
    assert run(*arguments, "--json", path).out == shown.out
    assert json.loads(path.read_text()) == document
    assert printed.code == shown.code


def test_a_classification_has_scores(run) -> None:
    words = json.loads(run("classify", MODEL, "--word", "a", "--json", "-").out)["words"]
    assert (words[0]["word"], words[0]["accepted"] in (True, False), abs(words[0]["score"]) > 0) == (["a"], True, True)


def test_verbose_shows_what_is_cut_short(run) -> None:
    """Should show all letters of a specification."""
    many = ",".join(f"l{i}" for i in range(60))
    short, whole = (run("spec", "show", "--regex", ".*", "--alphabet", many, *more).out for more in ((), ("-v",)))
    assert "else" in short or "any letter" in short
    assert "l59" in whole


def test_a_page_of_a_run_is_written_with_its_table(run, tmp_path: Path) -> None:
    """Should take --report and --json where the table of a run is shown."""
    small = ("--count", "1", "--states", "3", "--min-states", "2", "--letters", "2", "--specs", "1", "--hidden", "4")
    training = ("--words", "50", "--accuracy", "0", "--train-seconds", "5", "--draws", "1")
    page, document = tmp_path / "page.html", tmp_path / "run.json"
    quick = ("--method", "smc", "--epsilon", "0.1", "--gamma", "0.1", "--quiet")
    result = run("bench", "random", *small, *training, *quick, "--out", tmp_path / "run", "--report", page)
    assert result.code == 0, result.err
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert run("bench", "summary", tmp_path / "run", "--json", document).out == result.out
    printed = run("bench", "summary", tmp_path / "run", "--format", "json").out
    assert json.loads(document.read_text()) == json.loads(printed)
