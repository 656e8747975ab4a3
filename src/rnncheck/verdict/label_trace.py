"""The counterexample of a question about labels, with the labels."""

from __future__ import annotations

from rnncheck.automata.label_specs import PairAlphabet
from rnncheck.verdict.value import Verdict
from rnncheck.words import Word


def pairs_along(verdict: Verdict) -> Word | None:
    """The counterexample as the automaton of a label specification reads it: each letter with what is said after it."""
    question = verdict.label_question
    if question is None or question.said is None or verdict.counterexample is None:
        return None
    pairs = PairAlphabet(verdict.alphabet, question.labels)
    return tuple(map(pairs.name, verdict.counterexample, question.said))
