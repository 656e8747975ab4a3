"""``rnncheck prove``: a proof for words of any length."""

from __future__ import annotations

import shlex
from pathlib import Path

import msgspec

from rnncheck.cli.click_options import CatalogueOption
from rnncheck.cli.command import command as make_command
from rnncheck.cli.given_options import GivenOptions
from rnncheck.cli.model_request import ModelRequest, model_argument
from rnncheck.cli.progress import progress_line, progress_text
from rnncheck.cli.reproduce_command import option_words
from rnncheck.cli.spec_request import SpecRequest, assumption
from rnncheck.cli.time_limit import TimeLimit
from rnncheck.cli.verification_run import answer
from rnncheck.cli.word_requests import check_distribution, distribution
from rnncheck.models.protocol import Model
from rnncheck.options.catalogue import options_of
from rnncheck.proofs.proof_search import ProofSettings
from rnncheck.spec import Spec
from rnncheck.suite.property_file import PropertyEntry
from rnncheck.verdict.facts import HealthNote
from rnncheck.verdict.value import Verdict
from rnncheck.verification.verify import verify
from rnncheck.verification.verify_settings import VerifySettings


@make_command("prove", model_argument())
def command(options: GivenOptions) -> int:
    """Prove that the network satisfies the specification, for every word of any length.

    With --spec the relation, assumption, longest length and time limit of the property hold, unless options say
    otherwise.

    If no proof closes, the bound on the probability of unproved words is shown (under --stop, --weights or
    --words-like), and the length up to which all words are proved.

    Exit codes: 0 proved (or as much as --epsilon asks for), 1 violated (with the word), 2 bad usage or bad input,
    3 not proved, which is no evidence against the network.
    """
    model, request = ModelRequest.of(options), SpecRequest.of(options)
    check_distribution(options)
    named = request.named
    if named is not None:
        options = options.replaced(relation=named.relation.value, max_length=named.max_length, timeout=named.timeout)
    return answer(
        options,
        model,
        request,
        lambda loaded: request.build(loaded.alphabet),
        lambda loaded, spec, limit: _with_hint(_prove(options, named, loaded, spec, limit), options, model, named),
    )


def _prove(options: GivenOptions, named: PropertyEntry | None, loaded: Model, spec: Spec, limit: TimeLimit) -> Verdict:
    settings = VerifySettings(
        proof=options.settings(ProofSettings),
        certificate=None if options["certificate"] is None else str(options["certificate"]),
    )
    of_file = named is not None and not options.typed("assume")
    assumed = limit.spent_on(
        "the assumption was being compiled",
        lambda: named.assumption(loaded.alphabet) if named and of_file else assumption(options, loaded.alphabet),
    )
    with progress_line(quiet=options["quiet"]) as show:
        return verify(
            loaded,
            spec,
            method="prove",
            relation=options["relation"],
            distribution=distribution(options, loaded.alphabet),
            timeout=limit.left,
            progress=lambda progress: show(progress_text(progress)),
            settings=settings,
            assume=assumed,
            max_length=options["max_length"],
            require=options["require"],
        )


def _with_hint(verdict: Verdict, options: GivenOptions, model: ModelRequest, named: PropertyEntry | None) -> Verdict:
    """The verdict with the command that trains the network until the proof closes, where there is one."""
    weights = model.path or (None if model.state is None else str(model.state))
    if not verdict.undecided or not verdict.reason.startswith("not proved") or weights is None:
        return verdict
    if verdict.assumption is not None or weights.endswith(".onnx"):  # harden does not take these
        return verdict
    known = {option.name for option in options_of("harden")} - {"timeout", "module", "state"}
    words = ["rnncheck", "harden", weights]
    for parameter in options.context.command.params:
        if isinstance(parameter, CatalogueOption) and parameter.declared.repeated and parameter.declared.name in known:
            words += option_words(parameter, options)
    if named is not None:
        words += [f"--{named.kind.replace('_', '-')}", named.whole_text, "--relation", named.relation.value]
    hardened = Path(weights).with_name(f"{Path(weights).stem}-hardened.safetensors")
    note = HealthNote(
        "harden",
        f"training it further may close the proof, and keeps its answers: {shlex.join([*words, '-o', str(hardened)])}",
    )
    return msgspec.structs.replace(verdict, health=(*verdict.health, note))
