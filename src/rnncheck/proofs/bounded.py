"""Proofs for all words of a bounded length, where none for every word closes: a box for each class and length.

Boxes of one length are not joined with those of others, and nothing is padded, so they stay narrow for as long as the
network's own errors do. There is no search: the boxes of each length follow from those of the length before.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from rnncheck.models.network import RecurrentNetwork
from rnncheck.proofs.abstract_network import AbstractNetwork
from rnncheck.proofs.domains.interval import Box
from rnncheck.proofs.invariant import Ints, Progress, bounded, stepped, undecided
from rnncheck.proofs.proof_search import ProofSettings
from rnncheck.proofs.word_classes import INITIAL, last_letters
from rnncheck.relations import Property


@dataclass(frozen=True)
class Layers:
    """No word of one letter and at most ``length`` is a violation, by boxes of the partition by ``context`` letters."""

    length: int
    context: int


def prove_lengths(
    network: RecurrentNetwork, wanted: Property, context: int, settings: ProofSettings
) -> Generator[Progress, None, Layers | None]:
    """As long as every decision is right, at most to ``settings.longest`` letters; None where there are too many
    classes.
    """
    partition = last_letters(wanted, context, settings.classes)
    if partition is None:
        return None
    abstract = AbstractNetwork(network, settings.rounding)
    boxes = Box(np.zeros((len(partition), abstract.width)), np.zeros((len(partition), abstract.width)))
    here: Ints = np.array([INITIAL])
    for length in range(1, settings.longest + 1):
        after = stepped(abstract, boxes[here], partition.successors[here])
        here = after.goals
        boxes.lo[here], boxes.hi[here] = after.joined
        yield Progress(length, len(here), len(partition))
        if not bounded(boxes[here]).all() or len(undecided(abstract, partition, boxes, here)):
            return Layers(length - 1, context)
        if not len(here):  # no word of this length or longer could be a violation
            break
    return Layers(settings.longest, context)
