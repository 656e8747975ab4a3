"""Write an invariant, or a partial one, as a certificate."""

from __future__ import annotations

import msgspec
import numpy as np

from rnncheck.automata.dfa import Mask
from rnncheck.models.network import RecurrentNetwork
from rnncheck.proofs.domains.interval import Bounds
from rnncheck.proofs.induction import NO_PARENT
from rnncheck.proofs.partial_invariant import PartialInvariant
from rnncheck.proofs.proof_search import Invariant
from rnncheck.proofs.word_classes import NO_CLASS
from rnncheck.relations import Property
from rnncheck.verdict.certificate import Arithmetic, Certificate, ProofCell, ProvedNetwork
from rnncheck.version import __version__


def certificate_of(
    invariant: Invariant | PartialInvariant, network: RecurrentNetwork, prop: Property, accepts_empty: bool
) -> Certificate:
    """The certificate; ``accepts_empty`` is the model's answer to the empty word."""
    partition, boxes, rounding = invariant.partition, invariant.boxes, invariant.rounding
    decode = network.alphabet.decode
    left = undecided = None
    if isinstance(invariant, PartialInvariant):
        left, undecided = invariant.left, invariant.undecided
        parents, bounded = np.full(len(partition), NO_PARENT), ~left
    else:
        parents, bounded = invariant.parents, invariant.parents == NO_PARENT
    cells = zip(
        partition.spec_states.tolist(),
        partition.contexts,
        partition.successors.tolist(),
        _bounds(boxes.lo, bounded),
        _bounds(boxes.hi, bounded),
        parents.tolist(),
        strict=True,
    )
    return Certificate(
        relation=prop.relation,
        alphabet=network.alphabet,
        network=ProvedNetwork(network.sha256(), network.cell.value, tuple(layer.hidden for layer in network.layers)),
        spec=prop.spec,
        ignored=() if prop.counts is None else tuple(np.flatnonzero(~prop.counts).tolist()),
        accepts_empty=accepts_empty,
        arithmetic=Arithmetic(rounding.unit, rounding.tanh, rounding.sigmoid),
        cells=tuple(
            ProofCell(
                state,
                decode(letters),
                tuple(None if successor == NO_CLASS else successor for successor in successors),
                tuple(lower),
                tuple(upper),
                msgspec.UNSET if parent == NO_PARENT else parent,
            )
            for state, letters, successors, lower, upper, parent in cells
        ),
        left=msgspec.UNSET if left is None else tuple(np.flatnonzero(left).tolist()),
        undecided=msgspec.UNSET if undecided is None else tuple(np.flatnonzero(undecided).tolist()),
        version=__version__,
    ).sealed()


def _bounds(ends: Bounds, bounded: Mask) -> list[list[float]]:
    """The bounds of each class; empty where it has no box of its own."""
    return [row if bounded[number] else [] for number, row in enumerate(ends.tolist())]
