"""LTLf against its meaning written down directly, against MONA, and against people's mistakes and monsters."""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
import sys
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings

from rnncheck.automata.ltlf import ltlf_compiler
from rnncheck.automata.ltlf.ltlf_compiler import compile_ltlf, letters_in_ltlf
from rnncheck.errors import ExpressionError, InputError, ResourceLimitError, StateLimitError
from rnncheck.words import Alphabet
from support.clocks import HARDLY_EVER, calls_of
from support.ltlf_semantics import holds, ltlf_formulas, written
from support.memory import PEAK_KIB
from support.strategies import ONE_LINE, all_words

ABC = Alphabet(["a", "b", "c"])
WORDS = list(all_words(ABC, 5))
NINE = Alphabet(list("abcdefghi"))
NINE_SETS = [*((letter,) for letter in NINE), ("a", "b", "c"), ("c", "d", "e", "f", "g"), ("h", "i"), tuple("bdfhi")]


def language(text: str, *, nonempty: bool = False, alphabet: Alphabet = ABC, length: int = 4) -> set[str]:
    dfa = compile_ltlf(text, alphabet, nonempty=nonempty)
    return {" ".join(word) for word in all_words(alphabet, length) if dfa.accepts(word)}


def same(left: str, right: str) -> bool:
    return language(left) == language(right)


class TestMeaning:
    @settings(max_examples=120)
    @given(ltlf_formulas())
    def test_every_word_is_judged_as_the_semantics_say(self, formula):
        plain = compile_ltlf(written(formula, plainly=True), ABC)
        assert plain == compile_ltlf(written(formula, plainly=False), ABC)
        assert plain.accepts_batch(WORDS).tolist() == [holds(formula, word) for word in WORDS]

    @settings(max_examples=80)
    @given(ltlf_formulas(max_leaves=8, letter_sets=NINE_SETS))
    def test_many_letters_are_told_apart(self, formula):
        dfa = compile_ltlf(written(formula, plainly=False), NINE)
        words = list(all_words(NINE, 2)) + [tuple(word) for word in ("abcdefghi", "ihgfedcba", "aabbccddeeffgghhii")]
        assert dfa.accepts_batch(words).tolist() == [holds(formula, word) for word in words]

    @pytest.mark.slow
    @settings(max_examples=1500)
    @given(ltlf_formulas(max_leaves=9))
    def test_larger_formulas_too(self, formula):
        dfa = compile_ltlf(written(formula, plainly=False), ABC)
        assert dfa.accepts_batch(WORDS).tolist() == [holds(formula, word) for word in WORDS]

    @pytest.mark.parametrize(
        "text", ["true", "!a", "G a", "G false", "a R b", "a W b", "WX a", "N a", "last", "ε", "a -> b", "!X a", "!F a"]
    )
    def test_the_empty_word_satisfies(self, text):
        assert compile_ltlf(text, ABC).accepts(())

    @pytest.mark.parametrize(
        "text", ["false", "a", "{a b c}", "X a", "X true", "F a", "F true", "a U b", "a M b", "!ε"]
    )
    def test_the_empty_word_fails(self, text):
        assert not compile_ltlf(text, ABC).accepts(())

    def test_next_needs_a_letter_there(self):
        one = Alphabet(["a"])
        assert language("X true", alphabet=one) == {"a a", "a a a", "a a a a"}
        assert language("X !b", length=1) == set()
        assert language("WX false", alphabet=one) == {"", "a"}
        assert language("X X true & !X X X true", alphabet=one) == {"a a a"}

    def test_nonempty_removes_the_empty_word_and_nothing_else(self):
        assert language("G a", nonempty=True) == language("G a") - {""}
        assert language("true", nonempty=True) == language("true") - {""}
        assert language("a", nonempty=True) == language("a")
        assert language("ε", nonempty=True) == set()

    def test_last_is_the_last_letter(self):
        assert language("F(a & last)") == {word for word in language("true") if word.endswith("a")}

    def test_letters_exclude_one_another(self):
        assert same("a & b", "false")
        assert same("F(a | b | c)", "F true")
        assert len(compile_ltlf("G(a & b -> X c)", ABC)) == 1

    def test_words_much_longer_than_the_formula(self):
        dfa = compile_ltlf("G(a -> X X b) & F c", ABC)
        good = ("a", "c", "b") * 500
        assert dfa.accepts(good)
        assert not dfa.accepts((*good, "a"))
        assert not dfa.accepts((*good, "a", "a", "c", "b"))


class TestAlphabet:
    def test_letters_not_named_behave_alike(self):
        many = Alphabet([f"x{i}" for i in range(150)] + ["a", "b"] + [f"y{i}" for i in range(50)])
        large = compile_ltlf("G(a -> F b) & !b", many)
        small = compile_ltlf("G(a -> F b) & !b", Alphabet(["x0", "a", "b"]))
        columns = [1 if letter == "a" else 2 if letter == "b" else 0 for letter in many]
        assert np.array_equal(large.transitions, small.transitions[:, columns])
        assert np.array_equal(large.accepting, small.accepting)

    def test_letters_of_one_set_are_one_class_until_told_apart(self):
        letters = [f"x{i}" for i in range(100)]
        alphabet = Alphabet(letters)
        half = "{" + " ".join(letters[:50]) + "}"
        dfa = compile_ltlf(f"{half} & X !{half} & X X x3", alphabet)
        assert dfa.accepts(("x0", "x99", "x3"))
        assert not dfa.accepts(("x0", "x99", "x4"))
        assert not dfa.accepts(("x0", "x1", "x3"))
        assert not dfa.accepts(("x50", "x99", "x3"))

    @pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33])
    def test_every_letter_is_told_from_every_other(self, size):
        letters = [f"x{i}" for i in range(size)]
        for named in range(1, size + 1):
            text = " | ".join(f"{letter} & X {letter}" for letter in letters[:named])
            dfa = compile_ltlf(text, Alphabet(letters))
            pairs = list(itertools.product(range(size), repeat=2))
            answers = dfa.accepts_batch([(letters[i], letters[j]) for i, j in pairs])
            assert answers.tolist() == [i == j < named for i, j in pairs]

    def test_one_letter(self):
        assert language("a", alphabet=Alphabet(["a"]), length=2) == {"a", "a a"}

    def test_odd_letters_are_quoted(self):
        odd = ["<book>", "it's", 'say "x"', "a b", "", "ε", "&", "\n", "漢字", "e\u0301", "1157", "don\\t"]
        text = r"""'<book>' & X 'it\'s' & X X 'say "x"' & X X X "a b" & X X X X '' & X X X X X 'ε' & X X X X X X '&'
            & X X X X X X X '\n' & X X X X X X X X 漢字 & X X X X X X X X X é & X X X X X X X X X X 1157
            & X X X X X X X X X X X 'don\\t'""".replace("é", "e\u0301")
        assert letters_in_ltlf(text) == tuple(odd)
        assert compile_ltlf(text, Alphabet(odd)).accepts(odd)

    @pytest.mark.parametrize(
        "name", ["X", "WX", "N", "F", "G", "U", "R", "W", "M", "true", "false", "tt", "ff", "last"]
    )
    def test_quotes_and_sets_rescue_letters_named_like_operators(self, name):
        alphabet = Alphabet([name, "a"])
        for text in (f"F '{name}'", f'F "{name}"', f"F {{{name}}}"):
            assert language(text, alphabet=alphabet) == {
                w for w in language("true", alphabet=alphabet) if name in w.split()
            }
        assert letters_in_ltlf(f"'{name}' & a") == (name, "a")

    def test_bare_operators_stay_operators(self):
        alphabet = Alphabet(["F", "G", "a"])
        assert language("F a", alphabet=alphabet) == language("true U a", alphabet=alphabet)

    def test_names_that_begin_like_operators_are_letters(self):
        assert letters_in_ltlf("Ga & Xb U F1 | truest & lasting & U2 & response") == (
            *("Ga", "Xb", "F1", "truest", "lasting", "U2", "response"),
        )

    def test_letters_in_order_of_appearance(self):
        assert letters_in_ltlf("G(b -> F {c 'a' b}) & response(d, a)") == ("b", "c", "a", "d")
        assert letters_in_ltlf("G true") == ()


class TestGrammar:
    @pytest.mark.parametrize(
        ("loose", "grouped"),
        [
            ("!a & b", "(!a) & b"),
            ("X a U b", "(X a) U b"),
            ("G a -> F b", "(G a) -> (F b)"),
            ("a U b & c", "(a U b) & c"),
            ("a | b & c", "a | (b & c)"),
            ("a -> b | c", "a -> (b | c)"),
            ("a <-> b -> c", "a <-> (b -> c)"),
            ("F a -> F b -> F c", "F a -> (F b -> F c)"),
            ("!(F a -> F b -> F c)", "F a & F b & !F c"),
            ("a U b U c", "a U (b U c)"),
            ("a R b W c M a", "a R (b W (c M a))"),
            ("!X!a", "!(X(!a))"),
            ("G(a->F b)", "G ( a  ->  F b )"),
            ("G(a)", "G a"),
            ("~a && b || c => a <=> b", "!a & b | c -> a <-> b"),
            ("N a", "WX a"),
            ("tt & !ff", "true & !false"),
            ("{a, b}", "a | b"),
            ("{a a}", "a"),
            ("a W b", "a U b | G a"),
            ("a M b", "b U (a & b)"),
            ("a R b", "!(!a U !b)"),
            ("WX a", "!X !a"),
            ("last", "WX false"),
            ("\n\tG\ta\n", "G a"),
        ],
    )
    def test_grouping_and_spelling(self, loose, grouped):
        assert language(loose) == language(grouped)

    @pytest.mark.parametrize(
        ("one", "other"),
        [("a U b | X c", "a U (b | X c)"), ("(a U b) U c", "a U (b U c)"), ("X a", "WX a"), ("!a U b", "!(a U b)")],
    )
    def test_differences_are_seen(self, one, other):
        assert language(one) != language(other)

    def test_same_claims_are_same_states(self):
        assert compile_ltlf("!(a U b)", ABC) == compile_ltlf("!a R !b", ABC)
        assert compile_ltlf("F F F a", ABC) == compile_ltlf("F a", ABC)
        assert len(compile_ltlf("F a | G !a", ABC)) == 1


MISTAKES = [
    ("", 1, "the formula is empty"),
    ("   ", 4, "the formula is empty"),
    ("(a", 1, "( is not closed"),
    ("G(a -> (F b)", 2, "( is not closed"),
    ("a)", 2, ") closes nothing"),
    ("a & ]", 5, "a formula is missing before ]"),
    ("(a]", 1, "( is not closed before the ] in column 3"),
    ("a &", 4, "a formula is missing before the end of the text"),
    ("& a", 1, "a formula is missing before &"),
    ("a U", 4, "U is an operator, the letter of that name is written 'U'"),
    ("U a", 1, "U is an operator"),
    ("F & a", 3, "F is an operator, the letter of that name is written 'F'"),
    ("a & | b", 5, "a formula is missing before |"),
    ("a !", 3, "an operator is missing between a and !"),
    ("a b", 3, "an operator is missing between a and b"),
    ("GF a", 4, "write operators apart: G F"),
    ("GF(a)", 1, "write operators apart: G F"),
    ("XX", 1, "write operators apart: X X"),
    ("()", 2, "a formula is missing before )"),
    ("{}", 1, "the set is empty"),
    ("F {a b", 3, "brace { is not closed"),
    ("{a | b}", 4, "a set lists letters"),
    ("{, a}", 2, "a set lists letters"),
    ("a & 'b", 5, "quote ' is not closed"),
    ("a & '\\q'", 6, "unknown escape"),
    ("a $ b", 3, "'$' has no meaning"),
    ("a = b", 3, "'=' has no meaning"),
    ("G(a -> F bb)", 10, "unknown letter 'bb'; did you mean b?"),
    ("G(a -> F {b x})", 13, "unknown letter 'x'; the alphabet has 3: a, b, c"),
    ("G 'zzz'", 3, "unknown letter 'zzz'"),
    ("F end", 3, "where the word is over, ε holds"),
    ("F response", 3, "used like a function, response(a, b)"),
    ("a, b", 2, "a comma separates the arguments of a pattern"),
    ("a (b)", 1, "unknown pattern a; if a is a letter, an operator is missing after it"),
]


class TestMistakes:
    @pytest.mark.parametrize(("text", "column", "message"), MISTAKES)
    def test_the_error_points_at_the_mistake(self, text, column, message):
        with pytest.raises(ExpressionError, match=ONE_LINE) as caught:
            compile_ltlf(text, ABC)
        assert message in str(caught.value)
        assert caught.value.column == column

    def test_a_formula_is_a_text(self):
        with pytest.raises(InputError, match="a formula is a text"):
            compile_ltlf(b"G a", ABC)


def run_measured(code: str) -> tuple[str, float, float]:
    """Run code in a process of its own: what it prints, its processor seconds, its peak memory in MiB."""
    script = f"{code}\nimport time; print(time.process_time(), {PEAK_KIB})"
    done = subprocess.run([sys.executable, "-"], input=script, capture_output=True, text=True, timeout=300, check=True)
    *said, figures = done.stdout.splitlines()
    seconds, kilobytes = figures.split()
    return "\n".join(said), float(seconds), float(kilobytes) / 1024


def nested(before: str, core: str, after: str, depth: int) -> str:
    return before * depth + core + after * depth


def monster(name: str) -> tuple[str, list[str]]:
    """Formulas that no machine can compile, over a suitable alphabet."""
    numbered = [f"l{i}" for i in range(100)]
    pairs = list(zip(numbered[::2], numbered[1::2], strict=True))
    return {
        "far": ("F(a & " + "X " * 40 + "b)", ["a", "b", "c"]),
        "responses": (" & ".join(f"response({a}, {b})" for a, b in pairs[:25]), numbered),
        "choices": (" & ".join(f"(F {a} | F {b})" for a, b in pairs[:40]), numbered),
        "both": (" | ".join(f"(F {a} & F {b})" for a, b in zip(numbered[:40], numbered[40:80], strict=True)), numbered),
        "mixed": (" & ".join(f"(F l{i * 7 % 20} | G l{i * 11 % 20} | X X l{i})" for i in range(40)), numbered),
        "parity": (" <-> ".join(f"F l{i}" for i in range(100)), numbered),
        "path": ("<true*; a; " + "true; " * 40 + "b> true", ["a", "b", "c"]),
        "nested patterns": (nested("alternate_succession(a, ", "b", ")", 300), ["a", "b", "c"]),
        "many letters": (" & ".join(f"F l{i}" for i in range(20_000)), [f"l{i}" for i in range(20_000)]),
    }[name]


class TestLimits:
    @pytest.mark.parametrize("name", ["far", "responses", "choices", "both", "path"])
    def test_the_state_limit_is_kept(self, name):
        text, letters = monster(name)
        with pytest.raises(StateLimitError, match="more than 500 states"):
            compile_ltlf(text, Alphabet(letters), max_states=500)

    def test_conjunctions_that_are_too_large_say_what_to_do(self):
        """Should name the limit, the states and the parts, which can be verified one by one."""
        text, letters = monster("responses")
        parts = text.count("&") + 1
        remedy = rf"give its {parts} conjuncts as separate properties of a property file: `check` verifies each"
        with pytest.raises(StateLimitError, match=f"more than 500 states.* or {remedy}"):
            compile_ltlf(text, Alphabet(letters), max_states=500)
        with patch.object(ltlf_compiler, "_TERMS_PER_STATE", 1), pytest.raises(ResourceLimitError) as caught:
            compile_ltlf(text, Alphabet(letters))
        assert re.search(
            rf"more than 100000 terms.* [0-9]{{3,}} states were worked out by then: {remedy}", str(caught.value)
        )

    @pytest.mark.parametrize(
        ("text", "parts"),
        [
            ("a & F b & X c", 3),
            ("(F a & F b) & (F a & F c)", 4),
            ("response(a, b) & (a | b & c)", 2),
            ("F a & F b -> F c", 0),
        ],
    )
    def test_conjuncts_are_counted(self, text, parts):
        with pytest.raises(StateLimitError) as caught:
            compile_ltlf(text, ABC, max_states=0)
        assert (f"its {parts} conjuncts" in str(caught.value)) == (parts > 0)

    def test_exactly_the_limit_is_enough(self):
        states = len(compile_ltlf("F(a & X X X b)", ABC))
        assert len(compile_ltlf("F(a & X X X b)", ABC, max_states=states)) == states
        with pytest.raises(StateLimitError):
            compile_ltlf("F(a & X X X b)", ABC, max_states=states - 1)

    def test_the_table_limit_is_kept(self):
        letters = [f"l{i}" for i in range(60_000)]
        with pytest.raises(ResourceLimitError, match="entries, the limit"):
            compile_ltlf("at_least(l0, 1000)", Alphabet(letters))

    def test_monsters_end_soon_and_stay_small(self):
        self.check_monster(*monster("responses"))

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "name", ["far", "choices", "both", "mixed", "parity", "path", "nested patterns", "many letters"]
    )
    def test_more_monsters(self, name):
        self.check_monster(*monster(name))

    @staticmethod
    def check_monster(text: str, letters: list[str]) -> None:
        said, seconds, megabytes = run_measured(
            "from rnncheck.automata.ltlf.ltlf_compiler import compile_ltlf\nfrom rnncheck.errors import "
            f"ResourceLimitError, StateLimitError\nfrom rnncheck.words import Alphabet\ntry: compile_ltlf({text!r}, "
            f"Alphabet({letters!r}))\nexcept (ResourceLimitError, StateLimitError) as error: print(error)\n"
        )
        assert "the limit" in said
        assert seconds < HARDLY_EVER
        assert megabytes < 1024

    def test_left_nested_untils_are_no_monster(self):
        letters = [f"l{i}" for i in range(41)]
        text = "(" * 40 + "l0" + "".join(f" U {letter})" for letter in letters[1:])
        dfa = compile_ltlf(text, Alphabet(letters))
        assert len(dfa) < 100
        assert dfa.accepts(["l40"])
        assert dfa.accepts(["l39", "l40"])
        assert not dfa.accepts(["l1"])

    @pytest.mark.parametrize(
        ("text", "words", "refused"),
        [
            (nested("(", "a", ")", 20_000), [("a",)], [("b",)]),
            (nested("!", "a", "", 20_000), [("a",)], [("b",), ()]),
            (nested("X ", "a", "", 20_000), [("b",) * 20_000 + ("a",)], [("b",) * 20_001, ("a",)]),
            (nested("G(a -> ", "b", ")", 5_000), [("b",), ("c", "b")], [("a",), ("c", "a")]),
            (nested("F ", "a", "", 20_000), [("b", "a")], [("b",)]),
            ("a" + " | b" * 20_000, [("a",), ("b",)], [("c",)]),
            ("F a" + " & F b" * 20_000, [("a", "b")], [("b",)]),
            ("a" + " <-> a" * 20_001, [("a",), ("b",)], []),
        ],
        ids=["parentheses", "not", "next", "globally", "finally", "or", "and", "iff"],
    )
    def test_deep_and_wide_formulas_compile(self, text, words, refused):
        dfa = compile_ltlf(text, ABC)
        assert dfa.accepts_batch(words).all()
        assert not dfa.accepts_batch(refused).any()

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("text", "words", "refused"),
        [
            (nested("a U (b | ", "c", ")", 50_000), [("a", "b"), ("c",)], [("a",)]),
            (nested("(", "a", " U b)", 50_000), [("a", "b"), ("b",)], [("a",)]),
            (nested("G F ", "c", "", 25_000), [("a", "c")], [("c", "a")]),
            ("F a" + " -> F b" * 100_000, [()], []),
            ("a" + " W b" * 100_000, [("a", "a")], [("c",)]),
        ],
        ids=["until right", "until left", "alternating", "implies", "weak until"],
    )
    def test_more_deep_formulas_compile(self, text, words, refused):
        self.test_deep_and_wide_formulas_compile(text, words, refused)

    def test_deep_mistakes_are_reported(self):
        with pytest.raises(ExpressionError, match=r"\( is not closed"):
            compile_ltlf("(" * 50_000 + "a", ABC)


class TestSpeed:
    """These fail when a cost grows with the wrong thing."""

    def test_ten_responses_over_many_letters(self):
        def work(count: int) -> int:
            letters = [f"l{i}" for i in range(count)]
            text = " & ".join(f"G({a} -> F {b})" for a, b in zip(letters[:20:2], letters[1:20:2], strict=True))
            return calls_of(lambda: compile_ltlf(text, Alphabet(letters)))

        assert work(200) < 1.5 * work(40)

    def test_memory_of_the_past(self):
        """Should cost in proportion to the states, which double with every letter to be remembered."""

        def work(count: int) -> int:
            states = 0

            def compile_it() -> None:
                nonlocal states
                states = len(compile_ltlf("F(a & " + "X " * count + "b)", ABC))

            calls = calls_of(compile_it)
            assert states == 2**count + 1
            return calls

        assert work(10) < 5 * work(8)


MONA = shutil.which("mona")


@pytest.mark.skipif(MONA is None, reason="the mona program is not installed")
class TestAgainstMona:
    """ltlf2dfa writes the formula in monadic logic, MONA makes the automaton: nothing in common with progression."""

    @pytest.mark.parametrize(
        ("text", "theirs"),
        [
            ("G(a -> F b)", "G(a -> F(b))"),
            ("!a W b", "(!(a) U b) | G(!(a))"),
            ("a U (b & X c)", "a U (b & X(c))"),
            ("a R b | c", "(a R b) | c"),
            ("F(a & X(!b U c))", "F(a & X(!(b) U c))"),
            ("G(a -> WX b)", "G(a -> WX(b))"),
            ("X X a | !X c", "X(X(a)) | !(X(c))"),
            ("F a <-> F b", "F(a) <-> F(b)"),
            ("F(a & last) & b", "F(a & last) & b"),
            ("G(a | b) & F c", "G(a | b) & F(c)"),
            ("F(a & F(b & F c))", "F(a & F(b & F(c)))"),
            ("(a U b) U (c R a)", "(a U b) U (c R a)"),
            ("G F a & !F G b", "G(F(a)) & !(F(G(b)))"),
        ],
    )
    def test_same_language(self, text, theirs, tmp_path):
        parser = pytest.importorskip("ltlf2dfa.parser.ltlf", reason="ltlf2dfa is not installed").LTLfParser()
        base = pytest.importorskip("ltlf2dfa.base")
        # Its own to_dfa writes into the installed package, where parallel runs would meet.
        program = tmp_path / "formula.mona"
        program.write_text(base.MonaProgram(parser(theirs)).mona_program())
        said = subprocess.run([MONA, "-q", "-u", "-w", program], capture_output=True, text=True, timeout=60, check=True)
        judge = MonaAutomaton(said.stdout)
        dfa = compile_ltlf(text, ABC)
        assert [judge.accepts(word) for word in WORDS] == dfa.accepts_batch(WORDS).tolist()


class MonaAutomaton:
    """MONA's answer, read back. The first step reads no letter: it sets the variables up."""

    def __init__(self, said: str) -> None:
        lines = said.splitlines()
        self.variables = next(line for line in lines if "free variables:" in line).split(":")[1].lower().split()
        self.accepting = set(next(line for line in lines if line.startswith("Accepting states:")).split(":")[1].split())
        self.moves: dict[str, list[tuple[str, str]]] = {}
        for line in lines:
            if line.startswith("State "):
                _, state, guard, _, _, target = line.replace(":", "").split()
                self.moves.setdefault(state, []).append((guard, target))

    def accepts(self, word: tuple[str, ...]) -> bool:
        state = self.moves["0"][0][1]
        for letter in word:
            state = next(target for guard, target in self.moves[state] if self.allows(guard, letter))
        return state in self.accepting

    def allows(self, guard: str, letter: str) -> bool:
        return all(
            value == "X" or (value == "1") == (variable == letter)
            for variable, value in zip(self.variables, guard, strict=True)
        )
