"""Networks that come with a proof: what harden and train --provable have in common."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rnncheck.automata.language import least_word
from rnncheck.cli.given_options import GivenOptions
from rnncheck.cli.output import say
from rnncheck.cli.output_files import write_or_rescue
from rnncheck.cli.results import result_document, setting_lines, show_result
from rnncheck.cli.word_requests import word_format
from rnncheck.runtime.files import write_atomically
from rnncheck.spec import Spec
from rnncheck.words import Alphabet, format_word

if TYPE_CHECKING:
    from rnncheck.training import HardeningProgress, HardeningReport, LabelledWords, ProvableNetwork


def labelled_words(options: GivenOptions, alphabet: Alphabet | None) -> LabelledWords:
    """The words of the file that --words names, as the other options say."""
    from rnncheck.training import read_labelled_words

    form = replace(word_format(options), label_column=options["label_column"])
    return read_labelled_words(options["words"], alphabet, form, conflicts=options.get("conflicts") or "error")


def check_name(output: Path) -> None:
    if output.suffix != ".safetensors":
        raise click.UsageError(f"-o {str(output)!r}: the name must end in .safetensors")


def progress_text(progress: HardeningProgress) -> str:
    if progress.on_boxes:
        stands = f"boxes, iteration {progress.on_boxes}  worst clearance {progress.clearance:+.2f}"
    else:
        stands = f"words, iteration {progress.on_words}  accuracy under noise {progress.accuracy:.2%}"
    return f"{stands}  {progress.seconds:.0f} s"


def write_network(options: GivenOptions, made: ProvableNetwork, spec: Spec) -> int:
    """Write the files and show the report; gives the exit code."""
    import msgspec

    from rnncheck.models.files.safetensors_file import save_network

    report, certificate = made.report, options["certificate"]
    for language, words in ((spec.dfa, "no word"), (spec.dfa.complement(), "every word")):
        if least_word(language) is None:
            say(f"rnncheck: note: the specification accepts {words}; is that what was meant?", err=True)
    if report.spoilt:
        head = (
            f"nothing is written: {report.relation.formula} is not proved, and the network would be worse than before"
        )
        show_result(options, result_document(options, output=None, report=report), [head, *_facts(report)])
        return 3
    troubles: list[str] = []
    place = write_or_rescue(options["output"], lambda path: save_network(made.network, path), troubles)
    if made.certificate is not None and certificate is not None:
        proof = msgspec.structs.replace(made.certificate, origin=spec.origin).sealed()
        certificate = write_or_rescue(certificate, lambda path: write_atomically(path, proof.to_json()), troubles)
    output = None if place is None else str(place)
    document = result_document(options, output=output, report=report)
    lines = [*_lines(report, output or "not written", certificate), *setting_lines(options, report.settings)]
    show_result(options, document, lines, troubles=troubles)
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
