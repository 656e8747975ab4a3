"""Check the severity of violations: exact probabilities, and fresh words of every language in the measurement."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from rnncheck.automata.dfa import DFA
from rnncheck.checker.checks import SURPRISE, Check, confirmed_if, refuted, unchecked
from rnncheck.checker.claimed_document import Claims
from rnncheck.checker.deadline import Deadline, reference_model
from rnncheck.checker.drawn_words import may_violate_words
from rnncheck.checker.product_table import Table
from rnncheck.checker.structure import impossible_severity
from rnncheck.models.protocol import Model
from rnncheck.probability.clopper_pearson import clopper_pearson
from rnncheck.probability.conditioned import conditioned
from rnncheck.probability.distributions import WordDistribution
from rnncheck.verdict.strata import divide, interval_of
from rnncheck.words import Codes

_ROUNDING = 1e-9


class FreshAnswers:
    """The words drawn, and the reference's answers to those that were queried."""

    def __init__(self, model: Model, words: list[Codes], deadline: Deadline, what: str) -> None:
        """``what`` names the words in progress reports."""
        self._model, self._deadline, self._what = reference_model(model), deadline, what
        self._known: dict[Codes, bool] = {}
        self.words = words

    def violations(self, other: Table, relation: str) -> list[Codes]:
        """The words on which the model breaks the relation to an automaton."""
        matter = [word for word in dict.fromkeys(self.words) if other.may_violate(relation, other.end(word))]
        queried = [word for word in matter if word not in self._known]
        answers = self._deadline.answers(self._model, queried, self._what)
        self._known.update(zip(queried, answers, strict=True))
        wrong = {word for word in matter if other.breaks(relation, word, self._known[word])}
        return [word for word in self.words if word in wrong]


def strata(
    claims: Claims,
    model: Model,
    distribution: WordDistribution,
    rng: np.random.Generator,
    words: int,
    deadline: Deadline,
) -> Iterator[Check]:
    """Whether the languages have the masses, and their words the share of violations, that are claimed."""
    verdict, word, possible = claims.verdict, claims.counterexample, may_violate_words(claims)
    severity = verdict.severity
    claimed = () if severity is None else severity.strata
    if (
        not claimed
        or severity is None
        or word is None
        or possible is None
        or claims.spec is None
        or impossible_severity(claims) is not None
    ):
        return
    low, high = interval_of(claimed, distribution.probability(word))
    same = all(
        math.isclose(one, other, rel_tol=_ROUNDING, abs_tol=0.0)
        for one, other in zip(severity.interval, (low, high), strict=True)
    )
    yield confirmed_if("severity", same, f"what was counted shows {low:.4g} to {high:.4g}")
    loops = [(len(flow.prefix), claims.encode(flow.loop) or ()) for flow in verdict.faulty_flows]
    languages = dict(divide(possible, word, loops, _learned(claims)))
    for stratum in claimed:
        language = languages.get(stratum.name)
        sampled = None if language is None else conditioned(distribution, language)
        if language is None or sampled is None:
            yield refuted("severity", f"there are no {stratum.name} in which a violation could be")
            continue
        mass = distribution.mass(language)
        seen = f"{stratum.name} have probability {mass:.4g}; {stratum.mass:.4g} is claimed"
        yield confirmed_if("severity", math.isclose(mass, stratum.mass, rel_tol=_ROUNDING, abs_tol=0.0), seen)
        if not stratum.words:
            continue
        many = max(1, words // len(claimed))
        fresh = FreshAnswers(model, list(sampled.sample(rng, many)), deadline, f"fresh {stratum.name}")
        found = len(fresh.violations(claims.spec, claims.relation))
        here = clopper_pearson(found, many, 1 - SURPRISE)
        there = clopper_pearson(stratum.violations, stratum.words, 1 - SURPRISE)
        seen = (
            f"{found} of {many} fresh {stratum.name} are violations; {stratum.violations} of {stratum.words} is claimed"
        )
        yield confirmed_if("severity", here[0] <= there[1] and there[0] <= here[1], seen)
    yield unchecked("severity", "the number of words drawn cannot be checked")


def _learned(claims: Claims) -> DFA | None:
    """The automaton of the learned violations, or of the hypothesis's violations."""
    verdict = claims.verdict
    if verdict.error_language is not None:
        automaton = verdict.error_language.automaton
        return None if automaton is None else automaton.over(verdict.alphabet)
    if verdict.hypothesis is None or claims.spec is None:
        return None
    spec = claims.spec
    accepting = [state in spec.accepting for state in range(len(spec))]
    meant = DFA(verdict.alphabet, spec.rows, accepting, spec.initial)
    return verdict.relation.violations(verdict.hypothesis.over(verdict.alphabet), meant)
