"""The page of a comparison of extraction methods."""

from __future__ import annotations

from rnncheck.errors import MissingExtraError
from rnncheck.extraction.surrogate_comparison import SurrogateComparison
from rnncheck.report.charts.comparison_chart import comparison_chart
from rnncheck.report.markup import Markup, section, tag
from rnncheck.report.page.shell import grid, page, picture

_TITLE = "Surrogates compared"


def comparison_page(comparison: SurrogateComparison) -> str:
    """One HTML file: the table of methods, and how agreement grows with states."""
    about = [f"Network: {comparison.model}", f"Random words: {comparison.distribution}"]
    about += [f"Specification: {comparison.specification}"] if comparison.specification is not None else []
    top = tag(
        "header",
        tag("p", "rnncheck", tag("span", " extraction"), class_="brand"),
        tag("h1", _TITLE),
        *(tag("p", line) for line in about),
    )
    methods = section("methods", "Methods", grid(*comparison.table()))
    sections = [("methods", "Methods", methods), ("curve", "Agreement", _curve(comparison))]
    return page(f"{_TITLE} · rnncheck", top, sections, pictures=True)


def _curve(comparison: SurrogateComparison) -> Markup:
    try:
        drawn = picture(
            comparison_chart(comparison, "svg"), "States against agreement; the tables have the same numbers"
        )
    except MissingExtraError as error:
        drawn = tag("p", str(error))
    rows = [] if comparison.curve is None else comparison.curve.rows()
    cells = [[str(row[0]), *(f"{value:.4f}" for value in row[1:])] for row in rows]
    return section(
        "curve",
        "States against agreement",
        tag("figure", drawn, class_="drawn"),
        *(tag("p", line) for line in comparison.curve_sentences()),
        grid(["states", "agreement", "from", "to"], cells) if cells else None,
    )
