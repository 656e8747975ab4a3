"""What the model says along the evidence: after every prefix of the counterexample, and as a flow is pumped.

It convinces nobody who doubts the verdict (``replay`` is for them); it shows where and how the model goes wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from rnncheck.errors import ModelError
from rnncheck.models.protocol import Model, States, SteppingModel, Tick, no_tick, settle
from rnncheck.oracle import Oracle
from rnncheck.runtime.budget import BudgetExceeded
from rnncheck.search.flows import Flow
from rnncheck.verdict.value import Round, Trace
from rnncheck.verification.task import Task
from rnncheck.words import Codes, WordBatch

FlowScores: TypeAlias = tuple[float | None, ...] | None


@dataclass(frozen=True)
class Evidence:
    """The trace of the counterexample, and one row of scores for each flow; None where there is none."""

    trace: Trace | None
    flow_scores: tuple[FlowScores, ...]


def gather(oracle: Oracle, word: Codes | None, flows: Sequence[Flow]) -> Evidence:
    """All of it, charged to the oracle; what the budget does not allow, or the model cannot say, is left out."""
    trace = None
    scores: list[FlowScores] = []
    try:
        if word is not None:
            trace = trace_of(oracle.model, word, oracle.tick)
        for flow in flows:
            scores.append(pump_scores(oracle.model, flow.prefix, flow.loop, flow.suffix, flow.pumps, oracle.tick))
    except (BudgetExceeded, KeyboardInterrupt, ModelError):
        pass
    return Evidence(trace, (*scores, *[None] * (len(flows) - len(scores))))


def trace_of(model: Model, word: Codes, tick: Tick = no_tick) -> Trace:
    """The model's answer, and its score where it has one, after every prefix of a word."""
    if isinstance(model, SteppingModel):
        scores = model.prefix_scores(WordBatch.from_codes([word]), tick)

        def definition(codes: Codes) -> bool:
            tick(len(codes))
            return model.definition(codes)

        answers = settle(scores, model.margin, lambda i: word[: i + 1], definition)
        return Trace((model.accepts_empty, *answers.tolist()), _finite([model.empty_score, *scores.tolist()]))
    prefixes = WordBatch.from_codes([word[:length] for length in range(len(word) + 1)])
    tick(len(prefixes.codes))
    return Trace(tuple(model.accepts_batch(prefixes).tolist()), _whole_word_scores(model, prefixes, tick))


def pump_scores(
    model: Model, prefix: Codes, loop: Codes, suffix: Codes, pumps: int, tick: Tick = no_tick
) -> FlowScores:
    """The score of prefix · loopⁿ · suffix for n = 1 … ``pumps``; None where the model has no scores."""
    if not isinstance(model, SteppingModel):
        words = [prefix + loop * n + suffix for n in range(1, pumps + 1)]
        return _whole_word_scores(model, WordBatch.from_codes(words), tick)
    state = model.initial(1)
    for letter in prefix:
        state = _step(model, state, letter, tick)
    after: list[States] = []
    for _ in range(pumps):
        for letter in loop:
            state = _step(model, state, letter, tick)
        after.append(state)
    # All n read the suffix together; the loop itself is read once.
    states = np.concatenate(after)
    for letter in suffix:
        states = _step(model, states, letter, tick)
    return _finite(model.scores(states).tolist())


class History:
    """What each round of learning had and cost. ``look`` is called between two turns of an algorithm."""

    def __init__(self) -> None:
        self._rounds: list[Round] = []

    @property
    def rounds(self) -> tuple[Round, ...]:
        return tuple(self._rounds)

    def look(self, task: Task) -> None:
        """Take down what has been spent until now, for the round that is going on or has just ended."""
        hypothesis, cost = task.state.hypothesis, task.oracle.cost
        spent = (cost.membership_queries, cost.network_steps, task.sampler.words)
        if self._rounds:
            self._rounds[-1] = Round(self._rounds[-1].states, *spent)
        if hypothesis is not None and task.state.rounds > len(self._rounds):
            self._rounds.append(Round(len(hypothesis), *spent))


def _step(model: SteppingModel, states: States, letter: int, tick: Tick) -> States:
    tick(len(states))
    return model.step(states, np.full(len(states), letter))


def _whole_word_scores(model: Model, words: WordBatch, tick: Tick) -> FlowScores:
    """Scores of whole words; one word shows first whether there are any."""
    if not len(words) or model.scores_batch(words.take([0])) is None:
        return None
    tick(len(words.codes))
    scores = model.scores_batch(words)
    return None if scores is None else _finite(scores.tolist())


def _finite(scores: Iterable[float]) -> tuple[float | None, ...]:
    return tuple(score if math.isfinite(score) else None for score in scores)
