"""``rnncheck repair``: train a network until no violation is found."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import msgspec

from rnncheck.automata.dfa import DEFAULT_MAX_STATES, DFA
from rnncheck.automata.language import short_words
from rnncheck.automata.product import intersection
from rnncheck.cli.command import command as make_command
from rnncheck.cli.given_options import GivenOptions
from rnncheck.cli.interruption import end_requested
from rnncheck.cli.model_request import ModelRequest, model_argument
from rnncheck.cli.output import say
from rnncheck.cli.output_files import write_or_rescue
from rnncheck.cli.progress import progress_line
from rnncheck.cli.repair_text import repair_lines
from rnncheck.cli.reproduce_command import reproduce_command
from rnncheck.cli.results import show_result
from rnncheck.cli.spec_request import SPEC_OPTIONS, SpecRequest, assumption
from rnncheck.cli.word_requests import check_distribution, distribution, word_format
from rnncheck.errors import ModelError
from rnncheck.models.files.safetensors_file import save_network
from rnncheck.models.files.torch_file import import_torch
from rnncheck.models.importing import import_object
from rnncheck.models.label_names import LabelNeededError
from rnncheck.models.labelled import label_names, network_of
from rnncheck.models.wrapping import letters_of
from rnncheck.relations import Relation
from rnncheck.repairs.own_words import read_own_words
from rnncheck.repairs.repair import ONNX_NOT_TRAINABLE
from rnncheck.repairs.repair import repair as repair_model
from rnncheck.repairs.repair_conclusion import Repaired
from rnncheck.repairs.repair_report import RepairReport
from rnncheck.repairs.repair_settings import RepairSettings
from rnncheck.repairs.repaired_models import RepairedModule
from rnncheck.repairs.requirements import Requirement, assuming
from rnncheck.runtime.budget import Budget
from rnncheck.runtime.files import write_atomically
from rnncheck.spec import Spec
from rnncheck.suite.property_file import PropertyEntry, Suite
from rnncheck.verification.label_questions import label_spec_over
from rnncheck.words import Alphabet

_TORCH_FILES = (".pt", ".pth")


@make_command("repair", model_argument())
def command(options: GivenOptions) -> int:
    """Train a network further until no violation of the specifications is found, or until they are proved.

    Answers are kept where no specification forbids them. Ctrl-C ends it with the best network so far; one that is
    no better than before is not written.

    Exit codes: 0 proved, or nothing found with the effort stated; 1 not repaired; 2 bad usage or bad input; 3 ended
    early.
    """
    model = ModelRequest.of(options)
    check_distribution(options)
    _check_names(model, options["output"])
    with end_requested() as requested:
        budget = Budget.lasting(options["timeout"], cancelled=requested)
        import_torch("repairing")  # which takes a while, too
        given, alphabet, labels, reading = _load(model, options["alphabet"], yes=_about_yes(options))
        requirements = _requirements(options, alphabet, labels)
        words, form = options["words"], replace(word_format(options), label_column=options["label_column"])
        with progress_line(quiet=options["quiet"]) as show:
            made = repair_model(
                given,
                requirements,
                words=None if words is None else read_own_words(words, alphabet, form),
                alphabet=alphabet,
                distribution=distribution(options, alphabet),
                budget=budget,
                settings=options.settings(RepairSettings, threads=model.threads),
                progress=lambda now: show(str(now)),
                options=reading,
                **options.pick("seed", "checkpoint", "resume"),
            )
    return _report(options, made)


def _check_names(model: ModelRequest, output: Path) -> None:
    if model.path is not None and Path(model.path).suffix == ".onnx":
        raise ModelError(f"{model.path}: {ONNX_NOT_TRAINABLE}")
    fitting = (".safetensors",) if model.module is None else (*_TORCH_FILES, ".safetensors")
    if output.suffix not in fitting:
        raise click.UsageError(f"-o {str(output)!r}: the name must end in {' or '.join(fitting)}")


def _about_yes(options: GivenOptions) -> bool:
    """Whether a property is about accepted words, so that one of several labels must mean accept."""
    listed = () if options["spec"] is None else Suite.read(options["spec"]).properties
    return any(options[kind] for kind in SPEC_OPTIONS) or any(not one.about_labels for one in listed)


def _load(
    request: ModelRequest, alphabet: Alphabet | None, *, yes: bool
) -> tuple[object, Alphabet, tuple[str, ...], dict[str, Any]]:
    """The model to train, its letters and labels, and how a module is to be read."""
    if request.module is None:
        network = network_of(request.load(alphabet))
        return network, network.alphabet, label_names(network), {}
    torch = import_torch("repairing a module")
    module, notes = import_object(request.module, request.state)
    if not isinstance(module, torch.nn.Module):
        raise ModelError(
            f"{request.module}: {type(module).__name__} is not a PyTorch module; name one, or what builds it"
        )
    for note in notes:
        say(f"note: {note}", err=True)
    alphabet, entry = letters_of(module, alphabet), request.entry
    options = {"threshold": entry.threshold, "label": entry.label, "labels": entry.labels, "threads": request.threads}
    given = {name: value for name, value in options.items() if value is not None}
    try:
        return module, alphabet, RepairedModule(module, alphabet, given).labels, given
    except LabelNeededError:
        if yes:
            raise
        given["label"] = 0  # properties of labels do not need one that means accept
        return module, alphabet, RepairedModule(module, alphabet, given).labels, given


def _requirements(options: GivenOptions, alphabet: Alphabet, labels: tuple[str, ...]) -> list[Requirement]:
    relation = Relation.named(options["relation"])
    common: dict[str, Any] = {
        **dict.fromkeys(SPEC_OPTIONS),
        **options.pick("alphabet", "complete", "nonempty"),
        "definitions": {},
        "max_states": DEFAULT_MAX_STATES,
    }
    counting = _counting(assumption(options, alphabet), options["max_length"], alphabet)
    found: list[Requirement] = []
    for kind in SPEC_OPTIONS:
        for text in options[kind]:
            spec = SpecRequest(**{**common, kind: text}).build(alphabet)
            found += assuming(Requirement(str(text), spec, relation), counting)
    for kind in ("ltlf", "regex"):
        for text in options[f"trace_{kind}"]:
            found.append(Requirement(text, label_spec_over(alphabet, labels, **{kind: text}), None))
    for one in _properties(options):
        found += _requirement_of(one, alphabet, labels)
    if not found:
        raise click.UsageError(
            "give a specification: --spec, --dfa, --regex, --ltlf, --word-list, --trace-ltlf or --trace-regex"
        )
    return found


def _properties(options: GivenOptions) -> tuple[PropertyEntry, ...]:
    if options["spec"] is None:
        return ()
    suite = Suite.read(options["spec"])
    names = options["property"]
    return tuple(suite.property_named(name) for name in names) if names else suite.properties


def _requirement_of(one: PropertyEntry, alphabet: Alphabet, labels: tuple[str, ...]) -> list[Requirement]:
    """A property of a file, with its relation and its assumption."""
    if one.about_labels:
        kind = one.kind.removeprefix("trace_")
        return [Requirement(one.name, label_spec_over(alphabet, labels, **{kind: one.whole_text}), None)]
    counting = _counting(one.assumption(alphabet), one.max_length, alphabet)
    return assuming(Requirement(one.name, one.spec(alphabet), one.relation), counting)


def _counting(assumed: Spec | None, longest: int | None, alphabet: Alphabet) -> DFA | None:
    """The words that count, where not all do."""
    counting = None if assumed is None else assumed.dfa
    if longest is None:
        return counting
    short = short_words(alphabet, longest)
    return short if counting is None else intersection(counting, short)


def _report(options: GivenOptions, made: Repaired) -> int:
    """Write the files, and then show the report, even if a file could not be written."""
    report = msgspec.structs.replace(made.report, command=reproduce_command(options))
    troubles: list[str] = []
    if report.improved or report.repaired:
        place = write_or_rescue(options["output"], lambda path: _save(made, path), troubles)
        report = msgspec.structs.replace(report, output=None if place is None else str(place))
    proof = None
    if made.certificate is not None:
        origin = " and ".join(each.origin for each in report.properties)
        proof = msgspec.structs.replace(made.certificate, origin=origin).sealed().to_json()
    files = [
        (None if proof is None else options["certificate"], lambda path: write_atomically(path, proof or "")),
        (options["report"], report.save_report),
    ]
    lines = repair_lines(report, _certificate_file(report, made, options["certificate"]), in_full=options["verbose"])
    show_result(options, report.to_json(), lines, files, troubles)
    return report.exit_code


def _certificate_file(report: RepairReport, made: Repaired, path: Path | None) -> str | None:
    if path is None or not report.proved:
        return None
    return "there is none for these properties together" if made.certificate is None else str(path)


def _save(made: Repaired, path: Path) -> None:
    if made.network is not None:
        save_network(made.network, path)
        return
    import torch

    assert made.module is not None
    state = {name: tensor.detach().cpu() for name, tensor in made.module.state_dict().items()}
    if path.suffix == ".safetensors":
        from safetensors.torch import save

        write_atomically(path, save({name: tensor.contiguous() for name, tensor in state.items()}))
        return
    content = io.BytesIO()
    torch.save(state, content)
    write_atomically(path, content.getvalue())
