"""The model's answers and scores along the evidence: after every prefix of the counterexample, and as a flow is pumped.

It does not check the verdict (``replay`` does); it shows where and how the model goes wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from rnncheck.errors import InputError
from rnncheck.models.protocol import Model
from rnncheck.models.traces import trace_model
from rnncheck.oracle import MembershipOracle
from rnncheck.search.flows import Flow, pumped_scores, states_along
from rnncheck.verdict.facts import Round, Scores
from rnncheck.verdict.value import Verdict, Violated
from rnncheck.verdict.violation import Trace
from rnncheck.verification.explanation.best_effort import BestEffort
from rnncheck.verification.verification_task import Task
from rnncheck.words import Codes, WordBatch


@dataclass(frozen=True)
class Evidence:
    """The trace of the counterexample, and one row of scores for each flow; None where there is none."""

    trace: Trace | None
    flow_scores: tuple[Scores, ...]


def gather(oracle: MembershipOracle, word: Codes | None, flows: Sequence[Flow], best_effort: BestEffort) -> Evidence:
    """The evidence, charged to the oracle; what the budget or the model does not allow is left out."""
    if word is None:
        return Evidence(None, ())
    trace = best_effort.attempt("the trace of the counterexample", lambda: trace_of(oracle, word))
    scores = best_effort.attempt("the scores of the flows", lambda: pump_scores(oracle, flows))
    return Evidence(trace, tuple(scores or [None] * len(flows)))


def trace_of(oracle: MembershipOracle, word: Codes) -> Trace:
    """The model's answer, and its score where it has one, after every prefix of a word."""
    if not oracle.stepping:
        prefixes = WordBatch.from_codes([word[:length] for length in range(len(word) + 1)])
        scores = oracle.scores(prefixes)
        return Trace(tuple(oracle.answers(prefixes).tolist()), None if scores is None else _finite(scores))
    stepper = oracle.stepper
    along = stepper.scores(states_along(stepper, [word])[0][1:])
    answers = stepper.answers(along, lambda i: word[: i + 1]).tolist()
    return Trace((stepper.accepts_empty, *answers), _finite([stepper.empty_score, *along]))


def pump_scores(oracle: MembershipOracle, flows: Sequence[Flow]) -> list[Scores]:
    """The scores of prefix · loopⁿ · suffix for n = 1 … pumps of each flow; None where the model has no scores."""
    if oracle.stepping:
        return [_finite(scores) for scores in pumped_scores(oracle.stepper, flows)]
    found: list[Scores] = []
    for flow in flows:
        words = [flow.word(n) for n in range(1, flow.pumps + 1)]
        scores = oracle.scores(WordBatch.from_codes(words))
        found.append(None if scores is None else _finite(scores))
    return found


def with_scores(verdict: Verdict, model: Model) -> Verdict:
    """The verdict with the network's scores along its counterexample and flows."""
    known = verdict.model_facts.get("sha256")
    if known is not None and model.describe().get("sha256") != known:
        raise InputError(
            f"the verdict is about the network with sha256 {str(known)[:16]}…, not about this one; give that network"
        )
    if not isinstance(verdict, Violated):
        return verdict
    question = verdict.label_question
    if question is not None:
        judged = trace_model(model, question.automaton, question.text)
        question = msgspec.structs.replace(question, said=tuple(judged.labels_along(verdict.counterexample)))
        model = judged
    oracle, encode = MembershipOracle(model), model.alphabet.encode
    pumped = [
        Flow(encode(flow.prefix), encode(flow.loop), encode(flow.suffix), (), flow.pumps)
        for flow in verdict.faulty_flows
    ]
    flows = [
        msgspec.structs.replace(flow, scores=scores)
        for flow, scores in zip(verdict.faulty_flows, pump_scores(oracle, pumped), strict=True)
    ]
    trace = trace_of(oracle, encode(verdict.counterexample))
    return msgspec.structs.replace(verdict, trace=trace, faulty_flows=tuple(flows), label_question=question)


class History:
    """The states and cost of each round of learning. ``look`` is called between the turns of an algorithm."""

    def __init__(self) -> None:
        self._rounds: list[Round] = []

    @property
    def rounds(self) -> tuple[Round, ...]:
        return tuple(self._rounds)

    def look(self, task: Task) -> None:
        """Record the cost so far, for the current round or the one that has just ended."""
        cost = task.oracle.cost
        spent = (cost.membership_queries, cost.network_steps, task.sampler.words)
        if self._rounds:
            self._rounds[-1] = Round(self._rounds[-1].states, *spent)
        if task.hypothesis is not None and task.rounds > len(self._rounds):
            self._rounds.append(Round(len(task.hypothesis), *spent))


def _finite(scores: Iterable[float]) -> tuple[float | None, ...]:
    return tuple(float(score) if math.isfinite(score) else None for score in scores)
