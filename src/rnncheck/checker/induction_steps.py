"""Check a proof by k-induction: from every box along the classes that follow it, until all have led into boxes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rnncheck.checker.checked_network import CheckedNetwork
from rnncheck.checker.checks import Check, confirmed, refuted
from rnncheck.checker.linked_zonotope import Linked
from rnncheck.checker.product_table import can_break
from rnncheck.verdict.certificate import Certificate, ProofCell

_NUMBERS_AT_ONCE = 1 << 21  # of slopes; bounds the memory


def must_answer(proof: Certificate, cell: ProofCell) -> bool | None:
    """What the network must say after the words of a class; None where nothing it says is a violation."""
    meant = bool(proof.spec.accepting[cell.state])
    return meant if cell.state not in proof.ignored and can_break(proof.relation.value, meant) else None


def followed(proof: Certificate, stepper: CheckedNetwork, low: npt.NDArray[Any], high: npt.NDArray[Any]) -> Check:
    """Whether every class leads into boxes, by itself or by the classes that follow it."""
    boxes = [number for number, cell in enumerate(proof.cells) if not isinstance(cell.follows, int)]
    deepest = 0
    at_once = max(1, _NUMBERS_AT_ONCE // (stepper.width**2 * len(proof.alphabet)))
    with np.errstate(all="ignore"):
        for start in range(0, len(boxes), at_once):
            here = boxes[start : start + at_once]
            level = [(here, Linked.between(low[here], high[here]))]
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
                        for rows in _portions(len(part), at_once)
                    ]
                level = after
            deepest = max(deepest, depth)
    return confirmed("boxes", f"every word leads from each of the {len(boxes)} boxes into others in {deepest} letters")


def _portions(count: int, size: int) -> list[list[int]]:
    return [list(range(start, min(start + size, count))) for start in range(0, count, size)]


def _one_step(
    proof: Certificate,
    stepper: CheckedNetwork,
    numbers: list[int],
    states: Linked,
    boxes: tuple[npt.NDArray[Any], npt.NDArray[Any]],
) -> Check | list[tuple[list[int], Linked]]:
    """What every letter makes of the states of classes: the classes that follow them, with theirs."""
    prepared, onward = stepper.prepared_linked(states), []
    for letter, name in enumerate(proof.alphabet):
        after = stepper.step_linked(prepared, letter)
        bounds = after.bounds()
        accepted, rejected = stepper.decisions_linked(after)
        rows = []
        for row, number in enumerate(numbers):
            goal = proof.cells[number].successors[letter]
            if goal is None:
                continue
            if proof.cells[goal].follows == number:
                meant = must_answer(proof, proof.cells[goal])
                if meant is not None and not (accepted if meant else rejected)[row]:
                    wrong = "reject" if meant else "accept"
                    return refuted("boxes", f"{name} leads from class {number} to where the network may {wrong}")
                rows.append(row)
            elif not bounds[row].inside(boxes[0][goal], boxes[1][goal]).all():
                return refuted("boxes", f"{name} leads from class {number} out of box {goal}")
        goals = [proof.cells[numbers[row]].successors[letter] for row in rows]
        onward.append(([goal for goal in goals if goal is not None], after.rows(np.array(rows, dtype=np.int64))))
    return onward
