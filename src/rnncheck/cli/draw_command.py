"""``rnncheck draw``: pictures of automata as files."""

from __future__ import annotations

import json
from pathlib import Path

import click

from rnncheck.automata.dfa import DFA
from rnncheck.automata.formats.dot import read_dot
from rnncheck.automata.formats.moore_files import read_moore_json, state_names
from rnncheck.cli.command import command as make_command
from rnncheck.cli.given_options import GivenOptions
from rnncheck.cli.model_request import ModelRequest
from rnncheck.cli.output import say
from rnncheck.errors import FormatError, InputError
from rnncheck.extraction.extract import extract
from rnncheck.report.automaton.automaton_drawing import Marks, marks_of
from rnncheck.report.automaton.pictures import FORMATS, draw
from rnncheck.report.markup import count
from rnncheck.report.page.cluster_section import mistakes_automaton
from rnncheck.runtime.files import read_limited, write_atomically
from rnncheck.spec import read_automaton
from rnncheck.verdict.label_trace import pairs_along
from rnncheck.verdict.value import Verdict
from rnncheck.words import Alphabet

_AUTOMATA = (".dot", ".gv", ".json")
# A model is drawn as what can be learned of it in a short time; `rnncheck extract` is the thorough way.
_LEARNING_SECONDS = 30.0
_ROUGHLY = 0.01


@make_command("draw", click.Argument(["source"], metavar="AUTOMATON|VERDICT|MODEL", type=click.Path()))
def command(options: GivenOptions) -> None:
    """Draw an automaton or Moore machine (a dot or JSON file), one of a verdict (JSON), or what can be learned from a
    network.

    In a verdict's automaton the path of the counterexample and the loop of the faulty flow are coloured.
    """
    source, output, part, flow = (options[name] for name in ("source", "output", "part", "flow"))
    picture_format = output.suffix.lower().removeprefix(".")
    if picture_format not in FORMATS:
        raise click.UsageError(f"{str(output)!r}: the name must end in {', '.join('.' + name for name in FORMATS)}")
    dfa, marks, labelled = _to_draw(source, options["alphabet"], complete=options["complete"], part=part, flow=flow)
    if marks is None and (part, flow) != ("auto", 1):
        raise click.UsageError(f"--part and --flow choose from a verdict, and {source} is not one; leave them out")
    picture = draw(dfa, picture_format, marks=marks, title=source, timeout=options["timeout"], labelled=labelled)
    write_atomically(output, picture)
    say(f"{output}: {count(len(dfa), 'state')}", err=True)


def _to_draw(
    source: str, alphabet: Alphabet | None, *, complete: bool, part: str, flow: int
) -> tuple[DFA, Marks | None, bool]:
    """What to draw, what to colour in it, and whether its states have labels instead of accepting and rejecting."""
    if Path(source).suffix.lower() not in _AUTOMATA:
        return _learn(source, alphabet), None, False
    try:
        data = read_limited(source, "automaton")
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror}", source) from None
    schema = _schema(data)
    if schema.startswith("rnncheck/verdict/"):
        verdict = Verdict.from_json(data, source, folder=Path(source).parent)
        return *_of_verdict(verdict, source, part, flow), False
    if schema.startswith("rnncheck/moore/"):
        machine = read_moore_json(data, source)
        dfa = DFA(machine.alphabet, machine.transitions, [False] * len(machine), machine.initial, state_names(machine))
        return dfa, None, True
    if data.startswith(b"digraph moore {"):
        text = data.decode("utf-8", errors="replace")
        return read_dot(text, source=source, alphabet=alphabet, shape_alone=True), None, True
    return read_automaton(source, alphabet, complete=complete), None, False


def _schema(data: bytes) -> str:
    """The schema that a JSON file names; empty where it names none, or is not JSON, which its reader reports."""
    if not data.lstrip().startswith(b"{"):
        return ""
    try:
        return str(json.loads(data).get("schema", ""))
    except (ValueError, RecursionError):
        return ""


def _of_verdict(verdict: Verdict, source: str, part: str, flow: int) -> tuple[DFA, Marks]:
    question = verdict.label_question
    parts = {
        "hypothesis": verdict.hypothesis,
        "errors": mistakes_automaton(verdict),
        "spec": verdict.specification if question is None else question.automaton,
    }
    held = [name for name, dfa in parts.items() if dfa is not None]
    part = next(iter(held), part) if part == "auto" else part
    dfa = parts.get(part)
    if dfa is None:
        raise InputError(
            f"{source}: the verdict holds no {part} automaton, only {' and '.join(held) or 'none'}; choose one of "
            "these with --part, or verify with another --method"
        )
    flows = verdict.faulty_flows
    if flow > max(1, len(flows)):
        raise InputError(f"{source}: there is no flow {flow}, but only {len(flows)}")
    if part == "spec" and question is not None:
        return dfa, marks_of(dfa, pairs_along(verdict))
    loops = [] if part == "errors" else [(chosen.prefix, chosen.loop) for chosen in flows[flow - 1 : flow]]
    return dfa, marks_of(dfa, verdict.counterexample, loops)


def _learn(source: str, alphabet: Alphabet | None) -> DFA:
    model = ModelRequest(source).load(alphabet)
    found = extract(model, epsilon=_ROUGHLY, gamma=_ROUGHLY, timeout=_LEARNING_SECONDS)
    say(f"learned from the network: {len(found.automaton)} states; {found.sentence}", err=True)
    return found.automaton.support
