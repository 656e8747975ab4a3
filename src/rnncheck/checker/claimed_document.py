"""The claims of a verdict's document: unreadable parts are refuted here and left out of later checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec

from rnncheck.checker.checks import Check, left_open, refuted
from rnncheck.checker.product_table import Table
from rnncheck.errors import FormatError, short_repr, visible
from rnncheck.verdict.automaton_files import read_document
from rnncheck.verdict.facts import TotalCost
from rnncheck.verdict.guarantee import Guarantee
from rnncheck.verdict.value import RESULTS, AnyVerdict, Undecided, Verdict, Violated, decode_part, in_todays_schema
from rnncheck.words import Codes, format_word

_LONGEST_TEXT = 120
# Pieces that may be damaged without making the document unreadable: the name of the check that refutes each, and what
# stands in its place.
_PIECES: Mapping[str, tuple[str, Any]] = {
    "shortest": ("no violation up to", False),
    "no_violation_up_to": ("no violation up to", None),
    "other_counterexamples": ("another counterexample", []),
    "failure_clusters": ("failure clusters", []),
    "guarantee": ("guarantee", {}),
    "strength": ("strength", "statistical"),
    "searched": ("searched", None),
    "spec": ("specification", {}),
    "hypothesis": ("hypothesis", None),
    "faulty_flows": ("faulty flow", []),
    "trace": ("trace", None),
    "scope": ("scope", {}),
    "cost": ("cost", TotalCost(0.0, 0, 0, 0)),
    "history": ("history", []),
    "severity": ("severity", None),
    "evaluation": ("evaluation", None),
    "health": ("health", []),
    "model": ("model", {}),
    "settings": ("settings", {}),
    "required": ("required", None),
    "command": ("command", None),
    "version": ("version", ""),
    "data": ("data", None),
    "error_language": ("error language", None),
    "label_question": ("label question", None),
    "comparison": ("comparison", None),
    "alphabet": ("alphabet", ["?"]),
}
# What a verdict must have, and what stands in the place of it where it has not.
_LACKING: Mapping[str, Any] = {"counterexample": None, "guarantee": {}, "strength": "statistical"}
_FIXED = (type(None), Literal[True], Literal[False])


class RequestedSettings(msgspec.Struct):
    """The requested values in the document's ``settings``."""

    epsilon: float | None = None
    gamma: float | None = None
    bound: str | None = None
    distribution: dict[str, Any] | None = None
    assumption: dict[str, Any] | None = None


@dataclass(frozen=True)
class Claims:
    """A document's claims. Its automata are plain tables, in the alphabet's order.

    ``spec`` is the specification, with the words ignored that do not count; ``named`` are the automata as they stand in
    the document, by name.
    """

    verdict: Verdict
    requested: RequestedSettings
    spec: Table | None
    named: Mapping[str, Table]
    problems: tuple[Check, ...]
    positions: Mapping[str, int] = field(repr=False)

    @property
    def hypothesis(self) -> Table | None:
        return self.named.get("hypothesis")

    @property
    def guarantee(self) -> Guarantee | None:
        return self.verdict.guarantee

    @property
    def relation(self) -> str:
        return self.verdict.relation.value

    @property
    def counterexample(self) -> Codes | None:
        """The counterexample as letter positions; None where there is none, or it has an unknown letter."""
        return None if self.verdict.counterexample is None else self.encode(self.verdict.counterexample)

    @property
    def distribution(self) -> dict[str, Any] | None:
        """The facts of the distribution that the claims are about."""
        claimed = None if self.guarantee is None else self.guarantee.distribution
        return self.requested.distribution if claimed is None else claimed

    @property
    def network_steps(self) -> int | None:
        """The number of steps that the verification claims."""
        return None if any(check.name == "cost" for check in self.problems) else self.verdict.cost.network_steps

    def encode(self, word: Sequence[str]) -> Codes | None:
        """A word as letter positions; None where a letter is not in the document's alphabet."""
        try:
            return tuple([self.positions[letter] for letter in word])
        except KeyError:
            return None

    def text(self, word: Sequence[int]) -> str:
        """A word for people, cut where it is very long."""
        text = format_word([self.verdict.alphabet[letter] for letter in word])
        return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}… ({len(word)} letters)"


def read_claims(text: str | bytes, source: str = "verdict", folder: Path | None = None) -> Claims:
    """Read a document, and its large automata in files of the ``folder``.

    A FormatError is raised only where the text is not a verdict at all, or where such a file is missing or is not the
    one that was written with the document.
    """
    raw = read_document(text, source, folder)
    if not isinstance(raw, dict):
        raise FormatError("not a verdict: it is not an object", source)
    try:
        raw = in_todays_schema(raw)
        problems = [*_of_another_result(raw), *_replace_damaged(raw)]
        verdict: AnyVerdict = msgspec.convert(raw, AnyVerdict, dec_hook=decode_part)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise FormatError(f"not a verdict: {visible(str(error))}", source) from None
    lettered = not any(check.name == "alphabet" for check in problems)
    requested = RequestedSettings()
    try:
        requested = msgspec.convert(verdict.settings, RequestedSettings)
    except msgspec.ValidationError as error:
        problems.append(refuted("settings", f"it cannot be read: {visible(str(error))}"))
    named: dict[str, Table] = {}
    described = {"specification": verdict.spec_facts, "hypothesis": verdict.learned, "assumption": verdict.assumption}
    for name, facts in described.items():
        if lettered and facts is not None and facts.automaton is not None:
            try:
                named[name] = Table.of(facts.automaton, facts.states, verdict.alphabet, name)
            except FormatError as error:
                problems.append(refuted(name, error.problem))
    positions = {letter: position for position, letter in enumerate(verdict.alphabet)}
    spec = _specification_table(verdict, named, problems)
    return Claims(verdict, requested, spec, named, tuple(problems), positions)


def _specification_table(verdict: Verdict, named: Mapping[str, Table], problems: list[Check]) -> Table | None:
    """The specification, ignoring words that do not count; None where that cannot be computed."""
    spec, assumption = named.get("specification"), verdict.assumption
    if spec is None or assumption is None or any(check.name in ("assumption", "scope") for check in problems):
        return spec if assumption is None else None
    try:
        return spec.assuming(named.get("assumption"), assumption.max_length)
    except FormatError as error:
        problems.append(left_open("assumption", error.problem))
        return None


def _of_another_result(raw: dict[str, Any]) -> Iterator[Check]:
    """Refute and remove what a verdict of this outcome does not have, and refute what it lacks."""
    outcome = raw.get("verdict")
    kind = RESULTS.get(outcome) if isinstance(outcome, str) else None
    if kind is None:
        return
    own = {each.encode_name: each for each in msgspec.structs.fields(kind)}
    for name in sorted({name for each in RESULTS.values() for name in each.__struct_fields__} & set(raw)):
        fixed = name in own and own[name].type in _FIXED  # it has one value in verdicts of this outcome
        if (name not in own and raw[name]) or (fixed and raw[name] != own[name].default):
            yield refuted("document", f"it says {outcome}, and has {name} = {short_repr(raw[name])}")
        if name not in own or fixed:
            del raw[name]
    for name in (name for name in _LACKING if name in own and own[name].required and raw.get(name) is None):
        yield refuted("document", f"it says {outcome}, and has no {name}")
        raw[name] = _LACKING[name]
    if kind is Violated and raw["counterexample"] is None:  # nothing that it says of violations can be checked
        raw["verdict"] = "undecided"
        for name in set(Violated.__struct_fields__) - set(Undecided.__struct_fields__) | {"counterexample"}:
            raw.pop(name, None)


def _replace_damaged(raw: dict[str, Any]) -> list[Check]:
    """Replace damaged pieces by harmless values, and refute each."""
    problems = []
    for part in msgspec.structs.fields(RESULTS.get(str(raw.get("verdict")), Undecided)):
        name = part.encode_name
        if name in _PIECES and name in raw:
            try:
                msgspec.convert(raw[name], part.type, dec_hook=decode_part)
            except msgspec.ValidationError as error:
                check, instead = _PIECES[name]
                cause = f"{short_repr(raw[name])} " if name == "alphabet" else ""
                problems.append(refuted(check, f"{cause}cannot be read: {visible(str(error))}"))
                raw[name] = instead
    return problems
