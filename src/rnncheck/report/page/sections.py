"""The sections of the report, each a function from a verdict to markup; None where it has no content."""

from __future__ import annotations

from collections.abc import Iterable

from rnncheck.report.automaton.automaton_drawing import marks_of
from rnncheck.report.automaton.figures import figure, legend
from rnncheck.report.markup import Child, Markup, count, letter, section, shortened, tag, word_markup
from rnncheck.report.page.embedded import MOST_CELLS, can_run
from rnncheck.report.page.reproduce import subject
from rnncheck.report.page.trace_table import trace_table
from rnncheck.report.plots import rounds_plot
from rnncheck.verdict import text as sentences
from rnncheck.verdict.guarantee import at_most
from rnncheck.verdict.label_trace import pairs_along
from rnncheck.verdict.strata import frequency
from rnncheck.verdict.value import Verdict
from rnncheck.verdict.violation import cluster_sentences
from rnncheck.words import format_word


def top(verdict: Verdict, date: str = "") -> Markup:
    """The verdict in one sentence, with its counterexample, under the subject and the date."""
    name = sentences.outcome_name(verdict)
    sign = tag("span", sentences.SIGNS[name], aria_hidden="true")
    badge = tag("p", sign, name, class_=f"badge {verdict.outcome.value} {name.replace(' ', '-')}")
    about = [tag("span", f" · {shortened(text, 200)}") for text in (subject(verdict), date) if text]
    brand = tag("p", "rnncheck", tag("span", " verification report"), *about, class_="brand")
    origin = verdict.spec_facts.origin or ""
    question = tag("p", sentences.question(verdict), class_="asked")
    shown = origin and verdict.comparison is None  # for two models the question is enough
    named = tag("p", "Property A: ", tag("code", shortened(origin, 2000)), class_="property") if shown else None
    word = None
    if verdict.counterexample is not None:
        word = tag(
            "p", tag("span", "Counterexample", class_="label"), word_markup(verdict.counterexample), class_="word"
        )
    return tag(
        "header",
        brand,
        badge,
        tag("h1", f"{sentences.capital(sentences.headline(verdict))}."),
        word,
        question,
        named,
        _tiles(verdict),
    )


def on_your_data(verdict: Verdict) -> Markup | None:
    """The result on the user's own sequences."""
    facts = verdict.data
    if facts is None:
        return None
    share = f" ({facts.violations / facts.counted:.2%} of those that count)" if facts.counted else ""
    summary = tag("p", f"{sentences.capital(facts.sentence())}{share}.")
    if not facts.first:
        return section("data", "On your data", summary)
    models = ("old", "new") if verdict.comparison is not None else ()
    columns = ("line", "sequence", *(f"answer of the {name} model" for name in models))
    head = tag("tr", *(tag("th", name, scope="col") for name in columns))
    rows = [
        tag(
            "tr",
            tag("th", f"{each.line}", scope="row"),
            tag("td", word_markup(each.word)),
            *(tag("td", getattr(each, name) or "not recorded") for name in models),
        )
        for each in facts.first
    ]
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="grid")
    more = facts.violations - len(facts.first)
    shown = tag("div", table, class_="wide", tabindex=0, role="region", aria_label="sequences")
    rest = tag("p", f"And {more} more.", class_="note") if more > 0 else None
    return section("data", "On your data", summary, shown, rest)


def meaning(verdict: Verdict) -> Markup:
    """What the verdict means and what not, and what weakens it."""
    sides = tag(
        "div",
        tag("div", tag("h3", "It means"), _list(sentences.meaning(verdict)), class_="side"),
        tag("div", tag("h3", "It does not mean"), _list(sentences.limits(verdict)), class_="side"),
        class_="sides",
    )
    notes = [tag("p", tag("strong", f"{note.check}: "), note.message, class_="health") for note in verdict.health]
    return section("meaning", "What this verdict means", sides, *notes)


def counterexample(verdict: Verdict) -> Markup | None:
    """The word letter by letter."""
    word = verdict.counterexample
    if word is None:
        return None
    about = (
        "the network's label after it, and whether all labels so far satisfy the specification."
        if verdict.label_question is not None
        else "a score above zero means that the network accepts the prefix, below zero that it rejects it; under it "
        "are the states of the automata."
    )
    if verdict.comparison is not None:
        about = (
            "a score above zero means that the two answer it differently, below zero that they agree; it is the "
            "distance of the nearer one from its decision. Under it is the answer of each."
        )
    intro = f"Each column is a prefix of the word: {about}" + (
        " The dashed line is where the loop of the faulty flow goes." if verdict.faulty_flows else ""
    )
    lines = [intro]
    learned, trace = verdict.hypothesis, verdict.trace
    if trace is None:
        lines.append("The network's answers to prefixes are not in this verdict; rnncheck report --model adds them.")
    elif trace.scores is None and verdict.label_question is None:  # labels have no score
        lines.append("This model gives answers without scores.")
    if learned is not None and trace is not None and learned.accepts(word) != trace.answers[-1]:
        lines.append("H, the automaton learned so far, does not show this mistake: it was found in another way.")
    return section(
        "counterexample",
        "The counterexample, letter by letter",
        *(tag("p", text) for text in lines),
        trace_table(verdict, word),
        tag("details", tag("summary", "The word as text"), tag("pre", tag("code", format_word(word)))),
        _others(verdict),
    )


def _others(verdict: Verdict) -> Markup | None:
    others = verdict.other_counterexamples
    if not others:
        return None
    intro = "Other counterexamples, each of which breaks the specification at another of its edges:"
    alike = [tag("li", sentence) for sentence in cluster_sentences(verdict.failure_clusters)]
    return tag(
        "div",
        tag("p", intro),
        tag("ul", *(tag("li", word_markup(word)) for word in others)),
        *([tag("p", "Which of them probably have the same cause:"), tag("ul", *alike)] if alike else []),
    )


def automata(verdict: Verdict) -> Markup | None:
    """Specification and hypothesis."""
    loops = [(flow.prefix, flow.loop) for flow in verdict.faulty_flows]
    parts: list[Child] = []
    if verdict.specification is not None:
        marks = marks_of(verdict.specification, verdict.counterexample, loops)
        about = "The property, as its minimal automaton:"
        parts.append(figure("spec", "Specification A", about, verdict.specification, marks))
    question = verdict.label_question
    if question is not None:
        marks = marks_of(question.automaton, pairs_along(verdict))
        about = "The property, over pairs of a letter and the label that the network gives then:"
        parts.append(figure("labels", "Specification A", about, question.automaton, marks))
    if verdict.hypothesis is not None:
        marks = marks_of(verdict.hypothesis, verdict.counterexample, loops)
        about = "What was learned about the network: an approximation, not the network itself."
        if question is not None:
            about = "The words along which the network satisfies the specification, as far as was learned."
        if verdict.comparison is not None:
            about = "The words on which the two differ, as far as was learned."
        parts.append(figure("hypothesis", "Hypothesis H", about, verdict.hypothesis, marks))
    elif parts and verdict.method == "errors":
        note = "No automaton of the network was learned: this method learns only the mistakes."
        parts.append(tag("p", note, class_="note"))
    elif parts:
        parts.append(tag("p", f"No automaton was learned (method {verdict.method}).", class_="note"))
    if not parts:
        return None
    signs = legend(path=verdict.counterexample is not None, loop=bool(verdict.faulty_flows))
    return section("automata", "The automata", signs, tag("div", *parts, class_="figures"))


def try_a_word(verdict: Verdict) -> Markup | None:
    """A form for the reader's own words."""
    machines = [verdict.specification, verdict.hypothesis]
    if not any(map(can_run, machines)):
        if all(machine is None for machine in machines):
            return None
        large = (
            f"The automata are too large to be in this page (more than {MOST_CELLS:,} transitions). rnncheck spec test "
            "runs the specification on words, and rnncheck classify queries the network."
        )
        return section("try", "Try a word", tag("p", large, class_="note"))
    honest = (
        "This page has the automata, not the network: H is an approximation and may be wrong about your word. "
        "To query the network itself, use rnncheck classify."
        if can_run(verdict.hypothesis)
        else "This page has automata, not the network; rnncheck classify queries the network."
    )
    hint = "Letters with spaces between, as on the command line; quote a letter that holds spaces or commas."
    form = tag(
        "form",
        tag("label", "A word", for_="word"),
        tag("div", tag("input", id="word", type="text", autocomplete="off", autocapitalize="off", spellcheck="false",
                       aria_describedby="word-hint", value=_example(verdict)),
            tag("button", "Run", type="submit"), class_="row"),
        tag("p", hint, " Letters: ", *_some_letters(verdict), id="word-hint", class_="hint"),
        id="try-form",
    )  # fmt: skip
    steps = [("first", "«", "Start"), ("back", "‹", "One letter back"), ("next", "›", "One letter on"),
             ("last", "»", "End")]  # fmt: skip
    buttons = [tag("button", sign, type="button", data_step=name, title=text, aria_label=text)
               for name, sign, text in steps]  # fmt: skip
    return section(
        "try",
        "Try a word",
        tag("p", honest, class_="note"),
        form,
        tag("p", id="try-answer", role="status", class_="try-answer"),
        tag("div", *buttons, tag("span", id="try-where"), id="try-steps", class_="controls", hidden=True, role="group",
            aria_label="Step through the word"),
        tag("div", id="try-trace", class_="scroll", tabindex=0, role="region", hidden=True,
            aria_label="The word letter by letter"),
        tag("noscript", tag("p", "This part needs scripts, which are switched off.")),
    )  # fmt: skip


def rounds(verdict: Verdict) -> Markup | None:
    """The progress of learning."""
    history = verdict.history
    if not history:
        return None
    last = history[-1]
    intro = (
        f"{count(len(history), 'round')} of learning; in the last one the automaton had {count(last.states, 'state')}. "
        "Queries, steps and words are totals until the round ended."
    )
    if len(history) == 1:
        return section("rounds", "Rounds", tag("p", intro))
    columns = [
        ("states of E" if verdict.method == "errors" else "states of H", [entry.states for entry in history]),
        ("membership queries", [entry.membership_queries for entry in history]),
        ("network steps", [entry.network_steps for entry in history]),
        ("words sampled", [entry.words for entry in history]),
    ]
    plots = [
        tag("figure", tag("figcaption", name), rounds_plot(values, f"{name} after each round, at last {values[-1]:,}"))
        for name, values in columns
        if any(values)
    ]
    return section("rounds", "Rounds", tag("p", intro), tag("div", *plots, class_="plots"))


def _tiles(verdict: Verdict) -> Markup:
    cost = verdict.cost
    tiles = []
    if verdict.counterexample is not None:
        shortest = ", the fewest" if verdict.shortest else ""
        tiles.append(("counterexample", count(len(verdict.counterexample), "letter") + shortest))
        tiles.append(("faulty flows", f"{len(verdict.faulty_flows)}"))
    guarantee = verdict.guarantee
    if verdict.severity is not None:
        what = "differences" if verdict.comparison is not None else "violations"
        tiles.insert(0, (f"{what} in random words", frequency(verdict.severity.interval)))
    if verdict.data is not None:
        tiles.append(("on your data", f"{verdict.data.violations} of {verdict.data.counted}"))
    if guarantee is not None and guarantee.epsilon is not None:
        tiles.append(("P(violation)", f"< {at_most(guarantee.epsilon)}"))
    facts = None if guarantee is None else guarantee.invariant
    if facts is not None and facts.unproved is not None:
        tiles.append(("P(violation), proved", f"≤ {at_most(facts.unproved)}"))
    if guarantee is not None and guarantee.possible is not None and guarantee.possible.samples:
        tiles.append(("P(violation | possible)", f"< {at_most(guarantee.possible.epsilon)}"))
    if guarantee is not None and guarantee.exact_length is not None:
        tiles.append(("exact up to", count(guarantee.exact_length, "letter")))
    if verdict.hypothesis is not None:
        tiles.append(("learned", count(len(verdict.hypothesis), "state")))
    tiles += [("membership queries", f"{cost.membership_queries:,}"), ("time", f"{cost.seconds:.2f} s")]
    return tag("dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in tiles), class_="tiles")


def _list(texts: Iterable[str]) -> Markup:
    return tag("ul", *(tag("li", text) for text in texts))


def _some_letters(verdict: Verdict) -> list[Child]:
    letters = list(verdict.alphabet)
    parts = [Markup(f"{letter(name, limit=20)} ") for name in letters[:12]]
    return [*parts, f"and {len(letters) - 12} more." if len(letters) > 12 else None]


def _example(verdict: Verdict) -> str:
    return "" if verdict.counterexample is None else format_word(verdict.counterexample)
