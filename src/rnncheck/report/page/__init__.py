"""The HTML pages: one self-contained file each."""

from __future__ import annotations

from rnncheck.errors import InputError, short_repr
from rnncheck.experiments.run_results import RunResults
from rnncheck.extraction.surrogate_comparison import SurrogateComparison
from rnncheck.repairs.repair_report import RepairReport
from rnncheck.report.page.benchmark_page import run_page
from rnncheck.report.page.comparison_page import comparison_page
from rnncheck.report.page.repair_page import repair_page
from rnncheck.report.page.verdict_page import report_page
from rnncheck.verdict.value import Verdict


def page_of(value: object, *, date: str = "", document: str | None = None, ours: bool = False) -> str:
    """The HTML page of a value that has one; all but the value are for verdicts, see :func:`report_page`."""
    if isinstance(value, Verdict):
        return report_page(value, date=date, document=document, ours=ours)
    if isinstance(value, SurrogateComparison):
        return comparison_page(value)
    if isinstance(value, RunResults):
        return run_page(value)
    if isinstance(value, RepairReport):
        return repair_page(value)
    raise InputError(
        f"{short_repr(value)} has no page; verdicts, repairs, comparisons of surrogates and runs of bench have"
    )
