"""Proofs for all words up to a length, for networks without a proof for every word: one box per class and length.

Boxes of different lengths are not joined, and nothing is padded, so they stay narrow for as long as the network's own
errors do. There is no search: the boxes of each length follow from those of the length before.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from rnncheck.models.network import RecurrentNetwork
from rnncheck.proofs.abstract_network import AbstractNetwork
from rnncheck.proofs.domains.interval import Interval
from rnncheck.proofs.invariant import Ints, Progress, is_bounded, step_images, undecided_classes
from rnncheck.proofs.proof_search import ProofSettings
from rnncheck.proofs.word_classes import INITIAL, partition_by_last_letters
from rnncheck.relations import Property


@dataclass(frozen=True)
class BoundedProof:
    """No word of 1 to ``length`` letters is a violation, by boxes of the partition by ``context`` letters."""

    length: int
    context: int


def prove_bounded(
    network: RecurrentNetwork, prop: Property, context: int, settings: ProofSettings
) -> Generator[Progress, None, BoundedProof | None]:
    """Prove increasing lengths while every decision is correct, up to ``settings.longest`` letters.

    None where there are too many classes.
    """
    partition = partition_by_last_letters(prop, context, settings.classes)
    if partition is None:
        return None
    abstract = AbstractNetwork(network, settings.rounding)
    boxes = Interval(np.zeros((len(partition), abstract.width)), np.zeros((len(partition), abstract.width)))
    here: Ints = np.array([INITIAL])
    for length in range(1, settings.longest + 1):
        after = step_images(abstract, boxes[here], partition.successors[here])
        here = after.goals
        boxes.lo[here], boxes.hi[here] = after.joined
        yield Progress(length, len(here), len(partition))
        if not is_bounded(boxes[here]).all() or len(undecided_classes(abstract, partition, boxes, here)):
            return BoundedProof(length - 1, context)
        if not len(here):  # no word of this length or longer could be a violation
            break
    return BoundedProof(settings.longest, context)
