"""What the model says along the evidence: after every prefix of the counterexample, and as a flow is pumped.

It convinces nobody who doubts the verdict (``replay`` is for them); it shows where and how the model goes wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from rnncheck.errors import InputError
from rnncheck.models.protocol import Model
from rnncheck.models.traces import as_judged
from rnncheck.oracle import MembershipOracle
from rnncheck.search.flows import Flow, pumped_scores, states_along
from rnncheck.verdict.facts import Round, Scores
from rnncheck.verdict.value import Verdict, Violated
from rnncheck.verdict.violation import Trace
from rnncheck.verification.explanation.best_effort import Extras
from rnncheck.verification.verification_task import Task
from rnncheck.words import Codes, WordBatch


@dataclass(frozen=True)
class Evidence:
    """The trace of the counterexample, and one row of scores for each flow; None where there is none."""

    trace: Trace | None
    flow_scores: tuple[Scores, ...]


def gather(oracle: MembershipOracle, word: Codes | None, flows: Sequence[Flow], extras: Extras) -> Evidence:
    """All of it, charged to the oracle; what the budget does not allow, or the model cannot say, is left out."""
    if word is None:
        return Evidence(None, ())
    trace = extras.attempt("the trace of the counterexample", lambda: trace_of(oracle, word))
    scores = extras.attempt("the scores of the flows", lambda: pump_scores(oracle, flows))
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
    """The verdict with what the network says along its counterexample and flows."""
    known = verdict.model_facts.get("sha256")
    if known is not None and model.describe().get("sha256") != known:
        raise InputError(
            f"the verdict is about the network with sha256 {str(known)[:16]}…, and this is another one; give that one"
        )
    if not isinstance(verdict, Violated):
        return verdict
    question = verdict.label_question
    if question is not None:
        judged = as_judged(model, question.automaton, question.text)
        question = msgspec.structs.replace(question, said=tuple(judged.said_along(verdict.counterexample)))
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
    """What each round of learning had and cost. ``look`` is called between two turns of an algorithm."""

    def __init__(self) -> None:
        self._rounds: list[Round] = []

    @property
    def rounds(self) -> tuple[Round, ...]:
        return tuple(self._rounds)

    def look(self, task: Task) -> None:
        """Take down what has been spent until now, for the round that is going on or has just ended."""
        cost = task.oracle.cost
        spent = (cost.membership_queries, cost.network_steps, task.sampler.words)
        if self._rounds:
            self._rounds[-1] = Round(self._rounds[-1].states, *spent)
        if task.hypothesis is not None and task.rounds > len(self._rounds):
            self._rounds.append(Round(len(task.hypothesis), *spent))


def _finite(scores: Iterable[float]) -> tuple[float | None, ...]:
    return tuple(float(score) if math.isfinite(score) else None for score in scores)
