"""Trying to break the prover: planted violations, random states in boxes, changed certificates.

python benchmarks/proofs.py --planted 1000 --edited 1000 --points 10000000 --mutations 1000
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import sys
import time
from pathlib import Path

import msgspec
import numpy as np

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "tests")]

from rnncheck import zoo  # noqa: E402 - found by the line above
from rnncheck.automata.dfa import DFA  # noqa: E402
from rnncheck.automata.minimisation import minimise  # noqa: E402
from rnncheck.checker import Status, replay  # noqa: E402
from rnncheck.models.engine.compiled import CompiledNetwork, SelfCheckError  # noqa: E402
from rnncheck.models.engine.reference import reference_judgement  # noqa: E402
from rnncheck.models.network import Cell, RecurrentNetwork  # noqa: E402
from rnncheck.proofs.abstract_network import AbstractNetwork  # noqa: E402
from rnncheck.proofs.certifying import certificate_of  # noqa: E402
from rnncheck.proofs.domains.interval import Interval  # noqa: E402
from rnncheck.proofs.invariant import is_invariant  # noqa: E402
from rnncheck.proofs.proof_search import Invariant, ProofSettings, find_invariant  # noqa: E402
from rnncheck.relations import Property, Relation  # noqa: E402
from rnncheck.spec import Spec  # noqa: E402
from rnncheck.training import harden  # noqa: E402
from rnncheck.words import WordBatch  # noqa: E402
from support.proofs import engine_step, points_in, random_dfa, with_one_word_changed  # noqa: E402
from support.robust_networks import robust_network  # noqa: E402

CELLS = (Cell.RNN_TANH, Cell.GRU, Cell.LSTM)
NUMBERS_AT_ONCE = 4_000_000  # of states that are stepped
RESPONSE = Spec.from_ltlf("G(a -> F b)", ["a", "b", "c"]).dfa


def planted(count: int) -> str:
    """Networks that are wrong on one word of 6 to 12 letters, and right on all others: how many are proved?"""
    proved = 0
    for seed in range(count):
        rng = np.random.default_rng(seed)
        spec = minimise(random_dfa(3, 2, seed))
        word = tuple(rng.integers(2, size=rng.integers(6, 13)).tolist())
        network = robust_network(with_one_word_changed(spec, word), CELLS[seed % 3])
        assert reference_judgement(network, word).accepted != spec.accepts(spec.alphabet.decode(word))
        found = find_invariant(network, Property(spec, Relation.EQUAL), ProofSettings(context=4))
        proved += isinstance(found, Invariant)
    return f"{proved} of {count} networks with a planted violation proved"


def edited(count: int, first: int = 0) -> str:
    """Trained and proved networks with some weights changed, until some answers are wrong: how many are proved?"""
    proved = wrong = right_and_proved = 0
    tried = first
    trained = [entry for entry in zoo.entries() if "provable" in entry.name]
    networks = [(entry.network(), entry.spec().dfa) for entry in trained]
    short = [_short_words(len(spec.alphabet)) for _, spec in networks]
    while wrong < count:
        rng = np.random.default_rng(tried)
        (network, spec), words = networks[tried % len(networks)], short[tried % len(networks)]
        tried += 1
        layer = network.layers[0]
        weight = layer.recurrent_weight.copy()
        places = rng.integers(weight.size, size=rng.integers(1, 9))
        weight.flat[places] += rng.normal(scale=rng.choice([0.5, 2.0, 8.0]), size=len(places)).astype(np.float32)
        changed = dataclasses.replace(network, layers=(dataclasses.replace(layer, recurrent_weight=weight),))
        try:
            answers = CompiledNetwork(changed, threads=1).accepts_batch(words)
        except SelfCheckError:  # its values depend on rounding: the shorter words, one by one
            words = WordBatch.from_codes([words[at] for at in range(200)])
            answers = np.array([reference_judgement(changed, word).accepted for word in words])
        is_wrong = bool((answers != spec.accepts_batch(words)).any())
        found = find_invariant(changed, Property(spec, Relation.EQUAL), ProofSettings(context=2))
        wrong += is_wrong
        proved += is_wrong and isinstance(found, Invariant)
        right_and_proved += not is_wrong and isinstance(found, Invariant)
    return (
        f"{proved} of {wrong} trained networks made wrong by editing weights proved; of {tried - first - wrong} "
        f"others, right on all short words, {right_and_proved}; go on with --first {tried}"
    )


def _short_words(letters: int) -> WordBatch:
    """All words of up to 9 letters of two, 6 of three."""
    longest = 9 if letters == 2 else 6
    return WordBatch.from_codes(
        [word for length in range(1, longest + 1) for word in itertools.product(range(letters), repeat=length)]
    )


def trained_points(count: int) -> str:
    """The trained networks of the zoo that are proved as they are, and one that is proved after hardening."""
    networks = [(entry.network(), entry.spec().dfa) for entry in zoo.entries() if "provable" in entry.name]
    given = zoo.entry("xml-lstm")
    hardened = harden(given.network(), given.spec().dfa, relation="equal")
    assert hardened.report.proved
    return f"of trained networks {_points([*networks, (hardened.network, given.spec().dfa)], count)}"


def points(count: int) -> str:
    """Networks that are built."""
    return (
        f"of built networks {_points([(robust_network(RESPONSE, cell, gain=3.0), RESPONSE) for cell in CELLS], count)}"
    )


def _points(networks: list[tuple[RecurrentNetwork, DFA]], count: int) -> str:
    """States in boxes, many at corners, stepped by the engine: how many leave the box that they must be in?"""
    outside = done = 0
    rng = np.random.default_rng(0)
    proofs = [(network, spec, find_invariant(network, Property(spec, Relation.EQUAL))) for network, spec in networks]
    while done < count:
        for network, spec, found in proofs:
            assert isinstance(found, Invariant)
            boxes, partition = found.boxes, found.partition
            states = points_in(boxes, rng, NUMBERS_AT_ONCE // boxes.lo.size)
            for letter in range(len(spec.alphabet)):
                goals = np.repeat(partition.successors[:, letter], states.shape[1])
                after, scores = engine_step(network, states.reshape(-1, states.shape[2]), letter, np.float32)
                inside = ((boxes.lo[goals] <= after) & (after <= boxes.hi[goals])).all(axis=1)
                right = (scores > 0) == spec.accepting[partition.spec_states[goals]]
                outside += int((~(inside & right)).sum())
                done += len(after)
    return f"{outside} of {done} states outside, or answered wrongly"


def mutations(count: int) -> str:
    """One bound of a box moved inwards: are all refused under the old digest, and under a new one all but proofs?

    A box may have room to spare, so that less of it is a proof as well: then the prover's own arithmetic says so, too.
    """
    old = new = wrong = 0
    rng = np.random.default_rng(0)
    for number in range(count):
        network = robust_network(RESPONSE, CELLS[number % 3], gain=3.0)
        wanted, model = Property(RESPONSE, Relation.EQUAL), CompiledNetwork(network, threads=1)
        found = find_invariant(network, wanted)
        assert isinstance(found, Invariant)
        proof = certificate_of(found, network, wanted, model.accepts_empty)
        at, place = int(rng.integers(1, len(proof.cells))), int(rng.integers(len(proof.cells[1].lower)))
        cell, end = proof.cells[at], ("lower", "upper")[int(rng.integers(2))]
        bounds = list(getattr(cell, end))
        bounds[place] = float(rng.uniform(0.3, 0.7)) * (cell.upper[place] - cell.lower[place]) + cell.lower[place]
        cells = list(proof.cells)
        cells[at] = msgspec.structs.replace(cell, **{end: tuple(bounds)})
        changed = msgspec.structs.replace(proof, cells=tuple(cells))
        old += replay(changed, model).status is Status.CONFIRMED
        if replay(changed.sealed(), model).status is Status.CONFIRMED:
            new += 1
            boxes = Interval(*(np.array([getattr(each, end) for each in cells]) for end in ("lower", "upper")))
            wrong += not is_invariant(AbstractNetwork(network), found.partition, boxes)
    return (
        f"of {count} certificates with a bound moved into its box {old} confirmed; under a new digest {new}, "
        f"of which {wrong} are no proofs"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--planted", type=int, default=100)
    parser.add_argument("--edited", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="number of the first change of weights")
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--mutations", type=int, default=100)
    asked = parser.parse_args()
    for work, count in (
        (lambda count: edited(count, asked.first), asked.edited),
        (trained_points, asked.points),
        (planted, asked.planted),
        (points, asked.points),
        (mutations, asked.mutations),
    ):
        began = time.perf_counter()
        print(f"{work(count)}  ({time.perf_counter() - began:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
