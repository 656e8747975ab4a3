"""The distribution that a document names, and the words of it that count."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from rnncheck.automata.dfa import DFA
from rnncheck.automata.language import short_words
from rnncheck.automata.product import intersection
from rnncheck.checker.checks import Check, confirmed_if, left_open, refuted, unchecked
from rnncheck.checker.claimed_document import Claims
from rnncheck.errors import InputError, short_repr
from rnncheck.probability.conditioned import conditioned
from rnncheck.probability.distributions import WordDistribution
from rnncheck.words import Word

_ROUNDING = 1e-9


def unconditioned_distribution(claims: Claims, words_like: Sequence[Word] | None) -> WordDistribution | Check:
    """The distribution of all words, without the assumption; or why there is none."""
    if claims.distribution is None:
        return left_open("fresh words", "the document names no distribution to draw them from")
    facts = {name: value for name, value in claims.distribution.items() if name != "given"}
    kind, alphabet = facts.get("kind"), claims.verdict.alphabet
    try:
        if kind == "independent letters":
            weights = facts.get("weights")
            return WordDistribution(alphabet, None if weights == "uniform" else weights, _number(facts, "stop"))
        if kind != "n-gram":
            return left_open("fresh words", f"words of the kind {short_repr(kind)} cannot be drawn here")
        if words_like is None:
            return left_open("fresh words", "they are drawn like words of a file; give it with --words-like")
        order = facts.get("order")
        if not isinstance(order, int):
            raise InputError(f"order {short_repr(order)} is not a whole number")
        distribution = WordDistribution.fit(alphabet, words_like, order=order, smoothing=_number(facts, "smoothing"))
    except InputError as error:
        return refuted("distribution", f"it is not valid: {error}")
    if distribution.describe() != facts:
        return left_open("fresh words", "the words of --words-like are not those that the document's were drawn like")
    return distribution


def document_distribution(claims: Claims, words_like: Sequence[Word] | None) -> WordDistribution | Check:
    """The distribution that the claims are about: of the words that count; or why there is none."""
    distribution = unconditioned_distribution(claims, words_like)
    if claims.verdict.assumption is None or isinstance(distribution, Check):
        return distribution
    language = _counting_words(claims)
    if language is None:
        return left_open("fresh words", "which words count cannot be read")
    return conditioned(distribution, language) or refuted("assumption", "no word that counts can be drawn")


def check_assumption(claims: Claims, words_like: Sequence[Word] | None) -> Iterator[Check]:
    """Whether the assumption is the requested one, and has the claimed probability."""
    facts, guarantee = claims.verdict.assumption, claims.guarantee
    given = None if facts is None else facts.given()
    others = {"the settings": claims.requested.assumption, "the distribution": (claims.distribution or {}).get("given")}
    if guarantee is not None and guarantee.distribution is not None:
        others["the guarantee"] = guarantee.distribution.get("given")
    for where, other in others.items():
        if other != given:
            yield refuted(
                "assumption", f"{where} has {short_repr(other, 90)}, and the document {short_repr(given, 90)}"
            )
    if facts is None:
        return
    table = claims.named.get("assumption")
    if facts.sha256 is not None and table is not None:
        same = table.digest(list(claims.verdict.alphabet)) == facts.sha256
        seen = "its digest is right" if same else "its digest is that of another language"
        yield confirmed_if("assumption", same, f"{len(table)} states; {seen}")
    elif facts.sha256 is not None or facts.automaton is not None or facts.max_length is None:
        yield refuted("assumption", "it has neither an automaton with its digest nor a greatest length")
    if facts.origin is not None:
        yield unchecked("assumption text", f"whether the automaton is what {short_repr(facts.origin)} means")
    distribution, language = unconditioned_distribution(claims, words_like), _counting_words(claims)
    if isinstance(distribution, Check) or language is None:
        why = distribution.seen if isinstance(distribution, Check) else "which words count cannot be read"
        yield left_open("assumption mass", why)
        return
    mass = distribution.mass(language)
    seen = f"a random word counts with probability {mass:.4g}; {facts.mass:.4g} is claimed"
    yield confirmed_if("assumption mass", math.isclose(mass, facts.mass, rel_tol=_ROUNDING, abs_tol=0.0), seen)


def may_violate_words(claims: Claims) -> DFA | None:
    """The automaton of the words that could be violations; None without a specification."""
    spec = claims.spec
    if spec is None:
        return None
    may_violate = [spec.may_violate(claims.relation, state) for state in range(len(spec))]
    return DFA(claims.verdict.alphabet, spec.rows, may_violate, spec.initial)


def _counting_words(claims: Claims) -> DFA | None:
    """The automaton of the words that count; None where it cannot be computed, or all words count."""
    facts, alphabet = claims.verdict.assumption, claims.verdict.alphabet
    if facts is None or claims.spec is None:
        return None
    short = None if facts.max_length is None else short_words(alphabet, facts.max_length)
    if facts.automaton is None or short is None:
        return short if facts.automaton is None else facts.automaton.over(alphabet)
    return intersection(facts.automaton.over(alphabet), short)


def _number(facts: dict[str, Any], name: str) -> float:
    value = facts.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{name} {short_repr(value)} is not a number")
    return value
