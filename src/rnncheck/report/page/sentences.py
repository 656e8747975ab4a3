"""A verdict in sentences: what was found, what that means, and what it does not mean."""

from __future__ import annotations

from collections.abc import Mapping

from rnncheck.relations import Relation
from rnncheck.report.markup import count
from rnncheck.report.page.label_pairs import RIGHT
from rnncheck.verdict.facts import Outcome
from rnncheck.verdict.guarantee import Guarantee, at_most, scope_of
from rnncheck.verdict.questions import Comparison
from rnncheck.verdict.strata import frequency_sentence
from rnncheck.verdict.value import Verdict
from rnncheck.words import letter_text

_QUESTIONS = {
    Relation.SUBSET: "Is every word that the network accepts also accepted by the specification?",
    Relation.SUPERSET: "Is every word that the specification accepts also accepted by the network?",
    Relation.EQUAL: "Do network and specification accept the same words?",
}
_DISAGREE = {
    Relation.EQUAL: "The models disagree on at least one word.",
    Relation.SUBSET: "The new model accepts at least one word that the old one rejects.",
    Relation.SUPERSET: "The new model rejects at least one word that the old one accepts.",
}
_NAMES = {Relation.SUBSET: "no false positives", Relation.SUPERSET: "no false negatives", Relation.EQUAL: "equality"}

_SATISFIED_LIMITS = (
    "It is not a proof: words that the distribution rarely draws, such as very long ones, may be violations.",
    (
        "It holds for words drawn as described below; where the network reads other words, choose a distribution like "
        "them (--words-like) and verify again."
    ),
)
_UNDECIDED_LIMITS = (
    (
        "It does not mean that the network satisfies the specification: no violation was found among the words that "
        "were queried, no more."
    ),
    "Nor does it mean that the network violates it. More time, or another method, may decide.",
)


def called(verdict: Verdict) -> str:
    """The outcome in a word: two models are alike or different, a specification is satisfied or violated."""
    if verdict.comparison is None or verdict.outcome is Outcome.UNDECIDED:
        return verdict.outcome.value
    if verdict.comparison.relation is not Relation.EQUAL:
        return "does not hold" if verdict.violated else "holds"
    return "different" if verdict.violated else "alike"


def headline(verdict: Verdict) -> str:
    """The verdict in one sentence."""
    if verdict.comparison is not None:
        return _compared(verdict, verdict.comparison)
    if verdict.counterexample is not None and verdict.label_question is not None:
        return "The network's labels along this word break the specification."
    if verdict.counterexample is not None:
        network, spec = ("rejects", "accepts") if spec_accepts(verdict) else ("accepts", "rejects")
        return f"The network {network} a word that the specification {spec}."
    if verdict.outcome is Outcome.VIOLATED:
        return "The network breaks the specification, but the word that shows it is not in this verdict."
    if verdict.outcome is Outcome.SATISFIED:
        if verdict.guarantee is not None and verdict.guarantee.proof:
            scope = verdict.guarantee.scope
            if verdict.guarantee.invariant is not None:
                proved = f"it is proved{verdict.proof_about}"
                return f"The specification holds for every word{scope or ' of any length'}: {proved}."
            return f"No word{scope or ' at all'} violates the specification."
        return f"No violation was found: {_scope(verdict.guarantee)}."
    return "It is open whether the network satisfies the specification."


def _compared(verdict: Verdict, comparison: Comparison) -> str:
    """The headline where two models are compared."""
    if verdict.outcome is Outcome.SATISFIED:
        return f"No difference was found: {_scope(verdict.guarantee)}."
    if verdict.outcome is Outcome.UNDECIDED:
        return f"It is open whether {comparison.sentence()}."
    if comparison.old_said is None or comparison.new_said is None:
        return _DISAGREE[comparison.relation]
    old, new = comparison.old_said[-1], comparison.new_said[-1]
    return f"The models disagree on this word: the old one answers {old}, the new one {new}."


def _scope(guarantee: Guarantee | None) -> str:
    """What a satisfied verdict shows, in half a sentence."""
    if guarantee is not None and guarantee.epsilon is not None and guarantee.gamma is not None:
        return (
            f"a random word{guarantee.scope} is one with probability below {guarantee.epsilon:.2g} "
            f"(confidence {1 - guarantee.gamma:.6g})"
        )
    facts = None if guarantee is None else guarantee.invariant
    if guarantee is not None and facts is not None and facts.unproved is not None:
        return f"a random word{guarantee.scope} is one with probability {at_most(facts.unproved)} at most, by proof"
    if guarantee is not None and guarantee.possible is not None:
        return f"a random word{guarantee.scope} is one with probability below {guarantee.possible.bound:.2g}"
    if guarantee is not None and guarantee.exact_length is not None:
        which = "that counts and has" if guarantee.scope else "of"
        return f"no word {which} at most {count(guarantee.exact_length, 'letter')} is one"
    return "see below what that shows"


def question(verdict: Verdict) -> str:
    """The question that was verified."""
    asked = f"{_QUESTIONS[verdict.relation]} ({verdict.relation.formula}, {_NAMES[verdict.relation]})"
    if verdict.label_question is not None:
        asked = "Does the network, after each letter of every word, output a label that the specification allows?"
    if verdict.comparison is not None:
        asked = f"The property: {verdict.comparison.sentence()}. A violation here is a word for which that is false."
    more = [verdict.accepting(), None if verdict.assumption is None else verdict.assumption.sentence()]
    return " ".join([asked, *(f"{capital(text)}." for text in more if text)])


def formula(verdict: Verdict) -> str:
    """The property as a formula."""
    if verdict.comparison is not None:
        return verdict.comparison.sentence()
    return RIGHT if verdict.label_question is not None else verdict.relation.formula


def spec_accepts(verdict: Verdict) -> bool:
    """Whether the specification accepts the counterexample."""
    if verdict.specification is None or verdict.counterexample is None:
        return verdict.relation is Relation.SUPERSET
    return verdict.specification.accepts(verdict.counterexample)


def meaning(verdict: Verdict) -> list[str]:
    """What the verdict means."""
    if verdict.outcome is Outcome.VIOLATED:
        real = (
            "Network and specification were both evaluated on exactly this word, the network by itself and not in a "
            "batch. No probability is involved."
        )
        if verdict.comparison is not None:
            real = (
                "Both models were evaluated on exactly this word, each by itself and not in a batch. No probability is "
                "involved."
            )
        found = [real, f"How: {verdict.reason}."]
        if verdict.shortest:
            found.append(f"{capital(verdict.how_short() or '')}.")
        if verdict.faulty_flows:
            loops = count(len(verdict.faulty_flows), "loop")
            found.append(f"It is one of a family: {loops} can be inserted and repeated, and it stays a violation.")
        if verdict.severity is not None:
            scope = "" if verdict.assumption is None else verdict.assumption.scope
            low, high = verdict.severity.interval
            often = capital(frequency_sentence(verdict.severity.interval, scope))
            found.append(f"{often} (95 % interval of the probability: {low:.3g} to {high:.3g}).")
            found += [f"Violations are {stratum}." for stratum in verdict.severity.strata if stratum.violations]
        return found
    if verdict.outcome is Outcome.SATISFIED:
        return [f"{capital(verdict.reason)}.", *known(verdict.guarantee)]
    return [f"It ended without an answer: {verdict.reason}.", *known(verdict.guarantee)]


def limits(verdict: Verdict) -> list[str]:
    """What the verdict does not mean."""
    if verdict.outcome is Outcome.VIOLATED:
        lines = ["It says nothing about other words: there may be more violations, of other kinds."]
        if verdict.severity is None:
            lines.append("It does not show how often such words occur; --severity-samples measures that.")
        how = "is shown as it was found" if verdict.settings.get("shrink") is False else "was made as short as we could"
        known = verdict.how_short() or "a shorter one may exist"
        if not verdict.shortest:
            lines.append(f"The word {how}; {known}.")
        return lines
    if verdict.outcome is Outcome.SATISFIED:
        if verdict.guarantee is not None and verdict.guarantee.proof:
            return ["It is about this network as it computes here, with this alphabet, and only about this property."]
        return list(_SATISFIED_LIMITS)
    return list(_UNDECIDED_LIMITS)


def known(guarantee: Guarantee | None) -> list[str]:
    """The claims of a guarantee, one sentence each."""
    if guarantee is None:
        return ["Nothing is known about words that were not queried."]
    lines = [f"{capital(claim)}." for claim in guarantee.sentences()]
    if guarantee.possible is not None and guarantee.epsilon is not None and not guarantee.proof:
        lines.append(f"{capital(guarantee.possible.sentence())}.")
    if guarantee.hypothesis_epsilon is not None:
        lines.append(
            "The learned automaton H passed its own test: a random word shows a relevant difference between network "
            f"and H with probability below {guarantee.hypothesis_epsilon:.3g}."
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


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]
