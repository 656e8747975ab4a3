"""Contact networks are trained and verified as any other subject, and their mistakes are told in words."""

import msgspec
import pytest

from experiments.test_runner import QUESTIONS
from rnncheck.contacts import check_path, write_contacts
from rnncheck.errors import InputError
from rnncheck.executors import open_executor
from rnncheck.experiments.contacts import ContactNetworks, case_of, contact_files
from rnncheck.experiments.folder import RunFolder
from rnncheck.experiments.results import read_results
from rnncheck.experiments.runner import run_experiment
from rnncheck.experiments.table import render

SMALL = {"words": 600, "hidden": 12, "layers": 1, "target_accuracy": 0.7, "training_seconds": 20.0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> RunFolder:
    source = ContactNetworks(synthetic=True, people=10, **SMALL)
    settings = msgspec.to_builtins(QUESTIONS) | {"source": msgspec.to_builtins(source)}
    begun = RunFolder.begun(tmp_path_factory.mktemp("contacts") / "run", "contacts", settings, None)
    with open_executor(1) as executor:
        run_experiment(begun, source, QUESTIONS, executor)
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


def test_facts_tell_size_and_accuracy(folder) -> None:
    facts = read_results(folder).subjects["synthetic"]
    assert facts["people"] == 10
    assert 0.5 < facts["accuracy"] <= 1.0


def test_a_file_is_read_as_it_is(tmp_path) -> None:
    contacts = ContactNetworks(synthetic=True, people=8).contacts("synthetic")
    write_contacts(contacts, tmp_path / "met.csv")
    read = ContactNetworks(files=contact_files(tmp_path)).contacts("met")
    assert len(read) == len(contacts)
    assert set(read.people) == set(contacts.people)


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
    with pytest.raises(InputError, match="same name"):
        ContactNetworks(files=("a/x.csv", "b/x.csv"))
