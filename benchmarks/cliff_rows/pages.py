"""Pages: what the report of a property file costs beside the run that it reports."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from property_file import formulas, holding

from cliff_rows.row import Measured, Row, seconds_of
from rnncheck import zoo
from rnncheck.cli.check_pages import write_pages
from rnncheck.suite.check import check
from rnncheck.suite.check_results import SuiteResult


def property_file(folder: Path, name: str, texts: list[str]) -> Path:
    """A file with these formulas about a network of the zoo, for small samples."""
    lines = ["[defaults]", "epsilon = 0.01", "gamma = 0.01", "[models.network]", f'path = "{zoo.path(name)}"']
    lines += [f'[properties.p{number}]\nltlf = "{text}"' for number, text in enumerate(texts)]
    path = folder / "suite.toml"
    path.write_text("\n".join(lines))
    return path


def reports(quick: bool) -> Iterator[Measured]:
    """The page of a property file and the reports beside it, against the run."""
    count = 10 if quick else 100
    kinds = [
        ("violated", "response-faulty-lstm", formulas(["a", "b", "c"], count)),
        ("satisfied", "response-lstm", holding(count)),
    ]
    for outcome, name, texts in kinds:
        found: list[SuiteResult] = []
        with tempfile.TemporaryDirectory() as made:
            path = property_file(Path(made), name, texts)
            run = seconds_of(lambda path=path, found=found: found.append(check(path, threads=1)))
            written = seconds_of(lambda path=path, found=found: write_pages(found[0], path.with_suffix(".html")))
        what = f"reports of {count} {outcome} properties"
        yield Measured(what, f"{written:.2f} s", f"the run: {run:.1f} s", f"{written / run:.2f}")


ROWS = [Row(9, "at most 0.5", reports)]
