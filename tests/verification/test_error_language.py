"""The method "errors" and its parts, judged by exact automata operations and by brute force."""

import dataclasses
import itertools

import numpy as np
import pytest

from rnncheck import zoo
from rnncheck.automata.dfa import DFA
from rnncheck.automata.language import empty_language
from rnncheck.automata.minimisation import canonical
from rnncheck.automata.product import difference, intersection, symmetric_difference
from rnncheck.automata.regex.regex_compiler import compile_regex
from rnncheck.models.adapters import DFAModel
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.foreign.callables import CallableModel
from rnncheck.models.network import Cell
from rnncheck.models.protocol import Model
from rnncheck.oracle import MembershipOracle
from rnncheck.probability.distributions import WordDistribution
from rnncheck.relations import Property, Relation
from rnncheck.spec import Spec
from rnncheck.verdict.violation import Share
from rnncheck.verification.error_language import ErrorLanguage, describe, measure
from rnncheck.verification.methods.error_learning import errors
from rnncheck.verification.verification_task import Finding
from rnncheck.verification.verify import verify
from rnncheck.verification.verify_settings import VerifySettings
from rnncheck.words import Alphabet, WordBatch
from support.clocks import Ticking
from support.networks import random_network

LETTERS = Alphabet(["a", "b"])
QUICK = {"epsilon": 0.05, "gamma": 0.05}
BARE = VerifySettings(shrink=False, flows=None)  # what is tested here is found before a verdict is polished


def random_dfa(seed: int, states: int) -> DFA:
    rng = np.random.default_rng(seed)
    return DFA(LETTERS, rng.integers(states, size=(states, 2)), rng.random(states) < 0.5)


def violations(model: DFA, spec: DFA, relation: Relation) -> DFA:
    if relation is Relation.EQUAL:
        return symmetric_difference(model, spec)
    return difference(model, spec) if relation is Relation.SUBSET else difference(spec, model)


def finding_of(model: Model, spec: DFA, relation: Relation) -> Finding:
    """What the method itself returns, before a verdict is made of it."""
    findings = []

    def kept(task):
        finding = yield from errors(task)
        findings.append(finding)
        return finding

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rnncheck.verification.run.METHODS", {"errors": kept})
        verify(model, spec, method="errors", relation=relation, settings=BARE, **QUICK)
    return findings[0]


@pytest.mark.parametrize("relation", Relation)
def test_the_mistakes_of_automata_are_learned(relation: Relation) -> None:
    """Should find every violation language, and describe it up to the ε that was asked for."""
    distribution = WordDistribution(LETTERS)
    described = 0
    for seed in range(5):
        model, spec = random_dfa(seed, 4), random_dfa(seed + 100, 3)
        truth = violations(model, spec, relation)
        finding = finding_of(DFAModel(model), spec, relation)
        if finding.word is None:
            assert distribution.mass(truth) < 0.02
            continue
        described += 1
        assert truth.accepts(LETTERS.decode(finding.word))
        learned = finding.description.automaton
        assert distribution.mass(symmetric_difference(learned, truth)) < 0.02
        common = distribution.mass(intersection(learned, truth))
        for share, whole in ((finding.description.precision, learned), (finding.description.recall, truth)):
            low, high = share.interval
            # Five times two intervals of 95 %: a little air, so that a true value just outside one is no failure.
            assert low - 0.02 <= common / distribution.mass(whole) <= high + 0.02
    assert described >= 3


@pytest.mark.parametrize("relation", Relation)
def test_counterexamples_of_networks_are_real(relation: Relation) -> None:
    """Should be confirmed by all words up to 8 letters, whose violations are known."""
    words = [word for n in range(9) for word in itertools.product(LETTERS, repeat=n)]
    for seed in range(2):
        model = CompiledNetwork(random_network(Cell.GRU, seed=seed, alphabet=LETTERS, hidden=(6,), scale=4.0))
        spec = random_dfa(seed, 3)
        settings = dataclasses.replace(BARE, clock=Ticking())
        verdict = verify(model, spec, method="errors", relation=relation, timeout=10_000, settings=settings, **QUICK)
        broken = relation.broken(model.accepts_batch(words), spec.accepts_batch(words))
        if verdict.violated:
            word = verdict.counterexample
            assert relation.broken(model.accepts_batch([word]), spec.accepts_batch([word]))[0]
        else:
            assert verdict.satisfied
            assert broken.mean() < 0.5


def test_the_forgetful_network_is_described() -> None:
    """Should name the fault that the zoo documents: a, then c after c."""
    entry = zoo.entry("response-faulty-lstm")
    model, settings = CompiledNetwork(entry.network()), VerifySettings(flows=None)
    verdict = verify(model, entry.spec(), method="errors", settings=settings)
    assert verdict.violated
    assert verdict.counterexample == entry.violation
    assert verdict.error_language.automaton.accepts(verdict.counterexample)
    assert "c{" in verdict.reason
    assert "precision" in verdict.reason


def test_an_empty_error_language_that_passes_is_satisfied() -> None:
    entry = zoo.entry("even-elman")
    verdict = verify(CompiledNetwork(entry.network()), entry.spec(), method="errors", **QUICK)
    assert verdict.satisfied
    assert verdict.guarantee.epsilon < QUICK["epsilon"]
    assert verdict.hypothesis is None
    assert verdict.error_language is None


def test_the_same_seed_gives_the_same_finding() -> None:
    model, spec = random_dfa(3, 6), random_dfa(103, 3)
    first, second = (finding_of(DFAModel(model), spec, Relation.EQUAL) for _ in range(2))
    assert first == second


def test_a_deadline_is_honoured() -> None:
    """Should end undecided at once when there is no time at all."""
    entry = zoo.entry("even-elman")
    verdict = verify(CompiledNetwork(entry.network()), entry.spec(), method="errors", timeout=0)
    assert verdict.undecided
    assert "time limit" in verdict.reason


def test_a_violation_stands_when_time_ends_during_its_description() -> None:
    """Should keep the verdict that is known when the clock runs out afterwards."""
    entry = zoo.entry("response-faulty-lstm")
    settings = dataclasses.replace(BARE, clock=Ticking())
    ends = set()
    for timeout in (200, 2_000, 4_000, 8_000):
        verdict = verify(
            CompiledNetwork(entry.network()), entry.spec(), method="errors", timeout=timeout, settings=settings
        )
        ends.add(verdict.outcome.value)
        assert verdict.violated == (verdict.counterexample is not None)
    assert ends == {"violated", "undecided"}


def test_states_are_bounded() -> None:
    """Should stop at the bound that was set, and keep a violation that was found before."""
    model = CompiledNetwork(random_network(Cell.GRU, seed=1, alphabet=LETTERS, hidden=(6,), scale=4.0))
    settings = VerifySettings(max_states=3, flows=None)
    verdict = verify(model, Spec.from_regex("∅", LETTERS), method="errors", settings=settings, **QUICK)
    assert verdict.violated
    assert verdict.error_language.states <= 3


def test_a_callable_without_states_is_enough() -> None:
    """Should need answers alone: words with two b in a row are accepted by mistake."""
    model = CallableModel(lambda words: ["b" in word for word in words], LETTERS)
    spec = Spec.from_regex("!(.* b b .*) & .* b .*", LETTERS)
    verdict = verify(model, spec, method="errors", **QUICK)
    assert verdict.counterexample == ("b", "b")
    expression = finding_of(model, spec.dfa, Relation.SUBSET).description.expression
    assert canonical(compile_regex(expression, LETTERS)) == canonical(compile_regex(".* b b .*", LETTERS))


def test_words_that_cannot_be_mistakes_cost_no_step() -> None:
    oracle = MembershipOracle(CompiledNetwork(zoo.entry("even-elman").network()))
    language = ErrorLanguage(oracle, Property(Spec.from_regex(".*", LETTERS).dfa, Relation.SUBSET))
    assert not language.violations(WordBatch.from_codes([(0, 1, 0), (1,), ()])).any()
    assert oracle.cost.network_steps == 0


def test_measures_without_words_say_so() -> None:
    """Should give the whole interval, not a number, where nothing was drawn."""
    assert Share.of(0, 0).interval == (0.0, 1.0)
    assert "unknown" in str(Share.of(0, 0))
    distribution = WordDistribution(LETTERS)
    anything = Property(Spec.from_regex(".*", LETTERS).dfa, Relation.SUBSET)
    language = ErrorLanguage(MembershipOracle(DFAModel(random_dfa(0, 3))), anything)
    nothing = empty_language(LETTERS)
    rng = np.random.default_rng(0)
    description = measure(describe(nothing, distribution), nothing, language, distribution, rng)
    assert (description.precision, description.recall) == (None, None)
    assert description.expression == "∅"
