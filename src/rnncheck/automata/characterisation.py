"""Words that show the structure of an automaton: one to every state, and suffixes that distinguish all states."""

from __future__ import annotations

import numpy as np

from rnncheck.automata.moore import Hypothesis
from rnncheck.words import Codes


def state_cover(hypothesis: Hypothesis) -> dict[int, Codes]:
    """The shortlex-least word to each reachable state, in the order of the words."""
    support = hypothesis.support
    table = support.transitions.tolist()
    cover: dict[int, Codes] = {support.initial: ()}
    queue = [support.initial]
    for state in queue:  # grows while it is walked
        for letter, successor in enumerate(table[state]):
            if successor not in cover:
                cover[successor] = (*cover[state], letter)
                queue.append(successor)
    return cover


def characterising_suffixes(hypothesis: Hypothesis) -> list[Codes]:
    """Suffixes such that any two states with different languages give different outputs after one of them.

    The empty suffix comes first. States are split by outputs, then repeatedly by the first letter after which an
    earlier suffix distinguishes them; so there are at most as many suffixes as there are different states.
    """
    table = hypothesis.support.transitions
    outputs = np.unique(hypothesis.outputs, return_inverse=True)[1].astype(np.int64)
    suffixes: list[Codes] = [()]
    after = [outputs]  # after[i][q]: the output of state q followed by suffix i
    classes = outputs
    at = 0
    while at < len(suffixes) and classes.max() + 1 < len(classes):
        for letter in range(table.shape[1]):
            outputs_after = after[at][table[:, letter]]
            finer = np.unique(classes * len(outputs) + outputs_after, return_inverse=True)[1]
            if finer.max() > classes.max():
                classes = finer
                suffixes.append((letter, *suffixes[at]))
                after.append(outputs_after)
        at += 1
    return suffixes
