"""From a question to its verdict: what verify, diff and prove have in common."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from rnncheck.cli.given_options import GivenOptions
from rnncheck.cli.learning_request import learning_settings
from rnncheck.cli.model_request import ModelRequest
from rnncheck.cli.output import say
from rnncheck.cli.output_files import today
from rnncheck.cli.progress import ProgressLine, progress_line, progress_text
from rnncheck.cli.reproduce_command import reproduce_command
from rnncheck.cli.results import show_result
from rnncheck.cli.spec_request import SpecRequest, assumption
from rnncheck.cli.time_limit import TimeLimit
from rnncheck.cli.verdict_text import glimpse, verdict_lines
from rnncheck.cli.word_requests import distribution, own_sequences
from rnncheck.learning.learning_task import Progress
from rnncheck.models.protocol import Model
from rnncheck.runtime.budget import BudgetExceeded
from rnncheck.runtime.files import keeps_nothing, write_atomically
from rnncheck.spec import Spec
from rnncheck.verdict.facts import Outcome
from rnncheck.verdict.value import Verdict
from rnncheck.verification.verify import never_started
from rnncheck.verification.verify_settings import VerifySettings
from rnncheck.words import Alphabet, format_word

Specification = TypeVar("Specification", bound=Spec | Model)


def answer(
    options: GivenOptions,
    model: ModelRequest,
    request: SpecRequest,
    spec_for: Callable[[Model], Specification],
    verified: Callable[[Model, Specification, TimeLimit], Verdict],
    *,
    any_label: bool = False,
) -> int:
    """Load, compile and verify within the one time limit, and report the verdict; gives its exit code."""
    limit = TimeLimit(options["timeout"])
    letters = request.alphabet
    try:
        loaded = limit.load(model, request.alphabet, options["max_length"], any_label=any_label)
        letters = loaded.alphabet
        spec = limit.spent_on("the specification was being compiled", lambda: spec_for(loaded))
        verdict = verified(loaded, spec, limit)
    except BudgetExceeded as end:
        return out_of_time(options, str(end), letters)
    return conclude(options, verdict)


def out_of_time(options: GivenOptions, reason: str, letters: Alphabet | None) -> int:
    """Report that the time ended before the work began; there is no document where the letters are not known."""
    if letters is None:
        say(f"undecided: {reason}", err=True)
        return Outcome.UNDECIDED.exit_code
    known = ("method", "relation", "epsilon", "gamma", "seed")
    terms = {name: options[name] for name in known if options.get(name) is not None}
    if options.command == "prove":
        terms["method"] = "prove"
    return conclude(options, never_started(reason, letters, **terms))


def conclude(options: GivenOptions, verdict: Verdict) -> int:
    """Report the verdict with the command that repeats it; gives its exit code."""
    settings = {**verdict.settings, "timeout": options["timeout"]}
    _report(options, msgspec.structs.replace(verdict, command=reproduce_command(options), settings=settings))
    return verdict.exit_code


def verify_settings(options: GivenOptions, alphabet: Alphabet, **others: object) -> VerifySettings:
    """The settings of a verification for a model over an alphabet; ``others`` as they are."""
    checkpoint = options["checkpoint"]
    return learning_settings(
        options,
        alphabet,
        VerifySettings,
        on_data=own_sequences(options, alphabet),
        checkpoint=None if checkpoint is None else str(checkpoint),
        resume=options["resume"],
        **others,
    )


def ask(
    question: Callable[..., Verdict],
    options: GivenOptions,
    alphabet: Alphabet,
    settings: VerifySettings,
    limit: TimeLimit,
    **others: object,
) -> Verdict:
    """Ask the question in the time that is left, and show the progress; ``others`` replace what options say."""
    assumed = limit.spent_on("the assumption was being compiled", lambda: assumption(options, alphabet))
    terms = options.pick("method", "relation", "epsilon", "gamma", "seed", "max_length", "require")
    with progress_line(quiet=options["quiet"]) as line:
        return question(
            **{**terms, **others},
            distribution=distribution(options, alphabet),
            timeout=limit.left,
            progress=shown_progress(line),
            settings=settings,
            assume=assumed,
        )


def shown_progress(line: ProgressLine) -> Callable[[Progress], None]:
    """Shows progress in one line that is rewritten, and the first violation at once in a line that stays."""
    found = False

    def show(progress: Progress) -> None:
        nonlocal found
        word = progress.counterexample
        if word is None or found:
            line(progress_text(progress))
            return
        found = True
        line.stay(f"violation found after {progress.seconds:.1f} s ({len(word)} letters): {glimpse(format_word(word))}")

    return show


def _report(options: GivenOptions, verdict: Verdict) -> None:
    """Write the files and show the verdict."""
    json_file: Path | None = options["json"]
    kept = None if json_file is None or str(json_file) == "-" else json_file
    written: list[str] = []
    # A device has no place beside it: large automata stay in the document.
    files = {} if kept is None or keeps_nothing(kept) else verdict.to_files(kept)
    document = verdict.to_json() if kept is None or not files else files.pop(kept)

    def write_automaton(path: Path) -> None:
        write_atomically(path, files[path])
        written.append(f"automaton written to {path}")

    def write_report(path: Path) -> None:
        verdict.save_report(path, date=today(), document=None if kept is None else str(kept), ours=True)
        written.append(f"report written to {path}")

    try:
        beside = [(path, write_automaton) for path in files]
        lines = verdict_lines(verdict, in_full=options["verbose"])
        show_result(options, document, lines, [*beside, (options["report"], write_report)])
    finally:
        for line in written:
            say(line, err=True)
