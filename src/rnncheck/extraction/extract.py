"""Just the automaton: what AAMC learns, without a property."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rnncheck.automata.dfa import DFA
from rnncheck.automata.language import all_words
from rnncheck.automata.minimise import minimise
from rnncheck.models.protocol import Model
from rnncheck.probability.distributions import WordDistribution
from rnncheck.verdict.value import TotalCost
from rnncheck.verification.settings import Progress, VerifySettings
from rnncheck.verification.verify import verify


@dataclass(frozen=True)
class ExtractedAutomaton:
    """An automaton learned from a model.

    ``passed``: it differs from the model with probability below ``epsilon``, with the confidence asked for.
    """

    automaton: DFA
    passed: bool
    epsilon: float | None
    sentence: str
    cost: TotalCost


def extract_automaton(
    model: Model,
    *,
    epsilon: float = 5e-4,
    gamma: float = 5e-4,
    distribution: WordDistribution | None = None,
    seed: int = 0,
    timeout: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    settings: VerifySettings | None = None,
) -> ExtractedAutomaton:
    """Learn an automaton until it passes an equivalence test, or a bound or the time limit is reached.

    ``settings.by`` names the way to it (``rnncheck.extraction.registry.ROADS``). This is AAMC with the property
    that every word has, which nothing can violate.
    """
    verdict = verify(
        model,
        all_words(model.alphabet),
        method="aamc",
        epsilon=epsilon,
        gamma=gamma,
        distribution=distribution,
        seed=seed,
        timeout=timeout,
        progress=progress,
        settings=settings,
    )
    automaton = all_words(model.alphabet) if verdict.hypothesis is None else minimise(verdict.hypothesis)
    shown = verdict.guarantee.hypothesis_epsilon if verdict.guarantee else None
    if verdict.satisfied and shown is not None:
        sentence = f"it differs from the network with probability below {shown:.3g}, with confidence {1 - gamma:.6g}"
    else:
        sentence = f"it passed no test: {verdict.reason}"
    return ExtractedAutomaton(automaton, verdict.satisfied, shown, sentence, verdict.cost)
