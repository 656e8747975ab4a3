"""``check``: every property of a property file on every model, in this process, several, or a cluster."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

import msgspec

from rnncheck.errors import InputError, RnncheckError
from rnncheck.runtime.budget import Clock
from rnncheck.runtime.executors import Executor, open_executor
from rnncheck.suite.check_results import Check, SuiteResult
from rnncheck.suite.loaded_model import LoadedModel
from rnncheck.suite.property_file import ModelEntry, PropertyEntry, Suite
from rnncheck.suite.suite_checkpoint import SuiteCheckpoint
from rnncheck.verdict.facts import Strength, StrengthName
from rnncheck.verdict.value import AnyVerdict
from rnncheck.version import __version__

_PIECE = 8  # properties of one model that a worker does one after the other: they share what is computed


@dataclass(frozen=True)
class CheckProgress:
    """The progress of a check."""

    done: int
    total: int
    violated: int
    now: str


def check(
    suite: Suite | str | Path,
    *,
    tags: Iterable[str] = (),
    properties: Iterable[str] = (),
    models: Iterable[str] = (),
    workers: int | None = None,
    cluster: str | None = None,
    threads: int | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    require: StrengthName | Strength | None = None,
    progress: Callable[[CheckProgress], None] | None = None,
    clock: Clock = time.monotonic,
) -> SuiteResult:
    """Verify every property of a property file on every model it is about.

    ``tags``, ``properties`` and ``models`` select some. Each model is loaded once, and what one verification computed
    of sampled words the next need not; verdicts and counts are those of ``verify`` all the same, whatever the number of
    ``workers``. A model that cannot be loaded, or a property that does not compile, is an error of its own checks
    alone. With ``checkpoint`` each check is kept there when it is done; ``resume`` takes from there what has not
    changed since. With ``require`` every "satisfied" that rests on less is undecided, whatever the file requires.
    """
    began = clock()
    read = suite if isinstance(suite, Suite) else Suite.read(suite)
    if not read.models:
        raise InputError(f'{read.path}: there is no model in it; write [models.NAME] with path = "…"')
    pairs = read.selected(tags=tags, properties=properties, models=models)
    if not pairs:
        raise InputError(f"{read.path}: no property is left to verify; select others, or leave the selection out")
    if resume and checkpoint is None:
        raise InputError("there is nothing to resume from; name the checkpoint's file too (--checkpoint)")
    if require is not None:
        least = Strength.named(require).value
        pairs = tuple(
            (model, dataclasses.replace(one, options={**one.options, "require": least})) for model, one in pairs
        )
    kept = None if checkpoint is None else SuiteCheckpoint(checkpoint, resume=resume)
    run = _Run(pairs, {} if kept is None else kept.earlier(), kept, progress or (lambda _: None))
    if workers is None and cluster is None:
        run.here(threads)
    else:
        with open_executor(workers or 1, cluster) as executor:
            run.on(executor, threads or 1)
    return SuiteResult(
        suite=str(read.path),
        title=read.title,
        checks=tuple(_repeatable(one, read.path) for one in run.checks()),
        seconds=clock() - began,
        notes=tuple(run.notes),
        version=__version__,
    )


def _repeatable(one: Check, path: Path) -> Check:
    """The check with the command that repeats it."""
    if one.verdict is None:
        return one
    command = shlex.join(["rnncheck", "check", str(path), "--property", one.name, "--model", one.model])
    return msgspec.structs.replace(one, verdict=msgspec.structs.replace(one.verdict, command=command))


class _Run:
    """The work, in the order of the file; Ctrl-C ends it with what is known."""

    def __init__(
        self,
        pairs: tuple[tuple[ModelEntry, PropertyEntry], ...],
        earlier: Mapping[str, AnyVerdict],
        kept: SuiteCheckpoint | None,
        progress: Callable[[CheckProgress], None],
    ) -> None:
        self._pairs = pairs
        self._earlier = earlier
        self._kept = kept
        self._progress = progress
        self._done: dict[tuple[str, str], Check] = {}
        self._not_kept: set[str] = set()  # models
        self.notes: list[str] = []
        self._keep()  # there is something to resume from, however early the run ends

    def here(self, threads: int | None) -> None:
        """Do the checks one after the other."""
        loaded = {model.name: LoadedModel(model, threads=threads) for model, _ in self._pairs}
        try:
            for model, one in self._pairs:
                show = functools.partial(self._show_progress, model, one)
                show()
                found = loaded[model.name].check(one, self._earlier, show)
                if found.verdict is not None and found.verdict.interrupted:
                    self._done[model.name, one.name] = found  # and not kept: another run may know more
                    return
                self._take(found)
        except KeyboardInterrupt:
            return

    def on(self, executor: Executor, threads: int) -> None:
        """Have them done elsewhere; what comes back is taken in the order of the file."""
        pieces = list(self._pieces())
        futures: list[Future[list[Check]]] = [
            executor.submit(_check_piece, model, some, dict(self._earlier), threads) for model, some in pieces
        ]
        try:
            for (model, some), future in zip(pieces, futures, strict=True):
                self._show_progress(model, some[0])
                try:
                    checks = future.result()
                except RnncheckError as error:  # a worker that was lost
                    checks = [Check.of(model, one, error=str(error)) for one in some]
                for found in checks:
                    self._take(found)
        except KeyboardInterrupt:
            return

    def checks(self) -> Iterator[Check]:
        """All of them; those that were not begun say so."""
        for model, one in self._pairs:
            yield self._done.get((model.name, one.name)) or Check.of(model, one)

    def _pieces(self) -> Iterator[tuple[ModelEntry, list[PropertyEntry]]]:
        for _, group in itertools.groupby(self._pairs, key=lambda pair: pair[0].name):
            pairs = list(group)
            for start in range(0, len(pairs), _PIECE):
                yield pairs[0][0], [one for _, one in pairs[start : start + _PIECE]]

    def _take(self, found: Check) -> None:
        self._done[found.model, found.name] = found
        self._keep(found)
        about_code = found.fingerprint is None and found.verdict is not None and found.verdict.model_facts
        if self._kept is not None and about_code and found.model not in self._not_kept:
            self._not_kept.add(found.model)
            self.notes.append(
                f"checks of the model {found.model} are not kept, and --resume repeats them: it runs code, and "
                'whether that still does the same is unknown; write fingerprint = "…" into '
                f"[models.{found.model}], a text that you change whenever the model changes"
            )

    def _keep(self, found: Check | None = None) -> None:
        if self._kept is not None:
            try:
                self._kept.save(found)
            except InputError as error:  # a full disk costs no check
                self._kept = None
                self.notes.append(f"{error}; the work went on, but cannot be resumed from there")

    def _show_progress(self, model: ModelEntry, one: PropertyEntry, _: object = None) -> None:
        violated = sum(check.outcome == "violated" for check in self._done.values())
        self._progress(CheckProgress(len(self._done), len(self._pairs), violated, f"{one.name} of {model.name}"))


def _check_piece(
    model: ModelEntry, properties: list[PropertyEntry], earlier: dict[str, AnyVerdict], threads: int
) -> list[Check]:
    """A piece of the work in another process."""
    loaded = LoadedModel(model, threads=threads)
    return [loaded.check(one, earlier) for one in properties]
