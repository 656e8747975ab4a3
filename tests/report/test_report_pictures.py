"""Pictures as files, for every letter and size, and what is said where none can be made."""

import io
import itertools
import subprocess
import xml.etree.ElementTree as ElementTree
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings

from rnncheck.automata.dfa import DFA
from rnncheck.automata.formats.dot import read_dot
from rnncheck.errors import InputError, MissingExtraError, ResourceLimitError
from rnncheck.report.automaton import graphviz
from rnncheck.report.automaton.automaton_drawing import drawing_of, marks_of
from rnncheck.report.automaton.dot_text import label_width
from rnncheck.report.automaton.layout import lay_out
from rnncheck.report.automaton.pictures import draw
from rnncheck.report.markup import listed
from rnncheck.words import Alphabet, letter_text
from support import strategies

SVG = "{http://www.w3.org/2000/svg}"
needs_graphviz = pytest.mark.skipif(not graphviz.available(), reason="the extra `draw` is not installed")


@needs_graphviz
def test_an_svg_shows_states_and_letters() -> None:
    """Should be well-formed, with one circle more for each accepting state, and every letter as text."""
    alphabet = Alphabet([letter for letter in strategies.ODD_LETTERS if len(letter) < 12])
    rows = [[1] * len(alphabet), [code % 2 for code in range(len(alphabet))]]
    dfa = DFA(Alphabet(alphabet), rows, [False, True], names=["<a>&", '"'])
    text = draw(dfa, "svg", marks=marks_of(dfa, [alphabet[0]]), title="</title>").decode()
    root = ElementTree.parse(io.StringIO(text)).getroot()

    assert root.tag == f"{SVG}svg"
    assert len(root.findall(f".//{SVG}ellipse")) == 3
    names = [text.text for text in root.iter(f"{SVG}text") if text.get("class") == "name"]
    assert names == ["<a>&", '"']
    titles = " ".join(title.text or "" for title in root.iter(f"{SVG}title"))
    assert all(letter_text(letter) in titles for letter in alphabet[:20])
    labels = {part.text for part in root.iter(f"{SVG}text") if part.get("class") == "letters"}
    assert letter_text(alphabet[0]) in labels  # the path's letter stands apart from the others


@needs_graphviz
@pytest.mark.parametrize(("picture_format", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_painted_pictures(picture_format: str, start: bytes) -> None:
    """Should be of the format asked for, with letters that Graphviz could mistake for its own."""
    dfa = DFA(Alphabet(["<book>", "&lt;", '"', "\\N", "\n"]), [[1, 1, 0, 0, 1], [0] * 5], [True, False])
    assert draw(dfa, picture_format, marks=marks_of(dfa, ["<book>", "&lt;"])).startswith(start)


@needs_graphviz
def test_nothing_overlaps() -> None:
    """Should place states apart from one another, labels off states, and all of it inside the picture."""
    rng = np.random.default_rng(3)
    for states in (2, 5, 12):
        dfa = strategies.random_dfa(rng, states, 3)
        drawing = drawing_of(dfa)
        layout = lay_out(drawing)
        places = list(layout.states.values())
        for i, (x, y) in enumerate(places):
            assert 0 <= x <= layout.width
            assert 0 <= y <= layout.height
            assert all(np.hypot(x - p, y - q) >= 34 for p, q in places[:i])
        for curve in layout.edges:
            assert curve.label is not None
            assert all(np.hypot(curve.label[0] - x, curve.label[1] - y) > 17 for x, y in places)


@needs_graphviz
def test_labels_do_not_cover_one_another() -> None:
    """Should keep wide labels apart, those of loops too, for which Graphviz keeps no room of its own."""
    alphabet = Alphabet([f"letter-{i}" for i in range(40)])
    for seed, states in ((1, 3), (0, 4), (1, 4), (3, 4), (2, 5)):
        rng = np.random.default_rng(seed)
        dfa = DFA(alphabet, rng.integers(states, size=(states, 40)), rng.random(states) < 0.5)
        drawing = drawing_of(dfa, marks_of(dfa, alphabet.decode(rng.integers(40, size=4).tolist())))
        layout = lay_out(drawing)
        places = [
            (curve.label, label_width(edge.label)) for edge, curve in zip(drawing.edges, layout.edges, strict=True)
        ]
        for ((x, y), width), ((p, q), other) in itertools.combinations(places, 2):
            assert abs(x - p) >= (width + other) / 2 - 1 or abs(y - q) >= 12


@needs_graphviz
def test_a_list_of_letters_keeps_its_order() -> None:
    """Should not let Hebrew or Arabic letters turn around what follows them in a list."""
    dfa = DFA(Alphabet(["\u05d0", "\u0645", "a", "7"]), [[1, 1, 0, 0], [1, 1, 1, 1]], [False, True])
    drawn = ElementTree.parse(io.BytesIO(draw(dfa, "svg"))).getroot()
    labels = {part.text for part in drawn.iter(f"{SVG}text") if part.get("class") == "letters"}
    assert labels == {"\u05d0\u200e, \u0645", "a, 7", "any letter"}
    assert listed("a, b, +16 more") == "a, b, +16 more"


@given(strategies.alphabets().flatmap(lambda letters: strategies.dfas(letters, max_states=5)))
@hypothesis_settings(max_examples=60)
def test_dot_text_is_read_back_as_the_same_automaton(dfa: DFA) -> None:
    """Should colour the path and still be a complete automaton in dot text."""
    word = tuple(dfa.alphabet)[:3]
    text = draw(dfa, "dot", marks=marks_of(dfa, word)).decode()

    assert read_dot(text) == dfa
    assert "#005a9c" in text


@needs_graphviz
def test_large_automata_are_drawn_in_part_and_soon() -> None:
    """Should draw a part of 300 states over 100 letters, and say under the picture that it is one."""
    dfa = strategies.random_dfa(np.random.default_rng(0), 300, 100)
    text = draw(dfa, "svg", timeout=120).decode()
    assert "of 300 states are drawn" in text
    assert len(text) < 200_000


def test_without_graphviz_the_extra_is_named(monkeypatch) -> None:
    """Should say what to install; dot text needs nothing."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    dfa = strategies.random_dfa(np.random.default_rng(0), 3, 2)
    with pytest.raises(MissingExtraError, match=r"rnncheck\[draw\]"):
        draw(dfa, "svg")
    assert draw(dfa, "dot").startswith(b"digraph")


def test_an_unknown_format_is_named() -> None:
    """Should name the format and those that there are."""
    with pytest.raises(InputError, match="'gif'; known are svg, png, pdf, dot"):
        draw(strategies.random_dfa(np.random.default_rng(0), 3, 2), "gif")


@needs_graphviz
def test_a_layout_that_takes_too_long_is_ended(monkeypatch) -> None:
    """Should end the child and say what to do."""
    monkeypatch.setattr(graphviz, "_CHILD", "import sys; sys.stdin.read()")
    with pytest.raises(ResourceLimitError, match=r"more than 0.5 s; minimise it"):
        draw(strategies.random_dfa(np.random.default_rng(0), 3, 2), "svg", timeout=0.5)


@needs_graphviz
def test_a_failing_graphviz_is_quoted() -> None:
    """Should give Graphviz's own last words."""
    with pytest.raises(ResourceLimitError, match="Graphviz could not draw nonsense"):
        graphviz.run_graphviz("this is no graph {{{", "svg", timeout=120, what="nonsense")


@pytest.fixture
def started(monkeypatch) -> list[Any]:
    """The child processes that were started."""
    children: list[Any] = []

    def start(*arguments, **options):
        children.append(popen(*arguments, **options))
        return children[-1]

    popen = subprocess.Popen
    monkeypatch.setattr(graphviz.subprocess, "Popen", start)
    return children


@needs_graphviz
def test_pictures_made_together_share_one_process(started) -> None:
    """Should give each the same picture as alone, make equal ones once, and leave no process behind."""
    rng = np.random.default_rng(0)
    automata = [strategies.random_dfa(rng, states, 3) for states in (1, 4, 12, 12)]
    alone = [draw(dfa, "svg", timeout=120) for dfa in automata]
    assert len(started) == len(automata)
    with graphviz.one_graphviz():
        assert [draw(dfa, "svg", timeout=120) for dfa in automata * 2] == alone * 2
    assert len(started) == len(automata) + 1
    assert all(child.returncode is not None for child in started)


@needs_graphviz
def test_a_picture_that_fails_leaves_the_others_alone(started) -> None:
    """Should start the child again for the next picture, and quote the last failure, not an earlier one."""
    rng = np.random.default_rng(0)
    failing = [("{{{", "svg", "Invalid Input"), ("digraph {}", "none", "TypeError")]
    with graphviz.one_graphviz():
        for text, picture_format, reason in failing:
            with pytest.raises(ResourceLimitError, match=reason):
                graphviz.run_graphviz(text, picture_format, timeout=120, what="nonsense")
            assert draw(strategies.random_dfa(rng, 3, 2), "svg", timeout=120).startswith(b"<svg")
    assert len(started) == 3  # the second failure ended the child that had drawn before


@needs_graphviz
def test_warnings_fill_no_pipe(monkeypatch) -> None:
    """Should go on however much Graphviz writes to its standard error."""
    noisy = graphviz._CHILD.replace("graph.close()", "sys.stderr.write('x' * 100_000)")
    monkeypatch.setattr(graphviz, "_CHILD", noisy)
    rng = np.random.default_rng(0)
    with graphviz.one_graphviz():
        for states in (2, 3, 4):
            assert draw(strategies.random_dfa(rng, states, 2), "svg", timeout=120).startswith(b"<svg")
