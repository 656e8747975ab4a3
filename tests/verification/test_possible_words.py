"""Sampling where a violation can be: exact masses, bounds that hold, and what is said where mass alone is enough."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rnncheck import Spec, verify, wrap
from rnncheck.checker import Status, replay
from rnncheck.models.adapters import DFAModel
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.probability.confidence import Confidence
from rnncheck.probability.distributions import WordDistribution
from rnncheck.relations import Property, Relation
from rnncheck.verification.verify_settings import VerifySettings
from rnncheck.words import Alphabet
from support.robust_networks import robust_network

AB = Alphabet(["a", "b"])
QUICK: dict[str, Any] = {"epsilon": 0.01, "gamma": 0.01}
SETTINGS = VerifySettings(search_steps=5_000)
RARE = Spec.from_regex("!(a a a a a a a a a a .*)", AB)  # rejects 0.00088 of the probability
SELDOM = Spec.from_regex("!(a a a a .*)", AB)  # rejects 0.06


def model(text: str) -> DFAModel:
    return DFAModel(Spec.from_regex(text, AB).dfa)


@pytest.mark.parametrize("method", ["auto", "pdv", "smc", "aamc", "errors"])
@pytest.mark.parametrize("relation", ["subset", "superset"])
def test_the_bound_holds_of_the_words_that_could_be_violations(method: str, relation: str) -> None:
    spec = SELDOM if relation == "subset" else Spec.from_dfa(SELDOM.dfa.complement())
    verdict = verify(DFAModel(spec.dfa), spec, method=method, relation=relation, settings=SETTINGS, **QUICK)
    possible = verdict.guarantee.possible
    assert verdict.satisfied
    assert possible.mass == pytest.approx(WordDistribution(AB).mass(SELDOM.dfa.complement()), rel=1e-12)
    assert possible.epsilon == Confidence(0.01, 0.01).achieved(possible.samples)
    assert possible.bound == possible.mass * possible.epsilon
    if method == "auto":  # words drawn from these alone are added
        assert possible.samples > 2 * verdict.guarantee.samples * possible.mass
        assert possible.bound < verdict.guarantee.epsilon
    assert replay(verdict, DFAModel(spec.dfa)).status is Status.CONFIRMED


def test_of_all_words_drawn_those_that_could_be_violations_are_counted() -> None:
    """Should be about as many as their probability says, and never more than were drawn."""
    verdict = verify(DFAModel(SELDOM.dfa), SELDOM, method="smc", epsilon=0.001, gamma=0.001)
    samples, mass = verdict.guarantee.samples, verdict.guarantee.possible.mass
    expected, spread = samples * mass, (samples * mass * (1 - mass)) ** 0.5
    assert abs(verdict.guarantee.possible.samples - expected) < 4.5 * spread


def test_where_everything_could_be_a_violation_nothing_is_said_twice() -> None:
    verdict = verify(DFAModel(SELDOM.dfa), SELDOM, method="smc", relation="equal", **QUICK)
    assert verdict.guarantee.possible is None


@pytest.mark.parametrize("kind", ["stepping", "whole words"])
@pytest.mark.parametrize("method", ["smc", "auto"])
def test_a_rare_side_is_looked_at(method: str, kind: str) -> None:
    """Should find what random words hardly ever show: on the rare side the model is wrong about every fifth word."""
    wrong = model("b .* | a a a a a a a a a a (a | b) a b .*")
    asked = wrong if kind == "stepping" else wrap(lambda words: wrong.accepts_batch(words).tolist(), AB)
    mass = WordDistribution(AB).mass(Property(RARE.dfa, Relation.SUBSET).violations(wrong.dfa))
    assert 0.15 < mass / WordDistribution(AB).mass(RARE.dfa.complement()) < 0.3
    assert mass < QUICK["epsilon"] / 20
    settings = VerifySettings(search_steps=0)
    verdict = verify(asked, RARE, method=method, settings=settings, **QUICK)
    assert verdict.violated


@pytest.mark.parametrize("method", ["smc", "auto"])
def test_mass_alone_below_epsilon_is_said_to_be_that(method: str) -> None:
    """Should not pass off as tested by random words what these cannot test, and sample what they do not reach."""
    verdict = verify(model("b .*"), RARE, method=method, settings=SETTINGS, **QUICK)
    assert verdict.satisfied
    possible = verdict.guarantee.possible
    assert possible.samples > (400 if method == "smc" else 20)
    assert possible.bound < possible.mass < QUICK["epsilon"]
    if method == "smc":
        assert verdict.guarantee.epsilon is None
        assert verdict.guarantee.samples == 0
        assert "which is below epsilon whatever the model answers" in verdict.reason
    assert replay(verdict, model("b .*")).status is Status.CONFIRMED
    assert any(note.check == "specification mass" for note in verdict.health)


def test_time_that_is_over_at_once_shows_no_more_than_the_mass() -> None:
    verdict = verify(model("b .*"), RARE, timeout=0.0, **QUICK)
    assert verdict.undecided


@pytest.mark.parametrize("kind", ["seldom", "rare"])
@pytest.mark.parametrize(
    ("change", "check"),
    [
        ({"mass": 1e-7}, "possible words, mass"),
        ({"mass": 0.0}, "guarantee"),
        ({"epsilon": 1e-9}, "possible words"),
        ({"gamma": 0.5}, "possible words"),
        ({"gamma": 2.0}, "guarantee"),
        ({"samples": 3}, "possible words"),
        ({"samples": -1}, "guarantee"),
    ],
)
def test_a_changed_claim_is_refuted(kind: str, change: dict[str, Any], check: str) -> None:
    network = CompiledNetwork(robust_network(Spec.from_regex("b .*", AB).dfa), threads=1)
    verdict = verify(network, RARE if kind == "rare" else SELDOM, method="smc", **QUICK)
    document = json.loads(verdict.to_json())
    assert replay(json.dumps(document), network).status is Status.CONFIRMED
    document["guarantee"]["possible"] |= change
    result = replay(json.dumps(document), network)
    assert check in {each.name for each in result.having(Status.REFUTED)}, result


def test_violations_on_the_rare_side_refute_the_claim() -> None:
    """Should ask fresh words of that side: random words would not have shown it."""
    honest, wrong = model("b .*"), model("b .* | a a a a a a a a a a (a | b) a b .*")
    document = verify(honest, RARE, method="smc", **QUICK).to_json()
    result = replay(document, wrong)
    assert "possible words, fresh" in {each.name for each in result.having(Status.REFUTED)}


def test_taken_away_it_is_missed() -> None:
    document = json.loads(verify(model("b .*"), RARE, method="smc", **QUICK).to_json())
    document["guarantee"]["possible"] = None
    assert replay(json.dumps(document), model("b .*")).status is Status.REFUTED
