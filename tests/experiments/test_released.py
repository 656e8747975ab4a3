"""Networks that exist already are subjects as they are."""

import pytest

from rnncheck.automata.dfa import DFA
from rnncheck.automata.formats.dot import write_dot
from rnncheck.errors import InputError
from rnncheck.experiments.contact_networks import ReleasedContactNetworks
from rnncheck.experiments.folder import RunFolder
from rnncheck.experiments.released_networks import ReleasedNetworks
from support.networks import random_network
from support.paths import SHARED_DATA

FOLDER = SHARED_DATA / "released" / "random"


def test_a_folder_without_networks_is_refused(tmp_path) -> None:
    with pytest.raises(InputError, match="no folder below"):
        ReleasedNetworks(str(tmp_path))
    with pytest.raises(InputError, match="is not a folder"):
        ReleasedNetworks(str(tmp_path / "nowhere"))


def test_specifications_of_any_name_are_told_apart(tmp_path, monkeypatch) -> None:
    """Should lose none of them, and give no two pieces of a run the same name."""
    network = random_network(hidden=(4,), seed=0)
    monkeypatch.setattr("rnncheck.experiments.released_networks.load_released", lambda folder: network)
    dot = write_dot(DFA(network.alphabet, [[0] * len(network.alphabet)], [True]))
    wanted = {
        "net": ["spec_1-2.dot", f"spec_{'long' * 40}.dot"],
        "net-1": ["spec_2.dot"],
        f"odd näme {'long' * 40}": ["spec_1.dot", "spec_second_1.dot", "spec.dot"],
        "plain": ["spec_second_1.dot", "spec_second_2.dot"],
    }
    for folder, files in wanted.items():
        for file in ["meta", *files]:
            (tmp_path / folder).mkdir(exist_ok=True)
            (tmp_path / folder / file).write_text(dot)
    source = ReleasedContactNetworks(str(tmp_path))
    subjects = {name: source.make(name, None) for name in source.names()}
    assert [len(subject.specs) for subject in subjects.values()] == [2, 1, 3, 2]
    assert list(subjects["plain"].specs) == ["1", "2"]
    assert [subject.facts["case"] for subject in subjects.values()] == list(wanted)
    pieces = [f"{name}-{spec}" for name, subject in subjects.items() for spec in subject.specs]
    assert len(set(pieces)) == len(pieces)
    run = RunFolder.begun(tmp_path / "run", "contacts", {}, None)
    assert not any(run.has(f"verdicts/{piece}-auto.json") for piece in pieces)


@pytest.mark.skipif(not FOLDER.exists(), reason="the released networks are not beside the project (../shared/data)")
def test_all_released_specifications_are_found() -> None:
    source = ReleasedNetworks(str(FOLDER))
    subjects = {name: source.make(name, None) for name in source.names()}
    assert len(subjects) == 5
    assert sum(len(subject.specs) for subject in subjects.values()) == 22
