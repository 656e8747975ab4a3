"""``rnncheck draw``, ``rnncheck report`` and ``verify --report``, from arguments to files."""

import json
import shlex

import click
import pytest

from rnncheck import zoo
from rnncheck.cli.draw_command import command as draw_command
from rnncheck.cli.report_command import command as report_command
from rnncheck.cli.verify_command import command as verify
from rnncheck.errors import FormatError, InputError
from rnncheck.report.automaton import graphviz
from rnncheck.spec import read_automaton
from support import samples

needs_graphviz = pytest.mark.skipif(not graphviz.available(), reason="the extra `draw` is not installed")


def call(command: click.Command, *arguments: object) -> object:
    return command.main([str(argument) for argument in arguments], standalone_mode=False)


@pytest.fixture
def verdict_file(tmp_path):
    path = tmp_path / "verdict.json"
    path.write_text(samples.faulty().to_json())
    return path


@needs_graphviz
@pytest.mark.parametrize("suffix", ["svg", "png", "pdf", "dot"])
def test_a_verdict_is_drawn(tmp_path, verdict_file, suffix: str) -> None:
    """Should draw the hypothesis, or the specification where asked, in every format."""
    for part in ("auto", "hypothesis", "spec"):
        output = tmp_path / f"{part}.{suffix}"
        call(draw_command, verdict_file, "-o", output, "--part", part, "--flow", 2)
        assert output.stat().st_size > 200
    if suffix == "dot":
        assert read_automaton(tmp_path / "spec.dot") == samples.faulty().specification


@needs_graphviz
def test_automata_and_models_are_drawn(tmp_path, capsys) -> None:
    """Should draw a dot file, a JSON file, and what a network teaches."""
    dot, model = tmp_path / "a.dot", zoo.path("even-elman")
    call(draw_command, model, "-o", dot)
    assert "learned from the network: 2 states" in capsys.readouterr().err
    assert len(read_automaton(dot)) == 2
    call(draw_command, dot, "-o", tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text().startswith("<svg")


def test_what_cannot_be_drawn_is_named(tmp_path, verdict_file) -> None:
    """Should name the file and the remedy in one line."""
    with pytest.raises(click.UsageError, match=r"x.gif.*must end in \.svg, \.png, \.pdf, \.dot"):
        call(draw_command, verdict_file, "-o", "x.gif")
    with pytest.raises(FormatError, match=r"absent\.json: cannot be read"):
        call(draw_command, tmp_path / "absent.json", "-o", tmp_path / "x.dot")
    with pytest.raises(InputError, match=r"there is no flow 9, but only [1-8]"):
        call(draw_command, verdict_file, "-o", tmp_path / "x.dot", "--flow", 9)
    (tmp_path / "undecided.json").write_text(samples.undecided().to_json())
    with pytest.raises(InputError, match="no hypothesis automaton"):
        call(draw_command, tmp_path / "undecided.json", "-o", tmp_path / "x.dot", "--part", "hypothesis")
    (tmp_path / "bad.json").write_text("[]")
    with pytest.raises(FormatError, match=r"bad\.json:1: expected"):
        call(draw_command, tmp_path / "bad.json", "-o", tmp_path / "x.dot")


def test_a_report_is_made_from_a_document(tmp_path, verdict_file, monkeypatch) -> None:
    """Should be the page that the verdict itself writes, with the network's help or without."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    samples.faulty().save_report(tmp_path / "own.html", date="1970-01-01 00:00", document=str(verdict_file))
    call(report_command, verdict_file, "--report", tmp_path / "read.html")
    call(report_command, verdict_file, "--model", zoo.path("response-faulty-lstm"), "--report", tmp_path / "asked.html")

    pages = {name: (tmp_path / f"{name}.html").read_text() for name in ("own", "read", "asked")}
    assert pages["own"] == pages["read"] == pages["asked"]
    assert "1970-01-01 00:00" in pages["read"]


def test_what_cannot_be_reported_is_named(tmp_path, verdict_file) -> None:
    """Should refuse folders, other files and other networks by name."""
    with pytest.raises(InputError, match="is not the folder of a run"):
        call(report_command, tmp_path, "--report", tmp_path / "r.html")
    with pytest.raises(FormatError, match=r"no\.json: cannot be read"):
        call(report_command, tmp_path / "no.json", "--report", tmp_path / "r.html")
    with pytest.raises(InputError, match="not about this one"):
        call(report_command, verdict_file, "--model", zoo.path("response-lstm"), "--report", tmp_path / "r.html")
    assert not (tmp_path / "r.html").exists()


def test_verify_writes_report_and_command(tmp_path, capsys) -> None:
    """Should write the page, and name in it the command without where results went."""
    model, page, document = zoo.path("response-faulty-lstm"), tmp_path / "r.html", tmp_path / "v.json"
    code = call(verify, model, "--ltlf", "G(a -> F b)", "--seed", 4, "--pumps", 5, "--min-hits", 2, "--no-shrink",
                "--quiet", "--alphabet", "a,b,c", "--timeout", 60, "--report", page, "--json", document)  # fmt: skip
    first = json.loads(document.read_text())
    words = shlex.split(first["command"])

    assert code == 1
    assert words[:5] == ["rnncheck", "verify", str(model), "--ltlf", "G(a -> F b)"]
    options = "--alphabet a,b,c --seed 4 --timeout 60.0 --no-shrink --pumps 5 --min-hits 2"
    assert sorted(words[5:]) == sorted(options.split())
    assert "rnncheck verify" in page.read_text(encoding="utf-8")
    assert "report written to" in capsys.readouterr().err

    call(verify, *words[2:], "--json", document)
    again = json.loads(document.read_text())
    for one in (first, again):
        del one["cost"]["seconds"], one["cost"]["first_violation_seconds"]
    assert again == first
