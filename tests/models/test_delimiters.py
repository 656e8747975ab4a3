"""Words between markers; and modules such as a competition of extraction publishes, which read words so."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from rnncheck import verify
from rnncheck.errors import InputError
from rnncheck.models.adapters import DFAModel
from rnncheck.models.protocol import SteppingModel
from rnncheck.models.wrapping import wrap
from rnncheck.spec import Spec
from rnncheck.words import Alphabet

torch = pytest.importorskip("torch")
nn: Any = torch.nn
READ = ["a", "b", "<s>", "c", "</s>"]  # what the modules read, in the order of their numbers
LETTERS = Alphabet(["a", "b", "c"])
WORDS = [word for length in range(5) for word in itertools.product(LETTERS, repeat=length)]


class Competitor(nn.Module):
    """One-hot letters, recurrent layers, one or two linear layers, and activations, some of them twice over."""

    def __init__(self, kind: str, *, outputs: int = 2, linear: int = 1, ends: tuple[Any, ...] = (), **options: Any):
        super().__init__()
        torch.manual_seed(len(kind) + 10 * outputs + 100 * linear)
        self.layers = getattr(nn, kind)(len(READ), 9, 2, batch_first=True, **options)
        width = 18 if options.get("bidirectional") else 9
        self.dense = nn.ModuleList([nn.Linear(width, width) for _ in range(linear - 1)] + [nn.Linear(width, outputs)])
        with torch.no_grad():
            for parameter in self.parameters():
                parameter *= 3
            self.ends: tuple[Any, ...] = ()
            some = [torch.from_numpy(one_hot([("<s>", *word, "</s>")])) for word in WORDS]
            scores = torch.cat([self(word) for word in some])
            self.dense[-1].bias -= scores.median(dim=0).values  # so that it says yes to some words, and no to some
            self.ends = ends

    def forward(self, x: Any) -> Any:
        x = self.layers(x.float())[0][:, -1]
        for dense in self.dense:
            x = dense(x)
        for end in self.ends:
            x = end(x)
        return x


def softmax(x: Any) -> Any:
    return torch.softmax(x, dim=-1)


PUBLISHED: dict[str, tuple[Any, dict[str, Any]]] = {
    "lstm, softmax": (lambda: Competitor("LSTM", ends=(softmax,)), {"label": 1}),
    "gru, two linear layers": (lambda: Competitor("GRU", linear=2), {"label": 1}),
    "rnn, two linear layers, softmax": (lambda: Competitor("RNN", linear=2, ends=(softmax,)), {"label": 1}),
    "lstm, sigmoid and softmax": (lambda: Competitor("LSTM", ends=(torch.sigmoid, softmax)), {"label": 1}),
    "gru, softmax twice": (lambda: Competitor("GRU", ends=(softmax, softmax)), {"label": 1}),
    "gru, one output, sigmoid": (lambda: Competitor("GRU", outputs=1, ends=(torch.sigmoid,)), {}),
    "lstm, three linear layers, sigmoid twice": (
        lambda: Competitor("LSTM", outputs=1, linear=3, ends=(torch.sigmoid, torch.sigmoid)),
        {"threshold": 0.6},
    ),
    "lstm, both ways": (lambda: Competitor("LSTM", bidirectional=True, ends=(softmax,)), {"label": 1}),
    "gru, both ways, two linear layers": (lambda: Competitor("GRU", bidirectional=True, linear=2), {"label": 1}),
}


def one_hot(words: list[tuple[str, ...]]) -> Any:
    return np.eye(len(READ), dtype=np.float32)[[[READ.index(letter) for letter in word] for word in words]]


def own_answers(module: Any, label: int | None = None, threshold: float = 0.5) -> list[bool]:
    """Each word alone between its markers, as the makers of the module would ask."""
    answers = []
    with torch.no_grad():
        for word in WORDS:
            put_out = module.eval()(torch.from_numpy(one_hot([("<s>", *word, "</s>")])))[0]
            if label is not None:
                answers.append(int(put_out.argmax()) == label)
            else:
                answers.append(float(put_out[0] if module.ends else torch.sigmoid(put_out[0])) > threshold)
    return answers


@pytest.mark.parametrize("own_encode", [True, False])
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_networks_are_read_between_their_markers_and_stepped(name: str, own_encode: bool) -> None:
    make, options = PUBLISHED[name]
    module = make()
    encode = {"encode": one_hot} if own_encode else {}
    model = wrap(module, READ, before="<s>", after="</s>", **encode, **options)
    assert model.alphabet == LETTERS
    stepped = "both ways" not in name and not own_encode  # a function of the user's may encode some words apart
    assert isinstance(model, SteppingModel) == stepped, model.describe()["stepping"]
    if "both ways" in name and not own_encode:
        assert "bidirectional" in model.describe()["stepping"]
    expected = own_answers(module, **options)
    assert model.accepts_batch(WORDS).tolist() == expected
    assert [model.reference_answer(LETTERS.encode(word)) for word in WORDS[:40]] == expected[:40]
    assert len(set(expected)) == 2 or "both ways" in name  # a network that says one thing tests little


def test_the_end_marker_does_not_disturb_the_prefix() -> None:
    model = wrap(PUBLISHED["gru, two linear layers"][0](), READ, before=["<s>", "<s>"], after=["</s>"], label=1)
    assert isinstance(model, SteppingModel)
    states = model.initial(1)
    before = states.copy()
    for letter in (0, 2, 1):
        model.scores(states)
        assert np.array_equal(states, before)
        states = model.step(states, np.array([letter]))
        before = states.copy()
    score = model.scores_batch([("a", "c", "b")])[0]
    assert model.scores(states)[0] == pytest.approx(score, abs=1e-5)


@pytest.mark.parametrize(("before", "after"), [("s", "e"), ("s", None), (None, "e"), (["s", "s"], ["e", "s"])])
@pytest.mark.parametrize("stepped", [True, False])
def test_markers_of_any_model_are_read_around_every_word(before: Any, after: Any, stepped: bool) -> None:
    spec = Spec.from_regex("s* (a | b s)* e+ s | (s s a* e s) | s (a|b)", ["a", "s", "b", "e"])
    inner: Any = DFAModel(spec.dfa) if stepped else lambda words: list(map(spec.dfa.accepts, words))
    more: Any = {} if stepped else {"fingerprint": "1"}
    model = wrap(inner, ["a", "s", "b", "e"], before=before, after=after, **more)
    around = [list(part or []) for part in (before, after)]
    letters = [letter for letter in "asbe" if letter not in around[0] + around[1]]
    assert list(model.alphabet) == letters
    words = [word for length in range(5) for word in itertools.product(letters, repeat=length)]
    expected = [spec.dfa.accepts([*around[0], *word, *around[1]]) for word in words]
    assert model.accepts_batch(words).tolist() == expected
    assert [model.accepts(word) for word in words] == expected
    wanted = Spec.from_words([word for word, yes in zip(words, expected, strict=True) if yes], model.alphabet)
    verdict = verify(model, wanted, relation="equal", max_length=4, epsilon=0.05, gamma=0.05)
    assert verdict.outcome.value == "satisfied", verdict.counterexample
    assert model.fingerprint() != wrap(inner, ["a", "s", "b", "e"], before=["s", "s", "e"], **more).fingerprint()


def test_markers_that_make_no_sense_are_refused() -> None:
    inner = DFAModel(Spec.from_regex("a*", ["a", "s"]).dfa)
    with pytest.raises(InputError, match=r"delimiter '<s>' is not among the model's letters 'a,s'"):
        wrap(inner, before="<s>")
    with pytest.raises(InputError, match="every letter of the alphabet is a delimiter"):
        wrap(inner, before="a", after="s")
    with pytest.raises(InputError, match="between delimiters the model takes the empty word"):
        wrap(inner, before="s", empty=True)


def test_what_is_said_of_the_empty_word_is_about_the_words_alone() -> None:
    module = PUBLISHED["gru, one output, sigmoid"][0]()
    model = wrap(module, READ, before="<s>", after="</s>")
    facts = model.describe()
    assert "between delimiters: <s> … </s>" in facts["words"]
    assert "empty" not in str(facts), facts
