"""Severity: exact strata, intervals that hold for probabilities that no sample sees, and a replay of all that."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import numpy as np
import pytest

from rnncheck import Spec, verify
from rnncheck.automata.dfa import DFA
from rnncheck.checker import Status, replay
from rnncheck.models.adapters import DFAModel
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.oracle import MembershipOracle
from rnncheck.probability.confidence import Confidence
from rnncheck.probability.distributions import WordDistribution
from rnncheck.relations import Property, Relation
from rnncheck.runtime.budget import UNLIMITED, Budget
from rnncheck.verdict.facts import Outcome
from rnncheck.verdict.strata import ENDING, FAMILY, OTHERS, divide, ending_in, family, interval_of
from rnncheck.verdict.violation import Stratum, ViolationProbability
from rnncheck.verification.effort import Effort
from rnncheck.verification.explanation.severity import violation_probability
from rnncheck.verification.verification_task import Finding, Task
from rnncheck.verification.verify_settings import VerifySettings
from rnncheck.words import Alphabet, Codes
from support.clocks import Ticking
from support.robust_networks import robust_network

AB = Alphabet(["a", "b"])
WORDS = [word for length in range(8) for word in itertools.product(range(2), repeat=length)]


def decoded(words: list[Codes]) -> list[tuple[str, ...]]:
    return [AB.decode(word) for word in words]


def random_dfa(rng: np.random.Generator, states: int) -> DFA:
    return DFA(AB, rng.integers(states, size=(states, 2)), rng.random(states) < 0.5)


def measured(
    violations: DFA, possible: DFA, word: Codes, words: int, seed: int, budget: Budget = UNLIMITED
) -> ViolationProbability:
    """The model accepts just the violations; the specification rejects just the words that could be one."""
    oracle = MembershipOracle(DFAModel(violations), budget=budget)
    wanted = Property(possible.complement(), Relation.SUBSET)
    task = Task(oracle, wanted, WordDistribution(AB), Confidence(), seed, VerifySettings(severity_samples=words))
    return violation_probability(task, Finding(Outcome.VIOLATED, "", word), word, [], 0)


@pytest.mark.parametrize("seed", range(20))
def test_strata_divide_the_words_that_could_be_violations(seed: int) -> None:
    """Should put each of these words into one stratum, and no other word into any; masses add up."""
    rng = np.random.default_rng(seed)
    possible, learned = random_dfa(rng, 4), random_dfa(rng, 3) if seed % 2 else None
    word = tuple(rng.integers(2, size=seed % 4).tolist())
    parts = list(divide(possible, word, [(len(word) // 2, (0, 1)), (0, (1,))], learned))
    none = np.zeros(len(WORDS), dtype=int)
    counted = sum((language.accepts_batch(decoded(WORDS)).astype(int) for _, language in parts), none)
    assert np.array_equal(counted, possible.accepts_batch(decoded(WORDS)).astype(int))
    distribution = WordDistribution(AB, stop=0.1)
    total = math.fsum(distribution.mass(language) for _, language in parts)
    assert total == pytest.approx(distribution.mass(possible), rel=1e-10)


@pytest.mark.parametrize("loops", [[], [(0, (0,))], [(1, (0, 1)), (1, (1,))], [(2, (1, 1)), (0, (0, 1))]])
def test_the_family_is_the_word_with_its_loops_repeated(loops: list[tuple[int, Codes]]) -> None:
    word = (0, 1)
    bodies = [[body for at, body in loops if at == place] for place in range(len(word) + 1)]
    members = set()
    for chosen in itertools.product(*(
        [seq for n in range(8) for seq in itertools.product(body, repeat=n)] for body in bodies
    )):  # fmt: skip
        made: list[int] = []
        for place, repeated in enumerate(chosen):
            made += [letter for loop in repeated for letter in loop]
            made += word[place : place + 1]
        members.add(tuple(made))
    dfa = family(AB, word, loops)
    assert [tuple(w) in members for w in WORDS] == dfa.accepts_batch(decoded(WORDS)).tolist()


@pytest.mark.parametrize("word", [(0,), (0, 0, 1), (0, 1, 0, 1), (1, 1, 1)])
def test_words_that_end_in_a_word(word: Codes) -> None:
    dfa = ending_in(AB, word)
    assert [w[-len(word) :] == word for w in WORDS] == dfa.accepts_batch(decoded(WORDS)).tolist()


def rare(letters: int) -> tuple[DFA, DFA, Codes, float]:
    """Words that start with a given number of a could be violations, and a quarter of the longer ones are."""
    possible = Spec.from_regex(f"a{{{letters}}} .*", AB).dfa
    violations = Spec.from_regex(f"a{{{letters}}} a b .*", AB).dfa
    return violations, possible, (0,) * (letters + 1) + (1,), WordDistribution(AB).mass(violations)


@pytest.mark.parametrize("letters", [11, 24, 37])
def test_probabilities_that_no_sample_sees_are_known_within_a_factor_of_two(letters: int) -> None:
    """From 1e-4 to 1e-12, with 20 000 words: both bounds, since the words that could be violations are as rare."""
    violations, possible, word, truth = rare(letters)
    assert 1e-13 < truth < 2e-4
    low, high = measured(violations, possible, word, 20_000, seed=1).interval
    assert low <= truth <= high <= 2 * low


@pytest.mark.parametrize("letters", [10, 20, 37])
def test_a_lower_bound_far_below_what_sampling_sees(letters: int) -> None:
    """Half of all words could be violations, and those that are have a probability down to 1e-12."""
    possible = Spec.from_regex(".* a", AB).dfa
    violations = Spec.from_regex(f".* b a{{{letters}}}", AB).dfa
    truth = WordDistribution(AB).mass(violations)
    result = measured(violations, possible, (1, *(0,) * letters), 20_000, seed=2)
    low, high = result.interval
    assert truth / 2 < low <= truth <= high
    assert high > 1e-5  # of words that nothing is known of no sample shows more
    assert {stratum.name for stratum in result.strata if stratum.violations} == {FAMILY, ENDING}


def covering(letters: int, runs: int, words: int) -> float:
    violations, possible, word, truth = rare(letters)
    held = 0
    for seed in range(runs):
        low, high = measured(violations, possible, word, words, seed).interval
        held += low <= truth <= high
    return held / runs


def test_intervals_cover_quickly() -> None:
    assert covering(24, runs=30, words=300) >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("letters", [11, 24, 37])
def test_intervals_cover(letters: int) -> None:
    """Should hold in at least 93 of 100 runs, as 95 % intervals do."""
    assert covering(letters, runs=1_000, words=400) >= 0.93


def test_intervals_of_strata() -> None:
    """Should be the exact interval for one stratum, and hold together for several."""
    low, high = interval_of([Stratum(OTHERS, 1e-9, 100, 100)], 0.0)
    assert (low, high) == (pytest.approx(1e-9 * 0.9638, rel=1e-3), pytest.approx(1e-9))
    assert interval_of([Stratum(OTHERS, 0.5, 0, 0)], 1e-20) == (1e-20, 0.5)
    one, two = (interval_of([Stratum(OTHERS, 0.1, 50, 5)] * n, 0.0) for n in (1, 2))
    assert two[0] < 2 * one[0] < 2 * one[1] < two[1]


def violated(*, timeout: float | None = None, **settings: Any):
    network = CompiledNetwork(robust_network(Spec.from_regex("a* | .* b a a a a a a a a", AB).dfa), threads=1)
    options = VerifySettings(search_steps=5_000, **settings)
    asked = Spec.from_regex("a*", AB)
    return network, verify(network, asked, epsilon=0.01, gamma=0.01, timeout=timeout, settings=options)


def test_every_violated_verdict_has_a_severity_within_its_share() -> None:
    _, plain = violated(severity_samples=0)
    network, verdict = violated()
    assert plain.severity is None
    truth = WordDistribution(AB).mass(Spec.from_regex(".* b a a a a a a a a", AB).dfa)
    low, high = verdict.severity.interval
    assert low <= truth <= high
    extra = verdict.cost.network_steps - plain.cost.network_steps
    letters = Effort.of(network, 0, VerifySettings()).severity
    assert 0 < extra <= 1.5 * letters
    assert replay(verdict, network).status is Status.CONFIRMED


def test_the_measurement_does_not_depend_on_the_time_limit() -> None:
    """Should measure with the same words without a limit and with any limit that is not reached."""
    unlimited, short, long = (violated(timeout=timeout)[1] for timeout in (None, 1e4, 1e6))
    assert unlimited.severity == short.severity == long.severity


@pytest.mark.parametrize("seconds", [0, 1, 2, 5, 20])
def test_a_time_limit_leaves_the_strata_that_are_complete(seconds: int) -> None:
    """Should count the same words of the first strata, and none of those for which no time was left."""
    violations = Spec.from_regex(".* b a a", AB).dfa
    asked = violations, Spec.from_regex(".* b .*", AB).dfa, (1, 0, 0), 400, 0
    whole, cut = measured(*asked), measured(*asked, budget=Budget.lasting(seconds, clock=Ticking()))
    complete = sum(stratum.words > 0 for stratum in cut.strata)
    assert cut.strata[:complete] == whole.strata[:complete]
    assert [stratum.mass for stratum in cut.strata] == [stratum.mass for stratum in whole.strata]
    assert not any(stratum.words for stratum in cut.strata[complete:])
    assert (complete == 0) if seconds == 0 else (complete <= len(whole.strata))
    low, high = cut.interval
    assert low <= WordDistribution(AB).mass(violations) <= high


@pytest.mark.parametrize(
    ("place", "field", "value"),
    [(0, "mass", 1e-3), (0, "violations", 0), (-1, "violations", 10**6), (-1, "mass", -1.0), (0, "name", "dreams"),
     (0, "words", 3), (-1, "words", 10**9)],
)  # fmt: skip
def test_a_changed_measurement_is_refuted(place: int, field: str, value: Any) -> None:
    network, verdict = violated()
    document = json.loads(verdict.to_json())
    document["severity"]["strata"][place][field] = value
    result = replay(json.dumps(document), network)
    assert "severity" in {check.name for check in result.having(Status.REFUTED)}


def test_a_measurement_of_another_network_is_refuted() -> None:
    """Should ask fresh words of each stratum: the interval and its counts fit together, and not the network."""
    network, verdict = violated()
    document = json.loads(verdict.to_json())
    for stratum in document["severity"]["strata"]:
        stratum["violations"] = stratum["words"]
    strata = [Stratum(**stratum) for stratum in document["severity"]["strata"]]
    word = AB.encode(document["counterexample"])
    document["severity"]["interval"] = list(interval_of(strata, WordDistribution(AB).probability(word)))
    result = replay(json.dumps(document), network)
    assert any("fresh" in check.seen for check in result.having(Status.REFUTED))
