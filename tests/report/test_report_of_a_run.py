"""The report of a benchmark shows its table, plots and instances, and no name in it is markup."""

import dataclasses
import re

import pytest

from experiments.test_table import RUN, run_of
from rnncheck.experiments.run_results import RunResults
from rnncheck.report.page.benchmark_page import run_page

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def page() -> str:
    """The page of the sample run, whose plots take a while."""
    return run_page(RUN)


def test_every_instance_method_and_plot_is_there(page: str) -> None:
    for text in ("net/1", "net/2", "smc", "pdv", "auto", "286063", "auto found what smc missed: net/2"):
        assert text in page
    assert page.count("data:image/svg+xml;base64,") == 4
    assert "A mistake is known in 2 of the instances" in page


def test_it_loads_nothing_and_runs_nothing(page: str) -> None:
    assert "<script" not in page
    assert "script-src" not in page
    assert not re.findall(r'(?:src|href)="(?!data:image/svg|#)', page)


def test_names_words_and_reasons_are_text() -> None:
    hostile = [
        dataclasses.replace(result, subject=HOSTILE, reason=HOSTILE, counterexample=(HOSTILE,))
        for result in RUN.results
    ]
    run = RunResults("random", {"methods": [HOSTILE, "smc"]}, {HOSTILE: {HOSTILE: HOSTILE}}, tuple(hostile), 6)
    page = run_page(run)
    assert HOSTILE not in page
    assert "&lt;script&gt;" in page


def test_an_unfinished_run_says_so() -> None:
    assert "not finished: 6 of 9" in run_page(run_of(list(RUN.results), expected=9))


def test_a_run_without_results_has_a_page() -> None:
    assert "0 instances" in run_page(run_of([]))
