"""``report`` of a document that was damaged anywhere: a page, or one line."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

import rnncheck
from rnncheck import FlowSettings, Spec, Verdict, VerifySettings, zoo
from rnncheck.errors import RnncheckError
from rnncheck.report.automaton.graphviz import one_graphviz
from rnncheck.report.page.verdict_page import report_page
from support import samples

DELETED = object()
ODD = [
    DELETED, None, True, -1, 10**30, 10**400, 1e308, 5e-324, -0.5, "", "\x1b[31m\n", "'", [], {}, [[]], ["a"] * 3,
    {"a": None}, {"kind": "n-gram"},
]  # fmt: skip
QUICK = {"epsilon": 0.1, "gamma": 0.1}


@functools.cache
def documents() -> dict[str, str]:
    model = rnncheck.load_model(zoo.entry("even-elman").path)
    spec = Spec.from_regex("a*", model.alphabet)
    few = VerifySettings(search_steps=1000, severity_samples=20, flows=FlowSettings(5, 1, 1, 2))
    violated = rnncheck.verify(model, spec, settings=few, **QUICK)
    return {
        "violated": msgspec.structs.replace(violated, command="rnncheck verify m.pt --regex 'a*'").to_json(),
        "errors": rnncheck.verify(model, spec, method="errors", settings=VerifySettings(flows=None), **QUICK).to_json(),
        "satisfied": samples.satisfied().to_json(),
        "labels": samples.labels().to_json(),
    }


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Where the document has a value; of a list, its first two."""
    if path:
        yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for name, part in inside:
        yield from places(part, (*path, name))


def damaged(document: str, path: tuple[str | int, ...], value: object) -> str:
    whole = json.loads(document)
    at = whole
    for name in path[:-1]:
        at = at[name]
    if value is DELETED:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return json.dumps(whole)


def trouble(document: str) -> str | None:
    """What is wrong about how a document is reported."""
    try:
        report_page(Verdict.from_json(document))
    except RnncheckError as error:
        return None if str(error).isprintable() else f"not one line: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


@pytest.mark.parametrize(
    ("name", "every"),
    [
        ("violated", 5),
        ("errors", 11),
        *(pytest.param(name, 1, marks=pytest.mark.slow) for name in ("violated", "errors", "satisfied", "labels")),
    ],
)
def test_a_damaged_document_is_a_page_or_one_line(name: str, every: int) -> None:
    document = documents()[name]
    cases = [(path, value) for path in places(json.loads(document)) for value in ODD]
    assert len(cases) > 1000
    with one_graphviz():  # the same automata come again and again
        for path, value in cases[::every]:
            problem = trouble(damaged(document, path, value))
            assert problem is None, f"{path} = {value!r}: {problem}"


@pytest.mark.parametrize("settings", [{"distribution": {"weights": {"a": None}}}, {"distribution": {"weights": 5}}])
def test_what_the_settings_hold_is_not_relied_on(settings: dict[str, Any]) -> None:
    report_page(msgspec.structs.replace(samples.satisfied(), settings=settings))


@pytest.mark.parametrize("end", [0, 1, 100, -2])
def test_half_a_document_is_one_line(end: int) -> None:
    with pytest.raises(RnncheckError) as caught:
        Verdict.from_json(documents()["errors"][:end])
    assert str(caught.value).isprintable()


def test_a_number_of_any_length_is_no_trouble() -> None:
    """Should not meet Python's limit on digits: it is no error of ours."""
    document = documents()["errors"]
    for name in ('"seed": 0', '"samples": 0', '"rounds": '):
        start = document.find(name)
        if start >= 0:
            assert trouble(document.replace(name, f"{name}{'7' * 5000}", 1)) is None
