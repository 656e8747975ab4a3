"""Specifications: one value whatever they were written as."""

import itertools

import numpy as np
import pytest

from rnncheck import DFA, Alphabet, Spec
from rnncheck.automata.formats.dfa_json import write_json
from rnncheck.automata.formats.dot import write_dot
from rnncheck.errors import AlphabetError, FormatError
from rnncheck.spec import parse_spec

ENDS_IN_A = [[1, 0], [1, 0]]


def test_the_same_language_in_every_form_has_one_digest(tmp_path) -> None:
    dfa = DFA(["a", "b"], ENDS_IN_A, np.array([False, True]))
    (tmp_path / "spec.dot").write_text(write_dot(dfa))
    (tmp_path / "spec.json").write_text(write_json(dfa))
    specs = [
        Spec.from_dfa(dfa),
        Spec.from_regex("(a|b)* a"),
        Spec.from_ltlf("F(a & last)", ["a", "b"], nonempty=True),
        Spec.from_ltlf("F(a & last)", ["b", "a"]),
        Spec.from_file(tmp_path / "spec.dot"),
        Spec.from_file(tmp_path / "spec.json", ["b", "a"]),
        parse_spec("regex:(a|b)* a"),
        parse_spec("ltlf:F(a & last)", Alphabet(["a", "b"])),
        parse_spec(str(tmp_path / "spec.dot")),
    ]
    assert len({spec.sha256() for spec in specs}) == 1
    assert Spec.from_regex("(a|b)* b").sha256() != specs[0].sha256()


def test_answers_agree_with_the_automaton_it_came_from() -> None:
    rng = np.random.default_rng(3)
    dfa = DFA(["x", "<y>"], rng.integers(7, size=(7, 2)), rng.random(7) < 0.5)
    spec = Spec.from_dfa(dfa)
    words = [word for n in range(7) for word in itertools.product(dfa.alphabet, repeat=n)]
    assert spec.accepts_batch(words).tolist() == [dfa.accepts(word) for word in words]
    assert [spec.over(Alphabet(["<y>", "x"])).accepts(word) for word in words] == [spec.accepts(word) for word in words]


def test_alphabet_comes_from_the_text_unless_given() -> None:
    assert Spec.from_regex("(b|a)* '<c>'").alphabet.letters == ("b", "a", "<c>")
    assert Spec.from_ltlf("G(open -> F close)", ["open", "close", "other"]).alphabet.letters[-1] == "other"
    with pytest.raises(AlphabetError, match="mentions no letter"):
        Spec.from_ltlf("G true")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x89PNG\r\n\x1a\n", "1: byte 0x89 is not UTF-8"),
        (b"digraph {\n\n\xff}", "3: byte 0xff is not UTF-8"),
        (b"", "expected a directed graph"),
        (b'{"schema": "other"}', "not an automaton in JSON"),
        (b"{", "not an automaton in JSON"),
    ],
)
def test_unreadable_files_name_the_file(tmp_path, content: bytes, message: str) -> None:
    path = tmp_path / "bad.dot"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=message) as caught:
        Spec.from_file(path)
    assert str(caught.value).startswith(str(path))


def test_missing_file_and_folder_are_named() -> None:
    with pytest.raises(FormatError, match=r"nowhere\.dot: cannot be read: No such file"):
        Spec.from_file("nowhere.dot")
    with pytest.raises(FormatError, match="Is a directory"):
        Spec.from_file(".")


def test_a_byte_order_mark_and_blanks_before_json_are_passed_over(tmp_path) -> None:
    dfa = DFA(["a", "b"], ENDS_IN_A, np.array([False, True]))
    path = tmp_path / "spec.json"
    path.write_bytes(b"\xef\xbb\xbf" + b" " * 100 + write_json(dfa).encode())
    assert Spec.from_file(path).sha256() == Spec.from_dfa(dfa).sha256()


def test_a_foreign_label_that_is_a_letter_of_the_given_alphabet_is_not_split(tmp_path) -> None:
    path = tmp_path / "spec.dot"
    path.write_text('digraph { __s [shape=point]; q [shape=doublecircle]; __s -> q; q -> q [label="a,b"]; }')
    assert Spec.from_file(path).alphabet.letters == ("a", "b")
    assert Spec.from_file(path, ["a,b"]).accepts(["a,b"])
