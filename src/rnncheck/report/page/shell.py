"""What every page has around its sections: head, security policy, navigation, footer."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from importlib.resources import files

from rnncheck.report.markup import Child, Markup, join, script_json, tag
from rnncheck.version import __version__

_SHORT_CELL = 24


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


def picture(svg: bytes, caption: str) -> Markup:
    """A picture that is in the file; the page must allow pictures."""
    data = base64.b64encode(svg).decode()
    return tag("img", src=f"data:image/svg+xml;base64,{data}", alt=caption, class_="plot")


def grid(header: Sequence[str], rows: Iterable[Sequence[Child]]) -> Markup:
    """A table that scrolls sideways inside itself; the first cell of a row is its heading."""
    head = tag("tr", *(tag("th", name, scope="col") for name in header))
    body = [tag("tr", tag("th", row[0], scope="row"), *(_cell(cell) for cell in row[1:])) for row in rows]
    made = tag("table", tag("thead", head), tag("tbody", *body), class_="grid")
    return tag("div", made, class_="wide", tabindex=0, role="region", aria_label="table")


def _cell(content: Child) -> Markup:
    """Sentences and long words are broken into lines; anything else stays on one."""
    sentence = isinstance(content, str) and not isinstance(content, Markup) and len(content) > _SHORT_CELL
    return tag("td", content, class_="long" if sentence else None)


def _asset(name: str) -> str:
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """What the page's security policy knows a style or script by: nothing else in the page may run."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode()
