"""From an invariant to its certificate."""

from __future__ import annotations

import numpy as np

from rnncheck.models.network import RecurrentNetwork
from rnncheck.proving.partition import NO_CLASS
from rnncheck.proving.prove import Invariant
from rnncheck.relations import Property
from rnncheck.verdict.certificate import Arithmetic, Certificate, ProofCell, ProvedNetwork
from rnncheck.version import __version__


def certificate_of(
    invariant: Invariant, network: RecurrentNetwork, wanted: Property, accepts_empty: bool
) -> Certificate:
    """The certificate; ``accepts_empty`` is the model's answer to the empty word."""
    partition, boxes, rounding = invariant.partition, invariant.boxes, invariant.rounding
    decode = network.alphabet.decode
    cells = zip(
        partition.spec_states.tolist(),
        partition.contexts,
        partition.successors.tolist(),
        boxes.lo.tolist(),
        boxes.hi.tolist(),
        strict=True,
    )
    return Certificate(
        relation=wanted.relation,
        alphabet=network.alphabet,
        network=ProvedNetwork(network.sha256(), network.cell.value, tuple(layer.hidden for layer in network.layers)),
        spec=wanted.spec,
        ignored=() if wanted.counts is None else tuple(np.flatnonzero(~wanted.counts).tolist()),
        accepts_empty=accepts_empty,
        arithmetic=Arithmetic(rounding.unit, rounding.tanh, rounding.sigmoid),
        cells=tuple(
            ProofCell(
                state,
                decode(letters),
                tuple(None if successor == NO_CLASS else successor for successor in successors),
                tuple(lower),
                tuple(upper),
            )
            for state, letters, successors, lower, upper in cells
        ),
        version=__version__,
    ).sealed()
