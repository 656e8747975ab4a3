"""The tokens of LTLf and LDLf formulas."""

from __future__ import annotations

import re
from typing import NamedTuple

from rnncheck.errors import ExpressionError, visible
from rnncheck.words import read_quoted

NAME, LETTER, SYMBOL, END = "name", "letter", "symbol", "end"

_LONGEST_SHOWN = 60  # characters of a name, in a message
_SYNONYMS = {"~": "!", "&&": "&", "||": "|", "=>": "->", "<=>": "<->"}
_SPACE = re.compile(r"\s*")
_NAME = re.compile(r"\w+")
_SYMBOL = re.compile(r"<->|<=>|->|=>|&&|\|\||[!~&|(){}<>\[\],;+*?]")


class Token(NamedTuple):
    """A name, a quoted letter, a symbol (synonyms are made one), or the end of the text."""

    kind: str
    text: str
    column: int

    def is_symbol(self, text: str) -> bool:
        return self.kind == SYMBOL and self.text == text

    def __str__(self) -> str:
        text = visible(self.text if len(self.text) <= _LONGEST_SHOWN else f"{self.text[:_LONGEST_SHOWN]}…")
        return {END: "the end of the text", LETTER: f"the letter '{text}'"}.get(self.kind, text)


def tokens_of(text: str) -> list[Token]:
    """The tokens of a formula; the last one is its end."""
    tokens = []
    at = _skip_space(text, 0)
    while at < len(text):
        column = at + 1
        if text[at] in "'\"":
            letter, at = read_quoted(text, at)
            tokens.append(Token(LETTER, letter, column))
        elif name := _NAME.match(text, at):
            at = _end_of_name(text, name.end())
            tokens.append(Token(NAME, text[column - 1 : at], column))
        elif symbol := _SYMBOL.match(text, at):
            at = symbol.end()
            tokens.append(Token(SYMBOL, _SYNONYMS.get(symbol[0], symbol[0]), column))
        else:
            raise ExpressionError(
                f"{text[at]!r} has no meaning in a formula; if it belongs to a letter, quote the letter", text, column
            )
        at = _skip_space(text, at)
    tokens.append(Token(END, "", len(text) + 1))
    return tokens


def _skip_space(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def _end_of_name(text: str, at: int) -> int:
    """Skip the combining marks that many scripts need inside a name and that regular expressions leave out."""
    while at < len(text) and ("_" + text[at]).isidentifier():
        at += 1
    return at
