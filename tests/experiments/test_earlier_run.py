"""Networks of an earlier run, asked other questions."""

import pytest

from rnncheck.errors import InputError
from rnncheck.experiments.folder import RunFolder
from rnncheck.experiments.networks_of_a_run import EarlierRun, networks_in
from rnncheck.experiments.random_automata import RandomAutomata
from rnncheck.experiments.run_results import read_results
from rnncheck.experiments.runner import Questions, as_printed, run_experiment
from rnncheck.experiments.subjects import store_subject
from rnncheck.runtime.executors import open_executor

SOURCE = RandomAutomata(
    count=2,
    states=5,
    min_states=4,
    letters=2,
    specs=1,
    hidden_per_state=2,
    words=100,
    accuracy=0.1,
    target_accuracy=0.3,
)


def test_what_a_run_has_made_is_verified_again_with_other_methods_beside_one_another(tmp_path) -> None:
    """The second network of the earlier run is still to be made: it is left out, and stays so."""
    earlier = RunFolder.begun(tmp_path / "earlier", "random", {"methods": ["smc"]}, None, SOURCE.names())
    with pytest.raises(InputError, match="has no finished network yet"):
        networks_in(str(earlier.path))
    store_subject(earlier, "random-001", SOURCE.make("random-001", None))
    source = networks_in(str(earlier.path))
    assert isinstance(source, EarlierRun)
    assert source.names() == ("random-001",)
    questions = Questions(methods=as_printed(["smc", "auto"]), epsilon=0.2, gamma=0.2, timeout=60.0)
    folder = RunFolder.begun(tmp_path / "now", "random", {"methods": list(questions.methods)}, None, source.names())
    with open_executor(1, None) as executor:
        run_experiment(folder, source, questions, executor)
    run = read_results(folder)
    assert run.complete
    assert [result.method for result in sorted(run.results, key=lambda result: result.method)] == [
        "auto",
        "smc",
        "smc_printed",
    ]
    printed = next(result for result in run.results if result.method == "smc_printed")
    assert printed.verdict != "satisfied" or printed.words == 29  # ln(2 / 0.2) / (2 · 0.2²)


def test_a_folder_without_a_run_is_one_of_released_networks(tmp_path) -> None:
    with pytest.raises(InputError, match="holds a network and its specifications"):
        networks_in(str(tmp_path))
