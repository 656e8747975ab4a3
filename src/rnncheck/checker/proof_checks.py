"""Check a proof again: one step of every letter from every box, and every decision, with separate intervals."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from rnncheck.automata.dfa import DFA
from rnncheck.checker.checked_network import CheckedNetwork
from rnncheck.checker.checks import Check, Status, confirmed, confirmed_if, left_open, refuted, unchecked
from rnncheck.checker.claimed_document import Claims
from rnncheck.checker.drawn_words import document_distribution
from rnncheck.checker.induction_steps import check_induction, required_answer
from rnncheck.checker.model_checks import other_model
from rnncheck.checker.outward import Interval
from rnncheck.checker.product_table import Table, may_violate
from rnncheck.checker.word_tree import Reach
from rnncheck.errors import FormatError, InputError, ModelError, short_repr
from rnncheck.models.labelled import network_of
from rnncheck.models.network import RecurrentNetwork
from rnncheck.models.protocol import Model
from rnncheck.verdict.certificate import ASSUMED, Certificate, ProofCell
from rnncheck.words import Word, format_word

# The arithmetic that this code checks proofs for; a certificate that assumes another one is rejected.
KNOWN_ARITHMETIC = ASSUMED
_FIRST = 0
Bounds = npt.NDArray[Any]
_ROUNDING = 1e-9
_DEEPEST = 32  # classes that follow each other: the work grows with the square


def check_same_network(proof: Certificate, model: Model) -> None:
    """Raise InputError where an intact certificate names another network: it says nothing about this one."""
    try:
        found = network_of(model).sha256()
    except ModelError:  # the checks report what is wrong with it
        return
    if found != proof.network.sha256 and proof.sealed().sha256 == proof.sha256:
        raise InputError(other_model("proof", proof.network.sha256, found))


def check_proof(certificate: Certificate, model: Model | None = None) -> Iterator[Check]:
    """Check every claim of a certificate; without the network, whether it is well formed."""
    yield from _checks(certificate, model)
    if certificate.of_a_part:
        where = f"{len(certificate.left or ())} classes, or end in one of {len(certificate.undecided or ())} others"
        why = f"words that pass one of {where}, are not proved; the verdict (--json) says how probable they are"
        yield left_open("unproved words", why)


def check_named_proof(
    claims: Claims, model: Model | None, proof: Certificate | None, words_like: Sequence[Word] | None
) -> Iterator[Check]:
    """Check the certificate that a verdict rests on, and that it is about what the verdict says."""
    invariant = None if claims.guarantee is None else claims.guarantee.invariant
    if invariant is None or claims.spec is None or not claims.guarantee:
        return
    if proof is None:
        where = "" if invariant.certificate is None else f" {short_repr(invariant.certificate, 200)},"
        digest = short_repr(invariant.sha256, 80)
        yield left_open(
            "proof",
            f"its boxes are in the certificate{where} with the sha256 {digest}; give it with --certificate FILE",
        )
        return
    named = proof.sha256 == invariant.sha256
    yield confirmed_if("proof", named, f"the certificate is {'' if named else 'not '}the one that is named")
    same = proof.relation.value == claims.relation and proof.alphabet == claims.verdict.alphabet
    try:
        same = same and _same_question(_specification_table(proof), claims.spec, claims.relation)
    except FormatError:
        same = False
    yield confirmed_if(
        "proof: question", same, f"it is about {'the same' if same else 'another'} relation and specification"
    )
    if model is not None and not model.covers_reference and not invariant.about:
        yield refuted("proof: about", "it claims to be about the module, and only the weights read from it are proved")
    for check in _checks(proof, model):
        yield dataclasses.replace(check, name=f"proof: {check.name}")
    if invariant.unproved is None:
        left = "some words" if proof.of_a_part else "no word"
        yield confirmed_if("proof: of every word", not proof.of_a_part, f"the certificate leaves {left} unproved")
    elif same and _malformed(proof) is None:
        yield _unproved(claims, proof, invariant.unproved, words_like)


def _unproved(claims: Claims, proof: Certificate, claimed: float, words_like: Sequence[Word] | None) -> Check:
    """Whether the words that the certificate leaves unproved have at most the claimed probability."""
    words = document_distribution(claims, words_like)
    if isinstance(words, Check):
        return dataclasses.replace(words, name="unproved words")
    spec, left, classes = _specification_table(proof), proof.left or (), len(proof.cells)
    beyond = [[classes + state for state in row] for row in spec.rows]  # words that have passed a class left open
    rows = [
        [
            beyond[cell.state][letter] if successor is None or successor in left else successor
            for letter, successor in enumerate(cell.successors)
        ]
        for cell in proof.cells
    ]
    ends = [number in (proof.undecided or ()) for number in range(classes)]
    ends += [spec.may_violate(proof.relation.value, state) for state in range(len(spec))]
    mass = words.mass(DFA(proof.alphabet, rows + beyond, ends, _FIRST))
    seen = f"a random word is one of them with probability {mass:.6g}; {claimed:.6g} is claimed"
    return confirmed_if("unproved words", claimed >= mass * (1.0 - _ROUNDING), seen)


def _same_question(one: Table, other: Table, relation: str) -> bool:
    """Whether the same answers to the same words would be violations of both."""
    waiting = [(one.initial, other.initial)]
    seen = set(waiting)
    while waiting:
        a, b = waiting.pop()
        checked = one.may_violate(relation, a)
        if checked != other.may_violate(relation, b) or (checked and (a in one.accepting) != (b in other.accepting)):
            return False
        found = set(zip(one.rows[a], other.rows[b], strict=True)) - seen
        seen |= found
        waiting += found
    return True


def _checks(proof: Certificate, model: Model | None) -> Iterator[Check]:
    whole = proof.sealed().sha256 == proof.sha256
    yield confirmed_if("document", whole, f"its digest is {'right' if whole else 'that of another document'}")
    fits = proof.arithmetic == KNOWN_ARITHMETIC
    yield confirmed_if("arithmetic", fits, proof.arithmetic.sentence() if fits else f"unknown: {proof.arithmetic}")
    problem = _malformed(proof)
    yield confirmed_if(
        "classes", problem is None, problem or f"{len(proof.cells)} classes contain every word that matters"
    )
    if proof.ignored:
        yield unchecked("assumption", f"words that lead to {len(proof.ignored)} of its states do not count")
    if proof.origin is not None:
        yield unchecked("specification text", f"whether the automaton is what {proof.origin!r} means")
    if model is None:
        yield left_open("network", "the boxes were not stepped; give --model")
        return
    try:
        network = network_of(model)
    except ModelError as error:
        yield refuted("network", str(error))
        return
    same = network.sha256() == proof.network.sha256 and network.alphabet == proof.alphabet
    yield confirmed_if("network", same, f"{'' if same else 'not '}the network that the proof is about")
    if not model.covers_reference:
        yield confirmed(
            "about", "it is proved for the weights read from the module; its code may compute something else"
        )
    yield _empty_word(proof, model)
    if problem is not None or not same or not fits:
        return  # the boxes are about another network, or malformed
    yield from _invariant(proof, network)


def _malformed(proof: Certificate) -> str | None:
    """Why the classes are not a partition of the words; None where they are."""
    try:
        spec = _specification_table(proof)
    except FormatError as error:
        return error.problem
    if not proof.cells or proof.cells[_FIRST].state != spec.initial:
        return "the first class is not that of the empty word"
    can_follow = np.isfinite(Reach.of(spec, proof.relation.value).distance)
    width, left, unsure = len(proof.cells[_FIRST].lower), proof.left or (), proof.undecided or ()
    if not all(_FIRST < number < len(proof.cells) for number in (*left, *unsure)) or set(left) & set(unsure):
        return "a class left open or undecided does not exist, is both, or is that of the empty word"
    for number, cell in enumerate(proof.cells):
        if cell.state >= len(spec) or len(cell.successors) != len(proof.alphabet):
            return f"class {number} has no such state, or not a successor for each letter"
        if number in left:
            if cell.lower or cell.upper or any(successor is not None for successor in cell.successors):
                return f"class {number} is left open, and has bounds or successors"
            continue
        if (problem := _bad_bounds(cell, width)) is not None:
            return f"class {number} {problem}"
        for letter, successor in enumerate(cell.successors):
            state = spec.rows[cell.state][letter]
            if successor is None and can_follow[state]:
                return f"class {number} has no successor under {proof.alphabet[letter]}, and a violation can follow"
            if successor is not None and not 0 < successor < len(proof.cells):
                return f"class {number} has the successor {successor}, which does not exist"
            if successor is not None and proof.cells[successor].state != state:
                return f"class {number} has the successor {successor}, which is of another state of the specification"
    return _bad_following(proof)


def _bad_bounds(cell: ProofCell, width: int) -> str | None:
    if cell.follows is not msgspec.UNSET:
        return "follows another, and has bounds" if cell.lower or cell.upper else None
    if len(cell.lower) != width or len(cell.upper) != width:
        return "has another number of bounds than the others"
    low, high = np.array(cell.lower), np.array(cell.upper)
    if not (np.isfinite(low) & np.isfinite(high) & (low <= high)).all():
        return "has a box without a point, or without an end"
    return None


def _bad_following(proof: Certificate) -> str | None:
    """What is wrong with a class that follows another: it must be the successor of that earlier class alone."""
    follows = {number: cell.follows for number, cell in enumerate(proof.cells) if cell.follows is not msgspec.UNSET}
    if follows and proof.of_a_part:
        return "only proofs of every word have classes that follow others, and this proof is partial"
    leading: dict[int, list[int]] = {number: [] for number in follows}
    for number, cell in enumerate(proof.cells):
        for successor in cell.successors:
            if successor in leading:
                leading[successor].append(number)
    depth: dict[int, int] = {}
    for number, parent in follows.items():
        if leading[number] != [parent] or not parent < number:
            return f"class {number} follows {parent}, and is not the successor of that class alone, by one letter"
        depth[number] = depth.get(parent, 0) + 1
        if depth[number] > _DEEPEST:
            return f"class {number} follows another that follows another, more than {_DEEPEST} times"
    return None


def _specification_table(proof: Certificate) -> Table:
    """The specification, with the words ignored that do not count."""
    table = Table.of(proof.spec, None, proof.alphabet, "specification")
    if any(state >= len(table) for state in proof.ignored):
        raise FormatError("it ignores a state that it does not have", "specification")
    return dataclasses.replace(table, ignored=frozenset(proof.ignored))


def _empty_word(proof: Certificate, model: Model) -> Check:
    accepted = model.reference_answer(())
    state = proof.spec.initial
    checked = state not in proof.ignored and may_violate(proof.relation.value, bool(proof.spec.accepting[state]))
    correct = accepted == proof.accepts_empty and (accepted == proof.spec.accepting[state] or not checked)
    return confirmed_if("empty word", correct, f"the network {'accepts' if accepted else 'rejects'} it")


def _invariant(proof: Certificate, network: RecurrentNetwork) -> Iterator[Check]:
    stepper = CheckedNetwork(network, proof.arithmetic)
    nothing = (0.0,) * len(proof.cells[_FIRST].lower)  # in place of missing bounds
    low, high = (np.array([getattr(cell, end) or nothing for cell in proof.cells]) for end in ("lower", "upper"))
    if low.shape[1] != stepper.width:
        yield refuted("boxes", f"they bound {low.shape[1]} numbers, and a state of the network has {stepper.width}")
        return
    if low[_FIRST].any() or high[_FIRST].any():
        yield refuted("boxes", "the first box is not the initial state")
        return
    yield from cell_equations(stepper)
    yield _led_into_boxes(proof, stepper, low, high)
    yield _decided(proof, stepper, Interval(low, high))


def cell_equations(stepper: CheckedNetwork) -> Iterator[Check]:
    """What is known of equations that the cell type has and the checker has not."""
    if stepper.has_own_equations:
        return
    name = f"the equations of {stepper.cell}"
    if stepper.reference_agrees():
        yield unchecked("equations", f"{name} are those that the prover used; the reference step agrees at some states")
    else:
        yield refuted("equations", f"{name} contradict the cell's reference step; correct its step_on")


def _led_into_boxes(proof: Certificate, stepper: CheckedNetwork, low: Bounds, high: Bounds) -> Check:
    """By intervals where they are enough, which is fast and simple; zonotopes are narrower, also after one letter."""
    if any(cell.follows is not msgspec.UNSET for cell in proof.cells):
        return check_induction(proof, stepper, low, high)
    by_intervals = _closed(proof, stepper, low, high)
    if by_intervals.status is Status.CONFIRMED or proof.of_a_part:
        return by_intervals
    by_zonotopes = check_induction(proof, stepper, low, high)
    return by_zonotopes if by_zonotopes.status is Status.CONFIRMED else by_intervals


def _closed(proof: Certificate, stepper: CheckedNetwork, low: Bounds, high: Bounds) -> Check:
    left = frozenset(proof.left or ())
    with np.errstate(all="ignore"):
        prepared = stepper.prepare(Interval(low, high))
        for letter, name in enumerate(proof.alphabet):
            after = stepper.step(prepared, letter)
            goals = [cell.successors[letter] for cell in proof.cells]
            bound = [(begin, goal) for begin, goal in enumerate(goals) if goal is not None and goal not in left]
            begun, ended = [begin for begin, _ in bound], [goal for _, goal in bound]
            out = ~after[begun].inside(low[ended], high[ended]).all(axis=1)
            if out.any():
                number = begun[int(out.argmax())]
                words = f"after words that end in {format_word(proof.cells[number].letters)}"
                return refuted("boxes", f"{name} leads from box {number} ({words}) out of box {goals[number]}")
    return confirmed("boxes", f"every letter leads from each of the {len(proof.cells)} boxes into its successor")


def _decided(proof: Certificate, stepper: CheckedNetwork, boxes: Interval) -> Check:
    accepted, rejected = stepper.decisions(boxes)
    unclaimed = {*(proof.left or ()), *(proof.undecided or ())}
    for number, cell in enumerate(proof.cells[1:], start=1):
        if number in unclaimed or cell.follows is not msgspec.UNSET:
            continue
        meant = required_answer(proof, cell)
        if meant is not None and not (accepted if meant else rejected)[number]:
            return refuted(
                "decisions", f"the network may {'reject' if meant else 'accept'} in box {number}, and must not"
            )
    part = f", but for {len(unclaimed)} classes without a claim" if unclaimed else ""
    return confirmed("decisions", f"no box reaches the decision where a violation could be seen{part}")
