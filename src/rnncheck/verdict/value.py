"""The result of a verification, which is one of three: ``Violated``, ``Satisfied`` or ``Undecided``.

Every class here and in ``facts``, ``guarantee``, ``violation`` and ``questions`` is also a part of the JSON document,
where its fields have the same names except for those in ``rename``; ``verdict`` names the result. A field that is added
here is automatically in the document, in its schema, and in what ``replay`` reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeAlias, get_args

import msgspec

from rnncheck.automata.dfa import DFA
from rnncheck.automata.formats.dfa_json import DFADocument, dfa_of, document_of
from rnncheck.automata.label_specs import PairAlphabet
from rnncheck.display import Displayable, page_of
from rnncheck.errors import FormatError, InputError, visible
from rnncheck.relations import Relation
from rnncheck.runtime.budget import INTERRUPTED
from rnncheck.runtime.files import write_atomically
from rnncheck.verdict.automaton_files import LARGEST_INSIDE, in_file, read_document
from rnncheck.verdict.earlier_schema import EARLIER, upgraded
from rnncheck.verdict.facts import AutomatonFacts, Count, HealthNote, Outcome, Round, SpecFacts, Strength, TotalCost
from rnncheck.verdict.guarantee import AssumptionFacts, Evaluation, Guarantee, Scope, Searched, about_weights
from rnncheck.verdict.questions import Comparison, LabelQuestion
from rnncheck.verdict.violation import (
    DataFacts,
    ErrorDescription,
    FailureCluster,
    FaultyFlow,
    Trace,
    ViolationProbability,
)
from rnncheck.words import Alphabet, Word, format_word

SchemaName = Literal["rnncheck/verdict/2"]
SCHEMA: SchemaName = get_args(SchemaName)[0]
_PLACES = ("checks", "verdict")  # of verdicts in the document of a check
_REPR = 300  # characters at most

_MOST_LABELS_NAMED = 8  # in a sentence


class Verdict(
    Displayable,
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    tag_field="verdict",
    rename={"learned": "hypothesis", "model_facts": "model", "spec_facts": "spec"},
):
    """What every verification has; each verdict is ``Violated``, ``Satisfied`` or ``Undecided``.

    ``scope`` says which words the result is about, and whose weights. ``settings`` are the requested values, and
    ``command`` is the command line, if there was one.
    """

    schema: SchemaName = SCHEMA
    reason: str
    method: str
    relation: Relation
    scope: Scope = Scope()
    evaluation: Evaluation | None = None  # where a result rests on a comparison with the reference
    cost: TotalCost
    learned: AutomatonFacts | None = None
    data: DataFacts | None = None  # where sequences were given
    error_language: ErrorDescription | None = None  # where the method learns it
    label_question: LabelQuestion | None = None  # where the question is about labels
    comparison: Comparison | None = None  # where two models are compared
    health: tuple[HealthNote, ...] = ()
    history: tuple[Round, ...] = ()
    model_facts: dict[str, Any] = {}
    spec_facts: SpecFacts = SpecFacts()
    alphabet: Alphabet
    seed: int
    settings: dict[str, Any] = {}
    required: Strength | None = None  # the least that "satisfied" had to rest on, where that was given
    command: str | None = None
    version: str = ""

    @property
    def outcome(self) -> Outcome:
        raise NotImplementedError  # each result has its own

    # What only one result has, as the others have it.

    @property
    def strength(self) -> Strength | None:
        """What "satisfied" rests on."""
        return None

    @property
    def guarantee(self) -> Guarantee | None:
        """What is known of words that were not queried, where there is no violation."""
        return None

    @property
    def searched(self) -> Searched | None:
        """How far violations were looked for beyond random words, where there is none."""
        return None

    @property
    def counterexample(self) -> Word | None:
        return None

    @property
    def confirmed(self) -> bool:
        """Whether the model's reference confirmed the counterexample; false where there is none."""
        return False

    @property
    def shortest(self) -> bool:
        """Whether no shorter word is a violation: all were queried."""
        return False

    @property
    def no_violation_up_to(self) -> int | None:
        """No word of at most this many letters is a violation, beside a counterexample."""
        return None

    @property
    def other_counterexamples(self) -> tuple[Word, ...]:
        return ()

    @property
    def failure_clusters(self) -> tuple[FailureCluster, ...]:
        """Which of several counterexamples probably have one cause."""
        return ()

    @property
    def faulty_flows(self) -> tuple[FaultyFlow, ...]:
        return ()

    @property
    def severity(self) -> ViolationProbability | None:
        return None

    @property
    def trace(self) -> Trace | None:
        return None

    @property
    def violated(self) -> bool:
        return self.outcome is Outcome.VIOLATED

    @property
    def satisfied(self) -> bool:
        return self.outcome is Outcome.SATISFIED

    @property
    def undecided(self) -> bool:
        return self.outcome is Outcome.UNDECIDED

    @property
    def proved(self) -> bool:
        """Whether no word that counts is a violation of the model itself, whatever its length."""
        return self.strength is Strength.PROVED and self.scope.covers_reference

    @property
    def assumption(self) -> AssumptionFacts | None:
        """Which words count, where not all do."""
        return self.scope.assumption

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C or SIGTERM ended the work; the result until then may still be definite."""
        return self.reason == INTERRUPTED or any(note.check == INTERRUPTED for note in self.health)

    @property
    def exit_code(self) -> int:
        """That of the outcome, or that of "undecided" where "satisfied" is weaker than ``required``."""
        return self.outcome.exit_code if self.shortfall is None else Outcome.UNDECIDED.exit_code

    @property
    def shortfall(self) -> str | None:
        """Why "satisfied" is weaker than ``required``, without capital and full stop; None where it is not."""
        if self.strength is None or self.required is None:
            return None
        if not self.strength.at_least(self.required):
            return f"the result is {self.strength.value}, and {self.required.value} is required"
        # A sample was compared with the reference, so it holds for the module too.
        epsilon, known = self.settings.get("epsilon"), None if self.guarantee is None else self.guarantee.epsilon
        enough = isinstance(epsilon, float) and known is not None and known <= epsilon
        if not self.scope.covers_reference and not (self.required is Strength.STATISTICAL and enough):
            return (
                f"the result is {self.strength.value} for the weights read from the module, whose code may compute "
                f"something else, and {self.required.value} is required; export the network to ONNX or safetensors"
            )
        return None

    @property
    def hypothesis(self) -> DFA | None:
        """The automaton that was learned of the model."""
        return None if self.learned is None else self.learned.automaton

    @property
    def specification(self) -> DFA | None:
        """The automaton of the specification."""
        return self.spec_facts.automaton

    def accepting(self) -> str | None:
        """What "accept" means of a network with several labels, without capital and full stop; None of any other."""
        label = self.yes_label
        if label is None:
            return None
        facts = self.model_facts if self.comparison is None else self.model_facts["new"]
        named = facts.get("labels")
        others = [str(each) for each in named if each != label] if isinstance(named, list | tuple) else []
        rest = " or ".join(others) if 0 < len(others) <= _MOST_LABELS_NAMED else "any other label"
        return f"the network accepts where it outputs {label}, and rejects where it outputs {visible(rest)}"

    @property
    def yes_label(self) -> str | None:
        """The label that means "accept", where the network has several and the question is not about all of them."""
        of_labels = self.label_question is not None or (self.comparison is not None and self.comparison.by_label)
        facts = self.model_facts if self.comparison is None else self.model_facts.get("new")
        label = facts.get("label") if isinstance(facts, dict) else None
        if of_labels or label is None:
            return None
        return visible(label) if isinstance(label, str) else f"label {label}"

    def how_short(self) -> str | None:
        """What is known about shorter counterexamples, without capital and full stop; None where nothing is."""
        length = self.no_violation_up_to
        if length is None and not self.shortest:
            return None
        if length is None:
            return "no word is shorter"
        known = "no shorter word is a violation" if self.shortest else "a shorter one may exist"
        return f"{known}: every word of at most {length} letters was queried{self._queried_model(length)}"

    def _queried_model(self, length: int) -> str:
        checked = self.evaluation
        if checked is None or checked.reference is None or checked.exact_length == length:
            return ""
        if checked.exact_length is None:
            return ", of the fast evaluator"
        return f", the reference for those of at most {checked.exact_length}"

    def __str__(self) -> str:
        about = self.proof_about
        return f"{self.outcome.value}: {self.reason}{f'; proved{about}' if about else ''}"

    @property
    def proof_about(self) -> str:
        """The subject of its proof, as the end of "proved"; empty where it is the model itself or there is no proof."""
        guarantee = self.guarantee
        return "" if guarantee is None or guarantee.invariant is None else about_weights(self.scope.covers_reference)

    def __repr__(self) -> str:
        word = self.counterexample
        strength = "" if self.strength is None else f", strength={self.strength.value}"
        found = "" if word is None else f", counterexample={format_word(word)!r}"
        text = f"<Verdict {self.outcome.value}{strength}{found}: {self.reason}>"
        return text if len(text) <= _REPR else f"{text[: _REPR - 2]}…>"

    def to_json(self) -> str:
        """The JSON document (schema ``rnncheck/verdict/2``), indented."""
        return _document(self, encode_part)

    def to_files(self, path: Path) -> dict[Path, str]:
        """The document as the file ``path``, first, and the files beside it for automata of more than 10 000 states."""
        beside: dict[Path, str] = {}

        def encoded(value: object) -> Any:
            if not isinstance(value, DFA) or len(value) <= LARGEST_INSIDE:
                return encode_part(value)
            named, text = in_file(value, path)
            beside[path.with_name(named.file)] = text
            return named

        return {path: _document(self, encoded), **beside}

    @classmethod
    def from_json(cls, text: str | bytes, source: str = "verdict", *, folder: str | Path | None = None) -> AnyVerdict:
        """The verdict in a JSON document; ``source`` names it in errors.

        ``folder`` is where its large automata are, which ``verify --json FILE`` writes beside the document.
        """
        document = read_document(text, source, None if folder is None else Path(folder))
        try:
            verdict: AnyVerdict = msgspec.convert(in_todays_schema(document), AnyVerdict, dec_hook=decode_part)
            check_parts(verdict)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise FormatError(f"not a verdict: {visible(str(error))}", source) from None
        except InputError as error:
            raise FormatError(f"not a verdict whose parts belong together: {error}", source) from None
        return verdict

    def save_report(self, path: str | Path, *, date: str = "", document: str | None = None, ours: bool = False) -> None:
        """Write the report: one self-contained HTML file.

        ``date`` is shown at its top, as it is given; ``document`` is the file that the verdict itself was written to.
        With ``ours`` the page names the code that the verdict's command imports; leave it out for documents of others.
        """
        write_atomically(path, page_of(self, date=date, document=document, ours=ours))


_NO_FLOWS = Annotated[tuple[FaultyFlow, ...], msgspec.Meta(max_length=0)]


class Violated(Verdict, frozen=True, kw_only=True, tag=Outcome.VIOLATED.value):
    """A counterexample, which the model's reference confirmed, and what is known of the violations around it."""

    strength: None = None
    counterexample: Word
    confirmed: Literal[True] = True
    shortest: bool = False
    no_violation_up_to: Count | None = None
    other_counterexamples: tuple[Word, ...] = ()
    failure_clusters: tuple[FailureCluster, ...] = ()
    faulty_flows: tuple[FaultyFlow, ...] = ()
    severity: ViolationProbability | None = None
    guarantee: None = None
    trace: Trace | None = None

    @property
    def outcome(self) -> Outcome:
        return Outcome.VIOLATED


class Satisfied(Verdict, frozen=True, kw_only=True, tag=Outcome.SATISFIED.value):
    """No violation was found, and the guarantee says what that shows."""

    strength: Strength
    counterexample: None = None
    confirmed: Literal[False] = False
    guarantee: Guarantee
    searched: Searched | None = None
    faulty_flows: _NO_FLOWS = ()

    @property
    def outcome(self) -> Outcome:
        return Outcome.SATISFIED


class Undecided(Verdict, frozen=True, kw_only=True, tag=Outcome.UNDECIDED.value):
    """A limit came first. The guarantee says what is known all the same."""

    strength: None = None
    counterexample: None = None
    confirmed: Literal[False] = False
    guarantee: Guarantee | None = None
    searched: Searched | None = None
    faulty_flows: _NO_FLOWS = ()

    @property
    def outcome(self) -> Outcome:
        return Outcome.UNDECIDED


AnyVerdict: TypeAlias = Violated | Satisfied | Undecided
RESULTS: Mapping[str, type[AnyVerdict]] = MappingProxyType(
    {"violated": Violated, "satisfied": Satisfied, "undecided": Undecided}
)


def _document(verdict: Verdict, hook: Callable[[Any], Any]) -> str:
    """The document, with the result before everything else."""
    parts = msgspec.json.decode(msgspec.json.encode(verdict, enc_hook=hook))
    result = {name: parts[name] for name in type(verdict).__struct_fields__ if name not in Verdict.__struct_fields__}
    ordered = {"schema": parts["schema"], "verdict": parts["verdict"], **result, **parts}
    return msgspec.json.format(msgspec.json.encode(ordered), indent=2).decode() + "\n"


def in_todays_schema(document: Any) -> Any:
    """The document, and verdicts inside it, in the form of this version."""
    if isinstance(document, list):
        return [in_todays_schema(each) for each in document]
    if not isinstance(document, dict):
        return document
    if document.get("schema") == EARLIER:
        return upgraded(document, SCHEMA)
    return {name: in_todays_schema(part) if name in _PLACES else part for name, part in document.items()}


def check_parts(verdict: Verdict) -> None:
    """Raise InputError where the parts of a verdict that was read do not belong together."""
    _check_words(verdict)
    _check_strength(verdict)
    _check_labels(verdict)
    _check_comparison(verdict)


def _check_words(verdict: Verdict) -> None:
    assumed = None if verdict.assumption is None else verdict.assumption.automaton
    for dfa in (verdict.specification, verdict.hypothesis, assumed):
        if dfa is not None:
            dfa.over(verdict.alphabet)
    words = [*verdict.other_counterexamples, *([] if verdict.counterexample is None else [verdict.counterexample])]
    words += [word for flow in verdict.faulty_flows for word in (flow.prefix, flow.loop, flow.suffix)]
    for word in words:
        verdict.alphabet.encode(word)
    trace, prefixes = verdict.trace, 1 + len(verdict.counterexample or ())
    if trace is not None and (len(trace.answers) != prefixes or len(trace.scores or trace.answers) != prefixes):
        raise InputError(
            f"the trace has {len(trace.answers)} answers for the {prefixes} prefixes of the counterexample; write the "
            "document anew by verify --json"
        )


def _check_strength(verdict: Verdict) -> None:
    if (problem := contradicted_scope(verdict)) is not None:
        raise InputError(problem)
    guarantee, strength = verdict.guarantee, verdict.strength
    if guarantee is not None and strength is not None and guarantee.proof != strength.at_least(Strength.EXHAUSTIVE):
        raise InputError(f"its strength is {strength.value}, and its guarantee has proof = {guarantee.proof}")
    for name in ("epsilon", "gamma", "hypothesis_epsilon"):
        value = None if guarantee is None else getattr(guarantee, name)
        if value is not None and not 0.0 <= value <= 1.0:
            raise InputError(f"{name} = {value} is not a probability")


def contradicted_scope(verdict: Verdict) -> str | None:
    """What the proofs of a guarantee say otherwise than the scope; None where they agree."""
    guarantee = verdict.guarantee
    proofs = () if guarantee is None else (guarantee.invariant, guarantee.lengths)
    if all(proof is None or proof.covers_reference == verdict.scope.covers_reference for proof in proofs):
        return None
    return "its scope and its proof do not say the same of whose weights they are about"


def _check_labels(verdict: Verdict) -> None:
    question = verdict.label_question
    if question is None:
        return
    if set(question.automaton.alphabet) != set(PairAlphabet(verdict.alphabet, question.labels).pairs):
        raise InputError("the automaton of the label question does not read the pairs of letters and labels")
    if question.said is None or verdict.counterexample is None:
        return
    if len(question.said) != len(verdict.counterexample) or not set(question.said) <= set(question.labels):
        raise InputError(
            f"{len(question.said)} labels do not fit the {len(verdict.counterexample)} letters of the counterexample"
        )


def _check_comparison(verdict: Verdict) -> None:
    compared = verdict.comparison
    for said in () if compared is None else (compared.old_said, compared.new_said):
        if said is None or compared is None or verdict.counterexample is None:
            continue
        if len(said) != len(verdict.counterexample) + 1 or not set(said) <= set(compared.labels):
            raise InputError(
                f"{len(said)} answers do not fit the {len(verdict.counterexample) + 1} prefixes of the counterexample"
            )


def encode_part(value: object) -> Any:
    """The JSON form of values that msgspec does not support."""
    return document_of(value) if isinstance(value, DFA) else list(value) if isinstance(value, Alphabet) else str(value)


def decode_part(kind: type, value: Any) -> Any:
    """The value of such a JSON form; msgspec adds the place to errors raised here."""
    try:
        return Alphabet(value) if kind is Alphabet else dfa_of(msgspec.convert(value, DFADocument))
    except (InputError, msgspec.ValidationError) as error:
        raise ValueError(str(error)) from None
