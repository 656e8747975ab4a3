"""Verdicts about labels: how to show them.

To the methods such a question is one about a yes-or-no model, which accepts the words along which the network outputs
what it should, and about the property of all words. A reader wants to see the specification that was given.
"""

from __future__ import annotations

import msgspec

from rnncheck.verdict.facts import SpecFacts
from rnncheck.verdict.value import Verdict, Violated
from rnncheck.verdict.violation import Trace


def as_shown(verdict: Verdict) -> Verdict:
    """The verdict without what only serves to put a question about labels or about two models: the property of all
    words or of none, and scores that only mean yes or no. Any other verdict as it is.
    """
    question = verdict.label_question
    if verdict.comparison is not None:  # the property that no word is answered differently shows nothing
        facts = SpecFacts(origin=verdict.comparison.sentence(), sha256=verdict.spec_facts.sha256)
        return msgspec.structs.replace(verdict, spec_facts=facts)
    if question is None:
        return verdict
    verdict = msgspec.structs.replace(
        verdict, spec_facts=SpecFacts(origin=question.text, sha256=verdict.spec_facts.sha256)
    )
    if not isinstance(verdict, Violated):
        return verdict
    return msgspec.structs.replace(
        verdict,
        trace=None if verdict.trace is None else Trace(verdict.trace.answers),
        faulty_flows=tuple(msgspec.structs.replace(flow, scores=None) for flow in verdict.faulty_flows),
    )
