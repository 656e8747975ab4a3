"""``rnncheck train | inspect | classify``: make, look at and ask networks."""

from __future__ import annotations

from collections.abc import Mapping
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
from rnncheck.cli.interruption import exit_code_of
from rnncheck.cli.options import (
    cell_option,
    optional_spec_options,
    renamed_option,
    word_format_options,
)
from rnncheck.cli.output import say
from rnncheck.cli.output_files import OutputFile, kept_somewhere, raise_troubles
from rnncheck.cli.progress import progress_line
from rnncheck.models.cells import Cell
from rnncheck.probability.distributions import WordDistribution
from rnncheck.spec import Spec

if TYPE_CHECKING:
    from rnncheck.cli.options import SpecRequest
    from rnncheck.training import TrainedNetwork, TrainingSettings


class ClassWeightsType(click.ParamType):  # type: ignore[type-arg]
    """``balanced``, ``none``, or numbers of labels: ``no=1,yes=3``."""

    name = "weights"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str) or "=" not in value:
            return value
        weights = {}
        for item in value.split(","):
            label, _, number = item.rpartition("=")
            try:
                weights[label.strip()] = float(number)
            except ValueError:
                self.fail(f"{number!r} in {item!r} is no number; write label=number,label=number", param, ctx)
        return weights


@click.command("train", cls=Command)
@optional_spec_options
@click.option("--words", type=click.Path(path_type=Path), metavar="FILE",
              help="Labelled words: lines of label, tab, word; or a .csv or .jsonl file.")  # fmt: skip
@word_format_options
@click.option("--label-column", metavar="NAME", help="The column, or field, of the label.  [default: label or class]")
@click.option("--conflicts", type=click.Choice(["error", "majority", "weight"]), default="error", show_default=True,
              help="What to do with a word that has several labels: refuse; take the most frequent one; or learn each "
                   "as often as it has it.")  # fmt: skip
@click.option("-o", "--output", type=OutputFile(), required=True, metavar="FILE", help="Where to write.")
@cell_option
@click.option("--hidden", type=click.IntRange(min=1), default=32, show_default=True, help="Units a layer.")
@click.option("--layers", type=click.IntRange(min=1), default=1, show_default=True)
@click.option("--embedding", type=click.IntRange(min=0), default=0, show_default=True, help="0: one-hot letters.")
@click.option("--epochs", type=click.IntRange(min=1), default=200, show_default=True, help="At most so many.")
@click.option("--patience", type=click.IntRange(min=1), default=8, show_default=True,
              help="Epochs without improvement until it tries something else, and at last ends.")  # fmt: skip
@click.option("--accuracy", type=float, default=0.999, show_default=True, help="Stop at this validation accuracy.")
@click.option("--hold", type=click.IntRange(min=1), default=2, show_default=True, help="…held for so many epochs.")
@click.option("--class-weights", type=ClassWeightsType(), default="balanced", show_default=True,
              help="How much answers of each label count: balanced (rare ones more), none (all alike), or so much: "
                   "no=1,yes=3.")  # fmt: skip
@click.option("--learning-rate", type=float, help="[default: what suits the cell]")
@click.option("--count", type=click.IntRange(min=10), default=10_000, show_default=True, help="Words to draw.")
@click.option("--balance", type=click.FloatRange(0, 0.5), default=0.3, show_default=True,
              help="The least share of the rarer label among the words for a specification.")  # fmt: skip
@click.option("--pumped", type=click.FloatRange(0, 0.5), default=0.0, show_default=True,
              help="The share of words with a repeated loop, which help against forgetting.")  # fmt: skip
@click.option("--stop", type=float, default=0.01, show_default=True, help="Stop probability of drawn words.")
@click.option("--max-length", type=click.IntRange(min=1), help="Learn from no longer words, or prefixes.")
@renamed_option("--max-seconds", "--timeout")
@click.option("--timeout", type=float, help="Stop after so long, with the best network so far.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True)
@click.option("--label", help="With several labels: the one that means yes.  [default: the first]")
@click.option("--checkpoint", type=OutputFile(), metavar="FILE", help="Save after every epoch.")
@click.option("--resume", is_flag=True, help="Go on from the checkpoint.")
@click.option("--provable", is_flag=True,
              help="Train until L(R) = L(A) is proved, for every word; A is the specification, or the "
                   "automaton that the labelled words are merged to.")  # fmt: skip
@click.option("--no-rules", is_flag=True, help="Begin with random weights alone, not with rules of the automaton.")
@certificate_option
@iterations_option
@click.option("--quiet", is_flag=True, help="No progress on stderr.")
@click.pass_context
def command(ctx: click.Context, /, request: SpecRequest, words: Path | None, output: Path, **choices: Any) -> None:
    """Train a recurrent network on a specification or on labelled words, and write it as .safetensors.

    With --provable it exits with 0 where the proof closes, with 1 where the network that was written is wrong on a
    word, which is shown, with 3 where neither is known. Ctrl-C and SIGTERM write the best network so far; the exit code
    is then 130.
    """
    from rnncheck.models.files.safetensors_file import save_network
    from rnncheck.training import train_on_words
    from rnncheck.training.curriculum import Ending

    if request.given == (words is not None):
        raise click.UsageError("give a specification (--dfa, --regex, --ltlf or --word-list), or --words FILE")
    check_name(output)
    if choices["provable"]:
        ctx.exit(_train_provably(request, words, output, choices))
    settings = _settings(choices)
    with progress_line(quiet=choices["quiet"]) as tell:
        running: dict[str, Any] = {
            "settings": settings,
            "checkpoint": choices["checkpoint"],
            "resume": choices["resume"],
            "progress": lambda p: tell(
                f"epoch {p.epoch}/{p.epochs}  loss {p.loss:.4f}  accuracy {p.accuracy:.2%}  words up to {p.longest} "
                f"letters  {p.seconds:.0f} s"
            ),
        }
        if request.given:
            trained = _train_on_spec(request, choices, running)
        else:
            labelled = labelled_words(words or Path(), request.alphabet, choices)
            trained = train_on_words(labelled, label=choices["label"], source=str(words), **running)
    troubles: list[str] = []
    place = kept_somewhere(output, lambda path: save_network(trained.network, path), troubles)
    report, where = trained.report, "not written" if place is None else place
    say(f"{where}: {report.test_accuracy:.2%} of {report.sizes['test']} test words right")
    say(f"  {report.ending.value}; {report.epochs} epochs, {report.seconds:.1f} s")
    for line in report.sentences():
        say(f"  {line}")
    for note in report.notes:
        say(f"  note: {note}")
    raise_troubles(troubles)
    if report.ending is Ending.INTERRUPTED:  # the file is written, and the work was not done to its end
        ctx.exit(exit_code_of(None))


def _train_provably(request: SpecRequest, words: Path | None, output: Path, choices: Mapping[str, Any]) -> int:
    from rnncheck.training import HardeningSettings, automaton_from_words, train_provable

    if words is None:
        spec = request.build()
    else:
        labelled = labelled_words(words, request.alphabet, choices)
        spec = Spec.from_dfa(automaton_from_words(labelled), origin=str(words))
    same = ("iterations", "timeout", "seed", "threads")
    settings = HardeningSettings(**{name: choices[name] for name in same})
    shape = {name: choices[name] for name in ("hidden", "layers", "embedding")}
    with progress_line(quiet=choices["quiet"]) as tell:
        made = train_provable(
            spec.dfa,
            cell=Cell(choices["cell"]),
            settings=settings,
            progress=lambda progress: tell(progress_text(progress)),
            rules=not choices["no_rules"],
            **shape,
        )
    return written(made, spec, output, choices["certificate"])


def _settings(choices: Mapping[str, Any]) -> TrainingSettings:
    from rnncheck.training import TrainingSettings

    same = ("hidden", "layers", "embedding", "epochs", "patience", "hold", "class_weights", "max_length",
            "timeout", "seed", "threads")  # fmt: skip
    return TrainingSettings(
        cell=Cell(choices["cell"]),
        target_accuracy=choices["accuracy"],
        learning_rate=choices["learning_rate"],
        **{name: choices[name] for name in same},
    )


def _train_on_spec(request: SpecRequest, choices: Mapping[str, Any], running: dict[str, Any]) -> TrainedNetwork:
    from rnncheck.training import train_on_automaton

    spec = request.build()
    distribution = WordDistribution(spec.alphabet, stop=choices["stop"])
    return train_on_automaton(
        spec.dfa,
        distribution=distribution,
        words=choices["count"],
        balance=choices["balance"],
        pumped=choices["pumped"],
        **running,
    )
