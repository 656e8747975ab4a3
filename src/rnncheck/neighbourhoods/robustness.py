"""``robustness``: words in, what is known of their neighbours out, whatever happens on the way."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rnncheck.automata.dfa import DFA
from rnncheck.automata.edits import Edits, Number, distance_of, plain
from rnncheck.errors import InputError, ModelError, short_repr
from rnncheck.models.protocol import BY_REFERENCE, Model
from rnncheck.neighbourhoods.neighbourhoods import Explored, Request, explore, not_queried
from rnncheck.neighbourhoods.robustness_checkpoint import RobustCheckpoint
from rnncheck.neighbourhoods.robustness_result import Robustness, WordRobustness
from rnncheck.oracle import MembershipOracle
from rnncheck.probability.confidence import Confidence
from rnncheck.runtime.budget import INTERRUPTED, Budget, Clock
from rnncheck.runtime.executors import Executor, WorkerLostError, open_executor
from rnncheck.runtime.watchdog import watchdog
from rnncheck.spec import Spec
from rnncheck.version import __version__
from rnncheck.words import Alphabet, Word, format_word

_PIECE = 16  # words whose neighbours are queried together, in alphabetical order: they share prefixes


@dataclass(frozen=True)
class RobustnessProgress:
    """The progress of the work."""

    words: int
    done: int
    steps: int


def robust(
    model: Model,
    words: Iterable[Iterable[str]],
    *,
    distance: Number = 1,
    edits: Edits | None = None,
    spec: Spec | DFA | None = None,
    epsilon: float = Confidence.epsilon,
    gamma: float = Confidence.gamma,
    seed: int = 0,
    max_steps: int = Request.max_steps,
    timeout: float | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    checkpoint: str | None = None,
    resume: bool = False,
    progress: Callable[[RobustnessProgress], None] | None = None,
    clock: Clock = time.monotonic,
) -> Robustness:
    """Does the model give the same answer to every word within a distance of each of these words?

    All neighbours are queried, nearest first, so no word that changes the answer is nearer than the one found. If that
    would take more than ``max_steps`` network steps, boxes of network states may prove it; or else some are searched
    and drawn: a flip may be found, and otherwise the outcome is undecided, with a bound on the share of flips.
    With ``spec`` only its words count as neighbours. The same inputs and seed give the same result, whatever the number
    of ``workers``.
    """
    began = clock()
    alphabet = model.alphabet
    given = [alphabet.decode(alphabet.encode(word)) for word in words]
    language = spec.dfa if isinstance(spec, Spec) else spec
    request = Request(
        distance_of(distance),
        edits or Edits(),
        None if language is None else language.over(alphabet),
        Confidence(epsilon, gamma),
        max_steps,
        seed=seed,
    )
    _check(given, request, alphabet)
    kept = None if checkpoint is None else RobustCheckpoint(checkpoint, model, request, resume=resume)
    run = _Run(model, request, sorted(set(given)), Budget.lasting(timeout, clock=clock), kept)
    run.work(workers, cluster, progress or (lambda _: None))
    return _result(run, given, spec, clock() - began)


def _result(run: _Run, given: Sequence[Word], spec: Spec | DFA | None, seconds: float) -> Robustness:
    model, request = run.model, run.request
    facts = model.describe()
    return Robustness(
        distance=plain(request.distance),
        distances=tuple(map(plain, request.edits.distances(request.distance))),
        edits=request.edits.describe(),
        spec=None if spec is None else spec.origin if isinstance(spec, Spec) else "an automaton",
        gamma=request.confidence.gamma,
        seed=request.seed,
        words=tuple(run.result(word) for word in given),
        evaluator=str(facts.get("queries", "as the model answers")),
        reference=str(facts.get("reference", BY_REFERENCE)),
        compared=run.compared,
        notes=tuple(dict.fromkeys(run.notes)),
        network_steps=run.steps,
        seconds=seconds,
        model_sha256=None if "sha256" not in facts else str(facts["sha256"]),
        alphabet=tuple(model.alphabet),
        version=__version__,
    )


def _check(words: Sequence[Word], request: Request, alphabet: Alphabet) -> None:
    if not words:
        raise InputError("no word to look at; give at least one")
    request.edits.check_letters(alphabet)
    request.edits.unit(request.distance)
    shortest = min(words, key=len)
    if request.distance > len(shortest):
        raise InputError(
            f"distance {plain(request.distance)} is larger than the word {short_repr(format_word(shortest))} of "
            f"{len(shortest)} letters; give a smaller distance, or leave the word out"
        )
    if request.max_steps < 1:
        raise InputError(f"at most {request.max_steps} steps were allowed; give 1 or more")


class _Run:
    """The work, piece by piece."""

    def __init__(
        self, model: Model, request: Request, words: list[Word], budget: Budget, kept: RobustCheckpoint | None
    ) -> None:
        self.model = model
        self.request = request
        self.budget = budget
        self._kept = kept
        self._results: dict[Word, WordRobustness] = {} if kept is None else kept.earlier(words)
        self._total = len(words)
        left = [word for word in words if word not in self._results]
        self._pieces = [left[start : start + _PIECE] for start in range(0, len(left), _PIECE)]
        self._ended = ""
        self.compared = 0 if kept is None else kept.compared
        self.steps = 0 if kept is None else kept.steps
        self.notes: list[str] = [] if kept is None else kept.notes

    def work(self, workers: int | None, cluster: str | None, progress: Callable[[RobustnessProgress], None]) -> None:
        """Do all pieces, in this process or in the executor's workers."""
        if workers is None and cluster is None:
            with watchdog(lambda: self.budget.remaining()):
                self.here(progress)
        else:
            with open_executor(workers or 1, cluster, seconds=self.budget.remaining()) as executor:
                self.on(executor, progress)

    def here(self, progress: Callable[[RobustnessProgress], None]) -> None:
        """Do the pieces one after the other."""
        for piece in self._pieces:
            if self._ended:
                break
            oracle = MembershipOracle(self.model, budget=self.budget)

            def report(oracle: MembershipOracle = oracle) -> None:
                progress(RobustnessProgress(self._total, len(self._results), self.steps + oracle.cost.work))

            self._take(explore(oracle, self.request, piece, report))

    def on(self, executor: Executor, progress: Callable[[RobustnessProgress], None]) -> None:
        """Have them done elsewhere; what comes back is taken in their order."""
        model = executor.share(_as_it_travels(self.model))
        end = None if self.budget.deadline is None else time.time() + self.budget.remaining()
        futures = [executor.submit(_explored, model, self.request, piece, end) for piece in self._pieces]
        try:
            for piece, future in zip(self._pieces, futures, strict=True):
                try:
                    self._take(future.result())
                except WorkerLostError as error:  # which costs the piece that it had
                    self._results |= {word: not_queried(word, str(error)) for word in piece}
                progress(RobustnessProgress(self._total, len(self._results), self.steps))
        except KeyboardInterrupt:
            self._ended = INTERRUPTED

    def result(self, word: Word) -> WordRobustness:
        return self._results.get(word) or not_queried(word, self._ended or "not queried")

    def _take(self, explored: Explored) -> None:
        self._results |= {found.word: found for found in explored.words}
        self.compared += explored.compared
        self.steps += explored.steps
        self.notes += [] if explored.note is None else [explored.note]
        self._ended = self._ended or explored.ended
        if self._kept is not None and not explored.ended:
            try:
                self._kept.save(explored)
            except InputError as error:  # a full disk costs no result
                self.notes.append(f"{error}; the work went on, but could not be resumed from there")


def _as_it_travels(model: Model) -> bytes:
    try:
        return pickle.dumps(model)
    except Exception as error:  # whatever a model's own parts raise
        raise ModelError(
            f"the model cannot be sent to other processes ({short_repr(str(error), 100)}); leave out workers and "
            "cluster, or make it of functions that a module names"
        ) from None


def _explored(sent: bytes, request: Request, words: list[Word], end: float | None) -> Explored:
    """A piece of the work in another process, until a time of the clock on the wall, which all processes have.

    Every piece has a model of its own: what one leaves behind is nothing to the next, nor to one beside it.
    """
    model: Model = pickle.loads(sent)
    budget = Budget.lasting(None if end is None else max(0.0, end - time.time()))
    with watchdog(budget.remaining):
        return explore(MembershipOracle(model, budget=budget), request, words, lambda: None)
