"""Model files: our own format, state dictionaries, PyTorch files, the released folders. Nothing in them may run."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import os
import pickle
import struct
import subprocess
import sys
import tarfile
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

from rnncheck.errors import AlphabetError, InputError, MissingExtraError, ModelError
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.files.loading import load_model
from rnncheck.models.files.released_folder import load_released
from rnncheck.models.files.safetensors_file import METADATA_KEY, load_network, save_network
from rnncheck.models.files.state_dict import network_from_arrays
from rnncheck.models.files.torch_file import read_torch_file
from rnncheck.models.network import Cell, Layer, RecurrentNetwork
from rnncheck.words import Alphabet, WordBatch
from support.paths import RELEASED

ABC = Alphabet(["a", "b", "c"])


def make_network(
    seed=0, *, cell=Cell.LSTM, layers=2, hidden=4, width=3, outputs=1, biases=True, padding=False, letters=ABC, **rest
):
    rng = np.random.default_rng(seed)

    def array(*shape):
        return rng.normal(size=shape).astype(np.float32)

    stack = []
    for number in range(layers):
        rows = cell.gates * hidden
        weights = array(rows, hidden if number else width), array(rows, hidden)
        stack.append(Layer(*weights, *((array(rows), array(rows)) if biases else ())))
    return RecurrentNetwork(
        alphabet=letters,
        cell=cell,
        inputs=array(len(letters), width),
        layers=tuple(stack),
        head_weight=array(outputs, hidden),
        head_bias=array(outputs),
        label=None if outputs == 1 else 1,
        padding=array(width) if padding else None,
        **rest,
    )


def state_dict_of(network, *, core="lstm.", embedding="embedding.", head="fc."):
    """The arrays of a network under PyTorch's names."""
    table = network.inputs if network.padding is None else np.vstack([network.padding, network.inputs])
    arrays = {f"{embedding}weight": table} if embedding is not None else {}
    for number, layer in enumerate(network.layers):
        names = {"weight_ih": layer.input_weight, "weight_hh": layer.recurrent_weight}
        names |= {"bias_ih": layer.input_bias, "bias_hh": layer.recurrent_bias}
        arrays |= {f"{core}{name}_l{number}": value for name, value in names.items() if value is not None}
    return arrays | {f"{head}weight": network.head_weight, f"{head}bias": network.head_bias}


def random_words(letters, count, longest, seed=0):
    rng = np.random.default_rng(seed)
    return [tuple(rng.integers(letters, size=rng.integers(0, longest + 1)).tolist()) for _ in range(count)]


def loaded_network(path, **options) -> RecurrentNetwork:
    """The network in a file whose model is compiled."""
    model = load_model(path, **options)
    assert isinstance(model, CompiledNetwork)
    return model.network


def refused(path, *parts, **options):
    """Loading must fail with a ModelError that names the file and says this."""
    with pytest.raises(ModelError) as caught:
        load_model(path, **options)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    for part in parts:
        assert part in message
    return message


# --- our own format ---------------------------------------------------------------------------------------------------

shapes = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 99),
        "cell": st.sampled_from(Cell),
        "layers": st.integers(1, 3),
        "hidden": st.integers(1, 5),
        "width": st.integers(1, 4),
        "outputs": st.integers(1, 3),
        "biases": st.booleans(),
        "padding": st.booleans(),
    }
)


@given(shapes, st.floats(0.01, 0.99))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_network_survives_its_file(tmp_path, shape, threshold):
    network = make_network(**shape, threshold=threshold, facts={"accuracy": 0.99, "words": [1, 2]})
    path = tmp_path / "model.safetensors"
    save_network(network, path)
    again = load_network(path)
    assert again.sha256() == network.sha256()
    assert again.facts == network.facts
    assert again.threshold == network.threshold
    for mine, theirs in zip(again._arrays(), network._arrays(), strict=True):
        assert (mine is None) == (theirs is None)
        assert mine is None or (mine.dtype == theirs.dtype and np.array_equal(mine, theirs))


any_letter = st.text(st.characters(), max_size=4)  # lone surrogates included


@given(st.lists(any_letter, min_size=1, max_size=6, unique=True))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_letter_survives(tmp_path, letters):
    network = make_network(letters=Alphabet(letters))
    save_network(network, tmp_path / "model.safetensors")
    assert load_network(tmp_path / "model.safetensors").alphabet.letters == tuple(letters)


@pytest.mark.parametrize(
    "letter", ["", " ", "a b", "'", '"', "\\", "\n", ",", "ε", "\ud83d\ude00", "\x00", "<book>", "😀"]
)
def test_awkward_letters_survive(tmp_path, letter):
    network = make_network(letters=Alphabet(["a", letter]))
    save_network(network, tmp_path / "model.safetensors")
    assert load_network(tmp_path / "model.safetensors").alphabet.letters == ("a", letter)


def test_float64_labels_and_numpy_facts_survive(tmp_path):
    network = make_network(outputs=3, labels=("no", "yes", "maybe"), facts={"loss": np.float32(0.5), "n": np.arange(3)})
    wide = dataclasses.replace(network, head_weight=network.head_weight.astype(np.float64) / 3)
    save_network(wide, tmp_path / "m.safetensors")
    again = load_network(tmp_path / "m.safetensors")
    assert again.labels == ("no", "yes", "maybe")
    assert again.head_weight.dtype == np.float64
    assert np.array_equal(again.head_weight, wide.head_weight)
    assert again.facts == {"loss": 0.5, "n": [0, 1, 2]}
    assert loaded_network(tmp_path / "m.safetensors", label="maybe").label == 2
    assert loaded_network(tmp_path / "m.safetensors", label=0).label == 0
    refused(tmp_path / "m.safetensors", "'perhaps'", "no, yes, maybe", label="perhaps")


def test_what_json_cannot_hold_is_refused(tmp_path):
    with pytest.raises(ModelError, match="JSON"):
        save_network(make_network(facts={"object": object()}), tmp_path / "m.safetensors")
    assert list(tmp_path.iterdir()) == []


def test_saving_fails_whole(tmp_path, monkeypatch):
    path = tmp_path / "model.safetensors"
    save_network(make_network(seed=1), path)
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        with pytest.raises(ModelError, match="No space left") as caught:
            save_network(make_network(seed=2), path)
    assert str(path) in str(caught.value)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    save_network(make_network(seed=2), path)
    assert path.read_bytes() != before
    with pytest.raises(ModelError):
        save_network(make_network(), tmp_path / "no folder" / "model.safetensors")


def test_verifying_needs_no_torch(tmp_path):
    save_network(make_network(), tmp_path / "model.safetensors")
    code = (
        "import sys; sys.modules.update(torch=None, onnx=None, onnxruntime=None)\nfrom rnncheck.models.files.loading "
        f"import load_model\nprint(load_model({str(tmp_path / 'model.safetensors')!r}).accepts(('a', 'b')))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() in ("True", "False")


def test_options_stand_in_for_what_the_file_says(tmp_path):
    path = tmp_path / "model.safetensors"
    save_network(make_network(), path)
    assert loaded_network(path, alphabet=["a", "b", "c"]).threshold == 0.5
    assert loaded_network(path, threshold=0.9).threshold == 0.9
    refused(path, "a,b,c", "in this order", alphabet=["c", "b", "a"])
    refused(path, "threshold", threshold=1.5)
    refused(path, "one output", label=1)
    with pytest.raises(AlphabetError):
        load_model(path, alphabet=["a", "a"])
    with pytest.raises(InputError, match="'lstn'"):
        load_model(path, cell="lstn")


def test_every_truncation_is_refused(tmp_path):
    path = tmp_path / "model.safetensors"
    save_network(make_network(layers=1), path)
    whole = path.read_bytes()
    for size in {*range(64), *range(64, len(whole), 61), len(whole) - 1}:
        path.write_bytes(whole[:size])
        refused(path)


@given(st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
def test_damaged_bytes_never_surprise(tmp_path, data):
    path = tmp_path / "model.safetensors"
    save_network(make_network(layers=1, hidden=2), path)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(bytes(content))
    with contextlib.suppress(ModelError):
        load_network(path)


def write_raw(path, header, body=b""):
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"abc",
        struct.pack("<Q", 2**63) + b"{}",
        struct.pack("<Q", 99_999_999) + b"{}",
        struct.pack("<Q", 2) + b"[]",
        struct.pack("<Q", 7) + b'{"a":1}',
        b"\x80\x04\x95" + b"\x00" * 40,
        struct.pack("<Q", 200_000) + b'{"a":' + b"[" * 199_995,
    ],
    ids=["empty", "short", "huge", "long", "list", "number", "pickle", "deep"],
)
def test_headers_that_lie_are_refused(tmp_path, content):
    path = tmp_path / "bad.safetensors"
    path.write_bytes(content)
    refused(path, "safetensors")


@pytest.mark.parametrize(
    "entry",
    [
        {"dtype": "F32", "shape": [2], "data_offsets": [0, 80]},
        {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]},
        {"dtype": "F32", "shape": [2**40, 2**40], "data_offsets": [0, 8]},
        {"dtype": "F32", "shape": [2], "data_offsets": [8, 0]},
        {"dtype": "F99", "shape": [2], "data_offsets": [0, 8]},
        {"dtype": "BF16", "shape": [4], "data_offsets": [0, 8]},
        {"dtype": "F8_E4M3", "shape": [8], "data_offsets": [0, 8]},
    ],
)
def test_offsets_and_types_that_lie_are_refused(tmp_path, entry):
    path = tmp_path / "bad.safetensors"
    write_raw(path, {"x": entry}, b"\0" * 8)
    refused(path)


def rewritten(tmp_path, network=None, *, document=None, arrays=None, metadata=None):
    """A file of our own with something changed."""
    path = tmp_path / "changed.safetensors"
    save_network(network or make_network(), path)
    from safetensors import safe_open

    with safe_open(path, "numpy") as file:
        stored = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        text = json.loads(file.metadata()[METADATA_KEY])
    text = {key: value for key, value in {**text, **(document or {})}.items() if value != "DROP"}
    stored = {name: value for name, value in {**stored, **(arrays or {})}.items() if value is not None}
    save_file(stored, path, metadata={METADATA_KEY: json.dumps(text)} if metadata is None else metadata)
    return path


NAN = np.full(1, np.nan, dtype=np.float32)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"document": {"format": "rnncheck/network/2"}}, "rnncheck/network/2"),
        ({"document": {"format": "DROP"}}, "format"),
        ({"document": {"cell": "transformer"}}, "transformer"),
        ({"document": {"cell": "gru"}}, "gru"),
        ({"document": {"alphabet": "a,b"}}, "input table"),
        ({"document": {"alphabet": "a,b,c,d"}}, "input table"),
        ({"document": {"alphabet": "a,b,b"}}, "'b' appears twice"),
        ({"document": {"alphabet": ""}}, "empty"),
        ({"document": {"alphabet": ["a", "b", "c"]}}, "alphabet"),
        ({"document": {"alphabet": "a,'b"}}, "not closed"),
        ({"document": {"threshold": 1.0}}, "threshold"),
        ({"document": {"threshold": "high"}}, "threshold"),
        ({"document": {"threshold": "DROP"}}, "threshold"),
        ({"document": {"layers": 3}}, "layer.2"),
        ({"document": {"layers": 1}}, "layer.1"),
        ({"document": {"layers": 0}}, "layers"),
        ({"document": {"layers": 10**9}}, "layers"),
        ({"document": {"label": 4}}, "label"),
        ({"document": {"surprise": 1}}, "surprise"),
        ({"document": {"facts": []}}, "facts"),
        ({"arrays": {"head.bias": None}}, "head.bias"),
        ({"arrays": {"head.bias": NAN}}, "NaN"),
        ({"arrays": {"head.bias": NAN * np.inf}}, "NaN"),
        ({"arrays": {"head.bias": np.zeros(2, np.float32)}}, "head bias"),
        ({"arrays": {"head.bias": np.zeros(1, np.int64)}}, "int64"),
        ({"arrays": {"inputs": np.zeros((3, 0), np.float32)}}, "input table"),
        ({"arrays": {"layer.1.input_weight": np.zeros((16, 3), np.float32)}}, "layer 1"),
        ({"arrays": {"layer.0.recurrent_weight": np.zeros(16, np.float32)}}, "layer 0"),
        ({"arrays": {"layer.9.input_weight": np.zeros((16, 3), np.float32)}}, "layer.9"),
        ({"arrays": {"padding": np.zeros(7, np.float32)}}, "padding"),
        ({"metadata": {METADATA_KEY: "{"}}, "metadata"),
        ({"metadata": {METADATA_KEY: "[1]"}}, "metadata"),
        ({"metadata": {METADATA_KEY: "[" * 50_000}}, "metadata"),
        ({"metadata": {METADATA_KEY: '{"format": "\\ud800"}'}}, ""),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, change, says):
    path = rewritten(tmp_path, **change)
    with pytest.raises(ModelError, match=str(path)):
        load_network(path)
    refused(path, says)


def test_a_foreign_safetensors_file_is_not_ours(tmp_path):
    path = rewritten(tmp_path, metadata={"made by": "someone"})
    with pytest.raises(ModelError, match="no rnncheck entry"):
        load_network(path)


def test_missing_files_and_unknown_kinds(tmp_path):
    for name in ("no.safetensors", "no.pt", "no.onnx", "no"):
        refused(tmp_path / name, "no such file")
    for name, says in {
        "m.pkl": "pickle",
        "m.pt2": "pickles",
        "m.txt": "'.txt'",
        "m.keras": "Keras",
        "m": "unknown",
    }.items():
        (tmp_path / name).write_bytes(b"x")
        refused(tmp_path / name, says)
    (tmp_path / "folder.safetensors").mkdir()
    refused(tmp_path / "folder.safetensors", "meta")
    (tmp_path / "folder.onnx").mkdir()
    refused(tmp_path / "folder.onnx", "meta")


# --- state dictionaries -----------------------------------------------------------------------------------------------


@given(
    shapes,
    st.sampled_from(["lstm.", "encoder.rnn.", "module.gru.", ""]),
    st.sampled_from(["embedding.", "m.embed.", "a.0."]),
    st.sampled_from(["fc.", "z.9.", "module.classifier.head."]),
)
def test_the_architecture_is_read_off_names_and_shapes(shape, core, embedding, head):
    shape["width"] = shape["hidden"] + 1  # so that only one reading is possible
    network = make_network(**shape)
    arrays = state_dict_of(network, core=core, embedding=embedding, head=head)
    shuffled = dict(sorted(arrays.items(), key=lambda item: hash((item[0], shape["seed"]))))
    cell = network.cell if network.cell.gates == 1 else None
    again = network_from_arrays(shuffled, ABC, label=network.label, cell=cell)
    assert again.sha256() == network.sha256()
    assert (again.padding is not None) == shape["padding"]


def test_one_hot_input_is_recognised():
    network = dataclasses.replace(make_network(cell=Cell.GRU), inputs=np.eye(3, dtype=np.float32))
    again = network_from_arrays(state_dict_of(network, embedding=None), ABC)
    assert again.sha256() == network.sha256()
    assert any("one-hot" in note for note in again.facts["assumptions"])


def test_a_head_without_bias_and_cells_without_layer_numbers():
    network = dataclasses.replace(make_network(layers=1), head_bias=np.zeros(1, np.float32))
    arrays = {name.replace("_l0", ""): value for name, value in state_dict_of(network).items() if name != "fc.bias"}
    assert network_from_arrays(arrays, ABC).sha256() == network.sha256()


def test_layers_in_several_modules_are_stacked_in_the_order_of_their_names():
    network = make_network(layers=11, hidden=3)
    arrays = state_dict_of(network)
    split = {}
    for name, value in arrays.items():
        stem, core, number = name.rpartition("_l")
        split[f"rnn{number}.{stem.removeprefix('lstm.')}_l0" if core else name] = value
    again = network_from_arrays(dict(sorted(split.items())), ABC)
    assert again.sha256() == network.sha256()
    assert any("stacked" in note for note in again.facts["assumptions"])


def test_embedding_and_head_of_the_same_width_are_told_by_bias_or_name():
    network = make_network(width=4, hidden=4)
    assert network_from_arrays(state_dict_of(network, embedding="x.", head="y."), ABC).sha256() == network.sha256()
    bare = state_dict_of(
        dataclasses.replace(network, head_bias=np.zeros(1, np.float32)), embedding="word_emb.", head="y."
    )
    del bare["y.bias"]
    assert len(network_from_arrays(bare, ABC).head_weight) == 1
    bare["x.weight"] = bare.pop("word_emb.weight")
    with pytest.raises(ModelError, match="either could be the embedding"):
        network_from_arrays(bare, ABC)


def test_an_elman_network_is_tanh_unless_told():
    network = make_network(cell=Cell.RNN_RELU)
    arrays = state_dict_of(network)
    assumed = network_from_arrays(arrays, ABC)
    assert assumed.cell is Cell.RNN_TANH
    assert any("tanh" in note for note in assumed.facts["assumptions"])
    told = network_from_arrays(arrays, ABC, cell=Cell.RNN_RELU)
    assert told.sha256() == network.sha256()
    assert not any("tanh" in note for note in told.facts["assumptions"])
    with pytest.raises(ModelError, match="'gru' was given"):
        network_from_arrays(arrays, ABC, cell=Cell.GRU)


def test_half_precision_is_widened():
    halves = {name: value.astype(np.float16) for name, value in state_dict_of(make_network()).items()}
    network = network_from_arrays(halves, ABC)
    assert network.inputs.dtype == np.float32
    assert np.array_equal(network.inputs, halves["embedding.weight"].astype(np.float32))


def test_assumptions_are_told(tmp_path):
    path = tmp_path / "m.safetensors"
    save_file(state_dict_of(make_network(cell=Cell.RNN_TANH, padding=True)), path)
    notes = load_model(path, alphabet=ABC).describe()["facts"]["assumptions"]
    assert any("tanh" in note for note in notes)
    assert any("padding" in note for note in notes)


ZEROS = np.zeros((4, 4), np.float32)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"lstm.weight_ih_l0_reverse": ZEROS}, "bidirectional"),
        ({"lstm.weight_hr_l0": ZEROS}, "proj_size"),
        ({"norm.weight": np.ones(4, np.float32)}, "norm.weight"),
        ({"attention.in_proj_weight": ZEROS}, "attention.in_proj_weight"),
        ({"extra.weight": np.ones((4, 5), np.float32)}, "3 matrices"),
        ({"lstm.weight_hh_l1": None}, "recurrent weight"),
        ({"lstm.weight_ih_l0": None}, "input weight"),
        ({"lstm.weight_ih_l3": ZEROS, "lstm.weight_hh_l3": ZEROS}, "number 3"),
        ({"lstm.weight_hh_l0": np.ones((8, 4), np.float32)}, "(8, 4)"),
        ({"lstm.weight_hh_l0": np.ones((12, 4), np.float32)}, "different kinds"),
        ({"lstm.weight_hh_l0": np.ones(16, np.float32)}, "(16,)"),
        ({"lstm.weight_ih_l0": np.ones((4, 3), np.float32)}, "layer 0"),
        ({"fc.weight": None, "fc.bias": None}, "none pair up"),
        ({"fc.weight": np.ones((1, 9), np.float32)}, "none pair up"),
        ({"embedding.weight": np.ones((9, 3), np.float32)}, "9 rows"),
        ({"embedding.weight": None}, "one-hot input has 3"),
        ({"embedding.bias": np.ones(3, np.float32)}, "none pair up"),
        ({"fc.bias": np.ones(1, np.int64)}, "int64"),
        ({"fc.bias": np.full(1, np.nan, np.float32)}, "NaN"),
        ({"tracked": np.zeros((), np.int64)}, "int64"),
    ],
)
def test_state_dictionaries_that_do_not_fit_are_refused(tmp_path, change, says):
    arrays = {name: value for name, value in {**state_dict_of(make_network()), **change}.items() if value is not None}
    path = tmp_path / "m.safetensors"
    save_file(arrays, path)
    letters = ["a", "b", "c"] if says != "one-hot input has 3" else ["a", "b"]
    refused(path, says, alphabet=letters)


def test_no_recurrent_layer(tmp_path):
    save_file({"fc.weight": ZEROS}, tmp_path / "m.safetensors")
    refused(tmp_path / "m.safetensors", "no recurrent layer", alphabet=ABC)


def test_several_outputs_need_a_label(tmp_path):
    path = tmp_path / "m.safetensors"
    save_file(state_dict_of(make_network(outputs=3)), path)
    refused(path, "3 outputs", "0 to 2", alphabet=ABC)
    refused(path, "give the number", alphabet=ABC, label="yes")
    assert loaded_network(path, alphabet=ABC, label=2).label == 2


def test_the_alphabet_may_stand_beside_the_file(tmp_path):
    path = tmp_path / "m.safetensors"
    save_file(state_dict_of(make_network()), path)
    refused(path, "alphabet=", "3 rows")
    (tmp_path / "alphabet.txt").write_text("x\n\n'a b'\n<c>\n")
    assert load_model(path).alphabet.letters == ("x", "a b", "<c>")
    (tmp_path / "m.safetensors.alphabet").write_text("p\nq\nr")
    assert load_model(path).alphabet.letters == ("p", "q", "r")
    assert load_model(path, alphabet=ABC).alphabet == ABC
    for text, says in {
        "a b\nc": ":1: 'a b'",
        "a\na\nb": "twice",
        "a": "3 rows",
        "": "empty",
        "a\nε": ":2:",
        "a\n'": ":2:",
    }.items():
        (tmp_path / "m.safetensors.alphabet").write_text(text)
        refused(path, says)
    (tmp_path / "m.safetensors.alphabet").write_bytes(b"\xff\xfe")
    refused(path, "text")


# --- PyTorch files ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


def tensors_of(torch, network):
    return {name: torch.from_numpy(np.array(value)) for name, value in state_dict_of(network).items()}


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("suffix", ["pt", "pth"])
def test_a_state_dictionary(torch, tmp_path, legacy, suffix):
    network = make_network(padding=True)
    path = tmp_path / f"m.{suffix}"
    torch.save(tensors_of(torch, network), path, _use_new_zipfile_serialization=not legacy)
    assert loaded_network(path, alphabet=ABC).sha256() == network.sha256()


@pytest.mark.parametrize("key", ["state_dict", "model_state_dict", "model", "anything"])
def test_a_checkpoint(torch, tmp_path, key):
    network = make_network()
    state = {"epoch": 3, "loss": 0.1, key: tensors_of(torch, network), "optimizer": {"state": {}, "param_groups": [1]}}
    torch.save(state, tmp_path / "m.pt")
    assert loaded_network(tmp_path / "m.pt", alphabet=ABC).sha256() == network.sha256()
    state["ema"] = tensors_of(torch, network)
    torch.save(state, tmp_path / "two.pt")
    if key == "anything":
        refused(tmp_path / "two.pt", "ema", alphabet=ABC)
    else:
        assert loaded_network(tmp_path / "two.pt", alphabet=ABC).sha256() == network.sha256()


class Payload:
    """Unpickling this runs a shell command."""

    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


@pytest.mark.parametrize("suffix", ["pt", "pth"])
@pytest.mark.parametrize("form", ["plain", "protocol 0", "torch", "legacy torch", "inside a state dict"])
def test_a_pickle_that_would_run_code_is_refused_and_does_not_run(torch, tmp_path, form, suffix):
    trap, path = tmp_path / "ran", tmp_path / f"m.{suffix}"
    payload = Payload(f"touch {trap}")
    if form == "plain":
        path.write_bytes(pickle.dumps(payload))
    elif form == "protocol 0":
        path.write_bytes(pickle.dumps(payload, protocol=0))
    elif form == "inside a state dict":
        torch.save({**tensors_of(torch, make_network()), "fc.bias": payload}, path)
    else:
        torch.save(payload, path, _use_new_zipfile_serialization=form == "torch")
    refused(path, alphabet=ABC)
    assert not trap.exists()
    with open(path, "rb") as file:
        if form == "plain":
            pickle.load(file)
            assert trap.exists()  # the trap works when it is sprung


def test_the_environment_cannot_turn_the_protection_off(torch, tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    torch.save(Payload(f"touch {tmp_path / 'ran'}"), tmp_path / "m.pt")
    message = refused(tmp_path / "m.pt", "run code", "state_dict()", alphabet=ABC)
    assert "system" in message
    assert not (tmp_path / "ran").exists()


def test_a_whole_module_is_refused(torch, tmp_path):
    torch.save(torch.nn.LSTM(2, 3), tmp_path / "m.pt")
    refused(tmp_path / "m.pt", "run code", alphabet=ABC)


def test_a_zip_bomb_is_refused_before_it_is_opened(torch, tmp_path, monkeypatch):
    monkeypatch.setattr(torch, "load", lambda *_, **__: pytest.fail("the bomb was opened"))
    path = tmp_path / "bomb.pt"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr("m/data.pkl", b"\0" * (8 << 20))
    assert path.stat().st_size < 20_000
    refused(path, "exhaust the memory", alphabet=ABC)
    big = tmp_path / "big.pt"
    with zipfile.ZipFile(big, "w") as archive:
        archive.writestr("m/data/0", b"\1" * 5000)
    with pytest.raises(ModelError, match="limit of 4000"):
        read_torch_file(big, limit=4000)


def test_a_tensor_that_claims_more_than_it_has_is_refused(torch, tmp_path):
    tensors = tensors_of(torch, make_network())
    tensors["fc.weight"] = torch.zeros(1).expand(1 << 40).reshape(1 << 20, 1 << 20)
    torch.save(tensors, tmp_path / "m.pt")
    refused(tmp_path / "m.pt", "fewer numbers", alphabet=ABC)


def archive_that_claims_more_than_it_has() -> bytes:
    """Its pickle has three bytes, and its directory says 4000."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr("m/data.pkl", b"\x80\x02.")
    content = bytearray(file.getvalue())
    sizes = content.index(b"PK\x01\x02") + 20
    content[sizes : sizes + 8] = (4000).to_bytes(4, "little") * 2
    return bytes(content)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"garbage" * 100,
        b"PK\x03\x04broken",
        b"\x80\x02.",
        pickle.dumps({"a": 1}),
        b"\x8e\x94\xa8\x0b\xf1\xce\x94#\x08\x10",  # bytes, as many as no memory holds
        archive_that_claims_more_than_it_has(),
    ],
)
def test_garbage_is_refused(torch, tmp_path, content):
    (tmp_path / "m.pt").write_bytes(content)
    refused(tmp_path / "m.pt", alphabet=ABC)


@pytest.mark.parametrize("archive", [False, True])
def test_a_name_of_a_million_letters_is_refused_at_once(torch, tmp_path, monkeypatch, archive):
    """Should not reach PyTorch, which takes hours to word its complaint about such a name."""
    monkeypatch.setattr(torch, "load", lambda *_, **__: pytest.fail("the name was handed on"))
    path, stream = tmp_path / "m.pt", b"\x80\x02c" + b"a" * 1_000_000 + b"\nb\n."
    if archive:
        with zipfile.ZipFile(path, "w") as packed:
            packed.writestr("m/data.pkl", stream)
    else:
        path.write_bytes(stream)
    with pytest.raises(ModelError, match="a name of 1000000 characters"):
        load_model(path, alphabet=ABC)


def test_old_archives_are_refused_unread(torch, tmp_path):
    with zipfile.ZipFile(tmp_path / "script.pt", "w") as archive:  # as TorchScript writes it
        archive.writestr("m/data.pkl", pickle.dumps(Payload(f"touch {tmp_path / 'ran'}")))
        archive.writestr("m/constants.pkl", b"\x80\x02).")
        archive.writestr("m/version", b"3\n")
    with tarfile.open(tmp_path / "tar.pt", "w") as archive:  # as PyTorch wrote it long ago
        for name in ("storages", "tensors", "pickle"):
            content = pickle.dumps(Payload(f"touch {tmp_path / 'ran'}"))
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    for name in ("script.pt", "tar.pt"):
        refused(tmp_path / name, alphabet=ABC)
    assert not (tmp_path / "ran").exists()


def test_truncated_torch_files_are_refused(torch, tmp_path):
    torch.save(tensors_of(torch, make_network()), tmp_path / "whole.pt")
    whole = (tmp_path / "whole.pt").read_bytes()
    for size in range(0, len(whole), len(whole) // 23):
        (tmp_path / "m.pt").write_bytes(whole[:size])
        refused(tmp_path / "m.pt", alphabet=ABC)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda torch: torch.zeros(1, dtype=torch.int64), "int64"),
        (lambda torch: torch.zeros(1, dtype=torch.complex64), "complex64"),
        (lambda torch: torch.zeros(1).to_sparse(), "sparse"),
        (lambda torch: torch.zeros(1, device="meta"), "sparse, quantised or empty"),
        (lambda torch: torch.full((1,), float("nan")), "NaN"),
    ],
)
def test_strange_tensors_are_refused(torch, tmp_path, make, says):
    torch.save({**tensors_of(torch, make_network()), "fc.bias": make(torch)}, tmp_path / "m.pt")
    refused(tmp_path / "m.pt", says, alphabet=ABC)


def test_half_precision_and_transposed_tensors(torch, tmp_path):
    network = make_network()
    tensors = tensors_of(torch, network)
    tensors["fc.weight"] = tensors["fc.weight"].to(torch.bfloat16)
    tensors["embedding.weight"] = tensors["embedding.weight"].t().contiguous().t()
    torch.save(tensors, tmp_path / "m.pt")
    loaded = loaded_network(tmp_path / "m.pt", alphabet=ABC)
    assert np.array_equal(loaded.inputs, network.inputs)
    assert np.array_equal(loaded.head_weight, tensors["fc.weight"].to(torch.float32).numpy())


def test_without_torch_the_extra_is_named(tmp_path, monkeypatch):
    (tmp_path / "m.pt").write_bytes(b"x")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"rnncheck\[torch\]"):
        load_model(tmp_path / "m.pt", alphabet=ABC)


def test_a_torch_that_is_too_old_is_not_trusted(torch, tmp_path, monkeypatch):
    (tmp_path / "m.pt").write_bytes(b"x")
    monkeypatch.setattr(torch, "__version__", "2.5.1+cpu")
    refused(tmp_path / "m.pt", "2.5.1", "2.6", alphabet=ABC)


@pytest.mark.parametrize(("kind", "cell"), [("LSTM", None), ("GRU", None), ("RNN", None), ("RNN", "rnn_relu")])
def test_a_state_dictionary_answers_as_the_module_it_comes_from(torch, tmp_path, kind, cell):
    torch.manual_seed(5)
    extra = {"nonlinearity": "relu"} if cell else {}
    core = getattr(torch.nn, kind)(3, 6, 2, batch_first=True, **extra)
    table, head = torch.nn.Embedding(3, 3), torch.nn.Linear(6, 1)
    module = torch.nn.ModuleDict({"letters": table, "core": core, "head": head})
    torch.save(module.state_dict(), tmp_path / "m.pt")
    model = load_model(tmp_path / "m.pt", alphabet=ABC, cell=cell)
    words = [word for word in random_words(3, 120, 40) if word]
    with torch.inference_mode():
        outputs = [head(core(table(torch.tensor([word])))[0][:, -1]).item() for word in words]
    assert np.allclose(model.scores_batch(WordBatch.from_codes(words)), outputs, atol=1e-5)
    assert model.accepts_batch(WordBatch.from_codes(words)).tolist() == [value > 0 for value in outputs]


# --- released folders -------------------------------------------------------------------------------------------------


def make_folder(folder, network, meta, name="state_dict.safetensors"):
    folder.mkdir(exist_ok=True)
    save_file(state_dict_of(network), folder / name)
    (folder / "meta").write_text(meta)


META = (
    "Metadata:\nalphabet = a,b,c\nembedding_dim = 3\nhidden_dim = 4\nn_layers = 2\ntorch_save = state_dict.safetensors"
)


def test_a_folder(tmp_path):
    network = make_network(padding=True)
    make_folder(tmp_path / "m", network, META)
    loaded = loaded_network(tmp_path / "m", threshold=0.4)
    assert loaded.sha256() == dataclasses.replace(network, threshold=0.4).sha256()
    assert load_released(tmp_path / "m").facts["source"] == "released folder"


@pytest.mark.parametrize(
    ("meta", "says"),
    [
        ("", "alphabet"),
        ("alphabet =", "alphabet"),
        (META.replace("a,b,c", "a,b"), "2 letters"),
        (META.replace("a,b,c", "a,b,c,d,e"), "5 letters"),
        (META.replace("a,b,c", "a,b,c,d"), "one row more"),
        (META.replace("a,b,c", "a,b,a"), "twice"),
        (META.replace("hidden_dim = 4", "hidden_dim = 5"), "hidden_dim"),
        (META.replace("n_layers = 2", "n_layers = many"), "n_layers"),
        (META.replace("embedding_dim = 3", "embedding_dim = 2"), "embedding_dim"),
        (META.replace("= state_dict", "= ../state_dict"), "of this folder"),
        (META.replace("= state_dict", "= /etc/state_dict"), "of this folder"),
        (META.replace("= state_dict", "= other"), "no such file"),
    ],
)
def test_folders_that_do_not_fit_are_refused(tmp_path, meta, says):
    make_folder(tmp_path / "m", make_network(padding=True), meta)
    refused(tmp_path / "m", says)


def test_a_folder_that_is_none(tmp_path):
    refused(tmp_path, "meta")
    make_folder(tmp_path / "m", make_network(padding=True), META)
    (tmp_path / "m" / "meta").write_bytes(b"\xff" * 10)
    refused(tmp_path / "m", "UTF-8")
    with pytest.raises(ModelError, match="cannot be read"):
        load_released(tmp_path / "nowhere")


def released_folders():
    return sorted(path.parent for path in RELEASED.glob("*/*/meta"))


def plain_torch_answers(torch, folder, words):
    """The released model written down anew: embedding, LSTM, linear layer, sigmoid; the empty word is padding."""
    state = torch.load(folder / "state_dict.pt", weights_only=True, map_location="cpu")
    table = torch.nn.Embedding.from_pretrained(state["embedding.weight"])
    hidden, layers = state["fc.weight"].shape[1], sum("weight_ih" in name for name in state)
    core = torch.nn.LSTM(table.embedding_dim, hidden, layers, batch_first=True)
    core.load_state_dict({name.removeprefix("lstm."): value for name, value in state.items() if "lstm." in name})
    rows = [torch.tensor([code + 1 for code in word] or [0]) for word in words]
    answers = []
    with torch.inference_mode():
        for start in range(0, len(rows), 256):
            packed = torch.nn.utils.rnn.pack_sequence(rows[start : start + 256], enforce_sorted=False)
            _, (last, _) = core(packed._replace(data=table(packed.data)))
            answers.append(torch.sigmoid(last[-1] @ state["fc.weight"].T + state["fc.bias"])[:, 0] > 0.5)
    return torch.cat(answers).numpy()


def check_released(torch, folder, count):
    model = load_model(folder)
    words = sorted(random_words(len(model.alphabet), count, 300, seed=11), key=len)
    words += [(), *[(letter,) for letter in range(len(model.alphabet))]]
    ours = model.accepts_batch(WordBatch.from_codes(words))
    differences = np.flatnonzero(ours != plain_torch_answers(torch, folder, words))
    assert differences.size == 0
    assert "released" in model.describe()["facts"]["source"]


needs_data = pytest.mark.skipif(not released_folders(), reason="../shared/data/released is not there")


@needs_data
@pytest.mark.parametrize("folder", released_folders(), ids=lambda folder: folder.name)
def test_released_networks_answer_as_plain_torch_does(torch, folder):
    check_released(torch, folder, 100)


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize("folder", released_folders(), ids=lambda folder: folder.name)
def test_released_networks_answer_as_plain_torch_does_on_many_words(torch, folder):
    check_released(torch, folder, 2000)


@needs_data
def test_all_released_networks_are_there():
    assert len(released_folders()) == 8


@pytest.mark.parametrize("name", ["meta", "state_dict.safetensors"])
def test_nothing_in_a_folder_leads_out_of_it(tmp_path, name):
    """A link to a file elsewhere is refused, whatever it is; one to a file of the folder is not."""
    make_folder(tmp_path / "m", make_network(padding=True), META)
    inside = tmp_path / "m" / name
    inside.rename(tmp_path / "m" / "moved")
    inside.symlink_to("moved")
    loaded_network(tmp_path / "m")
    (tmp_path / "m" / "moved").rename(tmp_path / "elsewhere")
    for target in (tmp_path / "elsewhere", "../elsewhere", "../m/../elsewhere"):
        inside.unlink()
        inside.symlink_to(target)
        refused(tmp_path / "m", "leads out of this folder")
    (tmp_path / "alias").symlink_to("m")  # the folder itself may be reached by a link
    inside.unlink()
    (tmp_path / "elsewhere").rename(inside)
    loaded_network(tmp_path / "alias")
