"""A violation that was found is reported, whatever fails after it."""

import json

import pytest

from rnncheck import Spec, WordDistribution, load_model, verify, wrap, zoo
from rnncheck.errors import ModelError
from rnncheck.verification import conclusion
from rnncheck.verification.explanation import evidence, explain
from rnncheck.verification.label_questions import label_spec, verify_labels
from rnncheck.verification.verify_settings import VerifySettings
from rnncheck.words import Alphabet

AB = ["a", "b"]
NO_TWO_B = Spec.from_regex("a*(b a*)?", AB)
SHORT_WORDS = WordDistribution(Alphabet(AB), stop=0.3)
LONGEST = 64


def accepts_short_words(words: list[tuple[str, ...]]) -> list[bool]:
    if any(len(word) > LONGEST for word in words):
        raise RuntimeError(f"words of more than {LONGEST} letters are beyond me")
    return [word.count("b") >= 2 for word in words]


@pytest.mark.parametrize("method", ["auto", "pdv", "smc", "aamc", "errors"])
def test_a_model_that_raises_on_long_words_is_violated_by_a_short_one(method) -> None:
    """The flows are pumped to a hundred loops, which this model does not read."""
    model = wrap(accepts_short_words, AB)
    verdict = verify(model, NO_TWO_B, method=method, distribution=SHORT_WORDS)
    assert verdict.violated
    assert verdict.counterexample == ("b", "b")
    failed = [note.message for note in verdict.health if note.check == "unfinished"]
    assert any("faulty flows" in message and "beyond me" in message for message in failed)


def test_auto_goes_on_with_short_words_where_the_sampled_ones_are_too_long() -> None:
    """The usual words have a hundred letters; the learner's are short."""
    verdict = verify(wrap(accepts_short_words, AB), NO_TWO_B)
    assert verdict.counterexample == ("b", "b")


def test_a_model_that_fails_before_anything_was_found_is_an_error() -> None:
    everything = Spec.from_regex("(a|b)* b (a|b)* b (a|b)*", AB)
    with pytest.raises(ModelError, match="beyond me"):
        verify(wrap(accepts_short_words, AB), everything, settings=VerifySettings(search_steps=10_000))


@pytest.mark.parametrize(
    ("module", "name", "missing"),
    [
        (explain, "shrink", "a shorter counterexample"),
        (explain, "find_flows", "faulty flows"),
        (conclusion, "violation_probability", "the mass of violations"),
        (evidence, "trace_of", "the trace"),
        (evidence, "pump_scores", "the scores of the flows"),
        (conclusion, "health_notes", "the health checks"),
    ],
)
@pytest.mark.parametrize("error", [ZeroDivisionError("by chance"), MemoryError("by chance"), ModelError("by chance")])
def test_whatever_part_of_the_decoration_fails_is_named_and_the_verdict_stands(
    monkeypatch, module, name, missing, error
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(module, name, fail)
    entry = zoo.entry("response-faulty-lstm")
    settings = VerifySettings(severity_samples=10)
    verdict = verify(load_model(entry.path), entry.spec(), settings=settings)
    assert verdict.violated
    assert verdict.confirmed
    assert any(missing in note.message and "by chance" in note.message for note in verdict.health)
    assert type(verdict).from_json(verdict.to_json()).counterexample == verdict.counterexample


@pytest.mark.parametrize("end", [KeyboardInterrupt, ModelError("the progress bar broke")])
def test_what_is_confirmed_outlives_an_end_in_the_same_moment(end) -> None:
    """A progress callback may raise when the violation is confirmed and not yet concluded."""
    model = wrap(lambda words: [True] * len(words), AB)
    confirmed = []
    ask = model.reference_answer

    def reference_answer(codes):
        confirmed.append(codes)
        return ask(codes)

    model.reference_answer = reference_answer  # type: ignore[method-assign]

    def tell(_: object) -> None:
        if confirmed:
            raise end

    assert verify(model, NO_TWO_B, progress=tell).violated


def test_labels_along_a_counterexample_that_cannot_be_told_lose_no_verdict(monkeypatch) -> None:
    from rnncheck.models.traces import TraceModel

    def fail(*_: object) -> None:
        raise ModelError("speechless")

    model = load_model(zoo.path("tokens-gru"))
    spec = label_spec(model, ltlf="G(label=integer)")
    monkeypatch.setattr(TraceModel, "labels_along", fail)
    verdict = verify_labels(model, spec)
    assert verdict.violated
    assert any("speechless" in note.message for note in verdict.health)
    json.loads(verdict.to_json())
