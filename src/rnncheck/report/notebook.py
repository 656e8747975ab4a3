"""How values show themselves in a notebook: pictures where they can be drawn, and text in any case."""

from __future__ import annotations

from rnncheck.automata.dfa import DFA
from rnncheck.errors import RnncheckError
from rnncheck.report import palette
from rnncheck.report.automaton.automaton_drawing import Marks, marks_of
from rnncheck.report.automaton.graphviz import one_graphviz
from rnncheck.report.automaton.pictures import draw
from rnncheck.report.markup import Markup, count, join, letter, tag
from rnncheck.report.page.cluster_section import mistakes_automaton
from rnncheck.report.page.label_pairs import as_shown
from rnncheck.report.plots import pumping_plot
from rnncheck.spec import Spec
from rnncheck.verdict import text as sentences
from rnncheck.verdict.facts import Outcome
from rnncheck.verdict.label_trace import pairs_along
from rnncheck.verdict.value import Verdict
from rnncheck.verdict.violation import FaultyFlow
from rnncheck.words import EPSILON, Word

# A notebook should not wait long for a picture that it can do without.
_DRAWING_SECONDS = 10.0
_LETTERS_SHOWN = 40
_COLOURS = {Outcome.VIOLATED: "#a3330c", Outcome.SATISFIED: "#00614a", Outcome.UNDECIDED: "#705000"}
_CARD = (
    f"background:{palette.PAPER};color:{palette.INK};padding:0.75em 1em;border:1px solid #d3d9e0;border-radius:6px;"
    "overflow-x:auto;font-family:system-ui,sans-serif"
)


def rich_forms(value: object) -> dict[str, str]:
    """The forms of a value by media type; ``text/plain`` is always among them."""
    forms = {"text/plain": repr(value)}
    if isinstance(value, DFA):
        forms |= _picture(value)
    elif isinstance(value, Spec):
        forms["text/plain"] = f"<Spec {value.origin}: {count(len(value.dfa), 'state')}>"
        forms |= _picture(value.dfa, title=value.origin)
    elif isinstance(value, FaultyFlow):
        forms = {"text/plain": str(value), "text/html": _card(_flow(value))}
    elif isinstance(value, Verdict):
        forms = {"text/plain": str(value), "text/html": _card(_verdict(value))}
    return forms


def _picture(dfa: DFA, marks: Marks | None = None, title: str = "") -> dict[str, str]:
    """The drawing, or nothing where it cannot be made: a notebook shows the text then."""
    try:
        return {"image/svg+xml": draw(dfa, "svg", marks=marks, title=title, timeout=_DRAWING_SECONDS).decode()}
    except RnncheckError:
        return {}


def _verdict(verdict: Verdict) -> Markup:
    verdict, question = as_shown(verdict), verdict.label_question
    colour = _COLOURS[verdict.outcome]
    outcome = tag("strong", sentences.outcome_name(verdict).upper(), style=f"color:{colour}")
    parts = [
        tag("p", outcome, f" {sentences.capital(sentences.headline(verdict))}."),
        None if verdict.counterexample is None else tag("p", "Counterexample: ", _word(verdict.counterexample)),
        tag("p", f"{sentences.formula(verdict)}; {verdict.reason}."),
        *(tag("p", text) for text in ([] if verdict.violated else sentences.known(verdict))),
        *(_flow(flow) for flow in verdict.faulty_flows[:1]),
        *(tag("p", tag("em", f"{note.check}: "), note.message) for note in verdict.health),
        tag("p", f"{verdict.cost.seconds:.2f} s, {verdict.cost.membership_queries:,} queries, "
            f"{verdict.cost.network_steps:,} network steps. verdict.save_report('report.html') shows everything."),
    ]  # fmt: skip
    loops = [(flow.prefix, flow.loop) for flow in verdict.faulty_flows[:1]]
    word = verdict.counterexample
    drawn = [("Specification A", verdict.specification, word, loops), ("Hypothesis H", verdict.hypothesis, word, loops)]
    if question is not None:
        drawn[0] = ("Specification A", question.automaton, pairs_along(verdict), [])
    drawn.append(("Mistakes E", mistakes_automaton(verdict), word, []))
    with one_graphviz():
        for name, dfa, path, around in drawn:
            if dfa is not None:
                picture = _picture(dfa, marks_of(dfa, path, around), name).get("image/svg+xml")
                parts.append(None if picture is None else tag("p", tag("strong", name)))
                parts.append(None if picture is None else Markup(picture))
    return join(parts)


def _flow(flow: FaultyFlow) -> Markup:
    words = [_word(flow.prefix), " · (", _word(flow.loop), ")", tag("sup", "n"), " · ", _word(flow.suffix)]
    title = f"{flow.hits} of n = 1 … {flow.pumps} are violations{flow.ever}"
    plot = pumping_plot(flow.scores, frozenset(flow.violating_pumps or ()), flow.pumps, title)
    return join([tag("p", "Faulty flow ", *words, f": {title}."), plot])


def _word(word: Word) -> Markup:
    letters = [tag("code", letter(name)) for name in word[:_LETTERS_SHOWN]] or [tag("code", EPSILON)]
    spaced = [piece for part in letters for piece in (" ", part)][1:]
    return join([*spaced, f" … ({len(word)} letters)" if len(word) > _LETTERS_SHOWN else None])


def _card(content: Markup) -> str:
    """Notebooks may be dark; pictures and text here are made for white paper and bring it along."""
    return tag("div", content, style=_CARD)
