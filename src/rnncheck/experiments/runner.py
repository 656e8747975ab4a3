"""Every network × specification × method, in any order, on any executor, each piece written when it is finished."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

import msgspec
import numpy as np

from rnncheck.automata.dfa import DFA
from rnncheck.errors import InputError, RnncheckError
from rnncheck.experiments.folder import RunFolder
from rnncheck.experiments.subjects import Source, Subject, store_subject, stored_facts, stored_subject
from rnncheck.extraction import ExtractionName
from rnncheck.learning.learners import LearnerName
from rnncheck.models.engine.compiled import compiled_or_stepped
from rnncheck.models.network import RecurrentNetwork
from rnncheck.probability.confidence import Bound, Confidence
from rnncheck.probability.distributions import WordDistribution
from rnncheck.relations import Relation, RelationName
from rnncheck.runtime.executors import Executor
from rnncheck.runtime.files import remove_leftovers
from rnncheck.search.flows import FlowSettings
from rnncheck.spec import Spec
from rnncheck.verdict.facts import MethodName
from rnncheck.verdict.value import AnyVerdict, Verdict
from rnncheck.verification.methods import COMPARED, METHODS, PRINTED
from rnncheck.verification.verify import verify
from rnncheck.verification.verify_settings import VerifySettings
from rnncheck.words import Alphabet

AS_PRINTED = "_printed"  # after the name of a method: as the paper prints it
_TICK = 0.5  # seconds between two reports of progress


class Questions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The questions about every network and specification."""

    methods: tuple[str, ...] = COMPARED
    relation: RelationName = "subset"
    epsilon: float = Confidence.epsilon
    gamma: float = Confidence.gamma
    timeout: float = 600.0
    seed: int = 0
    bound: Bound = Confidence.bound
    learner: LearnerName = VerifySettings.learner
    extraction: ExtractionName = VerifySettings.extraction
    stop: float = 0.01
    min_hits: int = msgspec.field(default=FlowSettings.min_hits, name="hits")
    shrink: bool = True

    def __post_init__(self) -> None:
        unknown = [method for method in self.methods if own_name(method) not in METHODS]
        if unknown or not self.methods:
            raise InputError(f"unknown methods {unknown}; choose some of {', '.join(METHODS)}")
        if len(set(self.methods)) < len(self.methods):
            raise InputError(f"methods {', '.join(self.methods)}: give each of them once")
        Relation.named(self.relation)
        Confidence(self.epsilon, self.gamma, self.bound)
        WordDistribution(Alphabet(["a"]), stop=self.stop)
        if not self.timeout > 0:
            raise InputError(f"timeout {self.timeout} is not a positive number of seconds")

    def settings(self, method: str) -> VerifySettings:
        """The settings of a method: as requested, or as the paper prints it."""
        flows = FlowSettings(min_hits=self.min_hits)
        if method.endswith(AS_PRINTED):
            return VerifySettings.faithful(flows=flows)
        return VerifySettings(
            bound=self.bound, learner=self.learner, extraction=self.extraction, shrink=self.shrink, flows=flows
        )


def as_printed(methods: Iterable[str]) -> tuple[str, ...]:
    """The methods, and beside each that the paper prints the same as printed."""
    return tuple(name for method in methods for name in (method, *([method + AS_PRINTED] * (method in PRINTED))))


def own_name(method: str) -> MethodName:
    """What ``verify``, and the paper, call a method of a run."""
    return cast(MethodName, method.removesuffix(AS_PRINTED))


def method_label(method: str) -> str:
    """The description of a method for reports."""
    return f"{own_name(method)}, as printed" if method.endswith(AS_PRINTED) else method


class VerdictPiece(msgspec.Struct, forbid_unknown_fields=True):
    """A verification of the run, finished."""

    schema: Literal["rnncheck/piece/1"]
    subject: str
    spec: str
    method: str
    verdict: AnyVerdict


@dataclass(frozen=True)
class Shard:
    """Part ``number`` of ``of``, counted from 1; subjects are dealt out in turn."""

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        match = re.fullmatch(r"(\d+)/(\d+)", text)
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise InputError(f"shard {text!r} is not I/N with I from 1 to N, such as 3/8")
        return cls(int(match[1]), int(match[2]))

    def holds(self, position: int) -> bool:
        return position % self.of == self.number - 1

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


@dataclass(frozen=True)
class RunProgress:
    """The progress of a run. More pieces become known as networks are finished."""

    finished: int
    known: int
    running: tuple[str, ...]
    seconds: float


@dataclass
class _ExperimentRun:
    folder: RunFolder
    source: Source
    questions: Questions
    executor: Executor
    resumable: bool  # whether workers see our files, so that half a training can be kept
    pending: dict[Future[Any], Callable[[Any], None]] = field(default_factory=dict)
    names: dict[Future[Any], str] = field(default_factory=dict)
    failures: list[tuple[str, Exception]] = field(default_factory=list)
    finished: int = 0

    def begin(self, name: str) -> None:
        """Have a subject made, or, where it is there already, have it verified."""
        part = self.folder.place(f"part/{name}.checkpoint")
        if self.folder.has(f"subjects/{name}.json"):
            _forget(part)  # it is still there where the run was killed between the two
            self.finished += 1
            self._ask(name)
            return
        if self.resumable:
            part.parent.mkdir(exist_ok=True)
        checkpoint = str(part) if self.resumable else None

        def made(subject: Subject) -> None:
            store_subject(self.folder, name, subject)
            _forget(part)
            self._ask(name, subject)

        self._submit(name, made, self.source.make, name, checkpoint)

    def _ask(self, name: str, subject: Subject | None = None) -> None:
        specs = stored_facts(self.folder, name)[1]
        open_questions = []
        for spec in specs:
            for method in self.questions.methods:
                piece = f"{name}-{spec}-{method}"
                if self._is_answered(piece, spec, subject):
                    self.finished += 1
                else:
                    open_questions.append((piece, spec, method))
        if open_questions and subject is None:
            subject = stored_subject(self.folder, name)
        for piece, spec, method in open_questions:
            if subject is not None:
                self._verify(piece, name, spec, method, subject)

    def _is_answered(self, piece: str, spec: str, made_now: Subject | None) -> bool:
        """Whether the piece is there; one about an earlier network or specification of the same name is not it."""
        if not self.folder.has(f"verdicts/{piece}.json"):
            return False
        document = self.folder.read_json(f"verdicts/{piece}.json", VerdictPiece).verdict
        if made_now is None:
            return True
        question = (document.model_facts.get("sha256"), document.spec_facts.sha256)
        return question == (
            made_now.network.sha256(),
            Spec.from_dfa(made_now.specs[spec]).over(made_now.network.alphabet).sha256(),
        )

    def _verify(self, piece: str, name: str, spec: str, method: str, subject: Subject) -> None:
        def answered(document: AnyVerdict) -> None:
            self.folder.write_json(
                f"verdicts/{piece}.json", VerdictPiece("rnncheck/piece/1", name, spec, method, document)
            )

        self._submit(piece, answered, verify_piece, subject.network, subject.specs[spec], method, piece, self.questions)

    def _submit(self, name: str, done: Callable[[Any], None], function: Callable[..., Any], *arguments: Any) -> None:
        future = self.executor.submit(function, *arguments)
        self.pending[future] = done
        self.names[future] = name

    def collect(self, future: Future[Any]) -> None:
        """Keep a finished piece. A failure is reported at the end: the others are still useful."""
        done, name = self.pending.pop(future), self.names.pop(future)
        try:
            value = future.result()
        except Exception as error:  # out of memory, say, or a worker's library that is broken: it need not be ours
            self.failures.append((name, error))
            return
        done(value)
        self.finished += 1


def _forget(part: Path) -> None:
    """Remove the checkpoints of a training, one for each draw."""
    for file in part.parent.glob(f"{part.name}*"):
        file.unlink(missing_ok=True)


def run_experiment(
    folder: RunFolder,
    source: Source,
    questions: Questions,
    executor: Executor,
    *,
    shard: Shard | None = None,
    resumable: bool = True,
    progress: Callable[[RunProgress], None] = lambda now: None,
) -> None:
    """Do what is left of a run. What is finished is not repeated; what fails is named when all else is done."""
    began = time.monotonic()
    with folder.locked(), _leftovers_removed(folder):
        run = _ExperimentRun(folder, source, questions, executor, resumable)
        for position, name in enumerate(source.names()):
            if shard is None or shard.holds(position):
                run.begin(name)
        while run.pending:
            ready, _ = wait(run.pending, timeout=_TICK, return_when=FIRST_COMPLETED)
            for future in ready:
                run.collect(future)
            running = tuple(name for future, name in run.names.items() if future.running())
            known = run.finished + len(run.failures) + len(run.pending)
            progress(RunProgress(run.finished, known, running, time.monotonic() - began))
    if run.failures:
        name, error = run.failures[0]
        kind = "" if isinstance(error, RnncheckError) else f"{type(error).__name__} "
        what = f"{kind}{error}".strip()
        more = "" if len(run.failures) == 1 else f" (and {len(run.failures) - 1} more)"
        raise RnncheckError(f"a piece failed, the others are kept: {name}: {what}{more}") from error


def verify_piece(network: RecurrentNetwork, spec: DFA, method: str, piece: str, questions: Questions) -> Verdict:
    """One verification, with one thread and a seed of its own: the same wherever and beside whatever it runs."""
    seed = int(np.random.default_rng([questions.seed, *piece.encode()]).integers(2**31))
    return verify(
        compiled_or_stepped(network, threads=1),
        spec,
        method=own_name(method),
        relation=questions.relation,
        epsilon=questions.epsilon,
        gamma=questions.gamma,
        distribution=WordDistribution(network.alphabet, stop=questions.stop),
        seed=seed,
        timeout=questions.timeout,
        settings=questions.settings(method),
    )


@contextlib.contextmanager
def _leftovers_removed(folder: RunFolder) -> Iterator[None]:
    """Delete files that a killed run was writing."""
    for part in ("subjects", "verdicts", "part"):
        remove_leftovers(folder.path / part)
    yield
    with contextlib.suppress(OSError):
        (folder.path / "part").rmdir()
