"""Moore machines as files: dot for drawing, JSON for programs."""

from __future__ import annotations

from typing import Literal

import msgspec

from rnncheck.automata.formats.dot import quoted_in_dot
from rnncheck.automata.moore import MooreMachine
from rnncheck.errors import FormatError, InputError, visible
from rnncheck.words import letter_text


def machine_text(machine: MooreMachine, path: str) -> str:
    """The machine in the format of the file's suffix."""
    if path.endswith(".dot"):
        return write_moore_dot(machine)
    if path.endswith(".json"):
        return write_moore_json(machine)
    raise InputError(f"{path}: a Moore machine is written as .dot or .json; give such a file name")


def write_moore_dot(machine: MooreMachine) -> str:
    """Graphviz text: one box per state with its number and label, one edge per pair of states with its letters."""
    head = f"  graph [rnncheck=1, moore=1, rankdir=LR, alphabet={quoted_in_dot(str(machine.alphabet))}];"
    lines = ["digraph moore {", head, '  start [shape=none, label=""];', f"  start -> {machine.initial};"]
    for state, name in enumerate(state_names(machine)):
        lines.append(f"  {state} [shape=box, label={quoted_in_dot(visible(name))}];")
    for state, row in enumerate(machine.transitions.tolist()):
        for goal in dict.fromkeys(row):
            letters = ", ".join(letter_text(machine.alphabet[a]) for a, other in enumerate(row) if other == goal)
            lines.append(f"  {state} -> {goal} [label={quoted_in_dot(letters)}];")
    return "\n".join([*lines, "}", ""])


def write_moore_json(machine: MooreMachine) -> str:
    """The machine's parts, as JSON (schema ``rnncheck/moore/1``)."""
    document = {
        "schema": "rnncheck/moore/1",
        "alphabet": list(machine.alphabet),
        "labels": list(machine.labels),
        "initial": machine.initial,
        "outputs": machine.outputs.tolist(),
        "transitions": machine.transitions.tolist(),
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


class _Document(msgspec.Struct):
    schema: Literal["rnncheck/moore/1"]
    alphabet: list[str]
    labels: list[str]
    initial: int
    outputs: list[int]
    transitions: list[list[int]]


def read_moore_json(data: bytes, source: str) -> MooreMachine:
    """Read what ``write_moore_json`` wrote; ``source`` names it in errors."""
    try:
        parts = msgspec.json.decode(data, type=_Document)
        return MooreMachine(parts.alphabet, parts.labels, parts.transitions, parts.outputs, parts.initial)
    except (msgspec.MsgspecError, InputError) as error:
        raise FormatError(f"not a Moore machine in JSON: {error}", source) from None


def state_names(machine: MooreMachine) -> list[str]:
    """The name of each state for display: its number and its label."""
    return [f"{state}: {machine.labels[output]}" for state, output in enumerate(machine.outputs.tolist())]
