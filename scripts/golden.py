"""Golden verdicts: what rnncheck answers to a fixed set of questions, recorded before a change and compared after it.

    python scripts/golden.py record DIR [--again] [--only 'pair-*']     one JSON document per question
    python scripts/golden.py compare OLD NEW                            exit 1 where they differ, one line each

Every question is bounded by counts and never by time, so that two runs on one machine give the same documents. They
hold what a user relies on: the outcome and its strength, the counterexample, the numbers of the guarantee, flows, the
kinds of health notes, and the cost in queries and network steps; no prose and no seconds. A change of how things are
named or arranged keeps all of them. Two extraction methods, ``kmeans`` and ``merging``, may change their automaton as
long as it agrees with the network at least as well.

To record an earlier commit, check it out in another worktree and put its ``src`` on PYTHONPATH.
"""

from __future__ import annotations

import argparse
import dataclasses
import fnmatch
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import golden_models

import rnncheck
from rnncheck import zoo

METHODS = ("smc", "aamc", "pdv", "auto", "errors", "prove")
RELATIONS = ("subset", "superset", "equal")
RELEASED = Path(__file__).resolve().parents[2] / "shared" / "data" / "released"
EPSILON = 0.05
# Specifications of what tokens-gru says when, in the place of the three relations.
LABEL_SPECS = {
    "stays-malformed": "G(label=malformed -> G label=malformed)",
    "ends-malformed": "G(label=malformed -> F label=malformed)",
    "no-decimal": "G !(label=decimal)",
}
EXTRACTIONS = ("pac", "bounded", "merging", "weiss", "tree", "kmeans", "grid", "cells")
ONLY_AGREEMENT = ("merging", "kmeans")
# Questions without an answer in a reasonable time: the words of the automaton that AAMC learns are too many to list.
WITHOUT_ANSWER = {("xml-lstm", "aamc", "equal")}
# Settings that have another name in earlier versions.
FORMER_NAMES = {"severity_samples": "mass_words", "induction_depth": "ahead"}

Document = dict[str, Any]


@dataclass(frozen=True)
class Question:
    """One question: its name, which is its file's, what is written about it, and what answers it."""

    name: str
    about: Mapping[str, Any]
    answer: Callable[[], Document] = field(repr=False)


# --- the questions ----------------------------------------------------------------------------------------------------


def questions(folder: Path) -> Iterator[Question]:
    """All of them, the quick ones first; ONNX files are written to the folder."""
    models = _Models(folder)
    for form in golden_models.FORMS:
        for entry in zoo.entries():
            for method in METHODS:
                for relation in RELATIONS:
                    if (entry.name, method, relation) not in WITHOUT_ANSWER:
                        yield _of_zoo(models, form, entry.name, method, relation)
    for entry in zoo.entries():
        yield _of_zoo(models, "network", entry.name, "auto", "subset", max_length=6)
        for method in METHODS:
            for relation in RELATIONS:
                yield _of_pair(models, entry.name, method, relation)
    for label_spec in LABEL_SPECS:
        for method in METHODS:
            yield _of_labels(models, method, label_spec)
    for name in ("tomita4-gru", "response-faulty-lstm", "tokens-gru"):
        for method in EXTRACTIONS:
            yield _extraction(models, name, method)
    if RELEASED.is_dir():
        for path in sorted(RELEASED.glob("*/*/meta")):
            for method in ("auto", "pdv"):
                yield _of_released(path.parent, method)
    else:
        _say(f"the released networks are not at {RELEASED}: their questions are left out")


class _Models:
    """The models by form and name, each made once."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._made = folder, {}

    def get(self, form: str, name: str) -> Any:
        if (form, name) not in self._made:
            self._made[form, name] = golden_models.FORMS[form](name, self._folder)
        return self._made[form, name]


def _of_zoo(models: _Models, form: str, name: str, method: str, relation: str, **more: Any) -> Question:
    asked = _asked(method, relation=relation, **more)

    def answer() -> Document:
        spec = zoo.entry(name).spec()
        return _of_verdict(rnncheck.verify(models.get(form, name), spec, settings=_settings(method), **asked))

    ending = "".join(f"-{key}-{value}" for key, value in more.items())
    return Question(f"{form}-{name}-{method}-{relation}{ending}", {"form": form, "network": name, **asked}, answer)


def _of_pair(models: _Models, name: str, method: str, relation: str) -> Question:
    asked = _asked(method, relation=relation)

    def answer() -> Document:
        pair = models.get("network", name), golden_models.partner(name)
        return _of_verdict(rnncheck.diff(*pair, labels=False, settings=_settings(method), **asked))

    return Question(f"pair-{name}-{method}-{relation}", {"form": "pair", "network": name, **asked}, answer)


def _of_labels(models: _Models, method: str, label_spec: str) -> Question:
    asked, name = _asked(method), "tokens-gru"

    def answer() -> Document:
        model = models.get("network", name)
        spec = rnncheck.label_spec(model, ltlf=LABEL_SPECS[label_spec])
        return _of_verdict(rnncheck.verify_labels(model, spec, settings=_settings(method), **asked))

    about = {"form": "labels", "network": name, "property": LABEL_SPECS[label_spec], **asked}
    return Question(f"labels-{name}-{method}-{label_spec}", about, answer)


def _of_released(folder: Path, method: str) -> Question:
    asked = _asked(method, relation="subset")
    spec = next(path for path in (folder / "spec_second_1.dot", folder / "spec_dfa.dot") if path.is_file())

    def answer() -> Document:
        model = rnncheck.load_model(folder, cache=False)
        released = rnncheck.Spec.from_file(spec, alphabet=model.alphabet)
        return _of_verdict(rnncheck.verify(model, released, settings=_settings(method), **asked))

    about = {"form": "released", "network": folder.name, "property": spec.name, **asked}
    return Question(f"released-{folder.name}-{method}-subset", about, answer)


def _extraction(models: _Models, name: str, method: str) -> Question:
    def answer() -> Document:
        settings = rnncheck.LearningSettings(max_states=40, max_query_length=200)
        extract = getattr(rnncheck, "extract", None) or rnncheck.extract_automaton  # its name in earlier versions
        made = extract(models.get("network", name), method=method, epsilon=EPSILON, gamma=EPSILON, settings=settings)
        point, cost = made.measured, made.cost
        return {
            "outcome": "passed" if made.passed else "not passed",
            "agreement": None if point is None else _rounded(point.agreement),
            "states": len(made.automaton),
            "epsilon": _rounded(made.epsilon),
            "cost": {name: getattr(cost, name) for name in ("membership_queries", "network_steps", "rounds")},
        }

    return Question(f"extract-{name}-{method}", {"form": "extraction", "network": name, "method": method}, answer)


def _asked(method: str, **more: Any) -> dict[str, Any]:
    return {"method": method, "epsilon": EPSILON, "seed": 0, **more}


def _settings(method: str) -> Any:
    """Bounds that keep all questions together within half an hour of one core."""
    proof = _made(rnncheck.ProofSettings, context=3, classes=1_000, rounds=200, induction_depth=2, longest=100)
    return _made(
        rnncheck.VerifySettings,
        max_states=60,
        search_steps=200_000,
        shorter_steps=50_000,
        severity_samples=2_000,
        suspects=20,
        proof=proof,
    )


def _made(kind: Any, **values: Any) -> Any:
    """A settings object of whichever version this is."""
    known = {part.name for part in dataclasses.fields(kind)}
    return kind(**{name if name in known else FORMER_NAMES[name]: value for name, value in values.items()})


# --- the documents ----------------------------------------------------------------------------------------------------


def _of_verdict(verdict: Any) -> Document:
    """What is kept of a verdict, read from its JSON document."""
    document = json.loads(verdict.to_json())
    cost = document["cost"]
    counts = ("membership_queries", "network_steps", "rounds", "first_violation_steps", "words_used")
    learned = document.get("hypothesis")
    return {
        "outcome": document["verdict"],
        "strength": strength(document),
        "counterexample": document["counterexample"],
        "confirmed": document["confirmed"],
        "shortest": bool(document.get("shortest")),
        "no_violation_up_to": document.get("no_violation_up_to"),
        "guarantee": _guarantee(document.get("guarantee")),
        "severity": _rounded(_severity(document)),
        "flows": [[flow[part] for part in ("prefix", "loop", "suffix", "hits")] for flow in document["faulty_flows"]],
        "health": sorted(note["check"] for note in document["health"]),
        "hypothesis": None if learned is None else learned["states"],
        "cost": {name: cost.get(name) for name in counts},
    }


def _severity(document: Document) -> list[float] | None:
    """The interval of the probability of violations; documents of schema 1 have it at the top level."""
    interval: list[float] | None = (document.get("severity") or {}).get("interval", document.get("violation_mass"))
    return interval


def strength(document: Document) -> str | None:
    """How strong a satisfied verdict is: its own field, or in documents without one what follows from the guarantee."""
    if document["verdict"] != "satisfied":
        return None
    if document.get("strength") is not None:
        return str(document["strength"])
    guarantee = document["guarantee"]
    invariant = guarantee.get("invariant")
    if guarantee["proof"]:
        alone = document["reason"] == "no word at all can be a violation"
        return "proved" if alone or invariant is not None else "exhaustive"
    by_mass = guarantee["epsilon"] is None and guarantee.get("possible") is not None
    by_part = invariant is not None and invariant.get("unproved") is not None
    return "bounded" if by_mass or by_part else "statistical"


def _guarantee(guarantee: Document | None) -> Document | None:
    """Its numbers."""
    if guarantee is None:
        return None
    possible, invariant = guarantee.get("possible") or {}, guarantee.get("invariant") or {}
    numbers = {name: guarantee.get(name) for name in ("epsilon", "gamma", "samples", "exact_length", "proof")}
    numbers["hypothesis_epsilon"] = guarantee.get("hypothesis_epsilon")
    numbers |= {f"possible_{name}": possible.get(name) for name in ("mass", "samples", "epsilon")}
    numbers |= {f"invariant_{name}": invariant.get(name) for name in ("boxes", "open", "unproved")}
    return {name: _rounded(value) for name, value in numbers.items()}


def _rounded(value: Any) -> Any:
    """Floats with twelve digits: the order of a sum may change."""
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    return float(f"{value:.12g}") if isinstance(value, float) else value


# --- record and compare -----------------------------------------------------------------------------------------------


def record(folder: Path, *, again: bool, only: str) -> None:
    """Answer every question that has no document yet."""
    folder.mkdir(parents=True, exist_ok=True)
    _say(f"rnncheck of {Path(rnncheck.__file__).parent}")
    begun = time.process_time()
    for question in questions(folder / "models"):
        path = folder / f"{question.name}.json"
        if not fnmatch.fnmatch(question.name, only) or (path.exists() and not again):
            continue
        before = time.process_time()
        try:
            answer = question.answer()
        except rnncheck.RnncheckError as error:  # that a question has no answer is an answer
            answer = {"outcome": type(error).__name__}
        document = {"question": dict(question.about), **answer}
        text = json.dumps(document, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
        path.with_suffix(".part").write_text(text, encoding="utf-8")
        path.with_suffix(".part").replace(path)
        _say(f"{time.process_time() - before:7.2f} s  {question.name}: {answer['outcome']}")
    _say(f"{time.process_time() - begun:.0f} s of processor time")


def compare(old: Path, new: Path) -> int:
    """The number of differences; each is shown in a line."""
    documents = [{path.stem: path for path in folder.glob("*.json")} for folder in (old, new)]
    lines = []
    for name in sorted(documents[0].keys() | documents[1].keys()):
        if name not in documents[0] or name not in documents[1]:
            lines.append(f"{name}: only in {old if name in documents[0] else new}")
            continue
        before, after = (json.loads(known[name].read_text(encoding="utf-8")) for known in documents)
        lines += [f"{name}: {line}" for line in differences(before, after)]
    for line in lines:
        _say(line)
    _say(f"{len(documents[0].keys() & documents[1].keys())} questions compared, {len(lines)} differences")
    return len(lines)


def differences(old: Document, new: Document, prefix: str = "") -> Iterator[str]:
    """What two documents of one question differ in."""
    if not prefix and old["question"].get("form") == "extraction" and old["question"]["method"] in ONLY_AGREEMENT:
        if (new.get("agreement") or 0.0) < (old.get("agreement") or 0.0):
            yield f"agreement {old['agreement']} -> {new.get('agreement')}"
        return
    for key in sorted(old.keys() | new.keys()):
        before, after = old.get(key), new.get(key)
        if isinstance(before, dict) and isinstance(after, dict):
            yield from differences(before, after, f"{prefix}{key}.")
        elif before != after:
            yield f"{prefix}{key} {_short(before)} -> {_short(after)}"


def _short(value: Any) -> str:
    text = " ".join(value) if isinstance(value, list) and all(isinstance(each, str) for each in value) else str(value)
    return text if len(text) <= 120 else f"{text[:117]}..."


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="answer the questions and keep the answers in a folder")
    recording.add_argument("folder", type=Path)
    recording.add_argument("--again", action="store_true", help="answer questions that have a document too")
    recording.add_argument("--only", default="*", help="the questions whose name fits this pattern, as 'pair-*-pdv-*'")
    comparing = commands.add_parser("compare", help="show what differs between two recordings")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    chosen = parser.parse_args()
    if chosen.command == "record":
        record(chosen.folder, again=chosen.again, only=chosen.only)
    else:
        sys.exit(1 if compare(chosen.old, chosen.new) else 0)


if __name__ == "__main__":
    main()
