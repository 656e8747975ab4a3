"""What is drawn of an automaton: all of it, or the part that matters, each transition once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnncheck.automata.dfa import DFA
from rnncheck.report.automaton.automaton_drawing import Drawing, Marks, drawing_of, folded_label, marks_of
from rnncheck.report.automaton.layout import lay_out
from rnncheck.words import Alphabet
from support import strategies


def transitions(drawing: Drawing) -> dict[tuple[int, int], int]:
    """The transitions that edges stand for; one that is drawn twice fails."""
    found: dict[tuple[int, int], int] = {}
    for edge in drawing.edges:
        for code in edge.letters:
            assert (edge.source, code) not in found
            found[edge.source, code] = edge.target
    return found


@given(strategies.dfas(max_states=6), st.data())
def test_small_automata_are_drawn_whole(dfa: DFA, data) -> None:
    """Should draw every transition once, but for those into a trap that are described in words."""
    word = data.draw(st.none() | strategies.words(dfa.alphabet))
    drawing = drawing_of(dfa, marks_of(dfa, word))
    drawn = transitions(drawing)

    for state, row in enumerate(dfa.transitions.tolist()):
        for code, target in enumerate(row):
            assert drawn.get((state, code), drawing.trap) == target
    assert (drawing.trap is None) == (not drawing.notes)
    assert {node.state for node in drawing.nodes} | {drawing.trap} >= set(range(len(dfa)))
    assert all(node.left_out == 0 for node in drawing.nodes)


@given(strategies.dfas(max_states=30, max_letters=3), st.data())
def test_the_path_and_the_loops_are_marked(dfa: DFA, data) -> None:
    """Should mark exactly the transitions that the words take, however little of the automaton is drawn."""
    word = data.draw(strategies.words(dfa.alphabet, max_size=8))
    loop = data.draw(strategies.words(dfa.alphabet, max_size=4).filter(bool))
    drawing = drawing_of(dfa, marks_of(dfa, word, [(word[:2], loop)]), most_states=20, most_edges=5)

    def steps(state: int, letters) -> set[tuple[int, int]]:
        taken = set()
        for letter in letters:
            code = dfa.alphabet.index(letter)
            taken.add((state, code))
            state = int(dfa.transitions[state, code])
        return taken

    assert {(e.source, c) for e in drawing.edges if e.on_path for c in e.letters} == steps(dfa.initial, word)
    start = dfa.run(word[:2])[-1]
    assert {(e.source, c) for e in drawing.edges if e.flows == (0,) for c in e.letters} == steps(start, loop)
    assert {node.state for node in drawing.nodes if node.on_path} == set(dfa.run(word))
    assert [node.state for node in drawing.nodes if node.is_end] == [dfa.run(word)[-1]]


@given(st.integers(1, 60), st.integers(1, 30), st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_a_part_is_small_honest_and_near(states: int, letters: int, seed: int, most: int) -> None:
    """Should keep to the limits, start at the initial state, and count what is left out."""
    dfa = strategies.random_dfa(np.random.default_rng(seed), states, letters)
    drawing = drawing_of(dfa, most_states=most, most_edges=20)
    drawn = transitions(drawing)

    assert 1 <= len(drawing.nodes) <= most
    assert len(drawing.edges) <= 20
    assert any(node.initial for node in drawing.nodes)
    for node in drawing.nodes:
        in_words = sum(
            (node.state, code) in drawn or dfa.transitions[node.state, code] == drawing.trap for code in range(letters)
        )
        assert node.left_out == letters - in_words
    assert all(dfa.transitions[state, code] == target for (state, code), target in drawn.items())
    if len(drawing.nodes) < states and drawing.trap is None:
        assert f"{len(drawing.nodes)} of {states} states are drawn" in drawing.notes[0]


def test_a_trap_is_told_and_not_drawn_unless_marked() -> None:
    """Should leave the arrows of every state into the trap out, and say so; those of the path stay."""
    alphabet = Alphabet(list("abcde"))
    chain = [[state + 1, 6, 6, 6, 6] for state in range(5)] + [[0, 6, 6, 6, 6], [6] * 5]
    dfa = DFA(alphabet, chain, [True] * 6 + [False])

    plain = drawing_of(dfa)
    assert plain.trap == 6
    assert [node.state for node in plain.nodes] == list(range(6))
    assert "trap" in plain.notes[0]
    marked = drawing_of(dfa, marks_of(dfa, ("a", "b")))
    assert [(edge.source, edge.target, edge.label) for edge in marked.edges if edge.target == 6] == [(1, 6, "b")]
    assert drawing_of(dfa, leave_out_trap=False).trap is None


@pytest.mark.parametrize(
    ("letters", "label"),
    [
        (range(1), "l0"),
        (range(4), "l0, l1, l2, l3"),
        (range(5), "l0, l1, l2, +2 more"),
        (range(100), "any letter"),
        (range(2, 100), "all but l0, l1"),
        (range(3, 100), "l3, l4, l5, +94 more"),
    ],
)
def test_labels_fold_many_letters(letters: range, label: str) -> None:
    """Should name all, all but a few, or a few and how many more."""
    dfa = strategies.random_dfa(np.random.default_rng(0), 2, 100)
    assert folded_label(dfa, letters) == label


def test_long_letters_make_short_labels() -> None:
    """Should cut letters, and stop early where a label would be wide."""
    dfa = DFA(Alphabet(["x" * 500, "y" * 500, "z"]), [[0, 0, 0]], [True])
    assert folded_label(dfa, [0, 1, 2]) == "x" * 12 + "…" + "x" * 7 + ", +2 more"


def test_more_marks_than_fit_keep_the_end_and_the_initial_state() -> None:
    """Should drop the middle of a path that is too long to draw."""
    dfa = strategies.chain(200, 1)
    word = ("l0",) * 150
    drawing = drawing_of(dfa, marks_of(dfa, word))

    assert len(drawing.nodes) == 40
    assert {0, 150, 149} <= {node.state for node in drawing.nodes}


def test_no_marks_is_the_default() -> None:
    """Should draw the same without marks as with none."""
    dfa = strategies.random_dfa(np.random.default_rng(0), 5, 3)
    assert drawing_of(dfa) == drawing_of(dfa, Marks())


@pytest.mark.parametrize("loops", [3, 4, 6])
def test_loops_of_one_state_do_not_run_through_labels(loops: int) -> None:
    """Should keep every line out of every other loop's letters, and everything inside the picture."""
    letters = [f"letter{number}" for number in range(loops)]
    dfa = DFA(letters, [[0] * loops], [True])
    drawing = drawing_of(dfa, Marks(path=((0, 0),), loops=tuple(((0, code),) for code in range(1, loops)), end=0))
    layout = lay_out(drawing)
    assert len(drawing.edges) == loops
    boxes = []
    for edge, curve in zip(drawing.edges, layout.edges, strict=True):
        assert curve.label is not None
        half = len(edge.label) * 7.3 / 2
        boxes.append((curve.label[0] - half, curve.label[0] + half, curve.label[1] - 6, curve.label[1] + 6))
        assert boxes[-1][2] >= 0
        assert boxes[-1][3] <= layout.height
    for curve in layout.edges:
        (x0, y0), (x1, y1), (x2, y2), (x3, y3) = curve.points[:4]
        for step in range(101):
            t = step / 100
            shares = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
            x = sum(share * at for share, at in zip(shares, (x0, x1, x2, x3), strict=True))
            y = sum(share * at for share, at in zip(shares, (y0, y1, y2, y3), strict=True))
            assert not any(left < x < right and top < y < bottom for left, right, top, bottom in boxes)
