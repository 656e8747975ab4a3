"""The report of a whole experiment: its table, its plots, every instance, in one HTML file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rnncheck.errors import MissingExtraError
from rnncheck.experiments.run_results import Result, RunResults
from rnncheck.experiments.runner import method_label
from rnncheck.experiments.table import remarks, table
from rnncheck.report.charts.run_charts import plots
from rnncheck.report.contacts.meanings import drawn_meanings
from rnncheck.report.markup import Child, Markup, count, join, section, shortened, tag
from rnncheck.report.page.shell import grid, page, picture
from rnncheck.words import format_word

_TITLES = {"random": "Networks trained on random automata", "contacts": "Networks that recognise contact sequences"}
_PLOTS = {
    "time-against-time": "Time against time. Above the line the last method is faster.",
    "cactus": "How many mistakes each method finds, if an instance may take so long.",
    "lengths": "Lengths of the counterexamples.",
    "queries": "Membership queries.",
}
_LONGEST_WORD = 80


def run_page(run: RunResults) -> str:
    """The page of a run, finished or not."""
    title = _TITLES.get(run.kind, run.kind)
    sections = [
        ("table", "Table", _table(run)),
        ("plots", "Plots", _plots(run)),
        ("instances", "Instances", _instances(run)),
        ("networks", "Networks", _networks(run)),
        ("settings", "Settings", _settings(run)),
    ]
    if run.kind == "contacts" and (figures := _meanings(run)):
        sections.insert(1, ("meanings", "Mistakes", section("meanings", "What the mistakes mean", *figures)))
    return page(f"{title} · rnncheck", _top(run, title), sections, pictures=True)


def _top(run: RunResults, title: str) -> Markup:
    found = {result.instance for result in run.results if result.violated}
    instances = {result.instance for result in run.results}
    state = "" if run.complete else f" The run is not finished: {len(run.results)} of {run.expected} verifications"
    if run.missing:
        state += f" of the networks made so far, and {count(len(run.missing), 'network')} still to be made"
    state += "." if state else ""
    return tag(
        "header",
        tag("p", "rnncheck", tag("span", " experiment"), class_="brand"),
        tag("h1", title),
        tag(
            "p",
            f"{count(len(run.subjects), 'network')}, {count(len(instances), 'instance')}, "
            f"{count(len(run.methods), 'method')}. A mistake is known in {len(found)} of the instances.{state}",
        ),
    )


def _table(run: RunResults) -> Markup:
    header, rows = table(run)
    return section("table", "The table", grid(header, rows), tag("ul", *(tag("li", line) for line in remarks(run))))


def _meanings(run: RunResults) -> list[Markup]:
    return [
        tag(
            "figure",
            tag("figcaption", drawn.sentence),
            picture(drawn.graph.encode(), f"The graph of contacts. {drawn.sentence}"),
            picture(drawn.timeline.encode(), f"The contacts along time. {drawn.sentence}"),
            class_="drawn",
        )
        for drawn in drawn_meanings(run)
    ]


def _plots(run: RunResults) -> Markup:
    try:
        drawn = plots(run)
    except MissingExtraError as error:
        return section("plots", "Plots", tag("p", str(error)))
    figures = [
        tag("figure", picture(drawn[f"{name}.svg"], caption), tag("figcaption", caption), class_="drawn")
        for name, caption in _PLOTS.items()
        if f"{name}.svg" in drawn
    ]
    return section("plots", "Plots", *figures)


def _instances(run: RunResults) -> Markup:
    by_instance: dict[str, dict[str, Result]] = {}
    for result in run.results:
        by_instance.setdefault(result.instance, {})[result.method] = result
    rows = [
        [instance, *(_verdict(found.get(method)) for method in run.methods), _shortest(found.values())]
        for instance, found in by_instance.items()
    ]
    header = ["instance", *map(method_label, run.methods), "shortest counterexample"]
    return section("instances", "Every instance", grid(header, rows))


def _verdict(result: Result | None) -> Child:
    if result is None:
        return "–"
    length = "" if result.length is None else f" {result.length}"
    return join(
        [
            tag("span", result.verdict, class_=f"outcome {result.verdict}", title=result.reason),
            f"{length}, {result.seconds:.2f} s",
        ]
    )


def _shortest(results: Iterable[Result]) -> Child:
    words = [(len(word), word) for result in results if (word := result.counterexample) is not None]
    return tag("code", shortened(format_word(min(words)[1]), _LONGEST_WORD)) if words else ""


def _networks(run: RunResults) -> Markup:
    names = list(dict.fromkeys(name for facts in run.subjects.values() for name in facts))
    rows = [[subject, *(_plain(facts.get(name)) for name in names)] for subject, facts in run.subjects.items()]
    return section("networks", "Networks", grid(["network", *(name.replace("_", " ") for name in names)], rows))


def _settings(run: RunResults) -> Markup:
    entries = [(name, value) for name, value in run.settings.items() if not isinstance(value, Mapping)]
    source = run.settings.get("source")
    entries += list(source.items()) if isinstance(source, Mapping) else []
    rows: list[list[Child]] = [[name.replace("_", " "), _plain(value)] for name, value in entries if value is not None]
    return section("settings", "Settings", grid(["setting", "value"], rows))


def _plain(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value)
