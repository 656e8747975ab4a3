"""Networks with several labels: specifications of the labels along a word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

import msgspec

from rnncheck.automata.dfa import DFA
from rnncheck.automata.label_specs import compile_label_ltlf, compile_label_regex
from rnncheck.automata.language import all_words
from rnncheck.errors import InputError
from rnncheck.models.labelled import label_names
from rnncheck.models.protocol import Model
from rnncheck.models.traces import trace_model
from rnncheck.relations import Relation
from rnncheck.spec import Spec
from rnncheck.verdict.questions import LabelQuestion
from rnncheck.verdict.value import AnyVerdict
from rnncheck.verification.explanation.best_effort import BestEffort
from rnncheck.verification.question import VerifyOptions
from rnncheck.verification.verify import verify
from rnncheck.words import Alphabet


def verify_labels(model: Model, spec: Spec | DFA, **options: Unpack[VerifyOptions]) -> AnyVerdict:
    """Does every trace of the network satisfy a specification over letters and labels?

    ``spec`` is over pairs (``label_spec`` makes one); ``options`` are those of ``verify``. It is passed to
    ``verify`` as: does the model that accepts the words with a correct trace accept all words? So every method can
    answer it, and a counterexample is a word whose trace breaks the specification.
    """
    if Relation.named(options.setdefault("relation", "superset")) is not Relation.SUPERSET:
        raise InputError("a specification of labels holds for all words or not, so a relation cannot be chosen")
    judged = trace_model(model, spec.dfa, spec.origin) if isinstance(spec, Spec) else trace_model(model, spec)
    verdict = verify(judged, Spec.from_dfa(all_words(model.alphabet), origin="every word"), **options)
    best_effort, word, labels = BestEffort(interrupted=verdict.interrupted), verdict.counterexample, None
    if word is not None:
        labels = best_effort.attempt("the labels along the counterexample", lambda: tuple(judged.labels_along(word)))
    question = LabelQuestion(text=judged.text, labels=judged.labels, automaton=judged.spec, said=labels)
    return msgspec.structs.replace(verdict, label_question=question, health=(*verdict.health, *best_effort.notes))


def label_spec(model: Model, *, ltlf: str | None = None, regex: str | None = None) -> Spec:
    """The specification over the network's letters and labels that a formula, or else an expression, describes."""
    return label_spec_over(model.alphabet, label_names(model), ltlf=ltlf, regex=regex)


def label_spec_over(
    alphabet: Alphabet, labels: Sequence[str], *, ltlf: str | None = None, regex: str | None = None
) -> Spec:
    """The same for letters and labels."""
    if ltlf is not None:
        return Spec(compile_label_ltlf(ltlf, alphabet, labels), ltlf)
    return Spec(compile_label_regex(regex or "", alphabet, labels), regex or "")
