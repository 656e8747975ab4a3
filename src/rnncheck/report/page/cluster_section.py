"""The section about the learned language of mistakes: as an expression and as an automaton."""

from __future__ import annotations

from rnncheck.automata.dfa import DFA
from rnncheck.report.automaton.automaton_drawing import marks_of
from rnncheck.report.automaton.figures import figure
from rnncheck.report.markup import Markup, count, section, tag
from rnncheck.verdict.value import Verdict
from rnncheck.verdict.violation import Share

_INTRODUCTION = (
    "What was learned here is not the network but its mistakes: an automaton E of the words that are violations. "
    "It was tested on sampled words and may be wrong about others."
)


def mistakes_automaton(verdict: Verdict) -> DFA | None:
    """The automaton E of the violations, over the verdict's letters; None where there is none."""
    learned = verdict.error_language
    return None if learned is None or learned.automaton is None else learned.automaton.over(verdict.alphabet)


def mistakes(verdict: Verdict) -> Markup | None:
    """What all violations look like, as far as was learned."""
    learned = verdict.error_language
    if learned is None:
        return None
    lines = [_INTRODUCTION]
    word, automaton = verdict.counterexample, mistakes_automaton(verdict)
    facts = [
        ("as an expression", learned.expression or "too long to read; see the automaton"),
        ("probability", f"a random word is in E with probability {learned.mass:.3g}"),
    ]
    if learned.precision is not None:
        facts.append(("precision: words of E that are violations", _share(learned.precision)))
    if learned.recall is not None:
        facts.append(("recall: violations that are words of E", _share(learned.recall)))
    if word is not None and automaton is not None and not automaton.accepts(word):
        lines.append("The counterexample above is not in E: there are mistakes that E does not contain.")
    rows = [tag("div", tag("dt", name), tag("dd", value)) for name, value in facts]
    drawn = None
    if automaton is not None:
        about = "The words that are violations, as learned:"
        drawn = figure("errors", "Mistakes E", about, automaton, marks_of(automaton, word))
    return section(
        "mistakes",
        "What the mistakes look like",
        *(tag("p", text) for text in lines),
        tag("div", tag("dl", *rows), class_="fact-group"),
        None if drawn is None else tag("div", drawn, class_="figures"),
    )


def _share(share: Share) -> str:
    if share.value is None:
        return "unknown: no such word was drawn"
    low, high = share.interval
    return f"{share.value:.3g} (95 % interval {low:.3g} to {high:.3g}, {count(share.words, 'word')})"
