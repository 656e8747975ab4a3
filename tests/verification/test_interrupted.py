"""Ctrl-C, whenever it comes, ends the work and is in the verdict; no claim rests on work that was not done."""

import importlib
import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rnncheck import Spec, SuiteResult, VerifySettings, WordDistribution, check, diff, verify, wrap, zoo
from rnncheck.cli import main
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.files.safetensors_file import save_network
from rnncheck.runtime.budget import INTERRUPTED
from rnncheck.suite.suite_checkpoint import SuiteCheckpoint
from rnncheck.verdict.value import Verdict
from rnncheck.verification import audit
from rnncheck.words import Alphabet
from support.robust_networks import robust_network

AB = ["a", "b"]
NO_B = Spec.from_regex("a*", AB)
METHODS = ["auto", "pdv", "smc", "aamc", "errors"]
QUICK: dict[str, Any] = {
    "epsilon": 0.2,
    "gamma": 0.2,
    "distribution": WordDistribution(Alphabet(AB), stop=0.5),
    "max_length": 4,
}


class Asked:
    """A function that answers by ``accept``; its n-th call is one that Ctrl-C ends."""

    def __init__(self, accept: Callable[[tuple[str, ...]], bool], end_at: int = -1) -> None:
        self.accept, self.end_at, self.calls = accept, end_at, 0

    def __call__(self, words: list[tuple[str, ...]]) -> list[bool]:
        self.calls += 1
        if self.calls == self.end_at:
            raise KeyboardInterrupt
        return [self.accept(word) for word in words]


def good(word: tuple[str, ...]) -> bool:
    return "b" not in word


def faulty(word: tuple[str, ...]) -> bool:
    return word.count("b") != 1


def ended_at(accept: Callable[[tuple[str, ...]], bool], method: str, moment: int) -> tuple[Verdict, int]:
    """The verdict where the call of that number was interrupted, and how many calls there were before and after."""
    function = Asked(accept)
    model = wrap(function, AB, max_length=4)
    before, function.end_at = function.calls, function.calls + moment
    settings = VerifySettings(search_steps=200, severity_samples=20)
    return verify(model, NO_B, method=method, settings=settings, **QUICK), function.calls - before


def moments(calls: int) -> Iterator[int]:
    """The first calls, the last ones, and some between."""
    yield from sorted(
        {*range(1, 4), *range(1, calls, max(1, calls // 12)), *range(calls - 2, calls + 1)} & {*range(1, calls + 1)}
    )


@pytest.mark.parametrize("accept", [good, faulty])
@pytest.mark.parametrize("method", METHODS)
def test_it_ends_the_work_and_is_in_the_verdict_whenever_it_comes(method: str, accept: Any) -> None:
    """No word is asked after it, and only a comparison with the reference that is complete allows "satisfied"."""
    whole, calls = ended_at(accept, method, -1)
    assert not whole.interrupted
    for moment in moments(calls):
        verdict, asked = ended_at(accept, method, moment)
        assert asked == moment, f"call {moment} of {calls}"
        assert verdict.interrupted, f"call {moment} of {calls}: {verdict}"
        if verdict.satisfied:
            assert verdict.evaluation == whole.evaluation, f"call {moment} of {calls}"
        elif verdict.undecided:
            assert verdict.reason == INTERRUPTED
        assert Verdict.from_json(verdict.to_json()).interrupted


@pytest.mark.parametrize("method", METHODS)
def test_a_claim_needs_words_that_were_compared_with_the_reference(method: str, monkeypatch) -> None:
    """Where the budget ends before any was, the verdict is undecided and says what ended it."""
    function = Asked(good)
    model, comparing = wrap(function, AB, max_length=4), False
    run = audit.Audit.run

    def noticed(self: audit.Audit) -> object:
        nonlocal comparing
        comparing = True
        return run(self)

    monkeypatch.setattr(audit.Audit, "run", noticed)
    settings = VerifySettings(search_steps=200, cancelled=lambda: comparing)
    verdict = verify(model, NO_B, method=method, settings=settings, **QUICK)
    assert (verdict.undecided, verdict.reason) == (True, "cancelled")


def test_a_result_that_is_known_when_the_time_ends_is_still_compared() -> None:
    """The search goes on until the time is over; a tenth of it beyond is for what is claimed by then."""
    entry = zoo.entry("even-elman")
    model, spec = CompiledNetwork(entry.network(), threads=1), Spec.from_regex("(b* a b* a)* b*", AB)
    ticks = itertools.count()
    settings = VerifySettings(search_steps=10**9, clock=lambda: float(next(ticks)))
    verdict = verify(model, spec, method="auto", timeout=700.0, settings=settings, **{**QUICK, "max_length": None})
    assert verdict.satisfied
    assert verdict.cost.seconds > 700.0
    assert verdict.evaluation is not None
    assert verdict.evaluation.words


SUITE = """
[defaults]
epsilon = 0.2
gamma = 0.2
method = "{method}"
search_steps = 200
max_length = 4
[defaults.distribution]
stop = 0.5
[models.file]
path = "file.safetensors"
[models.mine]
module = "users_interrupted:model"
alphabet = ["a", "b"]
fingerprint = "1"
[properties.first]
regex = "{regex}"
[properties.second]
regex = ".*"
"""
MODEL = """
import os, signal
calls, end_at = 0, -1
def model(words):
    global calls
    calls += 1
    if calls == end_at:
        os.kill(os.getpid(), signal.{name})
    return ["b" not in word for word in words]
"""


@pytest.mark.parametrize(("regex", "outcome", "code"), [("a*", "satisfied", 3), ("b*", "violated", 1)])
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("method", ["smc", "auto"])
def test_check_ends_with_it_and_keeps_what_was_done(
    tmp_path: Path, monkeypatch, capsys, method: str, name: str, regex: str, outcome: str, code: int
) -> None:
    """No word is asked after it, and the checkpoint has the checks that were done, and none that was cut short."""
    save_network(robust_network(NO_B.dfa), tmp_path / "file.safetensors")
    suite, kept, reported = tmp_path / "suite.toml", tmp_path / "kept.json", tmp_path / "reported.json"
    suite.write_text(SUITE.format(method=method, regex=regex))
    (tmp_path / "users_interrupted.py").write_text(MODEL.format(name=name))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "users_interrupted", raising=False)
    users: Any = importlib.import_module("users_interrupted")
    whole = check(suite, models=["mine"], properties=["first"])
    calls = users.calls
    assert [one.outcome for one in whole.checks] == [outcome]
    for moment in (calls // 2, calls):
        users.calls, users.end_at = 0, moment
        with pytest.raises(SystemExit) as ended:
            main(["check", str(suite), "--checkpoint", str(kept), "--json", str(reported), "--quiet"])
        checks = {(one.model, one.name): one for one in SuiteResult.from_json(reported.read_text()).checks}
        assert (ended.value.code, users.calls) == (code, moment)
        assert checks["file", "first"].outcome == outcome
        assert checks["mine", "second"].sentence() == "not begun: the run was interrupted"
        assert len(SuiteCheckpoint(kept, resume=True).earlier()) == 2
        resumed = check(suite, checkpoint=kept, resume=True)
        assert [one.outcome for one in resumed.checks] == [outcome, "satisfied"] * 2
    capsys.readouterr()


def test_a_comparison_of_two_models_ends_with_it() -> None:
    """In the comparison itself and in the properties of each, of which no other is begun."""
    old = wrap(Asked(good), AB, max_length=4)
    options: dict[str, Any] = {**QUICK, "settings": VerifySettings(search_steps=200, severity_samples=20)}
    function = Asked(faulty)
    diff(old, wrap(function, AB, max_length=4), properties=[NO_B, NO_B], **options)
    whole = function.calls
    for moment in range(40, whole, max(1, whole // 10)):
        function = Asked(faulty, moment)
        verdict = diff(old, wrap(function, AB, max_length=4), properties=[NO_B, NO_B], **options)
        assert verdict.interrupted
        assert function.calls <= moment + 3  # the empty word, which makes the two one model
