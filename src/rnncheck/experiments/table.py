"""The table of a run, as text for a terminal, CSV, JSON and LaTeX, the paper's figures beside ours."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from statistics import fmean
from typing import TypeAlias

import msgspec

from rnncheck.errors import InputError
from rnncheck.experiments.published_figures import CONTACTS, RANDOM, ContactsCell, RandomRow
from rnncheck.experiments.run_results import MethodSummary, Result, RunResults, overlaps, summarise
from rnncheck.experiments.runner import AS_PRINTED, method_label, own_name

Row: TypeAlias = list[str]
_PAPER = "  paper"
_UNKNOWN = "–"
FORMATS = ("text", "csv", "json", "latex")


def render(run: RunResults, form: str) -> str:
    """The run's table in one of the ``FORMATS``."""
    if form == "json":
        return _json(run)
    header, rows = table(run)
    match form:
        case "text":
            return "\n".join([*_aligned(header, rows), "", *remarks(run), ""])
        case "csv":
            return _csv(header, rows)
        case "latex":
            return _latex(header, rows)
    raise InputError(f"unknown format {form!r}; choose {', '.join(FORMATS)}")


def table(run: RunResults) -> tuple[Row, list[Row]]:
    """The header and the rows."""
    return (_contacts_table if run.kind == "contacts" else _random_table)(run)


def _random_table(run: RunResults) -> tuple[Row, list[Row]]:
    header = [
        "method", "instances", "mistakes", "satisfied", "undecided", "avg s", "median s", "avg length",
        "avg queries", "avg asked", "avg steps", "avg states", "with flows", "contradicted",
    ]  # fmt: skip
    rows = []
    for summary in summarise(run):
        rows.append(_own_row(summary))
        beside = _beside(run, summary.method) if run.kind == "random" else None
        if beside is not None:
            rows.append(_paper_row(RANDOM[beside]))
    return header, rows


def _beside(run: RunResults, method: str) -> str | None:
    """The paper's method to show below one of ours: below the one as printed, where there is one."""
    printed = own_name(method)
    better = not method.endswith(AS_PRINTED) and method + AS_PRINTED in run.methods
    return None if better or printed not in RANDOM else printed


def _own_row(row: MethodSummary) -> Row:
    return [
        method_label(row.method), str(row.instances), str(row.mistakes), str(row.satisfied), str(row.undecided),
        _seconds(row.average_seconds), _seconds(row.median_seconds), _number(row.average_length, 1),
        _number(row.average_words), _number(row.average_queries), _number(row.average_steps),
        _number(row.average_states, 1), str(row.with_flows), str(row.contradicted),
    ]  # fmt: skip


def _paper_row(row: RandomRow) -> Row:
    return [
        _PAPER, str(row.instances), str(row.mistakes), "", "", _seconds(row.average_seconds), "",
        _number(row.average_length), _number(row.average_queries), "", "",
        _number(row.average_states), "" if row.with_flows is None else str(row.with_flows), "",
    ]  # fmt: skip


def _contacts_table(run: RunResults) -> tuple[Row, list[Row]]:
    header = [
        "network", "accuracy", "method", "verdict", "length", "states", "s", "queries", "asked", "steps",
        "paper: length, states, s",
    ]  # fmt: skip
    rows = []
    for subject, facts in run.subjects.items():
        case = str(facts.get("case", subject))
        for method in run.methods:
            for result in run.of(method):
                if result.subject == subject:
                    published = CONTACTS.get(case, {}).get(own_name(method))
                    rows.append([case, _accuracy(facts), *_contacts_row(result), _paper_cell(published)])
    return header, [*rows, *map(_average_row, summarise(run))]


def _average_row(row: MethodSummary) -> Row:
    """A method over all networks, and the average of what the paper has for its seven."""
    published = [cells[method] for cells in CONTACTS.values() if (method := own_name(row.method)) in cells]
    states = [cell.states for cell in published if cell.states is not None]
    paper = ""
    if published:
        length, seconds = fmean(cell.length for cell in published), fmean(cell.seconds for cell in published)
        paper = f"{length:.1f}, {f'{fmean(states):.1f}' if states else _UNKNOWN}, {seconds:.2f}"
    return [
        "average", "", method_label(row.method), f"{row.mistakes} of {row.instances} violated",
        _number(row.average_length, 1), _number(row.average_states, 1), _seconds(row.average_seconds),
        _number(row.average_words), _number(row.average_queries), _number(row.average_steps), paper,
    ]  # fmt: skip


def _accuracy(facts: Mapping[str, object]) -> str:
    accuracy = facts.get("accuracy")
    return f"{accuracy:.3f}" if isinstance(accuracy, float) else _UNKNOWN


def _contacts_row(result: Result) -> Row:
    return [
        method_label(result.method), result.verdict, _number(result.length), _number(result.states),
        _seconds(result.seconds), str(result.words), str(result.queries), str(result.steps),
    ]  # fmt: skip


def _paper_cell(cell: ContactsCell | None) -> str:
    if cell is None:
        return ""
    return f"{cell.length}, {'–' if cell.states is None else cell.states}, {cell.seconds:g}"


def remarks(run: RunResults) -> list[str]:
    """What the averages do not show."""
    lines = [] if run.shard is None else [f"this is shard {run.shard} of the run"]
    if len(run.results) != run.expected:
        lines.append(f"unfinished: {len(run.results)} of {run.expected} verifications of the networks made so far")
    if run.missing:
        lines.append(f"unfinished: {_count(run.missing, 'network')} still to be made: {_some(run.missing)}")
    found = {result.instance for result in run.results if result.violated}
    all_instances = {result.instance for result in run.results}
    lines.append(f"a mistake is known in {len(found)} of {len(all_instances)} instances")
    for (one, other), instances in overlaps(run).items():
        if instances:
            lines.append(f"{method_label(one)} found what {method_label(other)} missed: {_some(instances)}")
    return lines + (_meanings(run) if run.kind == "contacts" else [])


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:6]) + (f", … ({len(names)})" if len(names) > 6 else "")


def _count(things: Sequence[str], name: str) -> str:
    return f"{len(things)} {name}" + ("" if len(things) == 1 else "s")


def _meanings(run: RunResults) -> list[str]:
    """What the shortest counterexample of each network means for people."""
    from rnncheck.experiments.contact_networks import explained

    lines = []
    for subject, facts in run.subjects.items():
        word = run.shortest_counterexample(subject)
        if word is not None:
            meaning = explained(run.settings, subject, word)
            lines += [] if meaning is None else [f"{facts.get('case', subject)}: {meaning}"]
    return lines


def _json(run: RunResults) -> str:
    document = {
        "schema": "rnncheck/table/1",
        "kind": run.kind,
        "settings": run.settings,
        "complete": run.complete,
        "shard": run.shard,
        "missing_networks": run.missing,
        "subjects": run.subjects,
        "methods": [asdict(summary) for summary in summarise(run)],
        "missed": [
            {"found_by": one, "missed_by": other, "instances": instances}
            for (one, other), instances in overlaps(run).items()
        ],
        "results": [asdict(result) for result in run.results],
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=1).decode() + "\n"


def _aligned(header: Row, rows: Sequence[Row]) -> list[str]:
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    left = [all(not _is_figure(row[column]) for row in rows) for column in range(len(header))]

    def line(row: Row) -> str:
        cells = (
            cell.ljust(width) if is_left else cell.rjust(width)
            for cell, width, is_left in zip(row, widths, left, strict=True)
        )
        return "  ".join(cells).rstrip()

    return [line(header), "  ".join("─" * width for width in widths), *map(line, rows)]


def _is_figure(cell: str) -> bool:
    return cell.replace(",", "").replace(".", "").replace("–", "").isdigit()


def _csv(header: Row, rows: Sequence[Row]) -> str:
    """Every row stands for itself there, so the paper's name their method; what is unknown is left empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    method = ""
    for row in rows:
        first, *others = row
        method = method if first == _PAPER else first
        writer.writerow([f"{method} (paper)" if first == _PAPER else first, *(_known(cell) for cell in others)])
    return text.getvalue()


def _known(cell: str) -> str:
    return "" if cell == _UNKNOWN else cell


def _latex(header: Row, rows: Sequence[Row]) -> str:
    columns = "l" + "r" * (len(header) - 1)
    lines = [rf"\begin{{tabular}}{{{columns}}}", r"\hline", " & ".join(map(_escaped, header)) + r" \\", r"\hline"]
    lines += [" & ".join(_escaped(cell.strip()) for cell in row) + r" \\" for row in rows]
    return "\n".join([*lines, r"\hline", r"\end{tabular}", ""])


_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
        "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "–": "--",
    }
)  # fmt: skip


def _escaped(text: str) -> str:
    return text.translate(_LATEX)


def _seconds(value: float | None) -> str:
    return _number(value, 0 if value is not None and value >= 100 else 2)


def _number(value: float | None, digits: int = 0) -> str:
    return _UNKNOWN if value is None else f"{value:.{digits}f}"
