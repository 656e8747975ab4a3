"""Equivalence oracles: what they find is real, what the W-method passes is equal, and what is claimed was sampled."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnncheck.automata.characterisation import characterising_suffixes, state_cover
from rnncheck.automata.dfa import DFA
from rnncheck.automata.minimisation import minimise
from rnncheck.automata.moore import Hypothesis
from rnncheck.automata.product import difference_witness
from rnncheck.errors import InputError
from rnncheck.learning import EQUIVALENCES, EquivalenceAnswer, EquivalenceOracle
from rnncheck.learning.equivalence.coverage import CoverageEquivalence
from rnncheck.learning.equivalence.mixed import EveryAnswer, LikeOwnWords, MixedEquivalence, ShortWords
from rnncheck.learning.equivalence.oracle import InTurn, Testing
from rnncheck.learning.equivalence.replayed_words import ReplayedWords
from rnncheck.learning.equivalence.test_suite import EquivalenceContext
from rnncheck.learning.equivalence.w_method import WMethodEquivalence
from rnncheck.learning.learning_settings import LearningSettings
from rnncheck.learning.learning_task import LearningTask
from rnncheck.models.adapters import DFAModel
from rnncheck.models.foreign.callables import CallableModel
from rnncheck.models.protocol import Model
from rnncheck.oracle import MembershipOracle
from rnncheck.probability.confidence import Confidence
from rnncheck.probability.distributions import WordDistribution
from rnncheck.relations import Property, Relation
from rnncheck.search.observations import Observations
from rnncheck.spec import Spec
from rnncheck.verification.verify import verify
from rnncheck.verification.verify_settings import VerifySettings
from rnncheck.words import Alphabet, WordBatch
from support.extraction import end_of

LETTERS = Alphabet(["a", "b"])
QUICK = Confidence(0.05, 0.05)


def random_dfa(seed: int, states: int, letters: Alphabet = LETTERS) -> DFA:
    rng = np.random.default_rng(seed)
    return DFA(letters, rng.integers(states, size=(states, len(letters))), rng.random(states) < 0.5)


def task_of(model: Model, equivalence: str, watched: Property | None = None, seed: int = 0) -> LearningTask:
    settings = LearningSettings(equivalence=equivalence)
    distribution = WordDistribution(model.alphabet, stop=0.1)
    return LearningTask(MembershipOracle(model), distribution, QUICK, seed, settings, watched=watched)


def asked(task: LearningTask, hypothesis: DFA, relation: Relation) -> EquivalenceAnswer:
    return end_of(task.equivalence(relation).find_counterexample(hypothesis))


def models(dfa: DFA) -> list[Model]:
    return [DFAModel(dfa), CallableModel(dfa.accepts_batch, dfa.alphabet, checks=0)]


@pytest.mark.parametrize("equivalence", EQUIVALENCES)
@pytest.mark.parametrize("relation", Relation)
def test_what_is_found_is_real(equivalence: str, relation: Relation) -> None:
    """Should give words that break the relation to the hypothesis, or the property, and ε only after a sample."""
    for seed in range(8):
        target, hypothesis, spec = random_dfa(seed, 5), minimise(random_dfa(seed + 50, 4)), random_dfa(seed + 90, 3)
        for model in models(target):
            answer = asked(task_of(model, equivalence, Property(spec, relation)), hypothesis, relation)
            for word, other in ((answer.counterexample, hypothesis), (answer.violation, spec)):
                if word is not None:
                    words = WordBatch.from_codes([word])
                    assert relation.broken(target.accepts_batch(words), other.accepts_batch(words))[0]
            found = answer.counterexample is not None or answer.violation is not None
            assert (answer.epsilon is None) == found
            if not found:
                assert answer.epsilon <= 0.05


@pytest.mark.parametrize("equivalence", EQUIVALENCES)
def test_a_right_hypothesis_passes(equivalence: str) -> None:
    for seed in range(4):
        target = random_dfa(seed, 6)
        for model in models(target):
            answer = asked(task_of(model, equivalence), minimise(target), Relation.EQUAL)
            assert answer.counterexample is None
            assert answer.epsilon <= 0.05


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 6))
def test_the_w_method_is_complete_for_a_few_states_more(seed: int, fewer: int, more: int) -> None:
    """Should find every difference to a target with no more states than its infixes allow for."""
    target, hypothesis = minimise(random_dfa(seed, more)), minimise(random_dfa(seed + 1, fewer))
    oracle = WMethodEquivalence(EquivalenceContext(MembershipOracle(DFAModel(target)), Relation.EQUAL))
    answer = end_of(oracle.find_counterexample(hypothesis))
    different = difference_witness(target, hypothesis) is not None
    assert (answer.counterexample is not None) == different


def test_the_w_method_ends_on_one_letter() -> None:
    """Should not go on to ever longer infixes where there is but one of each length."""
    one = Alphabet(["a"])
    even = DFA(one, [[1], [0]], [True, False])
    batches = list(
        WMethodEquivalence(EquivalenceContext(MembershipOracle(DFAModel(even)), Relation.EQUAL)).batches(even)
    )
    assert sum(map(len, batches)) < 200


@given(st.integers(0, 10**6), st.integers(1, 8))
def test_suffixes_tell_all_states_apart_and_the_cover_reaches_them(seed: int, states: int) -> None:
    dfa = minimise(random_dfa(seed, states))
    cover = state_cover(dfa)
    assert set(cover) == set(range(len(dfa)))
    for state, word in cover.items():
        assert dfa.run(dfa.alphabet.decode(word))[-1] == state
    suffixes = characterising_suffixes(dfa)
    assert suffixes[0] == ()
    assert len(suffixes) <= max(1, len(dfa))
    table = [
        tuple(bool(dfa.accepts(dfa.alphabet.decode((*word, *suffix)))) for suffix in suffixes)
        for word in cover.values()
    ]
    assert len(set(table)) == len(dfa)


def test_coverage_visits_every_transition() -> None:
    dfa = minimise(random_dfa(7, 8))
    oracle = CoverageEquivalence(
        EquivalenceContext(MembershipOracle(DFAModel(dfa)), Relation.EQUAL), np.random.default_rng(0)
    )
    visited: set[tuple[int, int]] = set()
    for batch in oracle.batches(dfa):
        for word in batch:
            states = dfa.run(dfa.alphabet.decode(word))
            visited |= set(zip(states, word, strict=False))
    assert len(visited) == len(dfa) * 2


RARE = Alphabet(list("abcdefgh"))


def behind_a_door() -> tuple[DFA, DFA]:
    """An even number of a; but after the five letters h e a d f what ends in b: the hypothesis does not know."""
    even = "([^a]* a [^a]* a)* [^a]*"
    known = Spec.from_regex(f"({even}) & !(h e a d f .*)", RARE).dfa
    return Spec.from_regex(f"(({even}) & !(h e a d f .*)) | h e a d f .* b", RARE).dfa, known


@pytest.mark.parametrize("equivalence", ["coverage", "w-method", "mixed"])
def test_what_samples_miss_is_found_by_going_there(equivalence: str) -> None:
    """Should find the difference behind states that random words do not reach: 1 word in 30 000 passes the door."""
    target, hypothesis = behind_a_door()
    sampled = asked(task_of(DFAModel(target), "sampling"), hypothesis, Relation.EQUAL)
    assert sampled.counterexample is None
    found = asked(task_of(DFAModel(target), equivalence), hypothesis, Relation.EQUAL)
    assert found.counterexample is not None


@pytest.mark.parametrize("equivalence", EQUIVALENCES)
def test_the_same_seed_gives_the_same_test(equivalence: str) -> None:
    target, hypothesis = random_dfa(3, 6), minimise(random_dfa(4, 3))
    first, second = (asked(task_of(DFAModel(target), equivalence, seed=5), hypothesis, Relation.EQUAL) for _ in "12")
    assert first == second


@pytest.mark.parametrize("stepping", [True, False])
def test_kept_words_refute_hypotheses_without_a_step(stepping: bool) -> None:
    """Should find a word exactly where one of the kept words is wrong, the least first, with the model's answers."""
    target = random_dfa(1, 5)
    oracle = MembershipOracle(models(target)[0 if stepping else 1])
    words = [word for n in range(5) for word in itertools.product(range(2), repeat=n)]
    kept = ReplayedWords()
    for start in range(0, len(words), 7):
        kept.keep(Observations.of(oracle, WordBatch.from_codes(words[start : start + 7])))
    steps = oracle.cost.network_steps
    for seed in range(12):
        hypothesis = random_dfa(seed, 3)
        answer = end_of(kept.find_counterexample(hypothesis))
        wrong = {w for w in words if target.accepts(LETTERS.decode(w)) != hypothesis.accepts(LETTERS.decode(w))}
        found = {*answer.others, *([] if answer.counterexample is None else [answer.counterexample])}
        assert found <= wrong
        assert bool(found) == bool(wrong)
        assert all(said == target.accepts(LETTERS.decode(word)) for word, said in answer.others.items())
        assert answer.epsilon is None
    assert oracle.cost.network_steps == steps


def test_the_latest_words_are_kept_where_they_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rnncheck.learning.equivalence.replayed_words._MOST_LETTERS", 10)
    oracle, kept = MembershipOracle(DFAModel(random_dfa(1, 5))), ReplayedWords()
    for length in range(1, 6):
        kept.keep(Observations.of(oracle, WordBatch.from_codes([(0,) * length])))
    assert sum(len(part.words.codes) for part in kept._kept) <= 10
    assert kept._kept[-1].words[-1] == (0,) * 5


def test_a_hypothesis_that_kept_words_refute_takes_no_share_of_the_error() -> None:
    """Should number only the hypotheses that fresh words were drawn for: passing then needs the words of test 1."""
    target = random_dfa(3, 6)
    task = task_of(DFAModel(target), "sampling")
    equivalence = task.equivalence(Relation.EQUAL)
    wrong = minimise(target.complement())
    assert end_of(equivalence.find_counterexample(wrong)).counterexample is not None
    drawn = task.sampler.words
    assert end_of(equivalence.find_counterexample(wrong)).counterexample is not None
    assert task.sampler.words == drawn
    passed = end_of(equivalence.find_counterexample(minimise(target)))
    assert passed.words == QUICK.words_of_test(1)
    assert passed.epsilon == QUICK.achieved_by_test(passed.words, 1)
    assert task.sampler.words == drawn + passed.words  # what is claimed rests on fresh words alone


def test_a_sample_gives_every_difference_it_met() -> None:
    """Should give several words, each wrong by another transition, and then draw fewer words than at first."""
    target = random_dfa(5, 30)
    task = task_of(DFAModel(target), "sampling")
    hypothesis = minimise(random_dfa(6, 12))
    answer = asked(task, hypothesis, Relation.EQUAL)
    found = [answer.counterexample, *answer.others]
    ends = [(hypothesis.run(LETTERS.decode(word))[-2], word[-1]) for word in found if word]
    assert len(found) > 3
    assert len(set(ends)) >= len(ends) - 1  # the least whole word may end as another one does
    assert task.sampler.batch < 64


class Finds(EquivalenceOracle):
    def __init__(self, answer: EquivalenceAnswer) -> None:
        self.answer = answer
        self.asked = 0

    def find_counterexample(self, hypothesis: Hypothesis) -> Testing:
        self.asked += 1
        yield
        return self.answer


def test_oracles_in_turn_stop_at_the_first_that_finds_something() -> None:
    nothing, word, last = Finds(EquivalenceAnswer()), Finds(EquivalenceAnswer((0,))), Finds(EquivalenceAnswer())
    assert end_of(InTurn([nothing, word, last]).find_counterexample(random_dfa(0, 2))).counterexample == (0,)
    assert (nothing.asked, word.asked, last.asked) == (1, 1, 0)
    passed = Finds(EquivalenceAnswer(epsilon=0.1))
    assert end_of(InTurn([nothing, passed]).find_counterexample(random_dfa(0, 2))).epsilon == 0.1


def counting_turns(task: LearningTask, found: list[int], letters: list[int]) -> list[int]:
    """How many turns strategies get, by the letters they query per turn and the differences they find."""

    class Arm(EquivalenceOracle):
        def __init__(self, number: int) -> None:
            self.number, self.turns = number, 0

        def find_counterexample(self, hypothesis: Hypothesis) -> Testing:
            for _ in range(2):
                self.turns += 1
                task.oracle.prefix_answers(WordBatch.from_codes([(0,) * letters[self.number]]))
                if found[self.number]:
                    break
                yield
            words = [(self.number, at) for at in range(found[self.number])]
            others = dict.fromkeys(words[1:], 0)
            return EquivalenceAnswer(words[0] if words else None, epsilon=0.5 + self.number, others=others)

    arms = [Arm(number) for number in range(len(found))]
    equivalence = MixedEquivalence(arms, task.oracle)
    for _ in range(20):
        end_of(equivalence.find_counterexample(random_dfa(0, 2)))
    return [arm.turns for arm in arms]


def test_strategies_have_turns_by_differences_per_letter() -> None:
    """Should ask most often what finds most for its letters, and the others too."""
    task = task_of(DFAModel(random_dfa(0, 4)), "mixed")
    by_found = counting_turns(task, [1, 5, 0], [500, 500, 500])
    assert by_found[1] > by_found[0] >= by_found[2] > 0
    by_letters = counting_turns(task, [2, 2], [4_000, 100])
    assert by_letters[1] > 3 * by_letters[0] > 0


def test_a_mix_passes_when_all_strategies_have_and_claims_what_its_last_one_shows() -> None:
    task = task_of(DFAModel(random_dfa(0, 4)), "mixed")
    assert counting_turns(task, [0, 0], [10, 900]) == [40, 40]
    passing = [Finds(EquivalenceAnswer(epsilon=0.9)), Finds(EquivalenceAnswer(epsilon=0.1))]
    answer = end_of(MixedEquivalence(passing, task.oracle).find_counterexample(random_dfa(0, 2)))
    assert answer.epsilon == 0.1
    assert end_of(MixedEquivalence(passing[::-1], task.oracle).find_counterexample(random_dfa(0, 2))).epsilon == 0.9


def test_words_like_the_users_own_are_queried() -> None:
    """Should find a difference that hides behind a rare beginning, from words that begin like that."""
    target, hypothesis = behind_a_door()
    own = [RARE.encode(tuple("headf" + rest)) for rest in ("gbc", "ca", "gg")]
    context = EquivalenceContext(MembershipOracle(DFAModel(target)), Relation.EQUAL)
    words = LikeOwnWords(context, np.random.default_rng(0), own)
    assert end_of(words.find_counterexample(hypothesis)).counterexample is not None


def test_short_words_are_all_asked_and_each_once() -> None:
    oracle = ShortWords(EquivalenceContext(MembershipOracle(DFAModel(random_dfa(0, 4))), Relation.EQUAL, max_length=9))
    asked = [word for _ in range(20) for batch in oracle.batches(random_dfa(0, 4)) for word in batch]
    assert asked == [word for n in range(1, 10) for word in itertools.product(range(2), repeat=n)]


def test_words_of_every_answer_are_queried() -> None:
    """Should ask for as many words of the rare answer as of the other one."""
    rare = Spec.from_regex("(.* a a b a .*) & (. .)*", LETTERS).dfa
    oracle = MembershipOracle(DFAModel(rare))
    words = EveryAnswer(
        EquivalenceContext(oracle, Relation.EQUAL), np.random.default_rng(0), WordDistribution(LETTERS, stop=0.1)
    )
    for batch in words.batches(rare):
        accepted = int(rare.accepts_batch(batch).sum())
        assert accepted == len(batch) - accepted == 32
    assert list(words.batches(DFA(LETTERS, [[0, 0]], [True]))) == []


def test_an_unknown_equivalence_oracle_is_refused() -> None:
    model = DFAModel(random_dfa(0, 3))
    with pytest.raises(InputError, match="known are sampling, mixed, coverage, w-method"):
        verify(model, model.dfa, method="pdv", settings=VerifySettings(equivalence="magic"))


@pytest.mark.parametrize("method", ["pdv", "aamc"])
@pytest.mark.parametrize("equivalence", EQUIVALENCES)
def test_verification_works_with_every_equivalence_oracle(method: str, equivalence: str) -> None:
    """Should decide rightly, with the claims of a sample."""
    chosen = VerifySettings(equivalence=equivalence)
    target = random_dfa(11, 6)
    right = verify(DFAModel(target), target, method=method, settings=chosen, epsilon=0.05, gamma=0.05)
    assert right.satisfied
    assert right.guarantee.samples > 0
    assert right.guarantee.hypothesis_epsilon <= 0.05
    wrong = verify(DFAModel(target), target.complement(), method=method, settings=chosen, epsilon=0.05, gamma=0.05)
    assert wrong.violated
    assert target.accepts(wrong.counterexample)
