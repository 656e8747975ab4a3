"""Contact networks are trained and verified as any other subject, and their mistakes are told in words."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from experiments.test_runner import QUESTIONS
from rnncheck.contacts import check_path, write_contacts
from rnncheck.errors import InputError
from rnncheck.experiments.contact_networks import (
    ContactNetworks,
    ReleasedContactNetworks,
    case_of,
    contact_files,
    explained,
)
from rnncheck.experiments.folder import RunFolder, safe_name
from rnncheck.experiments.run_results import read_results
from rnncheck.experiments.runner import run_experiment
from rnncheck.experiments.table import render
from rnncheck.report.page.benchmark_page import run_page
from support.sources import Here

SMALL = {"words": 200, "cell": "rnn_tanh", "hidden": 8, "layers": 1, "target_accuracy": 0.6, "training_seconds": 600.0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> RunFolder:
    source = ContactNetworks(synthetic=True, people=10, **SMALL)
    settings = msgspec.to_builtins(QUESTIONS) | {"source": msgspec.to_builtins(source)}
    begun = RunFolder.begun(tmp_path_factory.mktemp("contacts") / "run", "contacts", settings, None)
    run_experiment(begun, source, QUESTIONS, Here())
    return begun


def test_a_counterexample_is_no_path_of_the_contact_graph(folder) -> None:
    contacts = ContactNetworks(synthetic=True, people=10, **SMALL).contacts("synthetic")
    run = read_results(folder)
    assert {result.verdict for result in run.results} == {"violated"}
    for result in run.results:
        assert not check_path(contacts, result.counterexample).valid


def test_the_table_says_what_the_mistake_means(folder) -> None:
    text = render(read_results(folder), "text")
    assert "synthetic: accepts" in text


def test_the_report_draws_the_mistake_on_the_contacts(folder, monkeypatch) -> None:
    """Should have the graph and the timeline beside the plots, which are left out here because they take long."""
    monkeypatch.setattr("rnncheck.report.page.benchmark_page.plots", lambda run: {})
    page = run_page(read_results(folder))
    assert "What the mistakes mean" in page
    assert "synthetic: the network accepts" in page
    assert page.count("data:image/svg+xml;base64,") == 2
    without = dataclasses.replace(read_results(folder), settings={"methods": ["pdv"]})
    assert "What the mistakes mean" not in run_page(without)


def test_facts_tell_size_and_accuracy(folder) -> None:
    facts: Mapping[str, Any] = read_results(folder).subjects["synthetic"]
    assert facts["people"] == 10
    assert 0.5 < facts["accuracy"] <= 1.0


def test_by_the_papers_recipe_a_network_learns_whole_words_that_break_at_many_places(folder) -> None:
    """Should have one label a word, and say so; ours breaks in three ways, and labels every prefix."""
    source = ContactNetworks(synthetic=True, people=10, recipe="paper", **SMALL | {"words": 60})
    data = source._data(source.contacts("synthetic"))
    assert data.target is None
    assert data.facts["broken"] == {"many": 36}
    assert source.make("synthetic", None).facts["recipe"] == "paper"
    ours = ContactNetworks(synthetic=True, people=10, **SMALL | {"words": 60})
    assert ours._data(ours.contacts("synthetic")).target is not None
    assert read_results(folder).subjects["synthetic"]["recipe"] == "ours"


def test_a_file_is_read_as_it_is(tmp_path) -> None:
    contacts = ContactNetworks(synthetic=True, people=8).contacts("synthetic")
    write_contacts(contacts, tmp_path / "met.csv")
    read = ContactNetworks(files=contact_files(tmp_path)).contacts("met")
    assert len(read) == len(contacts)
    assert set(read.people) == set(contacts.people)


def test_networks_that_exist_are_told_of_with_the_contacts_of_their_name(tmp_path) -> None:
    for name in ("hospital", "mine", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "meta").write_text("")
        (tmp_path / name / "spec.dot").write_text("")
    files = [tmp_path / "detailed_list_of_contacts_Hospital.csv", tmp_path / "mine.csv"]
    for number, file in enumerate(files):
        file.write_text(f"{number},a,b\n{number},b,c\n")
    source = ReleasedContactNetworks(str(tmp_path), contact_files(tmp_path))
    settings = {"source": msgspec.to_builtins(source)}
    assert explained(settings, "hospital", ("a", "c")) == "accepts a → c, who never met"
    assert source.contacts("mine").times[0] == 1
    assert explained(settings, "other", ("a", "c")) is None
    assert explained(settings, "mine", ("a", "stranger")) is None


def test_the_papers_names_are_known() -> None:
    assert case_of("tij_InVS") == "Workplace"
    assert case_of("mine") == "mine"


def test_wrong_sources_are_refused(tmp_path) -> None:
    with pytest.raises(InputError, match="not both"):
        ContactNetworks()
    with pytest.raises(InputError, match=r"no \.csv"):
        contact_files(tmp_path)
    with pytest.raises(InputError, match="not a file"):
        contact_files(tmp_path / "nowhere.csv")
    with pytest.raises(InputError, match="same name, 'x'"):
        ContactNetworks(files=("a/x.csv", "b/x.csv"))


@pytest.mark.parametrize(
    "wrong",
    [
        {"people": 1}, {"words": 1}, {"hidden": -1}, {"target_accuracy": 7.0}, {"training_seconds": -1.0},
        {"columns": "time,person1"},
    ],
)  # fmt: skip
def test_impossible_settings_are_refused_before_anything_is_done(wrong) -> None:
    with pytest.raises(InputError):
        ContactNetworks(synthetic=True, **wrong)


def test_files_may_have_any_name_and_columns_in_any_order(tmp_path) -> None:
    """Should have a name fit for files for the network, and show the file's own in the table."""
    file = tmp_path / "my contacts, été.csv"
    file.write_text("a,b,1\nb,b,2\nb,c,3\n", encoding="utf-8")
    source = ContactNetworks(
        files=contact_files(file), columns="person1,person2,time", self_contacts="drop", **SMALL | {"words": 40}
    )
    (name,) = source.names()
    assert name == safe_name(name)
    assert len(source.contacts(name)) == 2
    assert source.make(name, None).facts["case"] == "my contacts, été"


def test_a_table_without_its_contacts_stands_without_the_meaning(folder) -> None:
    run = read_results(folder)
    for source in ({"files": ["gone.csv"]}, {"unknown": 1}, {"synthetic": True, "people": -1}, 3):
        text = render(dataclasses.replace(run, settings={**run.settings, "source": source}), "text")
        assert "accepts" not in text
