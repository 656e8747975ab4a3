"""Definitions that several properties share: ``$name`` in a formula or an expression stands for a text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from rnncheck.errors import ExpressionError, InputError
from rnncheck.words import read_quoted

_REFERENCE = re.compile(r"\$(\w+)")
_LONGEST = 1_000_000  # characters of a formula: definitions that double one another grow beyond any memory


@dataclass(frozen=True)
class Definitions:
    """Names and what they stand for, in the language of whatever uses them; none leads back to itself."""

    texts: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        finished: set[str] = set()
        for name in self.texts:
            self._check_ends(name, (), finished)

    def in_formula(self, text: str) -> str:
        """A formula with each name replaced by its text, in brackets."""
        parts: list[str] = []
        at = 0
        for start, end, name in _references(text):
            if name not in self.texts:
                known = ", ".join(f"${each}" for each in self.texts) or "none"
                raise InputError(f"${name} is not defined; defined are: {known}; write it in [definitions]")
            parts += [text[at:start], f"({self.in_formula(self.texts[name])})"]
            at = end
            if sum(map(len, parts)) > _LONGEST:
                raise InputError(f"with its definitions it has more than {_LONGEST} characters; write it shorter")
        return "".join([*parts, text[at:]])

    def in_expression(self, text: str) -> str:
        """A regular expression that begins with the definitions it needs."""
        used, left = set[str](), [text]
        while left:
            new = {name for _, _, name in _references(left.pop()) if name in self.texts} - used
            used |= new
            left += [self.texts[name] for name in sorted(new)]
        return "".join(f"let {name} = {self.texts[name]}; " for name in self.texts if name in used) + text

    def _check_ends(self, name: str, path: tuple[str, ...], finished: set[str]) -> None:
        if name in path:
            circle = " → ".join(f"${each}" for each in (*path[path.index(name) :], name))
            raise InputError(f"definitions must not be circular: {circle}")
        if name in finished:
            return
        for _, _, other in _references(self.texts[name]):
            if other in self.texts:
                self._check_ends(other, (*path, name), finished)
        finished.add(name)


def _references(text: str) -> list[tuple[int, int, str]]:
    """Where names are referred to outside of quotes: from where, to where, which."""
    found: list[tuple[int, int, str]] = []
    at = 0
    while at < len(text):
        if text[at] in "'\"":
            try:
                _, at = read_quoted(text, at)
            except ExpressionError:  # reported when the text is compiled
                return found
        elif match := _REFERENCE.match(text, at):
            found.append((at, match.end(), match[1]))
            at = match.end()
        else:
            at += 1
    return found
