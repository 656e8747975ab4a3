"""A run's results as values: the result of every method for every specification, and how the methods compare."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from rnncheck.errors import FormatError, short_repr
from rnncheck.experiments.folder import RunFolder
from rnncheck.experiments.runner import Shard, VerdictPiece
from rnncheck.experiments.subjects import stored_facts


@dataclass(frozen=True)
class Result:
    """One verification of a run, in the figures that tables and plots need."""

    subject: str
    spec: str
    method: str
    verdict: str
    seconds: float
    words: int  # whose answer was used: what the paper counts as queries
    queries: int
    steps: int
    length: int | None  # of the counterexample
    states: int | None  # of the last hypothesis
    flows: int
    reason: str
    counterexample: tuple[str, ...] | None

    @property
    def instance(self) -> str:
        return f"{self.subject}/{self.spec}"

    @property
    def violated(self) -> bool:
        return self.verdict == "violated"


@dataclass(frozen=True)
class RunResults:
    """All finished pieces of a run.

    ``expected`` counts the verifications there will be, of networks made so far; ``missing`` are the networks that are
    still to be made, ``shard`` the part of the run that this is, where it is not the whole.
    """

    kind: str
    settings: Mapping[str, object]
    subjects: Mapping[str, Mapping[str, object]]
    results: tuple[Result, ...]
    expected: int
    missing: tuple[str, ...] = ()
    shard: str | None = None

    @property
    def methods(self) -> list[str]:
        """In the requested order."""
        requested = self.settings.get("methods")
        order = [str(method) for method in requested] if isinstance(requested, list | tuple) else []
        return order or sorted({result.method for result in self.results})

    def of(self, method: str) -> list[Result]:
        return [result for result in self.results if result.method == method]

    def shortest_counterexample(self, subject: str) -> tuple[str, ...] | None:
        """Of all methods and specifications, the first in the order of letters among equals."""
        words = [result.counterexample for result in self.results if result.subject == subject]
        return min((word for word in words if word is not None), key=lambda word: (len(word), word), default=None)

    @property
    def complete(self) -> bool:
        return len(self.results) == self.expected and not self.missing


def read_results(folder: RunFolder) -> RunResults:
    """What is finished of a run."""
    subjects, expected = {}, 0
    methods = len(_methods(folder))
    for name in folder.names("subjects"):
        facts, specs = stored_facts(folder, name)
        subjects[name] = facts
        expected += methods * len(specs)
    results = tuple(_stored_result(folder, f"verdicts/{name}.json") for name in folder.names("verdicts"))
    shard = None if folder.manifest.shard is None else Shard.parse(folder.manifest.shard)
    names = [name for at, name in enumerate(folder.manifest.networks) if shard is None or shard.holds(at)]
    missing = tuple(name for name in names if name not in subjects)
    return RunResults(
        folder.manifest.kind, folder.manifest.settings, subjects, results, expected, missing, folder.manifest.shard
    )


def _methods(folder: RunFolder) -> list[str]:
    methods = folder.manifest.settings.get("methods")
    if not isinstance(methods, list) or not all(isinstance(method, str) for method in methods):
        raise FormatError(
            f"the run's methods are {short_repr(methods)}, not a list of names; is this the folder of a benchmark?",
            str(folder.path),
        )
    return methods


def _stored_result(folder: RunFolder, name: str) -> Result:
    piece = folder.read_json(name, VerdictPiece)
    try:
        return _result(piece)
    except (KeyError, TypeError, ValueError, OverflowError) as error:  # figures that are missing, or are no figures
        raise FormatError(
            f"this piece of the run is damaged ({type(error).__name__}: {short_repr(str(error))}); delete the file "
            "and run the same command again: only this piece is repeated",
            str(folder.place(name)),
        ) from None


def _result(piece: VerdictPiece) -> Result:
    document = piece.verdict
    word, used = document.counterexample, document.cost.words_used
    return Result(
        subject=piece.subject,
        spec=piece.spec,
        method=piece.method,
        verdict=document.outcome.value,
        seconds=document.cost.seconds,
        words=document.cost.membership_queries if used is None else used,
        queries=document.cost.membership_queries,
        steps=document.cost.network_steps,
        length=None if word is None else len(word),
        states=None if document.learned is None else document.learned.states,
        flows=len(document.faulty_flows),
        reason=document.reason,
        counterexample=None if word is None else tuple(word),
    )


@dataclass(frozen=True)
class MethodSummary:
    """A row of the table: a method over all its instances. Averages are None where there is nothing to average."""

    method: str
    instances: int
    mistakes: int
    satisfied: int
    undecided: int
    average_seconds: float | None
    median_seconds: float | None
    average_length: float | None
    average_words: float | None
    average_queries: float | None
    average_steps: float | None
    average_states: float | None
    with_flows: int
    contradicted: int  # "satisfied" although another method has a counterexample


def summarise(run: RunResults) -> list[MethodSummary]:
    """A row for each method."""
    mistaken = {result.instance for result in run.results if result.violated}
    return [_summary(method, run.of(method), mistaken) for method in run.methods]


def _summary(method: str, results: Sequence[Result], mistaken: set[str]) -> MethodSummary:
    def count(verdict: str) -> int:
        return sum(result.verdict == verdict for result in results)

    def average(figure: Callable[[Result], float | None]) -> float | None:
        return _mean(figure(result) for result in results)

    return MethodSummary(
        method=method,
        instances=len(results),
        mistakes=count("violated"),
        satisfied=count("satisfied"),
        undecided=count("undecided"),
        average_seconds=average(lambda result: result.seconds),
        median_seconds=statistics.median(result.seconds for result in results) if results else None,
        average_length=average(lambda result: result.length),
        average_words=average(lambda result: result.words),
        average_queries=average(lambda result: result.queries),
        average_steps=average(lambda result: result.steps),
        average_states=average(lambda result: result.states),
        with_flows=sum(result.flows > 0 for result in results),
        contradicted=sum(result.verdict == "satisfied" and result.instance in mistaken for result in results),
    )


def overlaps(run: RunResults) -> dict[tuple[str, str], list[str]]:
    """For each two methods the instances in which the first found a mistake and the second, also run, did not."""
    found = {method: {result.instance for result in run.of(method) if result.violated} for method in run.methods}
    run_on = {method: {result.instance for result in run.of(method)} for method in run.methods}
    return {
        (one, other): sorted((found[one] - found[other]) & run_on[other])
        for one in run.methods
        for other in run.methods
        if one != other
    }


def _mean(figures: Iterable[float | None]) -> float | None:
    known = [figure for figure in figures if figure is not None]
    return statistics.fmean(known) if known else None
