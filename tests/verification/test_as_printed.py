"""The paper's three algorithms as printed: which words they draw, how many, what they ask, and that they are right."""

import dataclasses
import math

import numpy as np
import pytest

from rnncheck import Alphabet, Spec, WordDistribution, load_model, verify, wrap, zoo
from rnncheck.models.adapters import DFAModel
from rnncheck.probability.confidence import Bound, Confidence
from rnncheck.relations import Property, Relation
from rnncheck.search.flows import FlowSettings
from rnncheck.verification.methods import PRINTED
from rnncheck.verification.verify_settings import VerifySettings
from support.clocks import Ticking
from support.strategies import random_dfa

AB = ["a", "b"]
EPSILON, GAMMA = 0.02, 0.05
NUMBERS = {"epsilon": EPSILON, "gamma": GAMMA}
FAITHFUL = VerifySettings.faithful(flows=None, severity_samples=0)
FIRST_BATCH = 64


def model_of(regex: str) -> DFAModel:
    return DFAModel(Spec.from_regex(regex, AB).dfa)


def first_words(seed: int) -> list[tuple[str, ...]]:
    """What the first batch holds, in the order drawn."""
    alphabet = Alphabet(AB)
    rng = np.random.default_rng([seed, *b"sampler"])
    return [alphabet.decode(word) for word in WordDistribution(alphabet).sample(rng, FIRST_BATCH)]


def test_smc_draws_hoeffdings_number_of_words() -> None:
    """Algorithm 1: ln(2/γ) / (2ε²) words, each of which is asked."""
    verdict = verify(model_of("a*"), Spec.from_regex("a*", AB), method="smc", settings=FAITHFUL, **NUMBERS)
    assert verdict.satisfied
    assert verdict.cost.words_used == math.ceil(math.log(2 / GAMMA) / (2 * EPSILON**2))
    assert verdict.guarantee.samples == verdict.cost.words_used


@pytest.mark.parametrize("seed", range(5))
def test_smc_reports_the_first_drawn_word_that_fails_as_it_is(seed: int) -> None:
    """Not a prefix of it, not a shorter one that was drawn later, and nothing after it counts."""
    drawn = first_words(seed)
    failing = [at for at, word in enumerate(drawn) if word.count("b") >= 3]
    model, spec = model_of("(a|b)*b(a|b)*b(a|b)*b(a|b)*"), Spec.from_regex("a*(b a*)?(b a*)?", AB)
    verdict = verify(model, spec, method="smc", seed=seed, settings=FAITHFUL, **NUMBERS)
    assert verdict.counterexample == drawn[failing[0]]
    assert verdict.cost.words_used == failing[0] + 1


@pytest.mark.parametrize("method", ["aamc", "pdv"])
def test_the_first_hypothesis_is_tested_on_the_papers_number_of_words(method: str) -> None:
    """Algorithms 2 and 3 on Σ*: L* asks ε, a, b, and its one state is right."""
    verdict = verify(model_of("(a|b)*"), Spec.from_regex("(a|b)*", AB), method=method, settings=FAITHFUL, **NUMBERS)
    assert verdict.satisfied
    assert verdict.cost.words_used == 3 + math.ceil((math.log(1 / GAMMA) + math.log(2)) / EPSILON)


def test_later_tests_are_longer_by_ln_2_over_epsilon() -> None:
    confidence = Confidence(EPSILON, GAMMA, Bound.PAPER)
    for k in range(1, 10):
        assert confidence.words_of_test(k - 1) == math.ceil((math.log(1 / GAMMA) + k * math.log(2)) / EPSILON)
    assert confidence.words == Confidence(EPSILON, GAMMA, Bound.HOEFFDING).words


def test_pdv_asks_what_the_learner_and_the_model_checker_ask_and_nothing_else() -> None:
    """H = Σ* after ε, a, b; it breaks a*, and the suspect b is real: four words, no sample."""
    verdict = verify(model_of("(a|b)*"), Spec.from_regex("a*", AB), method="pdv", settings=FAITHFUL, **NUMBERS)
    assert verdict.counterexample == ("b",)
    assert verdict.cost.words_used == 3


def test_pdv_reports_a_drawn_word_that_shows_a_violation_as_it_is() -> None:
    """The hypothesis ∅ satisfies the specification; the first word on which the model differs is a violation."""
    drawn = first_words(0)
    first = next(at for at, word in enumerate(drawn) if len(word) >= 2)
    model = model_of("(a|b)(a|b)(a|b)*")
    verdict = verify(model, Spec.from_regex("(a|b)?", AB), method="pdv", settings=FAITHFUL, **NUMBERS)
    assert verdict.counterexample == drawn[first]
    assert verdict.cost.words_used == 3 + first + 1


def test_aamc_reports_nothing_before_the_automaton_is_extracted() -> None:
    """Every drawn word with b is a violation. Ours reports the first; as printed, the automaton's shortest."""
    model, spec = model_of("(a|b)*b(a|b)*"), Spec.from_regex("a*", AB)
    printed = verify(model, spec, method="aamc", settings=FAITHFUL, **NUMBERS)
    assert printed.counterexample == ("b",)
    assert printed.reason == "a word of the extracted automaton that breaks the property, confirmed"
    assert printed.cost.words_used > (math.log(1 / GAMMA) + math.log(2)) / EPSILON
    ours = verify(model, spec, method="aamc", **NUMBERS)
    assert ours.violated
    assert ours.cost.words_used < printed.cost.words_used


def all_but_ab(words: list[tuple[str, ...]]) -> list[bool]:
    return [word != ("a", "b") for word in words]


def test_aamc_refines_by_a_spurious_suspect_and_as_printed_ends_there() -> None:
    """Too few words are drawn to meet the one that the model rejects."""
    model, spec = wrap(all_but_ab, alphabet=AB), Spec.from_regex("!(a b)", AB)
    loose = {"epsilon": 0.3, "gamma": 0.3}
    ours = verify(model, spec, method="aamc", settings=VerifySettings(flows=None), **loose)
    assert ours.satisfied
    assert ours.learned.states == 4
    printed = verify(model, spec, method="aamc", settings=FAITHFUL, **loose)
    assert printed.undecided
    assert "spurious" in printed.reason


@pytest.mark.parametrize("settings", [VerifySettings, VerifySettings.faithful])
@pytest.mark.parametrize(("allowed", "found"), [("a*", True), ("(a|b)*", False)])
def test_at_its_limit_aamc_checks_the_automaton_it_has(settings, allowed: str, found: bool) -> None:
    """As many a as b is not regular: no automaton ever passes."""

    def balanced(words: list[tuple[str, ...]]) -> list[bool]:
        return [word.count("a") == word.count("b") for word in words]

    verdict = verify(
        wrap(balanced, alphabet=AB),
        Spec.from_regex(allowed, AB),
        method="aamc",
        timeout=400.0,
        settings=settings(clock=Ticking(), flows=None, severity_samples=0),
        epsilon=0.001,
        gamma=0.001,
    )
    if found:
        assert verdict.violated
        assert sorted(verdict.counterexample) in (["a", "b"], ["a", "a", "b", "b"])
    else:
        assert verdict.undecided
        assert "so far satisfies the specification" in verdict.reason


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("method", PRINTED)
def test_verdicts_are_true_on_random_automata(method: str, relation: Relation) -> None:
    """A counterexample is one; where it is satisfied, the exact probability of a violation is below ε."""
    wrong, seen = 0, set()
    for seed in range(12):
        rng = np.random.default_rng(seed)
        model, spec = (random_dfa(rng, 4, 2) for _ in range(2))
        spec = spec if seed % 3 else model
        distribution = WordDistribution(spec.alphabet)
        verdict = verify(
            DFAModel(model), spec, method=method, relation=relation, seed=seed, settings=FAITHFUL,
            epsilon=0.05, gamma=0.05,
        )  # fmt: skip
        seen.add(verdict.outcome)
        broken = Property(spec, relation).violations(model)
        if verdict.violated:
            assert broken.accepts(verdict.counterexample)
        elif verdict.satisfied:
            wrong += distribution.mass(broken) >= 0.05
    assert wrong <= 1
    assert len(seen) >= 2


def test_flows_and_numbers_can_be_chosen_and_the_rest_stays_as_printed() -> None:
    settings = VerifySettings.faithful(flows=FlowSettings(min_hits=5))
    assert settings.flows.min_hits == 5
    assert (settings.learner, settings.bound.value, settings.plain) == ("lstar-prefixes", "paper", True)
    assert (settings.suspects, settings.shrink) == (1, False)


def test_words_used_counts_the_words_that_need_not_be_run() -> None:
    """Every word is allowed, so that no answer can matter: drawn and counted, and not asked for."""
    verdict = verify(model_of("a*"), Spec.from_regex("(a|b)*", AB), method="smc", **NUMBERS)
    assert verdict.cost.words_used == verdict.guarantee.samples


@pytest.mark.parametrize("method", PRINTED)
def test_what_is_asked_to_check_the_evaluator_is_not_counted(method: str) -> None:
    """A network has a fast evaluator and a reference, which are compared on further words when nothing was found."""
    model = load_model(zoo.path("even-elman"))
    numbers = {"epsilon": 0.1, "gamma": 0.1}
    verdict = verify(model, Spec.from_regex(".*", model.alphabet), method=method, settings=FAITHFUL, **numbers)
    learned = 0 if method == "smc" else 3 + 2 * 2 * 2  # at most: ε, a, b, and what one more state brings
    assert verdict.satisfied
    assert verdict.guarantee.samples <= verdict.cost.words_used <= verdict.guarantee.samples + learned
    assert verdict.cost.membership_queries > verdict.cost.words_used


def test_the_same_seed_gives_the_same_document() -> None:
    documents = [
        verify(model_of("(a a|b)*"), Spec.from_regex("(a|b)*", AB), method="pdv", settings=FAITHFUL, **NUMBERS)
        for _ in range(2)
    ]
    assert len({(d.reason, d.cost.words_used, d.cost.network_steps) for d in documents}) == 1


def test_every_prefix_is_looked_at_unless_printed() -> None:
    """A violation that only ever is a prefix of longer drawn words: ours meets it, as printed it is passed over."""
    model, spec = model_of("a a a"), Spec.from_regex("(a|b)?", AB)
    for seed in range(3):
        assert ("a", "a", "a") not in first_words(seed)
        numbers = {"epsilon": 0.2, "gamma": 0.2, "seed": seed}  # 29 words
        assert verify(model, spec, method="smc", settings=FAITHFUL, **numbers).satisfied
        ours = VerifySettings(bound=Bound.HOEFFDING)
        assert verify(model, spec, method="smc", settings=ours, **numbers).counterexample == ("a", "a", "a")


@pytest.mark.parametrize("method", ["aamc", "pdv"])
def test_nothing_but_time_ends_learning(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The paper has no bound on states: one of our own would end these five as undecided."""
    monkeypatch.setattr("rnncheck.learning.learning_task.MAX_STATES", 3)
    fifth = "(b* a b* a b* a b* a b* a)* b*"  # every fifth a
    model, spec = model_of(fifth), Spec.from_regex(f"{fifth} (b* a b*)?", AB)
    asked = {"method": method, **NUMBERS}
    ours = VerifySettings(flows=None, severity_samples=0)
    assert verify(model, spec, settings=FAITHFUL, **asked).satisfied
    for bounded in (ours, dataclasses.replace(FAITHFUL, max_states=3)):
        verdict = verify(model, spec, settings=bounded, **asked)
        assert verdict.undecided
        assert "max_states = 3" in verdict.reason
