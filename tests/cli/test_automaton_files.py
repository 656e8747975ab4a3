"""Large automata of a verdict in files beside its document."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from rnncheck import zoo
from rnncheck.checker import replay
from rnncheck.errors import FormatError
from rnncheck.spec import read_automaton
from rnncheck.verdict import value
from rnncheck.verdict.value import Verdict

NETWORK = str(zoo.path("response-faulty-lstm"))
VERIFY = ("verify", NETWORK, "--ltlf", "G(a -> F b)", "--search-steps", "5000", "--pumps", "0", "--quiet")


@pytest.fixture
def written(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A document, and the file of its specification, which has two states."""
    monkeypatch.setattr(value, "LARGEST_INSIDE", 1)
    document = tmp_path / "out.json"
    code, _, err = run(*VERIFY, "--json", document)
    assert code == 1
    named = json.loads(document.read_bytes())["spec"]["automaton"]
    assert named.keys() == {"schema", "file", "sha256", "states"}
    file = tmp_path / named["file"]
    assert f"automaton written to {file}" in err
    assert hashlib.sha256(file.read_bytes()).hexdigest() == named["sha256"]
    assert len(read_automaton(file)) == named["states"] == 2
    return document, file


def test_what_reads_a_document_reads_its_automata(run, written) -> None:
    document, _ = written
    verdict = Verdict.from_json(document.read_bytes(), folder=document.parent)
    assert verdict.specification is not None
    assert Verdict.from_json(verdict.to_json()) == verdict, "to_json has everything inside"
    assert run("replay", document, "--model", NETWORK, "--quiet").code == 0
    assert run("report", document, "--report", document.with_suffix(".html")).code == 0


def test_without_the_folder_it_is_an_error(written) -> None:
    document, file = written
    for read in (Verdict.from_json, replay):
        with pytest.raises(FormatError, match=f"{file.name}.* give folder="):
            read(document.read_bytes())


def test_a_missing_file_is_named(run, written) -> None:
    document, file = written
    file.rename(file.with_suffix(".old"))
    code, _, err = run("replay", document, "--model", NETWORK, "--quiet")
    assert code == 2
    assert file.name in err
    assert "put the file there" in err


def test_a_changed_file_is_named(run, written) -> None:
    document, file = written
    file.write_text(file.read_text().replace('"accepting":[0]', '"accepting":[1]'))
    code, _, err = run("replay", document, "--model", NETWORK, "--quiet")
    assert code == 2
    assert file.name in err
    assert "was changed" in err
    assert "put the original back" in err


@pytest.mark.parametrize("name", ["../x.json", "/etc/passwd", "", "..", "a\0b", "."])
def test_only_files_beside_the_document_are_read(written, name: str) -> None:
    document, _ = written
    parts = json.loads(document.read_bytes())
    parts["spec"]["automaton"]["file"] = name
    with pytest.raises(FormatError, match="automaton of 2 states"):
        Verdict.from_json(json.dumps(parts), folder=document.parent)


def test_printed_documents_have_everything_inside(run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(value, "LARGEST_INSIDE", 1)
    monkeypatch.chdir(tmp_path)
    code, out, _ = run(*VERIFY, "--json", "-")
    assert code == 1
    assert Verdict.from_json(out).specification is not None
    assert not list(tmp_path.iterdir())
