"""Check a proof for all words up to a length again, with the checker's own intervals.

The document has only the length and the number of last letters that distinguish words: all boxes follow from these.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rnncheck.checker.checked_network import CheckedNetwork
from rnncheck.checker.checks import Check, confirmed_if, left_open, refuted
from rnncheck.checker.claimed_document import Claims
from rnncheck.checker.outward import Interval
from rnncheck.checker.product_table import Table
from rnncheck.checker.proof_checks import KNOWN_ARITHMETIC, cell_equations
from rnncheck.checker.word_tree import Reach
from rnncheck.errors import ModelError
from rnncheck.models.labelled import network_of
from rnncheck.models.protocol import Model
from rnncheck.words import Codes

_NAME = "proved length"


class _Class(NamedTuple):
    """Words of one length: the specification's state, its state before the last letters, and the last letters."""

    state: int
    before: int
    letters: Codes

    def after(self, letter: int, context: int, spec: Table) -> _Class:
        state, letters = spec.rows[self.state][letter], (*self.letters, letter)
        if len(letters) <= context:
            return _Class(state, self.before, letters)
        return _Class(state, spec.rows[self.before][letters[0]], letters[1:])


def check_lengths(claims: Claims, model: Model | None, steps: int) -> Iterator[Check]:
    """Whether boxes show that no word up to the length is a violation, within ``steps`` steps of a box."""
    guarantee, spec = claims.guarantee, claims.spec
    if guarantee is None or guarantee.lengths is None or guarantee.exact_length is None or spec is None:
        return
    if guarantee.lengths.arithmetic != KNOWN_ARITHMETIC.sentence():
        yield refuted(_NAME, f"it assumes another arithmetic than {KNOWN_ARITHMETIC.sentence()}")
    elif model is None:
        yield left_open(_NAME, "the network was not queried; give --model")
    elif not model.covers_reference and guarantee.lengths.covers_reference:
        yield refuted(_NAME, "it claims to be about the module, and only the weights read from it are proved")
    else:
        try:
            stepper = CheckedNetwork(network_of(model), KNOWN_ARITHMETIC)
        except ModelError as error:
            yield refuted(_NAME, str(error))
            return
        yield from cell_equations(stepper)
        if spec.breaks(claims.relation, (), model.reference_answer(())):
            yield refuted(_NAME, "the empty word is a violation")
        else:
            yield _prove_lengths(claims, spec, stepper, guarantee.exact_length, guarantee.lengths.context, steps)


def _prove_lengths(
    claims: Claims, spec: Table, stepper: CheckedNetwork, length: int, context: int, steps: int
) -> Check:
    reach, spent = Reach.of(spec, claims.relation), 0
    classes = [_Class(spec.initial, spec.initial, ())]
    boxes = Interval(np.zeros((1, stepper.width)), np.zeros((1, stepper.width)))
    for done in range(1, length + 1):
        spent += len(classes) * len(claims.verdict.alphabet)
        if spent > steps:
            return left_open(_NAME, f"{spent} steps of a box lead to {done} letters; raise --steps")
        classes, boxes = _next_lengths(classes, boxes, stepper, spec, context, reach)
        if not classes:
            break
        problem = _problem(classes, boxes, stepper, reach)
        if problem is not None:
            return refuted(_NAME, f"after {done} letters {problem}")
    return confirmed_if(_NAME, True, f"no word of at most {length} letters is a violation ({spent} steps of a box)")


def _next_lengths(
    classes: list[_Class], boxes: Interval, stepper: CheckedNetwork, spec: Table, context: int, reach: Reach
) -> tuple[list[_Class], Interval]:
    """The classes of the words with one more letter, each with bounds of all states that lead there."""
    numbers: dict[_Class, int] = {}
    low: list[npt.NDArray[Any]] = []
    high: list[npt.NDArray[Any]] = []
    with np.errstate(all="ignore"):
        prepared = stepper.prepare(boxes)
        for letter in range(len(spec.rows[0])):
            after = stepper.step(prepared, letter)
            for row, each in enumerate(classes):
                goal = each.after(letter, context, spec)
                if not math.isfinite(reach.distance[goal.state]):
                    continue
                at = numbers.setdefault(goal, len(numbers))
                if at == len(low):
                    low.append(after.low[row])
                    high.append(after.high[row])
                else:  # NaN stays NaN
                    low[at], high[at] = np.minimum(low[at], after.low[row]), np.maximum(high[at], after.high[row])
    return list(numbers), Interval(np.array(low), np.array(high))


def _problem(classes: list[_Class], boxes: Interval, stepper: CheckedNetwork, reach: Reach) -> str | None:
    if not (np.isfinite(boxes.low).all() and np.isfinite(boxes.high).all()):
        return "a box has no bounds"
    accepted, rejected = stepper.decisions(boxes)
    for number, each in enumerate(classes):
        meant = each.state in reach.table.accepting
        if reach.may_violate[each.state] and not (accepted if meant else rejected)[number]:
            return f"the network may {'reject' if meant else 'accept'} where it must not"
    return None
