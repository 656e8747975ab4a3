"""JUnit XML, as CI servers read it: a suite for each model, a test for each property."""

from __future__ import annotations

import itertools

from rnncheck.report.checks.check_sentences import check_lines
from rnncheck.report.markup import Markup, shortened, tag
from rnncheck.suite.check_results import Check, SuiteResult

_LONGEST_MESSAGE = 400  # in an attribute; the text of the element has all


def junit_xml(result: SuiteResult) -> str:
    """The document. What is violated or undecided and allowed is skipped, with the reason in its message."""
    groups = [list(group) for _, group in itertools.groupby(result.checks, key=lambda check: check.model)]
    suites = [_suite(group, result) for group in groups]
    if suites and (joint := result.joint_sentence()) is not None:  # readers show this of a suite, not of all suites
        suites[-1] = _suite(groups[-1], result, tag("system-out", joint))
    whole = tag("testsuites", *suites, name=result.title or result.suite, **_counts(result.checks))
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{whole}\n'


def _suite(checks: list[Check], result: SuiteResult, about_all: Markup | None = None) -> Markup:
    cases = [_case(check, result) for check in checks]
    return tag("testsuite", *cases, about_all, name=checks[0].model, **_counts(tuple(checks)))


def _counts(checks: tuple[Check, ...]) -> dict[str, str]:
    kinds = [_kind(check) for check in checks]
    seconds = sum(check.verdict.cost.seconds for check in checks if check.verdict is not None)
    counted = {"tests": len(kinds)} | {f"{kind}s": kinds.count(kind) for kind in ("failure", "error")}
    counted["skipped"] = kinds.count("skipped")
    return {name: str(number) for name, number in counted.items()} | {"time": f"{seconds:.3f}"}


def _kind(check: Check) -> str:
    if check.outcome == "satisfied":
        return "passed"
    return "error" if check.outcome == "error" else "skipped" if check.allowed else "failure"


def _case(check: Check, result: SuiteResult) -> Markup:
    kind, seconds = _kind(check), 0.0 if check.verdict is None else check.verdict.cost.seconds
    text = "\n".join(check_lines(check))
    message = shortened(f"{check.outcome}: {check.sentence()}", _LONGEST_MESSAGE)
    if kind == "passed":
        inner = tag("system-out", text)
    elif kind == "skipped":  # readers take its message alone
        inner = tag("skipped", message=f"allowed ({check.severity.value}): {message}")
    else:
        inner = tag(kind, text, message=message, type=check.outcome)
    return tag(
        "testcase",
        inner,
        classname=check.model,
        name=check.name,
        time=f"{seconds:.3f}",
        file=result.suite,
        line=str(check.line) if check.line else None,
    )
