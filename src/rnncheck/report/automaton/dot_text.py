"""Drawings as dot text: for Graphviz to lay out or to paint, or as a file that rnncheck can read again."""

from __future__ import annotations

import math
import textwrap
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator

from rnncheck.automata.formats.dot import quoted_in_dot
from rnncheck.report import palette
from rnncheck.report.automaton.automaton_drawing import Drawing, Edge, Node
from rnncheck.report.markup import listed
from rnncheck.words import letter_text

FONT_SIZE = 12
LABEL_HEIGHT = 17  # of a label's box, so that letters stand clear of lines
CHARACTER_WIDTH = 7.3  # of the fixed-width font in which labels are set, in points
LEAST_DIAMETER = 34.0
NOTE_WIDTH = 60  # characters in a line of the notes under a picture
_FONT = "Helvetica,Arial,sans-serif"

# Above this many states or edges Graphviz's search for a beautiful layout can take minutes; these settings limit it.
_BEAUTIFUL = (30, 110)
_QUICK = "nslimit=1, nslimit1=1, mclimit=0.1, "


def diameter(node: Node) -> float:
    """How large a state's circle is, in points."""
    return max(LEAST_DIAMETER, CHARACTER_WIDTH * len(node.label) + 14)


def layout_text(drawing: Drawing) -> str:
    """Dot text with sizes alone. Labels are placeholders of the right width: no letter ever reaches Graphviz."""
    quick = len(drawing.nodes) > _BEAUTIFUL[0] or len(drawing.edges) > _BEAUTIFUL[1]
    lines = [
        "digraph {",
        f"  graph [{_QUICK if quick else ''}rankdir=LR, nodesep=0.3, ranksep={_column_gap(drawing)}];",
        '  node [shape=circle, fixedsize=true, label=""];',
        f'  edge [fontname="Courier", fontsize={LABEL_HEIGHT}];',
        "  start [shape=point, width=0.06];",
    ]
    lines += [f"  s{node.state} [width={diameter(node) / 72:.3f}];" for node in drawing.nodes]
    lines += [f"  start -> s{node.state} [id=start];" for node in drawing.nodes if node.initial]
    for position, (edge, ports) in enumerate(_with_ports(drawing.edges)):
        label = "x" * math.ceil(label_width(edge.label) / (LABEL_HEIGHT * 0.6))
        weight = 4 if edge.on_path else 1  # so that the path runs straight from left to right where it can
        lines.append(f'  s{edge.source} -> s{edge.target} [id=e{position}, label="{label}", weight={weight}{ports}];')
    return "\n".join([*lines, "}", ""])


def label_width(label: str) -> float:
    """How wide a label is, in points; letters of East Asian scripts take two places."""
    return CHARACTER_WIDTH * sum(2 if unicodedata.east_asian_width(ch) in "WF" else 1 for ch in label)


def _column_gap(drawing: Drawing) -> str:
    """How far apart columns are, in inches: so far that the label of a loop does not reach into the next column."""
    widest = max((label_width(edge.label) for edge in drawing.edges if edge.source == edge.target), default=0.0)
    return f"{max(0.45, (widest - LEAST_DIAMETER) / 72):.2f}"


def picture_text(drawing: Drawing, *, dots_per_inch: int = 72) -> str:
    """Dot text with colours and shortened labels, to be painted by Graphviz."""
    lines = [
        "digraph {",
        f"  graph [rankdir=LR, nodesep=0.3, ranksep={_column_gap(drawing)}];",
        f'  graph [bgcolor="{palette.PAPER}", dpi={dots_per_inch}];',
        f'  graph [fontname="{_FONT}", fontsize=10, fontcolor="{palette.SOFT}", label={_note(drawing)}];',
        *_styles(),
        '  start [shape=point, width=0.06, label="", style=invis];',
    ]
    for node in drawing.nodes:
        label = node.label + (f"\n+{node.left_out}" if node.left_out else "")
        lines.append(f"  s{node.state} [label={quoted_in_dot(_entities(label))}{_node_style(node)}];")
    lines += [f"  start -> s{node.state};" for node in drawing.nodes if node.initial]
    for edge, ports in _with_ports(drawing.edges):
        label = quoted_in_dot(f" {_entities(listed(edge.label))} ")
        weight = ", weight=4" if edge.on_path else ""
        lines.append(f"  s{edge.source} -> s{edge.target} [label={label}{_edge_style(edge)}{ports}{weight}];")
    return "\n".join([*lines, "}", ""])


def automaton_text(drawing: Drawing) -> str:
    """Dot text of a whole automaton with colours, which rnncheck reads as the same automaton."""
    alphabet = drawing.dfa.alphabet
    lines = [
        "digraph {",
        f"  graph [rnncheck=1, rankdir=LR, alphabet={quoted_in_dot(str(alphabet))}];",
        *_styles(),
        '  __start [shape=point, label=""];',
    ]
    for node in drawing.nodes:
        lines.append(f"  {node.state} [label={quoted_in_dot(drawing.dfa.name(node.state))}{_node_style(node)}];")
    lines.append(f"  __start -> {drawing.dfa.initial};")
    for edge in drawing.edges:
        label = ", ".join(letter_text(alphabet[code]) for code in edge.letters)
        lines.append(f"  {edge.source} -> {edge.target} [label={quoted_in_dot(label)}{_edge_style(edge)}];")
    return "\n".join([*lines, "}", ""])


def _with_ports(edges: Iterable[Edge]) -> Iterator[tuple[Edge, str]]:
    """Edges with where they begin and end: loops above and below in turn, nested ones are hard to distinguish."""
    loops: Counter[int] = Counter()
    for edge in edges:
        if edge.source != edge.target:
            yield edge, ""
            continue
        side = "ns"[loops[edge.source] % 2]
        loops[edge.source] += 1
        yield edge, f", headport={side}, tailport={side}"


def _styles() -> Iterator[str]:
    font = f'fontname="{_FONT}", fontsize={FONT_SIZE}'
    yield f'  node [shape=circle, style=filled, fillcolor="{palette.STATE}", color="{palette.INK}", {font}];'
    yield f'  edge [arrowsize=0.75, color="{palette.LINE}", fontcolor="{palette.INK}", {font}];'


def _node_style(node: Node) -> str:
    shape = ", shape=doublecircle" if node.accepting else ", shape=circle"
    if node.flows:
        return f'{shape}, fillcolor="{palette.LOOP_STATE}", color="{palette.LOOP}", penwidth=2'
    if node.on_path:
        return f'{shape}, fillcolor="{palette.PATH_STATE}", color="{palette.PATH}", penwidth=2'
    return shape


def _edge_style(edge: Edge) -> str:
    if edge.on_path and edge.flows:
        return f', color="{palette.PATH}:{palette.LOOP}", fontcolor="{palette.LOOP}", penwidth=2'
    if edge.flows:
        return f', color="{palette.LOOP}", fontcolor="{palette.LOOP}", penwidth=2.5, style=dashed'
    if edge.on_path:
        return f', color="{palette.PATH}", fontcolor="{palette.PATH}", penwidth=2.5'
    return ""


def _note(drawing: Drawing) -> str:
    lines = [line for note in drawing.notes for line in textwrap.wrap(note, NOTE_WIDTH)]
    return quoted_in_dot(_entities("\n".join(lines)))


def _entities(text: str) -> str:
    """Graphviz takes ``&lt;`` in a label for ``<``; with its ampersand spelled out it stays as it is."""
    return text.replace("&", "&amp;")
