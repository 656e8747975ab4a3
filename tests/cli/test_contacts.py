"""``rnncheck contacts``, from arguments to exit code, and the commands of its documentation."""

import re
import shlex
from pathlib import Path

import pytest

from rnncheck.automata.product import difference_witness
from rnncheck.contacts import graph_automaton, read_contacts, time_automaton
from rnncheck.spec import read_automaton
from rnncheck.training import read_labelled_words
from rnncheck.words import Alphabet
from support.paths import ROOT, SHARED_DATA

PAGE = ROOT / "docs" / "contacts.md"

FIGURE_3 = "1,C,D\n2,B,C\n3,D,A\n4,A,B\n"


@pytest.fixture
def file(tmp_path) -> Path:
    path = tmp_path / "figure5.csv"
    path.write_text(FIGURE_3)
    return path


@pytest.fixture
def made_up(run, tmp_path) -> Path:
    path = tmp_path / "demo.csv"
    result = run("contacts", "generate", "-o", path, "--people", 20, "--days", 2, "--group-size", 6, "--seed", 3)
    assert result.code == 0
    assert "contacts of 20 people" in result.out
    return path


def test_info_counts(run, file) -> None:
    """Should tell people, contacts, pairs and times."""
    result = run("contacts", "info", file)
    assert result.code == 0
    assert [line.split()[:2] for line in result.out.splitlines()] == [
        ["people", "4:"],
        ["contacts", "4,"],
        ["pairs", "4"],
        ["times", "1"],
    ]


def test_info_tells_groups_and_notes(run, tmp_path) -> None:
    """Should count the members of groups, and say what was left out."""
    path = tmp_path / "contacts.csv"
    path.write_text("1,a,b,X,Y\n2,b,c,Y,Y\n3,c,c,Y,Y\n")
    result = run("contacts", "info", path, "--self-contacts", "drop")
    assert "groups          X (1), Y (2)" in result.out
    assert "note            1 self-contact was left out (line 3)" in result.out


def test_info_shows_names_that_would_disturb_a_terminal(run, tmp_path) -> None:
    """Should write what does not print as escapes, and count pairs of two people only."""
    path = tmp_path / "contacts.csv"
    path.write_text("1,a\x1b[31m,b\n2,b,b\n")
    result = run("contacts", "info", path, "--self-contacts", "keep")
    assert "\x1b" not in result.out
    assert "1 that met, 100.0% of all" in result.out


def test_check_proves_a_path_by_its_times(run, file) -> None:
    """Should exit with 0 and the times."""
    result = run("contacts", "check", file, "--path", "C D A B")
    assert (result.code, result.out) == (0, "yes: C –1→ D –3→ A –4→ B\n")


def test_the_empty_word_is_shown_as_such(run, file) -> None:
    """Should not end in nothing."""
    assert run("contacts", "check", file, "--path", "").out == "yes: ε\n"


def test_check_says_where_a_path_breaks(run, file) -> None:
    """Should exit with 1 and the pair, and the reason."""
    result = run("contacts", "check", file, "--path", "A B C D")
    assert result.code == 1
    assert result.out.splitlines() == [
        "no: A –4→ B –✗→ C …",
        "  breaks at step 2: B → C, who met only before: last at 2, and the path reaches B at 4",
    ]
    assert "A → C, who never met" in run("contacts", "check", file, "--path", "A C").out


def test_check_heeds_strict_and_the_window(run, tmp_path) -> None:
    """Should reject equal times with --strict, and contacts outside the window."""
    path = tmp_path / "contacts.dat"
    path.write_text("5 a b\n5 b c\n9 a c\n")
    arguments = ("contacts", "check", path, "--path", "a b c")
    assert run(*arguments).code == 0
    assert run(*arguments, "--strict").code == 1
    assert run(*arguments, "--until", 5).code == 0
    assert run(*arguments, "--from", 6).code == 1


def test_check_draws(run, file, tmp_path) -> None:
    """Should write both pictures, for a broken path too."""
    graph, timeline = tmp_path / "graph.svg", tmp_path / "timeline.svg"
    result = run("contacts", "check", file, "--path", "A B C", "--graph", graph, "--timeline", timeline)
    assert result.code == 1
    assert str(graph) in result.err
    for picture in (graph, timeline):
        assert picture.read_text().startswith("<svg")
        assert "who met only before" in picture.read_text()


@pytest.mark.parametrize("name", ["spec.json", "spec.dot"])
def test_spec_writes_the_contact_graph(run, made_up, tmp_path, name: str) -> None:
    """Should write an automaton that reads back as the same language."""
    result = run("contacts", "spec", made_up, "-o", tmp_path / name)
    assert "22 states over 20 people" in result.out
    expected = graph_automaton(read_contacts(made_up))
    assert difference_witness(read_automaton(tmp_path / name), expected) is None


def test_spec_writes_time_respecting_paths_and_gaps(run, made_up, tmp_path) -> None:
    """Should say how large the automaton became."""
    network = read_contacts(made_up)
    result = run("contacts", "spec", made_up, "--time", "--strict", "-o", tmp_path / "time.json")
    expected = time_automaton(network, strict=True)
    assert f"{len(expected)} states" in result.out
    assert read_automaton(tmp_path / "time.json") == expected
    assert run("contacts", "spec", made_up, "--gap", 2, "-o", tmp_path / "gap.json").code == 0
    assert not read_automaton(tmp_path / "gap.json").accepts(("100", "101", "100"))


def test_dataset_writes_labelled_words(run, made_up, tmp_path) -> None:
    """Should write words that the trainer reads, labelled as the automaton of paths answers, none in both files."""
    folder = tmp_path / "new" / "data"
    result = run("contacts", "dataset", made_up, "-o", folder, "--train", 200, "--seed", 1)
    assert result.code == 0
    alphabet = Alphabet.parse((folder / "alphabet.txt").read_text().strip())
    train, test = (read_labelled_words(folder / f"{name}.tsv", alphabet) for name in ("train", "test"))
    assert train.counts() == {"no": 100, "yes": 100}
    assert test.counts() == {"no": 20, "yes": 20}
    paths = time_automaton(read_contacts(made_up))
    for part in (train, test):
        assert paths.alphabet == part.alphabet
        assert (paths.accepts_batch(part.words) == (part.answers == 1)).all()
    assert not set(train.words) & set(test.words)
    again = tmp_path / "again"
    assert run("contacts", "dataset", made_up, "-o", again, "--train", 200, "--seed", 1).code == 0
    assert (again / "train.tsv").read_text() == (folder / "train.tsv").read_text()


def test_dataset_heeds_its_options(run, made_up, tmp_path) -> None:
    """Should take sizes, lengths and the kind of broken paths."""
    options = ("--train", 100, "--test-share", 0.5, "--valid-share", 0.2, "--shortest", 3, "--longest", 6, "--strict")
    result = run("contacts", "dataset", made_up, "-o", tmp_path, *options, "--broken", "repeated")
    assert "train.tsv: 100 words, 20 paths and 80 broken ones" in result.out
    assert "test.tsv: 50 words, 10 paths and 40 broken ones" in result.out
    assert "broken by repeated 120" in result.out


def test_generate_is_decided_by_its_seed(run, tmp_path) -> None:
    """Should write the same file for the same seed."""
    texts = []
    for seed in (0, 0, 1):
        assert run("contacts", "generate", "-o", tmp_path / "demo.csv", "--people", 10, "--seed", seed).code == 0
        texts.append((tmp_path / "demo.csv").read_text())
    assert texts[0] == texts[1] != texts[2]


BAD = [
    (["info", "absent.csv"], "absent.csv: cannot be read"),
    (["info", "FILE", "--columns", "time,person1"], "both person1 and person2"),
    (["info", "FILE", "--columns", "person1,person2,time"], "figure5.csv:1: time 'D' is not a whole number"),
    (["info", "FILE", "--from", "99"], "there is no contact from 99; the times go from 1 to 4"),
    (["check", "FILE", "--path", "A E"], "unknown letter 'E' (letter 2 of the word)"),
    (["check", "FILE", "--path", "'A"], "quote ' is not closed"),
    (["check", "FILE"], "Missing option '--path'"),
    (["spec", "FILE", "-o", "spec.txt"], "must end in"),
    (["spec", "FILE", "-o", "spec.json", "--strict"], "--strict goes with --time"),
    (["spec", "FILE", "-o", "spec.json", "--time", "--gap", "2"], "do not go together"),
    (["spec", "FILE", "-o", "spec.json", "--time", "--max-states", "3"], "needs more than 3 states"),
    (["dataset", "FILE", "-o", "data", "--shortest", "9", "--longest", "8"], "lengths 9 to 8"),
    (["dataset", "FILE", "-o", "data", "--train", "5000", "--strict"], "were found, not"),
    (["generate", "-o", "nowhere/demo.csv"], "cannot be written"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[" ".join(arguments) for arguments, _ in BAD])
def test_bad_input_is_one_clear_line_and_exit_code_2(run, file, tmp_path, monkeypatch, arguments, message) -> None:
    """Should say what is wrong and leave no file behind."""
    monkeypatch.chdir(tmp_path)
    result = run("contacts", *(str(file) if argument == "FILE" else argument for argument in arguments))
    assert result.code == 2
    assert message in result.err
    assert result.out == ""
    assert "Traceback" not in result.err
    assert list(tmp_path.iterdir()) == [file]


def test_the_commands_of_the_documentation_run(run, tmp_path, monkeypatch) -> None:
    """Should run every `contacts` command of the page that does not need the published data, in order."""
    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"^    rnncheck (contacts [^#\n]*)", PAGE.read_text(), flags=re.MULTILINE)
    own = [shlex.split(command) for command in commands if "FILE" not in command]
    assert {arguments[1] for arguments in own} == {"generate", "info", "dataset", "spec", "check"}
    for arguments in own:
        result = run(*arguments)
        assert result.code in ((0, 1) if arguments[1] == "check" else (0,)), (arguments, result.err)
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    exec(compile(example, PAGE.name, "exec"), {})


needs_data = pytest.mark.skipif(
    not SHARED_DATA.exists(), reason="the contact data is not beside the project (../shared/data)"
)


def stated_counts() -> dict[str, list[int]]:
    """The numbers of each row of the table of published files."""
    rows = re.findall(r"^\| `(\S+\.csv)` \|[^|]*\|(.*)\|$", PAGE.read_text(), flags=re.MULTILINE)
    return {name: [int(cell.replace(" ", "")) for cell in row.split("|")] for name, row in rows}


@needs_data
@pytest.mark.slow  # neither the files nor their counts change; tests/contacts reads each file
def test_the_table_of_the_documentation_is_right() -> None:
    """Should state the counts of all seven published files as they are."""
    stated = stated_counts()
    assert set(stated) == {path.name for path in (SHARED_DATA / "contacts").glob("*.csv")}
    for name, counts in stated.items():
        network = read_contacts(SHARED_DATA / "contacts" / name)
        facts = [len(network.people), len(network), network.distinct_contacts, network.pairs, len(network.moments)]
        assert counts[:5] == facts, name


@needs_data
@pytest.mark.slow
def test_the_sizes_of_the_documentation_are_right() -> None:
    """Should state how large the automata of time-respecting paths become."""
    for name, counts in stated_counts().items():
        network = read_contacts(SHARED_DATA / "contacts" / name)
        sizes = [len(time_automaton(network, strict=strict, max_states=200_000)) for strict in (False, True)]
        assert counts[5:] == sizes, name
