"""``rnncheck contacts``: temporal networks of human contacts, their paths, data sets and specifications."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, get_args

import click
import numpy as np

from rnncheck.automata.dfa import DEFAULT_MAX_STATES, DFA
from rnncheck.cli.automaton_files import automaton_text
from rnncheck.cli.command import Group
from rnncheck.cli.output import say
from rnncheck.cli.output_files import OutputFile, OutputFolder
from rnncheck.contacts import (
    BreakKind,
    ContactWords,
    DatasetSettings,
    SyntheticSettings,
    TemporalNetwork,
    check_path,
    contact_dataset,
    graph_automaton,
    parse_columns,
    read_contacts,
    spaced_automaton,
    synthetic_contacts,
    time_automaton,
    write_contacts,
)
from rnncheck.contacts.contact_files import SelfContacts
from rnncheck.contacts.dataset import ONE_BREAK
from rnncheck.errors import visible
from rnncheck.runtime.files import write_atomically
from rnncheck.words import letter_text, parse_word

Command = TypeVar("Command", bound=Callable[..., Any])

_MOST_NAMES_SHOWN = 8

_strict_option = click.option(
    "--strict", is_flag=True, help="Times must increase from step to step; without it they may stay equal."
)


def network_options(command: Command) -> Command:
    """Add the argument and options that name a temporal network; the command receives it as ``network``."""

    def with_network(*args: Any, **kwargs: Any) -> Any:
        columns, begin, end = kwargs.pop("columns"), kwargs.pop("from_time"), kwargs.pop("until_time")
        network = read_contacts(
            kwargs.pop("file"),
            columns=None if columns is None else parse_columns(columns),
            self_contacts=kwargs.pop("self_contacts"),
        )
        if begin is not None or end is not None:
            network = network.between(begin, end)
        return command(*args, network=network, **kwargs)

    options = [
        click.argument("file", type=click.Path(path_type=Path)),
        click.option("--columns", metavar="NAMES", help="What the columns are, such as time,person1,person2,- (also: "
                     "day, hour, group1, group2).  [default: found from the file]"),
        click.option("--self-contacts", type=click.Choice(get_args(SelfContacts)), default="auto",
                     show_default=True, help="A person that meets itself; auto: drop one in a thousand lines, refuse "
                     "more."),
        click.option("--from", "from_time", type=int, metavar="TIME", help="Only contacts from this time on."),
        click.option("--until", "until_time", type=int, metavar="TIME", help="Only contacts up to this time."),
    ]  # fmt: skip
    wrapper: Any = functools.update_wrapper(with_network, command)
    for option in reversed(options):
        wrapper = option(wrapper)
    return wrapper  # type: ignore[no-any-return]


@click.group("contacts", cls=Group)
def command() -> None:
    """Temporal networks of human contacts: their paths, data sets and specifications.

    FILE has one contact a line: time, person, person, and perhaps the group of each, with commas, tabs or blanks
    between.
    """


@command.command()
@network_options
def info(network: TemporalNetwork) -> None:
    """Count people, pairs and contacts."""
    people = len(network.people)
    first, last = network.times[[0, -1]].tolist()
    groups: dict[str, int] = {}
    for person in network.people:
        if person in network.groups:
            groups[network.groups[person]] = groups.get(network.groups[person], 0) + 1
    facts = {
        "people": f"{people}: {_some([visible(letter_text(person)) for person in network.people])}",
        "contacts": f"{len(network)}, {network.distinct_contacts} different",
        "pairs": f"{network.pairs} that met, {network.pairs / (people * (people - 1) / 2):.1%} of all",
        "times": f"{first} to {last}, {len(network.moments)} different",
    }
    if groups:
        facts["groups"] = _some([f"{visible(letter_text(group))} ({count})" for group, count in sorted(groups.items())])
    for name, value in facts.items():
        say(f"{name:<16}{value}")
    for note in network.notes:
        say(f"{'note':<16}{note}")


@command.command()
@network_options
@click.option("--path", "text", required=True, metavar="TEXT", help="People with spaces between.")
@_strict_option
@click.option("--graph", type=OutputFile(), metavar="FILE", help="Draw it on the graph of contacts (SVG).")
@click.option("--timeline", type=OutputFile(), metavar="FILE", help="Draw its contacts in time (SVG).")
@click.pass_context
def check(
    ctx: click.Context, network: TemporalNetwork, text: str, strict: bool, graph: Path | None, timeline: Path | None
) -> None:
    """Say whether a sequence of people is a time-respecting path.

    Exits with 0 and the earliest times that prove it, or with 1 and where it breaks.
    """
    from rnncheck.report.contacts.contact_graph import contact_graph_svg, timeline_svg

    word = parse_word(text)
    result = check_path(network, word, strict=strict)
    for target, draw in ((graph, contact_graph_svg), (timeline, timeline_svg)):
        if target is not None:
            write_atomically(target, draw(network, word, strict=strict))
            say(f"picture written to {target}", err=True)
    say(f"{'yes' if result.valid else 'no'}: {result}")
    if result.broken is not None:
        say(f"  breaks at step {result.broken.position + 1}: {result.broken}")
    ctx.exit(0 if result.valid else 1)


@command.command()
@network_options
@click.option("-o", "--output", required=True, type=OutputFile(), metavar="FILE", help="A .json, .dot or .gv file.")
@click.option("--time", "timed", is_flag=True, help="The time-respecting paths themselves.")
@_strict_option
@click.option("--gap", type=click.IntRange(min=1), metavar="N", help="Nobody comes again within N steps.")
@click.option("--max-states", type=click.IntRange(min=1), default=DEFAULT_MAX_STATES, show_default=True)
def spec(network: TemporalNetwork, output: Path, timed: bool, strict: bool, gap: int | None, max_states: int) -> None:
    """Write the automaton of all paths of the contact graph, time disregarded.

    With --time only those along which the times do not go back. The empty word and single people are accepted.
    """
    if timed and gap is not None:
        raise click.UsageError("--time and --gap do not go together; give one of them")
    if strict and not timed:
        raise click.UsageError("--strict goes with --time; the contact graph disregards time")
    render = automaton_text(str(output))
    dfa: DFA
    if timed:
        dfa = time_automaton(network, strict=strict, max_states=max_states)
    elif gap is not None:
        dfa = spaced_automaton(network, gap, max_states=max_states)
    else:
        dfa = graph_automaton(network)
    write_atomically(output, render(dfa))
    say(f"{output}: {len(dfa)} states over {len(dfa.alphabet)} people")


@command.command()
@network_options
@click.option("-o", "--output", type=OutputFolder("train.tsv", "test.tsv", "alphabet.txt"), required=True,
              metavar="FOLDER")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--train", type=click.IntRange(min=2), help="Training words.  [default: 2 for every contact]")
@click.option("--test-share", type=float, default=0.2, show_default=True, help="Test words for every training word.")
@click.option("--valid-share", type=float, default=0.5, show_default=True, help="How many of them are paths.")
@click.option(
    "--shortest", type=click.IntRange(min=2), default=5, show_default=True, help="People in a word, at least."
)
@click.option("--longest", type=click.IntRange(min=2), default=15, show_default=True, help="…and at most.")
@_strict_option
@click.option("--broken", multiple=True, type=click.Choice([kind.value for kind in BreakKind]),
              help="How the others are broken; may be repeated.  [default: the first three]")  # fmt: skip
def dataset(network: TemporalNetwork, output: Path, seed: int, broken: tuple[str, ...], **choices: Any) -> None:
    """Write labelled words to train on: time-respecting paths, and broken ones.

    FOLDER gets train.tsv, test.tsv (label, tab, word) and alphabet.txt, the people in order.
    """
    kinds = tuple(map(BreakKind, dict.fromkeys(broken))) or ONE_BREAK
    settings = DatasetSettings(kinds=kinds, **choices)
    words = contact_dataset(network, np.random.default_rng(seed), settings)
    output.mkdir(parents=True, exist_ok=True)
    for name, part in (("train", words.train), ("test", words.test)):
        _write_words(part, output / f"{name}.tsv")
        valid = int(part.valid.sum())
        say(f"{output / name}.tsv: {len(part)} words, {valid} paths and {len(part) - valid} broken ones")
    write_atomically(output / "alphabet.txt", f"{network.people}\n")
    say("broken by " + ", ".join(f"{name} {count}" for name, count in words.broken.items()))


@command.command()
@click.option("-o", "--output", type=OutputFile(), required=True, metavar="FILE", help="A .csv file.")
@click.option("--people", type=click.IntRange(min=2), default=60, show_default=True)
@click.option("--days", type=click.IntRange(min=1), default=3, show_default=True)
@click.option("--group-size", type=click.IntRange(min=1), default=12, show_default=True)
@click.option("--meetings", type=float, default=1.0, show_default=True, help="Of two people of a group, a day.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
def generate(output: Path, seed: int, **choices: Any) -> None:
    """Make up plausible contacts: groups, bursts, days."""
    network = synthetic_contacts(np.random.default_rng(seed), SyntheticSettings(**choices))
    write_contacts(network, output)
    say(f"{output}: {len(network)} contacts of {len(network.people)} people")


def _write_words(words: ContactWords, path: Path) -> None:
    from rnncheck.training.datasets import LabelledWords
    from rnncheck.training.labelled_files import write_labelled_words

    write_labelled_words(LabelledWords(words.alphabet, words.words, words.valid.astype(np.int64)), path)


def _some(names: list[str]) -> str:
    return ", ".join(names[:_MOST_NAMES_SHOWN]) + (", …" if len(names) > _MOST_NAMES_SHOWN else "")
