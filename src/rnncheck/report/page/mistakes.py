"""The section about the language of the mistakes, where that was learned: as an expression and as an automaton."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from rnncheck.automata.dfa import DFA
from rnncheck.report.automaton.drawing import marks_of
from rnncheck.report.automaton.figures import figure
from rnncheck.report.markup import Markup, count, section, tag
from rnncheck.verdict.value import Verdict, automaton_in

_INTRODUCTION = (
    "What was learned here is not the network but its mistakes: an automaton E that says which words are violations. "
    "It was tested on sampled words and may be wrong about others."
)


class _Share(msgspec.Struct):
    value: float | None
    interval: tuple[float, float]
    words: int

    def __str__(self) -> str:
        if self.value is None:
            return "unknown: no such word was drawn"
        low, high = self.interval
        return f"{self.value:.3g} (95 % interval {low:.3g} to {high:.3g}, {count(self.words, 'word')})"


class _Facts(msgspec.Struct):
    expression: str | None
    mass: float
    automaton: dict[str, object] | None = None
    precision: _Share | None = None
    recall: _Share | None = None


@dataclass(frozen=True)
class Mistakes:
    """What a verdict says of all violations: (what, value) pairs for people, and the automaton E where it is there."""

    told: tuple[tuple[str, str], ...]
    automaton: DFA | None


def mistakes_of(verdict: Verdict) -> Mistakes | None:
    """The learned language of the violations; None where the method learns another or there is none."""
    if verdict.error_language is None:
        return None
    facts = msgspec.convert(verdict.error_language, _Facts)
    automaton = automaton_in({"automaton": facts.automaton}, "error_language")
    told = [
        ("as an expression", facts.expression or "too long to read; see the automaton"),
        ("probability", f"a random word is in E with probability {facts.mass:.3g}"),
    ]
    if facts.precision is not None:
        told.append(("precision: words of E that are violations", str(facts.precision)))
    if facts.recall is not None:
        told.append(("recall: violations that are words of E", str(facts.recall)))
    return Mistakes(tuple(told), None if automaton is None else automaton.over(verdict.alphabet))


def mistakes(verdict: Verdict) -> Markup | None:
    """What all violations look like, as far as was learned."""
    learned = mistakes_of(verdict)
    if learned is None:
        return None
    told = [_INTRODUCTION]
    word, automaton = verdict.counterexample, learned.automaton
    if word is not None and automaton is not None and not automaton.accepts(word):
        told.append("The counterexample above is not in E: there are mistakes that E does not know.")
    rows = [tag("div", tag("dt", name), tag("dd", value)) for name, value in learned.told]
    drawn = None
    if automaton is not None:
        about = "The words that are violations, as learned:"
        drawn = figure("errors", "Mistakes E", about, automaton, marks_of(automaton, word))
    return section(
        "mistakes",
        "What the mistakes look like",
        *(tag("p", text) for text in told),
        tag("div", tag("dl", *rows), class_="fact-group"),
        None if drawn is None else tag("div", drawn, class_="figures"),
    )
