"""Altered certificates, sealed again: whatever a replay confirms is true, and its boxes are closed."""

from __future__ import annotations

import functools
import sys
from collections import Counter

import msgspec
import numpy as np
import pytest

from rnncheck.automata.dfa import DFA
from rnncheck.checker import Status, replay
from rnncheck.checker.checks import confirmed
from rnncheck.checker.proof_checks import check_proof
from rnncheck.errors import RnncheckError
from rnncheck.models.cells import Cell
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.network import RecurrentNetwork
from rnncheck.proofs.certifying import certificate_of
from rnncheck.proofs.proof_search import Invariant, find_invariant
from rnncheck.relations import Property, Relation
from rnncheck.spec import Spec
from rnncheck.verdict.certificate import Certificate
from support.altered_certificates import altered, is_true, keeps_its_boxes
from support.provable_networks import provable_network, recent_a
from support.robust_networks import robust_network
from support.rotating_network import rotating_network

RESPONSE = Spec.from_ltlf("G(a -> F b)", ["a", "b", "c"]).dfa
PARTS = [0, 1, *(pytest.param(part, marks=pytest.mark.slow) for part in range(2, 10))]


@functools.cache
def proofs() -> list[tuple[Certificate, RecurrentNetwork]]:
    """Of every cell, relation and kind of head, by boxes of each class and by small boxes that are followed."""
    turning = rotating_network()
    subjects = [(turning, DFA(turning.alphabet, [[0, 0]], [True]), Relation.EQUAL)]
    for number, cell in enumerate((Cell.RNN_TANH, Cell.GRU, Cell.LSTM)):
        labels, relation = (1, 3, 1)[number], list(Relation)[number]
        subjects.append((robust_network(RESPONSE, cell, labels=labels, gain=3.0), RESPONSE, relation))
    subjects += [(provable_network(cell), recent_a(), Relation.SUBSET) for cell in Cell]
    found = []
    for network, spec, relation in subjects:
        wanted = Property(spec, relation)
        invariant = find_invariant(network, wanted)
        assert isinstance(invariant, Invariant)
        found.append((certificate_of(invariant, network, wanted, CompiledNetwork(network).accepts_empty), network))
    return found


def statuses(part: int, count: int) -> Counter[str]:
    """What became of ``count`` altered certificates; fails where a false one is confirmed."""
    found: Counter[str] = Counter()
    for number in range(count):
        rng = np.random.default_rng([part, number])
        original, network = proofs()[number % len(proofs())]
        name, (proof, subject) = altered(original, network, rng)
        try:
            status = replay(proof, CompiledNetwork(subject)).status
        except RnncheckError:
            found[f"{name}: error"] += 1
            continue
        found[f"{name}: {status.value}"] += 1
        if status is Status.CONFIRMED:
            where = (part, number, name)
            assert is_true(proof, subject, 7 if len(proof.alphabet) == 3 else 9), where
            assert keeps_its_boxes(proof, subject, rng), where
    return found


@pytest.mark.parametrize("part", PARTS)
def test_no_false_certificate_is_confirmed(part: int) -> None:
    """Should refute most of them, or call them open; the few that are confirmed are proofs that had room to spare."""
    found = statuses(part, 100)
    confirmed = sum(count for name, count in found.items() if name.endswith("confirmed"))
    assert found.total() == 100
    assert 0 < confirmed <= 40, found


def test_a_change_without_a_new_digest_is_never_confirmed() -> None:
    for number, (original, network) in enumerate(proofs() * 5):
        _, (proof, subject) = altered(original, network, np.random.default_rng([77, number]))
        if subject is not network or proof.sha256 == original.sha256:
            continue
        kept = msgspec.structs.replace(proof, sha256=original.sha256)
        assert replay(kept, CompiledNetwork(subject)).status is Status.REFUTED


@pytest.mark.parametrize("check", ["_led_into_boxes", "_decided"])
def test_a_checker_that_leaves_a_check_out_is_noticed(check: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Should confirm something false, or a box that is not closed, once one condition is not looked at."""
    left_out = confirmed("left out", "nothing was looked at")
    monkeypatch.setattr(sys.modules[check_proof.__module__], check, lambda *_: left_out)
    with pytest.raises(AssertionError, match=r"is_true|keeps_its_boxes"):
        statuses(0, 100)
