"""Verdicts read from their JSON documents, completed with the network's scores where the network is at hand."""

from __future__ import annotations

import dataclasses
from typing import TypeVar

import msgspec

from rnncheck.errors import FormatError, InputError
from rnncheck.models.protocol import Model
from rnncheck.models.traces import TraceModel
from rnncheck.relations import Relation
from rnncheck.report.page.label_question import label_question
from rnncheck.report.page.mistakes import mistakes_of
from rnncheck.verdict.value import (
    FaultyFlow,
    Guarantee,
    HealthNote,
    Outcome,
    Round,
    TotalCost,
    Trace,
    Verdict,
    VerdictDocument,
    automaton_in,
)
from rnncheck.verification.evidence import pump_scores, trace_of
from rnncheck.verification.labels import as_judged, with_labels
from rnncheck.words import Alphabet

_Part = TypeVar("_Part")


def verdict_of(document: VerdictDocument, source: str = "verdict") -> Verdict:
    """The verdict that a document describes; ``source`` names it in errors."""
    try:
        verdict = Verdict(
            outcome=Outcome(document.verdict),
            reason=document.reason,
            method=document.method,
            relation=Relation.named(document.relation),
            cost=_convert(document.cost, TotalCost),
            seed=document.seed,
            alphabet=Alphabet(document.alphabet),
            counterexample=None if document.counterexample is None else tuple(document.counterexample),
            guarantee=None if document.guarantee is None else _convert(document.guarantee, Guarantee),
            hypothesis=automaton_in(document.hypothesis, f"{source}: hypothesis"),
            specification=automaton_in(document.spec, f"{source}: spec"),
            faulty_flows=_convert(document.faulty_flows, tuple[FaultyFlow, ...]),
            health=_convert(document.health, tuple[HealthNote, ...]),
            model_facts=document.model,
            spec_facts={name: value for name, value in document.spec.items() if name not in ("automaton", "states")},
            error_language=document.error_language,
            violation_mass=_convert(document.violation_mass, tuple[float, float] | None),  # type: ignore[arg-type]
            version=document.version,
            trace=None if document.trace is None else _convert(document.trace, Trace),
            history=_convert(document.history, tuple[Round, ...]),
            settings=document.settings,
            command=document.command,
        )
        _check(verdict)
    except FormatError:
        raise
    except (InputError, msgspec.ValidationError) as error:
        raise FormatError(f"not a verdict that can be shown: {error}", source) from None
    return verdict


def with_scores(verdict: Verdict, model: Model) -> Verdict:
    """The verdict with what the network says along its counterexample and flows."""
    known = verdict.model_facts.get("sha256")
    if known is not None and model.describe().get("sha256") != known:
        raise InputError(
            f"the verdict is about the network with sha256 {str(known)[:16]}…, and this is another one; give that one"
        )
    model = as_judged(model, verdict.model_facts)
    if verdict.counterexample is None:
        return verdict
    word, encode = verdict.counterexample, model.alphabet.encode
    flows = [
        dataclasses.replace(
            flow,
            scores=pump_scores(model, encode(flow.prefix), encode(flow.loop), encode(flow.suffix), flow.pumps),
        )
        for flow in verdict.faulty_flows
    ]
    scored = dataclasses.replace(verdict, trace=trace_of(model, encode(word)), faulty_flows=tuple(flows))
    return with_labels(scored, model) if isinstance(model, TraceModel) else scored


def _convert(value: object, kind: type[_Part]) -> _Part:
    return msgspec.convert(value, kind)


def _check(verdict: Verdict) -> None:
    """Refuse a document whose parts do not belong together."""
    label_question(verdict)
    mistakes_of(verdict)
    for dfa in (verdict.specification, verdict.hypothesis):
        if dfa is not None:
            dfa.over(verdict.alphabet)
    words = [] if verdict.counterexample is None else [verdict.counterexample]
    words += [word for flow in verdict.faulty_flows for word in (flow.prefix, flow.loop, flow.suffix)]
    for word in words:
        verdict.alphabet.encode(word)
    trace, prefixes = verdict.trace, 1 + len(verdict.counterexample or ())
    if trace is not None and (len(trace.answers) != prefixes or len(trace.scores or trace.answers) != prefixes):
        raise InputError(
            f"the trace has {len(trace.answers)} answers for the {prefixes} prefixes of the counterexample; write the "
            "document anew by verify --json"
        )
