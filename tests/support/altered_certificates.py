"""Certificates that were altered on purpose, and whether what they claim of a network is true."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np

from rnncheck.automata.dfa import DFA
from rnncheck.checker.read_equations import reference_step
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.network import RecurrentNetwork
from rnncheck.relations import Relation
from rnncheck.verdict.certificate import Arithmetic, Certificate, ProofCell
from rnncheck.words import Alphabet
from support.proofs import all_words

Rng = np.random.Generator
Attack = tuple[Certificate, RecurrentNetwork]


def _number(rng: Rng, value: float) -> float:
    """Another number: near, far, of the other sign, or none."""
    return float(
        rng.choice(
            [
                np.nextafter(value, rng.choice([-9.0, 9.0])),
                value * (1 + rng.choice([-1, 1]) * 10.0 ** rng.uniform(-9, -1)),
                value + rng.normal() * 10.0 ** rng.uniform(-9, 1),
                -value,
                0.0,
                rng.choice([1e300, -1e300, np.inf, np.nan, 5e-324]),
            ]
        )
    )


def _with_cell(proof: Certificate, number: int, **parts: Any) -> Certificate:
    cells = list(proof.cells)
    cells[number] = msgspec.structs.replace(cells[number], **parts)
    return msgspec.structs.replace(proof, cells=tuple(cells))


def _some_cell(proof: Certificate, rng: Rng) -> tuple[int, ProofCell]:
    number = int(rng.integers(len(proof.cells)))
    return number, proof.cells[number]


def a_bound(proof: Certificate, rng: Rng) -> Certificate:
    number, cell = _some_cell(proof, rng)
    name = str(rng.choice(["lower", "upper"]))
    values = list(getattr(cell, name))
    if values:
        place = int(rng.integers(len(values)))
        values[place] = _number(rng, values[place])
    return _with_cell(proof, number, **{name: tuple(values)})


def a_box(proof: Certificate, rng: Rng) -> Certificate:
    """A whole box: moved, made smaller or larger, turned round, or that of another class."""
    number, cell = _some_cell(proof, rng)
    low, high = np.array(cell.lower), np.array(cell.upper)
    middle, radius, other = (low + high) / 2, (high - low) / 2, _some_cell(proof, rng)[1]
    share = rng.choice([0.0, 0.5, 0.99, 0.999999, 1.000001, 1.01, 2.0, 100.0])
    low, high = [
        (middle - share * radius, middle + share * radius),
        (low + radius * share, high + radius * share),
        (high, low),
        (np.array(other.lower), np.array(other.upper)),
        (low[1:], high[1:]),
    ][rng.integers(5)]
    return _with_cell(proof, number, lower=tuple(low.tolist()), upper=tuple(high.tolist()))


def all_boxes(proof: Certificate, rng: Rng) -> Certificate:
    share = 1.0 + rng.choice([-1, 1]) * 10.0 ** rng.uniform(-9, 0)
    cells = []
    for cell in proof.cells:
        low, high = np.array(cell.lower), np.array(cell.upper)
        middle, radius = (low + high) / 2, (high - low) / 2 * share
        ends = (tuple((middle - radius).tolist()), tuple((middle + radius).tolist()))
        cells.append(msgspec.structs.replace(cell, lower=ends[0], upper=ends[1]))
    return msgspec.structs.replace(proof, cells=tuple(cells))


def a_successor(proof: Certificate, rng: Rng) -> Certificate:
    number, cell = _some_cell(proof, rng)
    successors = list(cell.successors)
    if successors:
        choices = [None, *range(len(proof.cells) + 1)]
        successors[int(rng.integers(len(successors)))] = choices[int(rng.integers(len(choices)))]
    return _with_cell(proof, number, successors=tuple(successors))


def the_classes(proof: Certificate, rng: Rng) -> Certificate:
    """One left out, one twice, two exchanged, or another state or parent of one."""
    cells = list(proof.cells)
    number, cell = _some_cell(proof, rng)
    other = int(rng.integers(len(cells)))
    match rng.integers(5):
        case 0:
            del cells[number]
        case 1:
            cells.insert(other, cell)
        case 2:
            cells[number], cells[other] = cells[other], cells[number]
        case 3:
            cells[number] = msgspec.structs.replace(cell, state=int(rng.integers(len(proof.spec) + 1)))
        case _:
            follows = msgspec.UNSET if isinstance(cell.follows, int) else other
            bounds = {} if rng.random() < 0.5 else {"lower": (), "upper": ()}
            cells[number] = msgspec.structs.replace(cell, follows=follows, **bounds)
    return msgspec.structs.replace(proof, cells=tuple(cells))


def the_specification(proof: Certificate, rng: Rng) -> Certificate:
    """Another answer, transition, first state, or states whose words do not count."""
    spec = proof.spec
    table, accepting, initial = spec.transitions.copy(), spec.accepting.copy(), spec.initial
    state = int(rng.integers(len(spec)))
    ignored = proof.ignored
    match rng.integers(4):
        case 0:
            accepting[state] = not accepting[state]
        case 1:
            table[state, rng.integers(table.shape[1])] = rng.integers(len(spec))
        case 2:
            initial = state
        case _:
            ignored = (state,)
    return msgspec.structs.replace(proof, spec=DFA(spec.alphabet, table, accepting, initial), ignored=ignored)


def the_claim(proof: Certificate, rng: Rng) -> Certificate:
    """Another relation, alphabet, arithmetic, answer to the empty word, or what it leaves out."""
    parts: list[dict[str, Any]] = [
        {"relation": rng.choice(np.array(list(Relation), dtype=object))},
        {"alphabet": Alphabet(rng.permutation(list(proof.alphabet)).tolist())},
        {"arithmetic": Arithmetic(*rng.choice([0.0, 2.0**-53, 2.0**-24, 8.0], size=3).tolist())},
        {"accepts_empty": not proof.accepts_empty},
        {"left": (int(rng.integers(len(proof.cells))),), "undecided": ()},
        {"left": (), "undecided": ()},
        {"network": msgspec.structs.replace(proof.network, sha256="0" * 64)},
    ]
    return msgspec.structs.replace(proof, **parts[int(rng.integers(len(parts)))])


def another_network(network: RecurrentNetwork, rng: Rng) -> RecurrentNetwork:
    """Another threshold, weight, bias, head or letter's vector."""
    amount = np.float32(rng.choice([-1, 1]) * 10.0 ** rng.uniform(-4, 2))
    layer = network.layers[-1]
    match rng.integers(5):
        case 0:
            return dataclasses.replace(network, threshold=float(rng.uniform(0.001, 0.999)))
        case 1:
            return dataclasses.replace(network, head_bias=network.head_bias + amount)
        case 2:
            return dataclasses.replace(network, head_weight=-network.head_weight)
        case 3:
            inputs = network.inputs.copy()
            inputs[rng.integers(len(inputs))] *= amount
            return dataclasses.replace(network, inputs=inputs)
        case _:
            weight = layer.recurrent_weight.copy()
            weight[rng.integers(weight.shape[0]), rng.integers(weight.shape[1])] += amount
            layers = (*network.layers[:-1], dataclasses.replace(layer, recurrent_weight=weight))
            return dataclasses.replace(network, layers=layers)


ATTACKS: dict[str, Callable[[Certificate, Rng], Certificate]] = {
    "a bound": a_bound,
    "a box": a_box,
    "all boxes": all_boxes,
    "a successor": a_successor,
    "the classes": the_classes,
    "the specification": the_specification,
    "the claim": the_claim,
}


def altered(proof: Certificate, network: RecurrentNetwork, rng: Rng) -> tuple[str, Attack]:
    """An attack: one change, or several, sealed with the digest that belongs to it; perhaps about another network."""
    names = [str(name) for name in rng.choice(list(ATTACKS), size=int(rng.choice([1, 1, 1, 2, 3])))]
    if rng.random() < 0.25:
        network = another_network(network, rng)
        proof = msgspec.structs.replace(proof, network=msgspec.structs.replace(proof.network, sha256=network.sha256()))
        names = ["the network"] if rng.random() < 0.7 else ["the network", *names]
    for name in names:
        if name in ATTACKS:
            proof = ATTACKS[name](proof, rng)
    return names[0], (proof.sealed(), network)


def is_true(proof: Certificate, network: RecurrentNetwork, longest: int) -> bool:
    """Whether the claim holds on all words up to a length, by the engine and a plain walk through the specification."""
    words = all_words(len(proof.alphabet), longest)
    answers = CompiledNetwork(network).accepts_batch(words)
    for word, answer in zip(words, answers.tolist(), strict=True):
        state = proof.spec.initial
        for letter in word:
            state = int(proof.spec.transitions[state, letter])
        meant = bool(proof.spec.accepting[state])
        wrong = {"equal": answer != meant, "subset": answer and not meant, "superset": meant and not answer}
        if state not in proof.ignored and wrong[proof.relation.value]:
            return False
    return True


def keeps_its_boxes(proof: Certificate, network: RecurrentNetwork, rng: Rng, count: int = 20) -> bool:
    """Whether random states and corners of every box lead into the boxes that they must, by the reference step."""
    for cell in proof.cells:
        if isinstance(cell.follows, int):
            continue
        low, high = np.array(cell.lower), np.array(cell.upper)
        share = rng.random((count, len(low)))
        states = low + np.where(rng.random(share.shape) < 0.6, np.round(share), share) * (high - low)
        for letter, goal in enumerate(cell.successors):
            if goal is None or isinstance(proof.cells[goal].follows, int):
                continue
            after = reference_step(network, states, np.full(count, letter))
            box = np.array(proof.cells[goal].lower), np.array(proof.cells[goal].upper)
            if not ((box[0] <= after) & (after <= box[1])).all():
                return False
    return True
