"""One differential case: a random model and a random specification, every method's verdict, and the original to judge.

Where rounding may decide a word, its answer is that of the model's definition (``reference_answer``), and the word is
counted. A word on which a network overflows has no answer.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from differential_originals import Module, Table, TorchOriginal

from rnncheck import Alphabet, Spec, Verdict, WordDistribution, verify, wrap
from rnncheck.errors import ModelError, RnncheckError
from rnncheck.models.adapters import DFAModel, complement
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.network import Cell, Layer, RecurrentNetwork
from rnncheck.models.protocol import Model
from rnncheck.search.flows import FlowSettings
from rnncheck.verdict.replay import ReplaySettings, Status, replay
from rnncheck.verification.settings import VerifySettings
from rnncheck.words import Codes, WordBatch

METHODS = ("auto", "pdv", "smc", "aamc", "errors", "prove")
RELATIONS = ("subset", "superset", "equal")
LEARNERS = ("ttt", "kv", "lstar")
NETWORKS = ("network", "complement", "module")
MODELS = (*NETWORKS, "automaton", "function")
GAMMA = 1e-6
_MOST_WORDS = 1500  # that brute force asks
_MOST_LETTERS = 60
_METHODS_PER_CASE = 2  # enough to hold one against the other; another case is worth more than a third
_TICKS = 20_000  # readings of a clock that counts them: a time limit that does not depend on the machine


@dataclass(frozen=True)
class Case:
    """Everything that a comparison depends on; it goes into the file as it is."""

    seed: int
    model: str
    cell: str
    hidden: tuple[int, ...]
    scale: float
    threshold: float
    letters: int
    states: int
    changes: int  # in how many states an automaton differs from the specification
    stop: float
    epsilon: float
    learner: str
    exhaustive: int | None
    relation: str
    flows: bool
    methods: tuple[str, ...]

    @classmethod
    def drawn(cls, seed: int) -> Case:
        rng = np.random.default_rng(seed)
        return cls(
            seed=seed,
            model=str(rng.choice(MODELS)),
            cell=str(rng.choice([cell.value for cell in Cell])),
            hidden=tuple(rng.integers(1, 9, size=rng.integers(1, 3)).tolist()),
            scale=float(rng.choice([0.5, 1.0, 2.0, 4.0])),
            threshold=float(rng.choice([0.5, 0.5, 0.2, 0.9])),
            letters=int(rng.integers(1, 4)),
            states=int(rng.integers(1, 9)),
            changes=int(rng.integers(0, 2)),
            stop=float(rng.choice([0.1, 0.3, 0.5])),
            epsilon=float(rng.choice([0.01, 0.05])),
            learner=str(rng.choice(LEARNERS)),
            exhaustive=[None, 0, 3, 6][int(rng.integers(4))],
            relation=str(rng.choice(RELATIONS)),
            flows=bool(rng.random() < 0.3),
            methods=tuple(rng.choice(METHODS, size=_METHODS_PER_CASE, replace=False).tolist()),
        )

    @property
    def kind(self) -> str:
        return f"{self.model} {self.cell}" if self.model in NETWORKS else self.model


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


class Trial:
    """A case, made."""

    def __init__(self, case: Case) -> None:
        rng = np.random.default_rng([case.seed, 1])
        self.case = case
        self.alphabet = Alphabet([chr(ord("a") + letter) for letter in range(case.letters)])
        self.table = Table.drawn(rng, case.states, case.letters)
        self.spec = Spec.from_dfa(self.table.dfa(self.alphabet))
        self.distribution = WordDistribution(self.alphabet, stop=case.stop)
        self.outcome = Outcome()
        self._other = self.table.changed(rng, case.changes)
        self._network = _network(case, self.alphabet, rng)
        self._torch = TorchOriginal(self._network) if case.model in NETWORKS else None
        self.model = self._model()

    def _model(self) -> Model:
        if self.case.model == "module":
            return wrap(Module(self._network), self.alphabet, threshold=self.case.threshold, output="logit", threads=1)
        if self.case.model == "automaton":
            return DFAModel(self._other.dfa(self.alphabet))
        if self.case.model == "function":
            asked = self._other.accepts
            return wrap(lambda words: [asked(self.alphabet.encode(word)) for word in words], alphabet=self.alphabet)
        model = CompiledNetwork(self._network, threads=1)
        return complement(model) if self.case.model == "complement" else model

    def run(self) -> Outcome:
        answers = self._short_answers()
        self._compare_engine(answers)
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

    def _short_answers(self) -> dict[Codes, bool]:
        """The original's answers to all short words."""
        words = list(_short_words(self.case.letters))
        if self._torch is None:
            return {word: self._other.accepts(word) for word in words}
        longest = [word for word in words if len(word) == len(words[-1])]
        known: dict[Codes, bool | None] = {(): self._empty()}
        for some in self._torch.prefixes(longest):
            known |= some
        settled = ((word, self._settled(word, known[word])) for word in words)
        return {word: yes for word, yes in settled if yes is not None}

    def _empty(self) -> bool | None:
        assert self._torch is not None
        # A module cannot be asked about no letters; it is told to reject them.
        return False if self.case.model == "module" else self._torch.empty()

    def _settled(self, word: Codes, clear: bool | None) -> bool | None:
        if clear is not None:
            return clear != (self.case.model == "complement")
        self.outcome.near += 1
        try:
            return self.model.reference_answer(word)
        except ModelError:
            return None

    def _breaks(self, word: Codes) -> bool:
        """Whether a word is a violation, by the original and the plain table."""
        if self._torch is None:
            answer: bool | None = self._other.accepts(word)
        else:
            clear = next(self._torch.prefixes([word]))[word] if word else self._empty()
            answer = self._settled(word, clear)
        return answer is not None and self._broken(answer, self.table.accepts(word))

    def _broken(self, model: bool, allowed: bool) -> bool:
        return {"subset": model and not allowed, "superset": allowed and not model, "equal": model != allowed}[
            self.case.relation
        ]

    def _compare_engine(self, answers: Mapping[Codes, bool]) -> None:
        words = list(answers)
        for word, yes in zip(words, self.model.accepts_batch(WordBatch.from_codes(words)).tolist(), strict=True):
            if yes != answers[word]:
                self._tell("engine", f"says {yes}, the original {answers[word]}", self.alphabet.decode(word))

    def _verdict(self, method: str) -> Verdict | RnncheckError:
        case = self.case
        settings = VerifySettings(
            learner=case.learner,
            exhaustive=case.exhaustive,
            search_steps=20_000,
            flows=FlowSettings() if case.flows else None,
            clock=itertools.count().__next__,
        )
        try:
            return verify(
                self.model,
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
            self.case.model in NETWORKS and self.case.cell == Cell.RNN_RELU.value and isinstance(error, ModelError)
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
        result = replay(verdict, self.model, ReplaySettings(words=50, seed=self.case.seed, steps=20_000))
        for check in result.checks:
            if check.status is Status.REFUTED:
                self._tell(method, f"replay refutes {check.name}: {check.seen}")

    def _probability(self, word: Codes) -> float:
        """Of a word under letters of equal weight, by the formula and not by the library."""
        return float(((1 - self.case.stop) / self.case.letters) ** len(word) * self.case.stop)


def _network(case: Case, alphabet: Alphabet, rng: np.random.Generator) -> RecurrentNetwork:
    """Random weights of the usual size, times the case's scale."""
    cell, width, layers = Cell(case.cell), 3, []

    def draw(*shape: int) -> np.ndarray[Any, np.dtype[np.float32]]:
        return (rng.uniform(-1, 1, size=shape) * case.scale / np.sqrt(shape[-1])).astype(np.float32)

    for size in case.hidden:
        rows = cell.gates * size
        layers.append(Layer(draw(rows, width), draw(rows, size), draw(rows), draw(rows)))
        width = size
    inputs = rng.normal(size=(case.letters, 3)).astype(np.float32)
    head = draw(1, width), draw(1)
    return RecurrentNetwork(alphabet, cell, inputs, tuple(layers), *head, threshold=case.threshold)


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
    given = json.loads(text)["case"]
    return Case(**{name: tuple(value) if isinstance(value, list) else value for name, value in given.items()})
