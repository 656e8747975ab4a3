"""What the verdict keeps for its report: the scores along the evidence, and the history of rounds."""

import itertools
import json
from collections.abc import Callable

import numpy as np
import pytest

from rnncheck.automata.dfa import DFA
from rnncheck.errors import FormatError, InputError
from rnncheck.models.adapters import DFAModel
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.foreign.callables import CallableModel
from rnncheck.models.network import Cell
from rnncheck.models.protocol import Model
from rnncheck.oracle import MembershipOracle
from rnncheck.runtime.budget import Budget
from rnncheck.search.flows import Flow
from rnncheck.spec import Spec
from rnncheck.verdict.value import Verdict
from rnncheck.verification.explanation.best_effort import BestEffort
from rnncheck.verification.explanation.evidence import gather, pump_scores, trace_of, with_scores
from rnncheck.verification.methods import METHODS
from rnncheck.verification.verify import verify
from rnncheck.words import Alphabet, WordBatch
from support import samples
from support.networks import random_network

LETTERS = Alphabet(["a", "b"])
WORD = (0, 1, 1, 0, 0, 1)


def network(seed: int = 0) -> CompiledNetwork:
    return CompiledNetwork(random_network(Cell.GRU, seed=seed, alphabet=LETTERS, hidden=(6,), scale=4.0))


def models() -> dict[str, Model]:
    stepped = network()
    return {
        "stepped": stepped,
        "whole words": CallableModel(lambda words: stepped.scores_batch(words) + 0.5, LETTERS, checks=0),
        "answers alone": CallableModel(lambda words: stepped.accepts_batch(words), LETTERS, checks=0),
        "automaton": DFAModel(Spec.from_regex("(a|b)* a", LETTERS).dfa),
    }


@pytest.mark.parametrize("name", models())
def test_a_trace_is_what_the_model_says_of_each_prefix(name: str) -> None:
    """Should give the answer by definition, and the score, of every prefix asked alone."""
    model = models()[name]
    trace = trace_of(MembershipOracle(model), WORD)
    prefixes = [WORD[:length] for length in range(len(WORD) + 1)]

    assert list(trace.answers) == [model.reference_answer(prefix) for prefix in prefixes]
    if name == "answers alone":
        assert trace.scores is None
    else:
        alone = [float(model.scores_batch(WordBatch.from_codes([prefix]))[0]) for prefix in prefixes]
        assert trace.scores == pytest.approx(alone, abs=1e-5)


@pytest.mark.parametrize("name", models())
def test_pumped_scores_are_those_of_the_pumped_words(name: str) -> None:
    """Should score prefix · loopⁿ · suffix for every n as the model scores the word alone."""
    model = models()[name]
    (found,) = pump_scores(MembershipOracle(model), [Flow((0, 1), (1, 1, 0), (0,), (), 12)])

    if name == "answers alone":
        assert found is None
    else:
        words = [(0, 1) + (1, 1, 0) * n + (0,) for n in range(1, 13)]
        alone = [float(model.scores_batch(WordBatch.from_codes([word]))[0]) for word in words]
        assert found == pytest.approx(alone, abs=1e-5)


def test_steps_spent_on_evidence_are_counted() -> None:
    """Should tell every step beforehand, reading the loop once and the suffix for all n together."""
    oracle = MembershipOracle(network())
    pump_scores(oracle, [Flow((0, 1), (1,), (0, 0), (), 10)])
    assert oracle.cost.network_steps == 2 + 10 + 2 * 10
    oracle = MembershipOracle(network())
    trace_of(oracle, WORD)
    assert oracle.cost.network_steps == len(WORD)


@pytest.mark.parametrize("method", [method for method in METHODS if method != "prove"])  # which has no rounds
def test_the_history_has_one_entry_a_round(method: str) -> None:
    """Should rise from round to round, up to the hypothesis of the verdict."""
    rng = np.random.default_rng(5)
    dfa = DFA(LETTERS, rng.integers(12, size=(12, 2)), rng.random(12) < 0.5)
    verdict = verify(DFAModel(dfa), dfa, method=method, epsilon=0.02, gamma=0.05, settings=samples.QUICK)

    assert verdict.satisfied
    assert len(verdict.history) == verdict.cost.rounds
    for earlier, later in itertools.pairwise(verdict.history):
        assert earlier.states < later.states
        assert earlier.membership_queries <= later.membership_queries
        assert earlier.network_steps <= later.network_steps
        assert earlier.words <= later.words
    if verdict.history and verdict.hypothesis is not None:
        last = verdict.history[-1]
        assert last.states == len(verdict.hypothesis)
        # Health checks come after the last round.
        assert 0 < last.membership_queries <= verdict.cost.membership_queries
        assert 0 < last.network_steps <= verdict.cost.network_steps


def test_the_evidence_of_a_violation_ends_in_it() -> None:
    """Should keep a trace that ends with a violation, and scores whose signs are the flow's hits."""
    verdict = samples.faulty()

    assert verdict.trace.answers[-1]
    assert verdict.trace.scores[-1] > 0
    assert len(verdict.trace.scores) == len(verdict.counterexample) + 1
    for flow in verdict.faulty_flows:
        assert [n for n, score in enumerate(flow.scores, start=1) if score > 0] == list(flow.violating_pumps)


def ended_after(steps: int) -> Callable[[], bool]:
    asked = itertools.count()
    return lambda: next(asked) >= steps


def test_a_budget_that_ends_leaves_the_rest_standing() -> None:
    """Should give what there was time for, and nothing for the rest."""
    flows = [Flow((0,), (1,), (0,), (1, 2), 2), Flow((0,), (1, 1), (0,), (1, 2), 2)]
    for steps in range(25):
        budget = Budget(cancelled=ended_after(steps))
        evidence = gather(MembershipOracle(network(), budget=budget), WORD, flows, BestEffort())
        assert len(evidence.flow_scores) == 2
        present = [evidence.trace is not None, *(scores is not None for scores in evidence.flow_scores)]
        assert present == sorted(present, reverse=True)
        assert all(present) == (steps >= 6 + 5 + 1), steps
    assert gather(MembershipOracle(network()), None, [], BestEffort()).trace is None


def as_read(verdict: Verdict) -> Verdict:
    return Verdict.from_json(verdict.to_json())


@pytest.mark.parametrize("make", [samples.faulty, samples.satisfied, samples.undecided, samples.large])
def test_a_document_gives_the_verdict_back(make) -> None:
    """Should read everything that a report shows."""
    verdict = make()
    again = as_read(verdict)

    for name in ("outcome", "reason", "cost", "counterexample", "guarantee", "hypothesis", "specification", "health",
                 "faulty_flows", "trace", "history", "settings", "spec_facts", "severity"):  # fmt: skip
        assert getattr(again, name) == getattr(verdict, name), name


def test_documents_of_earlier_versions_are_still_read() -> None:
    """Should do without the fields that were added, and add scores from the network."""
    import rnncheck
    from rnncheck import zoo

    verdict = samples.faulty()
    document = json.loads(verdict.to_json())
    for name in ("trace", "history", "settings", "command"):
        del document[name]
    for flow in document["faulty_flows"]:
        del flow["scores"]
    old = Verdict.from_json(json.dumps(document))

    assert old.trace is None
    assert old.history == ()
    model = rnncheck.load_model(zoo.path("response-faulty-lstm"))
    completed = with_scores(old, model)
    assert completed.trace == verdict.trace
    assert completed.faulty_flows == verdict.faulty_flows
    with pytest.raises(InputError, match="not about this one"):
        with_scores(old, rnncheck.load_model(zoo.path("response-lstm")))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cost": {"seconds": "long"}}, "seconds"),
        ({"counterexample": ["a", "z"]}, "'z'"),
        ({"alphabet": ["a", "b"]}, "alphabets differ"),
        ({"trace": {"answers": [1]}}, "bool"),
        ({"faulty_flows": [{"prefix": []}]}, "loop"),
        ({"history": [{"states": 1}]}, "membership_queries"),
        ({"hypothesis": {"automaton": {"schema": "other"}}}, "automaton"),
        ({"severity": {"interval": [0.5]}}, "length 2"),
    ],
)
def test_a_document_whose_parts_do_not_fit_is_refused(change, message: str) -> None:
    """Should name the file and the part."""
    document = {**json.loads(samples.faulty().to_json()), **change}
    with pytest.raises(FormatError, match=message) as caught:
        Verdict.from_json(json.dumps(document), "v.json")
    assert str(caught.value).startswith("v.json")
