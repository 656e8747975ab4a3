"""Property files: what they say is what is read, and what is wrong is named with its place and a remedy."""

import contextlib
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnncheck.errors import FormatError, InputError, RnncheckError
from rnncheck.relations import Relation
from rnncheck.spec import Spec
from rnncheck.suite.definitions import Definitions
from rnncheck.suite.property_file import Severity, Suite, WordFile
from rnncheck.words import Alphabet

WHOLE = """
title = "Requests"

[definitions]
request = "a"
answer = "F b"
rule = "$request -> $answer"

[defaults]
epsilon = 0.01
tags = ["all"]
timeout = 5

[distributions.short]
stop = 0.5
weights = { a = 2, "*" = 1 }

[models.first]
path = "nets/one.safetensors"

[models.second]
module = "mine:build"
alphabet = ["a", "b", "c"]
label = 1

[properties.answered]
description = "Every request is answered."
ltlf = "G($rule)"
tags = ["safety"]
severity = "warning"
distribution = "short"
assume = "regex:$request* .*"
models = ["second"]

[properties."ends in b"]
regex = ".* b"
relation = "superset"
epsilon = 0.1
max_length = 10
data = "own.csv"
"""


def suite(folder: Path, text: str) -> Suite:
    path = folder / "suite.toml"
    path.write_text(text)
    return Suite.read(path)


def test_everything_in_a_file_is_read(tmp_path: Path) -> None:
    """Should give each property its own terms, else those of [defaults], else those of verify."""
    read = suite(tmp_path, WHOLE)
    first, second = read.properties
    assert (read.title, [model.name for model in read.models]) == ("Requests", ["first", "second"])
    assert read.models[0].path == tmp_path / "nets" / "one.safetensors"
    assert (read.models[1].module, read.models[1].label) == ("mine:build", 1)
    assert (first.name, first.kind, first.severity) == ("answered", "ltlf", Severity.WARNING)
    certainty = first.options["epsilon"], first.options["gamma"]
    assert (*certainty, first.timeout, first.tags) == (
        0.01,
        5e-4,
        5.0,
        ("all", "safety"),
    )
    assert (first.relation, first.models) == (Relation.SUBSET, ("second",))
    assert (second.options["epsilon"], second.relation, second.tags) == (0.1, Relation.SUPERSET, ("all",))
    assert (second.max_length, second.data) == (10, WordFile(tmp_path / "own.csv"))
    assert first.line == WHOLE.split("\n").index("[properties.answered]") + 1
    assert second.line == WHOLE.split("\n").index('[properties."ends in b"]') + 1


def test_definitions_stand_for_their_texts(tmp_path: Path) -> None:
    """Should be the languages of what is written out by hand."""
    first, second = suite(tmp_path, WHOLE).properties
    letters = Alphabet(["a", "b", "c"])
    assert first.spec(letters).sha256() == Spec.from_ltlf("G(a -> F b)", letters).sha256()
    assert second.spec(letters).sha256() == Spec.from_regex(".* b", letters).sha256()
    assumed = first.assumption(letters)
    assert assumed is not None
    assert assumed.sha256() == Spec.from_regex("a* .*", letters).sha256()
    drawn = first.words_drawn(letters)
    assert drawn.probability(letters.encode(["a"])) == pytest.approx(0.5 * 0.5 * 0.5)
    assert drawn.probability(letters.encode(["b"])) == pytest.approx(0.5 * 0.25 * 0.5)


def test_definitions_bind_as_a_whole() -> None:
    """Should put a text in brackets, and leave quoted letters as they are."""
    definitions = Definitions({"one": "a | b"})
    assert definitions.in_formula("!$one & '$one'") == "!(a | b) & '$one'"
    letters = Alphabet(["a", "b", "c"])
    for text, by_hand in (("$one c", "(a|b) c"), ("c ($one)*", "c (a|b)*")):
        got = Spec.from_regex(definitions.in_expression(text), letters)
        assert got.sha256() == Spec.from_regex(by_hand, letters).sha256()


def test_definitions_that_double_one_another_end() -> None:
    """Should refuse what would fill the memory, at once."""
    texts = {f"d{n}": f"$d{n + 1} & $d{n + 1}" for n in range(60)} | {"d60": "a"}
    definitions = Definitions(texts)
    assert definitions.in_expression("$d0").count("let") == 61
    with pytest.raises(InputError, match="more than 1000000 characters"):
        definitions.in_formula("$d0")


PROPERTY = '[properties.p]\nltlf = "F a"\n'


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("", r"there is no property in it; write \[properties.NAME\]"),
        ("[propertys.p]\nltlf='a'", r"\[propertys\] means nothing here; known are"),
        ("title = 3\n", "title = 3: write a text in quotes"),
        ("properties = 3", r"properties = 3 is not a table; write \[properties\]"),
        ("[properties]\np = 3", r"properties.p = 3 is not a table; write \[properties.p\]"),
        ("[properties.p]", r"toml:1: \[properties.p\]: give exactly one of ltlf, .*none is there"),
        ("[properties.p]\nltlf='a'\nregex='a'", "got ltlf and regex"),
        ("[properties.p]\nltlf=3", r"toml:2: \[properties.p\] ltlf = 3: write a text in quotes"),
        ("[properties.p]\nltlf=''", "write a text in quotes"),
        (PROPERTY + "epsilom = 1", r"toml:3: \[properties.p\] epsilom = 1: unknown key; did you mean epsilon\?"),
        (PROPERTY + "zzz = 1", "unknown key; known are .*assume"),
        (PROPERTY + "epsilon = 2", r"epsilon = 2: write a number between 0 and 1"),
        (PROPERTY + "epsilon = true", "write a number between"),
        (PROPERTY + "timeout = nan", "write a number above 0"),
        (PROPERTY + "seed = -1", r"seed = -1: write a whole number of at least 0"),
        (PROPERTY + "max_length = 1", "of at least 2"),
        (PROPERTY + "severity = 'bad'", r"""write one of "error", "warning", "note\""""),
        (PROPERTY + "relation = 'sub'", r"""write one of "subset", "superset", "equal\""""),
        (PROPERTY + "method = 'magic'", r"""write one of "auto", "pdv\""""),
        (PROPERTY + "tags = 'a'", "write a list of texts"),
        (PROPERTY + "models = ['m']", r"there is no \[models.m\]; there are: none"),
        (PROPERTY + "distribution = 'd'", r"there is no \[distributions.d\]"),
        (PROPERTY + "distribution = {stop = 2}", r"\[properties.p.distribution\] stop = 2: write a number between"),
        (PROPERTY + "complete = true", "no effect without dfa"),
        (PROPERTY + "allow_undecided = 1", "write true or false"),
        (PROPERTY + "assume = 'F $x'", r"assume = 'F \$x': \$x is not defined; defined are: none"),
        ("[properties.p]\nltlf='G($x)'", r"ltlf = 'G\(\$x\)': \$x is not defined"),
        ("[properties.p]\ntrace_ltlf='a'\nrelation='equal'", "trace_ltlf holds of all words or not"),
        ("[definitions]\na = '$b'\nb = '$a'\n" + PROPERTY, r"circular: \$a → \$b → \$a"),
        ("[definitions]\n'a b' = 'c'\n" + PROPERTY, "a name has letters, digits and _ alone"),
        ("[models.m]\n" + PROPERTY, r"\[models.m\]: give exactly one of path, module"),
        ("[models.m]\npath='x'\nmodule='y:z'\n" + PROPERTY, "got path and module"),
        ("[models.m]\npath='x'\nalphabet=['a','a']\n" + PROPERTY, r"alphabet = .*appears twice"),
        ("[models.m]\nmodule='y:z'\ncell='gru'\n" + PROPERTY, "no effect with module"),
        ("[distributions.d]\nwords_like='x'\nstop=0.1\n" + PROPERTY, "leave out stop and weights"),
        ("[distributions.d]\norder=3\n" + PROPERTY, "no effect without words_like"),
        ("[defaults]\nltlf='a'\n" + PROPERTY, r"\[defaults\] ltlf = 'a': unknown key"),
        (PROPERTY + "data = {column = 'x'}", r"\[properties.p.data\]: write its name"),
        (PROPERTY + "data = {path = 'x', columm = 'x'}", r"columm = 'x': unknown key; did you mean column\?"),
        (f"{PROPERTY}\n{PROPERTY}", r"not TOML: .*give each its own name"),
        ("[properties.p]\nltlf = F a", r"not TOML: .*line 2.*texts need quotes"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, reported: str) -> None:
    """Should name the file, the table, the key and the value, and say what to write."""
    with pytest.raises(FormatError, match=reported) as caught:
        suite(tmp_path, text)
    assert str(caught.value).startswith(str(tmp_path / "suite.toml"))
    assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """Should be one line for a missing file, a folder and bytes that are no text."""
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    for name in ("missing.toml", ".", "bytes.toml"):
        with pytest.raises(FormatError, match="cannot be read"):
            Suite.read(tmp_path / name)


def test_a_selection_names_what_there_is(tmp_path: Path) -> None:
    """Should take tags, names and models, and every property on every model unless reported."""
    read = suite(tmp_path, WHOLE)

    def names(**asked: list[str]) -> list[tuple[str, str]]:
        return [(model.name, one.name) for model, one in read.selected(**asked)]

    both = [("first", "ends in b"), ("second", "answered"), ("second", "ends in b")]
    assert names() == both
    assert names(tags=["safety"]) == [("second", "answered")]
    assert names(tags=["safety", "all"]) == both
    assert names(models=["first"]) == both[:1]
    assert names(properties=["answered"]) == [("second", "answered")]
    for asked in ({"tags": ["x"]}, {"properties": ["x"]}, {"models": ["x"]}):
        with pytest.raises(InputError, match=r"suite.toml: no .*'x'"):
            read.selected(**asked)
    with pytest.raises(InputError, match="there are 2 properties; choose one: answered, ends in b"):
        read.property_named(None)


@given(st.text(alphabet='[]."=ab\n{}\\,1', max_size=60))
def test_no_text_makes_the_reader_fall(text: str) -> None:
    """Should be a suite or an error on purpose, whatever the text."""
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(RnncheckError):
        suite(Path(folder), text)
