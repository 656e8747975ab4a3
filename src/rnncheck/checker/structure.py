"""What each verdict must have and must not have, and whether its numbers agree. No model is queried here."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import get_args

from rnncheck.checker.checks import Check, confirmed, confirmed_if, left_open, refuted
from rnncheck.checker.claimed_document import Claims
from rnncheck.checker.product_table import first_broken, may_be_violated
from rnncheck.errors import short_repr
from rnncheck.probability.confidence import Bound
from rnncheck.verdict.facts import MethodName, Strength
from rnncheck.verdict.guarantee import Guarantee
from rnncheck.verdict.value import contradicted_scope

_BOUNDS = [bound.value for bound in Bound]
_ROUNDING = 1e-9
_MOST_WORDS = 10**15  # more is implausible


def check_structure(claims: Claims) -> Iterator[Check]:
    """Whether the document has the parts of such a verdict, and no others."""
    problems = list(_contradictions(claims))
    for problem in problems:
        yield refuted("document", problem)
    mass = impossible_severity(claims)
    if mass is not None:
        yield refuted("severity", mass)
    if not problems and not claims.problems:
        yield confirmed(
            "document", f"it has what a verdict that says {claims.verdict.outcome.value} must have, and no more"
        )


def _contradictions(claims: Claims) -> Iterator[str]:
    verdict, guarantee = claims.verdict, claims.guarantee
    says = f"it says {verdict.outcome.value}, and"
    if verdict.violated and verdict.specification is None:
        yield f"{says} there is no specification automaton that the counterexample could break"
    if (problem := contradicted_scope(verdict)) is not None:
        yield problem
    yield from _how_short(claims)
    yield from _clusters(claims)
    yield from _first_violation(claims, says)
    yield from _strength(claims)
    if verdict.satisfied and guarantee is not None and not guarantee.proof and guarantee.epsilon is None:
        possible, requested = guarantee.possible, claims.requested.epsilon
        by_mass = possible is not None and requested is not None and possible.mass < requested
        if not (by_mass and verdict.method in ("smc", "auto")) and not _enough_proved(claims, guarantee):
            yield f"{says} claims neither a proof nor an epsilon"
    if verdict.undecided and guarantee is not None and guarantee.proof:
        yield f"{says} claims a proof"
    facts = None if guarantee is None else guarantee.invariant
    if guarantee is not None and facts is not None and guarantee.proof == (facts.unproved is not None):
        yield "it claims a full and a partial proof at once; or it has the facts of a proof, and claims none"
    if guarantee is not None and guarantee.lengths is not None and guarantee.exact_length is None:
        yield "it has the facts of a proof up to a length, and names none"
    if verdict.counterexample is not None and claims.counterexample is None:
        yield "its counterexample has a letter that is not in its alphabet"
    yield from _of_the_method(claims, says)


def _enough_proved(claims: Claims, guarantee: Guarantee) -> bool:
    """Whether the unproved words are less probable than requested."""
    facts, requested = guarantee.invariant, claims.verdict.settings.get("proof")
    if facts is None or facts.unproved is None or claims.verdict.method != "prove":
        return False
    allowed = requested.get("epsilon") if isinstance(requested, dict) else None
    return isinstance(allowed, float) and facts.unproved < allowed


def _strength(claims: Claims) -> Iterator[str]:
    """Whether "satisfied" is called what its guarantee makes it; other checks look at the guarantee."""
    strength, guarantee = claims.verdict.strength, claims.guarantee
    if strength is None or guarantee is None:
        return
    by_mass = guarantee.epsilon is None and guarantee.possible is not None
    by_part = guarantee.invariant is not None and guarantee.invariant.unproved is not None
    meant = Strength.BOUNDED if by_mass or by_part else Strength.STATISTICAL
    if guarantee.proof:
        none = claims.spec is not None and not may_be_violated(claims.spec, claims.relation)
        meant = Strength.PROVED if guarantee.invariant is not None or none else Strength.EXHAUSTIVE
    if strength is not meant:
        yield f"its strength is {strength.value}, and its guarantee is {meant.value}"


def _clusters(claims: Claims) -> Iterator[str]:
    verdict, clusters = claims.verdict, claims.verdict.failure_clusters
    words = sorted(number for cluster in clusters for number in cluster.words)
    if words and words != list(range(1 + len(verdict.other_counterexamples))):
        yield "its failure clusters do not name every counterexample once"
    if any(cluster.flow is not None and cluster.flow >= len(verdict.faulty_flows) for cluster in clusters):
        yield "its failure clusters name a faulty flow that it does not have"


def _how_short(claims: Claims) -> Iterator[str]:
    """The shortest word has one letter more than the longest of which none is a violation."""
    verdict = claims.verdict
    length, word = verdict.no_violation_up_to, verdict.counterexample
    if word is None:
        return
    if length is not None and length >= len(word):
        yield f"no word of at most {length} letters is said to be a violation, and the counterexample has {len(word)}"
    proved = len(word) == 1 + (-1 if length is None else length)
    if verdict.shortest and not proved:
        yield f"its {len(word)} letters are said to be the fewest, and not all shorter words were queried"
    if proved and not verdict.shortest:
        yield f"words of fewer than {len(word)} letters were all queried, and it is not said to be the shortest"


def _first_violation(claims: Claims, says: str) -> Iterator[str]:
    cost = claims.verdict.cost
    seconds, steps = cost.first_violation_seconds, cost.first_violation_steps
    if not claims.verdict.violated and (seconds is not None or steps is not None):
        yield f"{says} claims when a violation was found"
    if (seconds is None) != (steps is None):
        yield "it has the seconds or the steps of the first violation, and not the other"
    if seconds is not None and not 0.0 <= seconds <= cost.seconds:
        yield f"the first violation is said to be found after {seconds} of {cost.seconds} seconds"
    if steps is not None and steps > cost.network_steps:
        yield f"the first violation is said to be found after {steps} of {cost.network_steps} network steps"


def _of_the_method(claims: Claims, says: str) -> Iterator[str]:
    verdict, guarantee = claims.verdict, claims.guarantee
    tested = guarantee is not None and guarantee.hypothesis_epsilon is not None
    if tested and verdict.hypothesis is None:
        yield "a hypothesis is claimed to have passed its test, and there is none"
    if tested and not verdict.satisfied:
        yield f"{says} claims that a hypothesis passed its test"
    if verdict.method in ("smc", "errors", "prove") and (tested or verdict.learned is not None):
        yield f"the method {verdict.method} learns no hypothesis, and there is one"
    by_hypothesis = verdict.method in ("pdv", "aamc") and verdict.satisfied
    if by_hypothesis and guarantee is not None and not guarantee.proof and not tested:
        yield f"the method {verdict.method} says satisfied when its hypothesis passed a test, and none is claimed"


def check_numbers(claims: Claims) -> Iterator[Check]:
    """Whether the numbers of the guarantee agree with each other and with the requested settings."""
    verdict, guarantee = claims.verdict, claims.guarantee
    if verdict.method not in get_args(MethodName):
        yield left_open("method", f"what the method {short_repr(verdict.method)} must show is not known here")
    if verdict.undecided and guarantee is None:
        yield left_open("guarantee", "the document claims nothing that could be checked")
    yield from _compared_sample(claims)
    if guarantee is None:
        return
    problems = list(_out_of_range(guarantee))
    for problem in problems:
        yield refuted("guarantee", problem)
    if problems:
        return
    yield from _sample(guarantee)
    yield from _possible_sample(guarantee)
    yield from _hypothesis_sample(claims, guarantee)
    yield from _history(claims, guarantee)
    yield from _as_requested(claims, guarantee)


def _out_of_range(guarantee: Guarantee) -> Iterator[str]:
    if guarantee.bound not in _BOUNDS:
        yield f"the bound {short_repr(guarantee.bound)} is unknown; known are {', '.join(_BOUNDS)}"
    if not 0 <= guarantee.samples <= _MOST_WORDS:
        yield f"{short_repr(guarantee.samples)} sampled words are impossible"
    if guarantee.gamma is not None and not 0.0 < guarantee.gamma < 1.0:
        yield f"gamma = {guarantee.gamma} is not between 0 and 1 (both excluded)"
    for name in ("epsilon", "hypothesis_epsilon"):
        value = getattr(guarantee, name)
        if value is None:
            continue
        if not 0.0 < value <= 1.0:
            yield f"{name} = {value} is not above 0 and at most 1"
        if guarantee.gamma is None or guarantee.samples <= 0:
            yield f"{name} = {value} is claimed without a gamma, or without a sampled word"
    possible = guarantee.possible
    if possible is not None and not (
        0.0 < possible.mass < 1.0 and 0.0 < possible.epsilon <= 1.0 and 0.0 < possible.gamma < 1.0
    ):
        yield f"{short_repr(possible)} is no claim about words that could be violations"
    facts = guarantee.invariant
    if facts is not None and facts.unproved is not None and not 0.0 <= facts.unproved <= 1.0:
        yield f"{facts.unproved} is not a probability of words left unproved"
    if guarantee.exact_length is not None and guarantee.exact_length < 0:
        yield f"exact_length = {guarantee.exact_length} is below 0"


def _compared_sample(claims: Claims) -> Iterator[Check]:
    """Whether the words that evaluator and reference were compared on show the bound that is claimed of them."""
    evaluation = claims.verdict.evaluation
    if evaluation is None or (evaluation.epsilon is None and evaluation.gamma is None):
        return
    epsilon, gamma, words = evaluation.epsilon, evaluation.gamma, evaluation.words
    if epsilon is None or gamma is None or not 0.0 < gamma < 1.0 or words <= 0 or evaluation.reference is None:
        yield refuted("evaluation", f"epsilon {epsilon} and gamma {gamma} are claimed of {words} words")
        return
    achieved = _shown_by(words, math.log(gamma), claims.requested.bound or "exact")
    seen = f"{words} words show a difference below {achieved:.4g}; {epsilon:.4g} is claimed"
    yield confirmed_if("evaluation", epsilon >= achieved * (1 - _ROUNDING), seen)


def _shown_by(samples: int, log_gamma: float, bound: str) -> float:
    """The ε that ``samples`` words without a failure show."""
    if bound == "hoeffding":
        return min(1.0, math.sqrt((math.log(2) - log_gamma) / (2 * samples)))
    return -math.expm1(log_gamma / samples)


def _sample(guarantee: Guarantee) -> Iterator[Check]:
    if guarantee.epsilon is None or guarantee.gamma is None:
        return
    achieved = _shown_by(guarantee.samples, math.log(guarantee.gamma), guarantee.bound)
    seen = f"{guarantee.samples} words show a probability below {achieved:.4g}; {guarantee.epsilon:.4g} is claimed"
    yield confirmed_if("sample", guarantee.epsilon >= achieved * (1 - _ROUNDING), seen)


def _possible_sample(guarantee: Guarantee) -> Iterator[Check]:
    possible = guarantee.possible
    if possible is None:
        return
    achieved = _shown_by(possible.samples, math.log(possible.gamma), guarantee.bound) if possible.samples else 1.0
    seen = f"{possible.samples} of them show a probability below {achieved:.4g}; {possible.epsilon:.4g} is claimed"
    yield confirmed_if("possible words", possible.epsilon >= achieved * (1 - _ROUNDING), seen)
    if possible.gamma != guarantee.gamma:
        yield refuted("possible words", f"gamma is {possible.gamma} of them and {guarantee.gamma} of all words")


def _hypothesis_sample(claims: Claims, guarantee: Guarantee) -> Iterator[Check]:
    """The test of a hypothesis is part of the sample, and the first test of a learned one has half of γ at most."""
    if guarantee.hypothesis_epsilon is None or guarantee.gamma is None:
        return
    log_share = math.log(guarantee.gamma) - (0.0 if claims.verdict.method == "aamc" else math.log(2))
    least = _shown_by(guarantee.samples, log_share, guarantee.bound)
    seen = f"{guarantee.samples} words show at best {least:.4g} of it; {guarantee.hypothesis_epsilon:.4g} is claimed"
    yield confirmed_if("hypothesis test", guarantee.hypothesis_epsilon >= least * (1 - _ROUNDING), seen)


def _history(claims: Claims, guarantee: Guarantee) -> Iterator[Check]:
    """The last round of learning ends with the verification, so it has seen the whole sample."""
    if claims.verdict.history:
        words = claims.verdict.history[-1].words
        seen = f"{words} words had been drawn when the last round ended; {guarantee.samples} are claimed"
        yield confirmed_if("history", words == guarantee.samples, seen)


def _as_requested(claims: Claims, guarantee: Guarantee) -> Iterator[Check]:
    requested, verdict = claims.requested, claims.verdict
    by_part = guarantee.invariant is not None and guarantee.invariant.unproved is not None
    sampled = (guarantee.epsilon, guarantee.hypothesis_epsilon, guarantee.possible) != (None, None, None)
    if not (sampled or by_part) and (guarantee.proof or not verdict.satisfied):
        return
    if requested.epsilon is not None and not 0.0 < requested.epsilon < 1.0:
        yield refuted("settings", f"epsilon {requested.epsilon} is not between 0 and 1 (both excluded)")
        return
    yield _same_as_requested("gamma", guarantee.gamma, requested.gamma)
    yield _same_as_requested("bound", guarantee.bound, requested.bound)
    yield _same_as_requested("distribution", guarantee.distribution, requested.distribution)
    if not verdict.satisfied or guarantee.proof or by_part:  # ``_enough_proved`` checks partial proofs
        return
    if requested.epsilon is None:
        yield left_open("settings", "the document does not say which epsilon was requested")
        return
    if guarantee.epsilon is None and guarantee.possible is not None:
        bound = guarantee.possible.bound
        seen = f"epsilon {requested.epsilon:.4g} was requested; among possible violations {bound:.4g} is claimed"
        yield confirmed_if("settings", bound <= requested.epsilon, seen)
    for name in ("epsilon", "hypothesis_epsilon"):
        value = getattr(guarantee, name)
        if value is not None or (name == "epsilon" and guarantee.possible is None):
            claimed = "none" if value is None else format(value, ".4g")
            seen = f"{name} {requested.epsilon:.4g} was requested; {claimed} is claimed"
            yield confirmed_if("settings", value is not None and value <= requested.epsilon * (1 + _ROUNDING), seen)


def _same_as_requested(name: str, claimed: object, requested: object) -> Check:
    if requested is None:
        return left_open(name, "the document does not say which one was requested")
    if claimed == requested:
        return confirmed(name, f"{short_repr(requested, 90)}, as requested")
    return refuted(name, f"{short_repr(claimed, 90)}, not {short_repr(requested, 90)}")


def impossible_severity(claims: Claims) -> str | None:
    """What is wrong with the claimed probability of violations without querying the model; None where nothing is."""
    severity = claims.verdict.severity
    if severity is None:
        return None
    for stratum in severity.strata:
        if not 0.0 < stratum.mass <= 1.0 or stratum.violations > stratum.words:
            return f"{short_repr(stratum)} is not a measurement"
    claimed = low, high = severity.interval
    if not 0.0 <= low <= high <= 1.0:
        return f"{short_repr(claimed)} is not an interval of probabilities"
    if high == 0.0 and claims.verdict.counterexample is not None:
        return "0 to 0 is claimed beside a counterexample; no sample shows a probability of 0"
    return None


def check_automata(claims: Claims) -> Iterator[Check]:
    """Whether the specification has its digest, and the hypothesis satisfies it where that is claimed."""
    verdict, spec, hypothesis = claims.verdict, claims.named.get("specification"), claims.hypothesis
    if verdict.specification is None and not verdict.violated:
        yield left_open("specification", "its automaton is not in the document")
    if spec is None:
        return
    if verdict.spec_facts.sha256 is None:
        yield left_open("specification", "the document has no digest of it, so it may be another one")
    else:
        same = spec.digest(list(verdict.alphabet)) == verdict.spec_facts.sha256
        seen = f"{len(spec)} states; " + ("its digest is right" if same else "its digest is that of another language")
        yield confirmed_if("specification", same, seen)
    tested = claims.guarantee is not None and claims.guarantee.hypothesis_epsilon is not None
    if hypothesis is not None and tested and claims.spec is not None:
        word = first_broken(hypothesis, claims.spec, claims.relation)
        seen = f"the automaton of {len(hypothesis)} states satisfies the specification"
        if word is not None:
            seen = f"the automaton breaks the property on {claims.text(word)}"
        yield confirmed_if(f"hypothesis ({claims.relation})", word is None, seen)
