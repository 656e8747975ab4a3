"""Only some words count: every place that draws or searches words, against all short words by brute force."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
from typing import Any

import msgspec
import numpy as np
import pytest

from rnncheck import Spec, verify, wrap
from rnncheck.automata.dfa import DFA
from rnncheck.automata.language import short_words
from rnncheck.automata.product import difference, intersection, union
from rnncheck.checker import ReplaySettings, Status, replay
from rnncheck.errors import InputError, ModelError
from rnncheck.models.adapters import DFAModel
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.probability.distributions import WordDistribution
from rnncheck.relations import Property, Relation
from rnncheck.search.flows import FlowSettings
from rnncheck.verdict.certificate import Certificate
from rnncheck.verdict.facts import Outcome
from rnncheck.verdict.value import Verdict
from rnncheck.verification.label_questions import label_spec, verify_labels
from rnncheck.verification.verify_settings import VerifySettings
from rnncheck.words import Alphabet, WordBatch, encode_batch
from support.networks import random_network
from support.robust_networks import robust_network

AB = Alphabet(["a", "b"])
QUICK: dict[str, Any] = {"epsilon": 0.05, "gamma": 0.05}
SETTINGS = VerifySettings(search_steps=3_000, flows=FlowSettings(pumps=30, min_hits=10, loops=2))
METHODS = ["auto", "pdv", "smc", "aamc", "errors"]


def random_dfa(rng: np.random.Generator, states: int, share: float = 0.5) -> DFA:
    accepting = rng.random(states) < share
    accepting[rng.integers(states)] = True
    return DFA(AB, rng.integers(states, size=(states, 2)), accepting)


def spec(text: str) -> Spec:
    return Spec.from_ltlf(text, AB)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("max_length", [None, 5])
def test_verdicts_are_about_the_words_that_count(method: str, relation: Relation, max_length: int | None) -> None:
    """Should be violated by a word that counts, and satisfied only where hardly any of these is a violation."""
    rng = np.random.default_rng([*method.encode(), *relation.value.encode(), max_length or 0])
    outcomes = set()
    for case in range(9):
        model, wanted, assumed = random_dfa(rng, 3), random_dfa(rng, 3), random_dfa(rng, 3, 0.4)
        if case % 3 == 1:  # right about every word that counts, and about others as it likes
            model = union(intersection(wanted, assumed), difference(model, assumed))
        elif case % 3 == 2:
            model = wanted.complement()
        given = assumed if max_length is None else intersection(assumed, short_words(AB, max_length))
        violations = Property.assuming(wanted, relation, given).violations(model)
        if WordDistribution(AB).mass(given) == 0.0:
            continue
        verdict = verify(
            DFAModel(model), wanted, method=method, relation=relation, assume=assumed, max_length=max_length,
            settings=SETTINGS, **QUICK,
        )  # fmt: skip
        outcomes.add(verdict.outcome)
        truth = WordDistribution(AB).mass(violations) / WordDistribution(AB).mass(given)
        word = verdict.counterexample
        if word is not None:
            assert violations.accepts(word)
            for flow in verdict.faulty_flows:
                pumped = [(*flow.prefix, *flow.loop * n, *flow.suffix) for n in flow.violating_pumps]
                assert violations.accepts_batch(pumped).all()
        if verdict.satisfied:
            assert truth < QUICK["epsilon"]
        if verdict.guarantee is not None and verdict.guarantee.proof:
            assert truth == 0.0
        result = replay(verdict, DFAModel(model), ReplaySettings(words=200))
        assert result.status is not Status.REFUTED, [c for c in result.checks if c.status is Status.REFUTED]
    assert outcomes >= {Outcome.VIOLATED, Outcome.SATISFIED}


class Strict(DFAModel):
    """An automaton that rejects words above a given length: the length is part of its state."""

    def __init__(self, dfa: DFA, longest: int) -> None:
        super().__init__(dfa)
        self.longest = longest

    def initial(self, rows):
        return np.stack([super().initial(rows), np.zeros(rows, dtype=np.int32)], axis=1)

    def step(self, states, letters, rows=None):
        states = states if rows is None else states[rows]
        if len(states) and states[:, 1].max() >= self.longest:
            raise ModelError("a word is too long")
        return np.stack([super().step(states[:, 0], letters), states[:, 1] + 1], axis=1)

    def scores(self, states):
        return super().scores(states[:, 0])

    def reference_answer(self, codes):
        if len(codes) > self.longest:
            raise ModelError("a word is too long")
        return super().reference_answer(codes)

    def accepts_batch(self, words):
        batch = encode_batch(self.alphabet, words)
        if batch.lengths.max(initial=0) > self.longest:
            raise ModelError("a word is too long")
        return super().accepts_batch(batch)


@pytest.mark.parametrize("equivalence", [None, "w-method", "coverage", "mixed"])
@pytest.mark.parametrize("method", [*METHODS, "bounded"])
@pytest.mark.parametrize("longest", [2, 9])
def test_no_longer_word_is_ever_asked(method: str, equivalence: str | None, longest: int) -> None:
    """Should let a model with a limited length answer everything, for every method."""
    rng = np.random.default_rng(longest)
    settings = dataclasses.replace(
        SETTINGS, equivalence=equivalence, severity_samples=50, extraction="bounded" if method == "bounded" else "pac"
    )
    asked = "aamc" if method == "bounded" else method
    for wrong in (False, True):
        dfa = random_dfa(rng, 4)
        wanted = random_dfa(rng, 3) if wrong else dfa
        for model in (Strict(dfa, longest), whole_words(dfa, longest)):
            verdict = verify(
                model, wanted, method=asked, relation="equal", max_length=longest, settings=settings, **QUICK
            )
            assert "too long" not in verdict.reason
            assert not any("too long" in note.message for note in verdict.health)
            assert verdict.counterexample is None or len(verdict.counterexample) <= longest
            assert not verdict.faulty_flows


def whole_words(dfa: DFA, longest: int):
    def answers(words):
        assert max(map(len, words)) <= longest
        return dfa.accepts_batch(words).tolist()

    return wrap(answers, AB, max_length=longest)


def test_a_model_that_says_how_many_letters_it_takes_is_asked_for_no_more() -> None:
    model = whole_words(random_dfa(np.random.default_rng(1), 3), 6)
    verdict = verify(model, spec("F a"), relation="equal", settings=SETTINGS, **QUICK)
    assert verdict.assumption.max_length == 6
    assert verify(model, spec("F a"), max_length=3, settings=SETTINGS, **QUICK).assumption.max_length == 3
    assert verify(model, spec("F a"), max_length=99, settings=SETTINGS, **QUICK).assumption.max_length == 6


def test_all_words_up_to_the_length_are_a_proof() -> None:
    """Should find no longer word missing where there is none that counts."""
    even = DFAModel(Spec.from_regex("(b* a b* a)* b*", AB).dfa)
    verdict = verify(even, spec("true"), relation="subset", max_length=4, **QUICK)
    assert verdict.guarantee.proof
    verdict = verify(even, Spec.from_regex("(b* a b* a)* b*", AB), max_length=4, settings=VerifySettings(exhaustive=9))
    assert verdict.satisfied
    assert verdict.guarantee.proof
    assert "no word of at most 4 letters" in str(verdict.guarantee)


def test_the_mass_of_violations_is_that_among_the_words_that_count() -> None:
    """Should be the conditional probability, exactly known here, and not that among all words."""
    model, assumed = DFAModel(Spec.from_regex(".* b", AB).dfa), spec("G(a -> X b)")
    given, violations = assumed.dfa, intersection(assumed.dfa, Spec.from_regex(".* b", AB).dfa)
    truth = WordDistribution(AB).mass(violations) / WordDistribution(AB).mass(given)
    settings = dataclasses.replace(SETTINGS, severity_samples=4_000)
    verdict = verify(model, spec("false"), assume=assumed, settings=settings)
    low, high = verdict.severity.interval
    assert low <= truth <= high
    assert not low <= WordDistribution(AB).mass(Spec.from_regex(".* b", AB).dfa) <= high
    assert verdict.assumption.mass == pytest.approx(WordDistribution(AB).mass(given))


def test_a_property_that_follows_from_the_assumption_is_vacuous() -> None:
    verdict = verify(DFAModel(spec("true").dfa), spec("F b"), assume=spec("a & X b"), settings=SETTINGS, **QUICK)
    assert verdict.satisfied
    assert [note.check for note in verdict.health][:1] == ["vacuous"]
    assert "follows from the assumption" in verdict.health[0].message


def test_an_assumption_of_hardly_any_word_is_vacuous() -> None:
    rare = Spec.from_regex("a a a a a a a a a a a a .*", AB)
    verdict = verify(DFAModel(spec("true").dfa), spec("F b"), assume=rare, settings=SETTINGS, **QUICK)
    assert verdict.violated
    assert any(note.check == "vacuous" and "0.000216" in note.message for note in verdict.health)


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"assume": spec("false")}, "no word that satisfies the assumption exists"),
        ({"assume": spec("a"), "distribution": WordDistribution(AB, [0, 1])}, "has a positive probability"),
        ({"assume": 3}, "assume=3 is not a language"),
        ({"assume": Spec.from_ltlf("G a", ["a", "c"])}, "'b' is in the model's alphabet and not in the assumption's"),
        ({"max_length": 1}, "max_length=1 is too small"),
        ({"max_length": 2.5}, "give a whole number"),
        ({"max_length": 3, "settings": VerifySettings(extraction="weiss")}, "choose pac or bounded"),
        ({"max_length": 2, "settings": VerifySettings(known_words=(("a", "b", "a"),))}, "a known word has 3 letters"),
    ],
)
def test_bad_assumptions_are_refused(options: dict[str, Any], part: str) -> None:
    with pytest.raises(InputError) as caught:
        verify(DFAModel(spec("F b").dfa), spec("F b"), **options)
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_checkpoint_is_of_one_assumption(tmp_path) -> None:
    """Should not go on with the answers of another question."""
    model = CompiledNetwork(random_network(alphabet=AB, hidden=(6,)), threads=1)
    few = {"epsilon": 0.05, "gamma": 0.05}

    def ask(resume: bool, **options: Any) -> Verdict:
        settings = dataclasses.replace(SETTINGS, checkpoint=str(tmp_path / "c"), resume=resume)
        return verify(model, spec("F b"), settings=settings, **few, **options)

    first = ask(False, assume=spec("F a"))
    assert ask(True, assume=spec("F a")).counterexample == first.counterexample
    for options in ({}, {"assume": spec("F b")}, {"assume": spec("F a"), "max_length": 9}):
        with pytest.raises(InputError, match=r"another question: its (assumption|distribution)"):
            ask(True, **options)


@functools.cache
def honest(kind: str) -> tuple[str, CompiledNetwork]:
    model = CompiledNetwork(robust_network(spec("F b").dfa), threads=1)
    options: dict[str, Any] = {"assume": spec("G(a -> X b)"), "settings": SETTINGS, **QUICK}
    if kind == "violated":
        verdict = verify(model, spec("G b"), max_length=9, **options)
    elif kind == "satisfied":
        verdict = verify(model, spec("F b"), method="smc", max_length=40, **options)
    else:
        verdict = verify(model, spec("F b"), method="pdv", **options)
    assert verdict.outcome.value == (kind if kind == "violated" else "satisfied")
    return verdict.to_json(), model


def changed(document: dict[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    *way, last = path
    functools.reduce(lambda part, name: part[name], way, document)[last] = value
    return document


@pytest.mark.parametrize("kind", ["violated", "satisfied", "hypothesis"])
def test_a_document_with_an_assumption_is_replayed(kind: str) -> None:
    text, model = honest(kind)
    result = replay(text, model)
    assert result.status is Status.CONFIRMED, [c for c in result.checks if c.status is not Status.CONFIRMED]
    assert {"assumption", "assumption mass"} <= {check.name for check in result.checks if check.holds}
    assert Verdict.from_json(text).to_json() == text


@pytest.mark.parametrize("kind", ["violated", "satisfied", "hypothesis"])
@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("scope", "assumption"), None),
        (("scope", "assumption", "mass"), 0.5),
        (("scope", "assumption", "max_length"), 3),
        (("scope", "assumption", "sha256"), "0" * 64),
        (("scope", "assumption", "automaton"), None),
        (("scope", "assumption", "automaton", "accepting"), []),
        (("scope", "assumption", "origin"), "G b"),
        (("settings", "assumption"), None),
        (("settings", "distribution", "given"), None),
    ],
)
def test_a_changed_assumption_is_refuted(kind: str, path: tuple[str, ...], value: Any) -> None:
    text, model = honest(kind)
    result = replay(json.dumps(changed(json.loads(text), path, value)), model)
    assert result.status is Status.REFUTED


def test_a_counterexample_that_does_not_count_is_refuted() -> None:
    """Should look at the assumption too: the word is a violation of the specification, and not among those asked."""
    text, model = honest("violated")
    document = json.loads(text)
    assert document["counterexample"] == ["a", "b"]
    document["counterexample"], document["trace"], document["faulty_flows"] = ["a", "a", "b"], None, []
    result = replay(json.dumps(document), model)
    assert any(c.name == "counterexample" and c.status is Status.REFUTED and "count" in c.seen for c in result.checks)


@pytest.mark.parametrize(
    ("relation", "accepted"), [("subset", "(.* a .*) | b b*"), ("superset", "b b*"), ("equal", "b b*")]
)
def test_proofs_are_about_the_words_that_count(relation: str, accepted: str, tmp_path) -> None:
    """Should prove what is only true under the assumption, and the certificate should show it, and no more."""
    model = CompiledNetwork(robust_network(Spec.from_regex(accepted, AB).dfa), threads=1)
    settings = VerifySettings(certificate=str(tmp_path / "proof.json"))
    asked: dict[str, Any] = {"method": "prove", "relation": relation, "settings": settings}
    assert not verify(model, spec("F b"), **asked).satisfied
    verdict = verify(model, spec("F b"), assume=spec("G !a"), **asked)
    assert verdict.satisfied
    assert "for every word that satisfies the assumption" in str(verdict.guarantee)
    assert replay(verdict, model).status is Status.OPEN  # the boxes are in the certificate
    proof = Certificate.from_json((tmp_path / "proof.json").read_bytes())
    assert replay(proof, model).status is Status.CONFIRMED
    assert "only words that satisfy G !a count" in proof.origin
    assert replay(msgspec.structs.replace(proof, ignored=()).sealed(), model).status is Status.REFUTED
    wild = msgspec.structs.replace(proof, ignored=(*proof.ignored, 999)).sealed()
    assert replay(wild, model).status is Status.REFUTED


def test_labels_may_have_an_assumption_too() -> None:
    network = random_network(alphabet=AB, hidden=(5,), outputs=3)
    model = CompiledNetwork(network, threads=1)
    verdict = verify_labels(
        model, label_spec(model, ltlf="G !label=1"), assume=spec("G a"), max_length=6, settings=SETTINGS, **QUICK
    )
    assert verdict.counterexample is None or set(verdict.counterexample) <= {"a"}


def test_cut_words() -> None:
    words = [(), (0,), (0, 1, 1), (1, 0)]
    for length in range(4):
        assert list(WordBatch.from_codes(words).cut(length)) == [word[:length] for word in words]


@pytest.mark.parametrize("length", range(4))
def test_short_words(length: int) -> None:
    dfa = short_words(AB, length)
    words = list(itertools.chain.from_iterable(itertools.product("ab", repeat=n) for n in range(6)))
    assert dfa.accepts_batch(words).tolist() == [len(word) <= length for word in words]
