"""The pages of a property file: one overview, and the report of each check."""

from __future__ import annotations

from pathlib import Path

from rnncheck.cli.output_files import today
from rnncheck.errors import InputError
from rnncheck.report.automaton.graphviz import one_graphviz
from rnncheck.report.checks.summary_page import report_names, summary_page
from rnncheck.runtime.files import write_atomically
from rnncheck.suite.check_results import SuiteResult


def write_pages(result: SuiteResult, path: Path) -> None:
    """The page, and beside it a folder with the report of each check."""
    folder = path.with_name(f"{path.stem}-reports")
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made: {error.strerror or error}; remove what stands there") from None
    names, date = report_names(result), today()
    with one_graphviz():
        for one in result.checks:
            if one.verdict is not None:
                one.verdict.save_report(folder / names[one.model, one.name], date=date)
    links = {pair: f"{folder.name}/{name}" for pair, name in names.items()}
    write_atomically(path, summary_page(result, links, date))
