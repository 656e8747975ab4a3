"""``rnncheck replay``: check a verdict again, independently of what wrote it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from rnncheck.checker import Replay, ReplaySettings, Status
from rnncheck.checker import replay as replay_document
from rnncheck.checker.claimed_document import Claims, read_claims
from rnncheck.cli.command import command as make_command
from rnncheck.cli.given_options import GivenOptions
from rnncheck.cli.model_request import ModelRequest
from rnncheck.cli.output import Line, say
from rnncheck.cli.progress import progress_line
from rnncheck.cli.results import result_document, show_result
from rnncheck.cli.time_limit import TimeLimit
from rnncheck.cli.word_requests import own_sequences, word_format
from rnncheck.errors import FormatError, InputError
from rnncheck.models.protocol import Model
from rnncheck.runtime.budget import BudgetExceeded
from rnncheck.runtime.files import read_limited
from rnncheck.verdict.certificate import Certificate, is_certificate
from rnncheck.word_files import read_words
from rnncheck.words import Alphabet

_COLOURS = {Status.CONFIRMED: "green", Status.REFUTED: "red", Status.OPEN: "yellow", Status.UNCHECKED: None}


@make_command("replay", click.Argument(["verdict"], type=click.Path(path_type=Path)))
def command(options: GivenOptions) -> int:
    """Check a verdict or a proof again, independently, and show what was checked and what was not.

    VERDICT is the JSON document that `verify --json` wrote, or the certificate that `prove --certificate` wrote. Exit
    codes: 0 its claims were checked and hold (of a sample, what fresh words can show), 1 something in it is wrong,
    2 the model is not the one that it names, or bad input, 3 something that matters could not be checked: without the
    network that is nearly always the case.
    """
    if options["model"] is not None and options["module"] is not None:
        raise click.UsageError("give --model or --module, not both")
    if options["against"] is not None and options["against_module"] is not None:
        raise click.UsageError("give --against or --against-module, not both")
    try:
        result = _Replaying(options, TimeLimit(options["timeout"])).result()
    except BudgetExceeded as end:
        say(f"undecided: {end}, so nothing was checked; raise --timeout", err=True)
        return Status.OPEN.exit_code
    facts = {"status": result.status, "sentence": result.sentence(), "checks": result.checks}
    show_result(options, result_document(options, **facts), _lines(result))
    return result.exit_code


@dataclass(frozen=True)
class _Replaying:
    """The document is checked, and the models are loaded and queried, within the time."""

    options: GivenOptions
    limit: TimeLimit

    def result(self) -> Replay:
        path: Path = self.options["verdict"]
        text = _read(path)
        if is_certificate(text):
            proof = Certificate.from_json(text, str(path))
            settings = self.options.settings(ReplaySettings)
            return self._replay(proof, self._model(proof.alphabet), settings)
        claims = read_claims(text, str(path), path.parent)
        compared, letters = claims.verdict.comparison, claims.verdict.alphabet
        by_label = claims.verdict.label_question is not None or (compared is not None and compared.by_label)
        model = self._model(letters, any_label=by_label)
        old = self._model(letters, "against", any_label=by_label)
        return self._replay(claims, model, self._settings(path, claims), old)

    def _settings(self, path: Path, claims: Claims) -> ReplaySettings:
        """The settings, with the contents of the files of which the document has the digests alone."""
        options, letters = self.options, claims.verdict.alphabet
        like, given = options["words_like"], options["certificate"]
        return options.settings(
            ReplaySettings,
            words_like=None if like is None else tuple(read_words(like, letters, word_format(options))),
            on_data=own_sequences(options, letters),
            certificate=_certificate(path, claims) if given is None else _read_certificate(given),
        )

    def _replay(
        self, document: Claims | Certificate, model: Model | None, settings: ReplaySettings, old: Model | None = None
    ) -> Replay:
        with progress_line(quiet=self.options["quiet"]) as show:
            return replay_document(document, model, settings, against=old, timeout=self.limit.left, progress=show)

    def _model(self, otherwise: Alphabet, side: str = "", *, any_label: bool = False) -> Model | None:
        """The model by its own alphabet or the one given, the document's where it has none; None unless named."""
        options, prefix = self.options, f"{side}_" if side else ""
        path, module = options[side or "model"], options[f"{prefix}module"]
        if path is None and module is None:
            return None
        request = ModelRequest.reading(options, path=path, module=module, state=options[f"{prefix}state"])
        try:
            return self.limit.load(request, options["alphabet"], any_label=any_label)
        except InputError:
            if options["alphabet"] is not None:
                raise
            return self.limit.load(request, otherwise, any_label=any_label)


def _lines(result: Replay) -> Iterator[Line]:
    for check in result.checks:
        refuted = check.status is Status.REFUTED
        yield Line(f"\t{check.name}\t{check.seen}", check.status.value, _COLOURS[check.status], bold=refuted)
    yield Line(f": {result.sentence()}", result.status.value.upper(), _COLOURS[result.status], bold=True)


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
