"""Dot files: ours, those of other tools, the released ones, and what must be refused with its line."""

from __future__ import annotations

import itertools
import re
import time
import tracemalloc
from functools import partial

import pydot
import pygraphviz
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rnncheck.automata.dfa import DFA
from rnncheck.automata.formats.dot import read_dot, write_dot
from rnncheck.automata.formats.libraries import to_aalpy
from rnncheck.automata.minimisation import canonical
from rnncheck.automata.product import difference_witness
from rnncheck.errors import FormatError, ResourceLimitError
from rnncheck.words import Alphabet
from support.clocks import HARDLY_EVER
from support.paths import SHARED_DATA
from support.strategies import (
    ODD_LETTERS,
    ONE_LINE,
    alphabets,
    dfas,
    language,
    letters,
    mutations,
    refusal,
    with_letters,
)

RELEASED = sorted((SHARED_DATA / "released").rglob("*.dot"))
AB = Alphabet(["a", "b"])
ODD = DFA(ODD_LETTERS, [[q * 7 % 3 for q in range(len(ODD_LETTERS))]] * 3, [True, False, True], 1, ["", '"', "->"])


def same_language(a: DFA, b: DFA) -> bool:
    return difference_witness(a, b) is None


class TestOwnFiles:
    @given(alphabets().flatmap(lambda alphabet: dfas(alphabet, names=letters())))
    def test_everything_survives(self, dfa):
        again = read_dot(write_dot(dfa))
        assert again == dfa
        if len(set(dfa.names)) == len(dfa):
            assert again.names == dfa.names

    @given(alphabets().flatmap(dfas))
    def test_states_without_names_keep_their_numbers(self, dfa):
        again = read_dot(write_dot(dfa))
        assert again == dfa
        assert again.names == tuple(map(str, range(len(dfa))))

    def test_every_odd_letter_at_once(self):
        assert read_dot(write_dot(ODD)) == ODD
        assert read_dot(write_dot(ODD)).names == ODD.names

    @given(alphabets(surrogates=False).flatmap(dfas))
    def test_any_file_can_hold_it(self, dfa):
        text = write_dot(dfa).encode("utf-8").decode("utf-8")
        # Neither do line ends in letters meet those of the file.
        assert read_dot(text.replace("\n", "\r\n")) == dfa

    def test_shape(self):
        text = write_dot(DFA(AB, [[1, 1], [0, 1]], [False, True], 0, ["p", "q"]))
        assert text.splitlines() == [
            "digraph {",
            '  graph [rnncheck=1, rankdir=LR, alphabet="a,b"];',
            "  node [shape=circle];",
            '  __start [shape=point, label=""];',
            '  0 [shape=circle, label="p"];',
            '  1 [shape=doublecircle, label="q"];',
            "  __start -> 0;",
            '  0 -> 1 [label="a, b"];',
            '  1 -> 0 [label="a"];',
            '  1 -> 1 [label="b"];',
            "}",
        ]

    @given(dfas(), st.data())
    def test_another_order_of_letters(self, dfa, data):
        order = Alphabet(data.draw(st.permutations(dfa.alphabet.letters)))
        assert read_dot(write_dot(dfa), alphabet=order) == with_letters(dfa, order)

    def test_more_letters_only_when_completed(self):
        dfa = DFA(["a"], [[0]], [True])
        with pytest.raises(FormatError, match="'0' has no successor on letter 'b'"):
            read_dot(write_dot(dfa), alphabet=AB)
        wider = read_dot(write_dot(dfa), alphabet=AB, complete=True)
        assert wider.transitions.tolist() == [[0, 1], [1, 1]]
        assert wider.names == ("0", "sink")

    @pytest.mark.filterwarnings("ignore")
    @given(alphabets(surrogates=False).flatmap(dfas))
    @settings(max_examples=15)
    def test_after_pydot(self, dfa):
        (graph,) = pydot.graph_from_dot_data(write_dot(dfa))
        assert read_dot(graph.to_string()) == dfa

    @given(alphabets(surrogates=False).flatmap(dfas))
    @settings(max_examples=50)
    def test_after_graphviz(self, dfa):
        graph = pygraphviz.AGraph(write_dot(dfa))
        assert same_language(read_dot(graph.to_string()), dfa)

    @pytest.mark.parametrize("letters", [ODD_LETTERS, *([letter] for letter in ODD_LETTERS)])
    def test_odd_letters_after_graphviz(self, letters):
        dfa = DFA(letters, [[q * 7 % 3 for q in range(len(letters))]] * 3, [True, False, True], 1)
        assert same_language(read_dot(pygraphviz.AGraph(write_dot(dfa)).to_string()), dfa)


class TestOtherTools:
    @given(dfas(Alphabet(["a", "<book>", "1157", "two words"])))
    @settings(max_examples=20)
    def test_aalpy(self, tmp_path_factory, dfa):
        path = tmp_path_factory.mktemp("aalpy") / "model"
        to_aalpy(dfa).save(str(path))
        text = path.with_suffix(".dot").read_text(encoding="utf-8")
        assert same_language(read_dot(text, alphabet=dfa.alphabet), dfa)

    @given(dfas())
    @settings(max_examples=20)
    def test_pydot(self, dfa):
        graph = pydot.Dot("g", graph_type="digraph")
        graph.add_node(pydot.Node("__start0", label='""', shape="none"))
        for state in range(len(dfa)):
            shape = "doublecircle" if dfa.accepting[state] else "circle"
            graph.add_node(pydot.Node(f"q {state}", shape=shape, label=f'"state {state}"'))
        graph.add_edge(pydot.Edge("__start0", f"q {dfa.initial}"))
        for state, row in enumerate(dfa.transitions.tolist()):
            for letter, successor in zip(dfa.alphabet, row, strict=True):
                graph.add_edge(pydot.Edge(f"q {state}", f"q {successor}", label=letter))
        again = read_dot(graph.to_string())
        assert again == dfa
        assert again.name(0) == "q 0"

    @pytest.mark.parametrize("laid_out", [False, True])
    @given(dfa=dfas(Alphabet(["a", "bb", "c-1"])))
    @settings(max_examples=8)
    def test_automata_lib(self, laid_out, dfa):
        graph = pygraphviz.AGraph(strict=False, directed=True, rankdir="LR", ranksep="0.5")
        graph.add_node("6f1c-start", label="", tooltip=".", shape="point", fontsize="14.0")
        graph.add_edge("6f1c-start", f"{{{dfa.initial}}}", tooltip="->", arrowsize="0.85")
        for state in range(len(dfa)):
            shape = "doublecircle" if dfa.accepting[state] else "circle"
            graph.add_node(f"{{{state}}}", shape=shape, fontsize="14.0")
        for state, row in enumerate(dfa.transitions.tolist()):
            for successor in set(row):
                label = ",".join(letter for letter, to in zip(dfa.alphabet, row, strict=True) if to == successor)
                graph.add_edge(f"{{{state}}}", f"{{{successor}}}", label=label, arrowsize="0.85")
        if laid_out:
            graph.layout(prog="dot")
        assert same_language(read_dot(graph.to_string()), dfa)

    @pytest.mark.parametrize(
        ("text", "yes", "no"),
        [
            ("digraph{s[shape=point]s->0 0[peripheries=2]0->1[label=a]1->0[label=a]1}", ["", "aa"], ["a"]),
            ('strict digraph "x" {__start->0;0;1[shape=doublecircle];0->1->0[label="a,b"]}', ["a", "bab"], ["", "ab"]),
            ("DIGRAPH g { Node [shape=doublecircle]; 0; EDGE [label=a] 0 -> 0 __start -> 0 }", ["", "aa"], []),
            ("// c\n# c\n/* -> \n { */ digraph { i [shape=none] i -> 0 0 0 -> 0 [label=a] // }\n}", [], ["", "a"]),
            ('digraph { i [shape=none] i -> 0 0 0 -> 0 [label="a" + "b" + ""] }', [], [("ab",)]),
            ('digraph { i [shape=none]; i -> 0; 0 [shape=doublecircle]; 0 -> 0 [label="a\\\nb"]; }', [("ab",)], []),
            ("digraph { i [shape=plaintext] i -> -1.5 -1.5 [] -1.5 -> -1.5 [color=red;label=é,x] [y=z] }", [], ["é"]),
            ('digraph { i [shape=point] i -> "" "" [shape=doublecircle] "" -> "" [label="x"] }', ["", "x"], []),
            ('digraph { i [shape=point] i -> 0 0 0 -> 0 [label=","] 0 -> 0 [label="a, b ,c"] }', [], [(",", "b", "c")]),
            ("digraph { i [shape=none] i -> é é é -> é [label=x\xa0\U0001f600e\u0301] }", [], [("x\xa0😀e\u0301",)]),
            ('digraph { i [shape=point] i -> 0 0 0 -> 0 [label=a]; 0 -> 0 [label="a"]; i -> 0 }', [], ["a"]),
        ],
    )
    def test_by_hand(self, text, yes, no):
        dfa = read_dot(text)
        assert [dfa.accepts(tuple(word)) for word in yes] == [True] * len(yes)
        assert [dfa.accepts(tuple(word)) for word in no] == [False] * len(no)

    @pytest.mark.skipif(not RELEASED, reason="the released files are not beside the project (../shared/data/released)")
    def test_the_released_files(self):
        assert len(RELEASED) == 30
        for path in RELEASED:
            dfa = read_dot(path.read_text(encoding="utf-8"), source=path.name)
            again = read_dot(write_dot(dfa))
            assert again == dfa
            assert again.names == dfa.names
            assert canonical(again) == canonical(dfa)
            text = path.read_text(encoding="utf-8")
            assert dfa.accepting.sum() == text.count('[shape="doublecircle"')
            assert dfa.transitions.size == text.count("[label=") - 1
            if "random" in path.parts:
                assert dfa.alphabet.letters == ("a", "b", "c", "d", "e")
                assert dfa.name(dfa.initial) == "()"
            else:
                assert dfa.name(dfa.initial) == "init"

    def test_the_released_dialect_by_hand(self):
        text = (
            '\n\ndigraph g {\n__start0 [label="" shape="none]\n() [shape="circle" label="()"]\n'
            "('a', 'b') [shape=\"doublecircle\" label=\"('a', 'b')\"]\n__start0 -> ()\n"
            "() -> ('a', 'b')[label=\"a\"]\n('a', 'b') -> () [label=\"a\"]\n}\n"
        )
        dfa = read_dot(text)
        assert dfa == DFA(["a"], [[1], [0]], [False, True])
        assert dfa.names == ("()", "('a', 'b')")


OWN = 'digraph {{ graph [rnncheck=1, alphabet="a,b"]; s [shape=point]; s -> 0; 0 [label="5"]; {} }}'
OTHER = "digraph {{\ns [shape=point]\ns -> 0\n0\n{}\n}}"
RELEASED_HEAD = 'digraph g {\n__start0 [label="" shape="none]\nq [shape="circle" label="q"]\n'


class TestRefused:
    @pytest.mark.parametrize(
        ("text", "line", "part"),
        [
            ("", 1, "expected a directed graph"),
            ("   \n\n", 3, "expected a directed graph"),
            ("graph { a -- b }", 1, "expected a directed graph"),
            ("hello world", 1, "expected a directed graph"),
            ("\x7fELF\x02\x01", 1, "unexpected character '\\x7f'"),
            ("\x00" * 100, 1, "unexpected character '\\x00'"),
            ("digraph", 1, "expected {"),
            ("digraph {", 1, "ends before the closing brace"),
            ("digraph { }", 0, "declares no state"),
            ("digraph { a }\n}", 2, "after the closing brace"),
            ("digraph { a }\ndigraph { b }", 2, "after the closing brace"),
            ("digraph { a [label=b", 1, "expected a name, found 'the end of the file'"),
            ("digraph { a [=b] }", 1, "expected a name, found '='"),
            ('digraph {\n a [label="x + "y"] }', 2, "not closed"),
            ('digraph {\n a [label="x" + y] }', 2, "quoted string after +"),
            (OTHER.format("0 -- 0"), 5, "undirected"),
            (OTHER.format("0 -> 0 [label=<b>]"), 5, "HTML"),
            (OTHER.format("subgraph x { 1 }"), 5, "subgraphs and ports"),
            (OTHER.format("{ 1 }"), 5, "subgraphs and ports"),
            (OTHER.format("0 -> { 1 2 }"), 5, "expected a name"),
            (OTHER.format("0:n -> 0 [label=a]"), 5, "subgraphs and ports"),
            (OTHER.format("0 -> 0:n [label=a]"), 5, "subgraphs and ports"),
            (OTHER.format("0 -> 0"), 5, "has no label"),
            (OTHER.format('0 -> 0 [label=""]'), 5, "has no label"),
            (OTHER.format("0 ->"), 6, "expected a name, found '}'"),
            (OTHER.format("; -> 0"), 5, "expected a name, found '->'"),
            (OTHER.format("0 -> 1 [label=a]"), 5, "state '1' is used but not declared"),
            (OTHER.format("1 -> 0 [label=a]"), 5, "state '1' is used but not declared"),
            (OTHER.format("s -> 1"), 5, "state '1' is used but not declared"),
            (OTHER.format("0 -> s [label=a]"), 5, "only marks the initial state"),
            (OTHER.format("1 0 -> 0 [label=a] 0 -> 1 [label=a]"), 5, "two successors on letter 'a', '0' and '1'"),
            (OTHER.format("1\ns -> 1"), 6, "two initial states, '0' and '1'"),
            (OTHER.format(""), 0, "no edge has a letter"),
            (OTHER.format("0 -> 0 [label=a] 1 1 -> 1 [label=b]"), 0, "'0' has no successor on letter 'b'"),
            (OTHER.format("0 -> 0 [label=a] $"), 5, "unexpected character '$'"),
            ("digraph { 0 0 -> 0 [label=a] }", 0, "no initial state"),
            ("digraph { node [shape=none] 0 0 -> 0 [label=a] }", 1, "only marks the initial state"),
            (OWN.format('0 -> 0 [label="a, c"]'), 1, "unknown letter 'c'"),
            (OWN.format('0 -> 0 [label="a, a"]'), 1, "bad edge label: letter 'a' appears twice"),
            (OWN.format("0 -> 0 [label=\"a, 'b\"]"), 1, "bad edge label: quote ' is not closed"),
            (OWN.format('0 -> 5 [label="a, b"]'), 1, "state '5' is used but not declared"),
            (OWN.replace('"a,b"', '""').format("0 -> 0 [label=a]"), 0, "bad alphabet attribute: the alphabet is empty"),
            (OWN.replace('"a,b"', '"a,a"').format("0 -> 0 [label=a]"), 0, "'a' appears twice"),
            (RELEASED_HEAD + "__start0 -> q\nq -> q\n}", 5, "neither a state nor an edge with a label: 'q -> q'"),
            (RELEASED_HEAD + "__start0 -> q\nnonsense\n}", 5, "neither a state nor an edge"),
            (RELEASED_HEAD + '__start0 -> q\nq -> p[label="a"]\n}', 5, "state 'p' is used but not declared"),
            (RELEASED_HEAD + '__start0 -> p\nq -> q[label="a"]\n}', 4, "state 'p' is used but not declared"),
            (RELEASED_HEAD + 'q -> q[label="a"]\n}', 0, "no initial state"),
        ],
    )  # fmt: skip
    def test_with_file_and_line(self, text, line, part):
        with pytest.raises(FormatError, match=ONE_LINE) as caught:
            read_dot(text, source="spec.dot")
        assert part in str(caught.value)
        assert caught.value.line == line
        assert str(caught.value).startswith(f"spec.dot:{line}: " if line else "spec.dot: ")

    def test_unknown_letters_under_a_given_alphabet(self):
        text = OTHER.format("0 -> 0 [label=c]")
        with pytest.raises(FormatError, match=r"f:5: unknown letter 'c'; the alphabet has 2: a, b"):
            read_dot(text, source="f", alphabet=AB)

    def test_messages_stay_short(self):
        many = Alphabet(f"letter{i}" for i in range(10_000))
        error = refusal(lambda: read_dot(OTHER.format(f'0 -> 0 [label="{"x" * 10**6}"]'), alphabet=many))
        assert isinstance(error, FormatError)
        assert len(str(error)) < 300

    def test_completing(self):
        text = OTHER.format("sink [shape=doublecircle]; 0 -> sink [label=a] sink -> sink [label=b]")
        dfa = read_dot(text, complete=True)
        assert dfa.transitions.tolist() == [[1, 2], [2, 1], [2, 2]]
        assert dfa.accepting.tolist() == [False, True, False]
        assert dfa.names == ("0", "sink", "sink_")
        whole = write_dot(DFA(AB, [[0, 0]], [True]))
        assert read_dot(whole, complete=True) == read_dot(whole)

    def test_tables_that_would_not_fit_in_memory(self):
        text = OTHER.format("".join(f"{i}; 0 -> {i} [label=l{i}];" for i in range(10_000)))
        with pytest.raises(FormatError, match="'1' has no successor on letter 'l0'"):
            read_dot(text)
        with pytest.raises(ResourceLimitError, match=r"f: 10001 states times 10000 letters"):
            read_dot(text, source="f", complete=True)

    @pytest.mark.parametrize(
        "text",
        [
            'digraph { "' + "a" * 3_000_000,
            'digraph { "' + '\\"' * 1_500_000,
            "digraph { /*" + "*" * 3_000_000,
            "digraph { " + "{" * 3_000_000,
            "digraph { a " + "[" * 3_000_000,
            RELEASED_HEAD + "x -> y" + '[label="' * 300_000,
            RELEASED_HEAD + "x" + ' [shape="c" label="' * 150_000,
            RELEASED_HEAD + " -> " * 700_000,
        ],
        ids=["quote", "escapes", "comment", "braces", "brackets", "labels", "shapes", "arrows"],
    )
    def test_hostile_files_are_refused_quickly(self, text):
        tracemalloc.start()
        started = time.process_time()
        try:
            error = refusal(lambda: read_dot(text))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert isinstance(error, FormatError)
        assert time.process_time() - started < HARDLY_EVER
        assert peak < 100e6


class TestAnyText:
    """Nothing but an rnncheck error may come out of a reader."""

    @staticmethod
    def check(text: str, complete: bool) -> None:
        try_read = lambda: read_dot(text, source="x.dot", complete=complete)  # noqa: E731
        error = refusal(try_read)
        if error is None:
            dfa = try_read()
            assert read_dot(write_dot(dfa)) == dfa
        else:
            assert isinstance(error, FormatError)
            assert str(error).startswith("x.dot")
            assert re.match(ONE_LINE, str(error))

    @given(st.text(st.characters()), st.booleans())
    def test_text(self, text, complete):
        self.check(text, complete)

    TOKENS = st.sampled_from(
        [
            *("digraph", "strict", "{", "}", "[", "]", ";", ",", "=", "->", "--", "+", ":", '"', '"a"', "a", "0", "1"),
            *("s", "\\", "shape", "point", "none", "doublecircle", "label", "node", "edge", "graph", "subgraph", "//"),
            *("/*", "*/", "#", "\n", " ", "<", ">", "rnncheck=1", "alphabet", "-1", ".", "0.5", "__start0", "''"),
            *("[shape=point]", "[label=a]"),
        ]
    )

    @given(st.lists(TOKENS, max_size=30).map(" ".join), st.booleans())
    @example("s [shape=point] s -> 0 0 0 -> 0 [label=a]", False)
    def test_tokens_in_any_order(self, inside, complete):
        self.check("digraph { " + inside + " }", complete)

    @given(mutations([write_dot(ODD), OTHER.format("0 -> 0 [label=a]"), OWN.format("0 -> 0 [label=\"a, 'b'\"]")]))
    @settings(max_examples=300)
    def test_changed_files(self, text):
        self.check(text, complete=True)

    @given(mutations([RELEASED_HEAD + '__start0 -> q\nq -> q[label="a"]\nq -> q[label="b"]\n}\n']))
    @settings(max_examples=300)
    def test_changed_files_of_the_released_dialect(self, text):
        self.check(text, complete=True)

    def test_every_beginning_of_a_file(self):
        text = write_dot(DFA(["a", "'"], [[1, 1], [0, 1]], [False, True]))
        for end in range(len(text) - 2):
            assert isinstance(refusal(partial(read_dot, text[:end])), FormatError)

    def test_languages_of_short_graphs(self):
        """Exhaustive: two states, one letter, every table, every acceptance, every start, in two dialects."""
        for p, q, f, g, i in itertools.product((0, 1), repeat=5):
            dfa = DFA(["a"], [[p], [q]], [bool(f), bool(g)], i)
            shapes = [("circle", "doublecircle")[f], ("circle", "doublecircle")[g]]
            text = (
                f"digraph {{ s [shape=none] s -> {i} 0 [shape={shapes[0]}] 1 [shape={shapes[1]}]"
                f" 0 -> {p} [label=a] 1 -> {q} [label=a] }}"
            )
            assert language(read_dot(text), 5) == language(dfa, 5)
            released = (
                'digraph g {\n__start0 [label="" shape="none"]\n'
                + "".join(f'{n} [shape="{shape}" label="{n}"]\n' for n, shape in enumerate(shapes))
                + f'__start0 -> {i}\n0 -> {p}[label="a"]\n1 -> {q}[label="a"]\n}}\n'
            )
            assert language(read_dot(released), 5) == language(dfa, 5)
