"""The JSON form: round trips, completion, the schema, and what must be refused."""

from __future__ import annotations

import itertools
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnncheck.automata.dfa import DFA
from rnncheck.automata.formats.dfa_json import read_json, write_json
from rnncheck.errors import FormatError, InputError, RnncheckError
from rnncheck.words import Alphabet
from support.paths import SHARED_DATA
from support.strategies import (
    ODD_LETTERS,
    ONE_LINE,
    alphabets,
    dfas,
    language,
    letters,
    mutations,
    partial_tables,
    refusal,
    with_letters,
)

AB = Alphabet(["a", "b"])
GOOD = {
    "schema": "rnncheck/dfa/1",
    "alphabet": ["a", "b"],
    "initial": 0,
    "accepting": [1],
    "transitions": [[0, 1], [1, 1]],
}


def changed(**changes: object) -> str:
    return json.dumps({**GOOD, **changes})


def without(key: str) -> str:
    return json.dumps({name: value for name, value in GOOD.items() if name != key})


def partial_language(alphabet: Alphabet, table, accepting, initial, length: int) -> dict:
    """Every word and whether it is accepted, where a missing successor refuses all that follows."""
    judged = {}
    for word in itertools.chain.from_iterable(itertools.product(alphabet, repeat=n) for n in range(length + 1)):
        state = initial
        for letter in word:
            state = None if state is None else table[state][alphabet.letters.index(letter)]
        judged[word] = state is not None and accepting[state]
    return judged


class TestRoundTrip:
    @given(alphabets(surrogates=False).flatmap(lambda alphabet: dfas(alphabet, names=letters(surrogates=False))))
    def test_everything_survives(self, dfa):
        for form in (write_json(dfa), write_json(dfa).encode("utf-8")):
            again = read_json(form)
            assert again == dfa
            assert again.names == dfa.names

    @given(alphabets(surrogates=False).flatmap(dfas))
    def test_states_need_no_names(self, dfa):
        again = read_json(write_json(dfa))
        assert again == dfa
        assert again.names is None

    def test_every_odd_letter_at_once(self):
        dfa = DFA(ODD_LETTERS, [[0] * len(ODD_LETTERS)], [True])
        assert read_json(write_json(dfa)) == dfa

    @given(dfas(names=st.text(max_size=2)))
    def test_any_json_reader_can_read_it(self, dfa):
        document = json.loads(write_json(dfa))
        assert set(document) == {"schema", "alphabet", "initial", "accepting", "transitions", "names"}
        assert document["transitions"] == dfa.transitions.tolist()
        assert [state in document["accepting"] for state in range(len(dfa))] == dfa.accepting.tolist()
        assert read_json(json.dumps(document, indent=3)) == dfa

    def test_one_row_a_line(self):
        assert write_json(DFA(AB, [[0, 1], [1, 1]], [False, True])).splitlines() == [
            '{"schema":"rnncheck/dfa/1","alphabet":["a","b"],"initial":0,"accepting":[1],"transitions":[',
            " [0, 1],",
            " [1, 1]",
            "]}",
        ]

    @pytest.mark.parametrize(("alphabet", "names"), [(["\ud800"], None), (["a"], ["\udfff"])])
    def test_half_a_surrogate_pair_is_refused(self, alphabet, names):
        with pytest.raises(InputError, match="surrogate") as caught:
            write_json(DFA(alphabet, [[0]], [True], 0, names))
        assert str(caught.value).isprintable()

    @pytest.mark.skipif(not SHARED_DATA.exists(), reason="the shared data is not beside the project (../shared/data)")
    def test_the_released_automata(self):
        from rnncheck.automata.formats.dot import read_dot

        paths = sorted((SHARED_DATA / "released").rglob("*.dot"))
        assert len(paths) == 30
        for path in paths:
            dfa = read_dot(path.read_text(encoding="utf-8"))
            assert read_json(write_json(dfa)) == dfa


class TestReading:
    @given(dfas(), st.data())
    def test_another_order_of_letters(self, dfa, data):
        order = Alphabet(data.draw(st.permutations(dfa.alphabet.letters)))
        assert read_json(write_json(dfa), alphabet=order) == with_letters(dfa, order)

    @given(partial_tables(), st.booleans(), st.data())
    def test_missing_successors(self, parts, named, data):
        alphabet, table, accepting, initial = parts
        document = {
            "schema": "rnncheck/dfa/1",
            "alphabet": alphabet.letters,
            "initial": initial,
            "accepting": [state for state, yes in enumerate(accepting) if yes],
            "transitions": table,
        }
        if named:
            # Names may repeat, and may be what other states are called by number.
            name = st.sampled_from(["", "0", "1", "sink", "x"])
            document["names"] = data.draw(st.lists(name, min_size=len(table), max_size=len(table)))
        text = json.dumps(document)
        missing = any(None in row for row in table)
        dfa = read_json(text, complete=True)
        assert language(dfa, 5) == partial_language(alphabet, table, accepting, initial, 5)
        assert len(dfa) == len(table) + missing
        if missing:
            with pytest.raises(FormatError, match=r"state '.*' has no successor on letter '.'; complete"):
                read_json(text)
        else:
            assert read_json(text) == dfa

    def test_the_missing_state_and_letter_are_named(self):
        text = changed(transitions=[[0, 1], [1, None]], names=["start", "end"])
        with pytest.raises(FormatError, match="f: state 'end' has no successor on letter 'b'"):
            read_json(text, source="f")
        assert read_json(text, complete=True).names == ("start", "end", "sink")

    def test_more_letters_only_when_completed(self):
        abc = Alphabet(["c", "b", "a"])
        with pytest.raises(FormatError, match="'0' has no successor on letter 'c'"):
            read_json(changed(), alphabet=abc)
        wider = read_json(changed(), alphabet=abc, complete=True)
        assert wider.transitions.tolist() == [[2, 1, 0], [2, 1, 1], [2, 2, 2]]
        with pytest.raises(FormatError, match="unknown letter 'b'"):
            read_json(changed(), alphabet=Alphabet(["a"]), complete=True)


DEEP = 1_000_000


class TestRefused:
    @pytest.mark.parametrize(
        ("text", "part"),
        [
            ("", "truncated"),
            ("null", "Expected `object`"),
            ("[]", "Expected `object`"),
            ('"x"', "Expected `object`"),
            ("{", "truncated"),
            ("{}", "missing required field"),
            (changed() + "x", "trailing characters"),
            ("hello", "malformed"),
            (b"\xff\xfe\x00", "malformed"),
            (b'{"schema": "\xff"}', "not an automaton"),
            ('{"\ud800": 1}', "surrogates"),
            (b"\x7fELF\x02\x01\x01" + bytes(100), "malformed"),
            *((without(key), f"missing required field `{key}`") for key in GOOD),
            (changed(extra=1), "unknown field `extra`"),
            (changed(**{"line\nbreak": 1}), "unknown field"),
            (changed(schema="rnncheck/dfa/2"), "Invalid enum value"),
            (changed(schema=1), "$.schema"),
            (changed(alphabet="ab"), "$.alphabet"),
            (changed(alphabet=[1, 2]), "$.alphabet"),
            (changed(alphabet=[]), "the alphabet is empty"),
            (changed(alphabet=["a", "a"]), "'a' appears twice"),
            (changed(alphabet=["a"]), "state 0 has 2 successors for 1 letters"),
            (changed(initial=2), "initial state 2 is not one of the 2 states"),
            (changed(initial=-1), "initial state -1"),
            (changed(initial=10**30), "initial state 1000000000000000000000000000000"),
            (changed(initial="0"), "$.initial"),
            (changed(initial=0.5), "$.initial"),
            (changed(initial=True), "$.initial"),
            (changed(initial=None), "$.initial"),
            (changed(accepting=[2]), "accepting state 2 is not one of the 2 states"),
            (changed(accepting=[-1]), "accepting state -1"),
            (changed(accepting=[False]), "$.accepting"),
            (changed(accepting=1), "$.accepting"),
            (changed(transitions=[]), "not one of the 0 states"),
            (changed(transitions=[[0, 1], [1]]), "state 1 has 1 successors for 2 letters"),
            (changed(transitions=[[0, 1], []]), "state 1 has 0 successors"),
            (changed(transitions=[[0, 2], [1, 1]]), "state 0 goes to 2, which is not one of the 2 states"),
            (changed(transitions=[[0, -1], [1, 1]]), "state 0 goes to -1"),
            (changed(transitions=[[0, 2**63], [1, 1]]), "state 0 goes to 9223372036854775808"),
            (changed(transitions=[[0, 10**30], [1, None]]), "state 0 goes to 1000000000000000000000000000000"),
            (changed(transitions=[["0", 1], [1, 1]]), "$.transitions"),
            (changed(transitions=[[0.5, 1], [1, 1]]), "$.transitions"),
            (changed(transitions={"0": [0, 1]}), "$.transitions"),
            (changed(names=["x"]), "1 names for 2 states"),
            (changed(names=["x"], transitions=[[0, 1], [1, None]]), "1 names for 2 states"),
            (changed(names=[]), "0 names for 2 states"),
            (changed(names=[1, 2]), "$.names"),
            (changed(initial=-1, transitions=[[0, 1], [1, None]]), "initial state -1"),
            (changed(initial=5, transitions=[[0, 1], [1, None]]), "initial state 5"),
            ("1" * 10_000, "not an automaton"),
            (changed().replace("[[0", "[[" + "9" * 10_000), "out of range"),
            ("[" * DEEP, "not an automaton"),
            ('{"a":' * DEEP, "not an automaton"),
            ('{"transitions":' + "[" * DEEP, "not an automaton"),
            ('{"schema":' + "[" * DEEP, "not an automaton"),
            ('{"names":' + '{"a":' * DEEP, "not an automaton"),
        ],
        ids=lambda value: str(value)[:40] if isinstance(value, str) else None,
    )
    @pytest.mark.parametrize("complete", [False, True])
    def test_with_the_file(self, text, part, complete):
        with pytest.raises(FormatError, match=ONE_LINE) as caught:
            read_json(text, source="spec.json", complete=complete)
        assert part in str(caught.value)
        assert str(caught.value).startswith("spec.json: ")
        assert len(str(caught.value)) < 300

    def test_large_documents(self):
        rows = [[(state + 1) % 100_000, None] for state in range(100_000)]
        text = changed(transitions=rows, accepting=list(range(100_000)))
        assert len(read_json(text, complete=True)) == 100_001
        assert isinstance(refusal(lambda: read_json(text)), FormatError)
        assert isinstance(refusal(lambda: read_json("[" + "0," * 5_000_000)), FormatError)
        assert isinstance(refusal(lambda: read_json('{"alphabet": ["' + "x" * 10_000_000)), FormatError)


class TestAnyText:
    """Nothing but an rnncheck error may come out of a reader."""

    @staticmethod
    def check(text: str | bytes) -> None:
        error = refusal(lambda: read_json(text, source="x.json", complete=True))
        if error is None:
            dfa = read_json(text, complete=True)
            assert read_json(write_json(dfa)) == dfa
        else:
            assert isinstance(error, RnncheckError)
            assert re.match(ONE_LINE, str(error))
            assert str(error).startswith("x.json: ")

    @given(st.text(st.characters()) | st.binary())
    def test_text_and_bytes(self, text):
        self.check(text)

    KEYS = st.sampled_from([*GOOD, "names"])
    VALUES = st.recursive(
        st.none() | st.booleans() | st.integers(-3, 3) | st.integers() | st.floats() | letters(),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*GOOD, "names"]), inner, max_size=3)
        ),
        max_leaves=8,
    )

    @given(st.dictionaries(KEYS, VALUES, max_size=3))
    def test_documents_with_any_values(self, changes):
        self.check(changed(**changes))

    @given(
        st.lists(st.lists(st.none() | st.integers(-1, 3), max_size=3), max_size=4),
        st.lists(st.integers(-1, 3), max_size=3),
        st.integers(-1, 4),
        st.none() | st.lists(st.sampled_from(["0", "1", "sink", ""]), max_size=4),
        st.lists(st.sampled_from("ab"), max_size=3),
    )
    @settings(max_examples=300)
    def test_documents_that_are_nearly_right(self, transitions, accepting, initial, names, alphabet):
        self.check(
            changed(transitions=transitions, accepting=accepting, initial=initial, names=names, alphabet=alphabet)
        )

    @given(mutations([changed(), changed(names=["x", "y"], transitions=[[0, None], [1, 1]])]))
    @settings(max_examples=300)
    def test_changed_files(self, text):
        self.check(text)
