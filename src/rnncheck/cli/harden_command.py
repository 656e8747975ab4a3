"""``rnncheck harden``, and ``rnncheck train --provable``: networks that come with a proof."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rnncheck.cli.certified_networks import (
    certificate_option,
    check_name,
    iterations_option,
    labelled_words,
    progress_text,
    written,
)
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
from rnncheck.cli.output_files import OutputFile
from rnncheck.cli.progress import progress_line
from rnncheck.models.labelled import network_of
from rnncheck.relations import Relation
from rnncheck.runtime.budget import Budget, BudgetExceeded
from rnncheck.runtime.watchdog import guarded_for
from rnncheck.spec import Spec

if TYPE_CHECKING:
    from rnncheck.models.network import RecurrentNetwork


@click.command("harden", cls=Command)
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
def command(
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
