"""How bad violations are said to be: exact masses again, and fresh words of every language they were measured in."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from rnncheck.automata.dfa import DFA
from rnncheck.checker.checks import SURPRISE, Check, judged, refuted, unchecked
from rnncheck.checker.claimed_document import Claims
from rnncheck.checker.deadline import Watch, asked_again
from rnncheck.checker.drawn_words import possible_words
from rnncheck.checker.product_table import Table
from rnncheck.checker.structure import impossible_severity
from rnncheck.models.protocol import Model
from rnncheck.probability.conditioned import conditioned
from rnncheck.probability.distributions import WordDistribution
from rnncheck.probability.statistics import clopper_pearson
from rnncheck.verdict.strata import divided, interval_of
from rnncheck.words import Codes

_ROUNDING = 1e-9


class FreshAnswers:
    """The words drawn, and the answers of the model's reference to those that were asked."""

    def __init__(self, model: Model, words: list[Codes], watch: Watch, what: str) -> None:
        """``what`` they are is told while they are asked."""
        self._model, self._watch, self._what = asked_again(model), watch, what
        self._known: dict[Codes, bool] = {}
        self.words = words

    def breaking(self, other: Table, relation: str) -> list[Codes]:
        """The words on which the model breaks the relation to an automaton."""
        matter = [word for word in dict.fromkeys(self.words) if other.can_break(relation, other.end(word))]
        asked = [word for word in matter if word not in self._known]
        answers = self._watch.answers(self._model, asked, self._what)
        self._known.update(zip(asked, answers, strict=True))
        wrong = {word for word in matter if other.breaks(relation, word, self._known[word])}
        return [word for word in self.words if word in wrong]


def strata(
    claims: Claims, model: Model, distribution: WordDistribution, rng: np.random.Generator, words: int, watch: Watch
) -> Iterator[Check]:
    """Whether the languages have the masses, and their words the share of violations, that are claimed."""
    verdict, word, possible = claims.verdict, claims.counterexample, possible_words(claims)
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
    yield judged("severity", same, f"what was counted shows {low:.4g} to {high:.4g}")
    loops = [(len(flow.prefix), claims.encode(flow.loop) or ()) for flow in verdict.faulty_flows]
    languages = dict(divided(possible, word, loops, _learned(claims)))
    for stratum in claimed:
        language = languages.get(stratum.name)
        drawn = None if language is None else conditioned(distribution, language)
        if language is None or drawn is None:
            yield refuted("severity", f"there are no {stratum.name} in which a violation could be")
            continue
        mass = distribution.mass(language)
        seen = f"{stratum.name} have probability {mass:.4g}; {stratum.mass:.4g} is claimed"
        yield judged("severity", math.isclose(mass, stratum.mass, rel_tol=_ROUNDING, abs_tol=0.0), seen)
        if not stratum.words:
            continue
        many = max(1, words // len(claimed))
        fresh = FreshAnswers(model, list(drawn.sample(rng, many)), watch, f"fresh {stratum.name}")
        found = len(fresh.breaking(claims.spec, claims.relation))
        here = clopper_pearson(found, many, 1 - SURPRISE)
        there = clopper_pearson(stratum.violations, stratum.words, 1 - SURPRISE)
        seen = (
            f"{found} of {many} fresh {stratum.name} are violations; {stratum.violations} of {stratum.words} is claimed"
        )
        yield judged("severity", here[0] <= there[1] and there[0] <= here[1], seen)
    yield unchecked("severity", "how many words were drawn is only told")


def _learned(claims: Claims) -> DFA | None:
    """The automaton of the violations that were learned, or of those of the hypothesis."""
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
