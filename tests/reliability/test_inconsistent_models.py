"""Models that are no functions of the word: they answer at random, change, fail, hang, or answer nonsense.

Whatever they do, the end is an error that names the word, or a verdict that claims no more than it knows.
"""

from __future__ import annotations

import dataclasses
import math
import os
import random
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rnncheck import Spec, Verdict, verify, wrap
from rnncheck.errors import ModelError
from rnncheck.models.foreign.callables import CallableModel
from rnncheck.verification.verify_settings import VerifySettings
from rnncheck.words import Alphabet
from support.clocks import Standing, Ticking

AB = Alphabet(["a", "b"])
NO_B = Spec.from_regex("a*", AB)
EVERYTHING = Spec.from_regex("(a|b)*", AB)
METHODS = ["auto", "pdv", "smc", "aamc"]
LIMIT = 2000.0  # looks at the clock
LOOSE: dict[str, Any] = {"epsilon": 0.02, "gamma": 0.02, "timeout": LIMIT}

every_method = pytest.mark.parametrize("method", METHODS)


def unchecked(function: Callable[[list[tuple[str, ...]]], Any]) -> CallableModel:
    """The model as it is when its answers were the same while it was looked at."""
    return CallableModel(function, AB, checks=0)


def verified(model: CallableModel, spec: Spec, settings: VerifySettings | None = None, **options: Any) -> Verdict:
    clock = Ticking()
    settings = dataclasses.replace(settings or VerifySettings(), clock=clock)
    verdict = verify(model, spec, settings=settings, **{**LOOSE, **options})
    assert clock() < 1.5 * options.get("timeout", LIMIT)
    return verdict


def admits_a_change(verdict: Verdict) -> bool:
    """Whether the verdict tells that the model is no function: a word that was answered twice, or a note."""
    messages = verdict.reason + " ".join(note.message for note in verdict.health)
    return "answers change" in messages or "depend on the other words" in messages


@every_method
@pytest.mark.parametrize("spec", [NO_B, EVERYTHING], ids=["no b", "everything"])
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))])
def test_answers_at_random(method: str, spec: Spec, seed: int) -> None:
    """Should end in time; a counterexample was answered with yes when it was confirmed, and breaks the property."""
    coin = random.Random(seed)
    yes: set[tuple[str, ...]] = set()

    def toss(words: list[tuple[str, ...]]) -> list[bool]:
        answers = [coin.random() < 0.5 for _ in words]
        yes.update(word for word, answer in zip(words, answers, strict=True) if answer)
        return answers

    verdict = verified(unchecked(toss), spec, method=method, seed=seed)
    if verdict.violated:
        assert verdict.counterexample in yes
        assert not spec.accepts(verdict.counterexample)
    elif verdict.satisfied:
        assert spec is EVERYTHING  # nothing can break it, whatever the model says
    assert not (spec is EVERYTHING and verdict.violated)


def test_answers_at_random_are_refused_when_the_model_is_made() -> None:
    coin = random.Random(0)
    with pytest.raises(ModelError, match=r"answered .* and then .* to the word .* always give the same answer"):
        wrap(lambda words: [coin.random() < 0.5 for _ in words], alphabet=AB)


@every_method
@pytest.mark.parametrize("after", [0, 3, 100, 1000, 10_000])
def test_a_model_that_turns_round_after_some_words(method: str, after: int) -> None:
    """Should never be violated by a word that was only ever refused."""
    asked, yes = 0, set()

    def turning(words: list[tuple[str, ...]]) -> list[bool]:
        nonlocal asked
        answers = []
        for word in words:
            asked += 1
            answers.append(("b" in word) == (asked > after))
            if answers[-1]:
                yes.add(word)
        return answers

    verdict = verified(unchecked(turning), NO_B, method=method)
    if verdict.violated:
        assert verdict.counterexample in yes
    elif verdict.satisfied:
        assert after >= verdict.guarantee.samples  # all that the claim is about was asked before it turned


def test_a_word_with_two_answers_is_shown_with_both() -> None:
    """Should name the word and what was said of it, first and then, when the learner meets a contradiction."""
    shown = 0
    for seed in range(12):
        coin = random.Random(seed)
        known: dict[tuple[str, ...], bool] = {}

        def forgetful(
            words: list[tuple[str, ...]], known: dict[tuple[str, ...], bool] = known, coin: random.Random = coin
        ) -> list[bool]:
            """One answer a word, but for words asked alone, which are confirmations."""
            if len(words) == 1 and words[0] in known:
                return [not known[words[0]]]
            return [known.setdefault(word, coin.random() < 0.5) for word in words]

        verdict = verified(unchecked(forgetful), NO_B, method="pdv", seed=seed, settings=VerifySettings(max_states=50))
        assert not verdict.satisfied
        shown += admits_a_change(verdict)
    assert shown > 0


class PickyError(Exception):
    """What a user's function may raise."""


@every_method
@pytest.mark.parametrize("length", [0, 3, 20])
def test_a_model_that_raises_on_some_words(method: str, length: int) -> None:
    """Should be an error that names the function, its error and the word; or a verdict that needed no such word."""

    def picky(words: list[tuple[str, ...]]) -> list[bool]:
        if any(len(word) >= length and word[-1:] != ("a",) for word in words):
            raise PickyError("not this one")
        return [False for _ in words]

    with pytest.raises(ModelError, match=r"picky raised PickyError: 'not this one' for the word '.*'"):
        verified(unchecked(picky), NO_B, method=method)


NONSENSE: dict[str, Callable[[list[Any]], Any]] = {
    "too few": lambda words: [True] * (len(words) - 1),
    "too many": lambda words: [True] * (len(words) + 1),
    "none": lambda words: [],
    "not a number": lambda words: [math.nan for _ in words],
    "a string": lambda words: "yes",
    "strings": lambda words: ["True" for _ in words],
    "None": lambda words: None,
    "Nones": lambda words: [None for _ in words],
    "complex": lambda words: [1j for _ in words],
    "pairs": lambda words: np.zeros((len(words), 2)),
    "a generator of itself": lambda words: (iter(()) for _ in words),
    "objects": lambda words: [object() for _ in words],
}


@every_method
@pytest.mark.parametrize("nonsense", NONSENSE)
@pytest.mark.parametrize("after", [1, 40])
def test_nonsense_begins_in_the_middle(method: str, nonsense: str, after: int) -> None:
    """Should be an error that names the function, though all was well when the model was made."""
    calls = 0

    def rotten(words: list[tuple[str, ...]]) -> Any:
        nonlocal calls
        calls += 1
        return [False for _ in words] if calls <= after else NONSENSE[nonsense](words)

    model = CallableModel(rotten, AB, checks=0, batch_size=8)
    with pytest.raises(ModelError, match="rotten"):
        verified(model, NO_B, method=method, timeout=10 * LIMIT)


def test_numbers_that_are_not_finite_are_answers() -> None:
    """Should take infinity for a very certain answer."""
    model = wrap(lambda words: [math.inf if "b" in word else -math.inf for word in words], alphabet=AB)
    verdict = verified(model, NO_B)
    assert verdict.counterexample == ("b",)


@every_method
def test_one_very_slow_call_ends_the_work(method: str) -> None:
    """Should say undecided when a call has used up the time; one that is only slow is let finish."""
    calls, clock = 0, Standing()

    def stuck(words: list[tuple[str, ...]]) -> list[bool]:
        nonlocal calls
        calls += 1
        if calls == 3:
            clock.advance(600.0)
        return [False for _ in words]

    spec = Spec.from_regex("(a|b)* a (a|b)* | ()", AB)
    verdict = verify(unchecked(stuck), spec, method=method, timeout=200.0, settings=VerifySettings(clock=clock))
    assert verdict.undecided
    assert "time limit" in verdict.reason
    last_look = 4 * VerifySettings().suspects if method == "aamc" else 0  # at the automaton so far, in its extra time
    assert calls < 10 + last_look


HANGING = textwrap.dedent(
    """
    import sys, time
    from rnncheck import Spec, VerifySettings, verify
    from rnncheck.models.foreign.callables import CallableModel
    from rnncheck.words import Alphabet

    calls = 0

    def hang(words):
        global calls
        calls += 1
        while calls >= 4:
            try:
                print("hanging", flush=True)
                time.sleep(600)
            except Exception:
                pass
        return [False for _ in words]

    AB = Alphabet(["a", "b"])
    limit = float(sys.argv[1]) if sys.argv[1:] else None
    standing = VerifySettings(clock=lambda: 0.0)  # what comes before the call that hangs takes no time
    model, spec = CallableModel(hang, AB, checks=0), Spec.from_regex("a*", AB)
    verdict = verify(model, spec, method="smc", timeout=limit, settings=standing)
    print(verdict.outcome.value, verdict.reason, flush=True)
    """
)


def test_a_call_that_hangs_is_ended_by_the_time_limit() -> None:
    """Should be undecided and name a word, though the function tries again whatever happens to it."""
    done = subprocess.run(
        [sys.executable, "-c", HANGING, "0.2"], capture_output=True, text=True, timeout=60, check=True
    )
    assert "undecided the time limit was reached while the model was evaluating " in done.stdout
    assert "words, the first of them" in done.stdout


def test_a_call_that_hangs_without_a_time_limit_is_ended_by_an_interrupt() -> None:
    """Should answer Ctrl-C with an undecided verdict."""
    process = subprocess.Popen([sys.executable, "-c", HANGING], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "hanging\n"
        os.kill(process.pid, signal.SIGINT)
        rest = process.communicate(timeout=60)[0]
    finally:
        process.kill()
    assert "undecided interrupted" in rest


def test_a_model_that_hangs_when_it_is_loaded_is_named(tmp_path) -> None:
    """Should be undecided, within the time limit."""
    (tmp_path / "sleepy.py").write_text("import time\ndef judge(words):\n    time.sleep(600)\n")
    command = [sys.executable, "-m", "rnncheck", "verify", "--module", "sleepy:judge", "--alphabet", "ab"]
    done = subprocess.run(
        [*command, "--regex", "a*", "--timeout", "0.5"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 3
    assert "time limit was reached while the model was evaluating the word" in done.stdout + done.stderr


def test_the_alarm_is_left_as_it_was() -> None:
    """Should leave no timer behind, and not touch an alarm that the program uses itself."""
    verify(unchecked(lambda words: [False for _ in words]), EVERYTHING, **LOOSE)
    assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)

    def own(*_: object) -> None: ...

    signal.signal(signal.SIGALRM, own)
    try:
        verify(unchecked(lambda words: [False for _ in words]), EVERYTHING, **LOOSE)
        assert signal.getsignal(signal.SIGALRM) is own
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
