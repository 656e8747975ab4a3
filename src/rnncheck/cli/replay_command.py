"""``rnncheck replay``: check a verdict again, independently of what wrote it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import click

from rnncheck.checker import Replay, ReplaySettings, Status
from rnncheck.checker import replay as replay_document
from rnncheck.checker.claimed_document import Claims, read_claims
from rnncheck.cli.command import Command
from rnncheck.cli.learning_options import TimeLimit
from rnncheck.cli.options import (
    ALIKE_CELLS,
    TORCHSCRIPT_HELP,
    AlphabetType,
    ModelRequest,
    label_options,
    marker_options,
    state_option,
    word_format_options,
)
from rnncheck.cli.output import Line, say
from rnncheck.cli.progress import progress_line
from rnncheck.errors import FormatError, InputError
from rnncheck.models.protocol import Model
from rnncheck.runtime.budget import BudgetExceeded
from rnncheck.runtime.files import read_limited
from rnncheck.verdict.certificate import Certificate, is_certificate
from rnncheck.word_files import WordFormat, read_sequences, read_words
from rnncheck.words import Alphabet

_COLOURS = {Status.CONFIRMED: "green", Status.REFUTED: "red", Status.OPEN: "yellow", Status.UNCHECKED: None}
_DEFAULTS = ReplaySettings()


@click.command("replay", cls=Command)
@click.argument("verdict", type=click.Path(path_type=Path))
@click.option(
    "--model", "path", type=click.Path(), metavar="MODEL", help="The network, to ask it again: a file or folder."
)
@click.option("--module", metavar="MODULE:NAME", help="Import the model from your own code, which is run.")
@state_option()
@click.option("--against", type=click.Path(), metavar="MODEL",
              help="The old network, of a verdict that compares two; --model is the new one.")  # fmt: skip
@click.option("--against-module", metavar="MODULE:NAME", help="Import the old model from your own code, which is run.")
@state_option("--against-module", "--against-state")
@click.option("--alphabet", type=AlphabetType(), help="The letters.  [default: the model's, or the verdict's]")
@click.option("--threshold", type=float, help="Accept above this probability.  [default: the file's, or 0.5]")
@label_options[0]
@label_options[1]
@click.option("--cell", type=click.Choice(ALIKE_CELLS),
              help="The activation of an Elman network whose file does not say it.")  # fmt: skip
@click.option("--threads", type=click.IntRange(min=1), help="Threads for the network.  [default: all cores]")
@click.option("--float64", is_flag=True, help="Compute in double precision.")
@click.option("--torchscript", is_flag=True, help=TORCHSCRIPT_HELP)
@marker_options[0]
@marker_options[1]
@click.option("--words", type=click.IntRange(min=0), default=_DEFAULTS.words, show_default=True, metavar="N",
              help="Fresh words to draw from the verdict's distribution.")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=_DEFAULTS.seed, show_default=True, help="For these words.")
@click.option("--words-like", type=click.Path(path_type=Path), metavar="FILE",
              help="The file that --words-like of verify was given.")  # fmt: skip
@click.option("--on-data", type=click.Path(path_type=Path), metavar="FILE",
              help="The file that --on-data of verify was given.")  # fmt: skip
@word_format_options
@click.option("--certificate", type=click.Path(path_type=Path), metavar="FILE",
              help="The certificate of a proof.  [default: the one that the verdict names]")  # fmt: skip
@click.option("--steps", type=click.IntRange(min=0), default=_DEFAULTS.steps, show_default=True, metavar="N",
              help="Network steps for each claim about many words.")  # fmt: skip
@click.option("--timeout", type=click.FloatRange(min=0), metavar="SECONDS",
              help="Stop after so long; what was not checked by then is undecided.")  # fmt: skip
@click.option("--quiet", is_flag=True, help="No progress on stderr.")
@click.pass_context
def command(
    ctx: click.Context,
    verdict: Path,
    path: str | None,
    module: str | None,
    state: Path | None,
    against: str | None,
    against_module: str | None,
    against_state: Path | None,
    alphabet: Alphabet | None,
    threshold: float | None,
    label: str | None,
    labels: Alphabet | None,
    cell: str | None,
    threads: int | None,
    float64: bool,
    torchscript: bool,
    before: str | None,
    after: str | None,
    words: int,
    seed: int,
    words_like: Path | None,
    on_data: Path | None,
    word_format: WordFormat,
    certificate: Path | None,
    steps: int,
    timeout: float | None,
    quiet: bool,
) -> None:
    """Check a verdict or a proof again, independently, and say what was checked and what was not.

    VERDICT is the JSON document that `verify --json` wrote, or the certificate that `prove --certificate` wrote. Exits
    with 0 when its claims were checked and hold (of a sample, what fresh words can show; its size is told), with 1 when
    something in it is wrong, with 2 when the model is not the one that it names, with 3 when something that matters
    could not be checked: without the network that is nearly always so.
    """
    if path is not None and module is not None:
        raise click.UsageError("give --model or --module, not both")
    if against is not None and against_module is not None:
        raise click.UsageError("give --against or --against-module, not both")
    request = ModelRequest(path, module, threshold, label, cell, threads, float64, torchscript=torchscript,
                           before=before, after=after, labels=labels, state=state)  # fmt: skip
    old = replace(request, path=against, module=against_module, state=against_state)
    settings = ReplaySettings(words, seed, steps)
    files = _Files(verdict, words_like, on_data, certificate, word_format)
    try:
        result = _Replaying(request, old, alphabet, TimeLimit(timeout), quiet).result(files, settings)
    except BudgetExceeded as end:
        say(f"undecided: {end}, so nothing was checked; raise --timeout", err=True)
        ctx.exit(Status.OPEN.exit_code)
    _say(result)
    ctx.exit(result.exit_code)


@dataclass(frozen=True)
class _Files:
    """Where the document is, and what it has the digests of alone."""

    verdict: Path
    words_like: Path | None
    on_data: Path | None
    certificate: Path | None
    word_format: WordFormat

    def settings(self, settings: ReplaySettings, claims: Claims) -> ReplaySettings:
        """The settings with what the files have."""
        letters, form = claims.verdict.alphabet, self.word_format
        like = None if self.words_like is None else tuple(read_words(self.words_like, letters, form))
        data = None if self.on_data is None else read_sequences(self.on_data, letters, form)
        given = self.certificate
        shown = _certificate(self.verdict, claims) if given is None else _read_certificate(given)
        return replace(settings, words_like=like, on_data=data, certificate=shown)


@dataclass(frozen=True)
class _Replaying:
    """The models that are asked again, loaded and asked within the time."""

    model: ModelRequest
    old: ModelRequest
    alphabet: Alphabet | None
    limit: TimeLimit
    quiet: bool

    def result(self, files: _Files, settings: ReplaySettings) -> Replay:
        text = _read(files.verdict)
        if is_certificate(text):
            proof = Certificate.from_json(text, str(files.verdict))
            return self._replayed(proof, self._loaded(self.model, proof.alphabet), settings)
        claims = read_claims(text, str(files.verdict), files.verdict.parent)
        compared, letters = claims.verdict.comparison, claims.verdict.alphabet
        by_label = claims.verdict.label_question is not None or (compared is not None and compared.by_label)
        model, old = (self._loaded(each, letters, any_label=by_label) for each in (self.model, self.old))
        return self._replayed(claims, model, files.settings(settings, claims), old)

    def _replayed(
        self, document: Claims | Certificate, model: Model | None, settings: ReplaySettings, old: Model | None = None
    ) -> Replay:
        with progress_line(quiet=self.quiet) as tell:
            return replay_document(document, model, settings, against=old, timeout=self.limit.left, progress=tell)

    def _loaded(self, request: ModelRequest, otherwise: Alphabet, *, any_label: bool = False) -> Model | None:
        """The model by its own alphabet or the one given, the document's where it has none; None unless named."""
        if request.path is None and request.module is None:
            return None
        try:
            return self.limit.load(request, self.alphabet, any_label=any_label)
        except InputError:
            if self.alphabet is not None:
                raise
            return self.limit.load(request, otherwise, any_label=any_label)


def _say(result: Replay) -> None:
    for check in result.checks:
        refuted = check.status is Status.REFUTED
        say(Line(f"\t{check.name}\t{check.seen}", check.status.value, _COLOURS[check.status], bold=refuted))
    say(Line(f": {result.sentence()}", result.status.value.upper(), _COLOURS[result.status], bold=True))


def _certificate(verdict: Path, claims: Claims) -> Certificate | None:
    """The certificate that a verdict names: where it says, or beside the verdict, where both were moved together."""
    invariant = None if claims.guarantee is None else claims.guarantee.invariant
    if invariant is None or invariant.certificate is None:
        return None
    named = Path(invariant.certificate)
    found = next((path for path in (named, verdict.parent / named.name) if path.is_file()), None)
    return None if found is None else _read_certificate(found)


def _read_certificate(path: Path) -> Certificate:
    return Certificate.from_json(_read(path), str(path))


def _read(verdict: Path) -> bytes:
    if verdict.is_dir():
        raise InputError(f"{verdict} is a folder; give the JSON document of a verdict")
    try:
        return read_limited(verdict, "verdict")
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror}", str(verdict)) from None
