"""One differential case: a random model and a random specification, every method's verdict, and the original to judge.

Where rounding may decide a word, its answer is that of the model's definition (``reference_answer``), and the word is
counted. A word on which a network overflows has no answer.
"""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import msgspec
import numpy as np
from differential_originals import Module, Table, TorchOriginal

from rnncheck import Alphabet, Spec, Verdict, WordDistribution, verify, wrap
from rnncheck.checker import ReplaySettings, Status, replay
from rnncheck.errors import ModelError, RnncheckError
from rnncheck.models.adapters import DFAModel, complement
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.network import Cell, Layer, RecurrentNetwork
from rnncheck.models.protocol import Model
from rnncheck.search.flows import FlowSettings
from rnncheck.verification.verify_settings import VerifySettings
from rnncheck.words import Codes, WordBatch

METHODS = ("auto", "pdv", "smc", "aamc", "errors", "prove")
RELATIONS = ("subset", "superset", "equal")
LEARNERS = ("ttt", "kv", "lstar")
NETWORKS = ("network", "complement", "module")
MODELS = {"network": 0.4, "complement": 0.2, "module": 0.05, "automaton": 0.2, "function": 0.15}  # modules are slow
GAMMA = 1e-6
_MOST_WORDS = 1500  # that brute force asks
_MOST_LETTERS = 60
_QUESTIONS_PER_MODEL = 20
_METHODS_PER_CASE = 2  # enough to hold one against the other; another case is worth more than a third
_TICKS = 5_000  # readings of a clock that counts them: a time limit that does not depend on the machine


@dataclass(frozen=True)
class Asked:
    """The model of a case."""

    seed: int
    kind: str
    cell: str
    hidden: tuple[int, ...]
    scale: float
    threshold: float
    letters: int

    @classmethod
    def drawn(cls, seed: int) -> Asked:
        rng = np.random.default_rng([seed, 2])
        return cls(
            seed=seed,
            kind=str(rng.choice(list(MODELS), p=list(MODELS.values()))),
            cell=str(rng.choice([cell.value for cell in Cell])),
            hidden=tuple(rng.integers(1, 9, size=rng.integers(1, 3)).tolist()),
            scale=float(rng.choice([0.5, 1.0, 2.0, 4.0])),
            threshold=float(rng.choice([0.5, 0.5, 0.2, 0.9])),
            letters=int(rng.integers(1, 4)),
        )

    @property
    def is_network(self) -> bool:
        return self.kind in NETWORKS

    @property
    def alphabet(self) -> Alphabet:
        return Alphabet([chr(ord("a") + letter) for letter in range(self.letters)])

    def __str__(self) -> str:
        return f"{self.kind} {self.cell}" if self.is_network else self.kind


@dataclass(frozen=True)
class Case:
    """Everything that a comparison depends on; it goes into the file as it is."""

    seed: int
    model: Asked
    states: int
    changes: int  # in how many states an automaton differs from the specification
    stop: float
    epsilon: float
    learner: str
    exhaustive: int | None
    relation: str
    flows: bool
    effort: int  # network steps of a search, and of a replay
    methods: tuple[str, ...]

    @classmethod
    def drawn(cls, seed: int) -> Case:
        rng = np.random.default_rng(seed)
        return cls(
            seed=seed,
            model=Asked.drawn(seed // _QUESTIONS_PER_MODEL),
            states=int(rng.integers(1, 9)),
            changes=int(rng.integers(0, 2)),
            stop=float(rng.choice([0.1, 0.3, 0.5])),
            epsilon=float(rng.choice([0.01, 0.05, 0.1])),
            learner=str(rng.choice(LEARNERS)),
            exhaustive=[None, 0, 3, 6][int(rng.integers(4))],
            relation=str(rng.choice(RELATIONS)),
            flows=bool(rng.random() < 0.1),
            effort=int(rng.choice([2_000, 5_000, 20_000], p=[0.6, 0.3, 0.1])),
            methods=tuple(rng.choice(METHODS, size=_METHODS_PER_CASE, replace=False).tolist()),
        )


@dataclass(frozen=True)
class Problem:
    """One contradiction."""

    method: str
    what: str
    word: tuple[str, ...] | None = None


@dataclass
class Outcome:
    """What came of a case: each method's answer, the contradictions, and the words that rounding may decide."""

    verdicts: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    near: int = 0


class Subject:
    """What is asked: a model, and the original that answers for it."""

    near = 0  # short words that rounding may decide

    def __init__(self, asked: Asked, table: Table | None = None) -> None:
        self._asked = asked
        self._alphabet = asked.alphabet
        self._table = table or Table([], [])
        self._network = _network(asked) if asked.is_network else None
        self._torch = None if self._network is None else TorchOriginal(self._network)
        self.model = self._model()

    def _model(self) -> Model:
        if self._network is None:
            if self._asked.kind == "automaton":
                return DFAModel(self._table.dfa(self._alphabet))
            accepts, encode = self._table.accepts, self._alphabet.encode
            return wrap(lambda words: [accepts(encode(word)) for word in words], alphabet=self._alphabet)
        if self._asked.kind == "module":
            module, threshold = Module(self._network), self._asked.threshold
            return wrap(module, self._alphabet, threshold=threshold, output="logit", threads=1)
        model = CompiledNetwork(self._network, threads=1)
        return complement(model) if self._asked.kind == "complement" else model

    @functools.cached_property
    def short_answers(self) -> dict[Codes, bool]:
        """The original's answers to all short words."""
        words = list(_short_words(self._asked.letters))
        if self._torch is None:
            return {word: self._table.accepts(word) for word in words}
        longest = [word for word in words if len(word) == len(words[-1])]
        known: dict[Codes, bool | None] = {(): self._empty()}
        for some in self._torch.prefixes(longest):
            known |= some
        self.near = sum(yes is None for yes in known.values())
        settled = ((word, self._settled(word, known[word])) for word in words)
        return {word: yes for word, yes in settled if yes is not None}

    @functools.cached_property
    def engine_problems(self) -> list[Problem]:
        words = list(self.short_answers)
        said = self.model.accepts_batch(WordBatch.from_codes(words)).tolist()
        return [
            Problem("engine", f"says {yes}, the original {answer}", self._alphabet.decode(word))
            for (word, answer), yes in zip(self.short_answers.items(), said, strict=True)
            if yes != answer
        ]

    def answer(self, word: Codes) -> bool | None:
        """The original's; None where the network overflows."""
        if self._torch is None:
            return self._table.accepts(word)
        clear = next(self._torch.prefixes([word]))[word] if word else self._empty()
        return self._settled(word, clear)

    def _empty(self) -> bool | None:
        assert self._torch is not None
        # A module cannot be queried for the empty word; it is set to reject it.
        return False if self._asked.kind == "module" else self._torch.empty()

    def _settled(self, word: Codes, clear: bool | None) -> bool | None:
        if clear is not None:
            return clear != (self._asked.kind == "complement")
        try:
            return self.model.reference_answer(word)
        except ModelError:
            return None


class Trial:
    """A case, made."""

    def __init__(self, case: Case) -> None:
        rng = np.random.default_rng([case.seed, 1])
        self.case = case
        self.alphabet = case.model.alphabet
        self.table = Table.drawn(rng, case.states, case.model.letters)
        self.spec = Spec.from_dfa(self.table.dfa(self.alphabet))
        self.distribution = WordDistribution(self.alphabet, stop=case.stop)
        other = self.table.changed(rng, case.changes)
        self._subject = network_subject(case.model) if case.model.is_network else Subject(case.model, other)
        self.outcome = Outcome()

    def run(self) -> Outcome:
        answers = self._subject.short_answers
        self.outcome.near = self._subject.near
        self.outcome.problems += self._subject.engine_problems
        violations = {word for word, yes in answers.items() if self._broken(yes, self.table.accepts(word))}
        done = {}
        for method in self.case.methods:
            verdict = self._verdict(method)
            if isinstance(verdict, Verdict):
                done[method] = verdict
                self.outcome.verdicts[method] = verdict.outcome.value
            else:
                self._refused(method, verdict)
        for method, verdict in done.items():
            if verdict.counterexample is not None:
                word = self.alphabet.encode(verdict.counterexample)
                if self._breaks(word):
                    violations.add(word)
                else:
                    self._tell(method, "the counterexample is none", verdict.counterexample)
        for method, verdict in done.items():
            self._contradictions(method, verdict, violations, answers)
            self._replayed(method, verdict)
        return self.outcome

    def _tell(self, method: str, what: str, word: tuple[str, ...] | None = None) -> None:
        self.outcome.problems.append(Problem(method, what, word))

    def _breaks(self, word: Codes) -> bool:
        """Whether a word is a violation, by the original and the plain table."""
        answer = self._subject.answer(word)
        return answer is not None and self._broken(answer, self.table.accepts(word))

    def _broken(self, model: bool, allowed: bool) -> bool:
        return {"subset": model and not allowed, "superset": allowed and not model, "equal": model != allowed}[
            self.case.relation
        ]

    def _verdict(self, method: str) -> Verdict | RnncheckError:
        case = self.case
        settings = VerifySettings(
            learner=case.learner,
            exhaustive=case.exhaustive,
            search_steps=case.effort,
            flows=FlowSettings() if case.flows else None,
            clock=itertools.count().__next__,
        )
        try:
            return verify(
                self._subject.model,
                self.spec,
                method=method,
                relation=case.relation,
                epsilon=case.epsilon,
                gamma=GAMMA,
                distribution=self.distribution,
                seed=case.seed,
                timeout=_TICKS,
                settings=settings,
            )
        except RnncheckError as error:
            return error

    def _refused(self, method: str, error: RnncheckError) -> None:
        """That a network overflows is no failure; anything else is."""
        self.outcome.verdicts[method] = "refused"
        if not (
            self.case.model.is_network and self.case.model.cell == Cell.RNN_RELU.value and isinstance(error, ModelError)
        ):
            self._tell(method, f"ended in {type(error).__name__}: {error}")

    def _contradictions(
        self, method: str, verdict: Verdict, violations: set[Codes], answers: Mapping[Codes, bool]
    ) -> None:
        guarantee = verdict.guarantee
        if verdict.violated or guarantee is None:
            return
        for word in sorted(violations, key=len):
            letters = self.alphabet.decode(word)
            if guarantee.proof:
                self._tell(method, "a proof, and this word breaks it", letters)
            if guarantee.exact_length is not None and len(word) <= guarantee.exact_length:
                self._tell(method, f"exact up to {guarantee.exact_length}, and this word breaks it", letters)
        if verdict.satisfied and guarantee.epsilon is not None:
            mass = sum(map(self._probability, violations))
            if mass >= guarantee.epsilon:
                self._tell(method, f"violations below {guarantee.epsilon}, and those known have {mass}")
        hypothesis = verdict.hypothesis
        if hypothesis is not None and guarantee.hypothesis_epsilon is not None:
            learned = dict(zip(answers, hypothesis.accepts_batch(map(self.alphabet.decode, answers)), strict=True))
            wrong = [word for word, yes in answers.items() if self._broken(yes, bool(learned[word]))]
            mass = sum(map(self._probability, wrong))
            if mass >= guarantee.hypothesis_epsilon:
                self._tell(method, f"differences below {guarantee.hypothesis_epsilon}, and those known have {mass}")

    def _replayed(self, method: str, verdict: Verdict) -> None:
        result = replay(
            verdict, self._subject.model, ReplaySettings(words=50, seed=self.case.seed, steps=self.case.effort)
        )
        for check in result.checks:
            if check.status is Status.REFUTED:
                self._tell(method, f"replay refutes {check.name}: {check.seen}")

    def _probability(self, word: Codes) -> float:
        """Of a word under letters of equal weight, by the formula and not by the library."""
        return float(((1 - self.case.stop) / self.case.model.letters) ** len(word) * self.case.stop)


@functools.lru_cache(maxsize=1)
def network_subject(asked: Asked) -> Subject:
    """Many questions are put to one network: making it costs more than a question."""
    return Subject(asked)


def _network(asked: Asked) -> RecurrentNetwork:
    """Random weights of the usual size, times the given scale."""
    rng = np.random.default_rng([asked.seed, 3])
    cell, width, layers = Cell(asked.cell), 3, []

    def draw(*shape: int) -> np.ndarray[Any, np.dtype[np.float32]]:
        return (rng.uniform(-1, 1, size=shape) * asked.scale / np.sqrt(shape[-1])).astype(np.float32)

    for size in asked.hidden:
        rows = cell.gates * size
        layers.append(Layer(draw(rows, width), draw(rows, size), draw(rows), draw(rows)))
        width = size
    inputs = rng.normal(size=(asked.letters, 3)).astype(np.float32)
    head = draw(1, width), draw(1)
    return RecurrentNetwork(asked.alphabet, cell, inputs, tuple(layers), *head, threshold=asked.threshold)


def _short_words(letters: int) -> Iterator[Codes]:
    """All words up to the length at which there are enough."""
    count = 0
    for length in range(_MOST_LETTERS + 1):
        count += letters**length
        if count > _MOST_WORDS:
            return
        yield from itertools.product(range(letters), repeat=length)


def run_case(case: Case) -> Outcome:
    """What came of a case; of a network that its self-check refuses, nothing does."""
    try:
        trial = Trial(case)
    except RnncheckError:
        return Outcome(dict.fromkeys(case.methods, "not accepted"))
    return trial.run()


def failure_text(case: Case, problems: list[Problem]) -> str:
    return json.dumps({"case": asdict(case), "problems": [asdict(problem) for problem in problems]}, indent=1) + "\n"


def case_in(text: str) -> Case:
    """The case of a failure's file."""
    return msgspec.convert(json.loads(text)["case"], Case)
