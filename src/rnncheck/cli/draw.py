"""``rnncheck draw``: pictures of automata as files."""

from __future__ import annotations

import json
from pathlib import Path

import click

from rnncheck.automata.dfa import DFA
from rnncheck.cli.options import AlphabetType, ModelRequest
from rnncheck.errors import FormatError, InputError
from rnncheck.files import write_atomically
from rnncheck.report.documents import verdict_of
from rnncheck.report.drawing import Marks, marks_of
from rnncheck.report.pictures import FORMATS, draw
from rnncheck.spec import read_automaton
from rnncheck.verdict import VerdictDocument, read_document
from rnncheck.verification.extract import extract_automaton
from rnncheck.words import Alphabet

_AUTOMATA = (".dot", ".gv", ".json")
# A model is drawn as what can be learned of it in a short time; `rnncheck extract` is the thorough way.
_LEARNING_SECONDS = 30.0
_ROUGHLY = 0.01


@click.command("draw")
@click.argument("source", metavar="AUTOMATON|VERDICT|MODEL")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), metavar="FILE",
              help="A .svg, .png, .pdf or .dot file.")  # fmt: skip
@click.option("--part", type=click.Choice(["auto", "hypothesis", "spec"]), default="auto", show_default=True,
              help="Which automaton of a verdict: auto is the hypothesis, where there is one.")  # fmt: skip
@click.option("--flow", type=click.IntRange(min=1), default=1, show_default=True, help="Which faulty flow to colour.")
@click.option("--alphabet", type=AlphabetType(), help="The letters, for files that do not say them.")
@click.option("--complete", is_flag=True, help="Send transitions that an automaton lacks to a rejecting sink.")
@click.option("--timeout", type=click.FloatRange(min=0), default=60, show_default=True, metavar="SECONDS",
              help="How long the layout may take.")  # fmt: skip
@click.pass_context
def draw_command(
    ctx: click.Context,
    source: str,
    output: Path,
    part: str,
    flow: int,
    alphabet: Alphabet | None,
    complete: bool,
    timeout: float,
) -> None:
    """Draw an automaton (a dot or JSON file), one of a verdict (JSON), or what can be learned of a network.

    In a verdict's automaton the path of the counterexample and the loop of the faulty flow are coloured.
    """
    picture_format = output.suffix.lower().removeprefix(".")
    if picture_format not in FORMATS:
        raise click.UsageError(f"{str(output)!r}: the name must end in {', '.join('.' + name for name in FORMATS)}")
    if Path(source).suffix.lower() in _AUTOMATA:
        document = _verdict_document(source)
        if document is not None:
            dfa, marks = _of_verdict(document, source, part, flow)
        else:
            dfa, marks = read_automaton(source, alphabet, complete=complete), None
    else:
        dfa, marks = _learned(source, alphabet), None
    write_atomically(output, draw(dfa, picture_format, marks=marks, title=source, timeout=timeout))
    click.echo(f"{output}: {len(dfa)} states", err=True)
    ctx.exit(0)


def _verdict_document(source: str) -> VerdictDocument | None:
    """The verdict in a JSON file; None where the file holds something else."""
    if Path(source).suffix.lower() != ".json":
        return None
    try:
        data = Path(source).read_bytes()
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror}", source) from None
    try:
        schema = json.loads(data).get("schema", "")
    except (ValueError, AttributeError, RecursionError):
        return None  # the reader of automata says what is wrong with it
    return read_document(data, source) if str(schema).startswith("rnncheck/verdict/") else None


def _of_verdict(document: VerdictDocument, source: str, part: str, flow: int) -> tuple[DFA, Marks]:
    verdict = verdict_of(document, source)
    dfa = verdict.specification if part == "spec" else verdict.hypothesis
    if dfa is None and part == "auto":
        dfa = verdict.specification
    if dfa is None:
        raise InputError(f"{source}: the verdict holds no {part} automaton; draw --part spec, or verify with pdv")
    flows = verdict.faulty_flows
    if flow > max(1, len(flows)):
        raise InputError(f"{source}: flow {flow} was asked for, but there are {len(flows)}")
    loops = [(chosen.prefix, chosen.loop) for chosen in flows[flow - 1 : flow]]
    return dfa, marks_of(dfa, verdict.counterexample, loops)


def _learned(source: str, alphabet: Alphabet | None) -> DFA:
    model = ModelRequest(source, None, None, None, None, None, False).load(alphabet)
    found = extract_automaton(model, epsilon=_ROUGHLY, gamma=_ROUGHLY, timeout=_LEARNING_SECONDS)
    click.echo(f"learned from the network: {len(found.automaton)} states; {found.sentence}", err=True)
    return found.automaton
