"""``rnncheck robust``: does the answer stay the same near a word?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rnncheck.automata.edits import Edits, distance_of
from rnncheck.cli.command import command as make_command
from rnncheck.cli.given_options import GivenOptions
from rnncheck.cli.model_request import ModelRequest, model_argument
from rnncheck.cli.output import say
from rnncheck.cli.progress import progress_line
from rnncheck.cli.results import show_result
from rnncheck.cli.spec_request import SpecRequest
from rnncheck.cli.time_limit import TimeLimit
from rnncheck.cli.word_requests import allowed_edits, given_words
from rnncheck.neighbourhoods.alignment import aligned
from rnncheck.neighbourhoods.robustness import robust as find_flips
from rnncheck.neighbourhoods.robustness_result import Robustness, WordRobustness
from rnncheck.runtime.budget import BudgetExceeded
from rnncheck.runtime.files import write_atomically
from rnncheck.verdict.facts import Outcome
from rnncheck.words import format_word, letter_text

_HEADS = {Outcome.SATISFIED: "robust", Outcome.VIOLATED: "not robust", Outcome.UNDECIDED: "undecided"}
_SHOWN = 20  # words with a flip that are shown


@make_command("robust", model_argument())
def command(options: GivenOptions) -> int:
    """Does the model give the same answer to every word near a word?

    Every neighbour is queried, nearest first. With a specification only its words count as neighbours.

    Exit codes: 0 robust, 1 not (with a nearest word that flips the answer), 2 bad usage or bad input, 3 undecided.
    """
    model, request = ModelRequest.of(options), SpecRequest.of(options, required=False)
    limit = TimeLimit(options["timeout"])
    try:
        loaded = limit.load(model, request.alphabet)
    except BudgetExceeded as end:
        say(f"undecided: {end}", err=True)
        return Outcome.UNDECIDED.exit_code
    words = given_words(options, loaded.alphabet)
    edits = allowed_edits(options)
    spec = request.build(loaded.alphabet) if request.given else None
    with progress_line(quiet=options["quiet"]) as show:
        found = find_flips(
            loaded,
            words,
            distance=distance_of(options["distance"]),
            edits=edits,
            spec=spec,
            timeout=limit.left,
            checkpoint=None if options["checkpoint"] is None else str(options["checkpoint"]),
            progress=lambda now: show(f"{now.done} of {now.words} words, {now.steps:,} steps"),
            **options.pick("epsilon", "gamma", "seed", "max_steps", "workers", "cluster", "resume"),
        )

    def write_report(path: Path) -> None:
        from rnncheck.report.page.robustness_page import robustness_page

        write_atomically(path, robustness_page(found, edits))

    shown = len(found.words) if options["verbose"] else _SHOWN
    show_result(options, found.to_json(), _lines(found, edits, shown), [(options["report"], write_report)])
    return found.exit_code


def _lines(found: Robustness, edits: Edits, shown: int) -> Iterator[str]:
    if len(found.words) == 1:
        yield from _word_lines(found.words[0], found, edits)
    else:
        yield from _table_lines(found, edits, shown)
    if found.compared:
        yield f"  {found.compared} of the words were compared with the reference: {found.reference}"
    for note in found.notes:
        yield f"  note: {note}"
    yield f"  {found.network_steps:,} network steps, {found.seconds:.1f} s"


def _word_lines(one: WordRobustness, found: Robustness, edits: Edits) -> Iterator[str]:
    answer = {True: "accepted", False: "rejected", None: "not queried"}[one.accepted]
    yield f"{_HEADS[one.outcome]}: {format_word(one.word)} is {answer}; {one.reason}"
    if one.outcome is Outcome.SATISFIED and one.words is not None and one.boxes is None:
        yield f"  {one.words:,} words are so near" if one.words != 1 else "  only one word is so near"
    if one.nearest is not None:
        yield from _flip_lines(one, found, edits)
    elif one.outcome is Outcome.UNDECIDED and one.certified is not None:
        yield f"  every word within distance {one.certified} was queried and has the same answer"
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


def _table_lines(found: Robustness, edits: Edits, shown: int) -> Iterator[str]:
    total = len(found.words)
    yield f"{_HEADS[found.outcome]}: {total} words, distance {found.distance}"
    yield "  distance   certified        flipped"
    for distance, certified, flipped in found.table():
        yield f"  {distance:<8}{certified:>6} {certified / total:>7.1%} {flipped:>6} {flipped / total:>7.1%}"
    flips = sorted((one for one in found.words if one.distance is not None), key=lambda one: (one.distance, one.word))
    for one in flips[:shown]:
        yield f"  distance {one.distance}:"
        yield from _flip_lines(one, found, edits)
    if len(flips) > shown:
        yield f"  … and {len(flips) - shown} more; --verbose shows all"
    undecided = [one for one in found.words if one.outcome is Outcome.UNDECIDED]
    for reason in dict.fromkeys(one.reason for one in undecided):
        count = sum(one.reason == reason for one in undecided)
        yield f"  undecided, {count}: {reason}"
