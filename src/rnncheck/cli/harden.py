"""``rnncheck harden``, and ``rnncheck train --provable``: networks that come with a proof."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rnncheck.automata.language import least_word
from rnncheck.cli.command import Command
from rnncheck.cli.options import (
    ModelRequest,
    SpecRequest,
    model_options,
    optional_spec_options,
    relation_option,
    renamed_option,
    word_format_options,
)
from rnncheck.cli.output import say
from rnncheck.cli.output_files import OutputFile, kept_somewhere, raise_troubles
from rnncheck.cli.progress import progress_line
from rnncheck.models.labelled import network_of
from rnncheck.relations import Relation
from rnncheck.runtime.budget import Budget, BudgetExceeded
from rnncheck.runtime.files import write_atomically
from rnncheck.runtime.watchdog import guarded_for
from rnncheck.spec import Spec
from rnncheck.words import Alphabet, format_word

if TYPE_CHECKING:
    from rnncheck.models.network import RecurrentNetwork
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


@click.command(cls=Command)
@model_options
@optional_spec_options
@relation_option("subset: no false positives; superset: no false negatives. From words it is equal.")
@click.option("--words", type=click.Path(path_type=Path), metavar="FILE",
              help="Instead of a specification, labelled words: lines of label, tab, word; or a .csv or .jsonl "
                   "file.")  # fmt: skip
@word_format_options
@click.option("--label-column", metavar="NAME", help="The column, or field, of the label.  [default: label or class]")
@click.option("--own-answers", is_flag=True, help="Instead of a specification, the automaton of its own answers.")
@click.option("-o", "--output", type=OutputFile(), required=True, metavar="FILE", help="Where to write the network.")
@certificate_option
@iterations_option
@renamed_option("--max-seconds", "--timeout")
@click.option("--timeout", type=float, help="Stop after so long, with the network as it is then.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--quiet", is_flag=True, help="No progress on stderr.")
@click.pass_context
def harden(
    ctx: click.Context, /, model: ModelRequest, request: SpecRequest, relation: str, output: Path, **choices: Any
) -> None:
    """Train a network further until the specification is proved of it for every word, and write it as .safetensors.

    The network keeps its answers as far as the specification, or the labels of words, allow. One that is not proved and
    answers fewer words right than before is not written. Exit codes: 0 proved, 1 the network that was written is wrong
    on a word, which is shown, 2 bad usage or bad input, 3 not proved.
    """
    from rnncheck.training import HardeningSettings
    from rnncheck.training import harden as harden_network

    check_name(output)
    if [request.given, choices["words"] is not None, choices["own_answers"]].count(True) != 1:
        raise click.UsageError(
            "give one of these: a specification (--dfa, --regex, --ltlf or --word-list), --words FILE, or --own-answers"
        )
    settings = HardeningSettings(iterations=choices["iterations"], timeout=choices["timeout"], seed=choices["seed"])
    limit = Budget.lasting(settings.timeout)
    try:
        loaded = guarded_for(limit.left, lambda: model.load(request.alphabet), "the model was being loaded")
        network = network_of(loaded)
        spec = guarded_for(limit.left, lambda: _wanted(network, request, limit, choices), "the specification was made")
        limit.check()
    except BudgetExceeded as end:
        say(f"undecided: {end.reason}; raise --timeout", err=True)
        ctx.exit(3)
    with progress_line(quiet=choices["quiet"]) as tell:
        made = harden_network(
            network,
            spec.dfa,
            relation=Relation.named(relation) if request.given else Relation.EQUAL,
            settings=replace(settings, timeout=limit.left),
            progress=lambda progress: tell(progress_text(progress)),
        )
    ctx.exit(written(made, spec, output, choices["certificate"]))


def _wanted(network: RecurrentNetwork, request: SpecRequest, limit: Budget, choices: Mapping[str, Any]) -> Spec:
    return request.build(network.alphabet) if request.given else _learned(network, limit, choices)


def _learned(network: RecurrentNetwork, limit: Budget, choices: Mapping[str, Any]) -> Spec:
    """The automaton of the network's answers, changed where labels say otherwise."""
    from rnncheck.training import automaton_from_words, own_automaton

    path = choices["words"]
    if path is None:
        return Spec.from_dfa(own_automaton(network, choices["seed"], limit), origin="the network's own answers")
    words = labelled_words(path, network.alphabet, choices)
    return Spec.from_dfa(automaton_from_words(words, network=network, seed=choices["seed"]), origin=str(path))


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
