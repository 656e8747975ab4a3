"""A verdict on the terminal, for a person without the paper at hand."""

from __future__ import annotations

from rnncheck.cli.output import Line
from rnncheck.relations import Relation
from rnncheck.report.page.label_pairs import pairs_along
from rnncheck.verdict.questions import Comparison, PropertyChange
from rnncheck.verdict.strata import frequency_sentence
from rnncheck.verdict.value import Verdict
from rnncheck.verdict.violation import cluster_sentences
from rnncheck.words import EPSILON, Word, format_word

_COLOURS = {"violated": "red", "satisfied": "green", "undecided": "yellow"}
_MOST_SHOWN, _END_SHOWN = 500, 100  # characters of a word


def described(verdict: Verdict) -> list[str | Line]:
    """The verdict, a line a fact."""
    outcome = verdict.outcome.value
    sign = {"violated": "does not hold", "satisfied": "holds", "undecided": "is open"}[outcome]
    asked = verdict.relation.formula
    if verdict.label_question is not None:
        asked = "every trace of letters and labels as specified"
    if verdict.satisfied and verdict.proof_about:
        sign = f"is proved{verdict.proof_about}"
    lines: list[str | Line] = [Line(f": {asked} {sign}", outcome.upper(), _COLOURS[outcome], bold=True)]
    if verdict.comparison is not None:
        lines = [Line(f": {_compared(verdict.comparison, outcome)}", _lead(verdict), _COLOURS[outcome], bold=True)]
    if verdict.counterexample is not None:
        lines += _counterexample(verdict, verdict.counterexample)
    accepting = verdict.accepting()
    if accepting is not None:
        lines.append(f"  accepts         {accepting}")
    how_short = verdict.how_short()
    if how_short is not None:
        lines.append(f"  how short       {how_short}")
    for other in verdict.other_counterexamples:
        lines.append(f"  another         {glimpse(format_word(other))} ({_counted(len(other), 'letter')})")
    lines += [f"  one mistake     {glimpse(sentence)}" for sentence in cluster_sentences(verdict.failure_clusters)]
    lines.append(f"  reason          {verdict.reason}")
    if verdict.assumption is not None:
        lines.append(f"  assumed         {glimpse(verdict.assumption.sentence())}")
    if verdict.guarantee is not None:
        lines.append(f"  known           {verdict.guarantee}")
        possible = verdict.guarantee.possible
        if possible is not None and verdict.guarantee.epsilon is not None and not verdict.guarantee.proof:
            lines.append(f"  could violate   {possible.sentence()}")
    if verdict.searched is not None:
        lines.append(f"  searched        {verdict.searched.sentence()}")
    if verdict.evaluation is not None:
        lines.append(f"  evaluated       {verdict.evaluation.sentence()}")
    if verdict.severity is not None:
        scope = "" if verdict.assumption is None else verdict.assumption.scope
        told = f"{frequency_sentence(verdict.severity.interval, scope)} (95 %)"
        shown = "; ".join(str(stratum) for stratum in verdict.severity.strata if stratum.violations)
        lines.append(f"  severity        {told}{f': violations are {shown}' if shown else ''}")
    if verdict.data is not None:
        lines.append(f"  on your data    {verdict.data.sentence()}")
    for change in () if verdict.comparison is None else verdict.comparison.properties:
        lines += _property(change)
    for flow in verdict.faulty_flows:
        lines.append(f"  faulty flow     {glimpse(str(flow))}: {flow.hits} of n = 1 … {flow.pumps}{flow.ever}")
    for note in verdict.health:
        lines.append(Line(f"            {note.message}", "  note", "yellow"))
    return [*lines, f"  cost            {_cost(verdict)}"]


def _compared(comparison: Comparison, outcome: str) -> str:
    claim = comparison.sentence()
    return {
        "violated": f"it is not so that {claim}",
        "satisfied": f"{claim}, as far as is known below",
        "undecided": f"it is open whether {claim}",
    }[outcome]


def _lead(verdict: Verdict) -> str:
    if verdict.comparison is None or verdict.undecided or verdict.comparison.relation is not Relation.EQUAL:
        return verdict.outcome.value.upper()
    return "DIFFERENT" if verdict.violated else "ALIKE"


def _property(change: PropertyChange) -> list[str]:
    """What became of a property, with the words that break it."""
    told = "as before" if not change.changed else "CHANGED"
    lines = [f"  property        {glimpse(change.text)}: {told}, old {change.old.value}, new {change.new.value}"]
    for name, word in (("old", change.old_word), ("new", change.new_word)):
        if word is not None:
            lines.append(f"                  {name}: {glimpse(format_word(word))}")
    return lines


def _counterexample(verdict: Verdict, word: Word) -> list[str]:
    """The word, and what is wrong about it."""
    shown, length = f"  counterexample  {glimpse(format_word(word))}", _counted(len(word), "letter")
    pairs = pairs_along(verdict)
    if pairs is not None:  # what the network says after each letter is what was judged
        return [
            shown,
            f"                  {length}, and what the network says after each breaks the specification:",
            f"                  {glimpse(' '.join(pairs) or EPSILON)}",
        ]
    compared = verdict.comparison
    if compared is not None:
        lines = [shown, f"                  {length}"]
        if compared.old_said is not None and compared.new_said is not None:
            said = f"{compared.old_said[-1]} (old), and {compared.new_said[-1]} (new)"
            lines[1] += f"; what the two say of it: {said}"
        return lines
    accepts = verdict.specification is not None and verdict.specification.accepts(word)
    network, spec = ("rejects", "accepts") if accepts else ("accepts", "rejects")
    return [shown, f"                  {length}; the network {network} it, the specification {spec} it"]


def _cost(verdict: Verdict) -> str:
    cost = verdict.cost
    told = f"{cost.seconds:.2f} s, {cost.membership_queries} queries, {cost.network_steps} network steps"
    if cost.first_violation_seconds is not None:
        told += f" (first violation after {cost.first_violation_seconds:.2f} s, {cost.first_violation_steps} steps)"
    if verdict.hypothesis is None:
        return told
    told += f", {_counted(cost.rounds, 'round')}, {_counted(len(verdict.hypothesis), 'state')} learned"
    guarantee = verdict.guarantee
    if verdict.satisfied and (guarantee is None or not (guarantee.proof or guarantee.hypothesis_epsilon is not None)):
        told += " and not tested to the end"
    return told


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def glimpse(text: str) -> str:
    """The beginning and the end of a text that would fill the screen; --json and --report have all of it."""
    if len(text) <= _MOST_SHOWN:
        return text
    return f"{text[: _MOST_SHOWN - _END_SHOWN]} […] {text[-_END_SHOWN:]}"
