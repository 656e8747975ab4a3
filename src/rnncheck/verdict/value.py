"""The result of a verification, as a value and in words.

Every class here is also a part of the JSON document, where its fields have the same names but for those that ``rename``
gives. A field that is added here is in the document, in its schema, and in what ``replay`` reads.
"""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import msgspec

from rnncheck.automata.dfa import DFA
from rnncheck.automata.formats.dfa_json import DFADocument, dfa_of, document_of
from rnncheck.automata.label_specs import PairAlphabet
from rnncheck.display import Displayable, page_of
from rnncheck.errors import FormatError, InputError, visible
from rnncheck.probability.statistics import clopper_pearson
from rnncheck.relations import Relation
from rnncheck.runtime.files import write_atomically
from rnncheck.words import Alphabet, Word, format_word

Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Scores = tuple[float | None, ...] | None  # one that is not finite is None; all of them, where the model has none
Interval = tuple[float, float]
MethodName = Literal["auto", "pdv", "smc", "aamc", "errors", "prove"]


class Outcome(enum.Enum):
    """What a verification can end with."""

    VIOLATED = "violated"
    SATISFIED = "satisfied"
    UNDECIDED = "undecided"

    @property
    def exit_code(self) -> int:
        return {"satisfied": 0, "violated": 1, "undecided": 3}[self.value]


class AssumptionFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which words count: those of a language, where there is one, and of at most ``max_length`` letters.

    ``origin`` is what the language was made of, ``sha256`` its digest. ``mass`` is the probability, under the
    distribution of all words, of a word that counts.
    """

    origin: str | None = None
    sha256: str | None = None
    states: int | None = None
    automaton: DFA | None = None
    max_length: Count | None = None
    mass: float

    def given(self) -> dict[str, Any]:
        """What names it among the facts of the distribution of these words."""
        told = {"assume": self.origin, "sha256": self.sha256, "max_length": self.max_length}
        return {name: value for name, value in told.items() if value is not None}

    @property
    def scope(self) -> str:
        """As the end of "a word"."""
        return scope_of(self.given())

    def sentence(self) -> str:
        """For a person, without capital and full stop."""
        length = "" if self.max_length is None else f" of at most {self.max_length} letters"
        language = "" if self.origin is None else f" that satisfy {visible(self.origin)}"
        return f"only words{length}{language} count; a random word is one of them with probability {self.mass:.3g}"


def scope_of(given: object) -> str:
    """What the facts of a distribution say of its words, as the end of "a word"; empty where they are all words."""
    if not isinstance(given, dict):
        return ""
    length = f" of at most {given['max_length']} letters" if "max_length" in given else ""
    return length + (" that satisfies the assumption" if "sha256" in given else "")


class ProofFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a proof for words of any length rests on.

    It has so many ``boxes`` of network states, and is about every evaluation in ``arithmetic``. With ``original`` the
    network's weights were read off a model that computes by itself: the proof is about the weights. ``sha256`` is the
    digest of its certificate, and ``certificate`` the file, where it was written to one.
    """

    boxes: Count
    arithmetic: str
    original: bool = False
    sha256: str
    certificate: str | None = None

    def sentences(self, scope: str = "") -> list[str]:
        """In words, a claim each, without capital and full stop; ``scope`` says which words count."""
        of = ", as its weights were read (the original may compute otherwise)" if self.original else ""
        where = f"the certificate is {self.certificate}" if self.certificate else "its certificate was not kept"
        return [
            f"the specification holds for every word{scope or ' of any length'}: this is proved of the network{of}",
            f"it is assumed that the network is evaluated in {self.arithmetic}",
            f"{where}; its sha256 begins {self.sha256[:12]}",
        ]


class PossibleWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The words that could be violations, whatever the model says: the side of the specification that matters.

    ``mass`` is their probability, exactly. With confidence 1 − ``gamma`` one of them is a violation with probability
    below ``epsilon``, shown by ``samples`` of them; so a random word is with probability below the product. Without a
    sample ``epsilon`` is 1: the mass alone is the bound, for certain.
    """

    mass: float
    samples: Count
    epsilon: float
    gamma: float

    @property
    def bound(self) -> float:
        """What a random word is a violation with at most."""
        return self.mass * self.epsilon

    def sentence(self) -> str:
        """For a person, without capital and full stop."""
        if not self.samples:
            return f"a random word could be a violation with probability {self.mass:.3g}, whatever the model says"
        return (
            f"a random one of the words that could be violations (probability {self.mass:.3g}) is one with "
            f"probability below {self.epsilon:.3g}, with confidence {1 - self.gamma:.6g} ({self.samples} drawn), so a "
            f"random word is one with probability below {self.bound:.3g}"
        )


class Guarantee(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is known of words that were not looked at.

    With confidence 1 − ``gamma`` the probability of a violation is below ``epsilon``, shown by ``samples`` independent
    words of ``distribution``; and no word of at most ``exact_length`` letters is a violation, for certain. With
    ``proof`` no word at all is. Where something is assumed, all of this is about the words that count.
    """

    epsilon: float | None = None
    gamma: float | None = None
    samples: int = 0
    bound: str = "exact"
    possible: PossibleWords | None = None  # the same, of the words that could be violations
    hypothesis_epsilon: float | None = None  # P(R and H break the relation), where a round's own test was passed
    exact_length: int | None = None
    proof: bool = False  # it holds of all words, for certain
    invariant: ProofFacts | None = None  # what shows that, where the specification alone does not
    distribution: dict[str, Any] | None = None

    def sentences(self) -> list[str]:
        """The guarantee in words, a claim each, without capital and full stop."""
        scope = self.scope
        if self.proof and self.invariant is not None:
            return self.invariant.sentences(scope)
        if self.proof:
            return [f"no word{scope or ' at all'} violates the specification, for certain"]
        claims = [] if self.epsilon is not None or self.possible is None else [self.possible.sentence()]
        if self.exact_length is not None:
            which = "that counts and has" if scope else "of"
            claims.append(
                f"no word {which} at most {self.exact_length} letters violates the specification, all were asked"
            )
        if self.epsilon is not None and self.gamma is not None:
            claims.append(
                f"a random word{scope} violates it with probability below {self.epsilon:.3g}, with confidence "
                f"{1 - self.gamma:.6g} ({self.samples} words, {self.bound} bound)"
            )
        return claims or ["nothing is known of words that were not asked"]

    @property
    def scope(self) -> str:
        """Which words it is about, as the end of "a word"; empty where it is about all."""
        return scope_of((self.distribution or {}).get("given"))

    def __str__(self) -> str:
        return "; ".join(self.sentences())


class Evaluation(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Who gave the answers that the claims rest on, and how far they were compared with the model's reference.

    ``words`` random words and ``searched_words`` that searches met were asked of both, and the answers were the same:
    with confidence 1 − ``gamma`` a random word gets another answer from the reference with probability below
    ``epsilon``. ``reference`` is None where the reference itself gave all answers.
    """

    evaluator: str
    reference: str | None = None
    words: Count = 0
    searched_words: Count = 0
    epsilon: float | None = None
    gamma: float | None = None
    exact_length: int | None = None  # up to so many letters the reference was asked for every word
    largest_difference: float | None = None  # of the scores of words that were asked of both

    def sentence(self) -> str:
        """For a person, without capital and full stop."""
        if self.reference is None:
            return f"every answer is the model's own ({self.evaluator})"
        told = f"answers are those of the fast evaluator ({self.evaluator})"
        if self.exact_length is not None and self.epsilon is None:
            return f"{told}; the reference ({self.reference}) was asked for {self._every()}"
        if self.epsilon is None or self.gamma is None:
            return f"{told}; there was no time to compare them with the reference ({self.reference})"
        return (
            f"{told}; the reference ({self.reference}) gave the same for {self.words} random words and "
            f"{self.searched_words} that searches met, so it differs on a random word with probability below "
            f"{self.epsilon:.3g}, with confidence {1 - self.gamma:.6g}{self._exactly()}"
        )

    def _exactly(self) -> str:
        return "" if self.exact_length is None else f"; it was asked for {self._every()}"

    def _every(self) -> str:
        return f"every word of at most {self.exact_length} letters"


class Searched(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How far violations were looked for beyond random words, or why they were not.

    Where the model only knows whole words, ``guided_steps`` are the letters of ``changed_words``.
    """

    guided_steps: Count = 0
    changed_words: Count = 0
    exact_length: int | None = None
    reason: str | None = None

    def sentence(self) -> str:
        """For a person, without capital and full stop."""
        parts = []
        if self.changed_words:
            parts.append(f"{self.changed_words} changed random words were asked ({self.guided_steps} network steps)")
        elif self.guided_steps:
            parts.append(f"promising words were followed for {self.guided_steps} network steps")
        if self.exact_length is not None:
            parts.append(f"every word of at most {self.exact_length} letters was asked")
        if self.reason is not None:
            parts.append(self.reason)
        return "; ".join(parts)


class TotalCost(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What it took. Words asked count once each; steps are rows × recurrent steps actually computed.

    ``words_used`` counts every query until the finding and every word drawn, run or not: what the paper's tables count.
    ``first_violation_seconds`` and ``first_violation_steps`` are what had been spent when the first violation was
    confirmed; what came after made it shorter, and says more about it.
    """

    seconds: float
    membership_queries: int
    network_steps: int
    rounds: int
    first_violation_seconds: float | None = None
    first_violation_steps: Count | None = None
    words_used: Count | None = None

    def after(self, earlier: TotalCost) -> TotalCost:
        """The cost of both."""
        seconds, steps = self.first_violation_seconds, self.first_violation_steps
        return TotalCost(
            self.seconds + earlier.seconds,
            self.membership_queries + earlier.membership_queries,
            self.network_steps + earlier.network_steps,
            self.rounds + earlier.rounds,
            None if seconds is None else seconds + earlier.seconds,
            None if steps is None else steps + earlier.network_steps,
            (self.words_used or 0) + (earlier.words_used or 0),
        )


class Trace(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the model says after each prefix of the counterexample, the empty word first.

    ``scores`` are distances from the decision, positive on the accepting side.
    """

    answers: tuple[bool, ...]
    scores: Scores = None


class Round(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One round of learning: the states of its hypothesis, and what all work together had cost when it ended."""

    states: Count
    membership_queries: Count
    network_steps: Count
    words: Count


class FaultyFlow(Displayable, msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A loop inside the counterexample that can be pumped: prefix · loopⁿ · suffix stays a violation for many n.

    ``hits`` of the ``pumps`` numbers n = 1 … pumps gave a violation, the ``violating_pumps``. ``settles_at``: from this
    n on the network's state after the loop repeats, so that the answers go on as they are for ever in its arithmetic;
    None when no such point was seen. ``scores`` are the model's for n = 1 … pumps.
    """

    prefix: Word
    loop: Word
    suffix: Word
    hits: Count
    pumps: Count
    violating_pumps: tuple[int, ...] | None = None
    settles_at: Count | None = None
    forever: bool = False
    arithmetic: str | None = None  # that of the network's states, where it is one that rounds
    scores: Scores = None

    def __str__(self) -> str:
        return f"{format_word(self.prefix)} · ({format_word(self.loop)})ⁿ · {format_word(self.suffix)}"

    @property
    def ever(self) -> str:
        """Whether it goes on for ever, as the end of a sentence; empty where that is not known."""
        where = f" (in {self.arithmetic})" if self.arithmetic else ""
        return f", for ever from n = {self.settles_at} on{where}" if self.forever else ""


class HealthNote(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Something that weakens the result: what, in numbers, and what to do about it."""

    check: str
    message: str


class AutomatonFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An automaton in a document."""

    states: int
    automaton: DFA | None = None

    @classmethod
    def of(cls, dfa: DFA) -> Self:
        return cls(len(dfa), dfa)


class SpecFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The specification: what it was made of, the digest of its language, and its automaton."""

    origin: str | None = None
    sha256: str | None = None
    states: int | None = None
    automaton: DFA | None = None


class Share(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A measured probability: the share of some words, and the interval that shows with 95 % confidence."""

    value: float | None
    interval: Interval
    words: int

    @classmethod
    def of(cls, hits: int, words: int) -> Self:
        """So many of so many words."""
        return cls(hits / words, clopper_pearson(hits, words), words) if words else cls(None, (0.0, 1.0), 0)

    def __str__(self) -> str:
        if self.value is None:
            return "unknown (no such word was drawn)"
        low, high = self.interval
        return f"{self.value:.3g} ({low:.3g} to {high:.3g}, {self.words} words)"


class Stratum(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Some of the words that could be violations: their exact ``mass``, and how many of some drawn from them are."""

    name: str
    mass: float
    words: Count
    violations: Count

    def __str__(self) -> str:
        return f"{self.violations} of {self.words} {self.name} (probability {self.mass:.3g})"


class Mistake(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Counterexamples that are probably one mistake: 0 is the counterexample, n the n-th of the others.

    After ``after`` letters of each the model's state first lies outside those of random words that lead to the same
    state of the specification: as ``letter`` is read in ``state``. None where it never does, or shows no states.
    ``flow``: they are of the family of this faulty flow.
    """

    words: tuple[Count, ...]
    flow: Count | None = None
    state: Count | None = None
    letter: str | None = None
    after: tuple[Count | None, ...] = ()

    def sentence(self) -> str:
        """For a person, without capital and full stop."""
        who = ", ".join(str(number + 1) for number in self.words)
        family = "" if self.flow is None else f", in the family of faulty flow {self.flow + 1}"
        if self.letter is None:
            return f"counterexample {who}{family}: the model's state is never far from those of random words"
        where = ", ".join(str(after) for after in self.after)
        return (
            f"counterexample {who}{family}: the model's state leaves those of random words as {visible(self.letter)} "
            f"is read in state {self.state} of the specification (letter {where})"
        )


class DataViolation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A sequence of somebody's data that is a violation, and the line of the file that it stands on."""

    line: Count
    word: Word


class DataFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What the model does on somebody's own sequences: so many of those that count are violations.

    ``sha256`` is the digest of all ``words``; ``first`` are the first violations.
    """

    source: str
    sha256: str
    words: Count
    counted: Count
    violations: Count
    first: tuple[DataViolation, ...] = ()

    def sentence(self) -> str:
        """For a person, without capital and full stop."""
        of = "" if self.counted == self.words else f" of {self.counted} that count"
        where = ", ".join(str(each.line) for each in self.first)
        more = "" if self.violations <= len(self.first) else ", …"
        lines = f", on line {where}{more}" if self.first else ""
        return f"{self.violations}{of} of {self.words} sequences of {visible(self.source)} are violations{lines}"


class ErrorDescription(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What all violations look like, as far as was learned: an automaton of them, and how good it is.

    ``expression`` is its language as a regular expression, None where that is too long to read. ``mass`` is the
    probability of the words it names. ``precision`` is the share of violations among the words it names, ``recall`` the
    share of the words it names among the violations, both under the distribution; None where there was no time for it.
    """

    states: int
    automaton: DFA | None = None
    expression: str | None = None
    mass: float
    precision: Share | None = None
    recall: Share | None = None

    def sentence(self) -> str:
        """For a person."""
        text = self.expression or f"an automaton of {self.states} states, too large to write as an expression"
        parts = [f"the mistakes are described by {text} (probability {self.mass:.3g})"]
        if self.precision is not None:
            parts.append(f"precision {self.precision}")
        if self.recall is not None:
            parts.append(f"recall {self.recall}")
        return ", ".join(parts)


class LabelQuestion(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A specification over letters and labels: its text, and its automaton over the pairs of both.

    Such a verdict is about the model that says yes to the words along which the network says what it should, and about
    the property of all words. ``said`` are the labels after each letter of the counterexample.
    """

    text: str
    labels: tuple[str, ...]
    automaton: DFA
    said: tuple[str, ...] | None = None


class PropertyChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What became of one property: the verdicts on the old and on the new model, and the words that break it."""

    text: str
    old: Outcome
    new: Outcome
    old_word: Word | None = None
    new_word: Word | None = None

    @property
    def changed(self) -> bool:
        return self.old is not self.new


class Comparison(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Two models side by side: how the new one is to stand to the old one, and what each says.

    Such a verdict is about the model that says yes to the words on which the two break the relation, and about the
    property that there are none. ``old_said`` and ``new_said`` are what they say of each prefix of the counterexample,
    the empty word first: one of ``labels``.
    """

    relation: Relation
    labels: tuple[str, ...]
    by_label: bool = False  # by which of several labels they say, and not by yes and no
    old: str | None = None  # what a person calls them
    new: str | None = None
    old_said: tuple[str, ...] | None = None
    new_said: tuple[str, ...] | None = None
    properties: tuple[PropertyChange, ...] = ()

    def sentence(self) -> str:
        """What was to be shown, without capital and full stop."""
        return {
            Relation.EQUAL: "the two models answer every word alike",
            Relation.SUBSET: "every word that the new model accepts is accepted by the old one",
            Relation.SUPERSET: "every word that the old model accepts is accepted by the new one",
        }[self.relation]


class Verdict(
    Displayable,
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    rename={"outcome": "verdict", "learned": "hypothesis", "model_facts": "model", "spec_facts": "spec"},
):
    """The result of a verification.

    ``settings`` are the numbers it was asked with, and ``command`` is the command line, where there was one.
    """

    schema: Literal["rnncheck/verdict/1"]
    outcome: Outcome
    reason: str
    method: str
    relation: Relation
    assumption: AssumptionFacts | None = None  # where not all words count
    counterexample: Word | None = None
    confirmed: bool = False  # the counterexample, by the model's reference
    shortest: bool = False  # no shorter word is a violation: all were asked
    no_violation_up_to: Count | None = None  # no word of at most so many letters is one, beside a counterexample
    other_counterexamples: tuple[Word, ...] = ()  # of other kinds, where several were asked for
    mistakes: tuple[Mistake, ...] = ()  # which of them are probably one
    guarantee: Guarantee | None = None
    evaluation: Evaluation | None = None  # where a guarantee rests on it
    searched: Searched | None = None
    cost: TotalCost
    learned: AutomatonFacts | None = None
    faulty_flows: tuple[FaultyFlow, ...] = ()
    violation_mass: Interval | None = None
    mass_strata: tuple[Stratum, ...] = ()  # what shows it
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

    def how_short(self) -> str | None:
        """How short the counterexample is known to be, without capital and full stop; None where nothing is known."""
        length = self.no_violation_up_to
        if self.counterexample is None or (length is None and not self.shortest):
            return None
        if length is None:
            return "no word is shorter"
        known = "no shorter word is a violation" if self.shortest else "a shorter one may exist"
        return f"{known}: every word of at most {length} letters was asked{self._asked_of(length)}"

    def _asked_of(self, length: int) -> str:
        checked = self.evaluation
        if checked is None or checked.reference is None or checked.exact_length == length:
            return ""
        if checked.exact_length is None:
            return ", of the fast evaluator"
        return f", the reference for those of at most {checked.exact_length}"

    def __str__(self) -> str:
        return f"{self.outcome.value}: {self.reason}"

    def to_json(self) -> str:
        """The JSON document (schema ``rnncheck/verdict/1``), indented."""
        return msgspec.json.format(msgspec.json.encode(self, enc_hook=encode_part), indent=2).decode() + "\n"

    @classmethod
    def from_json(cls, text: str | bytes, source: str = "verdict") -> Verdict:
        """The verdict in a JSON document; ``source`` names it in errors."""
        try:
            verdict = msgspec.json.decode(text, type=cls, dec_hook=decode_part)
            _check_words(verdict)
            _check_labels(verdict)
            _check_comparison(verdict)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            raise FormatError(f"not a verdict: {visible(str(error))}", source) from None
        except InputError as error:
            raise FormatError(f"not a verdict whose parts belong together: {error}", source) from None
        return verdict

    def save_report(self, path: str | Path, *, date: str = "", document: str | None = None) -> None:
        """Write the report: one HTML file with everything in it, for people.

        ``date`` is shown at its top, as it is given; ``document`` is the file that the verdict itself was written to.
        """
        write_atomically(path, page_of(self, date=date, document=document))


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
    """The JSON form of what msgspec knows none for."""
    return document_of(value) if isinstance(value, DFA) else list(value) if isinstance(value, Alphabet) else str(value)


def decode_part(kind: type, value: Any) -> Any:
    """The same, read; msgspec adds the place to what is raised here."""
    try:
        return Alphabet(value) if kind is Alphabet else dfa_of(msgspec.convert(value, DFADocument))
    except (InputError, msgspec.ValidationError) as error:
        raise ValueError(str(error)) from None
