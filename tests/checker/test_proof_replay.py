"""A certificate is confirmed where it is a proof, and every changed one is refused."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import msgspec
import numpy as np
import pytest

from rnncheck.automata.dfa import DFA
from rnncheck.checker import Replay, Status, replay
from rnncheck.checker.outward import Evaluator, Interval, down, linear, of_products, up
from rnncheck.errors import FormatError, InputError
from rnncheck.models.adapters import DFAModel
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.network import Cell, Layer, RecurrentNetwork
from rnncheck.proofs.certifying import certificate_of
from rnncheck.proofs.proof_search import Invariant, ProofSettings, find_invariant
from rnncheck.relations import Property, Relation
from rnncheck.spec import Spec
from rnncheck.verdict.certificate import Arithmetic, Certificate, is_certificate
from support.networks import ByTorch
from support.proofs import engine_step, points_in, torch_step
from support.robust_networks import robust_network
from support.rotating_network import rotating_network

RESPONSE = Spec.from_ltlf("G(a -> F b)", ["a", "b", "c"]).dfa
CELLS = [Cell.RNN_TANH, Cell.GRU, Cell.LSTM]


def proof_of(network: RecurrentNetwork, spec: DFA, relation: Relation = Relation.EQUAL) -> Certificate:
    found = find_invariant(network, Property(spec, relation))
    assert isinstance(found, Invariant)
    model = CompiledNetwork(network)
    return certificate_of(found, network, Property(spec, relation), model.accepts_empty)


def refuted(result: Replay) -> set[str]:
    return {check.name for check in result.having(Status.REFUTED)}


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize(("layers", "labels"), [(1, 1), (2, 3)])
@pytest.mark.parametrize("relation", list(Relation))
def test_a_proof_is_confirmed(cell: Cell, layers: int, labels: int, relation: Relation) -> None:
    network = robust_network(RESPONSE, cell, layers=layers, labels=labels, gain=4.0)
    proof = proof_of(network, RESPONSE, relation)
    text = proof.to_json()
    assert is_certificate(text.encode())
    assert Certificate.from_json(text) == proof
    result = replay(text, CompiledNetwork(network))
    assert result.status is Status.CONFIRMED, result
    assert result.sentence() == "the proof stands; claims that were checked and hold: 7"
    assert replay(text).status is Status.OPEN


def changed(proof: Certificate, **parts: Any) -> Certificate:
    """Another certificate, with the digest that belongs to it: nothing but its content can give it away."""
    return msgspec.structs.replace(proof, **parts).sealed()


def with_cell(proof: Certificate, number: int, **parts: Any) -> Certificate:
    cells = list(proof.cells)
    cells[number] = msgspec.structs.replace(cells[number], **parts)
    return changed(proof, cells=tuple(cells))


@pytest.mark.parametrize("cell", CELLS)
def test_a_box_made_smaller_is_refused(cell: Cell) -> None:
    network = robust_network(RESPONSE, cell, gain=3.0)
    model, proof = CompiledNetwork(network), proof_of(robust_network(RESPONSE, cell, gain=3.0), RESPONSE)
    for number in range(1, len(proof.cells)):
        lower, upper = np.array(proof.cells[number].lower), np.array(proof.cells[number].upper)
        middle = (lower + upper) / 2
        for parts in ({"lower": tuple(middle.tolist())}, {"upper": tuple(middle.tolist())}):
            assert "boxes" in refuted(replay(with_cell(proof, number, **parts), model))


def test_a_box_made_larger_is_refused_where_it_reaches_the_decision() -> None:
    network = robust_network(RESPONSE)
    proof = proof_of(network, RESPONSE)
    for number in range(1, len(proof.cells)):
        width = len(proof.cells[number].lower)
        grown = with_cell(proof, number, lower=(-1.1,) * width, upper=(1.1,) * width)
        assert refuted(replay(grown, CompiledNetwork(network))) & {"boxes", "decisions"}


def flipped(spec: DFA) -> DFA:
    return DFA(spec.alphabet, spec.transitions, ~spec.accepting, spec.initial)


MUTATIONS: dict[str, Callable[[Certificate], Certificate]] = {
    "another specification": lambda proof: changed(proof, spec=flipped(proof.spec)),
    "another initial state": lambda proof: changed(
        proof, spec=DFA(proof.spec.alphabet, proof.spec.transitions, proof.spec.accepting, 1 - proof.spec.initial)
    ),
    "other transitions": lambda proof: changed(
        proof, spec=DFA(proof.spec.alphabet, proof.spec.transitions[::-1], proof.spec.accepting, proof.spec.initial)
    ),
    "letters in another order": lambda proof: changed(proof, alphabet=type(proof.alphabet)(["b", "a", "c"])),
    "another answer to the empty word": lambda proof: changed(proof, accepts_empty=not proof.accepts_empty),
    "an exact tanh": lambda proof: changed(proof, arithmetic=Arithmetic(2.0**-24, 0.0, 8.0)),
    "double precision": lambda proof: changed(proof, arithmetic=Arithmetic(2.0**-53, 8.0, 8.0)),
    "no classes": lambda proof: changed(proof, cells=()),
    "the last class gone": lambda proof: changed(proof, cells=proof.cells[:-1]),
    "a class twice": lambda proof: changed(proof, cells=(proof.cells[1], *proof.cells)),
    "a letter without a successor": lambda proof: with_cell(
        proof, 1, successors=(None, *proof.cells[1].successors[1:])
    ),
    "a letter too few": lambda proof: with_cell(proof, 1, successors=proof.cells[1].successors[1:]),
    "back to the beginning": lambda proof: with_cell(proof, 1, successors=(0, *proof.cells[1].successors[1:])),
    "a successor that is none": lambda proof: with_cell(proof, 1, successors=(99, *proof.cells[1].successors[1:])),
    "a class of another state": lambda proof: with_cell(proof, 1, state=1 - proof.cells[1].state),
    "a state that is none": lambda proof: with_cell(proof, 1, state=7),
    "bounds exchanged": lambda proof: with_cell(proof, 1, lower=proof.cells[1].upper, upper=proof.cells[1].lower),
    "bounds without an end": lambda proof: with_cell(proof, 1, upper=(float("inf"),) * len(proof.cells[1].upper)),
    "bounds that are no numbers": lambda proof: with_cell(proof, 1, upper=(float("nan"),) * len(proof.cells[1].upper)),
    "a bound too few": lambda proof: with_cell(proof, 1, upper=proof.cells[1].upper[1:]),
    "another beginning": lambda proof: with_cell(proof, 0, upper=(0.5,) * len(proof.cells[0].upper)),
    "all boxes too narrow": lambda proof: changed(
        proof,
        cells=tuple(
            msgspec.structs.replace(each, lower=each.lower[1:], upper=each.upper[1:]) for each in proof.cells
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTATIONS)
@pytest.mark.parametrize("relation", [Relation.EQUAL, Relation.SUBSET])
def test_a_changed_certificate_is_refused(name: str, relation: Relation) -> None:
    network = robust_network(RESPONSE, gain=3.0)
    proof = MUTATIONS[name](proof_of(network, RESPONSE, relation))
    result = replay(proof, CompiledNetwork(network))
    assert result.status is Status.REFUTED
    assert "document" not in refuted(result)


@pytest.mark.parametrize("part", ["threshold", "weight", "head", "bias", "label"])
def test_a_changed_network_is_refused(part: str) -> None:
    network = robust_network(RESPONSE, labels=2 if part == "label" else 1)
    proof = proof_of(network, RESPONSE)
    if part == "threshold":
        other = dataclasses.replace(network, threshold=0.5000001)
    elif part == "label":
        other = dataclasses.replace(network, label=0)
    elif part == "weight":
        weight = network.layers[0].recurrent_weight.copy()
        weight[0, 0] = np.nextafter(weight[0, 0], np.float32(9))
        other = dataclasses.replace(network, layers=(dataclasses.replace(network.layers[0], recurrent_weight=weight),))
    else:
        name = {"head": "head_weight", "bias": "head_bias"}[part]
        other = dataclasses.replace(network, **{name: getattr(network, name) + np.float32(1e-3)})
    with pytest.raises(InputError, match=f"{network.sha256()}.*{other.sha256()}"):
        replay(proof, CompiledNetwork(other))
    # Even under the digest of the other network, what it computes has to fit.
    if part in ("head", "weight", "bias"):
        return
    forged = changed(proof, network=msgspec.structs.replace(proof.network, sha256=other.sha256()))
    assert (part == "threshold") == (replay(forged, CompiledNetwork(other)).status is Status.CONFIRMED)


def test_every_changed_number_or_digit_of_the_document_is_noticed() -> None:
    """Without a new digest: whatever is changed in the file, it is no certificate or not this one."""
    network = robust_network(RESPONSE)
    model, text = CompiledNetwork(network), proof_of(network, RESPONSE).to_json()
    rng = np.random.default_rng(0)
    for place in rng.choice(len(text), 150, replace=False).tolist():
        for sign in "07x":
            if text[place] == sign:
                continue
            other = text[:place] + sign + text[place + 1 :]
            try:
                if json.loads(other) == json.loads(text):
                    continue
                assert replay(other, model).status is Status.REFUTED, (place, text[place], sign)
            except (FormatError, json.JSONDecodeError):
                pass


def test_what_is_no_network_is_refused_and_what_is_no_certificate_is_an_error() -> None:
    proof = proof_of(robust_network(RESPONSE), RESPONSE)
    assert refuted(replay(proof, DFAModel(RESPONSE))) == {"network"}
    for text in ("", "{}", "[]", '{"schema":"rnncheck/proof/2"}', "nonsense"):
        with pytest.raises(FormatError, match="not a certificate"):
            Certificate.from_json(text)


@pytest.mark.parametrize("cell", CELLS)
def test_the_checkers_intervals_contain_what_is_computed(cell: Cell) -> None:
    """The checker by itself: random states in boxes of any size, stepped by the engine and by PyTorch."""
    from rnncheck.checker.checked_network import CheckedNetwork
    from rnncheck.proofs.domains.interval import Interval as ProofInterval
    from support.networks import random_network

    for seed in range(4):
        network = random_network(cell, (5, 5) if seed % 2 else (6,), seed=seed, scale=[0.5, 2.0, 8.0, 1.0][seed])
        checker = CheckedNetwork(network, Arithmetic(2.0**-24, 8.0, 8.0))
        rng = np.random.default_rng(seed)
        middle = rng.uniform(-1, 1, size=(20, checker.width))
        radius = rng.choice([0.0, 1e-6, 0.1, 1.0], size=(20, 1))
        low, high = middle - radius, middle + radius
        points = points_in(ProofInterval(low, high), rng, 30).reshape(-1, checker.width)
        for letter in range(3):
            after = checker.step(checker.prepare(Interval(low, high)), letter)
            lows, highs = (np.repeat(end, 30, axis=0) for end in (after.low, after.high))
            judge = ByTorch(network)
            for found in (*(engine_step(network, points, letter, dtype)[0] for dtype in (np.float32, np.float64)),
                          torch_step(judge, points, letter)):  # fmt: skip
                moving = np.repeat(radius[:, 0] > 0, 30)  # a point of float64 is rounded before float32 reads it
                assert ((lows <= found) & (found <= highs))[moving].all()


def test_directed_arithmetic_contains_exact_arithmetic() -> None:
    rng = np.random.default_rng(1)
    by = Evaluator(2.0**-24, 8.0, 8.0)
    for _ in range(100):
        low = rng.normal(size=(1, 6)) * 10.0 ** rng.integers(-8, 8)
        x = Interval(low, low + np.abs(rng.normal(size=(1, 6))) * rng.choice([0.0, 1e-9, 1.0]))
        weight, bias = rng.normal(size=(2, 6)), rng.normal(size=2)
        total = linear(weight, bias, x)
        for end in (x.low[0], x.high[0]):
            for row in range(2):
                exact = sum(
                    (Fraction(w) * Fraction(v) for w, v in zip(weight[row], end, strict=True)), Fraction(bias[row])
                )
                assert Fraction(total.exact.low[0, row]) <= exact <= Fraction(total.exact.high[0, row])
        both = of_products((x, x), (x, Interval(np.ones((1, 6)), np.ones((1, 6)))))
        for end in (x.low[0], x.high[0]):
            for column, value in enumerate(end):
                exact = Fraction(value) ** 2 + Fraction(value)
                assert Fraction(both.exact.low[0, column]) <= exact <= Fraction(both.exact.high[0, column])
    values = np.concatenate([rng.normal(size=200) * 10.0 ** rng.integers(-5, 3, size=200), [0.0, 800.0, -800.0]])
    points = Interval(values, values)
    slack = 8 * 2.0**-24
    with mpmath.workprec(120):
        for place, value in enumerate(values):
            exact = mpmath.tanh(mpmath.mpf(value))
            assert by.tanh(points).low[place] <= exact - slack
            assert exact + slack <= by.tanh(points).high[place]
            exact = 1 / (1 + mpmath.exp(-mpmath.mpf(value)))
            assert by.sigmoid(points).low[place] <= exact - slack
            assert exact + slack <= by.sigmoid(points).high[place]
    huge = Interval(np.full((1, 2), 1e38), np.full((1, 2), 1e38))
    assert np.isnan(by.rounded(linear(np.ones((1, 2)), None, huge)).low).all()
    zero = Interval(np.zeros((1, 2)), np.zeros((1, 2)))
    assert np.isnan(by.rounded(linear(np.full((1, 2), 1e300), None, zero)).low).all()


def test_numbers_are_rounded_outwards_by_a_digit_at_least() -> None:
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, 0x7FEF_FFFF_FFFF_FFFF, size=20_000).view(np.float64)  # of every size
    powers = 2.0 ** np.arange(-1074, 1023)
    numbers = np.concatenate([drawn, -drawn, powers, -powers, [0.0, -0.0, 1.0, -1.0, 5e-324, 2.2250738585072e-308]])
    beyond, below = up(numbers), down(numbers)
    assert (beyond >= np.nextafter(numbers, np.inf)).all()
    assert (below <= np.nextafter(numbers, -np.inf)).all()
    assert (beyond - numbers <= np.abs(numbers) * 2.0**-51 + 2.0**-1021).all()
    with np.errstate(invalid="ignore"):
        assert not (up([-np.inf, np.nan]) < np.inf).any()


@pytest.mark.parametrize("kind", ["plain", "cancelling", "tiny", "of all sizes", "points"])
def test_products_with_weights_contain_exact_arithmetic(kind: str) -> None:
    """All roundings of a long sum are bounded at once: no less than exact arithmetic, and hardly more."""
    rng = np.random.default_rng(2)
    for columns in (1, 7, 300):
        weight, bias = rng.normal(size=(3, columns)), rng.normal(size=3)
        low = rng.normal(size=(4, columns))
        high = low + np.abs(rng.normal(size=low.shape)) * rng.choice([0.0, 1e-15, 1e-6, 1.0], size=low.shape)
        match kind:
            case "cancelling":
                weight[:, 1::2] = -weight[:, : columns // 2 * 2 : 2]
                low[:, 1::2], high[:, 1::2] = (end[:, : columns // 2 * 2 : 2] for end in (low, high))
            case "tiny":  # products of these are no float64 numbers any more
                low, high, weight, bias = low * 1e-300, high * 1e-300, weight * 1e-15, 0.0 * bias
            case "of all sizes":
                factors = 10.0 ** rng.integers(-20, 20, size=columns)
                low, high = low * factors, high * factors
            case "points":
                high = low
        total = linear(weight, bias, Interval(low, high))
        for row, column in np.ndindex(total.sizes.shape):
            terms = [
                sorted((Fraction(w) * Fraction(a), Fraction(w) * Fraction(b)))
                for w, a, b in zip(weight[column], low[row], high[row], strict=True)
            ]
            offset = Fraction(float(bias[column]))
            least, most = (sum((term[end] for term in terms), offset) for end in (0, 1))
            sizes = sum((max(abs(a), abs(b)) for a, b in terms), abs(offset))
            found = [Fraction(float(end[row, column])) for end in (total.exact.low, total.exact.high, total.sizes)]
            beyond = (least - found[0], found[1] - most, found[2] - sizes)
            assert min(beyond) >= 0
            assert max(beyond) <= sizes * Fraction(1e-12) + Fraction(1e-290)


def test_the_checker_shares_nothing_with_the_prover() -> None:
    import ast

    from support.paths import ROOT

    modules = sorted((ROOT / "src/rnncheck/checker").glob("*.py"))
    assert len(modules) > 10
    for path in modules:
        tree = ast.parse(path.read_text())
        imported = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not [module for module in imported if module.startswith("rnncheck.proofs")], path


def followed_proof() -> tuple[RecurrentNetwork, Certificate]:
    network = rotating_network()
    proof = proof_of(network, DFA(network.alphabet, [[0, 0]], [True]))
    assert any(cell.follows is not msgspec.UNSET for cell in proof.cells)
    return network, proof


@pytest.mark.parametrize("labels", [1, 3])
def test_a_proof_by_induction_is_confirmed(labels: int) -> None:
    network = rotating_network(labels=labels)
    proof = proof_of(network, DFA(network.alphabet, [[0, 0]], [True]))
    assert Certificate.from_json(proof.to_json()) == proof
    assert proof.boxes < len(proof.cells)
    result = replay(proof.to_json(), CompiledNetwork(network))
    assert result.status is Status.CONFIRMED, result
    assert "into others in 4 letters" in str(result)


def cancelling_network() -> RecurrentNetwork:
    """Two units of the first layer are always alike, and the second layer reads their difference: nothing."""
    from support.networks import letters

    first = Layer(np.ones((2, 1), np.float32), np.array([[0.5, 0.0], [0.5, 0.0]], np.float32))
    second = Layer(np.array([[4.0, -4.0]], np.float32), np.array([[0.5]], np.float32))
    inputs = np.array([[0.5], [-0.5]], np.float32)
    head = np.array([[-1.0]], np.float32), np.array([0.3], np.float32)
    return RecurrentNetwork(letters(2), Cell.RNN_TANH, inputs, (first, second), *head)


def test_what_cancels_within_a_letter_is_confirmed_by_linked_numbers() -> None:
    """No class follows another, and yet intervals are too coarse for what forms found."""
    from rnncheck.checker.checked_network import CheckedNetwork
    from rnncheck.checker.proof_checks import _closed

    network = cancelling_network()
    wanted = Property(DFA(network.alphabet, [[0, 0]], [True]), Relation.EQUAL)
    found = find_invariant(network, wanted, ProofSettings(context=0, rounds=1, induction_depth=1))
    assert isinstance(found, Invariant)
    model = CompiledNetwork(network)
    proof = certificate_of(found, network, wanted, model.accepts_empty)
    by_intervals = _closed(proof, CheckedNetwork(network, proof.arithmetic), found.boxes.lo, found.boxes.hi)
    assert by_intervals.status is Status.REFUTED
    assert replay(proof, model).status is Status.CONFIRMED
    number = next(at for at in range(1, len(proof.cells)) if found.boxes.lo[at, 0] < found.boxes.hi[at, 0])
    point = found.boxes.lo[number].tolist()
    assert refuted(replay(with_cell(proof, number, upper=tuple(point)), model)) == {"boxes"}


@pytest.mark.parametrize("edge", [0.02, 0.1, -0.4])
def test_a_proof_by_induction_of_another_network_is_refused(edge: float) -> None:
    """The same states, and an answer that changes among them; the digest is made to fit."""
    _, proof = followed_proof()
    other = rotating_network(edge)
    named = msgspec.structs.replace(proof, network=msgspec.structs.replace(proof.network, sha256=other.sha256()))
    assert refuted(replay(named.sealed(), CompiledNetwork(other))) & {"boxes", "decisions"}


def test_every_change_of_a_class_that_follows_is_refused() -> None:
    network, proof = followed_proof()
    model = CompiledNetwork(network)
    followers = [number for number, cell in enumerate(proof.cells) if cell.follows is not msgspec.UNSET]
    own = [number for number, cell in enumerate(proof.cells) if cell.follows is msgspec.UNSET]
    rng = np.random.default_rng(0)
    for _ in range(40):
        number, box, other = (int(rng.choice(among)) for among in (followers, own[1:], followers))
        cell = proof.cells[number]
        width = len(proof.cells[box].lower)
        changes: list[tuple[int, dict[str, Any]]] = [
            (number, {"follows": box if cell.follows != box else own[0]}),
            (number, {"follows": number}),
            (number, {"follows": len(proof.cells)}),
            (number, {"follows": msgspec.UNSET}),  # a box of no numbers
            (number, {"follows": msgspec.UNSET, "lower": (0.0,) * width, "upper": (0.0,) * width}),
            (number, {"lower": (-1.0,) * width, "upper": (1.0,) * width}),
            (box, {"follows": own[0], "lower": (), "upper": ()}),
            (box, {"upper": tuple((low + high) / 2 for low, high in zip(
                proof.cells[box].lower, proof.cells[box].upper, strict=True))}),
        ]  # fmt: skip
        if other not in cell.successors:  # it follows another class than this one
            changes.append((number, {"successors": (other, *cell.successors[1:])}))
        for at, change in changes:
            bad = with_cell(proof, at, **change)
            assert replay(bad, model).status is not Status.CONFIRMED, (at, change)


@pytest.mark.parametrize("linked", [False, True])
def test_a_sum_that_overflows_before_a_shut_gate_has_no_bounds(linked: bool) -> None:
    """The checker by itself, on a GRU whose reset gate multiplies what float32 cannot hold."""
    from rnncheck.checker.checked_network import CheckedNetwork
    from rnncheck.checker.checked_zonotope import Zonotope
    from support.networks import letters

    for bias, known in ((1e4, True), (1e40, False)):
        layer = Layer(np.zeros((3, 1)), np.zeros((3, 1)), np.array([-200.0, -40.0, 0.0]), np.array([0.0, 0.0, bias]))
        network = RecurrentNetwork(letters(1), Cell.GRU, np.ones((1, 1)), (layer,), np.ones((1, 1)), np.ones(1))
        checker, zero = CheckedNetwork(network, Arithmetic(2.0**-24, 8.0, 8.0)), np.zeros((1, 1))
        with np.errstate(all="ignore"):
            after = (
                checker.step_zonotopes(checker.prepare_zonotopes(Zonotope.between(zero, zero)), 0).bounds()
                if linked
                else checker.step(checker.prepare(Interval(zero, zero)), 0)
            )
        assert after.inside(np.full((1, 1), -2.0), np.full((1, 1), 2.0)).all() == known


def test_a_long_chain_of_classes_is_refused_at_once() -> None:
    """A class that follows another, and so on: the work of checking grows with the square."""
    network, proof = followed_proof()
    first = next(number for number, cell in enumerate(proof.cells) if cell.follows is not msgspec.UNSET)
    cells, last = list(proof.cells), first
    for _ in range(40):
        number = len(cells)
        kept = cells[last]
        cells[last] = msgspec.structs.replace(kept, successors=(number, *kept.successors[1:]))
        cells.append(msgspec.structs.replace(kept, follows=last, successors=proof.cells[0].successors))
        last = number
    result = replay(changed(proof, cells=tuple(cells)), CompiledNetwork(network))
    assert "classes" in refuted(result)


def test_a_part_is_not_proved_by_induction() -> None:
    network, proof = followed_proof()
    part = msgspec.structs.replace(proof, left=(), undecided=()).sealed()
    assert refuted(replay(part, CompiledNetwork(network))) == {"classes"}


@pytest.mark.parametrize("cell", [*CELLS, Cell.RNN_RELU])
def test_the_checkers_linked_numbers_contain_what_is_computed(cell: Cell) -> None:
    """Random states in boxes of any size, along words, by the engine and by PyTorch; and never the prover's code."""
    from rnncheck.checker.checked_network import CheckedNetwork
    from rnncheck.checker.checked_zonotope import Zonotope
    from rnncheck.proofs.domains.interval import Interval as ProofInterval
    from support.networks import random_network

    for seed in range(2):
        outputs = 3 if seed else 1
        network = random_network(cell, (4, 4) if seed else (6,), seed=seed, scale=[2.0, 0.7][seed], outputs=outputs)
        checker, judge = CheckedNetwork(network, Arithmetic(2.0**-24, 8.0, 8.0)), ByTorch(network)
        rng = np.random.default_rng(seed)
        middle = rng.uniform(-1, 1, size=(12, checker.width))
        radius = rng.choice([1e-6, 0.01, 0.5], size=(12, 1))
        linked = Zonotope.between(middle - radius, middle + radius)
        points = points_in(ProofInterval(middle - radius, middle + radius), rng, 20).reshape(-1, checker.width)
        walks = [points, points]
        for letter in (0, 2, 1, 2):
            linked = checker.step_zonotopes(checker.prepare_zonotopes(linked), letter)
            bounds = linked.bounds()
            low, high = (np.repeat(end, 20, axis=0) for end in (bounds.low, bounds.high))
            walks = [engine_step(network, walks[0], letter, np.float32)[0], torch_step(judge, walks[1], letter)]
            for walk in walks:
                assert ((low <= walk) & (walk <= high)).all()
            accepted, rejected = (np.repeat(side, 20) for side in checker.zonotope_decisions(linked))
            assert not (accepted & rejected).any()
            top = walks[0][:, : checker.width // (2 if cell is Cell.LSTM else 1)][:, -network.layers[-1].hidden :]
            out = top @ network.head_weight.T + network.head_bias
            says = out[:, 0] > 0 if outputs == 1 else out.argmax(axis=1) == network.label
            assert says[accepted].all()
            assert not says[rejected].any()
