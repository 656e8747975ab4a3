"""A verdict on the terminal, for readers who do not have the paper at hand."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

from rnncheck.cli.output import Line
from rnncheck.relations import Relation
from rnncheck.verdict.label_trace import pairs_along
from rnncheck.verdict.questions import Comparison, PropertyChange
from rnncheck.verdict.strata import frequency_sentence
from rnncheck.verdict.value import Verdict
from rnncheck.verdict.violation import cluster_sentences
from rnncheck.words import EPSILON, Word, format_word

_COLOURS = {"violated": "red", "satisfied": "green", "undecided": "yellow"}
_MOST_SHOWN, _END_SHOWN = 500, 100  # characters of a word


def verdict_lines(verdict: Verdict, *, in_full: bool = False) -> list[str | Line]:
    """The verdict, one line per fact; long words are cut short unless they are shown ``in_full``."""
    cut = functools.partial(glimpse, in_full=in_full)
    lines: list[str | Line] = [_headline(verdict)]
    if verdict.counterexample is not None:
        lines += _counterexample(verdict, verdict.counterexample, cut)
    accepting, how_short = verdict.accepting(), verdict.how_short()
    if accepting is not None:
        lines.append(f"  accepts         {accepting}")
    if how_short is not None:
        lines.append(f"  how short       {how_short}")
    for other in verdict.other_counterexamples:
        lines.append(f"  another         {cut(format_word(other))} ({_count(len(other), 'letter')})")
    lines += [f"  one mistake     {cut(sentence)}" for sentence in cluster_sentences(verdict.failure_clusters)]
    lines.append(f"  reason          {verdict.reason}")
    lines += _known(verdict, cut)
    if verdict.severity is not None:
        scope = "" if verdict.assumption is None else verdict.assumption.scope
        severity = f"{frequency_sentence(verdict.severity.interval, scope)} (95 %)"
        strata = "; ".join(str(stratum) for stratum in verdict.severity.strata if stratum.violations)
        lines.append(f"  severity        {severity}{f': violations are {strata}' if strata else ''}")
    if verdict.data is not None:
        lines.append(f"  on your data    {verdict.data.sentence()}")
    for change in () if verdict.comparison is None else verdict.comparison.properties:
        lines += _property(change, cut)
    for flow in verdict.faulty_flows:
        lines.append(f"  faulty flow     {cut(str(flow))}: {flow.hits} of n = 1 … {flow.pumps}{flow.ever}")
    for note in verdict.health:
        lines.append(Line(f"            {note.message}", "  note", "yellow"))
    return [*lines, f"  cost            {_cost(verdict)}"]


def _headline(verdict: Verdict) -> Line:
    outcome = verdict.outcome.value
    colour = _COLOURS[outcome]
    if verdict.comparison is not None:
        return Line(f": {_comparison_text(verdict.comparison, outcome)}", _lead(verdict), colour, bold=True)
    sign = {"violated": "does not hold", "satisfied": "holds", "undecided": "is open"}[outcome]
    claim = verdict.relation.formula
    if verdict.label_question is not None:
        claim = "every trace of letters and labels as specified"
    if verdict.satisfied and verdict.proof_about:
        sign = f"is proved{verdict.proof_about}"
    return Line(f": {claim} {sign}", outcome.upper(), colour, bold=True)


def _known(verdict: Verdict, cut: Callable[[str], str]) -> Iterator[str]:
    """What is known, and on which words that rests."""
    if verdict.assumption is not None:
        yield f"  assumed         {cut(verdict.assumption.sentence())}"
    if verdict.guarantee is not None:
        yield f"  known           {verdict.guarantee}"
        possible = verdict.guarantee.possible
        if possible is not None and verdict.guarantee.epsilon is not None and not verdict.guarantee.proof:
            yield f"  could violate   {possible.sentence()}"
    if verdict.searched is not None:
        yield f"  searched        {verdict.searched.sentence()}"
    if verdict.evaluation is not None:
        yield f"  evaluated       {verdict.evaluation.sentence()}"


def _comparison_text(comparison: Comparison, outcome: str) -> str:
    claim = comparison.sentence()
    equal = comparison.relation is Relation.EQUAL
    return {
        "violated": "the models disagree on at least one sequence" if equal else f"this does not hold: {claim}",
        "satisfied": f"{claim}, as far as is known below",
        "undecided": f"it is open whether {claim}",
    }[outcome]


def _lead(verdict: Verdict) -> str:
    if verdict.comparison is None or verdict.undecided or verdict.comparison.relation is not Relation.EQUAL:
        return verdict.outcome.value.upper()
    return "DIFFERENT" if verdict.violated else "ALIKE"


def _property(change: PropertyChange, cut: Callable[[str], str]) -> list[str]:
    """What became of a property, with the words that break it."""
    news = "as before" if not change.changed else "CHANGED"
    lines = [f"  property        {cut(change.text)}: {news}, old {change.old.value}, new {change.new.value}"]
    for name, word in (("old", change.old_word), ("new", change.new_word)):
        if word is not None:
            lines.append(f"                  {name}: {cut(format_word(word))}")
    return lines


def _counterexample(verdict: Verdict, word: Word, cut: Callable[[str], str]) -> list[str]:
    """The word, and what is wrong about it."""
    shown, length = f"  counterexample  {cut(format_word(word))}", _count(len(word), "letter")
    pairs = pairs_along(verdict)
    if pairs is not None:  # the answers after each letter are what counts
        return [
            shown,
            f"                  {length}, and the network's answers after them break the specification:",
            f"                  {cut(' '.join(pairs) or EPSILON)}",
        ]
    compared = verdict.comparison
    if compared is not None:
        lines = [shown, f"                  {length}"]
        if compared.old_said is not None and compared.new_said is not None:
            answers = f"{compared.old_said[-1]} (old), and {compared.new_said[-1]} (new)"
            lines[1] += f"; their answers: {answers}"
        return lines
    accepts = verdict.specification is not None and verdict.specification.accepts(word)
    network, spec = ("rejects", "accepts") if accepts else ("accepts", "rejects")
    return [shown, f"                  {length}; the network {network} it, the specification {spec} it"]


def _cost(verdict: Verdict) -> str:
    cost = verdict.cost
    text = f"{cost.seconds:.2f} s, {cost.membership_queries} queries, {cost.network_steps} network steps"
    if cost.first_violation_seconds is not None:
        text += f" (first violation after {cost.first_violation_seconds:.2f} s, {cost.first_violation_steps} steps)"
    if verdict.hypothesis is None:
        return text
    text += f", {_count(cost.rounds, 'round')}, {_count(len(verdict.hypothesis), 'state')} learned"
    guarantee = verdict.guarantee
    if verdict.satisfied and (guarantee is None or not (guarantee.proof or guarantee.hypothesis_epsilon is not None)):
        text += " and not tested to the end"
    return text


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def glimpse(text: str, *, in_full: bool = False) -> str:
    """The beginning and the end of a text that would fill the screen, which --verbose shows ``in_full``."""
    if in_full or len(text) <= _MOST_SHOWN:
        return text
    return f"{text[: _MOST_SHOWN - _END_SHOWN]} […] {text[-_END_SHOWN:]}"
