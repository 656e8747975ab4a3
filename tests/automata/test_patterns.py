"""Every pattern against its definition on words, written down with positions and no temporal logic."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnncheck.automata.ltlf.ltlf_compiler import compile_ltlf
from rnncheck.automata.ltlf.patterns import COUNT_PARAMETER, PATTERNS, Pattern
from rnncheck.errors import ExpressionError
from rnncheck.words import Alphabet
from support.ltlf_semantics import ltlf_formulas, truth, written
from support.paths import ROOT
from support.strategies import ONE_LINE, all_words

Happens = list[bool]  # for each position whether an argument holds there

DOCUMENTATION = ROOT / "docs" / "ltlf.md"


def positions(happens: Happens) -> list[int]:
    return [i for i, yes in enumerate(happens) if yes]


def first(happens: Happens) -> int | None:
    return next(iter(positions(happens)), None)


# What a pattern demands inside a segment from position i up to but not including j.


def absence(i: int, j: int, p: Happens) -> bool:
    return not any(p[i:j])


def existence(i: int, j: int, p: Happens) -> bool:
    return any(p[i:j])


def universality(i: int, j: int, p: Happens) -> bool:
    return all(p[i:j])


def precedence(i: int, j: int, s: Happens, p: Happens) -> bool:
    return all(any(s[i : k + 1]) for k in range(i, j) if p[k])


def response(i: int, j: int, p: Happens, s: Happens) -> bool:
    return all(any(s[k:j]) for k in range(i, j) if p[k])


# The segments of a scope.


def before(n: int, r: Happens) -> Iterator[tuple[int, int]]:
    end = first(r)
    if end is not None:
        yield 0, end


def after(n: int, q: Happens) -> Iterator[tuple[int, int]]:
    start = first(q)
    if start is not None:
        yield start, n


def between(n: int, q: Happens, r: Happens) -> Iterator[tuple[int, int]]:
    for start in positions(q):
        ends = [end for end in positions(r) if end >= start]
        if ends and ends[0] > start:
            yield start, ends[0]


def after_until(n: int, q: Happens, r: Happens) -> Iterator[tuple[int, int]]:
    for start in positions(q):
        ends = [end for end in positions(r) if end >= start]
        if not ends or ends[0] > start:
            yield start, ends[0] if ends else n


DWYER = {f.__name__: f for f in (absence, existence, universality, precedence, response)}
SCOPES = {f.__name__: f for f in (before, after, between, after_until)}
TAKES = {"absence": 1, "existence": 1, "universality": 1, "precedence": 2, "response": 2}


def scoped(pattern: str, scope: str, n: int, *arguments: Happens) -> bool:
    own, places = arguments[: TAKES[pattern]], arguments[TAKES[pattern] :]
    return all(DWYER[pattern](i, j, *own) for i, j in SCOPES[scope](n, *places))


def alternate_response(a: Happens, b: Happens) -> bool:
    """After an a at i there is a b at j > i, and no other a in between."""
    return all(any(b[j] and not any(a[i + 1 : j]) for j in range(i + 1, len(a))) for i in positions(a))


def alternate_precedence(a: Happens, b: Happens) -> bool:
    """Before a b at j there is an a since the last b, or since the beginning."""
    for j in positions(b):
        earlier = [i for i in positions(b) if i < j]
        since = earlier[-1] + 1 if earlier else 0
        if not any(a[since : j + 1]):
            return False
    return True


def chain_response(a: Happens, b: Happens) -> bool:
    return all(i + 1 < len(a) and b[i + 1] for i in positions(a))


def chain_precedence(a: Happens, b: Happens) -> bool:
    return all(j > 0 and a[j - 1] for j in positions(b))


DECLARE: dict[str, Callable[..., bool]] = {
    "absence": lambda a: sum(a) == 0,
    "absence2": lambda a: sum(a) < 2,
    "absence3": lambda a: sum(a) < 3,
    "existence": lambda a: sum(a) >= 1,
    "existence2": lambda a: sum(a) >= 2,
    "existence3": lambda a: sum(a) >= 3,
    "at_least": lambda a, n: sum(a) >= n,
    "at_most": lambda a, n: sum(a) <= n,
    "exactly": lambda a, n: sum(a) == n,
    "init": lambda a: bool(a) and a[0],
    "end": lambda a: bool(a) and a[-1],
    "universality": lambda p: all(p),
    "responded_existence": lambda a, b: any(b) or not any(a),
    "co_existence": lambda a, b: any(a) == any(b),
    "response": lambda a, b: response(0, len(a), a, b),
    "precedence": lambda a, b: precedence(0, len(a), a, b),
    "succession": lambda a, b: response(0, len(a), a, b) and precedence(0, len(a), a, b),
    "alternate_response": alternate_response,
    "alternate_precedence": alternate_precedence,
    "alternate_succession": lambda a, b: alternate_response(a, b) and alternate_precedence(a, b),
    "chain_response": chain_response,
    "chain_precedence": chain_precedence,
    "chain_succession": lambda a, b: chain_response(a, b) and chain_precedence(a, b),
    "not_co_existence": lambda a, b: not (any(a) and any(b)),
    "not_succession": lambda a, b: not any(any(b[i:]) for i in positions(a)),
    "not_chain_succession": lambda a, b: not any(b[i + 1 : i + 2] == [True] for i in positions(a)),
    "choice": lambda a, b: any(a) or any(b),
    "exclusive_choice": lambda a, b: any(a) != any(b),
}


def defined(pattern: Pattern, n: int, arguments: list[Happens], count: int) -> bool:
    if pattern.name in DECLARE:
        return DECLARE[pattern.name](*arguments, *([count] if COUNT_PARAMETER in pattern.parameters else []))
    name, _, scope = pattern.name.partition("_")
    return scoped(name, scope, n, *arguments)


def formula_parameters(pattern: Pattern) -> list[str]:
    return [name for name in pattern.parameters if name != COUNT_PARAMETER]


def call(pattern: Pattern, arguments: list[str], count: int) -> str:
    if COUNT_PARAMETER in pattern.parameters:
        arguments = [*arguments, str(count)]
    return f"{pattern.name}({', '.join(arguments)})"


class TestMeaning:
    @pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS.keys())
    def test_letters_as_arguments(self, pattern):
        """All words up to length 6 over the pattern's letters and one more, or 7 where those are few."""
        letters = formula_parameters(pattern)
        alphabet = Alphabet([*letters, "other"])
        words = list(all_words(alphabet, 7 if len(letters) < 3 else 6))
        for count in (0, 1, 2, 3, 5) if COUNT_PARAMETER in pattern.parameters else (0,):
            answers = compile_ltlf(call(pattern, letters, count), alphabet).accepts_batch(words)
            for word, answer in zip(words, answers.tolist(), strict=True):
                arguments = [[letter == name for letter in word] for name in letters]
                assert answer == defined(pattern, len(word), arguments, count), word

    @pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS.keys())
    @pytest.mark.parametrize("sets", ["wx xy yz zw", "w wx wxy w", "xyz y zx yx", "wx yz xy wy"])
    def test_overlapping_sets_as_arguments(self, pattern, sets):
        """Here several arguments can happen at one position."""
        alphabet = Alphabet(["w", "x", "y", "z"])
        sets = sets.split()[: len(formula_parameters(pattern))]
        text = call(pattern, ["{" + " ".join(letters) + "}" for letters in sets], 2)
        words = list(all_words(alphabet, 5))
        for word, answer in zip(words, compile_ltlf(text, alphabet).accepts_batch(words).tolist(), strict=True):
            arguments = [[letter in letters for letter in word] for letters in sets]
            assert answer == defined(pattern, len(word), arguments, 2), word

    @pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS.keys())
    def test_letters_negations_and_sets_as_arguments(self, pattern):
        """Every mixture of the three; ``!c`` and ``{a b}`` hold at the same letters, and mean the same."""
        alphabet = Alphabet(["a", "b", "c"])
        kinds = {"a": "a", "!c": "ab", "{a b}": "ab", "!a": "bc"}
        words = list(all_words(alphabet, 5))
        parameters = formula_parameters(pattern)
        for chosen in itertools.product(list(kinds)[: 4 if len(parameters) < 4 else 3], repeat=len(parameters)):
            text = call(pattern, list(chosen), 2)
            answers = compile_ltlf(text, alphabet).accepts_batch(words).tolist()
            for word, answer in zip(words, answers, strict=True):
                arguments = [[letter in kinds[kind] for letter in word] for kind in chosen]
                assert answer == defined(pattern, len(word), arguments, 2), (text, word)

    @pytest.mark.parametrize("argument", ["a", "!a", "{a b}", "true", "last"])
    def test_a_first_or_last_letter_needs_a_letter(self, argument):
        """The empty word has no first letter, so it has none that satisfies the argument."""
        for pattern in ("init", "end"):
            assert not compile_ltlf(f"{pattern}({argument})", Alphabet(["a", "b"])).accepts([])

    @settings(max_examples=80)
    @given(st.data())
    def test_formulas_as_arguments(self, data):
        alphabet = Alphabet(["a", "b", "c"])
        pattern = data.draw(st.sampled_from(list(PATTERNS.values())))
        formulas = [data.draw(ltlf_formulas(max_leaves=2)) for _ in formula_parameters(pattern)]
        count = data.draw(st.integers(0, 3))
        text = call(pattern, [written(formula, plainly=False) for formula in formulas], count)
        dfa = compile_ltlf(text, alphabet)
        for word in all_words(alphabet, 4):
            arguments = [truth(formula, word)[:-1] for formula in formulas]
            assert dfa.accepts(word) == defined(pattern, len(word), arguments, count), (text, word)

    def test_patterns_inside_formulas_and_patterns(self):
        alphabet = Alphabet(["a", "b", "c"])
        nested = compile_ltlf("G(a -> response(b, existence(c)))", alphabet)
        spelled = compile_ltlf("G(a -> G(b -> F F c))", alphabet)
        words = list(all_words(alphabet, 5))
        assert nested.accepts_batch(words).tolist() == spelled.accepts_batch(words).tolist()

    def test_precedence_after_begins_at_the_first_place(self):
        alphabet = Alphabet(["s", "p", "q"])
        assert not compile_ltlf("precedence_after(s, p, q)", alphabet).accepts(["q", "p", "q"])

    def test_counting_far_costs_one_state_a_step(self):
        dfa = compile_ltlf("exactly(a, 1000)", Alphabet(["a", "b"]))
        assert len(dfa) == 1002
        assert dfa.accepts(["a", "b"] * 1000)
        assert not dfa.accepts(["a"] * 999)
        assert not dfa.accepts(["a"] * 1001)

    def test_nesting_does_not_multiply(self):
        text = "co_existence(b, " * 15 + "a" + ")" * 15
        assert len(compile_ltlf(text, Alphabet(["a", "b", "c"]))) < 50


class TestMistakes:
    @pytest.mark.parametrize(
        ("text", "column", "message"),
        [
            ("respons(a, b)", 1, "unknown pattern respons; did you mean response"),
            ("F a & absense(a)", 7, "did you mean absence"),
            ("precedes(a, b)", 1, "did you mean precedence"),
            ("absence_globally(a)", 1, "absence"),
            ("zzzzz(a)", 1, "unknown pattern zzzzz; if zzzzz is a letter, an operator is missing after it"),
            ("response(a)", 1, "response(a, b) takes 2 arguments, not 1"),
            ("response()", 1, "response(a, b) takes 2 arguments, not 0"),
            ("absence()", 1, "absence(a) takes 1 argument, not 0"),
            ("response(a, b, c)", 14, "response(a, b) takes no more arguments"),
            ("response(a,)", 12, "a formula is missing before )"),
            ("response(, a)", 10, "a formula is missing before ,"),
            ("response(a, b", 1, "response( is not closed"),
            ("response(a, (b)", 1, "response( is not closed"),
            ("exactly(a)", 1, "exactly(a, n) takes 2 arguments, not 1"),
            ("exactly(a, b)", 12, "takes a number for n, not b"),
            ("exactly(2, a)", 12, "takes a number for n, not a"),
            ("exactly(a, 2", 13, "expected ) to end exactly(a, n), found the end of the text"),
            ("exactly(a, 2, b)", 13, "expected ) to end exactly(a, n), found ,"),
            ("exactly(a, 10001)", 12, "takes a number up to 10000"),
            ("exactly(a, 99999999999999999999)", 12, "takes a number up to 10000"),
            ("response(a, d)", 13, "unknown letter 'd'"),
        ],
    )
    def test_the_error_points_at_the_mistake(self, text, column, message):
        with pytest.raises(ExpressionError, match=ONE_LINE) as caught:
            compile_ltlf(text, Alphabet(["a", "b", "c"]))
        assert message in str(caught.value)
        assert caught.value.column == column


class TestTable:
    def test_every_scope_of_every_dwyer_pattern_is_there(self):
        assert set(PATTERNS) == set(DECLARE) | {f"{name}_{scope}" for name in DWYER for scope in SCOPES}

    def test_names_and_parameters(self):
        for name, pattern in PATTERNS.items():
            assert name == pattern.name
            assert name.isidentifier()
            assert len(set(pattern.parameters)) == len(pattern.parameters) > 0
            assert COUNT_PARAMETER not in pattern.parameters[:-1]
            assert pattern.description.endswith(".")
            assert pattern.family in ("Dwyer", "Declare", "Dwyer, Declare")

    def test_the_mapping_cannot_be_changed(self):
        with pytest.raises(TypeError):
            PATTERNS["absence"] = PATTERNS["existence"]  # type: ignore[index]

    def test_the_documentation_lists_the_same_patterns(self):
        rows = re.findall(
            r"^\| `(.+?)` \| `(.+?)` \| (.+?) \|$", DOCUMENTATION.read_text(encoding="utf-8"), re.MULTILINE
        )
        documented = {usage: (formula.replace("\\|", "|"), sentence) for usage, formula, sentence in rows}
        assert documented == {p.usage: (p.formula, p.description) for p in PATTERNS.values()}
