"""Networks that come with a proof: what harden and train --provable do alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rnncheck.automata.language import least_word
from rnncheck.cli.output import say
from rnncheck.cli.output_files import OutputFile, kept_somewhere, raise_troubles
from rnncheck.runtime.files import write_atomically
from rnncheck.spec import Spec
from rnncheck.words import Alphabet, format_word

if TYPE_CHECKING:
    from rnncheck.training import HardeningProgress, HardeningReport, LabelledWords, ProvableNetwork


certificate_option = click.option(
    "--certificate", metavar="FILE", type=OutputFile(), help="Write the proof there, for `rnncheck replay`."
)
iterations_option = click.option(
    "--iterations",
    type=click.IntRange(min=1),
    default=5_000,
    show_default=True,
    help="Train on boxes of states for at most so many.",
)


def labelled_words(path: Path, alphabet: Alphabet | None, choices: Mapping[str, Any]) -> LabelledWords:
    """The words of a file, as the options say."""
    from rnncheck.training import read_labelled_words

    form = replace(choices["word_format"], label_column=choices["label_column"])
    return read_labelled_words(path, alphabet, form, conflicts=choices.get("conflicts", "error"))


def check_name(output: Path) -> None:
    if output.suffix != ".safetensors":
        raise click.UsageError(f"-o {str(output)!r}: the name must end in .safetensors")


def progress_text(progress: HardeningProgress) -> str:
    if progress.on_boxes:
        stands = f"boxes, iteration {progress.on_boxes}  worst clearance {progress.clearance:+.2f}"
    else:
        stands = f"words, iteration {progress.on_words}  accuracy under noise {progress.accuracy:.2%}"
    return f"{stands}  {progress.seconds:.0f} s"


def written(made: ProvableNetwork, spec: Spec, output: Path, certificate: Path | None) -> int:
    """Write the files, say what came of it, and give the exit code."""
    import msgspec

    from rnncheck.models.files.safetensors_file import save_network

    report = made.report
    for language, words in ((spec.dfa, "no word"), (spec.dfa.complement(), "every word")):
        if least_word(language) is None:
            say(f"rnncheck: note: the specification accepts {words}; is that what was meant?", err=True)
    if report.spoilt:
        say(f"nothing is written: {report.relation.formula} is not proved, and the network would be worse than before")
        for line in _facts(report):
            say(line)
        return 3
    troubles: list[str] = []
    place = kept_somewhere(output, lambda path: save_network(made.network, path), troubles)
    if made.certificate is not None and certificate is not None:
        proof = msgspec.structs.replace(made.certificate, origin=spec.origin).sealed()
        certificate = kept_somewhere(certificate, lambda path: write_atomically(path, proof.to_json()), troubles)
    for line in _lines(report, "not written" if place is None else str(place), certificate):
        say(line)
    raise_troubles(troubles)
    if report.proved:
        return 0
    return 3 if report.wrong_word is None else 1


def _facts(report: HardeningReport) -> list[str]:
    before = (
        "" if report.accuracy_before is None else f"; before {report.accuracy_before:.2%}, {report.changed} changed"
    )
    effort = f"{report.on_words} iterations on words and {report.on_boxes} on boxes, {report.seconds:.1f} s"
    lines = [
        f"  {report.accuracy:.2%} of {report.words} fresh words right{before}",
        f"  {report.ending.value}; {effort}",
    ]
    return lines if report.obstacle is None else [*lines, f"  in the way: {report.obstacle}"]


def _lines(report: HardeningReport, output: str, certificate: Path | None) -> list[str]:
    relation, lines = report.relation.formula, _facts(report)
    if report.proved:
        kept = "" if certificate is None else f"; the certificate is {certificate}"
        return [f"{output}: {relation} is proved for every word, with {report.boxes} boxes{kept}", *lines]
    if report.wrong_word is not None:
        shown = f"{output}: {relation} is not proved, and wrong on the word {format_word(report.wrong_word)}"
    else:
        shown = f"{output}: {relation} is not proved, and no violation was found"
    return [shown, *lines]
