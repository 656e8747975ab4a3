"""Verdicts about labels: what they were asked, and how to show them.

To the methods such a question is one about a yes-or-no model, which says yes to the words along which the network says
what it should, and about the property of all words. A reader wants to see the specification that was given.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import msgspec

from rnncheck.automata.dfa import DFA
from rnncheck.automata.label_specs import PairAlphabet
from rnncheck.errors import InputError
from rnncheck.models.traces import LABEL_SPECIFICATION
from rnncheck.verdict.value import Trace, Verdict, automaton_in
from rnncheck.words import Word

RIGHT = "every trace of letters and labels is as specified"


class _Facts(msgspec.Struct):
    text: str
    labels: list[str]
    automaton: dict[str, object]
    said: list[str] | None = None


@dataclass(frozen=True)
class LabelQuestion:
    """A specification over letters and labels.

    ``said`` are the labels after each letter of the counterexample, where they were written down, and ``trace`` is that
    word as the automaton reads it: in pairs.
    """

    text: str
    labels: tuple[str, ...]
    automaton: DFA
    said: tuple[str, ...] | None
    trace: Word | None


def about_labels(verdict: Verdict) -> bool:
    """Whether a verdict is about what a network says along words."""
    return LABEL_SPECIFICATION in verdict.model_facts


def label_question(verdict: Verdict) -> LabelQuestion | None:
    """What was asked about labels; None where the question was another."""
    if not about_labels(verdict):
        return None
    facts = msgspec.convert(verdict.model_facts[LABEL_SPECIFICATION], _Facts)
    automaton = automaton_in({"automaton": facts.automaton}, LABEL_SPECIFICATION)
    pairs = PairAlphabet(verdict.alphabet, facts.labels)
    if automaton is None or set(automaton.alphabet) != set(pairs.pairs):
        raise InputError(f"{LABEL_SPECIFICATION}: the automaton does not read the pairs of letters and labels")
    said = trace = None
    if facts.said is not None and verdict.counterexample is not None:
        said = tuple(facts.said)
        if len(said) != len(verdict.counterexample) or not set(said) <= set(facts.labels):
            raise InputError(f"{len(said)} labels do not fit the {len(verdict.counterexample)} letters of the word")
        trace = tuple(pairs.name(letter, label) for letter, label in zip(verdict.counterexample, said, strict=True))
    return LabelQuestion(facts.text, tuple(facts.labels), automaton, said, trace)


def as_shown(verdict: Verdict) -> Verdict:
    """The verdict without what only serves to put a question about labels: the property of all words, and scores that
    say no more than yes or no. Any other verdict as it is.
    """
    question = label_question(verdict)
    if question is None:
        return verdict
    return dataclasses.replace(
        verdict,
        specification=None,
        spec_facts={**verdict.spec_facts, "origin": question.text},
        trace=None if verdict.trace is None else Trace(verdict.trace.answers, None),
        faulty_flows=tuple(dataclasses.replace(flow, scores=None) for flow in verdict.faulty_flows),
    )
