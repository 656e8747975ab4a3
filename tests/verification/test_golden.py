"""Thirty of the golden verdicts: outcome, length of the counterexample, and strength. ``scripts/golden.py`` has all."""

import functools
import sys
from pathlib import Path
from typing import Any

import pytest

from support.paths import ROOT

SCRIPTS = ROOT / "scripts"
pytestmark = pytest.mark.skipif(not (SCRIPTS / "golden.py").is_file(), reason="the scripts are not beside the tests")

STATISTICAL = ("satisfied", None, "statistical")
EXHAUSTIVE = ("satisfied", None, "exhaustive")
PROVED = ("satisfied", None, "proved")
UNDECIDED = ("undecided", None, None)
GOLDEN = {
    "network-response-lstm-smc-subset": STATISTICAL,
    "network-response-lstm-pdv-equal": STATISTICAL,
    "network-response-lstm-auto-subset-max_length-6": EXHAUSTIVE,
    "network-response-faulty-lstm-smc-subset": STATISTICAL,
    "network-response-faulty-lstm-pdv-subset": STATISTICAL,
    "network-response-faulty-lstm-auto-subset": ("violated", 11, None),
    "network-response-faulty-lstm-auto-superset": STATISTICAL,
    "network-response-faulty-lstm-auto-equal": ("violated", 11, None),
    "network-response-faulty-lstm-errors-equal": STATISTICAL,
    "network-tomita4-gru-aamc-equal": STATISTICAL,
    "network-tomita4-gru-auto-subset-max_length-6": EXHAUSTIVE,
    "network-even-elman-pdv-equal": STATISTICAL,
    "network-even-elman-prove-subset": UNDECIDED,
    "network-xml-lstm-auto-subset": ("violated", 10, None),
    "network-xml-lstm-auto-equal": ("violated", 10, None),
    "network-xml-lstm-aamc-subset": STATISTICAL,
    "network-tokens-gru-errors-superset": STATISTICAL,
    "network-tokens-gru-prove-superset": PROVED,
    "network-response-provable-lstm-prove-equal": PROVED,
    "network-tomita4-provable-gru-prove-subset": PROVED,
    "network-even-provable-elman-prove-superset": PROVED,
    "callable-response-faulty-lstm-pdv-subset": STATISTICAL,
    "callable-even-elman-prove-equal": UNDECIDED,
    "onnx-response-faulty-lstm-auto-equal": ("violated", 11, None),
    "pair-response-lstm-auto-subset": ("violated", 11, None),
    "pair-response-lstm-auto-equal": ("violated", 11, None),
    "pair-even-elman-pdv-equal": STATISTICAL,
    "labels-tokens-gru-auto-stays-malformed": ("violated", 2, None),
    "labels-tokens-gru-pdv-no-decimal": ("violated", 2, None),
    "labels-tokens-gru-smc-ends-malformed": STATISTICAL,
}


@functools.cache
def questions(folder: Path) -> dict[str, Any]:
    """The questions by name, whose models are read once."""
    sys.path.insert(0, str(SCRIPTS))
    try:
        import golden
    finally:
        sys.path.remove(str(SCRIPTS))
    return {question.name: question for question in golden.questions(folder)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("golden")


@pytest.mark.parametrize("name", GOLDEN)
def test_a_golden_verdict_stays_as_it_is(name: str, folder: Path) -> None:
    """Should give the verdict that was recorded."""
    if name.startswith("onnx-"):
        pytest.importorskip("onnx")
        pytest.importorskip("onnxruntime")
    answer = questions(folder)[name].answer()
    word = answer["counterexample"]
    assert (answer["outcome"], None if word is None else len(word), answer["strength"]) == GOLDEN[name]
