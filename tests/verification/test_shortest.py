"""How short a counterexample is known to be: every claim against brute force, by the reference."""

import itertools
import json

import numpy as np
import pytest

from rnncheck.automata.dfa import DFA
from rnncheck.automata.language import all_words
from rnncheck.checker import Status, replay
from rnncheck.learning.learning_task import Progress
from rnncheck.models.adapters import DFAModel
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.network import Cell
from rnncheck.relations import Relation
from rnncheck.spec import Spec
from rnncheck.verification.verify import verify
from rnncheck.verification.verify_settings import VerifySettings
from rnncheck.words import Alphabet
from support.networks import random_network

LETTERS = Alphabet(["a", "b"])
QUICK = {"epsilon": 0.05, "gamma": 0.05}
SETTINGS = VerifySettings(search_steps=5_000, max_states=40, flows=None, severity_samples=0)


def random_dfa(seed: int, states: int, share: float = 0.5, alphabet: Alphabet = LETTERS) -> DFA:
    rng = np.random.default_rng(seed)
    return DFA(alphabet, rng.integers(states, size=(states, len(alphabet))), rng.random(states) < share)


def chain(length: int, letters: Alphabet) -> DFA:
    """Accepts the one word of a given length whose letters are all the last one."""
    last = len(letters) - 1
    table = [[length + 1] * last + [state + 1] for state in range(length + 1)] + [[length + 1] * (last + 1)]
    return DFA(letters, table, np.arange(length + 2) == length)


def violations(model, spec: DFA, relation: Relation, length: int):
    """All of at most a given length, by the model's reference."""
    for size in range(length + 1):
        for word in itertools.product(range(len(spec.alphabet)), repeat=size):
            answer, wanted = model.reference_answer(word), spec.accepts(spec.alphabet.decode(word))
            if relation.broken(np.array([answer]), np.array([wanted]))[0]:
                yield word


def plain_length(letters: int, steps: int) -> int:
    """The length up to which a number of steps suffices for every word."""
    return next(n for n in itertools.count() if sum(letters**i for i in range(1, n + 2)) > steps)


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("method", ["auto", "smc", "pdv"])
def test_how_short_it_is_said_to_be_is_true_of_the_reference(method: str, relation: Relation) -> None:
    known = 0
    for seed in range(6):
        network = random_network(Cell.GRU, seed=seed, alphabet=LETTERS, hidden=(6,), scale=4.0)
        model = CompiledNetwork(network) if seed % 2 else DFAModel(random_dfa(seed, 7, 0.2))
        spec = random_dfa(seed + 7, 5)
        verdict = verify(model, spec, method=method, relation=relation, settings=SETTINGS, **QUICK)
        if not verdict.violated:
            assert not verdict.shortest
            assert verdict.no_violation_up_to is None
            continue
        word, length = verdict.counterexample, verdict.no_violation_up_to
        assert verdict.shortest == (len(word) == 1 + (-1 if length is None else length))
        if length is not None:
            known += 1
            assert length < len(word)
            assert next(violations(model, spec, relation, min(length, 9)), None) is None
        if method == "auto":
            assert length is None or length >= min(plain_length(2, verdict.cost.network_steps), len(word) - 1)
            assert verdict.shortest  # two letters, so few words
    assert known or method != "auto"


@pytest.mark.parametrize("length", [3, 12])
def test_words_too_long_to_be_proved_shortest_are_not_said_to_be(length: int) -> None:
    """Every word of a given length or more is a violation; of 11 letters there are 360 million words over six."""
    letters = Alphabet(list("abcdef"))
    table = [[min(state + 1, length)] * 6 for state in range(length + 1)]
    model = DFAModel(DFA(letters, table, np.arange(length + 1) == length))
    verdict = verify(model, all_words(letters).complement(), settings=SETTINGS, **QUICK)
    assert len(verdict.counterexample) == length
    assert verdict.shortest == (length == 3)
    least = min(length - 1, plain_length(6, verdict.cost.network_steps))
    assert least <= verdict.no_violation_up_to < length


def test_a_shorter_word_that_only_the_reference_takes_is_the_counterexample() -> None:
    """The evaluator overlooks b; it says that a a is the shortest."""

    class Overlooking(DFAModel):
        def reference_answer(self, codes):
            return tuple(codes) == (1,) or super().reference_answer(codes)

        def by_reference(self):
            table = [[1, 3], [2, 4], [4, 4], [4, 4], [4, 4]]
            return DFAModel(DFA(LETTERS, table, np.array([False, False, True, True, False])))

    model = Overlooking(DFA(LETTERS, [[1, 3], [2, 3], [3, 3], [3, 3]], np.array([False, False, True, False])))
    verdict = verify(model, all_words(LETTERS).complement(), settings=SETTINGS, **QUICK)
    assert verdict.counterexample == ("b",)
    assert verdict.shortest
    assert verdict.no_violation_up_to == 0
    assert verdict.evaluation.exact_length == 0
    assert any(note.check == "evaluator" for note in verdict.health)


def test_the_first_violation_is_told_at_once_and_then_improved() -> None:
    """A sampled word is a violation, and is reported before it is made shorter."""
    reports: list[Progress] = []
    model = DFAModel(random_dfa(5, 40, 0.05))
    verdict = verify(model, all_words(LETTERS).complement(), method="smc", progress=reports.append, **QUICK)
    words = [progress.counterexample for progress in reports if progress.counterexample is not None]
    assert words[-1] == verdict.counterexample
    assert [len(word) for word in words] == sorted((len(word) for word in words), reverse=True)
    cost = verdict.cost
    assert cost.first_violation_steps < cost.network_steps
    assert 0 <= cost.first_violation_seconds <= cost.seconds
    first = next(progress for progress in reports if progress.counterexample is not None)
    assert first.network_steps == cost.first_violation_steps


def test_without_a_violation_nothing_is_said_of_the_first() -> None:
    verdict = verify(DFAModel(random_dfa(0, 3)), all_words(LETTERS), settings=SETTINGS, **QUICK)
    assert verdict.satisfied
    assert verdict.cost.first_violation_seconds is None
    assert verdict.cost.first_violation_steps is None


def test_a_false_shortest_is_refuted_by_replay() -> None:
    """a a a is a violation too, and is said to be the shortest."""
    model = DFAModel(DFA(LETTERS, [[1, 0], [1, 0]], np.array([False, True])))  # ends in a
    verdict = verify(model, all_words(LETTERS).complement(), settings=SETTINGS, **QUICK)
    assert verdict.counterexample == ("a",)
    assert replay(verdict, model).status is Status.CONFIRMED
    document = json.loads(verdict.to_json())
    document["counterexample"] = ["a"] * 3
    document["no_violation_up_to"], document["trace"] = 2, None
    refuted = replay(json.dumps(document), model).having(Status.REFUTED)
    assert [check.name for check in refuted] == ["no violation up to"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("shortest", False),
        ("no_violation_up_to", 5),
        ("no_violation_up_to", None),
        ("no_violation_up_to", -1),
        (("cost", "first_violation_steps"), 10**9),
        (("cost", "first_violation_steps"), None),
        (("cost", "first_violation_seconds"), -1.0),
    ],
)
def test_changed_fields_that_do_not_fit_together_are_refuted(field, value) -> None:
    model = DFAModel(chain(2, LETTERS))
    document = json.loads(verify(model, all_words(LETTERS).complement(), settings=SETTINGS, **QUICK).to_json())
    *path, name = (field,) if isinstance(field, str) else field
    inner = document
    for part in path:
        inner = inner[part]
    inner[name] = value
    assert replay(json.dumps(document), model).status is Status.REFUTED


def test_nothing_shorter_is_sought_than_the_empty_word(monkeypatch) -> None:
    """It was found by asking every word, before any length was done."""
    from rnncheck.verification.explanation import shorten as shorter

    sought = []
    monkeypatch.setattr(shorter, "GuidedSearch", lambda *_, **options: sought.append(options))
    nothing = Spec.from_regex("!(.*)", ["a", "b"]).dfa
    settings = VerifySettings(exhaustive=3)
    verdict = verify(DFAModel(nothing), Spec.from_regex(".*", ["a", "b"]), relation="superset", settings=settings)
    assert verdict.counterexample == ()
    assert not sought
