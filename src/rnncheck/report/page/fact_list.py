"""The sections for the record: cost, question, guarantee, fingerprints, and how to reproduce the run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rnncheck.report.markup import Markup, section, shortened, tag
from rnncheck.report.page.reproduce import repeat_text, replay_text
from rnncheck.verdict import text as sentences
from rnncheck.verdict.value import Verdict

_LONGEST_FACT = 300
_SHOWN_SEPARATELY = ("distribution", "assumption")


def facts(verdict: Verdict) -> Markup:
    """Cost, guarantee, distribution, seed, hashes, and whatever else identifies the run."""
    cost, settings = verdict.cost, verdict.settings
    drawn = settings.get("distribution")
    if drawn is None and verdict.guarantee is not None:
        drawn = verdict.guarantee.distribution
    random_words = sentences.distribution_sentence(drawn if isinstance(drawn, Mapping) else None)
    groups: list[tuple[str, list[tuple[str, object]]]] = [
        ("Cost", [("time", f"{cost.seconds:.2f} s"), ("membership queries", f"{cost.membership_queries:,}"),
                  ("network steps", f"{cost.network_steps:,}"), ("rounds", f"{cost.rounds:,}"),
                  *_first_violation(verdict)]),
        ("Question", [("method", verdict.method), ("relation", _relation(verdict)),
                      *((name, settings[name]) for name in settings
                        if name not in _SHOWN_SEPARATELY and settings[name] is not None),
                      ("seed", verdict.seed), ("version", verdict.version or "not recorded")]),
        ("Guarantee", [("in words", " ".join(sentences.known(verdict))),
                       *_guarantee_numbers(verdict),
                       ("random words", random_words)]),
        ("Evaluation", [*_evaluation(verdict)]),
        ("Network R", [*_plain(verdict.model_facts)]),
        ("Assumption", [*_assumption(verdict)]),
        ("Specification A", [*_plain({"origin": verdict.spec_facts.origin, "sha256": verdict.spec_facts.sha256})]),
    ]  # fmt: skip
    if verdict.violated:
        groups[2] = ("Random words", [("drawn as", random_words)])
    nested = [entry for name, value in verdict.model_facts.items() if isinstance(value, Mapping)
              for entry in _flat(value, f"{name} · ")]  # fmt: skip
    more = tag("details", tag("summary", "More about the network"), _fact_group("", nested)) if nested else None
    made = [_fact_group(*group) for group in groups if group[1]]
    return section("facts", "Facts", tag("div", *made, class_="facts"), more)


def repeat(verdict: Verdict, document: str | None = None, *, ours: bool = False) -> Markup:
    """The command that reproduces the verdict, and the one that checks the evidence in the file ``document``."""
    same = "The same question with the same seed gives the same verdict:"
    written = (
        "the JSON document that verify --json writes"
        if document is None
        else "the JSON document that was written with this"
    )
    check = f"The evidence can be checked independently, from {written}:"
    return section("repeat", "Repeat it", tag("p", same), _code(repeat_text(verdict, ours=ours)), tag("p", check),
                   _code(replay_text(verdict, document or "verdict.json", ours=ours)))  # fmt: skip


def _relation(verdict: Verdict) -> str:
    if verdict.label_question is not None or verdict.comparison is not None:
        return sentences.formula(verdict)
    return f"{verdict.relation.value}: {verdict.relation.formula}"


def _guarantee_numbers(verdict: Verdict) -> list[tuple[str, object]]:
    guarantee = verdict.guarantee
    if guarantee is None:
        return []
    names = ("epsilon", "gamma", "samples", "bound", "hypothesis_epsilon", "exact_length")
    found = [(name.replace("_", " "), getattr(guarantee, name, None)) for name in names]
    return [(name, f"{value:,}" if isinstance(value, int) else value) for name, value in found if value is not None]


def _assumption(verdict: Verdict) -> Iterable[tuple[str, object]]:
    facts = verdict.assumption
    if facts is not None:
        yield "in words", sentences.capital(facts.sentence()) + "."
        yield from _plain({"language": facts.origin, "sha256": facts.sha256, "max_length": facts.max_length})


def _first_violation(verdict: Verdict) -> Iterable[tuple[str, object]]:
    seconds, steps = verdict.cost.first_violation_seconds, verdict.cost.first_violation_steps
    if seconds is not None and steps is not None:
        yield "first violation", f"after {seconds:.2f} s, {steps:,} network steps"


def _evaluation(verdict: Verdict) -> Iterable[tuple[str, object]]:
    if verdict.searched is not None:
        yield "searched", sentences.capital(verdict.searched.sentence()) + "."
    if verdict.evaluation is not None:
        yield "answers", sentences.capital(verdict.evaluation.sentence()) + "."


def _plain(mapping: Mapping[str, object]) -> Iterable[tuple[str, object]]:
    """The entries that are neither nested nor empty."""
    for name, value in mapping.items():
        if not isinstance(value, Mapping) and value is not None and value != []:
            yield name.replace("_", " "), value


def _flat(mapping: Mapping[str, object], path: str) -> Iterable[tuple[str, object]]:
    """Nested entries with the names that lead to them."""
    yield from ((path + name, value) for name, value in _plain(mapping))
    for name, value in mapping.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{path}{name} · ")


def _fact_group(heading: str, entries: Iterable[tuple[str, object]]) -> Markup:
    rows = [tag("div", tag("dt", name), tag("dd", shortened(str(value), _LONGEST_FACT))) for name, value in entries]
    return tag("div", tag("h3", heading) if heading else None, tag("dl", *rows), class_="fact-group")


def _code(text: str) -> Markup:
    copy = tag("button", "Copy", type="button", class_="copy", aria_label="Copy this text")
    return tag("div", tag("pre", tag("code", text), tabindex=0), copy, class_="code")
