"""The result of a verification, as a value and in words.

Every class here and in ``facts``, ``guarantee``, ``violation`` and ``questions`` is also a part of the JSON document,
where its fields have the same names except for those in ``rename``. A field that is added here is automatically in the
document, in its schema, and in what ``replay`` reads.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

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
from rnncheck.verdict.facts import AutomatonFacts, Count, HealthNote, Interval, Outcome, Round, SpecFacts, TotalCost
from rnncheck.verdict.guarantee import AssumptionFacts, Evaluation, Guarantee, Searched
from rnncheck.verdict.questions import Comparison, LabelQuestion
from rnncheck.verdict.violation import DataFacts, ErrorDescription, FailureCluster, FaultyFlow, Stratum, Trace
from rnncheck.words import Alphabet, Word

_MOST_LABELS_NAMED = 8  # in a sentence


class Verdict(
    Displayable,
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    rename={
        "outcome": "verdict",
        "learned": "hypothesis",
        "model_facts": "model",
        "spec_facts": "spec",
        "failure_clusters": "mistakes",
    },
):
    """The result of a verification.

    ``settings`` are the requested values, and ``command`` is the command line, if there was one.
    """

    schema: Literal["rnncheck/verdict/1"]
    outcome: Outcome
    reason: str
    method: str
    relation: Relation
    assumption: AssumptionFacts | None = None  # where not all words count
    counterexample: Word | None = None
    confirmed: bool = False  # the counterexample, by the model's reference
    shortest: bool = False  # no shorter word is a violation: all were queried
    no_violation_up_to: Count | None = None  # no word up to this length is one; only with a counterexample
    other_counterexamples: tuple[Word, ...] = ()  # of other kinds, where several were requested
    failure_clusters: tuple[FailureCluster, ...] = ()  # which of them probably have the same cause
    guarantee: Guarantee | None = None
    evaluation: Evaluation | None = None  # where a guarantee rests on it
    searched: Searched | None = None
    cost: TotalCost
    learned: AutomatonFacts | None = None
    faulty_flows: tuple[FaultyFlow, ...] = ()
    violation_mass: Interval | None = None
    mass_strata: tuple[Stratum, ...] = ()  # the evidence for it
    data: DataFacts | None = None  # where sequences were given
    error_language: ErrorDescription | None = None  # where the method learns it
    label_question: LabelQuestion | None = None  # where the question is about labels
    comparison: Comparison | None = None  # where two models are compared
    health: tuple[HealthNote, ...] = ()
    trace: Trace | None = None
    history: tuple[Round, ...] = ()
    model_facts: dict[str, Any] = {}
    spec_facts: SpecFacts = SpecFacts()
    alphabet: Alphabet
    seed: int
    settings: dict[str, Any] = {}
    command: str | None = None
    version: str = ""

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
    def interrupted(self) -> bool:
        """Whether Ctrl-C or SIGTERM ended the work; the result until then may still be definite."""
        return self.reason == INTERRUPTED or any(note.check == INTERRUPTED for note in self.health)

    @property
    def exit_code(self) -> int:
        return self.outcome.exit_code

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
        if self.counterexample is None or (length is None and not self.shortest):
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
        return "" if guarantee is None or guarantee.invariant is None else guarantee.invariant.about

    def to_json(self) -> str:
        """The JSON document (schema ``rnncheck/verdict/1``), indented."""
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
    def from_json(cls, text: str | bytes, source: str = "verdict", *, folder: str | Path | None = None) -> Verdict:
        """The verdict in a JSON document; ``source`` names it in errors.

        ``folder`` is where its large automata are, which ``verify --json FILE`` writes beside the document.
        """
        document = read_document(text, source, None if folder is None else Path(folder))
        try:
            verdict = msgspec.convert(document, cls, dec_hook=decode_part)
            _check_words(verdict)
            _check_labels(verdict)
            _check_comparison(verdict)
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


def _document(verdict: Verdict, hook: Callable[[Any], Any]) -> str:
    return msgspec.json.format(msgspec.json.encode(verdict, enc_hook=hook), indent=2).decode() + "\n"


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
