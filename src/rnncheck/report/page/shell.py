"""What every page has around its sections: head, security policy, navigation, footer."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from importlib.resources import files

from rnncheck.report.markup import Markup, join, script_json, tag
from rnncheck.version import __version__


def page(
    title: str,
    top: Markup,
    parts: Iterable[tuple[str, str, Markup | None]],
    *,
    data: object = None,
    version: str = __version__,
    pictures: bool = False,
) -> str:
    """One HTML file with everything in it. ``parts`` are (key, name in the navigation, section); None is left out.

    ``data`` is for the page's script, and without it there is none. ``pictures`` allows images that are in the file.
    """
    style, script = _asset("report.css"), _asset("report.js")
    shown = [(key, name, part) for key, name, part in parts if part is not None]
    links = [tag("li", tag("a", name, href=f"#{key}")) for key, name, _ in shown]
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; "
        + (f"script-src '{_digest(script)}'; " if data is not None else "")
        + ("img-src data:; " if pictures else "")
        + "base-uri 'none'; form-action 'none'"
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="generator", content=f"rnncheck {version}".strip()),
        tag("title", title),
        tag("style", Markup(style)),
    )
    scripts = [tag("script", script_json(data), id="data", type="application/json"), tag("script", Markup(script))]
    body = tag(
        "body",
        tag("a", "Skip to the result", href="#main", class_="skip"),
        tag("nav", tag("ul", *links), aria_label="Sections"),
        tag("main", top, join(part for _, _, part in shown), id="main"),
        tag("footer", tag("p", f"Written by rnncheck {version}. This file is complete: it loads nothing.")),
        *(scripts if data is not None else ()),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _asset(name: str) -> str:
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """What the page's security policy knows a style or script by: nothing else in the page may run."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode()
