"""The sentences about a verdict, for the terminal, the page, notebooks, JUnit and SARIF.

Sentences about one part of it (``sentence()`` of a guarantee, say) stand with that part; here they are put together.

``headline`` is the result in one sentence, ``facts`` are its details by name, ``meaning`` and ``limits`` explain it.
Sentences have neither capital nor full stop; ``capital`` and the caller add them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from rnncheck.relations import Relation
from rnncheck.verdict.facts import Outcome, Strength
from rnncheck.verdict.guarantee import at_most, scope_of
from rnncheck.verdict.label_trace import pairs_along
from rnncheck.verdict.questions import Comparison, PropertyChange
from rnncheck.verdict.strata import frequency_sentence
from rnncheck.verdict.value import Verdict
from rnncheck.verdict.violation import cluster_sentences
from rnncheck.words import EPSILON, Word, format_word, letter_text

EVERY_TRACE = "every trace of letters and labels is as specified"
NONE_FOUND = "none found"
SIGNS = {"violated": "✗", "proved": "✓", "exhaustive": "✓", "bounded": "✓", NONE_FOUND: "○", "undecided": "?"}

_QUESTIONS = {
    Relation.SUBSET: "Is every word that the network accepts also accepted by the specification?",
    Relation.SUPERSET: "Is every word that the specification accepts also accepted by the network?",
    Relation.EQUAL: "Do network and specification accept the same words?",
}
_DISAGREE = {
    Relation.EQUAL: "the models disagree on at least one sequence",
    Relation.SUBSET: "the new model accepts at least one sequence that the old one rejects",
    Relation.SUPERSET: "the new model rejects at least one sequence that the old one accepts",
}
_NO_DIFFERENCE = {
    Relation.EQUAL: "no difference was found",
    Relation.SUBSET: "no sequence was found that the new model accepts and the old one rejects",
    Relation.SUPERSET: "no sequence was found that the old model accepts and the new one rejects",
}
_NAMES = {Relation.SUBSET: "no false positives", Relation.SUPERSET: "no false negatives", Relation.EQUAL: "equality"}
_LIMITS_OF_BOUNDS = (
    "It does not cover every word: words that are rarely drawn, such as very long ones, may be violations.",
    (
        "It holds for words drawn as described below; where the network reads other words, choose a distribution like "
        "them (--words-like) and verify again."
    ),
)
_LIMITS_OF_PROOFS = ("It is about this network as it computes here, with this alphabet, and only about this property.",)
_LIMIT_OF_READ_WEIGHTS = (
    "It is about the weights that were read from the module, and only about this property: the module's own code may "
    "compute something else."
)
_LIMITS_OF_UNDECIDED = (
    (
        "It does not mean that the network satisfies the specification: no violation was found among the words that "
        "were queried, no more."
    ),
    "Nor does it mean that the network violates it. More time, or another method, may decide.",
)


class Fact(NamedTuple):
    """A detail of a verdict: its name, the sentence, and lines that belong to it."""

    name: str
    text: str
    more: tuple[str, ...] = ()


def outcome_name(verdict: Verdict) -> str:
    """The outcome in a word or two: what "satisfied" rests on is a part of it."""
    if verdict.strength is None:
        return verdict.outcome.value
    return NONE_FOUND if verdict.strength is Strength.STATISTICAL else verdict.strength.value


def headline(verdict: Verdict) -> str:
    """The result in one sentence."""
    if verdict.comparison is not None:
        return _compared(verdict, verdict.comparison)
    if verdict.counterexample is not None and verdict.label_question is not None:
        return "the network's labels along a sequence break the property"
    if verdict.counterexample is not None:
        if spec_accepts(verdict):
            return "the network rejects a sequence that the property requires it to accept"
        return "the network accepts a sequence that the property forbids"
    if verdict.strength is None:
        return "it is open whether the network satisfies the property"
    return _satisfied(verdict)


def _satisfied(verdict: Verdict) -> str:
    guarantee = verdict.guarantee
    scope = "" if guarantee is None else guarantee.scope
    if verdict.strength is Strength.PROVED:
        if guarantee is None or guarantee.invariant is None:
            return f"no sequence{scope} can violate the property, whatever the network answers"
        return f"no sequence{scope or ' of any length'} violates the property; this is proved{verdict.proof_about}"
    if verdict.strength is Strength.EXHAUSTIVE:
        return f"no sequence{scope} violates the property; all that could were queried"
    return f"no violation was found; {_bound(verdict)}"


def _bound(verdict: Verdict) -> str:
    """The bound that a satisfied verdict shows, in half a sentence."""
    guarantee = verdict.guarantee
    if guarantee is not None and guarantee.epsilon is not None and guarantee.gamma is not None:
        return (
            f"a random sequence{guarantee.scope} is a violation with probability below {at_most(guarantee.epsilon)} "
            f"(confidence {1 - guarantee.gamma:.6g})"
        )
    facts = None if guarantee is None else guarantee.invariant
    if guarantee is not None and facts is not None and facts.unproved is not None:
        probability = f"at most {at_most(facts.unproved)}, by proof{verdict.proof_about}"
        return f"a random sequence{guarantee.scope} is a violation with probability {probability}"
    if guarantee is not None and guarantee.possible is not None:  # the sample of these is no part of what is certain
        bound = f"at most {at_most(guarantee.possible.mass)}, for certain"
        return f"a random sequence{guarantee.scope} is a violation with probability {bound}"
    if guarantee is not None and guarantee.exact_length is not None:
        which = "that counts and has" if guarantee.scope else "of"
        return f"no sequence {which} at most {counted(guarantee.exact_length, 'letter')} is a violation"
    return "see below what that shows"


def _compared(verdict: Verdict, comparison: Comparison) -> str:
    claim = _alike(verdict, comparison)
    if verdict.outcome is Outcome.SATISFIED:
        if verdict.strength in (Strength.PROVED, Strength.EXHAUSTIVE):
            return f"{claim}{verdict.proof_about}"
        return f"{_NO_DIFFERENCE[comparison.relation]}; {_bound(verdict)}"
    if verdict.outcome is Outcome.UNDECIDED:
        return f"it is open whether {claim}"
    if comparison.old_said is None or comparison.new_said is None:
        return _DISAGREE[comparison.relation]
    old, new = comparison.old_said[-1], comparison.new_said[-1]
    return f"the models disagree on this sequence: old {_answers(old)}, new {_answers(new)}"


def _alike(verdict: Verdict, comparison: Comparison) -> str:
    return comparison.sentence("" if verdict.assumption is None else verdict.assumption.scope)


def _answers(answer: str) -> str:
    return {"yes": "accepts", "no": "rejects"}.get(answer, f"answers {answer}")


def facts(verdict: Verdict) -> Iterator[Fact]:
    """The details, in the order of interest."""
    if verdict.counterexample is not None:
        yield _counterexample(verdict, verdict.counterexample)
    yield from _some("accepts", verdict.accepting())
    yield from _some("how short", verdict.how_short())
    for other in verdict.other_counterexamples:
        yield Fact("another", f"{format_word(other)} ({counted(len(other), 'letter')})")
    for sentence in cluster_sentences(verdict.failure_clusters):
        yield Fact("cluster", sentence)
    yield Fact("reason", verdict.reason)
    yield from _some("required", verdict.shortfall)
    yield from _known(verdict)
    yield from _some("severity", _severity(verdict))
    if verdict.data is not None:
        yield Fact("on your data", verdict.data.sentence())
    for change in () if verdict.comparison is None else verdict.comparison.properties:
        yield _property(change)
    for flow in verdict.faulty_flows:
        yield Fact("faulty flow", f"{flow}: {flow.hits} of n = 1 … {flow.pumps}{flow.ever}")
    for note in verdict.health:
        yield Fact("note", note.message)
    yield Fact("cost", _cost(verdict))


def _some(name: str, text: str | None) -> Iterator[Fact]:
    if text is not None:
        yield Fact(name, text)


def _known(verdict: Verdict) -> Iterator[Fact]:
    """What is known, and on which words that rests."""
    if verdict.assumption is not None:
        yield Fact("assumed", verdict.assumption.sentence())
    if verdict.guarantee is not None:
        yield Fact("known", str(verdict.guarantee))
        possible = verdict.guarantee.possible
        if possible is not None and verdict.guarantee.epsilon is not None and not verdict.guarantee.proof:
            yield Fact("could violate", possible.sentence())
    if verdict.searched is not None:
        yield Fact("searched", verdict.searched.sentence())
    if verdict.evaluation is not None:
        yield Fact("evaluated", verdict.evaluation.sentence())


def _severity(verdict: Verdict) -> str | None:
    if verdict.severity is None:
        return None
    scope = "" if verdict.assumption is None else verdict.assumption.scope
    strata = "; ".join(str(stratum) for stratum in verdict.severity.strata if stratum.violations)
    often = f"{frequency_sentence(verdict.severity.interval, scope)} (95 %)"
    return f"{often}: violations are {strata}" if strata else often


def _property(change: PropertyChange) -> Fact:
    """What became of a property, with the words that break it."""
    news = "as before" if not change.changed else "CHANGED"
    words = (("old", change.old_word), ("new", change.new_word))
    more = tuple(f"{name}: {format_word(word)}" for name, word in words if word is not None)
    return Fact("property", f"{change.text}: {news}, old {change.old.value}, new {change.new.value}", more)


def _counterexample(verdict: Verdict, word: Word) -> Fact:
    """The word, and what is wrong about it."""
    text, length = format_word(word), counted(len(word), "letter")
    pairs = pairs_along(verdict)
    if pairs is not None:  # the answers after each letter are what counts
        answers = f"{length}, and the network's answers after them break the specification:"
        return Fact("counterexample", text, (answers, " ".join(pairs) or EPSILON))
    return Fact("counterexample", text, (f"{length}; {answers_sentence(verdict)}",))


def answers_sentence(verdict: Verdict) -> str:
    """The answers of network and specification, or of two models, to the counterexample."""
    if verdict.label_question is not None:
        labels = " ".join(verdict.label_question.said or ())
        return f"along it the network outputs: {labels}" if labels else "along it the network breaks the specification"
    if verdict.comparison is not None:
        old, new = verdict.comparison.old_said, verdict.comparison.new_said
        if old is None or new is None:
            return "the models disagree on it"
        return f"their answers: {old[-1]} (old), and {new[-1]} (new)"
    network, spec = ("rejects", "accepts") if spec_accepts(verdict) else ("accepts", "rejects")
    label = verdict.yes_label
    output = "" if label is None else f" ({'outputs' if network == 'accepts' else 'does not output'} {label})"
    return f"the network {network} it{output}, the specification {spec} it"


def _cost(verdict: Verdict) -> str:
    cost = verdict.cost
    text = f"{cost.seconds:.2f} s, {cost.membership_queries} queries, {cost.network_steps} network steps"
    if cost.first_violation_seconds is not None:
        text += f" (first violation after {cost.first_violation_seconds:.2f} s, {cost.first_violation_steps} steps)"
    if verdict.hypothesis is None:
        return text
    text += f", {counted(cost.rounds, 'round')}, {counted(len(verdict.hypothesis), 'state')} learned"
    guarantee = verdict.guarantee
    if verdict.satisfied and (guarantee is None or not (guarantee.proof or guarantee.hypothesis_epsilon is not None)):
        text += " and not tested to the end"
    return text


def question(verdict: Verdict) -> str:
    """The question that was verified, in whole sentences."""
    asked = f"{_QUESTIONS[verdict.relation]} ({verdict.relation.formula}, {_NAMES[verdict.relation]})"
    if verdict.label_question is not None:
        asked = "Does the network, after each letter of every word, output a label that the specification allows?"
    if verdict.comparison is not None:
        asked = (
            f"The property: {_alike(verdict, verdict.comparison)}. A violation here is a word for which that is false."
        )
    more = [verdict.accepting(), None if verdict.assumption is None else verdict.assumption.sentence()]
    return " ".join([asked, *(f"{capital(text)}." for text in more if text)])


def formula(verdict: Verdict) -> str:
    """The property as a formula."""
    if verdict.comparison is not None:
        return _alike(verdict, verdict.comparison)
    return EVERY_TRACE if verdict.label_question is not None else verdict.relation.formula


def property_text(verdict: Verdict) -> str:
    """The property as it was given, or its formula where it has no text."""
    if verdict.comparison is not None:
        return _alike(verdict, verdict.comparison)
    if verdict.label_question is not None:
        return verdict.label_question.text
    return verdict.spec_facts.origin or verdict.relation.formula


def spec_accepts(verdict: Verdict) -> bool:
    """Whether the specification accepts the counterexample."""
    if verdict.specification is None or verdict.counterexample is None:
        return verdict.relation is Relation.SUPERSET
    return verdict.specification.accepts(verdict.counterexample)


def meaning(verdict: Verdict) -> list[str]:
    """What the verdict means, in whole sentences."""
    if verdict.outcome is Outcome.SATISFIED:
        weak = [] if verdict.shortfall is None else [f"It is not enough: {verdict.shortfall}."]
        checked = [] if verdict.evaluation is None else [f"{capital(verdict.evaluation.sentence())}."]
        return [*weak, f"{capital(verdict.reason)}.", *known(verdict), *checked]
    if verdict.outcome is Outcome.UNDECIDED:
        return [f"It ended without an answer: {verdict.reason}.", *known(verdict)]
    both = "Network and specification were both evaluated on exactly this word, the network by itself"
    if verdict.comparison is not None:
        both = "Both models were evaluated on exactly this word, each by itself"
    found = [f"{both} and not in a batch. No probability is involved.", f"How: {verdict.reason}."]
    if verdict.shortest:
        found.append(f"{capital(verdict.how_short() or '')}.")
    if verdict.faulty_flows:
        loops = counted(len(verdict.faulty_flows), "loop")
        found.append(f"It is one of a family: {loops} can be inserted and repeated, and it stays a violation.")
    if verdict.severity is not None:
        scope = "" if verdict.assumption is None else verdict.assumption.scope
        low, high = verdict.severity.interval
        often = capital(frequency_sentence(verdict.severity.interval, scope))
        found.append(f"{often} (95 % interval of the probability: {low:.3g} to {high:.3g}).")
        found += [f"Violations are {stratum}." for stratum in verdict.severity.strata if stratum.violations]
    return found


def limits(verdict: Verdict) -> list[str]:
    """What the verdict does not mean, in whole sentences."""
    if verdict.strength is not None and not verdict.scope.covers_reference:
        return [_LIMIT_OF_READ_WEIGHTS, *([] if verdict.strength is Strength.PROVED else _LIMITS_OF_BOUNDS)]
    if verdict.strength is not None:
        return list(_LIMITS_OF_PROOFS if verdict.strength.at_least(Strength.EXHAUSTIVE) else _LIMITS_OF_BOUNDS)
    if verdict.outcome is Outcome.UNDECIDED:
        return list(_LIMITS_OF_UNDECIDED)
    lines = ["It says nothing about other words: there may be more violations, of other kinds."]
    if verdict.severity is None:
        lines.append("It does not show how often such words occur; --severity-samples measures that.")
    how = "is shown as it was found" if verdict.settings.get("shrink") is False else "was made as short as we could"
    if not verdict.shortest:
        lines.append(f"The word {how}; {verdict.how_short() or 'a shorter one may exist'}.")
    return lines


def known(verdict: Verdict) -> list[str]:
    """The claims of the guarantee, in whole sentences."""
    guarantee = verdict.guarantee
    if guarantee is None:
        return ["Nothing is known about words that were not queried."]
    lines = [f"{capital(claim)}." for claim in guarantee.sentences()]
    if guarantee.possible is not None and guarantee.epsilon is not None and not guarantee.proof:
        lines.append(f"{capital(guarantee.possible.sentence())}.")
    if guarantee.hypothesis_epsilon is not None:
        lines.append(
            "The learned automaton H passed its own test: a random word shows a relevant difference between network "
            f"and H with probability below {at_most(guarantee.hypothesis_epsilon)}."
        )
    return lines


def distribution_sentence(facts: Mapping[str, object] | None) -> str:
    """How random words are drawn."""
    if not facts:
        return "not recorded"
    given = facts.get("given")
    if given is not None:
        return f"{distribution_sentence({**facts, 'given': None})}; of these, a word{scope_of(given)}"
    if facts.get("kind") == "n-gram":
        return (
            f"words like {facts.get('words')} given ones, an n-gram model of order {facts.get('order')} "
            f"(their sha256 begins {str(facts.get('words_sha256'))[:12]})"
        )
    stop = facts.get("stop")
    length = f", mean length {1 / stop - 1:g}" if isinstance(stop, float) and stop > 0 else ""
    weights = facts.get("weights")
    if isinstance(weights, Mapping):
        some = ", ".join(f"{letter_text(str(name))} {_chance(weight)}" for name, weight in list(weights.items())[:8])
        chance = f"letters with probabilities {some}{', …' if len(weights) > 8 else ''}"
    else:
        chance = "independent letters, all equally likely"
    return f"{chance}; a word stops after each letter with probability {stop}{length}"


def _chance(weight: object) -> str:
    """A probability, or what a document has in its place."""
    return f"{weight:.3g}" if isinstance(weight, float) else str(weight)


def counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]
