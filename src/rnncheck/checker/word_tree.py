"""Claims about all words: "exact up to a length", "no shorter one", and "no word at all".

The tree of words is walked again, depth first and in pieces. A word that cannot become a violation within the length is
left out, so the number of network steps is known before the first is made.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rnncheck.checker.checks import Check, confirmed, judged, left_open, refuted
from rnncheck.checker.claimed_document import Claims
from rnncheck.checker.deadline import Watch, asked_again
from rnncheck.checker.product_table import Table
from rnncheck.errors import short_repr
from rnncheck.models.protocol import Model, SteppingModel, resolve_near_threshold
from rnncheck.words import Codes, WordBatch

_ROWS_AT_ONCE = 4096
_DEEPEST = 20_000
_Integers = npt.NDArray[np.int64]


def all_words(claims: Claims, model: Model | None, steps: int, watch: Watch) -> Iterator[Check]:
    """Check what is said of words without exception, within so many network steps."""
    spec, guarantee, shorter = claims.spec, claims.guarantee, claims.verdict.no_violation_up_to
    if spec is None or (guarantee is None and shorter is None):
        return
    reach = Reach.of(spec, claims.relation)
    if shorter is not None:
        yield _no_shorter(shorter, claims, reach, model, steps, watch)
    if guarantee is None:
        return
    if guarantee.proof:
        longest = reach.longest()
        if longest is not None and longest < 0:
            yield confirmed("proof", "whatever the model says, no word can be a violation of this specification")
        elif guarantee.invariant is not None:
            pass  # it rests on the boxes of its certificate, which are looked at by themselves
        elif longest is None:
            yield refuted("proof", "words of every length can be violations, and nothing in the document excludes them")
        else:
            yield _all_words_up_to("proof", longest, claims, reach, model, steps, watch)
    if guarantee.exact_length is not None and guarantee.exact_length >= 0 and guarantee.lengths is None:
        yield _all_words_up_to("exact length", guarantee.exact_length, claims, reach, model, steps, watch)


def _no_shorter(length: int, claims: Claims, reach: Reach, model: Model | None, steps: int, watch: Watch) -> Check:
    """Nothing shorter: asked of the reference as far as the document says that it was, and of the evaluator beyond."""
    name, evaluation = "no violation up to", claims.verdict.evaluation
    by_reference = length
    if evaluation is not None and evaluation.reference is not None:
        by_reference = min(length, -1 if evaluation.exact_length is None else evaluation.exact_length)
    asked = None if model is None or by_reference == length else model
    check = _all_words_up_to(name, length, claims, reach, model, steps, watch, asked)
    if asked is None or not check.holds or by_reference < 0:
        return check
    of_reference = _all_words_up_to(name, by_reference, claims, reach, model, steps, watch)
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
    watch: Watch,
    evaluator: Model | None = None,
) -> Check:
    """Asked of the reference, or of an evaluator, whose violations the reference confirms."""
    spent, longest = claims.network_steps, reach.longest()
    depth = length if longest is None else min(length, longest)
    if depth > _DEEPEST:
        return left_open(name, f"words of {short_repr(length)} letters are too long to be walked")
    needed = reach.words_to_ask(depth, at_most=steps if spent is None else max(steps, spent))
    many = f"asking every word of at most {length} letters takes {{:.0f}} or more network steps"
    if spent is not None and needed > spent:
        return refuted(name, f"{many.format(needed)}, and only {spent} were made")
    if model is None:
        return left_open(name, "the network was not asked; give --model")
    judge, whose = (asked_again(model), "the reference") if evaluator is None else (evaluator, "the evaluator")
    price = needed if isinstance(judge, SteppingModel) else needed * depth  # whole words are read from the start
    if price > steps:
        return left_open(name, f"{many.format(price)}, and {steps} are allowed; raise --steps")
    word = _first_violation(judge, reach, depth, watch)
    seen = f"no word of at most {length} letters is a violation ({needed:.0f} network steps of {whose})"
    if word is not None:
        seen = f"{claims.text(word)} is a violation"
    return judged(name, word is None, seen)


@dataclass(frozen=True)
class Reach:
    """From each state of a specification, how many letters lead at least to a word that can be a violation."""

    table: Table
    breakable: npt.NDArray[np.bool_]
    distance: npt.NDArray[np.float64]  # infinite where none does

    @classmethod
    def of(cls, table: Table, relation: str) -> Reach:
        breakable = np.array([table.can_break(relation, state) for state in range(len(table))])
        before: list[list[int]] = [[] for _ in table.rows]
        for state, row in enumerate(table.rows):
            for successor in set(row):
                before[successor].append(state)
        distance = np.where(breakable, 0.0, math.inf)
        front = np.flatnonzero(breakable).tolist()
        for far in itertools.count(1):
            front = sorted({state for successor in front for state in before[successor] if distance[state] > far})
            if not front:
                break
            distance[front] = far
        return cls(table, breakable, distance)

    def longest(self) -> int | None:
        """The length of the longest word that can be a violation; None where there is none, -1 without any word."""
        states = {self.table.initial} if math.isfinite(self.distance[self.table.initial]) else set()
        longest = -1
        for length in range(len(self.table) + 1):
            if not states:
                return longest
            if any(self.breakable[state] for state in states):
                longest = length
            onward = {successor for state in states for successor in self.table.rows[state]}
            states = {state for state in onward if math.isfinite(self.distance[state])}
        return None  # a path longer than there are states goes round in a circle

    def words_to_ask(self, length: int, at_most: int) -> float:
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


def _first_violation(model: Model, reach: Reach, length: int, watch: Watch) -> Codes | None:
    """A word of at most so many letters that is a violation, or None where there is none."""
    table = np.array(reach.table.rows)
    accepting = np.array([state in reach.table.accepting for state in range(len(table))])
    initial = reach.table.initial
    if reach.breakable[initial] and model.reference_answer(()) != accepting[initial]:
        return ()
    letters = table.shape[1]
    stepping = model if isinstance(model, SteppingModel) else None
    rows_at_once = max(1, _ROWS_AT_ONCE // letters)
    states = None if stepping is None else stepping.initial(1)
    waiting: list[tuple[_Integers, Any, _Integers]] = [(np.zeros((1, 0), dtype=np.int64), states, np.array([initial]))]
    done = 0
    while waiting:
        words, states, at = waiting.pop()
        watch(f"every word up to {length} letters: {done} asked")
        left = length - words.shape[1] - 1
        if left < 0:
            continue
        successors = table[at].ravel()
        keep = np.flatnonzero(reach.distance[successors] <= left)
        parents, codes = keep // letters, keep % letters
        words, at = np.hstack([words[parents], codes[:, None]]), successors[keep]
        if stepping is not None and len(keep):
            states = stepping.step(states, codes, rows=parents)
        asked = np.flatnonzero(reach.breakable[at])
        answers = _answers(model, words[asked], None if stepping is None else states[asked])
        done += len(asked)
        wrong = asked[answers != accepting[at[asked]]]
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
