"""``rnncheck harden``: train a network until a property is proved."""

from __future__ import annotations

from dataclasses import replace

import click

from rnncheck.cli.certified_networks import check_name, labelled_words, progress_text, write_network
from rnncheck.cli.command import command as make_command
from rnncheck.cli.given_options import GivenOptions
from rnncheck.cli.model_request import ModelRequest, model_argument
from rnncheck.cli.output import say
from rnncheck.cli.progress import progress_line
from rnncheck.cli.spec_request import SpecRequest
from rnncheck.models.labelled import network_of
from rnncheck.models.network import RecurrentNetwork
from rnncheck.relations import Relation
from rnncheck.runtime.budget import Budget, BudgetExceeded
from rnncheck.runtime.watchdog import guarded_for
from rnncheck.spec import Spec


@make_command("harden", model_argument())
def command(options: GivenOptions) -> int:
    """Train a network further until the specification is proved for every word, and write it as .safetensors.

    The network keeps its answers as far as the specification, or the labels of words, allow. One that is not proved and
    answers fewer words right than before is not written.

    Exit codes: 0 proved, 1 the network that was written is wrong on a word, which is shown, 2 bad usage or bad input,
    3 not proved.
    """
    from rnncheck.training import HardeningSettings, harden

    model, request = ModelRequest.of(options), SpecRequest.of(options, required=False)
    check_name(options["output"])
    if [request.given, options["words"] is not None, options["own_answers"]].count(True) != 1:
        raise click.UsageError(
            "give one of these: a specification (--dfa, --regex, --ltlf or --word-list), --words FILE, or --own-answers"
        )
    settings = options.settings(HardeningSettings, **options.pick("seed", "timeout"))
    limit = Budget.lasting(settings.timeout)
    try:
        loaded = guarded_for(limit.left, lambda: model.load(request.alphabet), "the model was being loaded")
        network = network_of(loaded)
        spec = guarded_for(
            limit.left, lambda: _specification(options, network, request, limit), "the specification was made"
        )
        limit.check()
    except BudgetExceeded as end:
        say(f"undecided: {end.reason}; raise --timeout", err=True)
        return 3
    with progress_line(quiet=options["quiet"]) as show:
        made = harden(
            network,
            spec.dfa,
            relation=Relation.named(options["relation"]) if request.given else Relation.EQUAL,
            settings=replace(settings, timeout=limit.left),
            progress=lambda progress: show(progress_text(progress)),
        )
    return write_network(options, made, spec)


def _specification(options: GivenOptions, network: RecurrentNetwork, request: SpecRequest, limit: Budget) -> Spec:
    """The one that options name, or the automaton of the network's answers, changed where labels differ."""
    from rnncheck.training import automaton_from_words, own_automaton

    if request.given:
        return request.build(network.alphabet)
    path, seed = options["words"], options["seed"]
    if path is None:
        return Spec.from_dfa(own_automaton(network, seed, limit), origin="the network's own answers")
    words = labelled_words(options, network.alphabet)
    return Spec.from_dfa(automaton_from_words(words, network=network, seed=seed), origin=str(path))
