"""The boxes of a proof in a plane, for people: how far each is from the decision, and where it lies across.

One direction is the network's score, zero at the decision: a box that reaches over it cannot tell the answer. The other
is the one in which the middles of the boxes differ most.
"""

from __future__ import annotations

import numpy as np

from rnncheck.models.network import RecurrentNetwork
from rnncheck.proofs.abstract_network import AbstractNetwork
from rnncheck.proofs.domains.interval import Bounds, Box
from rnncheck.proofs.partial_invariant import Cells
from rnncheck.proofs.proof_search import Invariant
from rnncheck.verdict.guarantee import ShownBox
from rnncheck.words import IntArray, format_word

_MOST_SHOWN = 300


def on_plane(network: RecurrentNetwork, proof: Invariant | Cells) -> tuple[ShownBox, ...]:
    """The boxes of a proof, at most so many: half of them may be open, the others are evenly chosen.

    A class that has none is not shown.
    """
    shown = np.zeros(len(proof.partition), dtype=bool)
    shown[np.flatnonzero(~proof.left) if isinstance(proof, Cells) else proof.own_boxes] = True
    unsure = proof.undecided if isinstance(proof, Cells) else ~shown
    opened = _some(np.flatnonzero(shown & unsure), _MOST_SHOWN // 2)
    kept = np.sort(np.append(opened, _some(np.flatnonzero(shown & ~unsure), _MOST_SHOWN - len(opened))))
    boxes, abstract = proof.boxes[kept], AbstractNetwork(network, proof.rounding)
    low, high = abstract.clearance(boxes, True), -abstract.clearance(boxes, False)
    across = _across(boxes)
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


def _some(places: IntArray, most: int) -> IntArray:
    """At most so many of the places, evenly chosen."""
    return places[:: max(1, -(-len(places) // most))]


def _across(boxes: Box) -> Box:
    """The bounds of all states of each box in the direction in which the middles of the boxes differ most."""
    middles = (boxes.lo + boxes.hi) / 2
    direction: Bounds = np.linalg.svd(middles - middles.mean(axis=0), full_matrices=False)[2][0]
    direction = direction * np.sign(direction[np.abs(direction).argmax()])  # one of two signs, always the same
    ups, downs = np.maximum(direction, 0.0), np.minimum(direction, 0.0)
    return Box(boxes.lo @ ups + boxes.hi @ downs, boxes.hi @ ups + boxes.lo @ downs)
