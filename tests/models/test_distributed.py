"""One verification shared among workers: the same verdict, whoever reads the words."""

import json
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future

import numpy as np
import pytest

from rnncheck import verify
from rnncheck.automata.dfa import DFA
from rnncheck.errors import InputError, RnncheckError
from rnncheck.models.adapters import DFAModel
from rnncheck.models.distributed import distributed
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.protocol import Scores
from rnncheck.runtime.executors import open_executor
from rnncheck.spec import Spec
from rnncheck.words import WordBatch
from support.networks import random_network


@pytest.fixture(scope="module")
def executor():
    with open_executor(2) as two:
        yield two


NETWORK = random_network(hidden=(12,), seed=5, scale=3.0)


def test_scores_are_those_of_the_network(executor) -> None:
    model = CompiledNetwork(NETWORK, threads=1)
    rng = np.random.default_rng(0)
    words = [tuple(rng.integers(3, size=length).tolist()) for length in rng.integers(0, 120, size=300)]
    batch = WordBatch.from_codes(words)
    shared = distributed(model, executor)
    np.testing.assert_allclose(shared.prefix_scores(batch), model.prefix_scores(batch), atol=1e-4)
    assert (shared.accepts_batch(batch) == model.accepts_batch(batch)).all()


def document(verdict) -> dict[str, object]:
    content = json.loads(verdict.to_json())
    content["cost"].pop("seconds")
    return content


@pytest.mark.parametrize("method", ["smc", "pdv", "auto"])
@pytest.mark.parametrize("spec", ["true", "F a", "G(a -> F b)"])
def test_verdicts_do_not_depend_on_the_workers(executor, method, spec) -> None:
    model = CompiledNetwork(NETWORK, threads=1)
    property_ = Spec.from_ltlf(spec, model.alphabet)
    options = {"method": method, "epsilon": 0.02, "gamma": 0.02}
    alone = verify(model, property_, **options)
    shared = verify(distributed(model, executor), property_, **options)
    assert document(shared) == document(alone)


def test_a_model_that_cannot_be_sent_is_refused(executor) -> None:
    automaton = DFA(["a", "b"], [[0, 0]], [True])
    with pytest.raises(InputError, match="DFAModel"):
        distributed(DFAModel(automaton), executor)


def test_the_time_limit_holds_while_others_work() -> None:
    """The workers are stopped, so nothing comes back; the verdict comes all the same."""
    model = CompiledNetwork(NETWORK, threads=1)
    with open_executor(1) as one:
        pid = one.submit(os.getpid).result(30)
        os.kill(pid, signal.SIGSTOP)
        ending = threading.Timer(120, os.kill, (pid, signal.SIGCONT))
        ending.start()
        verdict = verify(
            distributed(model, one), Spec.from_ltlf("F(a & !a)", model.alphabet), method="smc", timeout=1.0
        )
        in_time = ending.is_alive()
        ending.cancel()
        os.kill(pid, signal.SIGCONT)
    assert in_time
    assert verdict.undecided
    assert "time limit" in verdict.reason


@pytest.mark.parametrize("sent", [None, "scores", [0.0], np.zeros(3), np.zeros((4, 1)), np.zeros(5, dtype=np.int64)])
def test_what_a_worker_sends_back_is_looked_at_as_data(sent: object) -> None:
    """Should take one score a letter and nothing else: a single number would be spread over all letters."""
    model = CompiledNetwork(NETWORK, threads=1)

    class Odd:
        workers = 1

        def share(self, value: object) -> object:
            return value

        def submit(self, *_: object) -> Future[object]:
            future: Future[object] = Future()
            future.set_result(sent)
            return future

        def close(self) -> None: ...

    words = WordBatch.from_codes([(0, 1) * 2_000])
    with pytest.raises(RnncheckError, match=r"a worker returned .* instead of 4000 scores"):
        distributed(model, Odd()).prefix_scores(words)


@pytest.mark.parametrize(
    "lie",
    [
        np.negative,
        lambda scores: np.abs(scores) + 1.0,
        lambda scores: scores - 1.0,
        lambda scores: np.full_like(scores, np.nan),
        lambda scores: np.full_like(scores, np.inf),
    ],
)
def test_a_worker_with_other_scores_is_refused(lie: Callable[[Scores], Scores]) -> None:
    """Should not let a worker of another version decide a verdict."""

    class Wrong:
        workers = 2

        def share(self, value: object) -> object:
            return value

        def submit(self, function: Callable[..., Scores], /, *arguments: object) -> Future[Scores]:
            future: Future[Scores] = Future()
            future.set_result(lie(function(*arguments)))
            return future

        def close(self) -> None: ...

    model = CompiledNetwork(NETWORK, threads=1)
    words = WordBatch.from_codes([(0, 1) * 2_000, (1,) * 30])
    with pytest.raises(RnncheckError, match="same version"):
        distributed(model, Wrong()).prefix_scores(words)
