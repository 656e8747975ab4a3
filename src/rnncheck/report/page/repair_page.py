"""The page about a repair: every property before and after, round by round, and which answers changed."""

from __future__ import annotations

from rnncheck.repairs.repair_report import Ending, RepairReport, Standing
from rnncheck.report.markup import Child, Markup, count, section, tag, word_markup
from rnncheck.report.page.shell import grid, page
from rnncheck.verdict.strata import frequency_sentence

_LETTERS = 16  # of a word in a table with other columns
_TITLES = {
    Ending.PROVED: "Repaired and proved",
    Ending.NOTHING_FOUND: "Repaired: nothing found any more",
    Ending.NOT_REPAIRED: "Not repaired",
    Ending.ENDED_EARLY: "Ended early",
}


def repair_page(report: RepairReport) -> str:
    """One HTML file."""
    title = _TITLES[report.ending]
    if report.repaired and not report.rounds and not report.improved:
        title = "Nothing to repair"
    top = tag(
        "header",
        tag("p", "rnncheck", tag("span", " repair"), class_="brand"),
        tag("h1", title),
        tag("p", f"{report.reason[:1].upper()}{report.reason[1:]}."),
        tag("p", _written(report)),
        *(tag("p", f"Note: {note}.") for note in report.notes),
    )
    parts = [
        ("properties", "Properties", section("properties", "Before and after", _properties(report))),
        ("answers", "Answers", section("answers", "What else changed", *_answers(report))),
        ("words", "Counterexamples", _counterexamples(report)),
        ("rounds", "Rounds", _rounds(report)),
        ("again", "Again", section("again", "How to do it again", *_again(report))),
    ]
    return page(f"{title} · rnncheck", top, parts, version=report.version)


def _written(report: RepairReport) -> str:
    if not report.improved:
        return "No better network was found: the given one is unchanged."
    return (
        "The repaired network was not written to a file." if report.output is None else f"Written to {report.output}."
    )


def _properties(report: RepairReport) -> Markup:
    rows: list[list[Child]] = []
    for each in report.properties:
        for when, standing in (("before", each.before), ("after", each.after)):
            rows.append(
                [f"{each.name}, {when}", each.relation, _outcome(standing), _mass(standing), _on_data(standing)]
            )
    header = ["property", "relation", "verdict", "probability of a violation (95 %)", "violations among your words"]
    return grid(header, rows)


def _outcome(standing: Standing) -> str:
    if standing.proved:
        return "proved, for every word"
    if not standing.search_steps:
        return "not verified"
    return f"{standing.outcome.value} ({standing.search_steps:,} search steps)"


def _mass(standing: Standing) -> str:
    if standing.proved:
        return "0"
    if standing.mass is None:
        return "–"
    low, high = standing.mass.interval
    return f"{frequency_sentence(standing.mass.interval)} ({low:.3g} to {high:.3g})"


def _on_data(standing: Standing) -> str:
    return "–" if standing.on_data is None else str(standing.on_data)


def _answers(report: RepairReport) -> list[Markup | None]:
    held, changes = report.held_out, report.changes
    accuracy = tag(
        "p",
        f"Of {count(held.words, 'held-out word')} ({held.source}) {held.before:.3%} were answered right before, and "
        f"{held.after:.3%} are after.",
    )
    if not changes.words:
        return [accuracy]
    changed = tag(
        "p",
        f"Of {count(changes.words, 'answer')} that were compared {changes.changed:,} changed, {changes.reasons()}.",
    )
    if not changes.shortest:
        return [accuracy, changed]
    rows: list[list[Child]] = [
        [
            word_markup(each.word, _LETTERS),
            each.before,
            each.after,
            each.why,
        ]
        for each in changes.shortest
    ]
    return [accuracy, changed, tag("p", "The shortest:"), grid(["word", "before", "after", "why"], rows)]


def _counterexamples(report: RepairReport) -> Markup | None:
    rows: list[list[Child]] = []
    for each in report.properties:
        for when, standing in (("before", each.before), ("after", each.after)):
            rows += [[f"{each.name}, {when}", word_markup(word)] for word in standing.counterexamples]
            rows += [[f"{each.name}, {when}: flow", flow] for flow in standing.flows]
    if not rows:
        return None
    return section("words", "Counterexamples that were, and are", grid(["property", "word"], rows))


def _rounds(report: RepairReport) -> Markup | None:
    if not report.rounds:
        return None
    rows: list[list[Child]] = []
    for each in report.rounds:
        kinds = ", ".join(f"{kind}: {number:,}" for kind, number in each.added_words.items())
        rows.append(
            [
                str(each.number),
                f"{len(each.violated)} with {each.search_steps:,} steps",
                kinds,
                f"{each.learned:.2%} in {each.epochs}",
                f"{each.mistakes:,} of {each.audited:,}",
                f"{each.accuracy:.3%}",
                f"{each.seconds:.1f}",
            ]
        )
    header = ["round", "properties violated before it", "new training words", "answers learned, epochs",
              "possible mistakes that are left", "accuracy, validation", "seconds"]  # fmt: skip
    hardening = report.hardening
    note = None
    if hardening is not None:
        note = tag("p", f"Then it was trained for a proof ({hardening.seconds:.1f} s): {hardening.reason}.")
    return section("rounds", "Round by round", grid(header, rows), note)


def _again(report: RepairReport) -> list[Markup | None]:
    facts = ", ".join(f"{name} {value}" for name, value in report.model_before.items() if name != "sha256")
    return [
        None if report.command is None else tag("pre", tag("code", report.command)),
        tag("p", f"The network: {facts}; seed {report.seed}; {report.seconds:.1f} s."),
        tag("p", f"Its sha256 was {report.model_before.get('sha256')}."),
        None if report.sha256_after is None else tag("p", f"Its sha256 is {report.sha256_after}."),
    ]
