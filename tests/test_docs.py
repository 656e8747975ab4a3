"""README, docs and examples: everything in them that can be run is run, and what they name exists."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from doc_pages import Block, Session, blocks_of, difference

from rnncheck.cli import rnncheck as command_line

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "examples" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
OTHER_PAGES = [ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", ROOT / "benchmarks" / "README.md"]
# Blocks to look at and not to run. A block of another kind could hide a command from the tests.
SHOWN = ("text", "json", "dot", "yaml", "html")
MOST_NOT_RUN = 0.1


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks() -> list[Block]:
    return [block for page in PAGES for block in blocks_of(page)]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_blocks_of_the_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Should do what the page says, in the order of the page, and print what the page shows."""
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
    runnable = [block for block in blocks() if block.kind in ("console", "python", "indented")]
    left_out = [block for block in runnable if not block.runs]
    for block in left_out:
        assert len(block.marks["not run"].split()) >= 2, f"{block.place} needs a reason"
    assert len(left_out) <= MOST_NOT_RUN * len(runnable), [block.place for block in left_out]


def test_no_command_hides_in_a_block_that_is_not_run() -> None:
    """Should find commands in blocks of a kind that runs alone, and no unknown marks."""
    for block in blocks():
        assert set(block.marks) <= {"exit", "not run"}, f"{block.place} has the marks {block.marks}"
        if block.kind in ("console", "python", "output", "indented") or block.title is not None:
            continue
        assert block.kind in SHOWN, f"{block.place} is of the kind {block.kind!r}"
        assert not re.search(r"^(\$ |rnncheck |>>> )", block.text, flags=re.MULTILINE), block.place
