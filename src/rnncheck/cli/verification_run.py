"""From a question to its verdict: what verify, diff and prove do alike."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

from rnncheck.cli.learning_options import TimeLimit, learning_fields, progress_text
from rnncheck.cli.options import (
    ModelRequest,
    SpecRequest,
    own_sequences,
)
from rnncheck.cli.output import say
from rnncheck.cli.output_files import today
from rnncheck.cli.progress import ProgressLine, progress_line
from rnncheck.cli.reproduce_command import command_line
from rnncheck.cli.results import tell_result
from rnncheck.cli.verdict_text import described, glimpse
from rnncheck.learning.learning_task import Progress
from rnncheck.models.protocol import Model
from rnncheck.runtime.budget import BudgetExceeded
from rnncheck.runtime.files import keeps_nothing, write_atomically
from rnncheck.spec import Spec
from rnncheck.verdict.facts import Outcome
from rnncheck.verdict.value import Verdict
from rnncheck.verification.verify import never_begun
from rnncheck.verification.verify_settings import VerifySettings
from rnncheck.words import Alphabet, format_word

Asked = TypeVar("Asked", bound=Spec | Model)


def answer(
    ctx: click.Context,
    model: ModelRequest,
    request: SpecRequest,
    choices: dict[str, Any],
    spec_for: Callable[[Model], Asked],
    verified: Callable[[Model, Asked, TimeLimit], Verdict],
) -> None:
    """Load, compile and verify within the one time limit, tell the verdict, and exit with its code."""
    limit = TimeLimit(choices["timeout"])
    letters = request.alphabet
    any_label = any(choices.get(name) is not None for name in ("trace_ltlf", "trace_regex"))
    try:
        loaded = limit.load(model, request.alphabet, choices["max_length"], any_label=any_label)
        letters = loaded.alphabet
        spec = limit.spent_on("the specification was being compiled", lambda: spec_for(loaded))
        verdict = verified(loaded, spec, limit)
    except BudgetExceeded as end:
        verdict = ended_before(ctx, str(end), letters, choices)
    conclude(ctx, verdict, choices)


def ended_before(ctx: click.Context, reason: str, letters: Alphabet | None, choices: dict[str, Any]) -> Verdict:
    """The verdict where time was up before the work began; without letters there is no document, and this exits."""
    if letters is None:
        say(f"undecided: {reason}", err=True)
        ctx.exit(Outcome.UNDECIDED.exit_code)
    asked = ("method", "relation", "epsilon", "gamma", "seed")
    return never_begun(reason, letters, **{name: choices[name] for name in asked if name in choices})


def conclude(ctx: click.Context, verdict: Verdict, choices: dict[str, Any]) -> None:
    """Tell the verdict with the command that asks the same again, and exit with its code."""
    settings = {**verdict.settings, "timeout": choices["timeout"]}
    verdict = msgspec.structs.replace(verdict, command=command_line(ctx), settings=settings)
    _tell(verdict, choices["json_file"], choices["report"])
    ctx.exit(verdict.exit_code)


def search_fields(choices: dict[str, Any], alphabet: Alphabet) -> dict[str, Any]:
    """The settings of a verification that ``verify`` and ``diff`` both have options for."""
    return {
        **learning_fields(choices, alphabet),
        "exhaustive": choices["exhaustive"],
        "search_steps": choices["search_steps"],
        "shrink": not choices["no_shrink"],
        "explain": choices["explain"],
        "severity_samples": choices["severity_samples"],
        "on_data": own_sequences(choices, alphabet),
        "checkpoint": None if choices["checkpoint"] is None else str(choices["checkpoint"]),
        "resume": choices["resume"],
    }


def put(
    ask: Callable[..., Verdict], alphabet: Alphabet, settings: VerifySettings, limit: TimeLimit, choices: dict[str, Any]
) -> Verdict:
    """Put the question in what is left of the time, with progress told."""
    assumed = limit.spent_on("the assumption was being compiled", lambda: choices["assume"](alphabet))
    with progress_line(quiet=choices["quiet"]) as line:
        return ask(
            **{name: choices[name] for name in ("method", "relation", "epsilon", "gamma", "seed", "max_length")},
            distribution=choices["distribution"](alphabet),
            timeout=limit.left,
            progress=teller(line),
            settings=settings,
            assume=assumed,
        )


def teller(line: ProgressLine) -> Callable[[Progress], None]:
    """Tells progress in a calm line, and the first violation at once, in one that stays."""
    told = False

    def tell(progress: Progress) -> None:
        nonlocal told
        word = progress.counterexample
        if word is None or told:
            line(progress_text(progress))
            return
        told = True
        line.stay(f"violation found after {progress.seconds:.1f} s ({len(word)} letters): {glimpse(format_word(word))}")

    return tell


def _tell(verdict: Verdict, json_file: Path | None, report: Path | None) -> None:
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
        tell_result(document, described(verdict), json_file, [*beside, (report, write_report)])
    finally:
        for line in written:
            say(line, err=True)
