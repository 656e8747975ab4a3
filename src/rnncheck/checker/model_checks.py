"""Query the model again: is it the same model, and does it give the answers that the document claims?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from rnncheck.checker.checks import Check, confirmed, confirmed_if, left_open, refuted, unchecked
from rnncheck.checker.claimed_document import Claims
from rnncheck.checker.deadline import Deadline, reference_model
from rnncheck.checker.product_table import Table
from rnncheck.errors import InputError, short_repr
from rnncheck.models.protocol import Model, SteppingModel
from rnncheck.models.word_difference import SteppingDifference, WordDifference
from rnncheck.verdict.violation import FaultyFlow
from rnncheck.words import Codes

NOT_QUERIED = "the network was not queried; give --model"
_DECISION = ("outputs", "output", "label", "threshold")
# The number of loops after the claimed repetition within which the state must repeat.
_LOOPS_BEYOND = 1000


def check_same_model(claims: Claims, model: Model) -> None:
    """Raise InputError where the document names another model, whose answers say nothing about the verdict."""
    claimed, facts = claims.verdict.model_facts, _facts(model)
    if "sha256" in claimed and facts.get("sha256") != claimed["sha256"]:
        hints = _other_decisions(claimed, facts)
        if model.alphabet != claims.verdict.alphabet:
            hints.append("its alphabet is not the document's; give --alphabet if the file has none")
        raise InputError("; ".join([other_model("verdict", claimed["sha256"], facts.get("sha256")), *hints]))


def other_model(document: str, claimed: object, found: object) -> str:
    """The message for a model that is not the document's, with both digests."""
    this = "this one has no digest" if found is None else f"this one has {short_repr(found, 80)}"
    return f"the {document} is about the model with the sha256 {short_repr(claimed, 80)}, and {this}; give that model"


def check_model(claims: Claims, model: Model) -> Iterator[Check]:
    """Whether the model is the one that was verified; another digest has been reported as an error before."""
    claimed, facts = claims.verdict.model_facts, _facts(model)
    others = _other_decisions(claimed, facts)
    if model.alphabet != claims.verdict.alphabet:
        yield refuted("model", "its alphabet is not that of the verified network")
    elif "sha256" in claimed:
        yield confirmed("model", "the same network")
    elif "sha256" in facts:
        yield left_open("model", "the document has no digest of the verified network, so it may be another")
    elif not others:
        yield unchecked("model", "it has no digest, so it may not be the verified model")
    for seen in others:
        yield refuted("model", seen)
    if claimed.get("queries") != facts.get("queries"):
        seen = f"answers come from another engine than in the document ({short_repr(claimed.get('queries'))})"
        yield unchecked("engine", f"{seen}; --float64, --threads or the compiled kernel may explain the difference")


def _facts(model: Model) -> dict[str, Any]:
    facts: dict[str, Any] = msgspec.to_builtins(dict(model.describe()), enc_hook=str)
    return facts


def _other_decisions(claimed: Mapping[str, Any], facts: Mapping[str, Any]) -> list[str]:
    """The differences in how the model decides, and the option that resolves each."""
    return [
        f"{name} is {short_repr(facts[name])} here and {short_repr(claimed[name])} in the document; give --{name}"
        for name in _DECISION
        if name in claimed and name in facts and claimed[name] != facts[name]
    ]


def check_counterexample(claims: Claims, model: Model | None) -> Iterator[Check]:
    """Whether the word is a violation: specification and model are evaluated, the model by its reference."""
    word, spec = claims.counterexample, claims.spec
    if not claims.verdict.violated or word is None or spec is None:
        return
    if model is None:
        yield left_open("counterexample", NOT_QUERIED)
        return
    if spec.end(word) in spec.ignored:
        yield refuted("counterexample", f"{claims.text(word)} is not among the words that count")
        return
    accepted, expected = model.reference_answer(word), spec.accepts(word)
    seen = f"{claims.text(word)}: the model {_verb(accepted)} it, the specification {_verb(expected)} it"
    yield confirmed_if("counterexample", spec.breaks(claims.relation, word, accepted), seen)


def check_comparison(claims: Claims, model: Model | None) -> Iterator[Check]:
    """Whether each of two models answers every prefix of the counterexample as the document says."""
    compared, word = claims.verdict.comparison, claims.counterexample
    if compared is None:
        return
    if word is not None and compared.old_said is not None and compared.new_said is not None:
        if not isinstance(model, WordDifference | SteppingDifference):
            yield left_open("what the two say", "the networks were not queried; give --model and --against")
        else:
            pairs = [model.answers_of_both(word[:length]) for length in range(len(word) + 1)]
            names = model.pair.labels
            same = [(names[old], names[new]) for old, new in pairs] == list(
                zip(compared.old_said, compared.new_said, strict=False)
            )
            seen = f"{len(pairs)} answers of each, {'the same' if same else 'not the claimed ones'}"
            yield confirmed_if("what the two say", same, seen)
    for change in compared.properties:
        yield unchecked(
            "property", f"{short_repr(change.text)}: verify it on each of the two with --json, and replay these"
        )


def check_other_counterexamples(claims: Claims, model: Model | None) -> Iterator[Check]:
    """Whether each of the others is a violation of another kind: its last letter takes another edge."""
    named, name = claims.named.get("specification"), "another counterexample"
    kinds = set() if named is None or claims.counterexample is None else {_kind(named, claims.counterexample)}
    for other in claims.verdict.other_counterexamples:
        word = claims.encode(other)
        if word is None:
            yield refuted(name, "it has a letter that is not in the document's alphabet")
        elif named is not None and _kind(named, word) in kinds:
            yield refuted(name, f"{claims.text(word)} is of the same kind as one before it")
        elif model is None or claims.spec is None:
            yield left_open(name, NOT_QUERIED)
        else:
            kinds |= set() if named is None else {_kind(named, word)}
            breaks = claims.spec.breaks(claims.relation, word, model.reference_answer(word))
            yield confirmed_if(name, breaks, f"{claims.text(word)} is {'' if breaks else 'not '}a violation")


def _kind(spec: Table, word: Codes) -> tuple[int, int] | None:
    return (spec.end(word[:-1]), word[-1]) if word else None


def check_trace(claims: Claims, model: Model | None, deadline: Deadline) -> Iterator[Check]:
    """Whether the model answers every prefix of the counterexample as the document says."""
    word = claims.counterexample
    given = claims.verdict.trace
    if given is None or word is None:
        return
    claimed = given.answers
    if len(claimed) != len(word) + 1:
        yield refuted("trace", f"{len(claimed)} answers for the {len(word) + 1} prefixes of the counterexample")
    elif model is None:
        yield unchecked("trace", NOT_QUERIED)
    else:
        prefixes = [word[:length] for length in range(len(word) + 1)]
        answers = deadline.answers(reference_model(model), prefixes, "the answers along the counterexample")
        wrong = [length for length, answer in enumerate(answers) if answer != claimed[length]]
        seen = (
            f"the answers after the first {wrong[0]} letters differ" if wrong else f"{len(claimed)} answers, the same"
        )
        yield confirmed_if("trace", not wrong, seen)
    if given.scores is not None:
        yield unchecked("trace scores", "they illustrate the answers, and are not claims")


def check_flows(claims: Claims, model: Model | None, steps: int, deadline: Deadline) -> Iterator[Check]:
    """Whether each flow is valid, with exactly these hits."""
    spec = claims.spec
    for flow in claims.verdict.faulty_flows:
        parts = [claims.encode(part) for part in (flow.prefix, flow.loop, flow.suffix)]
        prefix, loop, suffix = parts
        if prefix is None or loop is None or suffix is None:
            yield refuted("faulty flow", "it has a letter that is not in the document's alphabet")
            continue
        problems = list(_flow_problems(claims, flow, prefix, loop, suffix))
        for problem in problems:
            yield refuted("faulty flow", f"{flow}: {problem}")
        if problems or spec is None:
            continue
        letters = flow.pumps * (len(prefix) + len(suffix)) + len(loop) * flow.pumps * (flow.pumps + 1) // 2
        if model is None:
            yield left_open("faulty flow", f"{flow}: {NOT_QUERIED}")
        elif letters > steps:
            yield left_open(
                "faulty flow", f"its words take {letters} network steps, {steps} are allowed; raise --steps"
            )
        else:
            pumped = _Pumped(reference_model(model), spec, claims.relation, (prefix, loop, suffix), deadline)
            yield _check_hits(flow, pumped)
            yield from _check_settling(flow, pumped, steps)
        if flow.scores is not None:
            yield unchecked("faulty flow scores", "they illustrate the hits, and are not claims")


def _flow_problems(claims: Claims, flow: FaultyFlow, prefix: Codes, loop: Codes, suffix: Codes) -> Iterator[str]:
    if not loop:
        yield "the loop is empty"
    if prefix + suffix != claims.counterexample:
        yield "without its loop it is not the counterexample"
    if claims.spec is not None and claims.spec.end(loop, claims.spec.end(prefix)) != claims.spec.end(prefix):
        yield "the loop does not lead the specification (and the assumption) back to the same state"
    if not 0 < flow.hits <= flow.pumps:
        yield f"{flow.hits} hits of {flow.pumps} pumps are impossible"
    which = flow.violating_pumps
    if which is not None:
        if sorted(set(which)) != list(which) or (which and not 1 <= which[0] <= which[-1] <= flow.pumps):
            yield f"the hits {short_repr(which)} do not rise from 1 to {flow.pumps}"
        if len(which) != flow.hits:
            yield f"{flow.hits} hits are claimed and {len(which)} are listed"
    if flow.forever and flow.settles_at is None:
        yield "it is claimed to continue for ever, and not from which n on"
    elif flow.forever and which is not None and flow.settles_at is not None:
        hits = set(which)
        missing = next((n for n in range(max(1, flow.settles_at), flow.pumps + 1) if n not in hits), None)
        if missing is not None:
            yield f"it is claimed to continue for ever from {flow.settles_at} on, and {missing} is no hit"


class _Pumped:
    """prefix · loopⁿ · suffix for every n, and whether it is a violation."""

    def __init__(
        self, model: Model, spec: Table, relation: str, parts: tuple[Codes, Codes, Codes], deadline: Deadline
    ) -> None:
        self._model = model
        self._spec = spec
        self._relation = relation
        self._prefix, self._loop, self._suffix = parts
        self._deadline = deadline

    def violations(self, numbers: Sequence[int]) -> list[int]:
        """The n for which the word is a violation."""
        words = [self._prefix + self._loop * n + self._suffix for n in numbers]
        answers = self._deadline.answers(self._model, words, "faulty flows")
        return [
            n
            for n, word, answer in zip(numbers, words, answers, strict=True)
            if self._spec.breaks(self._relation, word, answer)
        ]

    def repetition(self, most: int) -> tuple[int, int] | None:
        """The first n from which the state repeats, and its period, for n = 0 … ``most``; None without any."""
        if not isinstance(self._model, SteppingModel):
            return None
        state = self._model.initial(1)
        for letter in self._prefix:
            state = self._model.step(state, np.array([letter]))
        seen_at: dict[bytes, int] = {}
        for n in range(most + 1):
            before = seen_at.setdefault(state.tobytes(), n)
            if before < n:
                return before, n - before
            for letter in self._loop:
                state = self._model.step(state, np.array([letter]))
        return None

    def __len__(self) -> int:
        return len(self._loop)


def _check_hits(flow: FaultyFlow, pumped: _Pumped) -> Check:
    hits = pumped.violations(range(1, flow.pumps + 1))
    same = len(hits) == flow.hits and flow.violating_pumps in (None, tuple(hits))
    seen = f"{flow}: {len(hits)} of {flow.pumps} pumps are violations"
    return confirmed_if("faulty flow", same, seen if same else f"{seen}, not the claimed ones")


def _check_settling(flow: FaultyFlow, pumped: _Pumped, steps: int) -> Iterator[Check]:
    claimed = flow.settles_at
    if claimed is None:
        return
    loops = claimed + _LOOPS_BEYOND
    if loops * len(pumped) > steps:
        why = f"it takes {loops * len(pumped)} network steps, and {steps} are allowed; raise --steps"
        yield left_open("settling", why)
        return
    repetition = pumped.repetition(loops)
    if repetition is None or repetition[0] != claimed:
        # The exact bits depend on the processor's arithmetic, so this refutes nothing.
        seen = "does not repeat" if repetition is None else f"repeats from {repetition[0]} on"
        why = f"{flow} {seen} here, and from {claimed} on in the document"
        yield left_open("settling", f"{why}; another processor's arithmetic may be why")
        return
    start, period = repetition
    forever = len(pumped.violations(range(start, start + period))) == period
    seen = f"{flow}: the state comes back every {period} loops from {start} on"
    if forever == flow.forever:
        yield confirmed("settling", f"{seen}, {'always' if forever else 'not always'} with a violation")
    else:
        yield refuted("settling", f"{seen}, and the violations {'continue' if forever else 'do not continue'} for ever")


def _verb(accepted: bool) -> str:
    return "accepts" if accepted else "rejects"
