"""The report: one HTML file with everything in it, which asks nothing of any network."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files

from rnncheck.report import facts_section, flow_section, sections
from rnncheck.report.embedded import embedded
from rnncheck.report.markup import Markup, join, script_json, shortened, tag
from rnncheck.verdict import Verdict

_SECTIONS = (
    ("meaning", "Meaning", sections.meaning),
    ("counterexample", "Counterexample", sections.counterexample),
    ("flows", "Faulty flows", flow_section.flows),
    ("automata", "Automata", sections.automata),
    ("try", "Try a word", sections.try_a_word),
    ("rounds", "Rounds", sections.rounds),
    ("facts", "Facts", facts_section.facts),
    ("repeat", "Repeat it", facts_section.repeat),
)


def report_page(verdict: Verdict) -> str:
    """The page of a verdict."""
    style, script = _asset("report.css"), _asset("report.js")
    made = [(key, name, make(verdict)) for key, name, make in _SECTIONS]
    parts = [(key, name, part) for key, name, part in made if part is not None]
    links = [tag("li", tag("a", name, href=f"#{key}")) for key, name, _ in parts]
    origin = str(verdict.spec_facts.get("origin", "")) or "verification"
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="generator", content=f"rnncheck {verdict.version}".strip()),
        tag("title", f"{verdict.outcome.value}: {shortened(origin, 60)} · rnncheck"),
        tag("style", Markup(style)),
    )
    body = tag(
        "body",
        tag("a", "Skip to the verdict", href="#main", class_="skip"),
        tag("nav", tag("ul", *links), aria_label="Sections"),
        tag("main", sections.top(verdict), join(part for _, _, part in parts), id="main"),
        tag("footer", tag("p", f"Written by rnncheck {verdict.version}. This file is complete: it loads nothing.")),
        tag("script", script_json(embedded(verdict)), id="data", type="application/json"),
        tag("script", Markup(script)),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _asset(name: str) -> str:
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """What the page's security policy knows a style or script by: nothing else in the page may run."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode()
