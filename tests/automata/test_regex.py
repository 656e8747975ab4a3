"""Regular expressions: what they mean, and how large their automata are."""

from __future__ import annotations

import itertools
import re
from functools import partial

import pytest
from automata.fa import dfa as other_dfa
from automata.fa import nfa as other_nfa
from hypothesis import given, settings
from hypothesis import strategies as st

from rnncheck.automata.dfa import DFA
from rnncheck.automata.minimisation import canonical
from rnncheck.automata.regex.regex_compiler import compile_regex, letters_in_regex
from rnncheck.errors import ExpressionError
from rnncheck.words import Alphabet, parse_word
from support.clocks import calls_of
from support.paths import ROOT

AB = Alphabet(["a", "b"])
ABC = Alphabet(["a", "b", "<c>"])
REFERENCE = ROOT / "docs" / "regex.md"


def words_up_to(alphabet: Alphabet, length: int) -> list[tuple[str, ...]]:
    return [word for n in range(length + 1) for word in itertools.product(alphabet, repeat=n)]


# Trees: ("letters", chosen, negated), ("repeat", tree, low, high), ("not", tree) and ("and" | "or" | "then", trees).


def language(tree, alphabet: Alphabet, length: int) -> frozenset:
    """By definition: the words of at most ``length`` letters that a tree describes, as a set."""
    match tree:
        case ("letters", chosen, negated):
            return frozenset((letter,) for letter in alphabet if (letter in chosen) != negated and length > 0)
        case ("not", inner):
            return frozenset(words_up_to(alphabet, length)) - language(inner, alphabet, length)
        case ("or", trees):
            return frozenset().union(*(language(each, alphabet, length) for each in trees))
        case ("and", trees):
            return frozenset.intersection(*(language(each, alphabet, length) for each in trees))
        case ("then", trees):
            result = frozenset({()})
            for each in trees:
                result = product(result, language(each, alphabet, length), length)
            return result
        case ("repeat", inner, low, high):
            base = language(inner, alphabet, length)
            power: frozenset = frozenset({()})
            found: set = set()
            # From the power low + length on, nothing new can come: each factor adds a letter or could be left out.
            for count in range((low + length if high is None else high) + 1):
                if count >= low:
                    found |= power
                power = product(power, base, length)
            return frozenset(found)
    raise ValueError(tree)


def product(left: frozenset, right: frozenset, length: int) -> frozenset:
    return frozenset(u + v for u in left for v in right if len(u) + len(v) <= length)


STRENGTH = {"or": 0, "and": 1, "then": 2, "not": 3, "repeat": 4, "letters": 5}
SIGN = {"or": " | ", "and": " & ", "then": " "}


def written(tree, within: int = 0) -> str:
    """The text of a tree with no more parentheses than the documented precedence needs."""
    match tree:
        case ("letters", (), True):
            text = "."
        case ("letters", (letter,), False):
            text = spelled(letter)
        case ("letters", chosen, negated):
            text = f"[{'^' * negated}{' '.join(map(spelled, chosen))}]" if chosen else "∅"
        case ("not", inner):
            text = "!" + written(inner, 3)
        case ("repeat", inner, low, high):
            bounds = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((low, high))
            text = written(inner, 5) + (bounds or (f"{{{low}}}" if low == high else f"{{{low},{high or ''}}}"))
        case (operator, []):
            text = {"or": "∅", "and": "!∅", "then": "ε"}[operator]
        case (operator, trees):
            text = SIGN[operator].join(written(each, STRENGTH[operator] + 1) for each in trees)
    strength = STRENGTH[tree[0]] if tree[1] or tree[0] == "letters" else (3 if tree[0] == "and" else 5)
    return text if strength >= within else f"({text})"


def spelled(letter: str) -> str:
    return letter if letter.isalnum() else f"'{letter}'"


def trees(alphabet: Alphabet, *, extended: bool = True) -> st.SearchStrategy:
    chosen = st.lists(st.sampled_from(list(alphabet)), unique=True).map(tuple)
    single = st.sampled_from(list(alphabet)).map(lambda letter: ("letters", (letter,), False))
    leaves: st.SearchStrategy = single | st.tuples(st.just("letters"), chosen, st.booleans()) | st.just(("then", []))

    def grow(smaller: st.SearchStrategy) -> st.SearchStrategy:
        several = st.lists(smaller, min_size=2, max_size=3)
        low = st.integers(0, 3)
        repeats = low.flatmap(
            lambda m: st.tuples(st.just("repeat"), smaller, st.just(m), st.none() | st.integers(max(m, 1), m + 2))
        )
        kinds = [st.tuples(st.just("then"), several), st.tuples(st.just("or"), several), repeats]
        if extended:
            kinds += [st.tuples(st.just("and"), several), st.tuples(st.just("not"), smaller)]
        return st.one_of(*kinds)

    return st.recursive(leaves, grow, max_leaves=9)


def assert_means(automaton: DFA, expected: frozenset, length: int) -> None:
    words = words_up_to(automaton.alphabet, length)
    answers = automaton.accepts_batch(words)
    wrong = [word for word, answer in zip(words, answers, strict=True) if answer != (word in expected)]

    assert wrong == []


class TestMeaning:
    @settings(max_examples=400, deadline=None)
    @given(trees(AB))
    def test_two_letters_against_the_definition(self, tree):
        automaton = compile_regex(written(tree), AB)

        assert_means(automaton, language(tree, AB, 6), 6)

    @settings(max_examples=200, deadline=None)
    @given(trees(ABC))
    def test_three_letters_against_the_definition(self, tree):
        automaton = compile_regex(written(tree), ABC)

        assert_means(automaton, language(tree, ABC, 4), 4)

    @settings(max_examples=100, deadline=None)
    @given(trees(AB), trees(AB), trees(AB))
    def test_definitions_stand_for_what_they_say(self, first, second, third):
        text = f"let x = {written(first)} ; let y = {written(third)}; $x $y | $given & !$y"
        together = ("or", [("then", [first, third]), ("and", [second, ("not", third)])])

        automaton = compile_regex(text, AB, definitions={"given": written(second)})

        assert_means(automaton, language(together, AB, 4), 4)

    @settings(max_examples=150, deadline=None)
    @given(trees(AB, extended=False))
    def test_another_library_agrees_on_every_word(self, tree):
        ours = compile_regex(written(tree), AB)
        theirs = other_dfa.DFA.from_nfa(other_nfa.NFA.from_regex(in_their_syntax(tree), input_symbols={"a", "b"}))

        assert theirs == in_their_form(ours)

    @pytest.mark.parametrize("seed", range(3))
    def test_same_table_every_time(self, seed):
        """Terms are compared by identity; where they lie in memory must not show."""
        text = "((a|b)*a(a|b){4} & !(.* b a b .*) | (a b|b a?){2,5})* (a (b|a b)){1,3}"
        first = compile_regex(text, AB)
        litter = [[object()] * size for size in range(seed, 5000, 7)]

        assert first == compile_regex(text, AB)
        assert litter

    @pytest.mark.parametrize(
        ("text", "same"),
        [
            ("a|b&b a", "a | ((b) & (b a))"),
            ("!a b", "(!a) b"),
            ("a !b", "a (!b)"),
            ("!a*", "!(a*)"),
            ("!!a", "a"),
            ("! a & b", "(!a) & b"),
            ("a b*", "a (b*)"),
            ("(a|b)*a(a|b){3}", "[a b]* a .{3}"),
            ("a{2}b", "a a b"),
            ("a { 1 , 2 }", "a | a a"),
            ("a{2,}", "a a a*"),
            ("a{0}", "ε"),
            ("a{000000000000000000002}", "a a"),
            ("()", "ε"),
            ("( )", "ε"),
            ("∅*", "ε"),
            ("a ∅ | b", "b"),
            ("[^a]", "b"),
            ("[^a b]", "∅"),
            ("[a a]", "a"),
            ("!∅", ".*"),
            ("'a'\"b\"", "a b"),
            ("\n\ta\u00a0b\r\n", "a b"),
            ("let x = a;let y = $x b; $y $x", "a b a"),
            ("let y = $x b; let x = a; $y $x", "a b a"),
        ],
    )
    def test_same_language(self, text, same):
        assert in_their_form(compile_regex(same, AB)) == in_their_form(compile_regex(text, AB))

    @pytest.mark.parametrize(
        "letter", ["open", "1157", "a_b", "été", "書", "let", "_", "<book>", "", " ", "ε", "'", "\x00"]
    )
    def test_letters_of_any_kind(self, letter):
        text = letter if letter.isidentifier() or letter.isdigit() else "'" + letter.replace("'", r"\'") + "'"
        text = "'ε'" if letter == "ε" else text
        automaton = compile_regex(f"{text} x* {text}", Alphabet([letter, "x"]))

        assert [automaton.accepts(word) for word in ([letter] * 2, [letter], [letter, "x", letter])] == [
            True,
            False,
            True,
        ]

    def test_definition_may_be_called_let(self):
        automaton = compile_regex("let let = let ; $let let", Alphabet(["let"]))

        assert automaton.accepts_batch([["let"] * n for n in (1, 2, 3)]).tolist() == [False, True, False]


def in_their_syntax(tree) -> str:
    """A tree in the syntax of automata-lib, every part in parentheses."""
    match tree:
        case ("letters", chosen, negated):
            letters = [letter for letter in AB if (letter in chosen) != negated]
            return "(" + "|".join(letters) + ")" if letters else "(a&b)"
        case ("repeat", inner, low, high):
            return f"({in_their_syntax(inner)}{{{low},{'' if high is None else high}}})"
        case ("or", trees):
            return "(" + "|".join(map(in_their_syntax, trees)) + ")"
        case ("then", trees):
            return "(" + "".join(map(in_their_syntax, trees)) + ")"
    raise ValueError(tree)


def in_their_form(automaton: DFA) -> other_dfa.DFA:
    """As an automaton of automata-lib, where equality is equality of languages."""
    return other_dfa.DFA(
        states=set(range(len(automaton))),
        input_symbols=set(automaton.alphabet),
        transitions={
            state: dict(zip(automaton.alphabet, row, strict=True))
            for state, row in enumerate(automaton.transitions.tolist())
        },
        initial_state=automaton.initial,
        final_states=set(automaton.accepting.nonzero()[0].tolist()),
    )


class TestDocumentation:
    def test_every_example_is_true(self):
        """The table of examples has the columns expression, words it describes, words it does not describe."""
        examples = REFERENCE.read_text("utf-8").split("\n## ")[2]
        rows = [line.replace("\\|", "\0") for line in examples.splitlines() if line.startswith("| `")]
        for row in rows:
            cells = [re.findall("`(.*?)`", cell.replace("\0", "|")) for cell in row.strip("|").split("|")]
            [expression], inside, outside = cells[0], *[[parse_word(word) for word in cell] for cell in cells[1:]]
            alphabet = Alphabet(dict.fromkeys([*letters_in_regex(expression), *itertools.chain(*inside, *outside)]))
            automaton = compile_regex(expression, alphabet)

            assert [word for word in inside if not automaton.accepts(word)] == [], expression
            assert [word for word in outside if automaton.accepts(word)] == [], expression
        assert len(rows) >= 10


class TestLettersInRegex:
    @pytest.mark.parametrize(
        ("text", "letters"),
        [
            ("(a|b)*a(a|b){3}", "a b"),
            ("b a b", "b a"),
            ("[^c 'x y'] | !d & .", "c 'x y' d"),
            ("ε | ∅ | .*", "ε"),
            ("a{0} b", "a b"),
            ("let x = c d; let unused = z; a $x b $x", "a c d b"),
            ("let x = $y 1; let y = 2; $x $y 3", "2 1 3"),
            ("$given e", "f g e"),
        ],
    )
    def test_in_order_of_appearance(self, text, letters):
        assert parse_word(letters) == letters_in_regex(text, {"given": "[f g]", "other": "h"})

    @settings(max_examples=50, deadline=None)
    @given(trees(ABC))
    def test_enough_to_compile(self, tree):
        letters = letters_in_regex(written(tree))
        if letters:
            compile_regex(written(tree), Alphabet(letters))

    def test_long_chain_of_definitions(self):
        chain = "".join(f"let x{n} = a{n} $x{n + 1};" for n in range(5000)) + "let x5000 = end; $x0"

        assert (*(f"a{n}" for n in range(5000)), "end") == letters_in_regex(chain)


class TestSize:
    @pytest.mark.parametrize(
        ("text", "states"),
        [
            ("(a|b)*a(a|b){3}", 16),
            (".* a .{0,40}", 42),
            (".* a .{40,}", 42),
            ("!(.* a .{0,40})", 42),
            (".* a (.{0,20} | .{10,30})", 32),
            (".* a (b|a a){0,12}", 28),
            ("(((a*)*)*)*", 2),
            ("(a|b)*", 1),
            (".* a .* | .* b? .*", 1),
            ("(a?){500}a{500}", 1002),
            ("(a|a a|a a a){200}", 602),
            ("(a{2}){3}", 8),
            ("a{1000} & b", 2),
            ("a{1000} & (a a)+", 1002),
        ],
    )
    def test_states(self, text, states):
        """Not minimal in general, but these must not blow up."""
        assert states == len(compile_regex(text, AB))

    def test_gaps_between_multiples_are_kept(self):
        """(x{i,j}){m,n} is x{im,jn} only if no count is left out."""
        for i, j, m, n in itertools.product(range(4), range(4), range(4), range(4)):
            if i <= j and m <= n:
                automaton = compile_regex(f"(a{{{i},{j}}}){{{m},{n}}}", Alphabet(["a"]))
                counts = {count for times in range(m, n + 1) for count in range(i * times, j * times + 1)}

                answers = automaton.accepts_batch([("a",) * count for count in range(12)])

                assert [count in counts for count in range(12)] == answers.tolist()

    def test_alphabet_size_costs_columns_only(self):
        """2 classes of letters out of 20 000: a state is derived twice, not 20 000 times."""
        automaton = compile_regex(".* [t3 t5] .{4}", Alphabet([f"t{n}" for n in range(20_000)]))

        assert automaton.transitions.shape == (32, 20_000)
        few, many = (
            calls_of(partial(compile_regex, ".* [t3 t5] .{4}", Alphabet([f"t{n}" for n in range(size)])))
            for size in (10_000, 20_000)
        )
        assert many - few < 3 * 10_000  # a few calls for a letter, and none for a letter in each of 32 states
        others = [n for n in range(20_000) if n not in (3, 5)]
        assert (automaton.transitions[:, others] == automaton.transitions[:, :1]).all()
        assert (automaton.transitions[:, 3] == automaton.transitions[:, 5]).all()
        assert (automaton.transitions[:, 3] != automaton.transitions[:, 0]).any()

    @pytest.mark.parametrize("negated", [False, True])
    def test_every_letter_mentioned(self, negated):
        """With no letter left for the rest class, one class stands in for it."""
        alphabet = Alphabet([f"t{n}" for n in range(6)])
        sign = "^" * negated
        automaton = compile_regex(" ".join(f"[{sign}t{n} t{(n + 1) % 6}]" for n in range(6)), alphabet)

        for step, letter in itertools.product(range(6), range(6)):
            word = [f"t{(n + 2 * negated) % 6}" for n in range(6)]
            word[step] = f"t{letter}"
            assert automaton.accepts(word) == ((letter in (step, (step + 1) % 6)) != negated)


@pytest.mark.parametrize(
    ("together", "apart"),
    [
        ("(ab|c)*", "(a b | c)*"),
        ("abc*", "a b c*"),
        ("[ab]c{2}", "[a b] c{2}"),
        ("let tail = ab*; a$tail", "let tail = a b*; a $tail"),
        ("!(.*aa.*)", "!(.* a a .*)"),
        ("aεb", "a b"),
    ],
)
def test_letters_of_one_character_need_no_blanks(together: str, apart: str) -> None:
    letters = Alphabet(["a", "b", "c"])
    assert canonical(compile_regex(together, letters)) == canonical(compile_regex(apart, letters))


def test_a_run_is_one_letter_where_some_letter_is_longer() -> None:
    with pytest.raises(ExpressionError, match="unknown letter 'ab'; letters are separated by spaces"):
        compile_regex("ab", Alphabet(["a", "b", "open"]))
    assert compile_regex("open", Alphabet(["a", "open"])).accepts(["open"])
    with pytest.raises(ExpressionError, match=r"unknown letter 'x'.*column 3"):
        compile_regex("abx", Alphabet(["a", "b"]))
