"""A cell type that neither PyTorch nor ONNX has: a file and a registry entry are enough for all the rest to work."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rnncheck import Spec, load_model, verify
from rnncheck.cli import main
from rnncheck.errors import InputError
from rnncheck.models import cells
from rnncheck.models.cells import Cell
from rnncheck.models.cells.cell_type import Array, CellType, Layer, Vector, contributions
from rnncheck.models.cells.elman import ElmanLayer
from rnncheck.models.files.safetensors_file import save_network
from rnncheck.models.files.state_dict import network_from_arrays
from rnncheck.proofs.proof_search import NotProved, find_invariant
from rnncheck.relations import Property, Relation
from rnncheck.training import TrainingSettings
from support.networks import letters, random_network


class ClippedLayer(ElmanLayer):
    def _activate(self, z: Array, out: Array) -> None:
        np.clip(z, -1, 1, out=out)


class Clipped(CellType):
    """Elman's cell, with the numbers cut to [-1, 1]."""

    gates = 1
    compiled = ClippedLayer

    def step(self, layer: Layer, x: Vector, h: Vector, c: Vector) -> tuple[Vector, Vector]:
        from_input, from_hidden = contributions(layer, x, h)
        return np.clip(from_input + from_hidden, -1, 1), c


@pytest.fixture
def clipped(monkeypatch: pytest.MonkeyPatch) -> Cell:
    """The cell in the registry, under a name of another: an enum takes no new one while a program runs."""
    monkeypatch.setitem(cells._KINDS, Cell.GRU, Clipped())
    return Cell.GRU


@pytest.fixture
def network_file(clipped: Cell, tmp_path: Path) -> Path:
    path = tmp_path / "clipped.safetensors"
    save_network(random_network(clipped, (5, 4), scale=2.0), path)
    return path


def test_its_networks_are_saved_loaded_and_verified(clipped: Cell, network_file: Path) -> None:
    model = load_model(network_file)
    assert model.describe()["cell"] == clipped.value
    verdict = verify(model, Spec.from_regex("a*", model.alphabet), seed=1)
    assert verdict.violated
    assert model.reference_answer(model.alphabet.encode(verdict.counterexample or ()))


def test_nothing_is_proved_of_it(clipped: Cell) -> None:
    network = random_network(clipped, (5, 4))
    every_word = Property(Spec.from_regex("(a|b|c)*", network.alphabet).dfa, Relation.EQUAL)
    assert isinstance(find_invariant(network, every_word), NotProved)


def test_the_commands_take_its_networks(clipped: Cell, network_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["inspect", str(network_file)], ["verify", str(network_file), "--regex", "(a|b|c)*"]):
        with pytest.raises(SystemExit) as end:
            main(command)
        assert end.value.code == 0
    assert clipped.value in capsys.readouterr().out


def test_its_state_dictionary_is_read_when_it_is_named(clipped: Cell) -> None:
    layer = random_network(clipped, (4,)).layers[0]
    arrays = {"r.weight_ih_l0": layer.input_weight, "r.weight_hh_l0": layer.recurrent_weight}
    arrays |= {"embedding.weight": np.zeros((3, 4), np.float32), "out.weight": np.ones((1, 4), np.float32)}
    assert network_from_arrays(arrays, letters(3), cell=clipped).cell is clipped
    assumed = network_from_arrays(arrays, letters(3))
    assert assumed.cell is Cell.RNN_TANH
    assert "cell='rnn_relu' or cell='gru' changes that" in str(assumed.facts)


@pytest.mark.parametrize("kind", ["LSTM", "RNN"])
def test_other_networks_are_read_as_before(clipped: Cell, kind: str) -> None:
    pytest.importorskip("onnx")
    from onnx import helper

    from rnncheck.models.foreign.onnx.graph import states_per_operator
    from rnncheck.models.foreign.onnx.recurrent_operators import cell_of

    node = helper.make_node(kind, ["x", "w", "r"], ["y"], hidden_size=2)
    assert cell_of(node)[0].value in (kind.lower(), "rnn_tanh")
    assert set(states_per_operator()) == {"LSTM", "RNN"}


def test_it_cannot_be_trained_and_that_is_said(clipped: Cell) -> None:
    assert not clipped.trainable
    with pytest.raises(InputError, match=r"Cell.GRU.* cannot be trained; choose .*RNN_RELU, Cell.LSTM"):
        TrainingSettings(cell=clipped)
