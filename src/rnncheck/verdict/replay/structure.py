"""What each verdict must have and must not have, and whether its numbers fit together. No model is asked here."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rnncheck.errors import shown
from rnncheck.verdict.replay.checks import Check, confirmed, judged, left_open, refuted
from rnncheck.verdict.replay.claims import Claims, Evidence
from rnncheck.verdict.replay.tables import first_broken

BOUNDS = ("exact", "hoeffding")
_DIFFERENCES = "differences between model and automaton"
_ROUNDING = 1e-9
_MOST_WORDS = 10**15  # nobody has drawn more


def structure(evidence: Evidence) -> Iterator[Check]:
    """Whether the pieces that are there are those of such a verdict."""
    problems = list(_contradictions(evidence))
    for problem in problems:
        yield refuted("document", problem)
    if not problems and not evidence.problems:
        yield confirmed(
            "document", f"it has what a verdict that says {evidence.document.verdict} must have, and no more"
        )


def _contradictions(evidence: Evidence) -> Iterator[str]:
    document = evidence.document
    verdict = document.verdict
    if document.confirmed != (verdict == "violated"):
        yield f"a verdict that says {verdict} has confirmed = {str(document.confirmed).lower()}"
    if verdict == "violated":
        if document.counterexample is None:
            yield "it says violated, and there is no counterexample"
        if document.spec.get("automaton") is None:
            yield "it says violated, and there is no specification automaton that the counterexample could break"
        if document.guarantee is not None:
            yield "it says violated, and has a guarantee, which speaks of the absence of violations"
    else:
        pieces = {
            "a counterexample": document.counterexample is not None,
            "faulty flows": bool(document.faulty_flows),
            "the trace of a counterexample": document.trace is not None,
            "a mass of violations": document.violation_mass is not None,
        }
        for name in (name for name, there in pieces.items() if there):
            yield f"it says {verdict}, and has {name}"
    if verdict == "satisfied" and document.guarantee is None:
        yield "it says satisfied, and has no guarantee"
    claims = evidence.claims
    if verdict == "satisfied" and claims is not None and not claims.proof and claims.epsilon is None:
        yield "it says satisfied, and claims neither a proof nor an epsilon"
    if verdict == "undecided" and claims is not None and claims.proof:
        yield "it says undecided, and claims a proof"
    if document.counterexample is not None and evidence.counterexample is None:
        yield "its counterexample has a letter that is not in its alphabet"
    yield from _of_the_method(evidence)


def _of_the_method(evidence: Evidence) -> Iterator[str]:
    document, claims = evidence.document, evidence.claims
    tested = claims is not None and claims.hypothesis_epsilon is not None
    if tested and (document.hypothesis or {}).get("automaton") is None:
        yield "a hypothesis is claimed to have passed its test, and there is none"
    if tested and document.verdict != "satisfied":
        yield f"it says {document.verdict}, and claims that a hypothesis passed its test"
    if document.method in ("smc", "errors") and (tested or document.hypothesis is not None):
        yield f"the method {document.method} learns no hypothesis, and there is one"
    by_hypothesis = document.method in ("pdv", "aamc") and document.verdict == "satisfied"
    if by_hypothesis and claims is not None and not claims.proof and not tested:
        yield f"the method {document.method} says satisfied when its hypothesis passed a test, and none is claimed"
    if claims is not None and claims.claim == _DIFFERENCES and document.method != "aamc":
        yield f"the method {document.method} makes no claim of {_DIFFERENCES}"


def numbers(evidence: Evidence) -> Iterator[Check]:
    """Whether the numbers of the guarantee follow from one another and meet what was asked for."""
    document, claims = evidence.document, evidence.claims
    if document.method not in ("auto", "pdv", "smc", "aamc", "errors"):
        yield left_open("method", f"what the method {shown(document.method)} must show is not known here")
    if document.verdict == "undecided" and document.guarantee is None:
        yield left_open("guarantee", "the document claims nothing that could be checked")
    if claims is None:
        return
    problems = list(_out_of_range(claims))
    for problem in problems:
        yield refuted("guarantee", problem)
    if problems:
        return
    if claims.claim not in ("violations", _DIFFERENCES):
        yield left_open("guarantee", f"the claim {shown(claims.claim)} is not known here")
    yield from _sample(claims)
    yield from _hypothesis_sample(evidence, claims)
    yield from _history(evidence, claims)
    yield from _asked(evidence, claims)


def _out_of_range(claims: Claims) -> Iterator[str]:
    if claims.bound not in BOUNDS:
        yield f"the bound {shown(claims.bound)} is unknown; known are {', '.join(BOUNDS)}"
    if not 0 <= claims.samples <= _MOST_WORDS:
        yield f"{shown(claims.samples)} sampled words are impossible"
    for name in ("gamma", "asked_epsilon", "asked_gamma"):
        value = getattr(claims, name)
        if value is not None and not 0.0 < value < 1.0:
            yield f"{name} = {value} is not between 0 and 1 (both excluded)"
    for name in ("epsilon", "hypothesis_epsilon"):
        value = getattr(claims, name)
        if value is None:
            continue
        if not 0.0 < value <= 1.0:
            yield f"{name} = {value} is not above 0 and at most 1"
        if claims.gamma is None or claims.samples <= 0:
            yield f"{name} = {value} is claimed without a gamma, or without a sampled word"
    if claims.exact_length is not None and claims.exact_length < 0:
        yield f"exact_length = {claims.exact_length} is below 0"


def _shown_by(samples: int, log_gamma: float, bound: str) -> float:
    """The ε that so many words without a failure show."""
    if bound == "hoeffding":
        return min(1.0, math.sqrt((math.log(2) - log_gamma) / (2 * samples)))
    return -math.expm1(log_gamma / samples)


def _sample(claims: Claims) -> Iterator[Check]:
    if claims.epsilon is None or claims.gamma is None:
        return
    shown_epsilon = _shown_by(claims.samples, math.log(claims.gamma), claims.bound)
    seen = f"{claims.samples} words show a probability below {shown_epsilon:.4g}; {claims.epsilon:.4g} is claimed"
    yield judged("sample", claims.epsilon >= shown_epsilon * (1 - _ROUNDING), seen)


def _hypothesis_sample(evidence: Evidence, claims: Claims) -> Iterator[Check]:
    """The test of a hypothesis is part of the sample, and the first test of a learned one has half of γ at most."""
    if claims.hypothesis_epsilon is None or claims.gamma is None:
        return
    log_share = math.log(claims.gamma) - (0.0 if evidence.document.method == "aamc" else math.log(2))
    least = _shown_by(claims.samples, log_share, claims.bound)
    seen = f"{claims.samples} words show at best {least:.4g} of it; {claims.hypothesis_epsilon:.4g} is claimed"
    yield judged("hypothesis test", claims.hypothesis_epsilon >= least * (1 - _ROUNDING), seen)


def _history(evidence: Evidence, claims: Claims) -> Iterator[Check]:
    """The last round of learning ends with the verification, so it has seen the whole sample."""
    history = evidence.document.history
    if history and "words" in history[-1]:
        words = history[-1]["words"]
        seen = f"{words} words had been drawn when the last round ended; {claims.samples} are claimed"
        yield judged("history", words == claims.samples, seen)


def _asked(evidence: Evidence, claims: Claims) -> Iterator[Check]:
    asked = evidence.asked
    epsilons = {value for value in (claims.asked_epsilon, asked.epsilon) if value is not None}
    gammas = {value for value in (claims.asked_gamma, asked.gamma) if value is not None}
    if len(epsilons) > 1 or len(gammas) > 1:
        yield refuted("what was asked", "the document says it in two places, and differently")
        return
    sampled = claims.epsilon is not None or claims.hypothesis_epsilon is not None
    if not sampled and (claims.proof or evidence.document.verdict != "satisfied"):
        return
    epsilon, gamma = next(iter(epsilons), None), next(iter(gammas), None)
    if epsilon is not None and not 0.0 < epsilon < 1.0:
        yield refuted("what was asked", f"epsilon {epsilon} is not between 0 and 1 (both excluded)")
        return
    yield _as_asked("gamma", claims.gamma, gamma)
    yield _as_asked("bound", claims.bound, asked.bound)
    yield _as_asked("distribution", claims.distribution, asked.distribution)
    if evidence.document.verdict != "satisfied" or claims.proof:
        return
    if epsilon is None:
        yield left_open("what was asked", "the document does not say which epsilon was asked for")
        return
    for name in ("epsilon", "hypothesis_epsilon"):
        value = getattr(claims, name)
        if value is not None or name == "epsilon":
            seen = f"{name} {epsilon:.4g} was asked for; {'none' if value is None else format(value, '.4g')} is claimed"
            yield judged("what was asked", value is not None and value <= epsilon * (1 + _ROUNDING), seen)


def _as_asked(name: str, claimed: object, asked: object) -> Check:
    if asked is None:
        return left_open(name, "the document does not say which one was asked for")
    seen = f"{shown(asked, 90)}, as was asked for"
    return judged(name, claimed == asked, seen if claimed == asked else f"{shown(claimed, 90)}, not {shown(asked, 90)}")


def automata(evidence: Evidence) -> Iterator[Check]:
    """Whether the specification is the one named, and the hypothesis satisfies it where that is claimed."""
    document, spec, hypothesis = evidence.document, evidence.spec, evidence.hypothesis
    if document.spec.get("automaton") is None and document.verdict != "violated":
        yield left_open("specification", "its automaton is not in the document")
    if spec is None:
        return
    if "sha256" not in document.spec:
        yield left_open("specification", "the document has no digest of it, so it may be any")
    else:
        same = spec.digest(document.alphabet) == document.spec["sha256"]
        seen = f"{len(spec)} states; " + ("its digest is right" if same else "its digest is that of another language")
        yield judged("specification", same, seen)
    tested = evidence.claims is not None and evidence.claims.hypothesis_epsilon is not None
    if hypothesis is not None and tested:
        word = first_broken(hypothesis, spec, evidence.relation)
        seen = f"the automaton of {len(hypothesis)} states satisfies the specification"
        if word is not None:
            seen = f"the automaton breaks the property on {evidence.text(word)}"
        yield judged(f"hypothesis ({evidence.relation})", word is None, seen)
