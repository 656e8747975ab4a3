"""README and docs: everything in them that can be run is run, and what they name exists."""

import dataclasses
import functools
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

import rnncheck
from rnncheck.extraction import EXTRACTIONS, ExtractionName
from rnncheck.learning.equivalence import EQUIVALENCES, EquivalenceName
from rnncheck.learning.learners import LEARNERS, LearnerName
from rnncheck.relations import Relation, RelationName
from rnncheck.verdict.facts import MethodName
from rnncheck.verification.methods import METHODS
from support.commands import commands_and_groups
from support.doc_pages import (
    PLAIN,
    RUNNING,
    Block,
    Command,
    Session,
    blocks_of,
    commands_of,
    difference,
    provide,
)
from support.paths import ROOT

SCRIPTS = ROOT / "scripts"
PAGES = [ROOT / "README.md", ROOT / "examples" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
OTHER_PAGES = [ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", ROOT / "benchmarks" / "README.md"]
# Blocks to look at and not to run. A block of another kind could hide a command from the tests.
SHOWN = ("text", "json", "dot", "yaml")
MOST_NOT_RUN = 0.1


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks() -> list[Block]:
    return [block for page in PAGES for block in blocks_of(page)]


@pytest.fixture(scope="module")
def reader_has(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reader")
    provide(folder)
    return folder


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_blocks_of_the_page_run(page: Path, reader_has: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Should do what the page says, in the order of the page, and print what the page shows."""
    shutil.copytree(reader_has, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    session = Session(tmp_path)
    try:
        for block in blocks_of(page):
            if block.runs:
                session.run(block)
    finally:
        session.forget_modules()


def test_few_blocks_are_not_run_and_each_has_a_reason() -> None:
    """Should leave out hardly anything, and say why."""
    runnable = [block for block in blocks() if block.kind in ("console", "python", *PLAIN)]
    left_out = [block for block in runnable if not block.runs]
    for block in left_out:
        assert len(block.marks["not run"].split()) >= 2, f"{block.place} needs a reason"
    assert len(left_out) <= MOST_NOT_RUN * len(runnable), [block.place for block in left_out]


def test_no_command_hides_in_a_block_that_is_not_run() -> None:
    """Should find commands only in blocks of a kind that runs, and no unknown marks."""
    for block in blocks():
        assert set(block.marks) <= {"exit", "not run"}, f"{block.place} has the marks {block.marks}"
        if block.kind in RUNNING or block.title is not None:
            continue
        assert block.kind in SHOWN, f"{block.place} is of the kind {block.kind!r}"
        assert not re.search(r"^(\$ |rnncheck |>>> )", block.text, flags=re.MULTILINE), block.place


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("a\nb", "a\nb\n", True),
        ("a\nb", "a\nc\n", False),
        ("a", "a\nb\n", False),
        ("a\n…", "a\nb\nc\n", True),
        ("…\nc", "a\nb\nc\n", True),
        ("a\n  …\nc", "a\nc\n", True),
        ("…\nd", "a\nb\nc\n", False),
        ("took 0.3 s", "took 12 s\n", True),
        ("took 0.3 s, 5 words", "took 12 s, 6 words\n", False),
        ("n = 1 … 100", "n = 1 … 100\n", True),
        ("… of 100 (x)", "93 of 100 (x)\n", True),
        ("… of 100 (x)", "93 of 100 y\n", False),
    ],
)
def test_output_is_compared_loosely(shown: str, printed: str, same: bool) -> None:
    """Should let an ellipsis stand for anything, pass over times, and compare all else."""
    assert (difference(shown.split("\n"), printed) is None) == same


def test_blocks_are_found_with_their_marks(tmp_path: Path) -> None:
    """Should read fences, titles, marks and indented commands, and nothing else."""
    page = tmp_path / "page.md"
    page.write_text(
        "Text\n\n<!-- exit: 1 -->\n```console\n$ rnncheck a \\\n    b\nout\n$ c\n```\n\n"
        '```python title="x.py"\nx = 1\n```\n\n'
        "<!-- not run: takes long -->\n\n    rnncheck d\n    e\n\ntext\n\n    not a command\n"
    )
    first, second, third = blocks_of(page)
    assert commands_of(first) == [Command("rnncheck a     b", ["out"]), Command("c", [])]
    assert first.marks == {"exit": "1"}
    assert (second.title, second.text, second.marks) == ("x.py", "x = 1\n", {})
    assert commands_of(third) == [Command("rnncheck d", []), Command("e", [])]
    assert not third.runs


@pytest.mark.parametrize("page", [*PAGES, *OTHER_PAGES], ids=name_of)
def test_links_lead_to_files(page: Path) -> None:
    """Should lead somewhere in the checkout too, not in the site alone."""
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text()):
        if ":" not in target:
            assert (page.parent / target).exists(), f"{name_of(page)} links to {target}"


@functools.cache
def sources_of_scripts() -> str:
    """The text of everything beside the package that may have options of its own."""
    folders = (SCRIPTS, ROOT / "benchmarks", ROOT / "tests")
    return "".join(path.read_text() for folder in folders for path in sorted(folder.rglob("*.py")))


@pytest.mark.parametrize("page", [*PAGES, *OTHER_PAGES], ids=name_of)
def test_commands_and_options_that_are_named_exist(page: Path) -> None:
    """Should name no command or option in running text that there is not."""
    text = re.sub(r"^( *)```.*?^\1```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    known = commands_and_groups()
    for name in re.findall(r"`rnncheck ([a-z][a-z-]*)", text):
        assert name in known, f"{name_of(page)} names rnncheck {name}"
    options = {option for command in known.values() for parameter in command.params for option in parameter.opts}
    for option in set(re.findall(r"`(--[a-z0-9-]+)", text)) - options - {"--help", "--version"}:
        assert f'"{option}"' in sources_of_scripts(), f"{name_of(page)} names the option {option}"


def test_every_public_name_has_an_example() -> None:
    """Should use each name of the package in a block of docs/python.md that is run."""
    examples = [block for block in blocks_of(ROOT / "docs" / "python.md") if block.kind == "python" and block.runs]
    code = "\n".join(block.text for block in examples)
    for name in rnncheck.__all__:
        assert re.search(rf"\b{name}\b", code), f"docs/python.md has no example of {name}"


def test_every_setting_and_every_field_of_a_verdict_is_told() -> None:
    """Should leave out no field of VerifySettings and of Verdict."""
    text = (ROOT / "docs" / "python.md").read_text()
    settings = [field.name for field in dataclasses.fields(rnncheck.VerifySettings)]
    fields = {name for kind in (rnncheck.Violated, rnncheck.Satisfied) for name in kind.__struct_fields__}
    for name in (*settings, *sorted(fields)):
        assert f"`{name}`" in text, f"docs/python.md does not tell {name}"


REGISTRIES: dict[str, Iterable[str]] = {
    "an equivalence oracle": EQUIVALENCES,
    "an extraction method": EXTRACTIONS,
    "a learner": LEARNERS,
    "a verification method": METHODS,
    "a cell": [cell.value for cell in rnncheck.Cell],
}


@pytest.mark.parametrize("kind", REGISTRIES)
def test_every_name_that_can_be_chosen_is_told(kind: str) -> None:
    """Should tell each name in running text, not only in an example."""
    text = "\n".join(page.read_text() for page in PAGES)
    for name in REGISTRIES[kind]:
        assert f"`{name}`" in text, f"the documentation does not tell {kind}: {name}"


def test_the_names_of_methods_are_those_of_the_registry() -> None:
    """Should let a verdict name every method there is, and no other."""
    assert set(get_args(MethodName)) == set(METHODS)
    assert set(get_args(ExtractionName)) == set(EXTRACTIONS)
    assert set(get_args(EquivalenceName)) == set(EQUIVALENCES)
    assert set(get_args(LearnerName)) == set(LEARNERS)
    assert set(get_args(RelationName)) == {relation.value for relation in Relation}


@pytest.fixture
def scripts_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(SCRIPTS)


def test_the_schema_of_verdicts_is_up_to_date(scripts_on_path: None) -> None:
    """Should be what `python scripts/verdict_schema.py docs/assets/verdict.schema.json` writes."""
    from verdict_schema import schema_text

    assert (ROOT / "docs" / "assets" / "verdict.schema.json").read_text() == schema_text()


def test_the_schema_tells_every_part_of_a_verdict(scripts_on_path: None, reader_has: Path) -> None:
    """Should have a type for each part of a real document, and a row for each field in the page."""
    from verdict_schema import verdict_schema

    schema = verdict_schema()
    kinds = schema["$defs"]
    page = (ROOT / "docs" / "verdict-json.md").read_text()
    for name, kind in kinds.items():
        for field in kind.get("properties", ()) if name != "DFADocument" else ():  # that one is described in formats.md
            assert f"`{field}`" in page, f"{name}.{field}"
    document = json.loads((reader_has / "verdict.json").read_bytes())
    parts = list(typed_parts(document, schema, kinds))
    assert {"FaultyFlow", "Round", "SpecFacts", "TotalCost", "Trace"} <= {name for name, _ in parts}
    for name, part in parts:
        if "enum" in kinds[name]:
            assert part in kinds[name]["enum"]
        else:
            assert set(kinds[name]["required"]) <= set(part) <= set(kinds[name]["properties"]), name
            assert name == "DFADocument" or set(part) == set(kinds[name]["properties"]), name


def typed_parts(value: Any, schema: dict[str, Any], kinds: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every part of a document that the schema has a type for, with the name of that type."""
    while "anyOf" in schema:
        schema = next(one for one in schema["anyOf"] if one.get("type") != "null")
    if value is not None and "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        yield name, value
        for field, inner in kinds[name].get("properties", {}).items():
            yield from typed_parts(value.get(field), inner, kinds)
    elif value is not None and schema.get("type") == "array":
        for one in value:
            yield from typed_parts(one, schema["items"] or {}, kinds)


def test_the_site_is_built_without_a_warning_and_has_no_dead_link(tmp_path: Path) -> None:
    """Should do what `make docs` does."""
    pytest.importorskip("mkdocs", reason="the extra docs is not installed")
    site = tmp_path / "site"
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}  # an advertisement of the theme, not about this site
    for command in (
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)],
        [sys.executable, str(SCRIPTS / "check_links.py"), str(site)],
    ):
        result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
        assert result.returncode == 0, result.stdout + result.stderr
        assert "WARNING" not in result.stderr
    reference = (site / "commands.html").read_text()
    for name in commands_and_groups():
        assert f"rnncheck {name}" in reference
    schema = json.loads((site / "assets" / "verdict.schema.json").read_text())
    assert schema["title"] == "rnncheck/verdict/2"


def test_a_dead_link_is_found(tmp_path: Path, scripts_on_path: None) -> None:
    """Should tell a missing file and a missing place, and pass over other sites."""
    from check_links import dead_links

    (tmp_path / "a.html").write_text('<h1 id="x"></h1><a href="b.html#here"></a><a href="#x"></a><img src="no.png">')
    (tmp_path / "b.html").write_text('<p id="here"><a href="a.html#nowhere"></a><a href="https://example.org/x"></a>')
    assert dead_links(tmp_path) == ["a.html: no.png is not there", "b.html: a.html#nowhere has no such place"]
