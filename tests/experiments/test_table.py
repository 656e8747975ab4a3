"""Tables and plots say what the verdicts say."""

import csv
import dataclasses
import io
import json
import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnncheck.errors import InputError
from rnncheck.experiments.run_results import Result, RunResults, overlaps, summarise
from rnncheck.experiments.table import render
from rnncheck.report.charts.run_charts import plots
from rnncheck.report.page.benchmark_page import run_page

METHODS = ["smc", "pdv", "auto"]


def result(instance: int, method: str, verdict: str, seconds: float = 1.0, length: int | None = None) -> Result:
    word = None if verdict != "violated" else ("a",) * (length or 1)
    return Result(
        "net", str(instance), method, verdict, seconds, 20 * instance, 10 * instance, 100 * instance,
        word and len(word), 3, 1 if word else 0, "because", word,
    )  # fmt: skip


def run_of(results: list[Result], kind: str = "random", expected: int | None = None) -> RunResults:
    return RunResults(
        kind,
        {"methods": METHODS},
        {"net": {"case": "Workplace"}},
        tuple(results),
        expected or len(results),
    )


RUN = run_of(
    [
        result(1, "smc", "violated", 2.0, 40),
        result(2, "smc", "satisfied", 30.0),
        result(1, "pdv", "violated", 1.0, 4),
        result(2, "pdv", "undecided", 60.0),
        result(1, "auto", "violated", 0.5, 4),
        result(2, "auto", "violated", 1.5, 8),
    ]
)


def test_rows_are_counted_as_by_hand() -> None:
    rows = {row.method: row for row in summarise(RUN)}
    smc, pdv, auto = (rows[method] for method in METHODS)
    assert (smc.mistakes, smc.satisfied, smc.undecided, smc.contradicted) == (1, 1, 0, 1)
    assert (smc.average_seconds, smc.median_seconds, smc.average_length) == (16.0, 16.0, 40.0)
    assert (pdv.mistakes, pdv.undecided, pdv.contradicted) == (1, 1, 0)
    assert (auto.mistakes, auto.average_length, auto.with_flows) == (2, 6.0, 2)
    assert (smc.average_words, smc.average_queries) == (30.0, 15.0)


def test_overlaps_name_what_one_found_and_the_other_missed() -> None:
    missed = overlaps(RUN)
    assert missed["auto", "smc"] == ["net/2"]
    assert missed["auto", "pdv"] == ["net/2"]
    assert missed["smc", "auto"] == []


def test_an_instance_that_was_not_asked_was_not_missed() -> None:
    run = run_of([result(1, "auto", "violated")])
    assert overlaps(run)["auto", "smc"] == []


verdicts = st.sampled_from(["violated", "satisfied", "undecided"])


@given(st.dictionaries(st.tuples(st.integers(1, 6), st.sampled_from(METHODS)), verdicts))
@settings(max_examples=40)
def test_counts_agree_with_plain_loops(chosen) -> None:
    run = run_of([result(instance, method, verdict) for (instance, method), verdict in chosen.items()])
    for row in summarise(run):
        mine = [verdict for (_, method), verdict in chosen.items() if method == row.method]
        assert row.instances == len(mine) == row.mistakes + row.satisfied + row.undecided
        assert row.mistakes == mine.count("violated")
        contradicted = 0
        for (instance, method), verdict in chosen.items():
            if method == row.method and verdict == "satisfied":
                contradicted += any(chosen.get((instance, other)) == "violated" for other in METHODS)
        assert row.contradicted == contradicted


def test_text_has_a_row_a_method_and_the_papers_beside_it() -> None:
    lines = render(RUN, "text").splitlines()
    assert [line.split()[0] for line in lines[2:7]] == ["smc", "paper", "pdv", "paper", "auto"]
    assert "286063" in lines[3]
    assert "auto found what smc missed: net/2" in lines


def test_an_unfinished_run_says_so() -> None:
    assert "unfinished: 6 of 9" in render(run_of(list(RUN.results), expected=9), "text")
    assert "unfinished" not in render(RUN, "text")


def test_networks_that_are_still_to_be_made_leave_a_run_unfinished() -> None:
    """Should not call a run complete because all networks that exist so far are verified."""
    run = dataclasses.replace(RUN, missing=("net-2", "net-3"), shard="1/2")
    assert "unfinished: 2 networks still to be made: net-2, net-3" in render(run, "text")
    assert "shard 1/2" in render(run, "text")
    document = json.loads(render(run, "json"))
    assert not document["complete"]
    assert document["missing_networks"] == ["net-2", "net-3"]
    assert json.loads(render(RUN, "json"))["complete"]


def test_csv_and_json_read_back() -> None:
    rows = list(csv.DictReader(io.StringIO(render(RUN, "csv"))))
    assert [row["method"] for row in rows] == ["smc", "smc (paper)", "pdv", "pdv (paper)", "auto"]
    assert float(rows[0]["avg s"]) == 16.0
    assert rows[1]["avg states"] == ""
    document = json.loads(render(RUN, "json"))
    assert document["schema"] == "rnncheck/table/1"
    assert len(document["results"]) == 6
    assert {"found_by": "auto", "missed_by": "smc", "instances": ["net/2"]} in document["missed"]


def test_latex_escapes_what_it_must() -> None:
    run = RunResults("contacts", {"methods": ["smc"]}, {"net": {"case": "a_b & 50%"}}, RUN.results[:1], 1)
    text = render(run, "latex")
    assert r"a\_b \& 50\%" in text
    assert text.count("{") == text.count("}")


def test_contact_cases_stand_beside_the_papers() -> None:
    text = render(run_of(list(RUN.results), "contacts"), "text")
    assert "2, 2, 0.77" in text


def test_contacts_have_an_accuracy_and_an_average_of_every_method() -> None:
    run = dataclasses.replace(run_of(list(RUN.results), "contacts"), subjects={"net": {"accuracy": 0.805}})
    header, *rows = csv.reader(io.StringIO(render(run, "csv")))
    assert [row[header.index("accuracy")] for row in rows] == ["0.805"] * 6 + [""] * 3
    averages = {row[header.index("method")]: dict(zip(header, row, strict=True)) for row in rows[6:]}
    assert averages["smc"]["verdict"] == "1 of 2 violated"
    assert (averages["smc"]["queries"], averages["smc"]["asked"], averages["smc"]["s"]) == ("30", "15", "16.00")
    assert averages["pdv"]["paper: length, states, s"] == "2.0, 2.0, 0.41"  # of its seven rows
    assert averages["auto"]["paper: length, states, s"] == ""


def test_the_papers_row_stands_below_what_is_as_printed_and_has_no_median() -> None:
    results = [result(1, "smc", "violated", 2.0, 4), result(1, "smc_printed", "undecided", 60.0)]
    run = dataclasses.replace(run_of(results), settings={"methods": ["smc", "smc_printed"]})
    rows = list(csv.DictReader(io.StringIO(render(run, "csv"))))
    assert [row["method"] for row in rows] == ["smc", "smc, as printed", "smc, as printed (paper)"]
    assert rows[2]["avg queries"] == "286063"
    assert rows[2]["median s"] == rows[2]["avg asked"] == ""
    assert "smc found what smc, as printed missed: net/1" in render(run, "text")


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(InputError, match="html"):
        render(RUN, "html")


@pytest.mark.parametrize("results", [RUN.results, RUN.results[1:2], ()], ids=["several", "one", "none"])
def test_plots_are_pictures_and_the_same_each_time(results) -> None:
    drawn = plots(run_of(list(results)))
    again = plots(run_of(list(results))) if len(results) > 1 else drawn
    assert set(drawn) == {
        f"{n}.{f}" for n in ("cactus", "lengths", "queries", "time-against-time") for f in ("svg", "png")
    }
    for name, content in drawn.items():
        if name.endswith("svg"):
            assert ElementTree.fromstring(content).tag.endswith("svg")
            assert content == again[name]
        else:
            assert content.startswith(b"\x89PNG")


def test_plots_and_the_page_call_methods_as_the_table_does() -> None:
    """Should say that a method is as printed, and not the name that the run's folder has for it."""
    results = [result(1, "smc", "violated", 2.0, 4), result(1, "smc_printed", "violated", 60.0, 9)]
    run = dataclasses.replace(run_of(results), settings={"methods": ["smc", "smc_printed"]})
    drawn = plots(run)
    for name in ("cactus", "lengths", "queries", "time-against-time"):
        assert b"smc, as printed" in drawn[f"{name}.svg"]
        assert b"smc_printed" not in drawn[f"{name}.svg"]
    page = run_page(run)
    assert "smc, as printed" in page
    assert page.count("smc_printed") == 1  # among the settings, as the folder has them
