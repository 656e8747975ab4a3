"""One reader for words in files: the same words whatever the kind of file, and errors that name file and line."""

import shlex
from pathlib import Path

import pytest

from rnncheck.errors import FormatError, InputError
from rnncheck.training.labelled_files import read_labelled_words
from rnncheck.word_files import WordFormat, read_rows, read_sequences, read_words
from rnncheck.words import Alphabet

LETTERS = Alphabet(["a", "b", "two words"])
WORDS = [("a", "b"), (), ("two words", "a")]
SAME = {
    "plain.txt": "# words\na b\n\nε\n'two words' a\n",
    "whole.csv": "id,word\n1,a b\n2,\n3,'two words' a\n",
    "european.csv": "id;word\n1;a b\n2;\n3;'two words' a\n",
    "lists.jsonl": '["a", "b"]\n[]\n["two words", "a"]\n',
    "objects.jsonl": '{"word": "a b"}\n{"word": []}\n{"sequence": ["two words", "a"]}\n',
}


def test_an_empty_separator_is_an_error() -> None:
    with pytest.raises(InputError, match="the separator '' is empty; give the text between two letters"):
        WordFormat(separator="")


@pytest.mark.parametrize("name", SAME)
def test_the_same_words_whatever_the_kind(tmp_path: Path, name: str) -> None:
    """Should give the same words by every way in, with the lines they stand on."""
    path = tmp_path / name
    path.write_text(SAME[name])
    assert read_words(path) == read_words(path, LETTERS) == WORDS
    sequences = read_sequences(path, LETTERS)
    assert list(sequences.words) == WORDS
    lines = path.read_text().split("\n")
    assert all(lines[line - 1] for line in sequences.lines)
    assert list(sequences.lines) == sorted(set(sequences.lines))


def test_a_format_names_columns_and_what_separates(tmp_path: Path) -> None:
    """Should take letters as they are between separators, and cells out of their quotes."""
    form = WordFormat("events", "outcome", ">")
    table, lines = tmp_path / "own.csv", tmp_path / "own.jsonl"
    table.write_text('user,events,outcome\n1,"a > two words>b",yes\n2,,no\n')
    lines.write_text('{"events": "a>two words > b", "outcome": true}\n{"events": "", "outcome": "no"}\n')
    for path in (table, lines):
        assert [(row.word, row.label) for row in read_rows(path, form)] == [
            (("a", "two words", "b"), "yes"),
            ((), "no"),
        ]


@pytest.mark.parametrize(
    ("name", "text", "form", "told"),
    [
        ("x.csv", "", WordFormat("event"), r"x.csv:1: there is no column 'event'; the file is empty"),
        ("x.csv", "user,events\n1,a\n", WordFormat("event"), r"x.csv:1: there is no column 'event'; .* user, events"),
        ("x.csv", "user,events\n1\n", WordFormat("events"), r"x.csv:2: there is no cell for the column 'events'"),
        ("x.csv", 'word\n"a\nb"\n', WordFormat(), "continues on another line"),
        ("x.csv", "word\na\nz\n", WordFormat(), r"x.csv:3: .*'z'"),
        ("x.jsonl", '["a"]\n{"w": "a"}\n', WordFormat("x"), r"x.jsonl:2: there is no field 'x'; it has w"),
        ("x.jsonl", '["a"]\n[1]\n', WordFormat(), r"x.jsonl:2: .* is not a word"),
        ("x.jsonl", '["a"\n', WordFormat(), r"x.jsonl:1: not JSON"),
        ("x.jsonl", "[" * 100_000 + "\n", WordFormat(), r"x.jsonl:1: not JSON"),
        ("x.txt", "a\n", WordFormat("word"), "a text file has no columns"),
        ("x.txt", "a 'b\n", WordFormat(), r"x.txt:1: "),
    ],
)
def test_errors_name_file_and_line(tmp_path: Path, name: str, text: str, form: WordFormat, told: str) -> None:
    """Should be one line of what was wrong and where."""
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(FormatError, match=told):
        read_words(path, LETTERS, form)


def test_labels_come_from_columns_and_conflicts_are_resolved(tmp_path: Path) -> None:
    """Should read what the text form says; a word with several labels is an error, or has its most frequent one."""
    text, table = tmp_path / "own.tsv", tmp_path / "own.csv"
    text.write_text("yes\ta b\nno\tb\nyes\tε\n")
    table.write_text("label,word\nyes,a b\nno,b\nyes,\n")
    ours, theirs = read_labelled_words(text), read_labelled_words(table)
    assert list(ours.words) == list(theirs.words)
    assert (ours.answers.tolist(), ours.labels) == (theirs.answers.tolist(), theirs.labels)
    table.write_text("class,events\nx,a\ny,a\ny,a\nx,b\ny,b\nx,a b\n")
    form = WordFormat("events", "class")
    with pytest.raises(
        FormatError, match=r"own.csv:3: word 'a' is labelled 'y' here and 'x' on line 2; .*--conflicts majority"
    ):
        read_labelled_words(table, form=form)
    resolved = read_labelled_words(table, form=form, conflicts="majority")
    kept = {
        resolved.alphabet.decode(word): resolved.labels[answer]
        for word, answer in zip(resolved.words, resolved.answers.tolist(), strict=True)
    }
    assert kept == {("a",): "y", ("a", "b"): "x"}
    assert (resolved.contradicting, resolved.duplicates) == (2, 4)
    table.write_text("word\na\n")
    with pytest.raises(FormatError, match=r"own.csv:2: there is no label; .*--label-column"):
        read_labelled_words(table)


@pytest.mark.parametrize(
    ("header", "cell", "form", "hint"),
    [
        ("id,events,label", "a;b", {}, "--column events --separator ';'"),
        ("id,events,label", "a b", {}, "--column events"),
        ("id,events,label", "a>b", {"column": "events"}, "--column events --separator '>'"),
        ("id,my events,label", "a|b", {}, "--column 'my events' --separator '|'"),
        ("id,events,label", "x?y", {}, "--column; there are id, events, label"),
    ],
)
def test_a_table_whose_words_are_not_found_says_where_they_seem_to_stand(
    tmp_path: Path, header: str, cell: str, form: dict[str, str], hint: str
) -> None:
    path = tmp_path / "sessions.csv"
    path.write_text("\n".join([header, f"1,{cell},yes", f"2,{cell},no"]))
    letters = Alphabet(["a", "b"])
    with pytest.raises(FormatError) as refused:
        read_words(path, letters, WordFormat(**form))
    assert hint in str(refused.value)
    with pytest.raises(FormatError, match="unknown letter"):
        read_sequences(path, letters, WordFormat(**form))
    if "there are" not in hint:  # and so they are read
        words = shlex.split(hint)
        given = WordFormat(column=words[1], separator=words[3] if len(words) > 2 else None)
        assert read_words(path, letters, given) == [("a", "b")] * 2


def test_a_text_file_has_no_columns_to_hint_at(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("a x\n")
    with pytest.raises(FormatError) as refused:
        read_words(path, Alphabet(["a"]))
    assert "--column" not in str(refused.value)
