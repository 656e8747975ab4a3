"""``rnncheck contacts``: temporal networks of human contacts, their paths, data sets and specifications."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np

from rnncheck.cli.automaton_files import automaton_text
from rnncheck.cli.command import Group
from rnncheck.cli.command import command as make_command
from rnncheck.cli.given_options import GivenOptions
from rnncheck.cli.output import say
from rnncheck.cli.results import result_document, show_result
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
from rnncheck.contacts.dataset import ONE_BREAK
from rnncheck.errors import visible
from rnncheck.runtime.files import write_atomically
from rnncheck.words import letter_text, parse_word

_MOST_NAMES_SHOWN = 8
_HELP = """Temporal networks of human contacts: their paths, data sets and specifications.

FILE has one contact per line: time, person, person, and optionally the group of each, with commas, tabs or blanks
between.
"""


def _file() -> click.Argument:
    return click.Argument(["file"], type=click.Path(path_type=Path))


def _network(options: GivenOptions) -> TemporalNetwork:
    """The temporal network in FILE."""
    columns, begin, end = options["columns"], options["from"], options["until"]
    network = read_contacts(
        options["file"],
        columns=None if columns is None else parse_columns(columns),
        self_contacts=options["self_contacts"],
    )
    return network if begin is None and end is None else network.between(begin, end)


@make_command("contacts info", _file())
def info(options: GivenOptions) -> None:
    """Count people, pairs and contacts."""
    network = _network(options)
    people = len(network.people)
    first, last = network.times[[0, -1]].tolist()
    counts: dict[str, int] = {}
    for person in network.people:
        if person in network.groups:
            counts[network.groups[person]] = counts.get(network.groups[person], 0) + 1
    names = [visible(letter_text(person)) for person in network.people]
    groups = [f"{visible(letter_text(group))} ({count})" for group, count in sorted(counts.items())]
    facts = {
        "people": f"{people}: {_some(names, options)}",
        "contacts": f"{len(network)}, {network.distinct_contacts} different",
        "pairs": f"{network.pairs} that met, {network.pairs / (people * (people - 1) / 2):.1%} of all",
        "times": f"{first} to {last}, {len(network.moments)} different",
    }
    if groups:
        facts["groups"] = _some(groups, options)
    lines = [f"{name:<16}{value}" for name, value in facts.items()]
    lines += [f"{'note':<16}{note}" for note in network.notes]
    show_result(options, result_document(options, **facts, notes=network.notes), lines)


@make_command("contacts check", _file())
def check(options: GivenOptions) -> int:
    """Check whether a sequence of people is a time-respecting path.

    Exit codes: 0 it is, with the earliest times that prove it; 1 it is not, with the place where it breaks.
    """
    from rnncheck.report.contacts.contact_graph import contact_graph_svg, timeline_svg

    network, strict, word = _network(options), options["strict"], parse_word(options["path"])
    result = check_path(network, word, strict=strict)
    for target, draw in ((options["graph"], contact_graph_svg), (options["timeline"], timeline_svg)):
        if target is not None:
            write_atomically(target, draw(network, word, strict=strict))
            say(f"picture written to {target}", err=True)
    lines = [f"{'yes' if result.valid else 'no'}: {result}"]
    if result.broken is not None:
        lines.append(f"  breaks at step {result.broken.position + 1}: {result.broken}")
    show_result(options, result_document(options, valid=result.valid, sentence=str(result)), lines)
    return 0 if result.valid else 1


@make_command("contacts spec", _file())
def spec(options: GivenOptions) -> None:
    """Write the automaton of all paths of the contact graph, time disregarded.

    With --time only those along which the times do not go back. The empty word and single people are accepted.
    """
    network, output = _network(options), options["output"]
    timed, strict, gap, most = (options[name] for name in ("time", "strict", "gap", "max_states"))
    if timed and gap is not None:
        raise click.UsageError("--time and --gap do not go together; give one of them")
    if strict and not timed:
        raise click.UsageError("--strict goes with --time; the contact graph disregards time")
    render = automaton_text(str(output))
    if timed:
        dfa = time_automaton(network, strict=strict, max_states=most)
    elif gap is not None:
        dfa = spaced_automaton(network, gap, max_states=most)
    else:
        dfa = graph_automaton(network)
    write_atomically(output, render(dfa))
    say(f"{output}: {len(dfa)} states over {len(dfa.alphabet)} people")


@make_command("contacts dataset", _file())
def dataset(options: GivenOptions) -> None:
    """Write labelled words to train on: time-respecting paths, and broken ones.

    FOLDER gets train.tsv, test.tsv (label, tab, word) and alphabet.txt, the people in order.
    """
    network, output = _network(options), options["output"]
    kinds = tuple(map(BreakKind, dict.fromkeys(options["broken"]))) or ONE_BREAK
    settings = options.settings(DatasetSettings, kinds=kinds, strict=options["strict"])
    words = contact_dataset(network, np.random.default_rng(options["seed"]), settings)
    output.mkdir(parents=True, exist_ok=True)
    for name, part in (("train", words.train), ("test", words.test)):
        _write_words(part, output / f"{name}.tsv")
        valid = int(part.valid.sum())
        say(f"{output / name}.tsv: {len(part)} words, {valid} paths and {len(part) - valid} broken ones")
    write_atomically(output / "alphabet.txt", f"{network.people}\n")
    say("broken by " + ", ".join(f"{name} {count}" for name, count in words.broken.items()))


@make_command("contacts generate")
def generate(options: GivenOptions) -> None:
    """Generate plausible contacts: groups, bursts, days."""
    settings = options.settings(SyntheticSettings)
    network = synthetic_contacts(np.random.default_rng(options["seed"]), settings)
    write_contacts(network, options["output"])
    say(f"{options['output']}: {len(network)} contacts of {len(network.people)} people")


command = Group("contacts", commands=[info, check, spec, dataset, generate], help=_HELP)


def _write_words(words: ContactWords, path: Path) -> None:
    from rnncheck.training.datasets import LabelledWords
    from rnncheck.training.labelled_files import write_labelled_words

    write_labelled_words(LabelledWords(words.alphabet, words.words, words.valid.astype(np.int64)), path)


def _some(names: list[str], options: GivenOptions) -> str:
    """The first of the names, or all of them with --verbose."""
    most = len(names) if options["verbose"] else _MOST_NAMES_SHOWN
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")
