"""The boxes of a proof projected to two directions, for pictures.

One direction is the network's score, zero at the decision: the answer is open in a box on both sides of it. The other
is the direction in which the centres of the boxes differ most.
"""

from __future__ import annotations

import numpy as np

from rnncheck.models.network import RecurrentNetwork
from rnncheck.proofs.abstract_network import AbstractNetwork
from rnncheck.proofs.domains.interval import Bounds, Interval
from rnncheck.proofs.partial_invariant import PartialInvariant
from rnncheck.proofs.proof_search import Invariant
from rnncheck.verdict.guarantee import ShownBox
from rnncheck.words import IntArray, format_word

_MOST_SHOWN = 300


def project_boxes(network: RecurrentNetwork, proof: Invariant | PartialInvariant) -> tuple[ShownBox, ...]:
    """At most ``_MOST_SHOWN`` boxes of a proof, evenly chosen; at most half of them are open.

    A class without a box is not shown.
    """
    shown = np.zeros(len(proof.partition), dtype=bool)
    shown[np.flatnonzero(~proof.left) if isinstance(proof, PartialInvariant) else proof.own_boxes] = True
    unsure = proof.undecided if isinstance(proof, PartialInvariant) else ~shown
    opened = _evenly_chosen(np.flatnonzero(shown & unsure), _MOST_SHOWN // 2)
    kept = np.sort(np.append(opened, _evenly_chosen(np.flatnonzero(shown & ~unsure), _MOST_SHOWN - len(opened))))
    boxes, abstract = proof.boxes[kept], AbstractNetwork(network, proof.rounding)
    low, high = abstract.margin(boxes, True), -abstract.margin(boxes, False)
    across = _widest_direction(boxes)
    undecided = unsure[kept]
    words = [format_word(network.alphabet.decode(proof.partition.contexts[at])) for at in kept.tolist()]
    return tuple(
        ShownBox(
            score=(float(low[row]), float(high[row])),
            across=(float(across.lo[row]), float(across.hi[row])),
            open=bool(undecided[row]),
            letters=words[row],
        )
        for row in range(len(kept))
        if np.isfinite([low[row], high[row], across.lo[row], across.hi[row]]).all()
    )


def _evenly_chosen(places: IntArray, most: int) -> IntArray:
    """At most ``most`` of the places, evenly chosen."""
    return places[:: max(1, -(-len(places) // most))]


def _widest_direction(boxes: Interval) -> Interval:
    """The bounds of each box in the direction in which the centres of the boxes differ most."""
    centres = (boxes.lo + boxes.hi) / 2
    direction: Bounds = np.linalg.svd(centres - centres.mean(axis=0), full_matrices=False)[2][0]
    direction = direction * np.sign(
        direction[np.abs(direction).argmax()]
    )  # the sign is arbitrary; choose it reproducibly
    ups, downs = np.maximum(direction, 0.0), np.minimum(direction, 0.0)
    return Interval(boxes.lo @ ups + boxes.hi @ downs, boxes.hi @ ups + boxes.lo @ downs)
