"""Short fuzzing of every parser and loader; ``scripts/fuzz_parsers.py`` does the same for as long as one likes."""

from __future__ import annotations

import importlib.util
import itertools
import json
import random
import re
import time
from functools import partial
from pathlib import Path

import pytest

from fuzz.fuzzing import Outcome, execute, fuzz
from fuzz.mutations import LARGEST
from fuzz.targets import ABC, TARGETS, Target, workplace
from rnncheck.automata.ltlf.ltlf_compiler import compile_ltlf
from rnncheck.automata.regex.regex_compiler import compile_regex
from rnncheck.errors import FormatError, InputError, RnncheckError
from rnncheck.verdict.value import Verdict
from support.clocks import HARDLY_EVER, Standing
from support.strategies import ONE_LINE, refusal

# As many as take about half a second each.
EXECUTIONS = {
    "onnx": 100,
    "torch": 100,
    "released-folder": 75,
    "state-dictionary": 150,
    "safetensors": 200,
    "report": 30,
}
every_target = pytest.mark.parametrize("target", TARGETS.values(), ids=lambda target: target.name)


def available(target: Target) -> Target:
    for module in target.needs:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    return target


@every_target
def test_only_errors_of_ours_come_out(target: Target) -> None:
    """Should read every input to its end or refuse it; how long that takes is looked at in long runs alone."""
    outcome = fuzz(available(target), seed=1, executions=EXECUTIONS.get(target.name, 500), clock=Standing())
    assert list(outcome.failures.values()) == []
    assert 0 < outcome.refused < outcome.executions  # both ends of the reader are reached


@every_target
def test_the_inputs_to_begin_with_are_valid(target: Target) -> None:
    """Should be accepted: a fuzzer that begins with refused inputs never gets behind the first check."""
    with workplace() as folder:
        run = available(target).make(Path(folder))
        accepted = sum(refusal(partial(run, data)) is None for data in target.corpus())
    assert accepted >= len(target.corpus()) * 0.5


@every_target
def test_the_same_seed_gives_the_same_inputs(target: Target) -> None:
    first, second = (list(itertools.islice(available(target).inputs(random.Random(7)), 50)) for _ in range(2))
    assert first == second
    assert len(set(first)) > 30
    assert max(map(len, first)) <= LARGEST + 1000


def test_what_escapes_is_kept_with_its_input() -> None:
    outcome, clock = Outcome(), Standing()

    def reader(data: bytes) -> None:
        if data == b"refuse":
            raise InputError("no")
        if data == b"sleep":
            clock.advance(1.1)
        if data.startswith(b"fail"):
            raise KeyError(data)

    for data in (b"fine", b"refuse", b"fail, long", b"fail", b"sleep"):
        execute("words", reader, data, outcome, clock)
    assert (outcome.executions, outcome.refused) == (5, 1)
    assert {failure.data for failure in outcome.failures.values()} == {b"fail", b"sleep"}


EXPLOSIVE_EXPRESSIONS = [
    "((a|b){1000}){1000}",
    "(a|b)* a (a|b){60}",
    "(.* a .{1000})",
    "(((a?){30}){30}){30}",
    "|".join(f"(a{{{n}}})*" for n in (2, 3, 5, 7, 11, 13, 17, 19, 23)),
    "&".join(f"(.{{{n}}})*" for n in (2, 3, 5, 7, 11, 13, 17, 19, 23)),
]
EXPLOSIVE_FORMULAS = [
    pytest.param("&".join(f"F(a & {'X ' * n}b)" for n in range(1, 40)), marks=pytest.mark.slow),
    "X " * 4000 + "a",
    " U ".join("abc" * 1000),
    "<(a*;b*)*>" * 500 + "tt",
    "F(a & " * 1000 + "b" + ")" * 1000,
]


@pytest.mark.parametrize("text", EXPLOSIVE_EXPRESSIONS)
def test_expressions_made_to_explode_meet_the_limit_at_once(text: str) -> None:
    began = time.process_time()
    error = refusal(lambda: compile_regex(text, ABC, max_states=1000))
    assert isinstance(error, RnncheckError)
    assert time.process_time() - began < HARDLY_EVER


@pytest.mark.parametrize("text", EXPLOSIVE_FORMULAS, ids=lambda text: text[:20])
def test_formulas_made_to_explode_meet_a_limit(text: str) -> None:
    """Should end within seconds: the limit on terms, unlike that on states, is never below a million and a half."""
    began = time.process_time()
    refusal(lambda: compile_ltlf(text, ABC, max_states=1000))
    assert time.process_time() - began < HARDLY_EVER


@pytest.mark.parametrize("text", ["G" * 9000, "end" * 3000 + "(a)", "a '" + "x" * 9000 + "'", "a 'x\ny'"])
def test_a_message_quotes_no_more_than_a_glimpse_of_a_formula(text: str) -> None:
    """Found by fuzzing: names of thousands of characters came back twice, and letters brought their line breaks."""
    error = refusal(lambda: compile_ltlf(text, ABC))
    assert re.fullmatch(ONE_LINE, str(error))
    assert len(str(error)) < 400


@pytest.mark.parametrize(
    "trace", [{"answers": []}, {"answers": [True] * 9}, {"answers": [False, True], "scores": [0.5]}]
)
def test_a_trace_of_another_word_is_refused(trace: dict[str, object]) -> None:
    """Found by fuzzing: a report looked for the last answer of a trace that had none."""
    document = next(json.loads(data) for data in TARGETS["report"].corpus() if b'"confirmed":true' in data)
    with pytest.raises(FormatError, match="answers for the"):
        Verdict.from_json(json.dumps({**document, "trace": {"scores": None, **trace}}))
