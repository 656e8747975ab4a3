"""One page for a whole property file: a table of properties and models, and what is known of each check."""

from __future__ import annotations

import re
from collections.abc import Mapping

from rnncheck.report.markup import Child, Markup, count, join, section, shortened, tag, word_markup
from rnncheck.report.page.shell import grid, page
from rnncheck.suite.check_results import Check, SuiteResult
from rnncheck.verdict.strata import frequency_sentence
from rnncheck.verdict.text import SIGNS, answers_sentence, capital
from rnncheck.verdict.value import Verdict

_SIGNS = {**SIGNS, "satisfied": "✓", "error": "!"}
_LONGEST_FORMULA = 400


def report_names(result: SuiteResult) -> dict[tuple[str, str], str]:
    """A file name for the report of each check that has a verdict, by model and property; no two are alike."""
    names: dict[tuple[str, str], str] = {}
    taken: set[str] = set()
    for check in result.checks:
        if check.verdict is None:
            continue
        plain = re.sub(r"[^a-z0-9]+", "-", f"{check.model}-{check.name}".lower()).strip("-")[:80] or "check"
        number = 1
        while (name := f"{plain}.html" if number == 1 else f"{plain}-{number}.html") in taken:
            number += 1
        taken.add(name)
        names[check.model, check.name] = name
    return names


def summary_page(result: SuiteResult, links: Mapping[tuple[str, str], str], date: str | None = None) -> str:
    """The page; ``links`` lead to the reports of single checks, relative to it."""
    title = result.title or "Property file"
    outcome = {0: "satisfied", 1: "violated", 2: "violated", 3: "undecided"}[result.exit_code]
    badge = "passed" if result.passed else "undecided" if result.exit_code == 3 else "failed"
    top = tag(
        "header",
        tag("p", "rnncheck", tag("span", " check"), class_="brand"),
        tag("p", tag("span", _SIGNS[outcome], aria_hidden="true"), badge, class_=f"badge {outcome}"),
        tag("h1", title),
        tag("p", f"{result.summary()}."),
        None if (joint := result.joint_sentence()) is None else tag("p", f"{capital(joint)}."),
        *(tag("p", f"Note: {note}.") for note in result.notes),
        tag("p", *_about(result, date), class_="property"),
    )
    parts = [
        ("table", "Table", section("table", "Properties and models", _matrix(result, links))),
        ("failed", "Not satisfied", _failed(result, links)),
        ("satisfied", "Satisfied", _satisfied(result, links)),
        ("properties", "Properties", _properties(result)),
    ]
    return page(f"{title} · rnncheck", top, parts, version=result.version)


def _about(result: SuiteResult, date: str | None) -> list[Child]:
    when = [] if date is None else [f" · {date}"]
    return ["Property file ", tag("code", result.suite), f" · {result.seconds:.1f} s", *when]


def _matrix(result: SuiteResult, links: Mapping[tuple[str, str], str]) -> Markup:
    models = list(dict.fromkeys(check.model for check in result.checks))
    by_pair = {(check.model, check.name): check for check in result.checks}
    rows = [
        [name, *(_cell(by_pair.get((model, name)), links) for model in models)]
        for name in dict.fromkeys(check.name for check in result.checks)
    ]
    return grid(["property", *models], rows)


def _cell(check: Check | None, links: Mapping[tuple[str, str], str]) -> Child:
    if check is None:
        return "–"
    name = check.outcome_name
    shown = tag("span", f"{_SIGNS[name]} {name}", class_=f"outcome {check.outcome} {name.replace(' ', '-')}")
    allowed = tag("span", " allowed", class_="note") if check.allowed and check.outcome != "satisfied" else None
    return join([_linked(shown, check, links), allowed])


def _linked(shown: Child, check: Check, links: Mapping[tuple[str, str], str]) -> Markup:
    link = links.get((check.model, check.name))
    return join([shown]) if link is None else tag("a", shown, href=link)


def _failed(result: SuiteResult, links: Mapping[tuple[str, str], str]) -> Markup | None:
    """Each check that is not satisfied, the not allowed first."""
    bad = sorted((check for check in result.checks if check.outcome != "satisfied"), key=lambda check: check.allowed)
    return section("failed", "Not satisfied", *(_one(check, links) for check in bad)) if bad else None


def _one(check: Check, links: Mapping[tuple[str, str], str]) -> Markup:
    allowed = f", allowed ({check.severity.value})" if check.allowed else ""
    head = tag("h3", f"{check.name} · {check.model}: {check.outcome_name}{allowed}")
    facts: list[Child] = [tag("p", check.description)] if check.description else []
    if check.verdict is None:
        facts.append(tag("p", check.sentence(), class_="health"))
    else:
        facts += _evidence(check.verdict)
    link = links.get((check.model, check.name))
    more = None if link is None else tag("p", tag("a", "The whole report", href=link))
    return tag("article", head, *facts, more)


def _evidence(verdict: Verdict) -> list[Child]:
    found: list[Child] = []
    if verdict.counterexample is not None:
        label = tag("span", f"Counterexample: {answers_sentence(verdict)}", class_="label")
        found.append(tag("p", label, word_markup(verdict.counterexample), class_="word"))
    for flow in verdict.faulty_flows[:3]:
        hits = f": {flow.hits} of n = 1 … {flow.pumps} are violations{flow.ever}"
        found.append(tag("p", "Faulty flow ", tag("code", str(flow)), hits))
    if verdict.severity is not None:
        found.append(tag("p", f"Severity: {frequency_sentence(verdict.severity.interval)} (95 %)."))
    if verdict.data is not None:
        found.append(tag("p", f"On your data: {verdict.data.sentence()}."))
    if verdict.counterexample is None:
        required = "" if verdict.shortfall is None else f"{capital(verdict.shortfall)}. "
        found.append(tag("p", f"{required}{capital(verdict.reason)}; {verdict.guarantee or 'nothing is known'}."))
    return found


def _satisfied(result: SuiteResult, links: Mapping[tuple[str, str], str]) -> Markup | None:
    rows: list[list[Child]] = [
        [check.name, _linked(check.model, check, links), str(check.verdict.guarantee or check.verdict.reason)]
        for check in result.checks
        if check.verdict is not None and check.outcome == "satisfied"
    ]
    return section("satisfied", "Satisfied", grid(["property", "model", "what is known"], rows)) if rows else None


def _properties(result: SuiteResult) -> Markup:
    rows: list[list[Child]] = [
        [
            check.name,
            check.description or "–",
            tag("code", shortened(f"{check.kind}: {check.text}", _LONGEST_FORMULA)),
            check.severity.value,
            ", ".join(check.tags) or "–",
        ]
        for check in {check.name: check for check in result.checks}.values()
    ]
    header = ["property", "what it means", "specification", "severity", "tags"]
    text = f"{count(len(rows), 'property', 'properties')} of the file."
    return section("properties", "The properties", tag("p", text), grid(header, rows))
