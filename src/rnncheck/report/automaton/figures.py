"""Automata in the page: drawn where they can be, and always as a table."""

from __future__ import annotations

from rnncheck.automata.dfa import DFA
from rnncheck.errors import MissingExtraError, RnncheckError, visible
from rnncheck.report.automaton.automaton_drawing import Drawing, Marks, drawing_of, folded_label
from rnncheck.report.automaton.layout import lay_out
from rnncheck.report.automaton.svg import automaton_svg
from rnncheck.report.markup import Markup, count, join, shortened, tag

_LAYOUT_SECONDS = 20.0
_MOST_TARGETS = 8
_SMALL = 360.0  # a drawing of at most this width leaves room for another beside it


def figure(key: str, heading: str, about: str, dfa: DFA, marks: Marks) -> Markup:
    """One automaton: heading, drawing with its controls, and the same as a table."""
    drawing = drawing_of(dfa, marks)
    about = f"{about} {_size(dfa)}."
    table = _table(drawing)
    try:
        layout = lay_out(drawing, timeout=_LAYOUT_SECONDS)
    except RnncheckError as problem:
        small, body = False, join([tag("p", _apology(problem), class_="note"), table])
    else:
        small, picture = layout.width <= _SMALL, automaton_svg(drawing, layout, key=key)
        body = join([_stage(key, heading, picture), tag("details", tag("summary", "The same as a table"), table)])
    return tag(
        "article",
        tag("h3", heading, id=f"{key}-heading"),
        tag("p", about),
        *(tag("p", note, class_="note") for note in drawing.notes),
        body,
        class_="figure small" if small else "figure",
    )


def legend(*, path: bool, loop: bool) -> Markup:
    """What the signs of the drawings mean, and their colours where there are any."""
    entries = [("initial", "→ initial state"), ("accepting", "two rings: accepting")]
    entries += [("on-path", "solid: the counterexample’s path")] if path else []
    entries += [("in-loop", "dashed: the loop of the faulty flow")] if loop else []
    return tag(
        "ul", *(tag("li", tag("span", class_=f"sample {name}"), text) for name, text in entries), class_="legend"
    )


def _stage(key: str, heading: str, picture: Markup) -> Markup:
    buttons = [("in", "+", "Zoom in"), ("out", "−", "Zoom out"), ("fit", "Fit", "Show all of it")]
    controls = [tag("button", sign, type="button", data_zoom=name, title=text, aria_label=text)
                for name, sign, text in buttons]  # fmt: skip
    return tag(
        "div",
        tag("div", *controls, class_="controls", role="group", aria_label=f"{heading}: view"),
        tag(
            "div",
            picture,
            class_="canvas",
            tabindex=0,
            role="group",
            aria_label=f"Drawing of the {heading}. Arrow keys move it, plus and minus zoom, 0 fits it; the table below "
            "says the same.",
        ),
        tag("p", "Drag to move it; point at a state or an arrow to read it.", class_="reading", aria_live="polite"),
        class_="stage",
        data_automaton=key,
    )


def _table(drawing: Drawing) -> Markup:
    """States and where their letters lead, as far as they are drawn."""
    dfa = drawing.dfa
    rows = []
    for node in drawing.nodes:
        targets: dict[int, list[int]] = {}
        for code, target in enumerate(dfa.transitions[node.state].tolist()):
            targets.setdefault(target, []).append(code)
        some = list(targets.items())[:_MOST_TARGETS]
        cells = [f"{folded_label(dfa, codes)} → {shortened(visible(dfa.name(target)), 20)}" for target, codes in some]
        if len(targets) > len(some):
            cells.append(f"and {count(len(targets) - len(some), 'more successor')}")
        marks = [name for name, holds in (("initial", node.initial), ("accepting", node.accepting)) if holds]
        rows.append(
            tag(
                "tr",
                tag("th", shortened(node.name, 40), scope="row"),
                tag("td", ", ".join(marks)),
                tag("td", *(tag("span", cell, class_="goes") for cell in cells)),
            )
        )
    head = tag("tr", *(tag("th", name, scope="col") for name in ("State", "Kind", "Letters and where they lead")))
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="listing")
    return tag("div", table, class_="scroll", tabindex=0, role="region", aria_label="States and transitions")


def _size(dfa: DFA) -> str:
    accepting = int(dfa.accepting.sum())
    return f"{count(len(dfa), 'state')}, {accepting:,} accepting, {count(len(dfa.alphabet), 'letter')}"


def _apology(problem: RnncheckError) -> str:
    if isinstance(problem, MissingExtraError):
        return "Not drawn: this machine has no Graphviz. With pip install 'rnncheck[draw]' a report has drawings."
    return f"Not drawn: {problem}."
