"""Automata as Graphviz dot text.

Written files have the graph attributes ``rnncheck=1`` and ``alphabet``; its edge labels are letters in the text form of
:mod:`rnncheck.words`, separated by commas, so every letter is kept exactly. Files of other tools (pydot, AALpy,
automata-lib, the paper's released files) are read too: a label there is a letter, or several with commas between.

Conventions for reading: an accepting state has shape ``doublecircle`` (or ``peripheries=2``); the initial state is the
target of an edge from a node that has shape ``none``, ``point`` or ``plaintext``, or a name beginning with ``__start``.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from rnncheck.automata.dfa import DFA
from rnncheck.automata.formats.parts import Parts, split_letters
from rnncheck.errors import FormatError, InputError, short_repr
from rnncheck.words import Alphabet, letter_text

_NO_STATE_SHAPES = {"none", "point", "plaintext", "plain"}
_START = "__start"

_TOKEN = re.compile(
    # As in Graphviz, every character beyond ASCII may be part of a name without quotes.
    r"""(?P<space>(?a:\s+)|//[^\n]*|\#[^\n]*|/\*.*?\*/)
      | (?P<arrow>->|--)
      | (?P<mark>[{}\[\];,=:+])
      | (?P<string>"[^"\\]*+(?:\\.[^"\\]*+)*+")
      | (?P<number>(?a:-?(?:\.\d+|\d+(?:\.\d*)?))(?![\w\u0080-\U0010ffff]))
      | (?P<name>[\w\u0080-\U0010ffff]+)
    """,
    re.VERBOSE | re.DOTALL,
)


def write_dot(dfa: DFA) -> str:
    """The automaton as dot text. Parallel edges are folded into one, with their letters separated by commas."""
    lines = [
        "digraph {",
        f"  graph [rnncheck=1, rankdir=LR, alphabet={quoted_in_dot(str(dfa.alphabet))}];",
        "  node [shape=circle];",
        f'  {_START} [shape=point, label=""];',
    ]
    for state in range(len(dfa)):
        shape = "doublecircle" if dfa.accepting[state] else "circle"
        lines.append(f"  {state} [shape={shape}, label={quoted_in_dot(dfa.name(state))}];")
    lines.append(f"  {_START} -> {dfa.initial};")
    letters = [letter_text(letter) for letter in dfa.alphabet]
    for state, row in enumerate(dfa.transitions):
        for target in dict.fromkeys(row.tolist()):
            label = ", ".join(letters[letter] for letter in np.flatnonzero(row == target))
            lines.append(f"  {state} -> {target} [label={quoted_in_dot(label)}];")
    return "\n".join([*lines, "}", ""])


def read_dot(
    text: str,
    *,
    source: str = "dot",
    alphabet: Alphabet | None = None,
    complete: bool = False,
    shape_alone: bool = False,
) -> DFA:
    """Read an automaton from dot text; ``source`` names it in errors.

    Letters come from ``alphabet`` where given, else from the file's own ``alphabet`` attribute, else from its edges,
    sorted. A missing transition is an error unless ``complete``, which sends it to a rejecting sink. A Moore machine,
    which accepts nothing, is an error, except with ``shape_alone``, for a picture.
    """
    if _is_released_dialect(text):
        return _read_released(text, source).build(alphabet, complete=complete)
    graph = _Parser(text, source).parse()
    if graph.attributes.get("moore") == "1" and not shape_alone:
        raise FormatError("a Moore machine, which outputs labels and accepts nothing; give an automaton", source)
    parts = _interpret(graph, alphabet, source)
    if alphabet is None and "alphabet" in graph.attributes:
        alphabet = _parse_letters(graph.attributes["alphabet"], "alphabet attribute", source, 0)
    return parts.build(alphabet, complete=complete)


@dataclass
class _Graph:
    """A parsed file: nodes and edges with their attributes and lines."""

    attributes: dict[str, str] = field(default_factory=dict)
    nodes: dict[str, dict[str, str]] = field(default_factory=dict)
    edges: list[tuple[str, str, dict[str, str], int]] = field(default_factory=list)


def _interpret(graph: _Graph, alphabet: Alphabet | None, source: str) -> Parts:
    parts = Parts(source)
    own = graph.attributes.get("rnncheck") == "1"
    helpers = {node for node, attributes in graph.nodes.items() if attributes.get("shape") in _NO_STATE_SHAPES}
    helpers |= {node for edge in graph.edges for node in edge[:2] if node.startswith(_START)}
    names = _names({node: graph.nodes[node] for node in graph.nodes if node not in helpers}, own)
    for node, name in names.items():
        attributes = graph.nodes[node]
        parts.declare(name)
        if attributes.get("shape") == "doublecircle" or attributes.get("peripheries") == "2":
            parts.accepting.add(name)
    for tail, head, attributes, line in graph.edges:
        if head in helpers:
            raise FormatError(f"an edge leads to {short_repr(head)}, which only marks the initial state", source, line)
        for node in (tail, head):
            if node not in names and node not in helpers:
                raise FormatError(f"state {short_repr(node)} is used but not declared", source, line)
        label = attributes.get("label", "")
        if tail in helpers:
            parts.initial.append((names[head], line))
        elif not label:
            raise FormatError(f"the edge from {short_repr(tail)} to {short_repr(head)} has no label", source, line)
        else:
            for letter in _letters(label, own, alphabet, source, line):
                parts.edges.append((names[tail], letter, names[head], line))
    return parts


def _names(states: dict[str, dict[str, str]], own: bool) -> dict[str, str]:
    """The name of each state: rnncheck's own files have it in the label, others in the node itself."""
    labels = {node: attributes.get("label", node) for node, attributes in states.items()}
    if own and len(set(labels.values())) == len(labels):
        return labels
    return {node: node for node in states}


def _letters(label: str, own: bool, alphabet: Alphabet | None, source: str, line: int) -> Sequence[str]:
    if own:
        return _parse_letters(label, "edge label", source, line)
    return [label] if alphabet is not None and label in alphabet else split_letters(label)


def _parse_letters(text: str, what: str, source: str, line: int) -> Alphabet:
    try:
        return Alphabet.parse(text)
    except InputError as error:
        raise FormatError(f"bad {what}: {error}", source, line) from None


class _Parser:
    """The part of the dot language that automata use; anything else is an error with its line."""

    def __init__(self, text: str, source: str) -> None:
        self.source = source
        self._tokens = _tokens(text, source)
        self._graph = _Graph()
        self._node_defaults: dict[str, str] = {}
        self._edge_defaults: dict[str, str] = {}
        self._advance()

    def parse(self) -> _Graph:
        if self._is_word("strict"):
            self._advance()
        if not self._is_word("digraph"):
            raise self._error("expected a directed graph, `digraph { … }`")
        self._advance()
        if self._kind in ("name", "string", "number"):
            self._advance()
        self._expect("{")
        while self._value != "}" or self._kind != "mark":
            self._statement()
        self._advance()
        if self._kind != "end":
            raise self._error("unexpected text after the closing brace")
        return self._graph

    def _statement(self) -> None:
        if self._accept(";"):
            return
        if self._kind == "end":
            raise self._error("the file ends before the closing brace")
        if self._kind == "mark" or self._is_word("subgraph"):
            raise self._error(f"unexpected {short_repr(self._value)}; subgraphs and ports are not part of an automaton")
        line, word_like = self._line, self._kind == "name"
        name = self._identifier()
        if self._accept("="):
            self._graph.attributes[name] = self._identifier()
        elif word_like and name.lower() in ("graph", "node", "edge"):
            defaults = {"graph": self._graph.attributes, "node": self._node_defaults, "edge": self._edge_defaults}
            defaults[name.lower()].update(self._attributes())
        elif self._kind == "arrow":
            self._edge_statement(name, line)
        else:
            self._node(name).update(self._attributes())

    def _edge_statement(self, tail: str, line: int) -> None:
        path = [tail]
        while self._kind == "arrow":
            if self._value == "--":
                raise self._error("an undirected edge; write ->")
            self._advance()
            path.append(self._identifier())
        attributes = {**self._edge_defaults, **self._attributes()}
        for start, end in itertools.pairwise(path):
            # Tools declare every node; a name on an edge alone is probably a typo, so it is not declared.
            self._graph.edges.append((start, end, attributes, line))

    def _node(self, name: str) -> dict[str, str]:
        return self._graph.nodes.setdefault(name, dict(self._node_defaults))

    def _attributes(self) -> dict[str, str]:
        found: dict[str, str] = {}
        while self._accept("["):
            while not self._accept("]"):
                key = self._identifier()
                found[key] = self._identifier() if self._accept("=") else "true"
                if not self._accept(","):
                    self._accept(";")
        return found

    def _identifier(self) -> str:
        if self._kind not in ("name", "number", "string"):
            raise self._error(f"expected a name, found {short_repr(self._value or 'the end of the file')}")
        kind, value = self._kind, self._value
        self._advance()
        if kind != "string":
            return value
        pieces = [value]
        while self._accept("+"):
            if self._kind != "string":
                raise self._error("expected a quoted string after +")
            pieces.append(self._value)
            self._advance()
        return "".join(_unquote(piece) for piece in pieces)

    def _advance(self) -> None:
        self._kind, self._value, self._line = next(self._tokens)

    def _accept(self, mark: str) -> bool:
        if self._kind == "mark" and self._value == mark:
            self._advance()
            return True
        return False

    def _expect(self, mark: str) -> None:
        if not self._accept(mark):
            raise self._error(f"expected {mark}, found {short_repr(self._value or 'the end of the file')}")

    def _is_word(self, word: str) -> bool:
        return self._kind == "name" and self._value.lower() == word

    def _error(self, problem: str) -> FormatError:
        return FormatError(problem, self.source, self._line)


def _tokens(text: str, source: str) -> Iterator[tuple[str, str, int]]:
    at, line = 0, 1
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            if text[at] == '"':
                problem = "a quoted string is not closed"
            elif text[at] == "<":
                problem = "HTML-like labels are not read; quote the label"
            else:
                problem = f"unexpected character {short_repr(text[at])}"
            raise FormatError(problem, source, line)
        if match.lastgroup != "space":
            yield match.lastgroup or "", match[0], line
        line += match[0].count("\n")
        at = match.end()
    while True:
        yield "end", "", line


def quoted_in_dot(text: str) -> str:
    """A dot string that reads back as ``text`` and that Graphviz displays as ``text``."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _unquote(token: str) -> str:
    def plain(match: re.Match[str]) -> str:
        return {"n": "\n", '"': '"', "\\": "\\", "\n": ""}.get(match[1], match[0])

    return re.sub(r"\\(.)", plain, token[1:-1], flags=re.DOTALL)


# The files that the paper's authors released have one statement per line and unquoted names such as ('b', 'a').
def _is_released_dialect(text: str) -> bool:
    return re.search(r'\A\s*digraph \w+ \{\s*\n__start0 \[label="" shape="none"?\]\n', text[:200]) is not None


def _read_released(text: str, source: str) -> Parts:
    parts = Parts(source)
    for number, line in enumerate(text.split("\n"), start=1):
        line = line.strip()
        if line in ("", "}") or line.startswith(("digraph ", "__start0 [")):
            continue
        state, is_state, shape = line.partition(' [shape="')
        ends, _, label = line.removesuffix('"]').rpartition('[label="') if line.endswith('"]') else (line, "", "")
        tail, is_edge, head = ends.partition(" -> ")
        if is_state and line.endswith('"]'):
            parts.declare(state)
            if shape.startswith('doublecircle"'):
                parts.accepting.add(state)
        elif is_edge and tail == "__start0":
            parts.initial.append((head.strip(), number))
        elif is_edge and label:
            parts.edges.append((tail, label, head.strip(), number))
        else:
            raise FormatError(f"neither a state nor an edge with a label: {short_repr(line)}", source, number)
    return parts
