"""``rnncheck repair``: from "violated" to a network that holds."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import msgspec

from rnncheck.automata.dfa import DEFAULT_MAX_STATES, DFA
from rnncheck.automata.language import short_words
from rnncheck.automata.product import intersection
from rnncheck.cli.command import Command
from rnncheck.cli.interruption import asked_to_end
from rnncheck.cli.options import (
    AlphabetType,
    ModelRequest,
    SpecRequest,
    counting_options,
    distribution_options,
    model_options,
    relation_option,
    renamed_option,
    verdict_files,
    word_format_options,
)
from rnncheck.cli.output import say
from rnncheck.cli.output_files import OutputFile, kept_somewhere
from rnncheck.cli.progress import progress_line
from rnncheck.cli.repair_text import described
from rnncheck.cli.reproduce_command import command_line
from rnncheck.cli.results import tell_result
from rnncheck.errors import ModelError
from rnncheck.models.files.safetensors_file import save_network
from rnncheck.models.files.torch_file import import_torch
from rnncheck.models.importing import import_object
from rnncheck.models.label_names import LabelNeededError
from rnncheck.models.labelled import label_names, network_of
from rnncheck.models.wrapping import letters_of
from rnncheck.probability.distributions import WordDistribution
from rnncheck.relations import Relation
from rnncheck.repairs.own_words import read_own_words
from rnncheck.repairs.repair import ONNX_REFUSED
from rnncheck.repairs.repair import repair as repair_model
from rnncheck.repairs.repair_conclusion import Repaired
from rnncheck.repairs.repair_report import RepairReport
from rnncheck.repairs.repair_settings import RepairSettings
from rnncheck.repairs.repaired_models import ModulePupil
from rnncheck.repairs.requirements import Requirement, assuming
from rnncheck.runtime.budget import Budget
from rnncheck.runtime.files import write_atomically
from rnncheck.spec import Spec
from rnncheck.suite.property_file import PropertyEntry, Suite
from rnncheck.verification.label_questions import label_spec_over
from rnncheck.words import Alphabet

_DEFAULTS = RepairSettings()
_TORCH_FILES = (".pt", ".pth")


@click.command("repair", cls=Command)
@model_options
@click.option("--spec", "suite", type=click.Path(path_type=Path), metavar="FILE.toml",
              help="A property file: all of its properties, beside those of other options.")  # fmt: skip
@click.option("--property", "property_names", multiple=True, metavar="NAME", help="Only this one; may be repeated.")
@click.option("--dfa", multiple=True, type=click.Path(path_type=Path), metavar="FILE",
              help="An automaton: dot or JSON file; may be repeated, like all specifications here.")  # fmt: skip
@click.option("--regex", multiple=True, metavar="TEXT", help="A regular expression over letters.")
@click.option("--ltlf", multiple=True, metavar="TEXT", help="An LTLf or LDLf formula, such as 'G(a -> F b)'.")
@click.option("--word-list", multiple=True, type=click.Path(path_type=Path), metavar="FILE",
              help="The words of a file, one a line, and no others.")  # fmt: skip
@click.option("--trace-ltlf", multiple=True, metavar="TEXT", help="A formula over letters and labels.")
@click.option("--trace-regex", multiple=True, metavar="TEXT", help="An expression over pairs of letters and labels.")
@renamed_option("--moore-ltlf", "--trace-ltlf")
@renamed_option("--moore-regex", "--trace-regex")
@click.option("--alphabet", type=AlphabetType(), help="The letters, with commas between: a,b,'<c d>'.")
@click.option("--complete", is_flag=True, help="Send transitions that --dfa lacks to a rejecting sink.")
@click.option("--nonempty", is_flag=True, help="Let no formula hold of the empty word.")
@relation_option("Of --dfa, --regex, --ltlf and --word-list. subset: no false positives; superset: no false negatives.")
@click.option("--words", type=click.Path(path_type=Path), metavar="FILE",
              help="Your own words, so that nothing is forgotten (text, .csv, .jsonl), with labels or without: label, "
              "tab, word, or a column or field of labels.")  # fmt: skip
@word_format_options
@click.option("--label-column", metavar="NAME", help="The column, or field, of the label.  [default: label or class]")
@click.option("-o", "--output", type=OutputFile(), required=True, metavar="FILE", help="Where to write the network.")
@click.option("--certificate", metavar="FILE", type=OutputFile(), help="Write the proof there, where it is proved.")
@click.option("--rounds", type=click.IntRange(min=1), default=_DEFAULTS.rounds, show_default=True,
              help="Train at most so often.")  # fmt: skip
@click.option("--effort", type=click.FloatRange(min=0, min_open=True), default=_DEFAULTS.effort, show_default=True,
              help="The last search takes so many times the usual steps, for each property.")  # fmt: skip
@click.option("--max-loss", type=click.FloatRange(0, 1), default=_DEFAULTS.max_loss, show_default=True,
              help="The share of held-out words that may become wrong.")  # fmt: skip
@click.option("--no-harden", is_flag=True, help="Do not train a small network on until it is proved.")
@click.option("--iterations", type=click.IntRange(min=1), default=_DEFAULTS.iterations, show_default=True,
              help="Of training for a proof, at most.")  # fmt: skip
@distribution_options
@counting_options
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--timeout", type=click.FloatRange(min=0), metavar="SECONDS",
              help="Stop after so long, with the best network so far.")  # fmt: skip
@click.option("--checkpoint", metavar="FILE", type=OutputFile(), help="Save after every round.")
@click.option("--resume", is_flag=True, help="Go on from the --checkpoint.")
@click.option("--quiet", is_flag=True, help="No progress on stderr.")
@verdict_files
@click.pass_context
def command(ctx: click.Context, /, model: ModelRequest, output: Path, **choices: Any) -> None:
    """Train a network further until no violation of the specifications is found in it, or until they are proved.

    Answers are kept where no specification forbids them. Ctrl-C ends it with the best network so far; one that is
    no better than before is not written.

    Exit codes: 0 proved, or nothing found with the effort stated; 1 not repaired; 2 bad usage or bad input; 3 ended
    early.
    """
    _check_names(model, output)
    with asked_to_end() as asked:
        budget = Budget.lasting(choices["timeout"], cancelled=asked)
        import_torch("repairing")  # which takes a while, too
        given, alphabet, labels, options = _loaded(model, choices["alphabet"], yes=_about_yes(choices))
        requirements = _requirements(choices, alphabet, labels)
        words, form = choices["words"], replace(choices["word_format"], label_column=choices["label_column"])
        with progress_line(quiet=choices["quiet"]) as tell:
            made = repair_model(
                given,
                requirements,
                words=None if words is None else read_own_words(words, alphabet, form),
                alphabet=alphabet,
                distribution=_distribution(choices, alphabet),
                budget=budget,
                seed=choices["seed"],
                settings=RepairSettings(
                    rounds=choices["rounds"],
                    effort=choices["effort"],
                    max_loss=choices["max_loss"],
                    harden=not choices["no_harden"],
                    iterations=choices["iterations"],
                    threads=model.threads,
                ),
                progress=lambda now: tell(str(now)),
                checkpoint=choices["checkpoint"],
                resume=choices["resume"],
                options=options,
            )
    ctx.exit(_told(ctx, made, output, choices))


def _check_names(model: ModelRequest, output: Path) -> None:
    if model.path is not None and Path(model.path).suffix == ".onnx":
        raise ModelError(f"{model.path}: {ONNX_REFUSED}")
    fitting = (".safetensors",) if model.module is None else (*_TORCH_FILES, ".safetensors")
    if output.suffix not in fitting:
        raise click.UsageError(f"-o {str(output)!r}: the name must end in {' or '.join(fitting)}")


def _about_yes(choices: Mapping[str, Any]) -> bool:
    """Whether a property is about yes and no, so that one of several labels must mean yes."""
    listed = () if choices["suite"] is None else Suite.read(choices["suite"]).properties
    return any(choices[kind] for kind in ("dfa", "regex", "ltlf", "word_list")) or any(
        not one.about_labels for one in listed
    )


def _loaded(
    request: ModelRequest, alphabet: Alphabet | None, *, yes: bool
) -> tuple[object, Alphabet, tuple[str, ...], dict[str, Any]]:
    """The model to train, its letters and labels, and how a module is to be read."""
    if request.module is None:
        network = network_of(request.load(alphabet))
        return network, network.alphabet, label_names(network), {}
    torch = import_torch("repairing a module")
    module, notes = import_object(request.module, request.state)
    if not isinstance(module, torch.nn.Module):
        raise ModelError(f"{request.module}: {type(module).__name__} is no PyTorch module; name one, or what builds it")
    for note in notes:
        say(f"note: {note}", err=True)
    alphabet, entry = letters_of(module, alphabet), request.entry
    options = {"threshold": entry.threshold, "label": entry.label, "labels": entry.labels, "threads": request.threads}
    given = {name: value for name, value in options.items() if value is not None}
    try:
        return module, alphabet, ModulePupil(module, alphabet, given).labels, given
    except LabelNeededError:
        if yes:
            raise
        given["label"] = 0  # properties of labels do not ask which means yes
        return module, alphabet, ModulePupil(module, alphabet, given).labels, given


def _requirements(choices: Mapping[str, Any], alphabet: Alphabet, labels: tuple[str, ...]) -> list[Requirement]:
    relation = Relation.named(choices["relation"])
    common: dict[str, Any] = {
        "dfa": None, "regex": None, "ltlf": None, "word_list": None, "alphabet": choices["alphabet"], "definitions": {},
        "complete": choices["complete"], "nonempty": choices["nonempty"], "max_states": DEFAULT_MAX_STATES,
    }  # fmt: skip
    counting = _counting(choices["assume"](alphabet), choices["max_length"], alphabet)
    found: list[Requirement] = []
    for kind in ("dfa", "regex", "ltlf", "word_list"):
        for text in choices[kind]:
            spec = SpecRequest(**{**common, kind: text}).build(alphabet)
            found += assuming(Requirement(str(text), spec, relation), counting)
    for kind in ("ltlf", "regex"):
        for text in choices[f"trace_{kind}"]:
            found.append(Requirement(text, label_spec_over(alphabet, labels, **{kind: text}), None))
    for one in _properties(choices):
        found += _requirement_of(one, alphabet, labels)
    if not found:
        raise click.UsageError(
            "give a specification: --spec, --dfa, --regex, --ltlf, --word-list, --trace-ltlf or --trace-regex"
        )
    return found


def _properties(choices: Mapping[str, Any]) -> tuple[PropertyEntry, ...]:
    if choices["suite"] is None:
        return ()
    suite = Suite.read(choices["suite"])
    names = choices["property_names"]
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


def _distribution(choices: Mapping[str, Any], alphabet: Alphabet) -> WordDistribution:
    made: Callable[[Alphabet], WordDistribution] = choices["distribution"]
    return made(alphabet)


def _told(ctx: click.Context, made: Repaired, output: Path, choices: Mapping[str, Any]) -> int:
    """Write the files, and then say it, whatever became of them."""
    report = msgspec.structs.replace(made.report, command=command_line(ctx))
    troubles: list[str] = []
    if report.improved or report.repaired:
        place = kept_somewhere(output, lambda path: _save(made, path), troubles)
        report = msgspec.structs.replace(report, output=None if place is None else str(place))
    proof = None
    if made.certificate is not None:
        origin = " and ".join(each.origin for each in report.properties)
        proof = msgspec.structs.replace(made.certificate, origin=origin).sealed().to_json()
    files = [
        (None if proof is None else choices["certificate"], lambda path: write_atomically(path, proof or "")),
        (choices["report"], report.save_report),
    ]
    lines = described(report, _certificate_file(report, made, choices))
    tell_result(report.to_json(), lines, choices["json_file"], files, troubles)
    return report.exit_code


def _certificate_file(report: RepairReport, made: Repaired, choices: Mapping[str, Any]) -> str | None:
    if choices["certificate"] is None or not report.proved:
        return None
    return "there is none for these properties together" if made.certificate is None else str(choices["certificate"])


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
