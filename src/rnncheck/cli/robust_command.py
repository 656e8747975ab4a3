"""``rnncheck robust``: the words near a word."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from rnncheck.automata.edits import Edits, distance_of
from rnncheck.cli.command import Command
from rnncheck.cli.edit_options import edit_options, edits_of
from rnncheck.cli.learning_options import TimeLimit
from rnncheck.cli.options import (
    ModelRequest,
    SpecRequest,
    gather_words,
    model_options,
    optional_spec_options,
    property_options,
    verdict_files,
    word_format_options,
    words_options,
)
from rnncheck.cli.output import say
from rnncheck.cli.output_files import OutputFile
from rnncheck.cli.progress import progress_line
from rnncheck.cli.results import tell_result
from rnncheck.neighbourhoods.alignment import aligned
from rnncheck.neighbourhoods.neighbourhoods import Request
from rnncheck.neighbourhoods.robustness import robustness
from rnncheck.neighbourhoods.robustness_result import Robustness, WordRobustness
from rnncheck.probability.confidence import Confidence
from rnncheck.report.page.robustness_page import robustness_page
from rnncheck.runtime.budget import BudgetExceeded
from rnncheck.runtime.files import write_atomically
from rnncheck.verdict.facts import Outcome
from rnncheck.words import format_word, letter_text

_HEADS = {Outcome.SATISFIED: "robust", Outcome.VIOLATED: "not robust", Outcome.UNDECIDED: "undecided"}
_SHOWN = 20  # words with a flip that are shown


@click.command("robust", cls=Command)
@model_options
@words_options
@word_format_options
@edit_options
@property_options
@optional_spec_options
@click.option("--max-steps", type=click.IntRange(min=1), default=Request.max_steps, show_default=True,
              help="Ask all neighbours of a word only where that takes so few network steps.")  # fmt: skip
@click.option("--epsilon", type=float, default=Confidence.epsilon, show_default=True,
              help="Where they are too many: the share of flips among them to stay below.")  # fmt: skip
@click.option("--gamma", type=float, default=Confidence.gamma, show_default=True, help="One minus the confidence.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--timeout", type=click.FloatRange(min=0), metavar="SECONDS", help="Stop after so long.")
@click.option("--workers", type=click.IntRange(min=1), help="Share the words among so many processes.")
@click.option("--cluster", metavar="ADDRESS", help="Share the words among the workers of a Dask scheduler.")
@click.option("--checkpoint", metavar="FILE", type=OutputFile(), help="Keep the results there while the work goes on.")
@click.option("--resume", is_flag=True, help="Go on from --checkpoint.")
@click.option("--quiet", is_flag=True, help="No progress on stderr.")
@verdict_files
@click.pass_context
def command(ctx: click.Context, /, model: ModelRequest, request: SpecRequest, **choices: Any) -> None:
    """Does the model give the same answer to every word near a word?

    Every neighbour is asked, nearest first. With a specification only its words count as neighbours.

    Exit codes: 0 robust, 1 not (with a nearest word that flips the answer), 2 bad usage or bad input, 3 undecided.
    """
    if choices["resume"] and choices["checkpoint"] is None:
        raise click.UsageError("--resume goes on from a file; name it with --checkpoint FILE")
    limit = TimeLimit(choices["timeout"])
    try:
        loaded = limit.load(model, request.alphabet)
    except BudgetExceeded as end:
        say(f"undecided: {end}", err=True)
        ctx.exit(Outcome.UNDECIDED.exit_code)
    words = gather_words(choices["texts"], choices["words_file"], loaded.alphabet, choices["word_format"])
    edits = edits_of(choices)
    spec = request.build(loaded.alphabet) if request.given else None
    with progress_line(quiet=choices["quiet"]) as tell:
        found = robustness(
            loaded,
            words,
            distance=distance_of(choices["distance"]),
            edits=edits,
            spec=spec,
            timeout=limit.left,
            checkpoint=None if choices["checkpoint"] is None else str(choices["checkpoint"]),
            progress=lambda now: tell(f"{now.done} of {now.words} words, {now.steps:,} steps"),
            **{
                name: choices[name]
                for name in ("epsilon", "gamma", "seed", "max_steps", "workers", "cluster", "resume")
            },
        )
    page = (choices["report"], lambda path: write_atomically(path, robustness_page(found, edits)))
    tell_result(found.to_json(), _described(found, edits), choices["json_file"], [page])
    ctx.exit(found.exit_code)


def _described(found: Robustness, edits: Edits) -> Iterator[str]:
    if len(found.words) == 1:
        yield from _word_lines(found.words[0], found, edits)
    else:
        yield from _table_lines(found, edits)
    if found.compared:
        yield f"  {found.compared} of the words were asked of the reference too: {found.reference}"
    for note in found.notes:
        yield f"  note: {note}"
    yield f"  {found.network_steps:,} network steps, {found.seconds:.1f} s"


def _word_lines(one: WordRobustness, found: Robustness, edits: Edits) -> Iterator[str]:
    answer = {True: "accepted", False: "rejected", None: "not asked"}[one.accepted]
    yield f"{_HEADS[one.outcome]}: {format_word(one.word)} is {answer}; {one.reason}"
    if one.outcome is Outcome.SATISFIED and one.words is not None and one.boxes is None:
        yield f"  so near are {one.words:,} words" if one.words != 1 else "  so near is one word alone"
    if one.nearest is not None:
        yield from _flip_lines(one, found, edits)
    elif one.outcome is Outcome.UNDECIDED and one.certified is not None:
        yield f"  every word within distance {one.certified} was asked and has the same answer"
    if one.epsilon is not None:
        yield (
            f"  fewer than {one.epsilon:.3g} of the words within distance {found.distance} have the other answer, with "
            f"confidence {1 - found.gamma:g}"
        )


def _flip_lines(one: WordRobustness, found: Robustness, edits: Edits) -> Iterator[str]:
    pairs = aligned(one.word, one.nearest or (), edits, found.letters())
    shown = [(_shown(before), _shown(after)) for before, after in pairs]
    widths = [max(map(len, pair)) for pair in shown]
    answers = ("accepted", "rejected") if one.accepted else ("rejected", "accepted")
    for row, answer in enumerate(answers):
        letters = " ".join(pair[row].ljust(width) for pair, width in zip(shown, widths, strict=True))
        yield f"  {answer}  {letters}".rstrip()
    marks = " ".join(("^" if a != b else " ").ljust(width) for (a, b), width in zip(pairs, widths, strict=True))
    yield f"            {marks}".rstrip()


def _shown(letter: str | None) -> str:
    return "·" if letter is None else letter_text(letter)


def _table_lines(found: Robustness, edits: Edits) -> Iterator[str]:
    total = len(found.words)
    yield f"{_HEADS[found.outcome]}: {total} words, distance {found.distance}"
    yield "  distance   certified        flipped"
    for distance, certified, flipped in found.table():
        yield f"  {distance:<8}{certified:>6} {certified / total:>7.1%} {flipped:>6} {flipped / total:>7.1%}"
    flips = sorted((one for one in found.words if one.distance is not None), key=lambda one: (one.distance, one.word))
    for one in flips[:_SHOWN]:
        yield f"  distance {one.distance}:"
        yield from _flip_lines(one, found, edits)
    if len(flips) > _SHOWN:
        yield f"  … and {len(flips) - _SHOWN} more; --json FILE has all"
    undecided = [one for one in found.words if one.outcome is Outcome.UNDECIDED]
    for reason in dict.fromkeys(one.reason for one in undecided):
        count = sum(one.reason == reason for one in undecided)
        yield f"  undecided, {count}: {reason}"
