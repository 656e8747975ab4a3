"""Networks with several labels: one machine that says them all, and specifications about what is said when."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from rnncheck.automata.dfa import DFA
from rnncheck.automata.label_specs import PairAlphabet, compile_label_ltlf, compile_label_regex
from rnncheck.automata.language import all_words
from rnncheck.automata.moore import MooreMachine
from rnncheck.errors import FormatError, InconsistentAnswersError, LearningBoundReached
from rnncheck.learning import DEFAULT_LEARNER, make_learner
from rnncheck.models.labelled import LabelledNetwork, label_names, labels_along, network_of
from rnncheck.models.protocol import Model
from rnncheck.models.traces import LABEL_SPECIFICATION, TraceModel
from rnncheck.oracle.label_oracle import LabelOracle
from rnncheck.probability.distributions import WordDistribution
from rnncheck.probability.statistics import check_probability, round_sample_size, round_shown_epsilon
from rnncheck.relations import Relation
from rnncheck.runtime.budget import Budget, BudgetExceeded, Clock
from rnncheck.spec import Spec
from rnncheck.verdict.value import TotalCost, Verdict, automaton_in
from rnncheck.verification.verify import verify
from rnncheck.words import EPSILON, Codes, Word, WordBatch

_WORDS_AT_ONCE = 512
_MOST_AT_ONCE = 8_192


@dataclass(frozen=True)
class ExtractedMachine:
    """A Moore machine learned from a network.

    ``passed``: it gives another label than the network with probability below ``epsilon``, with the confidence asked
    for.
    """

    machine: MooreMachine | None
    passed: bool
    epsilon: float | None
    sentence: str
    cost: TotalCost


def extract_machine(
    model: Model,
    *,
    epsilon: float = 5e-4,
    gamma: float = 5e-4,
    distribution: WordDistribution | None = None,
    seed: int = 0,
    timeout: float | None = None,
    learner: str = DEFAULT_LEARNER,
    max_states: int = 2_000,
    max_query_length: int | None = None,
    clock: Clock = time.monotonic,
) -> ExtractedMachine:
    """Learn a Moore machine of all labels, until it passes an equivalence test, or a bound or the time limit is met.

    The machine is None where the time ended before the first one.
    """
    check_probability("epsilon", epsilon)
    check_probability("gamma", gamma)
    began = clock()
    network = LabelledNetwork.of(model)
    oracle = LabelOracle(network, budget=Budget.lasting(timeout, clock=clock))
    distribution = distribution or WordDistribution(network.alphabet)
    rng = np.random.default_rng([seed, *b"moore"])
    student = make_learner(
        learner,
        network.alphabet,
        oracle.labels,
        labels=network.labels,
        max_states=max_states,
        max_query_length=max_query_length,
        prefixes=True,
    )
    rounds = 0
    shown = machine = None
    try:
        while shown is None:
            machine = student.machine
            needed = round_sample_size(epsilon, gamma, rounds)
            rounds += 1
            passed = 0
            word = None
            while passed < needed and word is None:
                # The longer nothing is found, the more words at once: steps of many rows cost little more.
                words = distribution.sample(rng, min(max(_WORDS_AT_ONCE, passed), _MOST_AT_ONCE, needed - passed))
                word = _difference(words, machine, oracle)
                passed += len(words)
            if word is None:
                shown = round_shown_epsilon(passed, gamma, rounds - 1)
            elif not student.refine(word):
                raise InconsistentAnswersError(word, before=False)
        sentence = (
            f"it labels otherwise than the network with probability below {shown:.3g}, confidence {1 - gamma:.6g}"
        )
    except (BudgetExceeded, LearningBoundReached) as end:
        sentence = f"it passed no test: {end}"
        machine = student.machine if isinstance(end, LearningBoundReached) else machine
    cost = TotalCost(clock() - began, oracle.cost.membership_queries, oracle.cost.network_steps, rounds)
    return ExtractedMachine(None if machine is None else machine.minimised(), shown is not None, shown, sentence, cost)


def _difference(words: WordBatch, machine: MooreMachine, oracle: LabelOracle) -> Codes | None:
    """The least prefix, of a word that network and machine label differently, on which they already differ."""
    wrong = oracle.prefix_labels(words) != machine.outputs[machine.support.visited(words)]
    ends = words.offsets[1:][words.lengths > 0] - 1
    failed = [int(word) for word in np.searchsorted(words.offsets, ends[wrong[ends]], side="right") - 1]
    found = []
    for number in failed:
        start, end = int(words.offsets[number]), int(words.offsets[number + 1])
        found.append(words[number][: int(wrong[start:end].argmax()) + 1])
    return min(found, key=lambda word: (len(word), word), default=None)


def verify_labels(model: Model, spec: Spec | DFA, **options: Any) -> Verdict:
    """Does every trace of the network satisfy a specification over letters and labels?

    ``spec`` is over pairs (``label_spec`` makes one); ``options`` are those of ``verify``. The question is put to
    ``verify`` as: does the model that says yes to words with a right trace say yes to all words? So every method can
    answer it, and a counterexample is a word whose trace breaks the specification.
    """
    judged = trace_model(model, spec)
    verdict = verify(judged, all_words(model.alphabet), relation=Relation.SUPERSET, **options)
    return with_labels(verdict, judged)


def trace_model(model: Model, spec: Spec | DFA) -> TraceModel:
    """The model that says yes to the words whose trace of letters and labels the specification accepts."""
    if isinstance(spec, Spec):
        return TraceModel(LabelledNetwork.of(model), spec.dfa, spec.origin)
    return TraceModel(LabelledNetwork.of(model), spec)


def with_labels(verdict: Verdict, model: TraceModel) -> Verdict:
    """The verdict with the labels along its counterexample, for whoever reads it without the network."""
    if verdict.counterexample is None:
        return verdict
    facts = dict(cast(Mapping[str, object], verdict.model_facts[LABEL_SPECIFICATION]))
    facts["said"] = model.said_along(verdict.counterexample)
    return dataclasses.replace(verdict, model_facts={**verdict.model_facts, LABEL_SPECIFICATION: facts})


def as_judged(model: Model, facts: Mapping[str, object]) -> Model:
    """The model as it was judged where these facts were written down: by its labels, or else by its answer."""
    about = facts.get(LABEL_SPECIFICATION)
    if isinstance(model, TraceModel) or not isinstance(about, Mapping):
        return model
    spec = automaton_in(about, LABEL_SPECIFICATION)
    if spec is None:
        raise FormatError("the specification over letters and labels is missing", LABEL_SPECIFICATION)
    return TraceModel(LabelledNetwork.of(model), spec, str(about.get("text", "")))


def label_spec(model: Model, *, ltlf: str | None = None, regex: str | None = None) -> Spec:
    """The specification over the network's letters and labels that a formula, or else an expression, describes."""
    network = network_of(model)
    labels = label_names(network)
    if ltlf is not None:
        return Spec(compile_label_ltlf(ltlf, network.alphabet, labels), ltlf)
    return Spec(compile_label_regex(regex or "", network.alphabet, labels), regex or "")


def label_trace(model: Model, word: Word) -> str:
    """A word with the label that the network gives to it so far after each letter, for a person."""
    network = network_of(model)
    labels = label_names(network)
    pairs = PairAlphabet(network.alphabet, labels)
    said = labels_along(network, network.alphabet.encode(word))
    return " ".join(pairs.name(letter, labels[label]) for letter, label in zip(word, said, strict=True)) or EPSILON
