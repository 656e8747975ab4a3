"""LDLf against its meaning written down directly, and against people's mistakes and monsters."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from rnncheck.automata.ltlf.ltlf_compiler import compile_ltlf, letters_in_ltlf
from rnncheck.errors import ExpressionError, StateLimitError
from rnncheck.words import Alphabet
from support.ltlf_semantics import Formula, holds, ldlf_formulas, ltlf_formulas, paths, relation, subformulas, written
from support.strategies import ONE_LINE, all_words

ABC = Alphabet(["a", "b", "c"])
WORDS = list(all_words(ABC, 5))


def language(text: str, length: int = 5) -> set[str]:
    dfa = compile_ltlf(text, ABC)
    return {"".join(word) for word in all_words(ABC, length) if dfa.accepts(word)}


class TestMeaning:
    @settings(max_examples=120)
    @given(ldlf_formulas())
    def test_every_word_is_judged_as_the_semantics_say(self, formula):
        plain = compile_ltlf(written(formula, plainly=True), ABC)
        assert plain == compile_ltlf(written(formula, plainly=False), ABC)
        assert plain.accepts_batch(WORDS).tolist() == [holds(formula, word) for word in WORDS]

    @settings(max_examples=80)
    @given(paths(ltlf_formulas(max_leaves=2)))
    def test_paths_that_end_with_the_word(self, path):
        dfa = compile_ltlf(f"<{written(path, plainly=False)}> ε", ABC)
        assert dfa.accepts_batch(WORDS).tolist() == [(0, len(word)) in relation(path, word) for word in WORDS]

    @pytest.mark.slow
    @settings(max_examples=1500)
    @given(ldlf_formulas())
    def test_many_more_formulas(self, formula):
        dfa = compile_ltlf(written(formula, plainly=False), ABC)
        assert dfa.accepts_batch(WORDS).tolist() == [holds(formula, word) for word in WORDS]

    def test_the_drawn_formulas_have_every_operator(self):
        seen: set[str] = set()

        @settings(max_examples=300, database=None, derandomize=True)
        @given(ldlf_formulas())
        def look(formula: Formula) -> None:
            seen.update(part[0] for part in subformulas(formula))

        look()
        assert seen >= {"<>", "[]", "read", "?", ";", "+", "*", "U", "R", "W", "M", "X", "WX", "F", "G", "last", "ε"}

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("<a; b> ε", {"ab"}),
            ("<(a; b)*> ε", {"", "ab", "abab"}),
            ("<(a + b; c)*> ε & <true; true; true> ε", {"aaa", "abc", "bca"}),
            ("<a*; b*> ε & <true; true> ε", {"aa", "ab", "bb"}),
            ("<!a> ε", {"b", "c"}),
            ("<{a b}; !{a b}> ε", {"ac", "bc"}),
            ("<a | b; a -> b> ε", {"ab", "ac", "bb", "bc"}),
            ("[true] false", {""}),
            ("ε", {""}),
            ("<true> ε", {"a", "b", "c"}),
            ("<(F c)?; a> ε", set()),
            ("<(X last)?; a> true & [true*] !c", {"aa", "ab"}),
            ("<((X b)?; a; b)*> ε", {"", "ab", "abab"}),
            ("<true?> a & last", {"a"}),
            ("<(a?)*; b> ε", {"b"}),
            ("<((a?)*; b)*> ε & <true; true> ε", {"bb"}),
            ("<((a*)*)*> ε & !ε & [true; true] false", {"a"}),
        ],
    )
    def test_examples(self, text, words):
        assert language(text, length=4) == words

    @pytest.mark.parametrize(
        ("ldlf", "ltlf"),
        [
            ("<true> (a & !ε)", "X a"),
            ("<true> a", "X a"),
            ("[true] (a | ε)", "WX a"),
            ("<true*> a", "F a"),
            ("[true*] (a | ε)", "G a"),
            ("<(a?; true)*> b", "a U b"),
            ("<a*> b", "a U b"),
            ("[true*] (a -> <true*> b)", "G(a -> F b)"),
            ("[a] b", "!<a> !b"),
            ("<a + b> c", "<a> c | <b> c"),
            ("<a; b> c", "<a> <b> c"),
            ("<F a?> b", "F a & b"),
            ("[F a?] b", "F a -> b"),
            ("<a*> F b", "F b & <a*> F b"),
            ("[true] false", "!<true> true"),
            ("<(!c)*> ε", "G !c"),
        ],
    )
    def test_both_logics_say_the_same(self, ldlf, ltlf):
        assert language(ldlf) == language(ltlf)

    def test_an_even_number_of_letters(self):
        """The property that LTLf cannot express."""
        assert language("<({a b c}; true)*> ε") == {"".join(word) for word in WORDS if len(word) % 2 == 0}


class TestGrammar:
    @pytest.mark.parametrize(
        ("loose", "grouped"),
        [
            ("<a> b U c", "(<a> b) U c"),
            ("<a> b & c", "(<a> b) & c"),
            ("<a> [b] c", "<a> ([b] c)"),
            ("!<a> b", "!(<a> b)"),
            ("<a;b+c> ε", "<(a;b)+c> ε"),
            ("<a;b*> ε", "<a;(b*)> ε"),
            ("<!a*> ε", "<(!a)*> ε"),
            ("<a & !b | c ; c> ε", "<((a & (!b)) | c) ; c> ε"),
            ("<a->b;c<->a> ε", "<(a -> b);(c <-> a)> ε"),
            ("<X a?;b> true", "<(X a)?;b> true"),
            ("<<a> b?; a> true", "<(<a> b)?; a> true"),
            ("[[a]b?]c", "[([a] b)?] c"),
            ("<response(a, b)?> a", "response(a, b) & a"),
            ("<a**> ε", "<a*> ε"),
            ("<tt*> a", "F a"),
        ],
    )
    def test_grouping(self, loose, grouped):
        assert language(loose) == language(grouped)

    def test_letters_inside_paths(self):
        assert letters_in_ltlf("<b; (a?; {c 'd'})*> e") == ("b", "a", "c", "d", "e")


class TestMistakes:
    @pytest.mark.parametrize(
        ("text", "column", "message"),
        [
            ("<a", 1, "< is not closed"),
            ("[a; b", 1, "[ is not closed"),
            ("<a] b", 1, "< is not closed before the ]"),
            ("a > b", 3, "> closes nothing"),
            ("a < b", 3, "an operator is missing between a and <"),
            ("<a>", 4, "a formula is missing before the end of the text"),
            ("<> a", 2, "a formula is missing before >"),
            ("<a;> b", 4, "a formula is missing before >"),
            ("<;a> b", 2, "a formula is missing before ;"),
            ("<*> b", 2, "a formula is missing before *"),
            ("<a ? ? > b", 6, "? tests a formula, and a path stands before it"),
            ("<F a> b", 1, "<…> needs a path, and this formula speaks of more than one letter"),
            ("<F a; b> b", 5, "test it with ?"),
            ("<a; F b> b", 3, "test it with ?"),
            ("<(F a)*> b", 7, "test it with ?"),
            ("<a & b*> c", 4, "& needs formulas, and this is a path"),
            ("<!(a;b)> c", 2, "! needs formulas, and this is a path"),
            ("<a> (b;c)", 1, "<…> needs formulas, and this is a path"),
            ("a;b", 1, "this is a path, not a formula"),
            ("F (a*)", 1, "F needs formulas, and this is a path"),
            ("absence(a*)", 1, "a path cannot be an argument"),
            ("response(a;b, c)", 1, "a path cannot be an argument"),
            ("<a; x> b", 5, "unknown letter 'x'"),
            ("<last> b", 1, "test it with ?"),
        ],
    )
    def test_the_error_points_at_the_mistake(self, text, column, message):
        with pytest.raises(ExpressionError, match=ONE_LINE) as caught:
            compile_ltlf(text, ABC)
        assert message in str(caught.value)
        assert caught.value.column == column


class TestLimits:
    def test_the_state_limit_is_kept(self):
        with pytest.raises(StateLimitError, match="more than 500 states"):
            compile_ltlf("<true*; a; " + "true; " * 40 + "b> true", ABC, max_states=500)

    @pytest.mark.parametrize(
        ("text", "words", "refused"),
        [
            ("<a>" * 5_000 + "b", [("a",) * 5_000 + ("b",)], [("b",)]),
            ("[a*]" * 10_000 + "b", [("b",)], [("a",), ()]),
            ("<" + "a; " * 5_000 + "b> ε", [("a",) * 5_000 + ("b",)], [("a",) * 5_001]),
            ("<" + "a; (" * 5_000 + "b" + ")" * 5_000 + "> ε", [("a",) * 5_000 + ("b",)], [("a",) * 5_001]),
            ("<" + "(" * 60 + "a" + "; b)*" * 60 + "> ε", [(), ("b",), ("a",) + ("b",) * 60], [("a",), ("a", "b")]),
            ("<a" + "*" * 20_000 + "> ε", [(), ("a", "a")], [("b",)]),
            ("<a" + " + b; a" * 10_000 + "> ε", [("a",), ("b", "a")], [("b",), ("c",)]),
            ("<" * 10_000 + "a" + "?> b" * 10_000, [], [("a",), ("b",)]),
        ],
        ids=["diamonds", "boxes", "sequence", "nested", "stars of sequences", "stars", "choice", "tests"],
    )
    def test_deep_and_wide_formulas_compile(self, text, words, refused):
        dfa = compile_ltlf(text, ABC)
        assert all(map(dfa.accepts, words))
        assert not any(map(dfa.accepts, refused))

    def test_nested_stars_stay_small(self):
        text = "a"
        for letter in "bcabcabcabca":
            text = f"({text}; {letter}*)*"
        assert len(compile_ltlf(f"<{text}> ε", ABC)) < 10
