"""Which properties changed from one model to another."""

from __future__ import annotations

from rnncheck.report.markup import Markup, section, shortened, tag, word_markup
from rnncheck.verdict.questions import Comparison, PropertyChange
from rnncheck.verdict.value import Verdict


def compared(verdict: Verdict) -> Markup | None:
    """The two models, and a row for each property that was verified on both."""
    comparison = verdict.comparison
    if comparison is None:
        return None
    names = [("Old", comparison.old), ("New", comparison.new)]
    listed = tag("ul", *(tag("li", f"{side}: ", tag("code", shortened(name, 300))) for side, name in names if name))
    return section("compared", "The two models", listed if any(name for _, name in names) else None, _table(comparison))


def _table(comparison: Comparison) -> Markup:
    if not comparison.properties:
        return tag("p", "No property was verified on both; rnncheck diff --ltlf TEXT does that.", class_="note")
    head = tag("tr", *(tag("th", name, scope="col") for name in ("property", "old", "new", "changed")))
    rows = [
        tag(
            "tr",
            tag("th", tag("code", shortened(change.text, 300)), scope="row"),
            *_outcomes(change),
            tag("td", tag("strong", "changed") if change.changed else "as before"),
        )
        for change in comparison.properties
    ]
    table = tag(
        "table",
        tag("caption", "Properties on both models", class_="hidden"),
        tag("tbody", head, *rows),
        class_="properties",
    )
    return tag("div", table, class_="scroll")


def _outcomes(change: PropertyChange) -> list[Markup]:
    sides = ((change.old, change.old_word), (change.new, change.new_word))
    return [
        tag("td", outcome.value, " " if word else None, word_markup(word) if word else None) for outcome, word in sides
    ]
