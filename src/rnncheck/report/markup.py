"""HTML and SVG, built from pieces in which text can never become markup.

``tag`` escapes whatever is not already :class:`Markup`, so forgetting to escape is not possible; only ``tag`` and the
page's own files make Markup.
"""

from __future__ import annotations

import html
import json
import re
import unicodedata
from collections.abc import Iterable
from typing import TypeAlias

from rnncheck.words import EPSILON, letter_text


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


Child: TypeAlias = str | int | None
Attribute: TypeAlias = str | int | float | bool | None

_VOID = frozenset({"br", "hr", "img", "input", "meta"})
# Characters that XML does not allow, that break lines in scripts, or that turn the direction of what follows.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffe\uffff\ud800-\udfff]"
)
LEFT_TO_RIGHT = "\u200e"
_LONGEST_LETTER = 40
_LONGEST_TITLE = 400
_LETTERS_SHOWN = 60


def escape(text: str) -> Markup:
    """The text as it is to be read; characters that cannot be seen, or that play tricks, show as escapes."""
    return Markup(html.escape(_UNSEEN.sub(lambda match: f"\\u{{{ord(match[0]):x}}}", text)))


def listed(text: str, mark: str = LEFT_TO_RIGHT) -> str:
    """A list with commas in it that stays in its order: a script that runs leftwards turns what follows it around.

    ``mark`` is put after each part, where the text has letters of such a script.
    """
    turns = any(unicodedata.bidirectional(ch) in ("R", "AL", "AN") for ch in text)
    return text.replace(", ", f"{mark}, ") if turns else text


def join(children: Iterable[Child]) -> Markup:
    """Pieces one after the other."""
    return Markup("".join(_piece(child) for child in children))


def tag(name: str, /, *children: Child, **attributes: Attribute) -> Markup:
    """An element. ``class_`` stands for ``class``, ``aria_label`` for ``aria-label``; None and False are left out."""
    opening = name + "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Markup(f"<{opening}>")
    return Markup(f"<{opening}>{join(children)}</{name}>")


def number(value: float) -> str:
    """A coordinate: at most two decimals, and no minus before zero."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def count(value: int, noun: str, plural: str | None = None) -> str:
    """``1 letter``, ``1,234 letters``."""
    return f"{value:,} {noun if value == 1 else plural or noun + 's'}"


def shortened(text: str, limit: int) -> str:
    """The text, its middle left out where it is too long."""
    if len(text) <= limit:
        return text
    head = (limit - 1) * 2 // 3
    return f"{text[:head]}…{text[len(text) - (limit - 1 - head) :]}"


def letter(name: str, *, limit: int = _LONGEST_LETTER) -> Markup:
    """One letter in the text form that words have everywhere; a long one is cut and has its text as a tooltip."""
    text = letter_text(name)
    short = shortened(text, limit)
    return tag("bdi", short, class_="letter", title=None if short == text else shortened(text, _LONGEST_TITLE))


def word_markup(word: Iterable[str], most: int = _LETTERS_SHOWN) -> Markup:
    """A word as letters, the middle left out where there are more than ``most``."""
    letters = list(word)
    if not letters:
        return tag("span", EPSILON, class_="letters", title="the empty word")
    if len(letters) <= most:
        parts: list[Child] = [letter(name) for name in letters]
    else:
        half = most // 2
        gap = tag("span", f"… {len(letters) - 2 * half:,} letters …", class_="gap")
        parts = [*(letter(name) for name in letters[:half]), gap, *(letter(name) for name in letters[-half:])]
    spaced = [piece for part in parts for piece in (Markup(" "), part)][1:]
    return tag("span", *spaced, class_="letters")


def section(key: str, heading: str, *content: Child) -> Markup:
    """A section with its heading."""
    return tag("section", tag("h2", heading, id=f"{key}-title"), *content, id=key, aria_labelledby=f"{key}-title")


def script_json(value: object) -> Markup:
    """JSON for a script element: no character in it has a meaning in HTML."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


def _piece(child: Child) -> str:
    if child is None:
        return ""
    return child if isinstance(child, Markup) else escape(str(child))


def _attribute(key: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    text = number(value) if isinstance(value, float) else str(value)
    return f' {name}="{escape(text)}"'
