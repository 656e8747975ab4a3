"""SARIF 2.1.0, as code scanning reads it: a rule for each property, a result for each check that is not satisfied."""

from __future__ import annotations

import json
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from rnncheck.report.checks.check_sentences import check_lines
from rnncheck.suite.check_results import Check, SuiteResult

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif_json(result: SuiteResult) -> str:
    """The document."""
    rules = list({check.name: check for check in result.checks}.values())
    index = {check.name: number for number, check in enumerate(rules)}
    problems = [check for check in result.checks if check.outcome != "satisfied"]
    run = {
        "tool": {"driver": {"name": "rnncheck", "version": result.version, "rules": [_rule(rule) for rule in rules]}},
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(result)],
        "results": [_result(check, index[check.name], result.suite) for check in problems],
    }
    document = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _rule(check: Check) -> dict[str, Any]:
    described = check.description or check.text
    return {
        "id": check.name,
        "name": check.name,
        "shortDescription": {"text": described},
        "fullDescription": {"text": f"{described} ({check.kind}: {check.text})"},
        "defaultConfiguration": {"level": check.severity.value},
        "properties": {"tags": list(check.tags)},
    }


def _invocation(result: SuiteResult) -> dict[str, Any]:
    errors = [check for check in result.checks if check.outcome == "error"]
    notes = [
        {"level": "error", "message": {"text": f"{check.name} of {check.model}: {check.sentence()}"}}
        for check in errors
    ]
    return {"executionSuccessful": not errors, "toolExecutionNotifications": notes, "exitCode": result.exit_code}


def _result(check: Check, rule: int, suite: str) -> dict[str, Any]:
    location: dict[str, Any] = {"artifactLocation": {"uri": quote(PurePath(suite).as_posix())}}
    if check.line:
        location["region"] = {"startLine": check.line}
    model = {"name": check.model, "fullyQualifiedName": check.source, "kind": "module"}
    level = "error" if check.outcome == "error" else check.severity.value
    return {
        "ruleId": check.name,
        "ruleIndex": rule,
        "level": "note" if check.allowed and level == "error" else level,
        "message": {"text": "\n".join([f"{check.name} is {check.outcome} of {check.model}.", *check_lines(check)])},
        "locations": [{"physicalLocation": location, "logicalLocations": [model]}],
        "partialFingerprints": {"rnncheck/1": f"{check.name}@{check.model}:{check.outcome}"},
    }
