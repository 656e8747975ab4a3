"""``rnncheck diff`` and ``verify --against``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rnncheck import zoo

OLD, NEW = str(zoo.path("response-lstm")), str(zoo.path("response-faulty-lstm"))
QUICK = ("--quiet", "--epsilon", "0.05", "--search-steps", "50000")


def test_a_difference_is_told_written_and_replayed(run: Any, tmp_path: Path) -> None:
    """Should exit with 1, show what each says, and which property changed."""
    document, page = tmp_path / "d.json", tmp_path / "d.html"
    result = run("diff", OLD, NEW, *QUICK, "--ltlf", "G(a -> F b)", "--json", document, "--report", page)
    assert result.code == 1
    assert "✗ VIOLATED: the models disagree on this sequence: old" in (result.out + result.err)
    assert "their answers: no (old), and yes (new)" in (result.out + result.err)
    assert "property        G(a -> F b): CHANGED, old satisfied, new violated" in (result.out + result.err)
    compared = json.loads(document.read_text())["comparison"]
    assert (compared["old"], compared["new"], compared["relation"]) == (OLD, NEW, "equal")
    text = page.read_text()
    assert "The models disagree on this sequence: old rejects, new accepts." in text
    assert f"rnncheck replay {document} --model {NEW} --against {OLD}" in text
    assert f"rnncheck diff {OLD} {NEW}" in text
    assert run("replay", document, "--model", NEW, "--against", OLD).code == 0
    assert run("replay", document, "--model", OLD, "--against", OLD).code == 2
    assert run("replay", document).code == 3
    assert run("replay", document, "--model", NEW).code == 2


def test_no_difference_exits_with_0(run: Any) -> None:
    result = run("diff", OLD, OLD, "--method", "smc", "--quiet", "--epsilon", "0.05")
    assert result.code == 0
    assert "NONE FOUND: no difference was found; a random sequence" in (result.out + result.err)


def test_out_of_time_is_undecided(run: Any) -> None:
    result = run("diff", OLD, OLD, "--quiet", "--timeout", "0")
    assert result.code == 3


def test_on_data(run: Any, tmp_path: Path) -> None:
    data = tmp_path / "data.txt"
    data.write_text("a b\na c c c c c c c c c c\n")
    result = run("diff", OLD, NEW, *QUICK, "--on-data", data)
    assert "1 of 2 sequences" in (result.out + result.err)


@pytest.mark.parametrize(("relation", "code"), [("subset", 1), ("superset", 0)])
def test_against_a_model(run: Any, relation: str, code: int) -> None:
    """Should verify the relation of the network to the other one: the faulty one accepts more."""
    result = run("verify", NEW, "--against", OLD, "--relation", relation, *QUICK)
    assert result.code == code
    assert ("old rejects, new accepts" if code else "that the old model accepts and the new one rejects") in result.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("diff", OLD), "give two models, OLD and NEW (1 files were named)"),
        (("diff", OLD, NEW, OLD), "(3 files were named)"),
        (("diff", OLD, str(zoo.path("even-elman"))), "two models are compared over the same letters"),
        (("verify", NEW, "--against", OLD, "--ltlf", "G a"), "give exactly one of"),
        (("verify", NEW, "--against", OLD, "--workers", "2"), "leave them out with --against"),
        (("diff", OLD, NEW, "--method", "smc", "--search-steps", "5"), "has no effect without --method auto"),
    ],
)
def test_bad_use(run: Any, arguments: tuple[str, ...], message: str) -> None:
    result = run(*arguments)
    assert result.code == 2
    assert message in (result.out + result.err)


def test_code_in_the_place_of_a_file(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_code_for_diff.py").write_text(
        f"import rnncheck\ndef load():\n    return rnncheck.load_model({NEW!r})\n"
    )
    monkeypatch.chdir(tmp_path)
    result = run("diff", OLD, "--new-module", "my_code_for_diff:load", *QUICK)
    assert result.code == 1
    assert "no (old), and yes (new)" in (result.out + result.err)


def test_a_list_of_words_is_a_property(run: Any, tmp_path: Path) -> None:
    """Should be verified on both, named on the command line or in a property file."""
    words, file = tmp_path / "words.txt", tmp_path / "suite.toml"
    words.write_text("a b\nb\n")
    file.write_text("[properties.few]\nword_list = 'words.txt'\n")
    told = [run("diff", OLD, NEW, *option, *QUICK) for option in (("--word-list", words), ("--spec", file))]
    assert told[0].code == 1
    assert "words.txt" in told[0].out
    about = [next(line for line in each.out.split("\n") if "words.txt" in line) for each in told]
    assert about[0] == about[1]


def test_properties_of_a_property_file(run: Any, tmp_path: Path) -> None:
    """Should verify each on both, and refuse one that asks for more than diff does."""
    file = tmp_path / "suite.toml"
    file.write_text("[properties.answered]\nltlf = 'G(a -> F b)'\n")
    result = run("diff", OLD, NEW, "--spec", file, *QUICK)
    assert result.code == 1
    assert "G(a -> F b)" in (result.out + result.err)
    file.write_text("[properties.answered]\nltlf = 'G(a -> F b)'\nrelation = 'equal'\n")
    refused = run("diff", OLD, NEW, "--spec", file, *QUICK)
    assert refused.code == 2
    assert "property 'answered' has a relation" in refused.err
