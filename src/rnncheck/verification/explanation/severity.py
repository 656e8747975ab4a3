"""The severity of a violation: the probability of all violations, as far as a share of the work can measure it."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import numpy as np

from rnncheck.automata.dfa import DFA
from rnncheck.probability.conditioned import conditioned
from rnncheck.probability.distributions import WordDistribution
from rnncheck.runtime.budget import BudgetExceeded
from rnncheck.search.flows import Flow
from rnncheck.verdict.strata import divide, interval_of
from rnncheck.verdict.violation import Stratum, ViolationProbability
from rnncheck.verification.error_language import ErrorLanguage
from rnncheck.verification.verification_task import Finding, Task
from rnncheck.words import Codes

_FEWEST_WORDS = 32  # of each stratum, where the letters allow it: enough to see that most of them are violations
_WORDS_AT_ONCE = 20_000


def violation_probability(
    task: Task, finding: Finding, word: Codes, flows: Sequence[Flow], letters: int
) -> ViolationProbability:
    """Measure it with words drawn from each stratum, of about ``letters`` letters in total.

    Their number is fixed before any is drawn: drawing words as long as steps or time last would favour short ones.
    Where time ends first, the complete strata count, and the others may have only violations or none.
    """
    loops = [(len(flow.prefix), flow.loop) for flow in flows]
    parts = []
    for name, language in divide(task.prop.possible_violations, word, loops, _learned_violations(task, finding)):
        words = conditioned(task.distribution, language)
        if words is not None:
            parts.append((name, task.distribution.mass(language), words))
    counts = _counts(task.settings.severity_samples, letters, [(mass, words) for _, mass, words in parts])
    violations, rng = ErrorLanguage(task.oracle, task.prop).violations, task.rng("mass")
    strata = [Stratum(name, mass, 0, 0) for name, mass, _ in parts]
    with contextlib.suppress(BudgetExceeded):
        for place, (name, mass, words) in enumerate(parts):
            count = counts[place]
            pieces = [min(_WORDS_AT_ONCE, count - start) for start in range(0, count, _WORDS_AT_ONCE)]
            found = sum(int(np.sum(violations(words.sample(rng, piece)))) for piece in pieces)
            strata[place] = Stratum(name, mass, count, found)
    return ViolationProbability(interval=interval_of(strata, task.distribution.probability(word)), strata=tuple(strata))


def _learned_violations(task: Task, finding: Finding) -> DFA | None:
    """The learned automaton of the violations, or the violations of the learned automaton of the model."""
    if finding.description is not None:
        return finding.description.automaton
    return None if task.hypothesis is None else task.relation.violations(task.hypothesis.support, task.spec)


def _counts(words: int | None, letters: int, parts: Sequence[tuple[float, WordDistribution]]) -> list[int]:
    """How many words to draw from each stratum: ``words`` in total, or as many as ``letters`` allow.

    Without a violation among them, the upper bound is the sum of mass / words; it is least where the numbers of words
    are proportional to the roots of mass / length.
    """
    if not parts:
        return []
    masses = np.array([mass for mass, _ in parts])
    lengths = np.array([max(1.0, drawn.mean_length()) for _, drawn in parts])
    roots = np.sqrt(masses / lengths)
    if words is not None:
        few = min(_FEWEST_WORDS, words // (2 * len(parts)))
        shared = few + (words - few * len(parts)) * roots / roots.sum()
        return [int(count) for count in shared]
    least = np.minimum(_FEWEST_WORDS, letters / (2 * len(parts) * lengths))
    shared = least + (letters - (least * lengths).sum()) * roots / (roots * lengths).sum()
    return [int(count) for count in np.maximum(shared, 1.0)]
