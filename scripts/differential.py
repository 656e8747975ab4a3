"""Random models × random specifications × methods × relations, held against brute force and against one another.

    python scripts/differential.py --seconds 600            go on for so long; exit 1 at the first contradiction
    python scripts/differential.py --cases 100 --seed 3     so many cases
    python scripts/differential.py --replay differential-3-17.json

A case fails when a counterexample is not confirmed by the model's own definition and by a plain walk through the
specification's table; when "exact up to n" or a proof is contradicted by a word; when the violations that are known
have together, exactly, as much probability as a "satisfied" leaves room for, or more; or when replaying the verdict
refutes it. The failing case is written to a file that repeats it. γ is one in a million: bad luck plays no part. That a
network overflows on a word is a refusal and no failure.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rnncheck import Alphabet, Spec, Verdict, WordDistribution, verify, wrap
from rnncheck.automata.dfa import DFA
from rnncheck.errors import ModelError, RnncheckError
from rnncheck.models.adapters import DFAModel
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.network import Cell, Layer, RecurrentNetwork
from rnncheck.models.protocol import Model
from rnncheck.runtime.files import write_atomically
from rnncheck.verdict.replay import ReplaySettings, Status, replay
from rnncheck.verification.settings import VerifySettings
from rnncheck.words import Codes

METHODS = ("auto", "pdv", "smc", "aamc")
RELATIONS = ("subset", "superset", "equal")
LEARNERS = ("ttt", "kv", "lstar")
GAMMA = 1e-6
_MOST_WORDS = 1500  # that brute force asks


@dataclass(frozen=True)
class Case:
    """Everything that a comparison depends on; it goes into the file as it is."""

    seed: int
    model: str  # network, automaton, function
    cell: str
    hidden: tuple[int, ...]
    scale: float
    letters: int
    states: int
    changes: int  # in how many states an automaton differs from the specification
    stop: float
    epsilon: float
    learner: str
    exhaustive: int | None
    relation: str

    @classmethod
    def drawn(cls, seed: int) -> Case:
        rng = np.random.default_rng(seed)
        return cls(
            seed=seed,
            model=str(rng.choice(["network", "network", "automaton", "function"])),
            cell=str(rng.choice([cell.value for cell in Cell])),
            hidden=tuple(rng.integers(1, 9, size=rng.integers(1, 3)).tolist()),
            scale=float(rng.choice([0.5, 1.0, 2.0, 4.0])),
            letters=int(rng.integers(1, 4)),
            states=int(rng.integers(1, 9)),
            changes=int(rng.integers(0, 2)),
            stop=float(rng.choice([0.1, 0.3, 0.5])),
            epsilon=float(rng.choice([0.01, 0.05])),
            learner=str(rng.choice(LEARNERS)),
            exhaustive=[None, 0, 3, 6][int(rng.integers(4))],
            relation=str(rng.choice(RELATIONS)),
        )


@dataclass(frozen=True)
class Problem:
    """One contradiction."""

    method: str
    what: str
    word: tuple[str, ...] | None = None


class Table:
    """The specification, walked letter by letter; shares no code with the library's automata."""

    def __init__(self, rng: np.random.Generator, states: int, letters: int) -> None:
        self.rows: list[list[int]] = rng.integers(states, size=(states, letters)).tolist()
        self.accepting: list[bool] = (rng.random(states) < 0.5).tolist()

    def accepts(self, word: Codes) -> bool:
        state = 0
        for letter in word:
            state = self.rows[state][letter]
        return self.accepting[state]

    def dfa(self, alphabet: Alphabet) -> DFA:
        return DFA(alphabet, self.rows, self.accepting)

    def changed(self, rng: np.random.Generator, changes: int) -> Table:
        other = Table.__new__(Table)
        other.rows, other.accepting = self.rows, list(self.accepting)
        for state in rng.integers(len(self.rows), size=changes).tolist():
            other.accepting[state] = not other.accepting[state]
        return other


class Trial:
    """A case, made."""

    def __init__(self, case: Case) -> None:
        rng = np.random.default_rng([case.seed, 1])
        self.case = case
        self.alphabet = Alphabet([chr(ord("a") + letter) for letter in range(case.letters)])
        self.table = Table(rng, case.states, case.letters)
        self.spec = Spec.from_dfa(self.table.dfa(self.alphabet))
        self.distribution = WordDistribution(self.alphabet, stop=case.stop)
        self.model = self._model(rng)

    def _model(self, rng: np.random.Generator) -> Model:
        if self.case.model == "network":
            return CompiledNetwork(_network(self.case, self.alphabet, rng), threads=1)
        other = self.table.changed(rng, self.case.changes)
        if self.case.model == "automaton":
            return DFAModel(other.dfa(self.alphabet))
        return wrap(lambda words: [other.accepts(self.alphabet.encode(word)) for word in words], alphabet=self.alphabet)

    @property
    def _may_overflow(self) -> bool:
        return self.case.model == "network" and self.case.cell == Cell.RNN_RELU.value

    def breaks(self, word: Codes) -> bool:
        """Whether a word is a violation, by the model's definition and the plain table."""
        return self._broken(self.model.reference_answer(word), self.table.accepts(word))

    def _broken(self, model: bool, allowed: bool) -> bool:
        return {"subset": model and not allowed, "superset": allowed and not model, "equal": model != allowed}[
            self.case.relation
        ]

    def problems(self) -> list[Problem]:
        short = list(_short_words(self.case.letters))
        answers = {word: self.model.reference_answer(word) for word in short}
        violations = {word for word in short if self._broken(answers[word], self.table.accepts(word))}
        verdicts = {method: self._verdict(method) for method in METHODS}
        found = [Problem(method, text) for method, text in self._refused(verdicts)]
        done = {method: verdict for method, verdict in verdicts.items() if isinstance(verdict, Verdict)}
        for method, verdict in done.items():
            if verdict.counterexample is not None:
                word = self.alphabet.encode(verdict.counterexample)
                if self.breaks(word):
                    violations.add(word)
                else:
                    found.append(Problem(method, "the counterexample is none", verdict.counterexample))
        for method, verdict in done.items():
            found += self._contradictions(method, verdict, violations, answers)
            found += self._replayed(method, verdict)
        return found

    def _verdict(self, method: str) -> Verdict | RnncheckError:
        case = self.case
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
                timeout=20.0,
                settings=VerifySettings(learner=case.learner, exhaustive=case.exhaustive, search_steps=20_000),
            )
        except RnncheckError as error:
            return error

    def _refused(self, verdicts: dict[str, Verdict | RnncheckError]) -> Iterator[tuple[str, str]]:
        for method, verdict in verdicts.items():
            if isinstance(verdict, RnncheckError) and not (self._may_overflow and isinstance(verdict, ModelError)):
                yield method, f"ended in {type(verdict).__name__}: {verdict}"

    def _contradictions(
        self, method: str, verdict: Verdict, violations: set[Codes], answers: dict[Codes, bool]
    ) -> Iterator[Problem]:
        guarantee = verdict.guarantee
        if verdict.violated or guarantee is None:
            return
        for word in sorted(violations, key=len):
            letters = self.alphabet.decode(word)
            if guarantee.proof:
                yield Problem(method, "a proof, and this word breaks it", letters)
            if guarantee.exact_length is not None and len(word) <= guarantee.exact_length:
                yield Problem(method, f"exact up to {guarantee.exact_length}, and this word breaks it", letters)
        if verdict.satisfied and guarantee.epsilon is not None:
            mass = sum(map(self._probability, violations))
            if mass >= guarantee.epsilon:
                yield Problem(method, f"violations below {guarantee.epsilon}, and those known have {mass}")
        hypothesis = verdict.hypothesis
        if hypothesis is not None and guarantee.hypothesis_epsilon is not None:
            learned = dict(zip(answers, hypothesis.accepts_batch(map(self.alphabet.decode, answers)), strict=True))
            wrong = [word for word, yes in answers.items() if self._broken(yes, bool(learned[word]))]
            mass = sum(map(self._probability, wrong))
            if mass >= guarantee.hypothesis_epsilon:
                yield Problem(method, f"differences below {guarantee.hypothesis_epsilon}, and those known have {mass}")

    def _replayed(self, method: str, verdict: Verdict) -> Iterator[Problem]:
        settings = ReplaySettings(words=50, seed=self.case.seed, steps=20_000)
        result = replay(verdict, self.model, settings)
        for check in result.checks:
            if check.status is Status.REFUTED:
                yield Problem(method, f"replay refutes {check.name}: {check.seen}")

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
    return RecurrentNetwork(alphabet, cell, inputs, tuple(layers), draw(1, width), draw(1))


def _short_words(letters: int) -> Iterator[Codes]:
    """All words up to the length at which there are enough."""
    count = 0
    for length in itertools.count():
        if count + letters**length > _MOST_WORDS or length > 60:
            return
        count += letters**length
        yield from itertools.product(range(letters), repeat=length)


def run_case(case: Case) -> list[Problem]:
    """What is wrong in one case; nothing, if all is well. A network that is refused by its self-check is no case."""
    try:
        trial = Trial(case)
    except RnncheckError:
        return []
    return trial.problems()


def failure_text(case: Case, problems: list[Problem]) -> str:
    return json.dumps({"case": asdict(case), "problems": [asdict(problem) for problem in problems]}, indent=1) + "\n"


def case_in(text: str) -> Case:
    """The case of a failure's file."""
    given = json.loads(text)["case"]
    return Case(**{**given, "hidden": tuple(given["hidden"])})


def _seeds(options: argparse.Namespace) -> Iterator[int]:
    end = time.monotonic() + options.seconds if options.seconds else float("inf")
    most = options.cases or (10**9 if options.seconds else 100)
    for number in range(most):
        if time.monotonic() > end:
            return
        yield options.seed * 1_000_000 + number


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--cases", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path())
    parser.add_argument("--replay", type=Path, metavar="FILE")
    options = parser.parse_args()
    if options.replay:
        problems = run_case(case_in(options.replay.read_text()))
        sys.stdout.write("".join(f"{problem}\n" for problem in problems) or "all is well\n")
        return 1 if problems else 0
    done = failed = 0
    for seed in _seeds(options):
        case = Case.drawn(seed)
        problems = run_case(case)
        done += 1
        if problems:
            failed += 1
            file = options.out / f"differential-{seed}.json"
            write_atomically(file, failure_text(case, problems))
            sys.stdout.write(f"{file}: {problems[0]}\n")
    sys.stdout.write(f"{done} cases, {done * len(METHODS)} verdicts, {failed} failed\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
