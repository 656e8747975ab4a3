"""Check a proof by k-induction: from every box along the classes that follow it, until all lead into boxes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rnncheck.checker.checked_network import CheckedNetwork
from rnncheck.checker.checked_zonotope import Zonotope
from rnncheck.checker.checks import Check, confirmed, refuted
from rnncheck.checker.product_table import may_violate
from rnncheck.verdict.certificate import Certificate, ProofCell

_NUMBERS_AT_ONCE = 1 << 21  # of generators; bounds the memory


def required_answer(proof: Certificate, cell: ProofCell) -> bool | None:
    """The answer that the network must give after the words of a class; None where no answer is a violation."""
    meant = bool(proof.spec.accepting[cell.state])
    return meant if cell.state not in proof.ignored and may_violate(proof.relation.value, meant) else None


def check_induction(
    proof: Certificate, stepper: CheckedNetwork, low: npt.NDArray[Any], high: npt.NDArray[Any]
) -> Check:
    """Whether every class leads into boxes, directly or through the classes that follow it."""
    boxes = [number for number, cell in enumerate(proof.cells) if not isinstance(cell.follows, int)]
    deepest = 0
    at_once = max(1, _NUMBERS_AT_ONCE // (stepper.width**2 * len(proof.alphabet)))
    with np.errstate(all="ignore"):
        for start in range(0, len(boxes), at_once):
            here = boxes[start : start + at_once]
            level = [(here, Zonotope.between(low[here], high[here]))]
            depth = 0
            while level:
                depth += 1
                after = []
                for numbers, states in level:
                    found = _one_step(proof, stepper, numbers, states, (low, high))
                    if isinstance(found, Check):
                        return found
                    after += [
                        ([part[row] for row in rows], states.rows(np.array(rows)))
                        for part, states in found
                        if part
                        for rows in _batches(len(part), at_once)
                    ]
                level = after
            deepest = max(deepest, depth)
    return confirmed("boxes", f"every word leads from each of the {len(boxes)} boxes into others in {deepest} letters")


def _batches(count: int, size: int) -> list[list[int]]:
    return [list(range(start, min(start + size, count))) for start in range(0, count, size)]


def _one_step(
    proof: Certificate,
    stepper: CheckedNetwork,
    numbers: list[int],
    states: Zonotope,
    boxes: tuple[npt.NDArray[Any], npt.NDArray[Any]],
) -> Check | list[tuple[list[int], Zonotope]]:
    """The images of the states of classes under every letter: the classes that follow them, with their states."""
    prepared, onward = stepper.prepare_zonotopes(states), []
    for letter, name in enumerate(proof.alphabet):
        after = stepper.step_zonotopes(prepared, letter)
        bounds = after.bounds()
        accepted, rejected = stepper.zonotope_decisions(after)
        rows = []
        for row, number in enumerate(numbers):
            goal = proof.cells[number].successors[letter]
            if goal is None:
                continue
            if proof.cells[goal].follows == number:
                meant = required_answer(proof, proof.cells[goal])
                if meant is not None and not (accepted if meant else rejected)[row]:
                    wrong = "reject" if meant else "accept"
                    return refuted("boxes", f"{name} leads from class {number} to where the network may {wrong}")
                rows.append(row)
            elif not bounds[row].inside(boxes[0][goal], boxes[1][goal]).all():
                return refuted("boxes", f"{name} leads from class {number} out of box {goal}")
        goals = [proof.cells[numbers[row]].successors[letter] for row in rows]
        onward.append(([goal for goal in goals if goal is not None], after.rows(np.array(rows, dtype=np.int64))))
    return onward
