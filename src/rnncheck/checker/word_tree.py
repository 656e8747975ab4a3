"""Check claims about all words: "exact up to a length", "no shorter one", and "no word at all".

The tree of words is searched again, depth first and in batches. A word that cannot become a violation within the length
is left out, so the number of network steps is known in advance.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rnncheck.checker.checks import Check, confirmed, confirmed_if, left_open, refuted
from rnncheck.checker.claimed_document import Claims
from rnncheck.checker.deadline import Deadline, reference_model
from rnncheck.checker.product_table import Table
from rnncheck.errors import short_repr
from rnncheck.models.protocol import Model, SteppingModel, resolve_near_threshold
from rnncheck.words import Codes, WordBatch

_ROWS_AT_ONCE = 4096
_DEEPEST = 20_000
_Integers = npt.NDArray[np.int64]


def check_all_words(claims: Claims, model: Model | None, steps: int, deadline: Deadline) -> Iterator[Check]:
    """Check the claims about all words, each within ``steps`` network steps."""
    spec, guarantee, shorter = claims.spec, claims.guarantee, claims.verdict.no_violation_up_to
    if spec is None or (guarantee is None and shorter is None):
        return
    reach = Reach.of(spec, claims.relation)
    if shorter is not None:
        yield _no_shorter(shorter, claims, reach, model, steps, deadline)
    if guarantee is None:
        return
    if guarantee.proof:
        longest = reach.longest()
        if longest is not None and longest < 0:
            yield confirmed("proof", "no word can be a violation of this specification, whatever the model answers")
        elif guarantee.invariant is not None:
            pass  # its evidence is the certificate, which is checked separately
        elif longest is None:
            yield refuted("proof", "words of every length can be violations, and nothing in the document excludes them")
        else:
            yield _all_words_up_to("proof", longest, claims, reach, model, steps, deadline)
    if guarantee.exact_length is not None and guarantee.exact_length >= 0 and guarantee.lengths is None:
        yield _all_words_up_to("exact length", guarantee.exact_length, claims, reach, model, steps, deadline)


def _no_shorter(
    length: int, claims: Claims, reach: Reach, model: Model | None, steps: int, deadline: Deadline
) -> Check:
    """No shorter violation: by the reference up to the length that the document claims, by the evaluator beyond."""
    name, evaluation = "no violation up to", claims.verdict.evaluation
    by_reference = length
    if evaluation is not None and evaluation.reference is not None:
        by_reference = min(length, -1 if evaluation.exact_length is None else evaluation.exact_length)
    queried = None if model is None or by_reference == length else model
    check = _all_words_up_to(name, length, claims, reach, model, steps, deadline, queried)
    if queried is None or not check.holds or by_reference < 0:
        return check
    of_reference = _all_words_up_to(name, by_reference, claims, reach, model, steps, deadline)
    if not of_reference.holds:
        return of_reference
    return confirmed(name, f"{check.seen}; of the reference up to {by_reference}")


def _all_words_up_to(
    name: str,
    length: int,
    claims: Claims,
    reach: Reach,
    model: Model | None,
    steps: int,
    deadline: Deadline,
    evaluator: Model | None = None,
) -> Check:
    """By the reference, or by an evaluator whose violations the reference confirms."""
    spent, longest = claims.network_steps, reach.longest()
    depth = length if longest is None else min(length, longest)
    if depth > _DEEPEST:
        return left_open(name, f"words of {short_repr(length)} letters are too long to enumerate")
    needed = reach.words_to_query(depth, at_most=steps if spent is None else max(steps, spent))
    many = f"querying every word of at most {length} letters takes {{:.0f}} or more network steps"
    if spent is not None and needed > spent:
        return refuted(name, f"{many.format(needed)}, and only {spent} were made")
    if model is None:
        return left_open(name, "the network was not queried; give --model")
    queried, whose = (reference_model(model), "the reference") if evaluator is None else (evaluator, "the evaluator")
    cost = needed if isinstance(queried, SteppingModel) else needed * depth  # black-box models read whole words
    if cost > steps:
        return left_open(name, f"{many.format(cost)}, and {steps} are allowed; raise --steps")
    word = _first_violation(queried, reach, depth, deadline)
    seen = f"no word of at most {length} letters is a violation ({needed:.0f} network steps of {whose})"
    if word is not None:
        seen = f"{claims.text(word)} is a violation"
    return confirmed_if(name, word is None, seen)


@dataclass(frozen=True)
class Reach:
    """For each state of a specification, the fewest letters that lead to a possible violation."""

    table: Table
    may_violate: npt.NDArray[np.bool_]
    distance: npt.NDArray[np.float64]  # infinite where none does

    @classmethod
    def of(cls, table: Table, relation: str) -> Reach:
        may_violate = np.array([table.may_violate(relation, state) for state in range(len(table))])
        before: list[list[int]] = [[] for _ in table.rows]
        for state, row in enumerate(table.rows):
            for successor in set(row):
                before[successor].append(state)
        distance = np.where(may_violate, 0.0, math.inf)
        front = np.flatnonzero(may_violate).tolist()
        for far in itertools.count(1):
            front = sorted({state for successor in front for state in before[successor] if distance[state] > far})
            if not front:
                break
            distance[front] = far
        return cls(table, may_violate, distance)

    def longest(self) -> int | None:
        """The length of the longest word that can be a violation; None where there is none, -1 without any word."""
        states = {self.table.initial} if math.isfinite(self.distance[self.table.initial]) else set()
        longest = -1
        for length in range(len(self.table) + 1):
            if not states:
                return longest
            if any(self.may_violate[state] for state in states):
                longest = length
            onward = {successor for state in states for successor in self.table.rows[state]}
            states = {state for state in onward if math.isfinite(self.distance[state])}
        return None  # a path with more letters than states has a cycle

    def words_to_query(self, length: int, at_most: int) -> float:
        """How many words of one letter and more begin a word of at most ``length`` letters that can be a violation.

        Each costs a step. Counting ends above ``at_most``.
        """
        table = np.array(self.table.rows)
        here = np.zeros(len(table))
        here[self.table.initial] = 1.0
        total = 0.0
        for done in range(1, length + 1):
            arriving = np.bincount(table.ravel(), np.repeat(here, table.shape[1]), minlength=len(table))
            here = np.where(self.distance <= length - done, arriving, 0.0)
            total += float(here.sum())
            if total > at_most or not here.any():
                break
        return total


def _first_violation(model: Model, reach: Reach, length: int, deadline: Deadline) -> Codes | None:
    """A violation of at most ``length`` letters; None where there is none."""
    table = np.array(reach.table.rows)
    accepting = np.array([state in reach.table.accepting for state in range(len(table))])
    initial = reach.table.initial
    if reach.may_violate[initial] and model.reference_answer(()) != accepting[initial]:
        return ()
    letters = table.shape[1]
    stepping = model if isinstance(model, SteppingModel) else None
    rows_at_once = max(1, _ROWS_AT_ONCE // letters)
    states = None if stepping is None else stepping.initial(1)
    waiting: list[tuple[_Integers, Any, _Integers]] = [(np.zeros((1, 0), dtype=np.int64), states, np.array([initial]))]
    done = 0
    while waiting:
        words, states, at = waiting.pop()
        deadline.check(f"every word up to {length} letters: {done} queried")
        left = length - words.shape[1] - 1
        if left < 0:
            continue
        successors = table[at].ravel()
        keep = np.flatnonzero(reach.distance[successors] <= left)
        parents, codes = keep // letters, keep % letters
        words, at = np.hstack([words[parents], codes[:, None]]), successors[keep]
        if stepping is not None and len(keep):
            states = stepping.step(states, codes, rows=parents)
        queried = np.flatnonzero(reach.may_violate[at])
        answers = _answers(model, words[queried], None if stepping is None else states[queried])
        done += len(queried)
        wrong = queried[answers != accepting[at[queried]]]
        for row in wrong.tolist():
            word = tuple(words[row].tolist())
            if model.reference_answer(word) != accepting[at[row]]:
                return word
        for start in range(0, len(words), rows_at_once):
            part = slice(start, start + rows_at_once)
            waiting.append((words[part], None if stepping is None else states[part], at[part]))
    return None


def _answers(model: Model, words: _Integers, states: Any) -> npt.NDArray[np.bool_]:
    """The model's answers to words of one length, one row each, from its states where it has any."""
    if not len(words):
        return np.zeros(0, dtype=bool)
    if isinstance(model, SteppingModel):
        return resolve_near_threshold(
            model.scores(states), model.margin, lambda i: _codes(words[i]), model.reference_answer
        )
    return model.accepts_batch(WordBatch(words.ravel(), np.arange(len(words) + 1) * words.shape[1]))


def _codes(row: Sequence[int] | _Integers) -> Codes:
    return tuple(int(letter) for letter in row)
