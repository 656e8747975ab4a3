"""The commands about surrogates, as they are typed."""

import json

import pytest

from rnncheck import zoo

QUICK = ("--epsilon", "0.05", "--gamma", "0.05")


def test_roads_are_compared(run, tmp_path) -> None:
    """Should print the table and write page and plot."""
    page, plot = tmp_path / "table.html", tmp_path / "plot.svg"
    result = run("compare-surrogates", zoo.path("tomita4-gru"), "--regex", "!(.* 0 0 0 .*)", *QUICK, "--words", "300",
                 "--method", "bounded", "--method", "grid", "--report", page, "--plot", plot, "--quiet")  # fmt: skip
    assert result.code == 0, result.err
    assert "bounded  4" in result.out
    assert "satisfied" in result.out
    assert "<table" in page.read_text()
    assert "<svg" in plot.read_text()


def test_one_road_can_be_picked_and_no_property_is_needed(run) -> None:
    result = run("compare-surrogates", zoo.path("even-elman"), *QUICK, "--words", "200", "--method", "grid", "--quiet")
    assert result.code == 0
    assert "weiss" not in result.out


def test_a_plot_of_another_kind_is_refused_before_the_work(run) -> None:
    result = run("compare-surrogates", zoo.path("even-elman"), "--plot", "plot.gif")
    assert result.code == 2
    assert ".png or .svg" in result.err


@pytest.mark.parametrize("name", ["moore.dot", "moore.json"])
def test_a_moore_machine_is_written(run, tmp_path, name: str) -> None:
    result = run("extract", "--moore", zoo.path("tokens-gru"), *QUICK, "-o", tmp_path / name)
    assert result.code == 0, result.err
    assert "6 states, labels decimal, integer, malformed" in result.out
    assert "malformed" in (tmp_path / name).read_text()


def test_a_moore_machine_that_was_not_tested_is_told(run, tmp_path) -> None:
    late = run("extract", "--moore", zoo.path("tokens-gru"), *QUICK, "--timeout", "0", "-o", tmp_path / "m.dot")
    assert late.code == 3
    assert "time limit" in late.err
    assert not (tmp_path / "m.dot").exists()
    assert run("extract", "--moore", zoo.path("tokens-gru"), "-o", tmp_path / "m.svg").code == 2


OWN = {
    "own.csv": "id,tokens,label\n1,sign digit,yes\n2,digit point digit,no\n3,digit digit,yes\n"
    "4,point,no\n5,sign sign,no\n",
    "own.jsonl": '{"tokens": ["sign", "digit"]}\n{"tokens": "digit point digit"}\n{"tokens": ["digit", "digit"]}\n'
    '{"tokens": ["point"]}\n{"tokens": "sign sign"}\n',
}


@pytest.mark.parametrize("name", OWN)
def test_words_of_ones_own_are_merged(run, tmp_path, name: str) -> None:
    """Should read them from a column, or field, and say which method auto took; both files are the same words."""
    (tmp_path / name).write_text(OWN[name])
    words = ("--known-words", tmp_path / name, "--column", "tokens")
    result = run("extract", zoo.path("tokens-gru"), "--method", "auto", *words, *QUICK, "-o", tmp_path / "m.dot")
    assert result.code == 0, result.err
    assert "m.dot: 3 states" in result.out  # few words show three of the four, and the test is passed by these
    assert "merging finished at once" in result.out
    refused = run("extract", zoo.path("tokens-gru"), *words[:-1], "colour", "-o", tmp_path / "m.dot")
    assert refused.code == 2
    assert "colour" in refused.err


def test_labels_are_verified(run) -> None:
    """Should exit with 1 and show the labels along the counterexample, with 0 where the formula holds."""
    broken = run("verify", zoo.path("tokens-gru"), "--trace-ltlf", "G(label=malformed -> G label=malformed)", *QUICK)
    assert broken.code == 1
    assert "point/malformed digit/decimal" in broken.out
    holds = run("verify", zoo.path("tokens-gru"), "--trace-regex", "!(.* 'point/integer' .*)", "--method", "smc",
                *QUICK, "--json", "-")  # fmt: skip
    assert holds.code == 0
    assert json.loads(holds.out)["verdict"] == "satisfied"


@pytest.mark.parametrize(
    ("question", "code"),
    [
        (["--trace-ltlf", "G(label=malformed -> G label=malformed)"], 1),
        (["--trace-regex", "!(.* 'point/integer' .*)", "--method", "smc"], 0),
    ],
    ids=["violated", "satisfied"],
)
def test_verdicts_about_labels_are_replayed_and_carry_the_labels(run, tmp_path, question, code) -> None:
    """Should be confirmed by the network with nothing but the document, and no good answer be called one-sided."""
    file = tmp_path / "v.json"
    assert run("verify", zoo.path("tokens-gru"), *question, *QUICK, "--json", file).code == code
    document = json.loads(file.read_text())
    assert (document["label_question"]["said"] is not None) == bool(code)
    assert [note for note in document["health"] if note["name"] == "one-sided model"] == []
    replayed = run("replay", file, "--model", zoo.path("tokens-gru"))
    assert replayed.code == 0, replayed
    assert "CONFIRMED" in replayed.out


def test_a_moore_machine_is_no_specification(run, tmp_path) -> None:
    """Should say so, instead of reading an automaton that accepts nothing."""
    machine = tmp_path / "m.dot"
    assert run("extract", "--moore", zoo.path("tokens-gru"), *QUICK, "-o", machine).code == 0
    refused = run("spec", "show", "--dfa", machine)
    assert refused.code == 2
    assert "m.dot: a Moore machine, which outputs labels" in refused.err


def test_a_formula_over_labels_is_needed_and_checked(run) -> None:
    assert "exactly one" in run("verify", zoo.path("tokens-gru")).err
    wrong = run("verify", zoo.path("tokens-gru"), "--trace-ltlf", "F label=colour")
    assert wrong.code == 2
    assert "neither a letter nor a label" in wrong.err
