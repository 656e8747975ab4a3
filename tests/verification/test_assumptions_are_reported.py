"""What had to be assumed to read a model is in the verdict's health, and so on the terminal."""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

from rnncheck import Spec, load_model, verify, wrap
from rnncheck.models.adapters import complement
from rnncheck.verification.verify_settings import VerifySettings

pytest.importorskip("torch")

import torch

ABCD = ["a", "b", "c", "d"]
QUICK = {"epsilon": 0.1, "gamma": 0.1, "settings": VerifySettings(search_steps=0, flows=None)}


class Embedded(torch.nn.Module):
    def __init__(self, rows: int) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(rows, 3)
        self.gru = torch.nn.GRU(3, 4, batch_first=True)
        self.head = torch.nn.Linear(4, 1)

    def forward(self, letters):
        return self.head(self.gru(self.embedding(letters))[0][:, -1])


def module(rows: int) -> Embedded:
    torch.manual_seed(0)
    return Embedded(rows)


def state_dictionary(tmp_path, rows: int) -> object:
    path = tmp_path / "state.safetensors"
    arrays = {name: value.detach().numpy().astype(np.float32) for name, value in module(rows).state_dict().items()}
    save_file(arrays, path)
    return path


def notes_of(model) -> list[str]:
    verdict = verify(model, Spec.from_regex("(a|b|c|d)*", ABCD), **QUICK)
    return [note["message"] for note in json.loads(verdict.to_json())["health"] if note["check"] == "model"]


def test_a_letter_short_is_told_by_verify(tmp_path) -> None:
    """Five rows and four letters: row 0 is taken for padding, and every letter shifts by one."""
    note, _ = notes_of(load_model(state_dictionary(tmp_path, 5), alphabet=ABCD))
    assert "row 0 of the embedding is padding" in note
    assert "rows 1 to 4 are the letters a, b, c, d" in note


def test_the_order_of_letters_is_told_by_verify(tmp_path) -> None:
    note, _ = notes_of(load_model(state_dictionary(tmp_path, 4), alphabet=ABCD[::-1]))
    assert "rows 0 to 3 are the letters d, c, b, a" in note


def test_what_was_assumed_about_a_compiled_module_is_reported() -> None:
    notes = notes_of(wrap(module(5), ABCD))
    assert any("row 0 of the embedding is padding, letters start at row 1" in note for note in notes)
    assert notes_of(complement(wrap(module(5), ABCD))) == notes


def test_how_the_empty_word_is_meant_is_told_of_weights_and_of_their_module(tmp_path) -> None:
    """The one answers it, the other cannot be asked: this must be reported."""
    file, own = load_model(state_dictionary(tmp_path, 4), alphabet=ABCD), wrap(module(4), ABCD)
    for model, said in ((file, "before any letter"), (own, "--assume 'regex:. .*'")):
        (note,) = (text for text in notes_of(model) if "empty word" in text)
        assert said in note


def test_verify_prints_assumptions_as_inspect_does(tmp_path, capsys) -> None:
    from rnncheck.cli import main

    path = state_dictionary(tmp_path, 5)
    options = ["--regex", "(a|b|c|d)*", "--alphabet", "a,b,c,d", "--epsilon", "0.1", "--gamma", "0.1"]
    for command in (["verify", str(path), *options], ["inspect", str(path), "--alphabet", "a,b,c,d"]):
        with pytest.raises(SystemExit):
            main(command)
        assert "rows 1 to 4 are the letters a, b, c, d" in capsys.readouterr().out
