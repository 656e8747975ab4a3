"""``rnncheck verify | extract | replay``, from arguments to exit code."""

import importlib
import json

import click
import pytest

from rnncheck import Spec, zoo
from rnncheck.cli.learning_request import working_memory

FAULTY = zoo.path("response-faulty-lstm")
PROPERTY = ["--ltlf", "G(a -> F b)"]
QUICK = ["--epsilon", "0.01", "--gamma", "0.05", "--pumps", "30", "--min-hits", "10"]
SEARCH = ["--search-steps", "20000"]
OFTEN_C = ["--weights", "a=1,b=1,c=20"]


@pytest.mark.parametrize("method", ["auto", "pdv", "smc", "aamc"])
def test_a_faulty_network_is_found_out(run, tmp_path, method: str) -> None:
    """The fault shows on long runs of c only, so the sampling methods are given words that have them."""
    path = tmp_path / "verdict.json"
    result = run("verify", FAULTY, *PROPERTY, *QUICK, *OFTEN_C, "--method", method, "--json", path)
    assert result.code == 1, result
    assert result.out.startswith("✗ VIOLATED")
    document = json.loads(path.read_text())
    assert document["schema"] == "rnncheck/verdict/2"
    word = document["counterexample"]
    assert not Spec.from_ltlf("G(a -> F b)", ["a", "b", "c"]).accepts(word)
    assert document["cost"]["network_steps"] > 0
    replayed = run("replay", path, "--model", FAULTY)
    assert replayed.code == 0
    assert "confirmed\tcounterexample" in replayed.out


def test_json_alone_on_stdout(run) -> None:
    result = run("verify", FAULTY, *PROPERTY, *QUICK, *SEARCH, *OFTEN_C, "--json", "-")
    assert json.loads(result.out)["verdict"] == "violated"


def test_satisfied_exits_with_0(run) -> None:
    result = run("verify", FAULTY, "--regex", ".*", *QUICK, "--method", "smc")
    assert result.code == 0
    assert result.out.startswith("○ NONE FOUND")
    assert "confidence 0.95" in result.out


def test_a_time_limit_exits_with_3(run) -> None:
    result = run("verify", FAULTY, "--regex", ".*", "--method", "smc", "--timeout", 0)
    assert result.code == 3
    assert "time limit" in result.out


def test_superset_and_mass(run) -> None:
    result = run(
        "verify", FAULTY, "--regex", ".* b", *QUICK, *SEARCH, "--relation", "superset", "--severity-samples", 500
    )
    assert result.code in (0, 1)
    if result.code == 1:
        assert "  severity  " in result.out


def test_exhaustive_up_to_a_length(run) -> None:
    result = run(
        "verify", FAULTY, *PROPERTY, *QUICK, "--exhaustive", 5, "--method", "smc", "--json", "-", "--stop", 0.5
    )
    document = json.loads(result.out)
    if document["verdict"] == "satisfied":
        assert document["guarantee"]["exact_length"] == 5


def test_words_like_those_of_a_file(run, tmp_path) -> None:
    words = tmp_path / "words.txt"
    words.write_text("a b\na c b\nc c\nε\n")
    result = run("verify", FAULTY, *PROPERTY, *QUICK, "--method", "smc", "--words-like", words, "--json", "-")
    document = json.loads(result.out)
    assert document["verdict"] == "violated" or document["guarantee"]["distribution"]["kind"] == "n-gram"


def test_extract_writes_an_automaton(run, tmp_path) -> None:
    path = tmp_path / "surrogate.dot"
    result = run(
        "extract", FAULTY, "--epsilon", 0.1, "--gamma", 0.1, "--stop", 0.2, "--max-hypothesis", 100, "-o", path
    )
    assert result.code in (0, 3)
    assert Spec.from_file(path).alphabet.letters == ("a", "b", "c")
    assert "states" in result.out


def test_replay_refutes_a_forged_verdict(run, tmp_path) -> None:
    path = tmp_path / "verdict.json"
    run("verify", FAULTY, *PROPERTY, *QUICK, *SEARCH, *OFTEN_C, "--json", path)
    document = json.loads(path.read_text())
    document["counterexample"] = ["a", "b"]
    path.write_text(json.dumps(document))
    result = run("replay", path, "--model", FAULTY)
    assert result.code == 1
    assert "REFUTED\tcounterexample" in result.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["verify"], "give a MODEL"),
        (["verify", FAULTY], "exactly one of --dfa, --regex, --ltlf"),
        (["verify", "absent.safetensors", *PROPERTY], "absent.safetensors"),
        (["verify", FAULTY, "--ltlf", "G(x -> F b)"], "'x'"),
        (["verify", FAULTY, *PROPERTY, "--epsilon", "2"], "epsilon 2.0"),
        (["verify", FAULTY, *PROPERTY, "--gamma", "0"], "gamma 0.0"),
        (["verify", FAULTY, *PROPERTY, "--timeout", "-1"], "--timeout"),
        (["verify", FAULTY, *PROPERTY, "--method", "magic"], "magic"),
        (["verify", FAULTY, *PROPERTY, "--weights", "a"], "is not LETTER=NUMBER"),
        (["verify", FAULTY, *PROPERTY, "--weights", "z=1"], "'z'"),
        (["verify", FAULTY, *PROPERTY, "--stop", "0"], "stop probability"),
        (["verify", FAULTY, *PROPERTY, "--json", "/nowhere/v.json", *QUICK], "cannot be written"),
        (["replay", "absent.json"], "absent.json: cannot be read"),
        (["extract", FAULTY, "-o", "x.txt"], "must end in"),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_code_2(run, arguments, message: str) -> None:
    result = run(*arguments)
    assert result.code == 2, result
    assert message in result.err
    assert "Traceback" not in result.err


def test_not_a_verdict(run, tmp_path) -> None:
    path = tmp_path / "verdict.json"
    path.write_text('{"schema": "rnncheck/verdict/1", "verdict": "maybe"}')
    result = run("replay", path)
    assert result.code == 2
    assert "not a verdict" in result.err


def test_an_unexpected_error_never_looks_like_a_verdict(run, monkeypatch) -> None:
    """Python's own exit code for a traceback is 1, which would mean violated."""

    def broken(*arguments, **options):
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(importlib.import_module("rnncheck.cli.verify_command"), "verify", broken)
    result = run("verify", zoo.path("response-lstm"), "--ltlf", "G a")
    assert result.code == 2
    assert "ZeroDivisionError" in result.err
    assert "Traceback" not in result.err


@pytest.mark.parametrize("option", [("--epsilon", "5e-324"), ("--memory", "nan"), ("--memory", "inf")])
def test_extreme_numbers_are_refused(run, option) -> None:
    result = run("verify", zoo.path("response-lstm"), "--regex", "a*", *option)
    assert result.code == 2
    assert "unexpected" not in result.err


def test_a_very_long_word_does_not_fill_the_screen(run, tmp_path, monkeypatch) -> None:
    """Should show its beginning and its end; the JSON document has all of it."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "only_long_words.py").write_text("def judge(words):\n    return [len(word) >= 900 for word in words]\n")
    command = [
        "verify",
        "--module",
        "only_long_words:judge",
        "--alphabet",
        "a",
        "--regex",
        "a{0,899}",
        "--method",
        "smc",
    ]
    result = run(*command, "--stop", "0.001", "--pumps", "0", "--json", tmp_path / "v.json")
    assert result.code == 1
    assert "900 letters" in result.out
    assert " […] " in result.out
    assert max(map(len, result.out.splitlines())) < 600
    assert json.loads((tmp_path / "v.json").read_text())["counterexample"] == ["a"] * 900


def test_only_words_that_count(run, tmp_path) -> None:
    """Should say what is assumed wherever it says what is known, offer the same question again, and replay it."""
    path, page = tmp_path / "verdict.json", tmp_path / "report.html"
    assumed = ["--assume", "G(b -> X !b)", "--max-length", "20"]
    result = run("verify", FAULTY, *PROPERTY, *QUICK, *SEARCH, *OFTEN_C, *assumed, "--json", path, "--report", page)
    assert result.code == 1
    reported = "only words of at most 20 letters that satisfy G(b -> X !b) count"
    assert reported in result.out
    assert reported[1:] in page.read_text().replace("&gt;", ">")
    document = json.loads(path.read_text())
    assert document["scope"]["assumption"]["max_length"] == 20
    assert "--assume 'G(b -> X !b)' --max-length 20" in document["command"]
    assert "--assume" in page.read_text().split("Repeat it")[-1]
    assert run("replay", path, "--model", FAULTY).code == 0


@pytest.mark.parametrize("text", ["regex:[a c]*", "G !b", "dfa:FILE"])
def test_ways_to_say_what_is_assumed(run, tmp_path, text: str) -> None:
    automaton = tmp_path / "assumed.json"
    assert run("spec", "convert", "--regex", "[a c]*", "--alphabet", "a,b,c", "--to", automaton).code == 0
    result = run("verify", FAULTY, *PROPERTY, *QUICK, *OFTEN_C, "--assume", text.replace("FILE", str(automaton)),
                 "--method", "smc", "--json", "-")  # fmt: skip
    document = json.loads(result.out)
    assert document["scope"]["assumption"]["mass"] == pytest.approx(0.01 / (1 - 0.99 * 21 / 22))
    assert "b" not in document["counterexample"]


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--assume", "false"], "no word that satisfies the assumption exists"),
        (["--assume", "G(q)"], "q"),
        (["--assume", "dfa:no-such-file"], "no-such-file"),
        (["--max-length", "0"], "--max-length"),
    ],
)
def test_bad_assumptions(run, options: list[str], part: str) -> None:
    result = run("verify", FAULTY, *PROPERTY, *options)
    assert result.code == 2
    assert part in result.err


def test_a_proof_under_an_assumption(run, tmp_path) -> None:
    path = tmp_path / "proof.json"
    result = run("prove", FAULTY, *PROPERTY, "--assume", "G !a", "--certificate", path)
    assert result.code == 0
    assert "vacuous" in result.out or "follows from the assumption" in result.out


def test_on_data(run, tmp_path) -> None:
    """Should name the lines of the person's own sequences that are violations, and check them again."""
    mine, path = tmp_path / "mine.csv", tmp_path / "verdict.json"
    mine.write_text("a,b\na" + ",c" * 12 + "\nb\n")
    result = run("verify", FAULTY, *PROPERTY, *QUICK, *SEARCH, "--on-data", mine, "--json", path)
    assert result.code == 1
    assert run("report", path, "--report", tmp_path / "page.html").code == 0
    assert "1 of 3 sequences of" in (tmp_path / "page.html").read_text()
    assert f"--on-data {mine}" in json.loads(path.read_text())["command"]
    assert run("replay", path, "--model", FAULTY).code == 3
    assert run("replay", path, "--model", FAULTY, "--on-data", mine).code == 0


def test_faithful_is_for_the_papers_methods_and_sets_what_they_are(run) -> None:
    asked = ["verify", str(zoo.entry("even-elman").path), "--regex", ".*", "--epsilon", "0.05", "--gamma", "0.05"]
    assert "give --method smc, aamc, pdv" in run(*asked, "--faithful").err
    for option, value in (("--learner", "ttt"), ("--bound", "exact"), ("--exhaustive", "2")):
        assert f"leave out {option}" in run(*asked, "--method", "pdv", "--faithful", option, value).err
    document = json.loads(run(*asked, "--method", "pdv", "--faithful", "--quiet", "--json", "-").out)
    settings = document["settings"]
    assert (settings["learner"], settings["bound"], settings["plain"]) == ("lstar-prefixes", "paper", True)
    assert document["cost"]["words_used"] >= 74  # (ln 20 + ln 2) / 0.05


@pytest.mark.parametrize("memory", [0, 64, 111.9])
def test_a_memory_limit_below_what_the_interpreter_takes_is_an_error(run, memory) -> None:
    result = run("verify", zoo.path("response-lstm"), "--ltlf", "G(a -> F b)", "--memory", memory)
    assert result.code == 2
    assert f"--memory {memory:g} is too little" in result.err
    assert "give " in result.err


def test_the_memory_limit_counts_the_libraries_that_are_loaded() -> None:
    """Should leave the same for the work on every machine: what is loaded is counted by fixed numbers."""
    assert working_memory(1024, {"numpy"}) == (1024 - 80) << 20
    assert working_memory(1024, {"numpy", "torch"}) == (1024 - 80 - 192) << 20
    with pytest.raises(click.UsageError, match="take 272 MiB by themselves; give 304 or more"):
        working_memory(303, {"torch"})
