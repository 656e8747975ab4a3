"""``rnncheck bench`` from the command line."""

import json

import pytest

SMALL = (
    "--count", 1, "--states", 5, "--cell", "rnn_tanh", "--hidden", 8, "--words", 100, "--specs", 1, "--accuracy", 0.2,
    "--target-accuracy", 0.6, "--epsilon", 0.1, "--gamma", 0.1, "--method", "smc", "--method", "auto",
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    from rnncheck.cli import main

    out = tmp_path_factory.mktemp("bench") / "run"
    with pytest.raises(SystemExit) as ended:
        main(["bench", "random", *map(str, SMALL), "--out", str(out), "--quiet"])
    assert not ended.value.code
    return out


def test_a_run_ends_in_the_table_and_can_be_repeated_at_once(run, folder) -> None:
    result = run("bench", "random", *SMALL, "--out", folder, "--quiet")
    assert result.code == 0
    assert result.out.splitlines()[0].startswith("method")
    assert result.out == run("bench", "summary", folder).out


@pytest.mark.parametrize(("form", "sign"), [("csv", "method,instances"), ("latex", r"\begin{tabular}")])
def test_the_table_comes_in_other_forms(run, folder, form, sign) -> None:
    assert run("bench", "summary", folder, "--format", form).out.startswith(sign)


def test_json_is_alone_on_stdout(run, folder) -> None:
    document = json.loads(run("bench", "summary", folder, "--format", "json").out)
    assert document["complete"]
    assert {row["method"] for row in document["methods"]} == {"smc", "auto"}


def test_plots_are_written_where_asked(run, folder, tmp_path) -> None:
    assert run("bench", "summary", folder, "--plots", tmp_path / "plots").code == 0
    assert (tmp_path / "plots" / "cactus.svg").stat().st_size > 1000


def test_merging_one_shard_is_the_run_itself(run, folder, tmp_path) -> None:
    assert run("bench", "merge", folder, "--out", tmp_path / "merged").out == run("bench", "summary", folder).out


def test_other_options_in_the_same_folder_are_refused(run, folder) -> None:
    result = run("bench", "random", *SMALL, "--out", folder, "--timeout", 3)
    assert result.code == 2
    assert "timeout = 600.0" in result.err
    result = run("bench", "random", *SMALL, "--out", folder, "--draws", 3)
    assert result.code == 2
    assert "draws = 10, and 3 was" in result.err


def test_a_method_asked_for_twice_is_asked_once(run, folder) -> None:
    assert run("bench", "random", *SMALL, "--method", "smc", "--out", folder, "--quiet").code == 0


def test_an_interrupted_run_says_how_to_go_on_and_looks_like_no_verdict(run, tmp_path, monkeypatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rnncheck.experiments.runner.run_experiment", interrupted)
    result = run("bench", "random", *SMALL, "--out", tmp_path / "run", "--quiet")
    assert result.code == 130
    assert f"the same command continues the run in {tmp_path / 'run'}" in result.err
    unfinished = run("bench", "summary", tmp_path / "run")
    assert unfinished.code == 0
    assert "1 network still to be made: random-001" in unfinished.out


def test_what_is_no_run_has_no_summary(run, tmp_path) -> None:
    result = run("bench", "summary", tmp_path)
    assert result.code == 2
    assert "run.json" in result.err


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((), "--synthetic"),
        (("--synthetic", "met.csv"), "--synthetic"),
        (("--synthetic", "--models", "x"), "--synthetic"),
        (("nowhere.csv",), "nowhere.csv"),
        (("--models", "nowhere"), "nowhere"),
        (("--synthetic", "--target-accuracy", 7), "7.0"),
        (("--synthetic", "--train-seconds", 0), "0.0"),
    ],
)
def test_bad_options_for_contacts_are_named(run, tmp_path, arguments, named) -> None:
    result = run("bench", "contacts", "--out", tmp_path / "run", *arguments)
    assert result.code == 2
    assert named in result.err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--paper", "--states", 4), "--states"),
        (("--paper", "--models", "x"), "--models"),
        (("--models", "nowhere"), "nowhere"),
        (("--shard", "5/2"), "5/2"),
        (("--states", 3), "min_states"),
        (("--epsilon", 2), "epsilon"),
        (("--train-seconds", -1), "-1.0"),
        (("--timeout", "nan"), "nan"),
    ],
)
def test_bad_options_are_named(run, tmp_path, arguments, named) -> None:
    result = run("bench", "random", "--out", tmp_path / "run", *arguments)
    assert result.code == 2
    assert named in result.err
    assert not (tmp_path / "run").exists()
