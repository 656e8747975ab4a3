"""Languages, alphabets, words and specifications beyond what anything here was made for.

The judge of a verdict is the plain Python definition of the language, evaluated on the word itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import pytest

from rnncheck import Alphabet, Spec, Verdict, verify, wrap
from rnncheck.verification.verify_settings import VerifySettings
from support.clocks import Ticking
from support.measured import measured

METHODS = ["auto", "pdv", "smc", "aamc"]
every_method = pytest.mark.parametrize("method", METHODS)
# One method in every run, the others in long ones.
AUTO_FIRST = ["auto", *(pytest.param(method, marks=pytest.mark.slow) for method in METHODS[1:])]

BRACKETS = Alphabet(["(", ")"])
AB = Alphabet(["a", "b"])
Words = tuple[str, ...]


def balanced(word: Words) -> bool:
    depth = 0
    for letter in word:
        depth += 1 if letter == "(" else -1
        if depth < 0:
            return False
    return depth == 0


def as_then_bs(word: Words) -> bool:
    half = len(word) // 2
    return word == ("a",) * half + ("b",) * half


def palindrome(word: Words) -> bool:
    return word == word[::-1]


# A language that is not regular, a property, and the length of the shortest word that breaks it (None: none does).
NOT_REGULAR: dict[str, tuple[Alphabet, Callable[[Words], bool], str, int | None]] = {
    "balanced, begins with (": (BRACKETS, balanced, "() | '(' .*", None),
    "balanced, at most three deep": (BRACKETS, balanced, "!(.* '(' '(' '(' '(' .*)", 8),
    "balanced, of length 2 at most": (BRACKETS, balanced, ".{0,2}", 4),
    "aⁿbⁿ, no a after b": (AB, as_then_bs, "a* b*", None),
    "aⁿbⁿ, fewer than six a": (AB, as_then_bs, "(b* a b*){0,5} | b*", 12),
    "palindromes, end as they begin": (AB, palindrome, "() | a | b | a .* a | b .* b", None),
    "palindromes, without bb": (AB, palindrome, "!(.* b b .*)", 2),
}


def check(verdict: Verdict, accepts: Callable[[Words], bool], spec: Spec, shortest: int | None) -> None:
    if verdict.violated:
        assert shortest is not None
        assert verdict.counterexample is not None
        assert accepts(verdict.counterexample)
        assert not spec.accepts(verdict.counterexample)
    elif shortest is not None and verdict.guarantee is not None:
        assert not verdict.guarantee.proof
        exact = verdict.guarantee.exact_length
        assert exact is None or exact < shortest


@every_method
@pytest.mark.parametrize("language", NOT_REGULAR)
def test_languages_that_are_not_regular(method: str, language: str) -> None:
    """Should end in time with a verdict that the language itself does not contradict."""
    alphabet, accepts, regex, shortest = NOT_REGULAR[language]
    spec = Spec.from_regex(regex, alphabet)
    model = wrap(lambda words: [accepts(word) for word in words], alphabet=alphabet)
    clock = Ticking()
    settings = VerifySettings(max_states=200, clock=clock)
    verdict = verify(model, spec, method=method, timeout=200.0, settings=settings)
    assert clock() < 400.0
    check(verdict, accepts, spec, shortest)


@pytest.mark.parametrize("learner", ["ttt", "kv", "lstar", "lstar-prefixes"])
@pytest.mark.parametrize("language", ["balanced, at most three deep", "aⁿbⁿ, fewer than six a"])
def test_every_learner_stops_at_the_bound_on_states(learner: str, language: str) -> None:
    alphabet, accepts, regex, _ = NOT_REGULAR[language]
    spec = Spec.from_regex(regex, alphabet)
    model = wrap(lambda words: [accepts(word) for word in words], alphabet=alphabet)
    for method in ("pdv", "aamc"):
        settings = VerifySettings(learner=learner, max_states=6, clock=Ticking())
        verdict = verify(model, spec, method=method, relation="equal", timeout=5000.0, settings=settings)
        if verdict.violated:
            assert accepts(verdict.counterexample) != spec.accepts(verdict.counterexample)
        else:
            assert verdict.hypothesis is None or len(verdict.hypothesis) <= 6


def flipped(word: Words) -> bool:
    """Whether the answer to this word is wrong: one word in a hundred, always the same ones."""
    return hashlib.blake2b("\0".join(word).encode(), digest_size=4).digest() < (2**32 // 100).to_bytes(4, "big")


@every_method
@pytest.mark.parametrize(
    "relation", ["subset", *(pytest.param(relation, marks=pytest.mark.slow) for relation in ("superset", "equal"))]
)
def test_one_wrong_answer_in_a_hundred(method: str, relation: str) -> None:
    """Should be found out: the mass of the violations is far above ε."""
    spec = Spec.from_ltlf("G(a -> F b)", AB)

    def noisy(word: Words) -> bool:
        return spec.accepts(word) != flipped(word)

    model = wrap(lambda words: [noisy(word) for word in words], alphabet=AB)
    verdict = verify(model, spec, method=method, relation=relation, timeout=120.0)
    assert verdict.violated
    yes, allowed = noisy(verdict.counterexample), spec.accepts(verdict.counterexample)
    assert {"subset": yes and not allowed, "superset": allowed and not yes, "equal": yes != allowed}[relation]


LETTERS = """
import numpy as np
from support.networks import random_network
from rnncheck.models.adapters import DFAModel
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.engine.reference import reference_judgement

count, method = int(sys.argv[1]), sys.argv[2]
letters = Alphabet([f"l{i}" for i in range(count)])
network = random_network(hidden=(16,), alphabet=letters, scale=3.0)
for text in ("!(.* l0 .*)", "l0* | .* l0"):
    spec = Spec.from_regex(text, letters)
    verdict = verify(CompiledNetwork(network, threads=1), spec, method=method, timeout=4000.0, settings=ticking())
    word = verdict.counterexample
    real = word is None or (reference_judgement(network, letters.encode(word)).accepted and not spec.accepts(word))
    report(verdict, real=real)
    report(verify(DFAModel(spec.dfa), spec, method=method, epsilon=0.01, gamma=0.01), real=True)
"""


@pytest.mark.parametrize("method", AUTO_FIRST)
@pytest.mark.parametrize("letters", [1, 2000])
def test_alphabets_of_one_and_of_two_thousand_letters(method: str, letters: int) -> None:
    done = measured(LETTERS, str(letters), method)
    assert all(report["real"] for report in done.reports)
    assert [report["outcome"] for report in done.reports[1::2]] == ["satisfied", "satisfied"]
    assert done.mebibytes < 400


LONG_WORDS = """
from support.networks import random_network
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.engine.reference import reference_judgement

AB = Alphabet(["a", "b"])
network = random_network(hidden=(8,), alphabet=AB, scale=3.0)
model, spec = CompiledNetwork(network, threads=1), Spec.from_regex("a*", AB)
words = WordDistribution(AB, stop=1e-4)  # ten thousand letters in the mean
verdict = verify(model, spec, method=sys.argv[1], distribution=words, epsilon=0.01, gamma=0.01)
word = verdict.counterexample
yes = word is None or reference_judgement(network, AB.encode(word)).accepted
report(verdict, real=yes and (word is None or not spec.accepts(word)))
"""


@pytest.mark.parametrize("method", AUTO_FIRST)
def test_words_of_ten_thousand_letters(method: str) -> None:
    """Should be drawn and asked within bounds, and the counterexample is short again."""
    done = measured(LONG_WORDS, method)
    assert done.reports[0]["real"]
    assert done.reports[0]["outcome"] == "violated"
    assert len(done.reports[0]["word"]) < 20
    assert done.mebibytes < 500


def test_a_counterexample_of_ten_thousand_letters_is_learned_from() -> None:
    """Should split a state however far into the word the difference lies."""
    code = """
from rnncheck.learning import LEARNERS, make_learner
AB = Alphabet(["a", "b"])
word = (0,) * 9_999 + (1,)
for name in LEARNERS:
    if name == "lstar-prefixes":
        continue  # takes every prefix as a row, by its nature
    asked = []
    # yes to what ends in b: the first hypothesis knows no b
    learner = make_learner(name, AB, lambda queries: [asked.append(u) or (u + v)[-1:] == (1,) for u, v in queries])
    learner.refine(word)
    assert learner.hypothesis.accepts(("a",) * 9_999 + ("b",)) and len(learner.hypothesis) == 2
    print(json.dumps({"name": name, "asked": len(asked)}))
"""
    done = measured(code)
    assert max(report["asked"] for report in done.reports) < 1000
    assert done.mebibytes < 400


LARGE = """
import numpy as np
from support.networks import random_network
from rnncheck.models.adapters import DFAModel
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.engine.reference import reference_judgement
from support.strategies import chain, random_dfa

shape, states, method = sys.argv[1], int(sys.argv[2]), sys.argv[3]
dfa = random_dfa(np.random.default_rng(0), states, 2) if shape == "random" else chain(states)
spec = Spec.from_dfa(dfa)
assert len(spec.dfa) > 0.7 * states
network = random_network(hidden=(8,), alphabet=spec.alphabet, scale=3.0)
verdict = verify(CompiledNetwork(network, threads=1), spec, method=method, timeout=5000.0, settings=ticking())
word = verdict.counterexample
yes = word is None or reference_judgement(network, spec.alphabet.encode(word)).accepted
report(verdict, real=yes and (word is None or not spec.accepts(word)))
few = {"epsilon": 0.01, "gamma": 0.01}
report(verify(DFAModel(spec.dfa), spec, method=method, timeout=5000.0, settings=ticking(), **few), real=True)
"""


def check_large(reports: list[dict[str, Any]]) -> None:
    network, itself = reports
    assert network["real"]
    assert network["outcome"] == "violated"
    assert itself["outcome"] in ("satisfied", "undecided")


@pytest.mark.slow
@every_method
def test_specifications_of_a_hundred_thousand_states(method: str) -> None:
    """Should stay within memory; the time limit holds for the network, and the automaton's own work comes on top."""
    done = measured(LARGE, "random", "100000", method, timeout=900)
    check_large(done.reports)
    assert done.mebibytes < 500


@pytest.mark.slow
@every_method
def test_a_chain_of_a_hundred_thousand_states(method: str) -> None:
    """The worst shape for minimising: as many rounds as states."""
    done = measured(LARGE, "chain", "100000", method, timeout=900)
    check_large(done.reports)
    assert done.mebibytes < 600
