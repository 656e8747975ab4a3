"""How bad a violation is: the probability of all violations, as far as a share of the work can tell."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rnncheck.automata.dfa import DFA
from rnncheck.probability.conditioned import conditioned
from rnncheck.probability.distributions import WordDistribution
from rnncheck.runtime.budget import BudgetExceeded
from rnncheck.search.flows import Flow
from rnncheck.verdict.facts import Interval
from rnncheck.verdict.strata import OTHERS, divided, interval_of
from rnncheck.verdict.violation import Stratum
from rnncheck.verification.error_language import ErrorLanguage
from rnncheck.verification.task import Finding, Task
from rnncheck.words import Codes

# Unless told how many words: one letter for so many that were asked before, or so many.
_SHARE, _LEAST_STEPS = 16, 20_000
_MOST_WORDS = 20_000


@dataclass(frozen=True)
class HowBad:
    """The probability of violations, and what it was measured on."""

    interval: Interval | None
    strata: tuple[Stratum, ...]


def how_bad(task: Task, finding: Finding, word: Codes, flows: Sequence[Flow]) -> HowBad:
    """Measure it with words drawn from each stratum alone.

    How many is fixed before any is drawn, by counts alone: words that are counted as long as steps or time last would
    favour short ones. Where time ends first, the strata that are complete count, and the others may be all violations
    or none.
    """
    loops = [(len(flow.prefix), flow.loop) for flow in flows]
    parts = []
    for name, language in divided(task.wanted.possible, word, loops, _learned(task, finding)):
        words = conditioned(task.distribution, language)
        if words is not None:
            parts.append((name, task.distribution.mass(language), words))
    counts = _counts(task, [(name, words) for name, _, words in parts])
    mistakes, rng = ErrorLanguage(task.oracle, task.wanted).mistakes, task.rng("mass")
    strata = [Stratum(name, mass, 0, 0) for name, mass, _ in parts]
    with contextlib.suppress(BudgetExceeded):
        for place, (name, mass, words) in enumerate(parts):
            count = counts[place]
            found = int(np.sum(mistakes(words.sample(rng, count)))) if count else 0
            strata[place] = Stratum(name, mass, count, found)
    return HowBad(interval_of(strata, task.distribution.probability(word)), tuple(strata))


def _learned(task: Task, finding: Finding) -> DFA | None:
    """What was learned of the violations: their automaton, or those of the learned automaton of the model."""
    if finding.description is not None:
        return finding.description.automaton
    return None if task.hypothesis is None else task.relation.violations(task.hypothesis.support, task.spec)


def _steps(task: Task) -> int:
    return max(_LEAST_STEPS, task.oracle.cost.work // _SHARE)


def _counts(task: Task, parts: Sequence[tuple[str, WordDistribution]]) -> list[int]:
    """How many words to draw of each: half of all of those that nothing is known of, the rest from the others."""
    told = task.settings.mass_words
    steps = _steps(task)
    others = [name == OTHERS for name, _ in parts]
    weights = [sum(not other for other in others) or 1 if other else 1 for other in others]
    counts = []
    for weight, (_, words) in zip(weights, parts, strict=True):
        share = weight / sum(weights)
        if told is None:
            counts.append(min(_MOST_WORDS, max(1, int(share * steps / max(1.0, words.mean_length())))))
        else:
            counts.append(int(share * told))
    return counts
