"""Specifications over letters and labels: which label a network may output, and when.

The trace of a word is a sequence of pairs: each letter, with the label that the network gives to the word so far. A
specification is an automaton over these pairs. The label of the empty word has no letter and is in no trace.

In formulas a letter stands for itself with any label, and ``label=alarm`` for any letter after which the network
outputs alarm. In expressions ``$label_alarm`` and ``$letter_a`` mean the same, and ``'a/alarm'`` is one pair.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rnncheck.automata.dfa import DFA
from rnncheck.automata.ltlf.grammar import LETTERS, parse_ltlf
from rnncheck.automata.ltlf.ltlf_compiler import compile_ltlf
from rnncheck.automata.ltlf.tokens import tokens_of
from rnncheck.automata.minimisation import minimise
from rnncheck.automata.regex.regex_compiler import compile_regex
from rnncheck.errors import ExpressionError, short_repr
from rnncheck.words import Alphabet, IntArray, letter_text, quoted, read_quoted

_PREFIX = "label="
_LABEL = re.compile(r"(?<!\w)label\s*=\s*(?=[\w'\"])")
_NAME = re.compile(r"\w+")


class PairAlphabet:
    """The pairs of letters and labels as an alphabet, ordered by letter and then by label."""

    def __init__(self, alphabet: Alphabet, labels: Sequence[str]) -> None:
        self.letters = alphabet
        self.labels = tuple(labels)
        self.pairs = Alphabet([self.name(letter, label) for letter in alphabet for label in labels])

    def name(self, letter: str, label: str) -> str:
        """``letter/label``, with quotes around a part that contains a slash."""
        return "/".join(quoted(part) if "/" in part else letter_text(part) for part in (letter, label))

    def code(self, letters: npt.NDArray[np.integer[Any]], labels: IntArray) -> IntArray:
        """The positions of pairs, from those of letters and labels."""
        return np.asarray(letters, dtype=np.int64) * len(self.labels) + labels

    def matching(self, atom: str) -> list[str]:
        """The pairs that an atom stands for: a letter, or ``label=`` and a label."""
        if atom in self.letters:
            return [self.name(atom, label) for label in self.labels]
        return [self.name(letter, atom.removeprefix(_PREFIX)) for letter in self.letters]

    def knows(self, atom: str) -> bool:
        """Whether an atom is a letter, or names a label."""
        return atom in self.letters or (atom.startswith(_PREFIX) and atom.removeprefix(_PREFIX) in self.labels)


def compile_label_ltlf(text: str, alphabet: Alphabet, labels: Sequence[str]) -> DFA:
    """The automaton over pairs of the traces that satisfy a formula."""
    pairs = PairAlphabet(alphabet, labels)
    text = _quoted_labels(text)
    tokens = tokens_of(text)
    starts = {step.column for step in parse_ltlf(text) if step.op == LETTERS}
    written: list[str] = []
    at = 0
    inside = False
    for token, following in itertools.pairwise(tokens):
        end = following.column - 1
        begins = token.column in starts
        if token.is_symbol("{") and begins:
            inside = True
        elif token.is_symbol("}"):
            inside = False
        elif inside and not token.is_symbol(","):
            written.append(text[at : token.column - 1] + _pairs_text(token.text, pairs, text, token.column) + " ")
            at = end
        elif begins:
            written.append(text[at : token.column - 1] + f"{{{_pairs_text(token.text, pairs, text, token.column)}}} ")
            at = end
    return minimise(compile_ltlf("".join([*written, text[at:]]), pairs.pairs))


def compile_label_regex(text: str, alphabet: Alphabet, labels: Sequence[str]) -> DFA:
    """The automaton over pairs of the traces that an expression describes."""
    pairs = PairAlphabet(alphabet, labels)
    return minimise(compile_regex(text, pairs.pairs, definitions=_definitions(pairs)))


def _definitions(pairs: PairAlphabet) -> dict[str, str]:
    """``$letter_a`` and ``$label_x`` for the letters and labels that can be part of a name."""

    def one_of(names: Iterable[str]) -> str:
        return f"[{' '.join(map(quoted, names))}]"

    found = {f"letter_{a}": one_of(pairs.matching(a)) for a in pairs.letters if _NAME.fullmatch(a)}
    found |= {f"label_{x}": one_of(pairs.matching(_PREFIX + x)) for x in pairs.labels if _NAME.fullmatch(x)}
    return found


def _quoted_labels(text: str) -> str:
    """The formula with ``label=x`` as a quoted letter for the parser."""
    written: list[str] = []
    at = 0
    while at < len(text):
        if text[at] in "'\"":
            _, end = read_quoted(text, at)
            written.append(text[at:end])
        elif match := _LABEL.match(text, at):
            start = match.end()
            if text[start] in "'\"":
                label, end = read_quoted(text, start)
            else:
                name = _NAME.match(text, start)
                label, end = (name[0], name.end()) if name else ("", start)
            written.append(quoted(_PREFIX + label))
        else:
            written.append(text[at])
            end = at + 1
        at = end
    return "".join(written)


def _pairs_text(atom: str, pairs: PairAlphabet, text: str, column: int) -> str:
    if not pairs.knows(atom):
        raise ExpressionError(
            f"{short_repr(atom)} is neither a letter nor a label; the letters are {short_repr(str(pairs.letters))}, "
            "and a label "
            f"is written {_written(pairs.labels[0])} (there are {short_repr(', '.join(map(_written, pairs.labels)))})",
            text,
            column,
        )
    return " ".join(map(quoted, pairs.matching(atom)))


def _written(label: str) -> str:
    """A label as in formulas: quoted unless it is a name."""
    return _PREFIX + (label if _NAME.fullmatch(label) else quoted(label))
