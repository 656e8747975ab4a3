"""``rnncheck spec``, from arguments to exit code."""

import subprocess
import sys
import time

import pytest

from rnncheck import Spec
from rnncheck.automata.product import difference_witness
from support.clocks import HARDLY_EVER

A_THEN_B = """digraph {
  __start [shape=point];
  s [shape=doublecircle]; t [shape=circle];
  __start -> s;
  s -> t [label="a"]; s -> s [label="b"];
  t -> t [label="a"]; t -> s [label="b"];
}
"""


@pytest.fixture
def dot(tmp_path):
    path = tmp_path / "spec.dot"
    path.write_text(A_THEN_B)
    return path


def test_show_tells_the_language(run) -> None:
    result = run("spec", "show", "--ltlf", "G(open -> F close)", "--alphabet", "open,close,other")
    assert result.code == 0
    assert "3: open, close, other" in result.out
    assert "2, 1 accepting" in result.out
    assert "shortest rejected word  open" in result.out
    assert "shortest accepted word  ε" in result.out


@pytest.mark.parametrize(
    ("regex", "phrase"),
    [
        ("a & b", "no word at all"),
        ("(a|b)*", "every word"),
        ("a b", "finitely many words"),
        ("!(a b)", "all but finitely"),
    ],
)
def test_show_tells_the_size_of_the_language(run, regex: str, phrase: str) -> None:
    assert phrase in run("spec", "show", "--regex", regex).out


def test_show_keeps_large_tables_away(run) -> None:
    letters = ",".join(f"l{i}" for i in range(60))
    assert "else →" in run("spec", "show", "--ltlf", "G(l1 -> F l2)", "--alphabet", letters).out
    assert "is not shown" in run("spec", "show", "--regex", "(a|b)*a(a|b){6}").out


def test_show_draws(run, tmp_path) -> None:
    picture = tmp_path / "spec.svg"
    result = run("spec", "show", "--regex", "(a|b)*a(a|b){3}", "--svg", picture)
    assert result.code == 0
    assert picture.read_text().count("<ellipse") >= 16 + 8  # accepting states have two rings


def test_test_answers_each_word(run, dot, tmp_path) -> None:
    words = tmp_path / "words.txt"
    words.write_text("ε\na\n")
    result = run("spec", "test", "--dfa", dot, "--word", "a b", "--words-file", words)
    assert result.out.splitlines() == ["accepted\ta b", "accepted\tε", "rejected\ta"]
    assert result.code == 1
    assert run("spec", "test", "--dfa", dot, "--word", "a b").code == 0


@pytest.mark.parametrize(
    ("relation", "code", "witness"), [("subset", 0, None), ("superset", 1, "B alone: a"), ("equal", 1, "B alone: a")]
)
def test_compare_gives_the_shortest_witness(run, dot, relation: str, code: int, witness: str | None) -> None:
    result = run("spec", "compare", dot, "regex:(a|b)*", "--relation", relation)
    assert result.code == code
    assert (witness or "holds") in result.out


def test_compare_takes_letters_in_any_order(run, dot) -> None:
    assert run("spec", "compare", dot, "ltlf:G(a -> F b)", "--relation", "equal").code == 0
    assert run("spec", "compare", "ltlf:G(a -> F b)", dot, "--relation", "equal", "--alphabet", "b,a").code == 0


@pytest.mark.parametrize("name", ["out.json", "out.dot", "out.gv"])
def test_convert_keeps_the_language(run, tmp_path, name: str) -> None:
    path = tmp_path / name
    letters = "'<a b>',\"it's\",c"
    assert run("spec", "convert", "--ltlf", "G('<a b>' -> F c)", "--alphabet", letters, "--to", path).code == 0
    expected = Spec.from_ltlf("G('<a b>' -> F c)", ["<a b>", "it's", "c"])
    assert difference_witness(Spec.from_file(path).dfa, expected.dfa) is None


def test_convert_prints_dot(run) -> None:
    assert run("spec", "convert", "--regex", "a*", "--to", "-").out.startswith("digraph")


BAD = [
    (["spec", "show"], "exactly one of"),
    (["spec", "show", "--regex", "a", "--ltlf", "a"], "got --regex and --ltlf"),
    (["spec", "show", "--regex", "(a|b"], "column 1"),
    (["spec", "show", "--ltlf", "G(a -> ", "--alphabet", "a"], "column"),
    (["spec", "show", "--ltlf", "G b", "--alphabet", "a"], "'b'"),
    (["spec", "show", "--regex", "a", "--alphabet", "a,a"], "'a' appears twice"),
    (["spec", "show", "--regex", "a", "--alphabet", ""], "empty"),
    (["spec", "show", "--regex", "a", "--alphabet", "a,,b"], "a letter is missing"),
    (["spec", "show", "--regex", "a", "--define", "1=b"], "is not NAME=REGEX"),
    (["spec", "show", "--dfa", "absent.dot"], "absent.dot: cannot be read"),
    (["spec", "test", "--regex", "a"], "there is no word"),
    (["spec", "test", "--regex", "(a|b)*", "--word", "ab"], "write 'a b'"),
    (["spec", "test", "--regex", "(a|b)*", "--word", "a c"], "unknown letter 'c' (letter 2"),
    (["spec", "compare", "regex:a", "regex:a b", "--alphabet", "a"], "'b'"),
    (["spec", "convert", "--regex", "a", "--to", "x.txt"], "must end in"),
    (["spec", "convert", "--regex", "a", "--to", "/nowhere/x.dot"], "cannot be written"),
    (["spec", "show", "--regex", "(a|b)*a(a|b){40}", "--max-states", "5000"], "more than 5000 states"),
    (["spec", "show", "--regex", "(a|b)*a(a|b){9}", "--max-states", "100"], "more than 100 states"),
]


@pytest.mark.parametrize(
    ("arguments", "message"), BAD, ids=lambda value: " ".join(value)[:50] if isinstance(value, list) else ""
)
def test_bad_input_is_one_clear_line_and_exit_code_2(run, arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert result.code == 2
    assert message in result.err
    assert result.out == ""
    assert "Traceback" not in result.err


BAD_DOTS = {
    "two initial states": (
        A_THEN_B.replace("__start -> s;", "__start -> s; __start -> t;"),
        ":4: two initial states, 's' and 't'",
    ),
    "no initial state": (A_THEN_B.replace("__start -> s;", ""), "no initial state"),
    "nondeterministic": (
        A_THEN_B.replace('s -> s [label="b"]', 's -> s [label="a"]'),
        ":5: state 's' has two successors",
    ),
    "undeclared state": (
        A_THEN_B.replace('t -> s [label="b"]', 't -> u [label="b"]'),
        ":6: state 'u' is used but not declared",
    ),
    "partial": (A_THEN_B.replace('t -> s [label="b"];', ""), "state 't' has no successor on letter 'b'"),
    "unbalanced": (A_THEN_B.replace("}", ""), "ends before the closing brace"),
    "nonsense": ("hello world " * 10, ":1: expected a directed graph"),
}


@pytest.mark.parametrize("name", BAD_DOTS)
def test_bad_dot_files(run, tmp_path, name: str) -> None:
    text, message = BAD_DOTS[name]
    path = tmp_path / "bad.dot"
    path.write_text(text)
    result = run("spec", "show", "--dfa", path)
    assert result.code == 2
    assert str(path) in result.err
    assert message in result.err
    assert len(result.err.strip().splitlines()) == 1


def test_a_partial_automaton_can_be_completed(run, tmp_path) -> None:
    path = tmp_path / "partial.dot"
    path.write_text(BAD_DOTS["partial"][0])
    assert run("spec", "test", "--dfa", path, "--complete", "--word", "a b").out == "rejected\ta b\n"


@pytest.mark.parametrize("filler", [b"\x00\xff\x13", b"lorem ipsum { } [ ] ; ", b"digraph { a a a a \n"])
def test_a_hundred_megabytes_of_nonsense_are_refused_quickly(run, tmp_path, filler: bytes) -> None:
    path = tmp_path / "large.dot"
    path.write_bytes(filler * (100_000_000 // len(filler)))
    begin = time.process_time()
    result = run("spec", "show", "--dfa", path)
    assert result.code == 2
    assert len(result.err.strip().splitlines()) == 1
    assert len(result.err) < 400
    assert time.process_time() - begin < HARDLY_EVER


def test_as_a_process_of_its_own() -> None:
    command = [sys.executable, "-m", "rnncheck", "spec", "compare", "regex:a b*", "regex:a b b*"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (1, "")
    assert result.stdout.endswith("accepted by A alone: a\n")


def test_a_list_of_words_is_a_specification(run, tmp_path) -> None:
    """Should take the file's words and no others, and name the line of a letter that the alphabet lacks."""
    file = tmp_path / "documents.txt"
    file.write_text("# two documents\na b\nε\n")
    shown = run("spec", "show", "--word-list", file)
    assert shown.code == 0
    assert "finitely many words" in shown.out
    wrong = run("spec", "show", "--word-list", file, "--alphabet", "a,c")
    assert wrong.code == 2
    assert f"{file}:2: unknown letter 'b'" in wrong.err


def test_a_long_least_word_is_shown_by_its_ends(run) -> None:
    code, out, _ = run("spec", "show", "--regex", "b a{499}", "--alphabet", "a,b")
    assert code == 0
    assert "500 letters: b " + " ".join("a" * 19) + " … " + " ".join("a" * 20) + "\n" in out
    assert len(out) < 1_000


def test_a_probability_too_small_for_a_float_is_a_bound(run) -> None:
    """Should not be 0, nor what rounding leaves of the smallest floats."""
    code, out, _ = run("spec", "show", "--regex", "a{40000}", "--alphabet", "a,b", "--max-states", "50000")
    assert code == 0
    assert "below 2e-308 that a random word is accepted" in out
    code, out, _ = run("spec", "show", "--regex", "∅", "--alphabet", "a,b")
    assert code == 0
    assert "0 that a random word is accepted" in out
