"""Regular expressions that are refused: with the place of the mistake, or before they cost too much."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnncheck.automata.regex.regex_compiler import compile_regex, letters_in_regex
from rnncheck.errors import ExpressionError, InputError, ResourceLimitError, RnncheckError, StateLimitError
from rnncheck.words import Alphabet
from support.clocks import HARDLY_EVER
from support.memory import PEAK_KIB

AB = Alphabet(["a", "b"])


class TestErrors:
    @pytest.mark.parametrize(
        ("text", "column", "problem"),
        [
            ("", 1, "missing before the end; write ε"),
            ("  ", 3, "missing before the end"),
            ("(a|b", 1, "this '(' is not closed"),
            ("a ((b)", 3, "this '(' is not closed"),
            ("a)", 2, "this ')' closes nothing"),
            ("a]", 2, "this ']' closes nothing"),
            ("a}", 2, "this '}' closes nothing"),
            ("a | ", 5, "missing before the end"),
            ("| a", 1, "missing before '|'"),
            ("a & & b", 5, "missing before '&'"),
            ("(a |)", 5, "missing before ')'"),
            ("a !", 4, "missing before the end"),
            ("(!) a", 3, "missing before ')'"),
            ("*a", 1, "nothing to repeat before '*'"),
            ("(+)", 2, "nothing to repeat before '+'"),
            ("a | {2}", 5, "nothing to repeat before '{2}'"),
            ("a+?", 3, "use parentheses: (…+)?"),
            ("(a b)*{2}", 7, "use parentheses: (…*){2}"),
            ("[]", 1, "the class is empty; write ∅"),
            ("a [^]", 3, "the class is empty; write ."),
            ("[a", 1, "this '[' is not closed"),
            ("[a | b]", 4, "unexpected '|' in a class"),
            ("[a ^b]", 4, "unexpected '^' in a class"),
            ("[a,b]", 3, "separated by blanks, not commas"),
            ("[a-b]", 3, "no ranges"),
            ("a b c", 5, "unknown letter 'c'; the alphabet has 2: a, b"),
            ("a [b c]", 6, "unknown letter 'c'"),
            ("b ac", 4, "unknown letter 'c'"),
            ("a ''", 3, "unknown letter ''"),
            ("a{3,1}", 2, "{3,1} ends before it begins; write {1,3}"),
            ("a{,3}", 2, "a repetition is written {3}, {2,5} or {2,}"),
            ("a{3", 2, "a repetition is written"),
            ("a{-1}", 2, "a repetition is written"),
            ("a{1,1000000000000000}", 5, "at most 15 digits"),
            ("a{" + "9" * 5000 + "}", 3, "at most 15 digits"),
            ("a 'b", 3, "quote ' is not closed"),
            ('"', 1, 'quote " is not closed'),
            (r"'\q'", 2, r"unknown escape \q"),
            ("<b>", 1, "stands in quotes: '<b>'"),
            ("a$", 2, "a name must follow '$'"),
            ("^a", 1, "'^' only begins a class"),
            (r"\d", 1, "a backslash only stands between quotes"),
            ("$x", 1, "unknown name $x; define it first: let x = … ;"),
            ("let x = a; $y", 12, "unknown name $y; defined are $x"),
            ("let x = $y; a", 9, "unknown name $y"),
            ("let x = a $x; $x", 11, "circular: $x → $x"),
            ("let x = $y; let y = $z a; let z = b | $x; a", 39, "circular: $x → $y → $z → $x"),
            ("let x = a; let x = b; a", 16, "$x is defined twice"),
            ("let x = a", 10, "the definition does not end"),
            ("let x = (a; b", 9, "this '(' is not closed"),
            ("let x = ; a", 9, "missing before ';'"),
            ("let x = a;", 11, "missing before the end"),
            ("let x a; b", 8, "';' ends a definition"),
            ("a; b", 2, "';' ends a definition"),
            ("a = b", 3, "unexpected '='"),
            ("a\x00b", 2, r"unexpected character '\x00'"),
            ("a\x1b[0m", 2, r"unexpected character '\x1b'"),
            ("a\u200b", 2, r"unexpected character '\u200b'"),
        ],
    )
    def test_names_the_problem_and_its_place(self, text, column, problem):
        with pytest.raises(ExpressionError) as caught:
            compile_regex(text, AB)

        assert problem in caught.value.problem
        assert (column, text) == (caught.value.column, caught.value.text)
        assert len(str(caught.value).splitlines()) == 1

    @pytest.mark.parametrize(
        ("definition", "column", "problem"),
        [
            ("a b)", 4, "in the definition of $x: this ')' closes nothing"),
            ("a c", 3, "in the definition of $x: unknown letter 'c'"),
            ("a $x", 3, "in the definition of $x: definitions must not be circular"),
            ("a $y", 3, "in the definition of $x: unknown name $y; defined are $x"),
            ("let y = a; $y", 7, "in the definition of $x: unexpected '='"),
        ],
    )
    def test_given_definition_is_named(self, definition, column, problem):
        with pytest.raises(ExpressionError) as caught:
            compile_regex("b | $x", AB, definitions={"x": definition})

        assert caught.value.problem.startswith(problem)
        assert (column, definition) == (caught.value.column, caught.value.text)

    def test_unused_definitions_must_parse_but_may_have_other_letters(self):
        assert compile_regex("a", AB) == compile_regex("let y = other; a", AB, definitions={"x": "foreign"})
        with pytest.raises(ExpressionError, match=r"in the definition of \$x"):
            compile_regex("a", AB, definitions={"x": "("})

    def test_definition_in_text_cannot_replace_a_given_one(self):
        with pytest.raises(ExpressionError, match=r"\$x is defined twice"):
            compile_regex("let x = a; $x", AB, definitions={"x": "b"})

    @pytest.mark.parametrize("definitions", [{"x y": "a"}, {"": "a"}, {"x": 5}, {5: "a"}])
    def test_definitions_that_are_none(self, definitions):
        with pytest.raises(InputError):
            compile_regex("a", AB, definitions=definitions)

    @settings(max_examples=500, deadline=None)
    @given(st.text(st.sampled_from("aab()[]^|&!*+?{}123,. '\"\\$;=εlet∅x\x00"), max_size=25))
    def test_any_text_is_read_or_refused(self, text):
        try:
            letters = letters_in_regex(text)
            compile_regex(text, Alphabet(letters or ["a"]), max_states=100)
        except (ExpressionError, StateLimitError):
            pass


DEEP = 10_000
SHAPES: dict[str, tuple[str, int | type[Exception]]] = {
    "parentheses": ("(" * DEEP + "a" + ")" * DEEP, 3),
    "complements": ("!(" * DEEP + "a" + ")" * DEEP, 3),
    "exclamation marks": ("!" * DEEP + "a", 3),
    "stars": ("(" * DEEP + "a" + ")*" * DEEP, 2),
    "stars of unions": ("(" * DEEP + "a" + "|b)*" * DEEP, 1),
    "stars of concatenations": ("(" * DEEP + "a" + " b)*" * DEEP, ResourceLimitError),
    "optional tails": ("(a " * DEEP + ")?" * DEEP, StateLimitError),
    "optional heads": ("(" * DEEP + "a" + ")? b" * DEEP, StateLimitError),
    "powers": ("(" * DEEP + "a" + "){2,3}" * DEEP, StateLimitError),
    "powers with gaps": (
        "(" * DEEP + "a" + "".join(f"){{{n},{n + 1}}}" for n in range(2 * DEEP, 0, -2)),
        ResourceLimitError,
    ),
    "intersections": ("(" * DEEP + "a" + "|b)&.*" * DEEP, 3),
    "complements in concatenations": ("!(a " * DEEP + ")" * DEEP, StateLimitError),
    "alternating": ("(a|b&!" * DEEP + "a" + ")" * DEEP, 3),
    "letters": ("a b " * (DEEP * 5 // 2), StateLimitError),
    "long union": ("|".join(["a b"] * DEEP), 4),
    "long intersection": ("&".join(["!(a b)", ".* a"] * DEEP), 5),
    "long class": ("[" + "a b " * DEEP + "]", 3),
    "optional letters": ("a? b?" * DEEP, ResourceLimitError),
    "unclosed": ("(" * DEEP, ExpressionError),
    "definitions": (
        "".join(f"let x{n + 1} = ($x{n} b)? a;" for n in range(2000)) + "let x0 = a; $x2000",
        ResourceLimitError,
    ),
    "doubling": (
        "".join(f"let x{n + 1} = $x{n} $x{n};" for n in range(200)) + "let x0 = a b; $x200",
        ResourceLimitError,
    ),
    "doubling one letter": (
        "".join(f"let x{n + 1} = $x{n} $x{n};" for n in range(200)) + "let x0 = a; $x200",
        StateLimitError,
    ),
}


# Each takes seconds, and the others are of the same kinds.
SLOW_SHAPES = {
    "alternating",
    "doubling",
    "letters",
    "long intersection",
    "optional letters",
    "powers with gaps",
    "stars of concatenations",
}


def outcome(text: str, max_states: int) -> int | type[Exception]:
    """The number of states, or the kind of error."""
    try:
        return len(compile_regex(text, AB, max_states=max_states))
    except RnncheckError as error:
        return type(error)


class TestLimits:
    @pytest.mark.parametrize(
        "shape", [pytest.param(each, marks=pytest.mark.slow) if each in SLOW_SHAPES else each for each in SHAPES]
    )
    def test_depth_and_length_never_break_it(self, shape):
        """Compiled, or an explicit error, in seconds; never a RecursionError."""
        text, expected = SHAPES[shape]
        started = time.process_time()

        assert outcome(text, max_states=1000) == expected
        assert time.process_time() - started < HARDLY_EVER

    def test_fifty_thousand_letters(self):
        word = ["ab"[n * n % 7 % 2] for n in range(50_000)]

        automaton = compile_regex(" ".join(word), AB, max_states=200_000)

        assert len(automaton) == 50_002
        assert [automaton.accepts(each) for each in (word, word[1:], [*word, "a"])] == [True, False, False]

    @pytest.mark.parametrize(
        "text",
        [
            "(a|b)*a(a|b){40}",
            pytest.param("(a|b)*a(a|b){100000}", marks=pytest.mark.slow),
            pytest.param("!((a|b)*a(a|b){40})", marks=pytest.mark.slow),
            pytest.param("((a|b)*a(a|b){20})&((a|b)*b(a|b){20})", marks=pytest.mark.slow),
            "a{1000000000}",
            pytest.param("(a|b b){1000000000,}", marks=pytest.mark.slow),
            "((a b){999999999999999}){999999999999999}",
            pytest.param("(((a b|b){999999,1000000}){999999,1000000}){999999,1000000}", marks=pytest.mark.slow),
        ],
    )
    def test_states_are_limited_in_seconds(self, text):
        started = time.process_time()
        with pytest.raises(StateLimitError, match="more than 100000 states"):
            compile_regex(text, AB)

        assert time.process_time() - started < HARDLY_EVER

    def test_limit_is_the_last_number_allowed(self):
        assert len(compile_regex("(a|b)*a(a|b){3}", AB, max_states=16)) == 16
        with pytest.raises(StateLimitError):
            compile_regex("(a|b)*a(a|b){3}", AB, max_states=15)

    def test_large_terms_are_refused_as_such(self):
        """Few states, each of them huge."""
        with pytest.raises(
            ResourceLimitError, match=r"^the regular expression .* grows too large .* raise it .*max_states"
        ):
            compile_regex("(a? b?)" * 5000, AB, max_states=1000)

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("!((a|b)*a(a|b){40})", id="states", marks=pytest.mark.slow),
            pytest.param(SHAPES["doubling"][0], id="terms", marks=pytest.mark.slow),
        ],
    )
    def test_memory(self, text):
        """Under 1 GiB for the whole process at the default limit."""
        program = (
            "import sys; from rnncheck.automata.regex.regex_compiler import compile_regex as c;from rnncheck.words "
            "import Alphabet; from rnncheck.errors import RnncheckError\ntry: c(sys.stdin.read(), Alphabet(['a', "
            f"'b']))\nexcept RnncheckError: print({PEAK_KIB})\n"
        )
        run = subprocess.run([sys.executable, "-c", program], input=text, capture_output=True, text=True, check=True)

        assert int(run.stdout) < 1024 * 1024
