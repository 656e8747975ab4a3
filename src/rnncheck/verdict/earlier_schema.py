"""Documents of the schema ``rnncheck/verdict/1``, brought into the form of today's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from rnncheck.automata.dfa import DFA
from rnncheck.automata.formats.dfa_json import DFADocument, dfa_of
from rnncheck.errors import InputError
from rnncheck.relations import Relation

EARLIER = "rnncheck/verdict/1"

# Fields that only a result of this kind has; in the earlier schema every document had them all.
_OF_VIOLATED = (
    *("shortest", "no_violation_up_to", "other_counterexamples", "failure_clusters", "faulty_flows", "trace"),
    *("severity", "counterexample", "confirmed"),
)
_OF_OTHERS = ("guarantee", "searched")
_EMPTY: tuple[object, ...] = (None, False, [])  # a field that says nothing, and that this result does not have
_SETTINGS = {"mass_words": "severity_samples"}
_PARTS = {"flows": {"more_than": "min_hits"}, "proof": {"ahead": "induction_depth"}}


def upgraded(document: Mapping[str, Any], schema: str) -> dict[str, Any]:
    """The document in the form of ``schema``. A field in a document whose result has none such is kept, so that it is
    reported when the document is read.
    """
    parts = dict(document)
    parts["schema"] = schema
    if "mistakes" in parts:
        parts["failure_clusters"] = parts.pop("mistakes")
    interval, strata = parts.pop("violation_mass", None), parts.pop("mass_strata", [])
    if interval is not None or strata:
        parts["severity"] = {"interval": interval, "strata": strata}
    guarantee = parts["guarantee"] = _guarantee(parts.get("guarantee"))
    assumption = parts.pop("assumption", None)
    parts["scope"] = {"assumption": assumption, "covers_reference": _covers_reference(guarantee)}
    outcome = parts.get("verdict")
    for name in _OF_OTHERS if outcome == "violated" else _OF_VIOLATED:
        if name in parts and parts[name] in _EMPTY:
            del parts[name]
    if outcome == "satisfied":
        parts["strength"] = strength_of(guarantee, parts)
    if isinstance(parts.get("settings"), dict):
        parts["settings"] = _settings(parts["settings"])
    return parts


def strength_of(guarantee: object, parts: Mapping[str, Any]) -> str:
    """How strong a "satisfied" of the earlier schema is."""
    facts = guarantee if isinstance(guarantee, dict) else {}
    invariant = facts.get("invariant")
    if facts.get("proof"):
        return "exhaustive" if invariant is None and _may_be_violated(parts) else "proved"
    by_part = isinstance(invariant, dict) and invariant.get("unproved") is not None
    by_mass = facts.get("epsilon") is None and facts.get("possible") is not None
    return "bounded" if by_mass or by_part else "statistical"


def _may_be_violated(parts: Mapping[str, Any]) -> bool:
    """Whether some word that counts could violate the property, whatever the model answers; true if that is unknown."""
    try:
        spec, relation = _automaton(parts["spec"]["automaton"]), Relation.named(parts["relation"])
        assumption = parts["scope"]["assumption"] or {}
        longest, given = assumption.get("max_length"), assumption.get("automaton")
        counts = None if given is None else _automaton(given).over(spec.alphabet)
    except (AttributeError, InputError, KeyError, TypeError, msgspec.MsgspecError):
        return True
    violable = relation.may_violate(spec.accepting)
    front, length = {(spec.initial, 0 if counts is None else counts.initial)}, 0
    seen = set(front)
    while front and (longest is None or length <= longest):
        if any(violable[state] and (counts is None or counts.accepting[other]) for state, other in front):
            return True
        after = {
            (int(spec.transitions[state, letter]), 0 if counts is None else int(counts.transitions[other, letter]))
            for state, other in front
            for letter in range(len(spec.alphabet))
        }
        front, length = after - seen, length + 1
        seen |= front
    return False


def _automaton(document: object) -> DFA:
    return dfa_of(msgspec.convert(document, DFADocument))


def _guarantee(guarantee: object) -> object:
    """With ``covers_reference`` in the place of the still earlier ``original``, which said the opposite."""
    if not isinstance(guarantee, dict):
        return guarantee
    proofs = {name: guarantee[name] for name in ("invariant", "lengths") if isinstance(guarantee.get(name), dict)}
    for name, facts in proofs.items():
        if "original" in facts:
            rest = {key: value for key, value in facts.items() if key != "original"}
            proofs[name] = {**rest, "covers_reference": facts["original"] is not True}
    return {**guarantee, **proofs}


def _covers_reference(guarantee: object) -> bool:
    facts = [guarantee.get(name) for name in ("invariant", "lengths")] if isinstance(guarantee, dict) else []
    return all(each.get("covers_reference", True) is not False for each in facts if isinstance(each, dict))


def _settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    renamed = {_SETTINGS.get(name, name): value for name, value in settings.items()}
    for name, keys in _PARTS.items():
        part = renamed.get(name)
        if isinstance(part, dict):
            renamed[name] = {keys.get(key, key): value for key, value in part.items()}
    return renamed
