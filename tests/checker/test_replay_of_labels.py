"""Replay of verdicts about the labels of a user's module: it is asked itself, seldom, and within a time limit."""

import itertools
import json

import numpy as np
import pytest

from rnncheck import ReplaySettings, Verdict, replay, wrap
from rnncheck.automata.dfa import DFA
from rnncheck.automata.label_specs import compile_label_ltlf
from rnncheck.checker import Status
from rnncheck.models.black_box import Decision
from rnncheck.models.label_reference import LabelReference
from rnncheck.models.labelled import LabelledNetwork, label_by_answers, models_by_label
from rnncheck.models.protocol import SteppingModel
from rnncheck.models.traces import TraceModel, decided_states
from rnncheck.verification.label_questions import label_spec, verify_labels
from rnncheck.words import Codes, WordBatch

pytest.importorskip("torch")

import torch

LETTERS = ["a", "b", "c"]
LABELS = ["low", "middle", "high"]
PROPERTIES = ["G(label=high -> G label=high)", "F label=middle", "a -> F label=low", "G(label=low | F b)"]
SETTINGS = ReplaySettings(words=40, steps=20_000)


class Counting(torch.nn.Module):
    """A GRU of three outputs that counts how often it is called, and for how many words."""

    def __init__(self, seed: int = 0, layers: int = 1, scale: float = 2.0) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.gru = torch.nn.GRU(len(LETTERS), 6, batch_first=True)
        heads = (
            [torch.nn.Linear(6, 3)] if layers == 1 else [torch.nn.Linear(6, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3)]
        )
        self.head = torch.nn.Sequential(*heads)
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.mul_(scale)
        self.calls = self.rows = 0

    def forward(self, letters):
        self.calls += 1
        self.rows += len(letters)
        return self.head(self.gru(letters)[0][:, -1])


def words_up_to(length: int) -> list[tuple[int, ...]]:
    return [word for n in range(length + 1) for word in itertools.product(range(len(LETTERS)), repeat=n)]


def by_definition(models: list[SteppingModel], spec: DFA, word: Codes, known: dict[Codes, int]) -> bool:
    """Each label of each prefix asked by itself, and the pairs read by the automaton; one model a label says yes."""
    pairs = []
    for end in range(1, len(word) + 1):
        if word[:end] not in known:
            known[word[:end]] = label_by_answers([each.reference_answer(word[:end]) for each in models])
        label = known[word[:end]]
        pairs.append(f"{LETTERS[word[end - 1]]}/{LABELS[label]}")
    return spec.accepts(pairs)


@pytest.mark.parametrize(("layers", "markers"), [(1, {}), (2, {"after": "c"})])
def test_the_reference_of_traces_is_every_label_of_every_prefix(layers: int, markers: dict[str, str]) -> None:
    """Alone and together: all words, and long ones, that share prefixes with others or share none."""
    module = Counting(seed=layers, layers=layers)
    model = wrap(module, alphabet=LETTERS, label=0, labels=LABELS, **markers)
    assert isinstance(model, SteppingModel)
    codes = [word for word in words_up_to(3) if all(code < len(model.alphabet) for code in word)]
    rng = np.random.default_rng(0)
    codes += [tuple(rng.integers(len(model.alphabet), size=length).tolist()) for length in (7, 11, 30)]
    answered, models, known = set(), models_by_label(model), dict[Codes, int]()
    for text in PROPERTIES:
        spec = compile_label_ltlf(text, model.alphabet, LABELS)
        trace = TraceModel(LabelledNetwork.of(model), spec, text)
        expected = [by_definition(models, spec, word, known) for word in codes]
        assert [trace.reference_answer(word) for word in codes] == expected
        for reference in (trace.by_reference(), trace.by_reference_together()):
            assert reference.accepts_batch(WordBatch.from_codes(codes)).tolist() == expected
        answered |= set(expected)
    assert answered == {True, False}


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("noise", [0.0, 1e-7, 1.0])
def test_a_label_that_is_in_doubt_is_asked_alone(outputs: int, noise: float) -> None:
    """Should say what the model says of the word alone, however little, or much, being asked together changes."""
    decision = Decision(outputs, label=None if outputs == 1 else 0)

    def original(codes: np.ndarray) -> np.ndarray:
        alone = np.stack([np.sin(codes.sum(axis=1) * (3 + output)) * 1e-6 for output in range(outputs)], axis=1)
        return alone + (noise * np.cos(np.arange(len(codes)))[:, None] if len(codes) > 1 else 0.0)

    words = WordBatch.from_codes(words_up_to(4)[1:])
    alone = LabelReference(original, decision, len(LETTERS))(words)
    each = [original(np.array([word]))[0] for word in words]
    assert alone.tolist() == [int(one.argmax() if outputs > 1 else one[0] > 0) for one in each]
    assert LabelReference(original, decision, len(LETTERS), 64)(words).tolist() == alone.tolist()
    assert len(set(alone.tolist())) > 1


def test_one_call_says_all_labels_and_common_prefixes_are_asked_once() -> None:
    module = Counting()
    model = wrap(module, alphabet=LETTERS, label=0, labels=LABELS)
    spec = compile_label_ltlf("G(label=low | F b)", model.alphabet, LABELS)
    trace = TraceModel(LabelledNetwork.of(model), spec)
    reference = trace.by_reference()
    module.calls = 0
    pumped = [(0,) + (1,) * n + (2,) for n in range(1, 31)]  # 30 loops and 30 ends have prefixes of their own
    reference.accepts_batch(WordBatch.from_codes(pumped))
    assert module.calls == 1 + 30 + 30
    together = trace.by_reference_together()
    module.calls = 0
    together.accepts_batch(WordBatch.from_codes(pumped))
    assert module.calls <= 40  # one for each length, and those in doubt


def test_a_word_is_not_read_on_where_the_answer_is_settled() -> None:
    module = Counting()
    model = wrap(module, alphabet=LETTERS, label=0, labels=LABELS)
    always = TraceModel(LabelledNetwork.of(model), compile_label_ltlf("X true | !X true", model.alphabet, LABELS))
    module.calls = 0
    assert always.by_reference().accepts_batch(WordBatch.from_codes([(0,) * 50])).all()
    assert module.calls <= 1


@pytest.mark.parametrize("seed", range(20))
def test_settled_states_are_those_whose_words_are_all_answered_alike(seed: int) -> None:
    rng = np.random.default_rng(seed)
    automaton = DFA(["a", "b"], rng.integers(5, size=(5, 2)), rng.random(5) < 0.7)
    for state, settled in enumerate(decided_states(automaton)):
        reached = {state}
        while (more := reached | {int(end) for each in reached for end in automaton.transitions[each]}) != reached:
            reached = more
        assert settled == (len({bool(automaton.accepting[each]) for each in reached}) == 1)


@pytest.fixture(scope="module")
def judged() -> tuple[SteppingModel, Verdict]:
    model = wrap(Counting(), alphabet=LETTERS, label=0, labels=LABELS)
    assert isinstance(model, SteppingModel)
    verdict = verify_labels(model, label_spec(model, ltlf="G(label=high | !label=high)"), epsilon=0.02, gamma=0.02)
    assert verdict.satisfied
    return model, verdict


def test_a_replay_tells_what_it_does_and_plainly_what_it_cannot_check(judged) -> None:
    model, verdict = judged
    reports: list[str] = []
    result = replay(verdict, model, SETTINGS, progress=reports.append)
    assert result.status in (Status.CONFIRMED, Status.OPEN)
    assert any(text.startswith("fresh words: 0 of 40") for text in reports)
    assert any(text.startswith("every word up to") for text in reports)
    (text,) = [check.seen for check in result.checks if check.name == "specification text"]
    assert "'G(label=high | !label=high)'" in text


def test_a_replay_whose_time_is_over_is_open_and_says_where(judged) -> None:
    model, verdict = judged
    result = replay(verdict, model, SETTINGS, timeout=0)
    assert result.exit_code == 3
    (over,) = [check for check in result.checks if check.name == "time limit"]
    assert over.status is Status.OPEN
    assert "raise --timeout" in over.seen
    assert result.checks[-1] is over


def test_what_was_refuted_in_time_stays_refuted(judged) -> None:
    _, verdict = judged
    document = json.loads(verdict.to_json())
    document["model"]["label"] = LABELS[1]
    assert replay(json.dumps(document), judged[0], SETTINGS, timeout=0).status is Status.REFUTED
