"""Random words from a regular language, also from a rare one, without rejection sampling."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rnncheck.automata.dfa import DFA
from rnncheck.automata.language import short_words
from rnncheck.errors import InputError
from rnncheck.probability.distributions import BesideAutomaton, WordDistribution


def conditioned(
    distribution: WordDistribution, dfa: DFA, given: Mapping[str, object] | None = None
) -> WordDistribution | None:
    """The distribution given that a word is in the language; None where no word of it has a positive probability.

    The probability of a letter is multiplied by the chance that the word is accepted in the end. So every word drawn is
    in the language, however small its mass, with its conditional probability. A context is a pair of a state of the
    automaton and a context of ``distribution``. ``given`` names the language in the facts.
    """
    beside = BesideAutomaton(distribution, dfa)
    if beside.accepted[beside.start] <= 0.0:
        return None
    reached, front = np.zeros(len(beside.accepted), dtype=bool), np.array([beside.start])
    reached[front] = True
    possible = (beside.chance > 0.0) & (beside.accepted[beside.goes_to] > 0.0)
    order = [front]
    while len(front):
        onward = np.unique(beside.goes_to[front][possible[front]])
        front = onward[~reached[onward]]
        reached[front] = True
        order.append(front)
    pairs = np.concatenate(order)
    number = np.zeros(len(reached), dtype=np.int32)
    number[pairs] = np.arange(len(pairs))
    goes_to, accepted = beside.goes_to[pairs], beside.accepted[pairs]
    continuing = np.where(possible[pairs], beside.chance[pairs] * beside.accepted[goes_to], 0.0) / accepted[:, None]
    facts = distribution.describe() if given is None else {**distribution.describe(), "given": dict(given)}
    return WordDistribution.of_contexts(
        distribution.alphabet,
        continuing=continuing,
        stopping=beside.accepted_here[pairs] / accepted,
        next_context=np.where(possible[pairs], number[goes_to], 0),
        facts=facts,
    )


def up_to(distribution: WordDistribution, longest: int) -> WordDistribution:
    """The distribution given that a word has at most ``longest`` letters."""
    words = conditioned(distribution, short_words(distribution.alphabet, longest), {"max_length": longest})
    if words is None:
        raise InputError(f"no word of at most {longest} letters has a positive probability under this distribution")
    return words
