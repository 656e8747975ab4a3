"""Documents of the schema rnncheck/verdict/1 are read, and replayed with the result that they had."""

import functools
import json
from pathlib import Path

import pytest

from rnncheck import Certificate, Replay, ReplaySettings, Verdict, load_model, replay, zoo
from rnncheck.checker.checks import Status
from rnncheck.models.protocol import Model

DOCUMENTS = Path(__file__).parent / "documents_1"
MODELS = {
    "assumed": "response-faulty-lstm",
    "bounded": "even-elman",
    "diff": "response-lstm",
    "errors": "even-elman",
    "exhaustive": "even-elman",
    "labels": "tokens-gru",
    "learned": "tomita4-gru",
    "proved": "even-provable-elman",
    "statistical": "response-lstm",
    "undecided": "response-lstm",
    "vacuous": "even-elman",
    "violated": "response-faulty-lstm",
}
STRENGTHS = {
    "bounded": "bounded",
    "errors": "statistical",
    "exhaustive": "exhaustive",
    "learned": "statistical",
    "proved": "proved",
    "statistical": "statistical",
    "vacuous": "proved",
}


@functools.cache
def model(name: str) -> Model:
    return load_model(zoo.path(name))


def replayed(name: str, text: str) -> Replay:
    against = model("response-faulty-lstm") if name == "diff" else None
    certificate = Certificate.from_json((DOCUMENTS / "proved.cert").read_text()) if name == "proved" else None
    settings = ReplaySettings(words=200, certificate=certificate)
    return replay(text, model(MODELS[name]), settings, against=against)


@pytest.mark.parametrize("name", MODELS)
def test_an_earlier_document_is_confirmed_as_it_was(name: str) -> None:
    result = replayed(name, (DOCUMENTS / f"{name}.json").read_text())
    assert result.status is (Status.OPEN if name == "undecided" else Status.CONFIRMED), result


@pytest.mark.parametrize("name", MODELS)
def test_an_earlier_document_is_a_verdict_of_today(name: str) -> None:
    """Should keep what every program reads at the top level, and add the strength."""
    before = json.loads((DOCUMENTS / f"{name}.json").read_text())
    verdict = Verdict.from_json(json.dumps(before))
    after = json.loads(verdict.to_json())

    for part in ("verdict", "reason", "counterexample", "confirmed", "guarantee", "cost", "faulty_flows", "health"):
        assert after[part] == before[part], part
    assert after["schema"] == "rnncheck/verdict/2"
    assert after["strength"] == STRENGTHS.get(name)
    assert Verdict.from_json(verdict.to_json()) == verdict
    assert len(repr(verdict)) <= 300


@pytest.mark.parametrize("name", STRENGTHS)
@pytest.mark.parametrize("strength", ["proved", "exhaustive", "bounded", "statistical", "certain", None])
def test_another_strength_is_refuted(name: str, strength: str | None) -> None:
    """Should not confirm a sample that calls itself a proof, nor a strength that does not exist."""
    document = json.loads(Verdict.from_json((DOCUMENTS / f"{name}.json").read_text()).to_json())
    document["strength"] = strength
    status = replay(json.dumps(document)).status
    assert (status is Status.REFUTED) == (strength != STRENGTHS[name])
