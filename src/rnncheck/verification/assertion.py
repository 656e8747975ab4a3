"""Verification inside a test suite."""

from __future__ import annotations

from typing import Unpack

from rnncheck.automata.dfa import DFA
from rnncheck.models.protocol import Model
from rnncheck.spec import Spec
from rnncheck.verdict.value import Verdict
from rnncheck.verification.verify import VerifyOptions, verify
from rnncheck.words import format_word


def assert_satisfies(model: Model, spec: Spec | DFA, **options: Unpack[VerifyOptions]) -> Verdict:
    """Raise AssertionError unless the model satisfies the specification; the options are those of ``verify``.

    A counterexample, or what kept the verification from deciding, is in the message. Returns the verdict.
    """
    verdict = verify(model, spec, **options)
    if verdict.satisfied:
        return verdict
    origin = spec.origin if isinstance(spec, Spec) else "the specification"
    if verdict.counterexample is not None:
        problem = f"the counterexample is {format_word(verdict.counterexample)} ({verdict.relation.formula})"
    else:
        problem = f"undecided: {verdict.reason}; {verdict.guarantee or 'nothing is known'}"
    raise AssertionError(f"the model does not satisfy {origin!r}: {problem}")
