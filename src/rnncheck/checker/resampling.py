"""Draw fresh words from the document's distribution: do they agree with the claims about its sample?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from rnncheck.checker.checks import SAMPLE_SIZE, SURPRISE, Check, confirmed_if, left_open, refuted, unchecked
from rnncheck.checker.claimed_document import Claims
from rnncheck.checker.deadline import Deadline
from rnncheck.checker.drawn_words import document_distribution, may_violate_words
from rnncheck.checker.model_checks import NOT_QUERIED
from rnncheck.checker.strata_checks import FreshAnswers, strata
from rnncheck.checker.structure import impossible_severity
from rnncheck.models.protocol import Model
from rnncheck.probability.clopper_pearson import clopper_pearson
from rnncheck.probability.conditioned import conditioned
from rnncheck.probability.distributions import WordDistribution
from rnncheck.words import Word

_ROUNDING = 1e-9


def check_fresh_words(
    claims: Claims, model: Model | None, words: int, seed: int, words_like: Sequence[Word] | None, deadline: Deadline
) -> Iterator[Check]:
    """Compare model, specification and, where it is claimed to be tested, hypothesis on fresh random words."""
    if not _claimed(claims):
        return
    if model is None or not words:
        yield left_open("fresh words", NOT_QUERIED if model is None else "none were requested; give --words")
        return
    distribution = document_distribution(claims, words_like)
    if isinstance(distribution, Check):
        yield distribution
        return
    rng = np.random.default_rng([seed, *b"replay"])
    answers = FreshAnswers(model, list(distribution.sample(rng, words)), deadline, "fresh words")
    yield from _violations(claims, answers)
    yield from _possible(claims, model, distribution, rng, words, deadline)
    yield from _differences(claims, answers)
    yield from _mass(claims, answers, distribution)
    yield from strata(claims, model, distribution, rng, words, deadline)


def _claimed(claims: Claims) -> bool:
    guarantee = claims.guarantee
    sampled = guarantee is not None and (
        (guarantee.epsilon, guarantee.hypothesis_epsilon, guarantee.possible) != (None, None, None)
    )
    return sampled or claims.verdict.severity is not None


def _violations(claims: Claims, answers: FreshAnswers) -> Iterator[Check]:
    guarantee, spec = claims.guarantee, claims.spec
    if guarantee is None or guarantee.epsilon is None or spec is None:
        return
    found = answers.violations(spec, claims.relation)
    many = len(answers.words)
    if not found:
        seen = f"none of {many} is a violation, which alone shows a probability below {_upper(many):.2g} (95 %)"
        yield confirmed_if("fresh words", True, seen)
        if many < guarantee.samples:
            why = f"{guarantee.samples} words are claimed; --words {guarantee.samples} checks as many"
            yield unchecked(SAMPLE_SIZE, why)
        return
    seen = f"{len(found)} of {many} are violations, such as {claims.text(min(found, key=len))}"
    if _surprising(len(found), many, guarantee.epsilon):
        yield refuted("fresh words", f"{seen}; a probability below {guarantee.epsilon:.4g} is claimed")
    else:
        why = f"{seen}; the claim, a probability below {guarantee.epsilon:.4g}, leaves room for them"
        yield left_open("fresh words", f"{why}; raise --words, or verify again")


def _possible(
    claims: Claims,
    model: Model,
    distribution: WordDistribution,
    rng: np.random.Generator,
    many: int,
    deadline: Deadline,
) -> Iterator[Check]:
    """Fresh words from those that could be violations, and how probable these are."""
    claimed = None if claims.guarantee is None else claims.guarantee.possible
    language = may_violate_words(claims)
    if claimed is None or claims.spec is None or language is None:
        return
    mass = distribution.mass(language)
    seen = f"words that could be violations have probability {mass:.4g}; {claimed.mass:.4g} is claimed"
    yield confirmed_if("possible words, mass", math.isclose(mass, claimed.mass, rel_tol=_ROUNDING, abs_tol=0.0), seen)
    words = conditioned(distribution, language)
    if words is None:
        return
    fresh = FreshAnswers(model, list(words.sample(rng, many)), deadline, "fresh words that could be violations")
    found = fresh.violations(claims.spec, claims.relation)
    seen = f"{len(found)} of {many} words that could be violations are; below {claimed.epsilon:.4g} is claimed"
    if not found:
        yield confirmed_if("possible words, fresh", True, seen)
    elif _surprising(len(found), many, claimed.epsilon):
        yield refuted("possible words, fresh", f"{seen}, such as {claims.text(min(found, key=len))}")
    else:
        yield left_open("possible words, fresh", f"{seen}, which leaves room for them; raise --words, or verify again")


def _differences(claims: Claims, answers: FreshAnswers) -> Iterator[Check]:
    guarantee, hypothesis = claims.guarantee, claims.hypothesis
    if guarantee is None or guarantee.hypothesis_epsilon is None or hypothesis is None:
        return
    # An extracted automaton stands for the model; that of property-directed learning need only be safe.
    relation = "equal" if claims.verdict.method == "aamc" else claims.relation
    found = answers.violations(hypothesis, relation)
    seen = f"{len(found)} of {len(answers.words)} are answered differently by model and hypothesis"
    if found:
        seen += f", such as {claims.text(min(found, key=len))}"
    seen += f"; a probability below {guarantee.hypothesis_epsilon:.4g} is claimed"
    holds = not _surprising(len(found), len(answers.words), guarantee.hypothesis_epsilon)
    yield confirmed_if("fresh words, hypothesis", holds, seen)


def _mass(claims: Claims, answers: FreshAnswers, distribution: WordDistribution) -> Iterator[Check]:
    severity, spec = claims.verdict.severity, claims.spec
    claimed = None if severity is None else severity.interval
    if claimed is None or spec is None or impossible_severity(claims) is not None:
        return
    word = claims.counterexample
    least = 0.0 if word is None else distribution.probability(word)
    if claimed[1] < least:
        seen = f"at most {claimed[1]:.3g} is claimed, and the counterexample alone has {least:.3g}"
        yield refuted("severity", seen)
        return
    found = len(answers.violations(spec, claims.relation))
    low, high = clopper_pearson(found, len(answers.words), 1 - 2 * SURPRISE)
    seen = (
        f"{found} of {len(answers.words)} fresh words are violations; {claimed[0]:.3g} to {claimed[1]:.3g} is claimed"
    )
    yield confirmed_if("severity", low <= claimed[1] and claimed[0] <= high, seen)


def _surprising(failures: int, words: int, epsilon: float) -> bool:
    """Whether there are too many failures for a probability of at most ε."""
    return clopper_pearson(failures, words, 1 - 2 * SURPRISE)[0] > epsilon


def _upper(words: int) -> float:
    return float(1 - 0.05 ** (1 / words))
