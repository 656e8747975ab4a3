"""Automata as JSON documents, schema ``rnncheck/dfa/1``.

    {"schema": "rnncheck/dfa/1", "alphabet": ["a", "b"], "initial": 0, "accepting": [1],
     "transitions": [[0, 1], [1, 1]], "names": ["start", "end"]}

``transitions[q][i]`` is the successor of state q under letter i of the alphabet, or null where there is none (an
error unless the reader completes the automaton); ``names`` is optional.
"""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np

from rnncheck.automata.dfa import DFA
from rnncheck.automata.formats.parts import Parts
from rnncheck.errors import FormatError, InputError, short_repr, visible
from rnncheck.words import Alphabet


class DFADocument(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The JSON form of a DFA."""

    schema: Literal["rnncheck/dfa/1"]
    alphabet: list[str]
    initial: int
    accepting: list[int]
    transitions: list[list[int | None]]
    names: list[str] | None = None


def document_of(dfa: DFA) -> DFADocument:
    """The automaton as a document."""
    return DFADocument(
        schema="rnncheck/dfa/1",
        alphabet=list(dfa.alphabet),
        initial=dfa.initial,
        accepting=np.flatnonzero(dfa.accepting).tolist(),
        transitions=dfa.transitions.tolist(),
        names=list(dfa.names) if dfa.names else None,
    )


def dfa_of(document: DFADocument, source: str = "automaton") -> DFA:
    """The automaton that a document describes in full."""
    return _build(document, source, None, complete=False)


def write_json(dfa: DFA) -> str:
    """The automaton as a JSON document, one row of the table per line."""
    document = document_of(dfa)
    document.transitions, rows = [], ",\n".join(" " + str(row) for row in document.transitions)
    try:
        head = msgspec.json.encode(document).decode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{short_repr(error.object)} holds half a surrogate pair, which JSON cannot carry; write dot, or rename it"
        ) from None
    return head.replace('"transitions":[]', f'"transitions":[\n{rows}\n]', 1) + "\n"


def read_json(
    text: str | bytes, *, source: str = "JSON", alphabet: Alphabet | None = None, complete: bool = False
) -> DFA:
    """Read an automaton from a JSON document; ``source`` names it in errors."""
    try:
        document = msgspec.json.decode(text, type=DFADocument)
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        raise FormatError(f"not an automaton in JSON: {visible(str(error))}", source) from None
    try:
        return _build(document, source, alphabet, complete)
    except FormatError:
        raise
    except InputError as error:
        raise FormatError(str(error), source) from None


def _build(document: DFADocument, source: str, alphabet: Alphabet | None, complete: bool) -> DFA:
    letters = Alphabet(document.alphabet)
    states = len(document.transitions)
    for state, row in enumerate(document.transitions):
        if len(row) != len(letters):
            raise FormatError(f"state {state} has {len(row)} successors for {len(letters)} letters", source)
        for target in row:
            if target is not None and not 0 <= target < states:
                raise FormatError(f"state {state} goes to {target}, which is not one of the {states} states", source)
    for what, numbers in (("accepting", document.accepting), ("initial", [document.initial])):
        for state in numbers:
            if not 0 <= state < states:
                raise FormatError(f"{what} state {state} is not one of the {states} states", source)
    if document.names is not None and len(document.names) != states:
        raise FormatError(f"{len(document.names)} names for {states} states; give one each", source)
    same_letters = alphabet is None or set(alphabet) == set(letters)
    if not same_letters or any(None in row for row in document.transitions):
        return _parts(document, letters, source).build(alphabet or letters, complete=complete)
    accepting = np.zeros(states, dtype=bool)
    accepting[document.accepting] = True
    table = np.array(document.transitions, dtype=np.int64).reshape(states, len(letters))
    dfa = DFA(letters, table, accepting, document.initial, document.names)
    return dfa if alphabet is None else dfa.over(alphabet)


def _parts(document: DFADocument, letters: Alphabet, source: str) -> Parts:
    names = document.names or []
    if len(set(names)) < len(document.transitions):  # parts identify states by their names
        names = [str(state) for state in range(len(document.transitions))]
    parts = Parts(source)
    for name in names:
        parts.declare(name)
    parts.accepting.update(names[state] for state in document.accepting)
    parts.initial.append((names[document.initial], 0))
    for name, row in zip(names, document.transitions, strict=True):
        for letter, target in zip(letters, row, strict=True):
            if target is not None:
                parts.edges.append((name, letter, names[target], 0))
    return parts
