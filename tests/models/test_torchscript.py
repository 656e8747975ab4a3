"""TorchScript modules: stepped where the module would be, asked as they are where not, and run only where trusted."""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rnncheck import load_model
from rnncheck.cli import main
from rnncheck.errors import ModelError
from rnncheck.models.protocol import SteppingModel
from rnncheck.models.wrapping import wrap
from rnncheck.words import Alphabet

torch = pytest.importorskip("torch")
nn: Any = torch.nn
LETTERS = Alphabet(["a", "b", "c"])
WORDS = [word for length in range(1, 4) for word in itertools.product(LETTERS, repeat=length)]
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::torch.jit.TracerWarning")


class Classifier(nn.Module):
    def __init__(self, kind: str = "GRU", *, layers: int = 1, rows: int = 3, factor: float = 2.0, **options: Any):
        super().__init__()
        torch.manual_seed(layers + rows)
        self.embedding = nn.Embedding(rows, 4)
        self.recurrent = getattr(nn, kind)(4, 6, layers, batch_first=True, dropout=0.3 * (layers > 1), **options)
        self.drop = nn.Dropout(0.5)
        self.hidden = nn.Linear(12 if options.get("bidirectional") else 6, 5)
        self.head = nn.Linear(5, 1)
        self.factor = factor

    def forward(self, x):
        states, _ = self.recurrent(self.drop(self.embedding(x)))
        return self.head(torch.relu(self.hidden(states[:, -1])))


class Conditional(Classifier):
    def forward(self, x):
        states, _ = self.recurrent(self.embedding(x))
        out = self.head(torch.relu(self.hidden(states[:, -1])))
        if bool((x[:, 0] == 1).all()):  # words are treated apart
            out = -out
        return out


class Scaled(Classifier):
    def forward(self, x):
        states, _ = self.recurrent(self.embedding(x))
        return self.head(torch.relu(self.hidden(states[:, -1]))) * self.factor


def scripted(module: Any, how: str, path: Path) -> Any:
    """The module as it comes back from a file."""
    made = torch.jit.script(module.eval()) if how == "script" else torch.jit.trace(module.eval(), some_word(module))
    torch.jit.save(made, str(path))
    return torch.jit.load(str(path))


def some_word(module: Any) -> Any:
    return torch.ones((1, 3), dtype=torch.long)


def own_answers(module: Any, first_row: int = 0) -> list[bool]:
    with torch.no_grad():
        codes = [torch.tensor([[LETTERS.index(letter) + first_row for letter in word]]) for word in WORDS]
        return [float(module.eval()(code)) > 0 for code in codes]


@pytest.mark.parametrize(("how", "kind", "layers"), [("script", "GRU", 1), ("trace", "LSTM", 2), ("script", "RNN", 1)])
def test_what_the_module_would_be_is_stepped(how: str, kind: str, layers: int, tmp_path: Path) -> None:
    module = Classifier(kind, layers=layers)
    with torch.no_grad():  # so that it says yes to some words, and no to some
        module.head.bias -= torch.cat(
            [module.eval()(torch.tensor([list(map(LETTERS.index, w))])) for w in WORDS]
        ).median()
    model = wrap(scripted(module, how, tmp_path / "m.pt"), LETTERS)
    assert isinstance(model, SteppingModel), model.describe()
    assert model.accepts_batch(WORDS).tolist() == own_answers(module)
    assert len(set(own_answers(module))) == 2


def test_others_are_asked_for_whole_words_and_say_why(tmp_path: Path) -> None:
    for module, why in ((Classifier("LSTM", bidirectional=True), "bidirectional"), (Conditional(), "takes letter 0")):
        made = scripted(module, "script", tmp_path / "m.pt")
        model = wrap(made, LETTERS)
        assert not isinstance(model, SteppingModel)
        assert why in model.describe()["stepping"]
        assert model.accepts_batch(WORDS).tolist() == own_answers(module)


def test_letters_begin_after_padding_in_scripts_too(tmp_path: Path) -> None:
    """Should say so, since a module with one row more might be read with every letter one off."""
    module = Classifier(rows=4)
    for how in ("script", "trace"):
        model = wrap(scripted(module, how, tmp_path / "m.pt"), LETTERS)
        assert model.accepts_batch(WORDS).tolist() == own_answers(module, first_row=1)
        assert "padding" in str(model.describe())


def test_a_digest_is_of_the_program_its_numbers_and_its_values(tmp_path: Path) -> None:
    one, other = Scaled(), Scaled(factor=-2.0)
    other.load_state_dict(one.state_dict())
    again = scripted(one, "script", tmp_path / "one.pt")
    again.train()
    digests = [wrap(made, LETTERS).fingerprint() for made in (scripted(one, "script", tmp_path / "m.pt"), again)]
    assert digests[0] == digests[1]
    assert again.training
    assert wrap(scripted(other, "script", tmp_path / "o.pt"), LETTERS).fingerprint() != digests[0]
    with torch.no_grad():
        one.head.bias += 1.0
    assert wrap(scripted(one, "script", tmp_path / "b.pt"), LETTERS).fingerprint() != digests[0]


def test_a_file_is_run_only_where_it_is_trusted(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "m.pt"
    module = Classifier()
    scripted(module, "script", path)
    with pytest.raises(ModelError, match=r"is TorchScript, a program; if you trust it, .*--torchscript"):
        load_model(path, alphabet=LETTERS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = load_model(path, alphabet=LETTERS, torchscript=True)
        assert model.fingerprint()
    assert model.accepts_batch(WORDS).tolist() == own_answers(module)
    with pytest.raises(ModelError, match="TorchScript does not contain its letters"):
        load_model(path, torchscript=True)
    torch.save(module.state_dict(), path)
    with pytest.raises(ModelError, match="is not a TorchScript file"):
        load_model(path, alphabet=LETTERS, torchscript=True)
    scripted(module, "script", path)
    with pytest.raises(SystemExit):
        main(["inspect", str(path), "--torchscript", "--alphabet", "a,b,c"])
    assert "stepped, float32" in capsys.readouterr().out


def test_scores_of_the_walk_are_those_of_the_module(tmp_path: Path) -> None:
    module = Classifier("LSTM", layers=2)
    model = wrap(scripted(module, "script", tmp_path / "m.pt"), LETTERS)
    scores = model.scores_batch(WORDS)
    with torch.no_grad():
        own = [float(module(torch.tensor([list(map(LETTERS.index, word))]))) for word in WORDS]
    assert scores is not None
    assert np.allclose(scores, own, atol=1e-5)
