"""ONNX files: weights compiled, graphs stepped, or run on whole words; and nothing outside the model's folder."""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import sys
import warnings
from typing import Any

import numpy as np
import pytest

from rnncheck.cli import main
from rnncheck.errors import MissingExtraError, ModelError
from rnncheck.models.black_box import BlackBoxModel
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.engine.mlp_head import HeadedNetwork
from rnncheck.models.files.loading import load_model
from rnncheck.words import Alphabet, WordBatch

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402 - only where onnx is there

from rnncheck.models.foreign.onnx.sessions import OnnxSteps  # noqa: E402

LETTERS = Alphabet(["a", "b", "c", "<d>", "5"])
K, E, H = len(LETTERS), 3, 4


def random_words(count, longest, seed=0):
    rng = np.random.default_rng(seed)
    words = [tuple(rng.integers(K, size=rng.integers(1, longest + 1)).tolist()) for _ in range(count)]
    return [*words, *[(letter,) for letter in range(K)]]


# --- files exported by PyTorch ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


def classifier(
    torch, kind="LSTM", *, rows=K, batch_first=True, outputs=1, end="none", layers=2, mode="last", **options
):
    nn: Any = torch.nn

    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(rows, E)
            self.core = getattr(nn, kind)(E, H, layers, batch_first=batch_first, **options)
            self.middle = nn.Linear(H, H)
            self.head = nn.Linear(H * (2 if options.get("bidirectional") else 1), outputs)

        def forward(self, x, *states):
            given = () if not states else (tuple(states) if kind == "LSTM" else states[0],)
            out, left = self.core(self.table(x), *given)
            last = out[:, -1] if batch_first else out[-1]
            if mode == "mean":
                last = out.mean(1)
            elif mode == "two linear layers":
                last = torch.relu(self.middle(last))
            z = self.head(last)
            z = {"none": lambda: z, "sigmoid": z.sigmoid, "softmax": lambda: z.softmax(-1), "tanh": z.tanh}[end]()
            left = left if isinstance(left, tuple) else (left,)
            return (z, *left) if states else z

    torch.manual_seed(3)
    module = Classifier().eval()
    logits = []
    handle = module.head.register_forward_hook(lambda *call: logits.append(call[2].reshape(outputs)))
    with torch.no_grad():  # larger weights, and a bias with which half the answers are yes
        for parameter in module.parameters():
            parameter.mul_(1.8)
        for word in random_words(40, 20, seed=9):
            module(torch.tensor([word]) if batch_first else torch.tensor(word)[:, None])
        module.head.bias.sub_(torch.stack(logits).median(0).values)
    handle.remove()
    return module


def export(torch, module, path, inputs, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # this exporter is announced to be removed, and warns about dynamic sizes
        torch.onnx.export(module, inputs, str(path), dynamo=False, **options)


def ids(torch, *shape):
    return torch.zeros(shape, dtype=torch.long)


FREE = {"input_names": ["x"], "output_names": ["y"], "dynamic_axes": {"x": {0: "p", 1: "q"}}}
COMPILED = {
    "lstm": ({}, {}),
    "lstm, sigmoid, padding": ({"end": "sigmoid", "rows": K + 1}, {}),
    "lstm, no bias": ({"bias": False, "layers": 1}, {}),
    "gru": ({"kind": "GRU"}, {}),
    "gru, time first": ({"kind": "GRU", "batch_first": False, "end": "sigmoid"}, {"threshold": 0.49}),
    "rnn": ({"kind": "RNN"}, {}),
    "relu": ({"kind": "RNN", "nonlinearity": "relu", "layers": 1}, {}),
    "three outputs": ({"outputs": 3, "end": "softmax"}, {"label": 1}),
}


def logit(p):
    return math.log(p / (1 - p))


def torch_answers(torch, module, words, shape, options):
    """The module that the file was made of, on each word alone."""
    answers = []
    with torch.no_grad():
        for word in words:
            x = torch.tensor([code + (shape.get("rows", K) - K) for code in word])
            out = module(x[None] if shape.get("batch_first", True) else x[:, None]).double().flatten()
            threshold = options.get("threshold", 0.5)
            limit = threshold if shape.get("end") == "sigmoid" else logit(threshold)
            answers.append(int(out.argmax()) == options["label"] if "label" in options else out.item() > limit)
    return answers


def check_file(torch, path, module, words, shape, options):
    model = load_model(path, alphabet=LETTERS, threads=1, **options)
    expected = np.array(torch_answers(torch, module, words, shape, options))
    assert 0 < expected.sum() < len(expected)  # or a wrong answer could not be seen
    rng = np.random.default_rng(1)
    for size in (1, 7, 256):
        part = rng.permutation(len(words))[: 20 * size]
        for start in range(0, len(part), size):
            rows = part[start : start + size]
            answers = model.accepts_batch(WordBatch.from_codes([words[row] for row in rows]))
            assert answers.tolist() == expected[rows].tolist()
    assert [model.reference_answer(word) for word in words[:15]] == expected[:15].tolist()
    return model


@pytest.mark.parametrize("name", COMPILED)
def test_exported_classifiers_are_compiled(torch, tmp_path, name):
    shape, options = COMPILED[name]
    module = classifier(torch, **shape)
    export(torch, module, tmp_path / "m.onnx", (ids(torch, 2, 5),), **FREE)
    model = check_file(torch, tmp_path / "m.onnx", module, random_words(80, 60), shape, options)
    assert isinstance(model, CompiledNetwork)
    assert "compiled" in model.describe()["facts"]["stepping"]
    assert not model.accepts(())
    assert load_model(tmp_path / "m.onnx", alphabet=LETTERS, empty=True, **options).accepts(())


@pytest.mark.slow
@pytest.mark.parametrize("name", COMPILED)
def test_many_words(torch, tmp_path, name):
    shape, options = COMPILED[name]
    module = classifier(torch, **shape)
    export(torch, module, tmp_path / "m.onnx", (ids(torch, 2, 5),), **FREE)
    check_file(torch, tmp_path / "m.onnx", module, random_words(2000, 300), shape, options)


def test_a_file_whose_sizes_are_fixed_is_taken_for_other_lengths(torch, tmp_path):
    module = classifier(torch)
    export(torch, module, tmp_path / "m.onnx", (ids(torch, 1, 5),))
    model = check_file(torch, tmp_path / "m.onnx", module, random_words(40, 30), {}, {})
    assert isinstance(model, CompiledNetwork)
    assert any("fixes the shape" in note and "1 × 5" in note for note in model.describe()["facts"]["notes"])


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_a_head_of_two_layers_is_compiled(torch, tmp_path, kind):
    shape = {"kind": kind, "mode": "two linear layers", "end": "sigmoid"}
    module = classifier(torch, **shape)
    export(torch, module, tmp_path / "m.onnx", (ids(torch, 2, 5),), **FREE)
    model = check_file(torch, tmp_path / "m.onnx", module, random_words(60, 60), shape, {})
    assert isinstance(model, HeadedNetwork)
    assert model.describe()["head"] == "linear, relu, linear"


@pytest.mark.parametrize(
    "shape", [{"mode": "mean"}, {"bidirectional": True, "layers": 1}], ids=["mean", "bidirectional"]
)
def test_other_graphs_are_run_on_whole_words(torch, tmp_path, shape):
    module = classifier(torch, **shape)
    export(torch, module, tmp_path / "m.onnx", (ids(torch, 2, 5),), **FREE)
    model = check_file(torch, tmp_path / "m.onnx", module, random_words(60, 60), shape, {})
    assert isinstance(model, BlackBoxModel)
    facts = model.describe()
    assert "not possible" in facts["compiling"]
    assert "not possible" in facts["stepping"]


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
@pytest.mark.parametrize("end", ["none", "tanh"])
@pytest.mark.parametrize("fixed", [False, True])
def test_graphs_with_states_as_inputs(torch, tmp_path, kind, end, fixed):
    shape = {"kind": kind, "batch_first": False, "end": end}
    module = classifier(torch, **shape)
    count = 2 if kind == "LSTM" else 1
    states = [torch.zeros(2, 1, H) for _ in range(count)]
    given, left = [f"in{i}" for i in range(count)], [f"out{i}" for i in range(count)]
    free = {name: {1: "rows"} for name in ("x", *given)}
    options = {} if fixed else {"dynamic_axes": free}
    names = {"input_names": ["x", *given], "output_names": ["y", *left]}
    export(torch, module, tmp_path / "m.onnx", (ids(torch, 1, 1), *states), **names, **options)
    model = check_file(
        torch, tmp_path / "m.onnx", module, random_words(40, 25), shape, {"output": "logit"} if end == "tanh" else {}
    )
    assert isinstance(model, CompiledNetwork if end == "none" else HeadedNetwork)


def test_one_hot_vectors(torch: Any, tmp_path):
    torch.manual_seed(1)
    core, head = torch.nn.GRU(K, H), torch.nn.Linear(H, 1)

    class OneHot(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.core, self.head = core, head

        def forward(self, x):
            return torch.sigmoid(self.head(self.core(x)[0][-1]))

    free = {"input_names": ["x"], "dynamic_axes": {"x": {0: "t", 1: "b"}}}
    export(torch, OneHot(), tmp_path / "m.onnx", (torch.zeros(5, 2, K),), **free)
    model = load_model(tmp_path / "m.onnx", alphabet=LETTERS)
    assert isinstance(model, CompiledNetwork)
    words = random_words(60, 40)
    with torch.no_grad():
        encoded = [torch.nn.functional.one_hot(torch.tensor(word), K).float()[:, None] for word in words]
        expected = [OneHot()(x).item() > 0.5 for x in encoded]
    assert model.accepts_batch(WordBatch.from_codes(words)).tolist() == expected


# --- graphs made by hand ----------------------------------------------------------------------------------------------


def graph(
    op="LSTM",
    *,
    attributes=None,
    biases=True,
    head=("MatMul",),
    end=(),
    layout="BT",
    domain="",
    seed=0,
    free=("B", "T"),
    joining=False,
):
    """An embedding, one recurrent operator, its last state, a head: as a model."""
    rng = np.random.default_rng(seed)
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]

    def array(*shape):
        return (0.7 * rng.normal(size=shape)).astype(np.float32)

    stored = {"emb": array(K, E), "W": array(1, gates * H, E), "R": array(1, gates * H, H), "F": array(H, 1)}
    stored |= {"B": array(1, 2 * gates * H)} if biases else {}
    stored |= {"f": array(1) / 20, "zero": np.array([0]), "Ft": stored["F"].T.copy()}
    x = "t" if layout == "BT" else "e"
    nodes = [helper.make_node("Gather", ["emb", "x"], ["e"])]
    nodes += [helper.make_node("Transpose", ["e"], ["t"], perm=[1, 0, 2])] if layout == "BT" else []
    if joining:  # of the first letter something is added to all, if it is large enough
        stored |= {"one": np.array([1]), "J": np.zeros((E, E), np.float32), "j": np.full(E, -50.0, np.float32)}
        nodes += [
            helper.make_node("Slice", [x, "zero", "one", "zero"], ["first"]),
            helper.make_node("MatMul", ["first", "J"], ["m"]),
            helper.make_node("Add", ["m", "j"], ["n"]),
            helper.make_node("Relu", ["n"], ["r"]),
            helper.make_node("Add", [x, "r"], ["joined"]),
        ]
        x = "joined"
    inputs = [x, "W", "R", *(["B"] if biases else [])]
    nodes.append(helper.make_node(op, inputs, ["", "last"], hidden_size=H, domain=domain, **(attributes or {})))
    nodes.append(helper.make_node("Squeeze", ["last", "zero"], ["h"]))
    if head == ("MatMul",):
        nodes.append(helper.make_node("MatMul", ["h", "F"], ["z"]))
    elif head == ("MatMul", "Add"):
        nodes += [helper.make_node("MatMul", ["h", "F"], ["p"]), helper.make_node("Add", ["f", "p"], ["z"])]
    else:
        nodes.append(helper.make_node("Gemm", ["h", "Ft", "f"], ["z"], alpha=0.5, beta=2.0, transB=1))
    name = "z"
    for number, operator in enumerate(end):
        nodes.append(helper.make_node(operator, [name], [f"end{number}"]))
        name = f"end{number}"
    made = helper.make_graph(
        nodes,
        "by hand",
        [helper.make_tensor_value_info("x", TensorProto.INT64, list(free))],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, key) for key, value in stored.items()],
    )
    opsets = [helper.make_opsetid("", 17), *([helper.make_opsetid(domain, 1)] if domain else [])]
    return helper.make_model(made, opset_imports=opsets, ir_version=9)


def rare_first_state(tmp_path):
    """An Elman network that counts a d a d …, begun one step ahead: only (a d)⁸ shows it."""
    units = 17
    stored = {
        "E": np.eye(4, dtype=np.float32),
        "W": np.zeros((1, units, 4), np.float32),
        "R": np.zeros((1, units, units), np.float32),
        "B": np.zeros((1, 2 * units), np.float32),
        "F": np.zeros((units, 1), np.float32),
        "f": np.array([-5.0], np.float32),
        "first": np.zeros((1, 1, units), np.float32),
        "one": np.array([0]),
    }
    stored["first"][0, 0, 0] = 1.0  # unit i: i letters of a d a d … were read; with zeros nothing ever is
    for i in range(1, units):
        stored["W"][0, i, 0 if i % 2 else 3] = 1.0
        stored["R"][0, i, i - 1] = 1.0
        stored["B"][0, i] = -1.0
    stored["F"][units - 1, 0] = 10.0
    nodes = [
        helper.make_node("Gather", ["E", "x"], ["e"]),
        helper.make_node("Transpose", ["e"], ["t"], perm=[1, 0, 2]),
        helper.make_node("RNN", ["t", "W", "R", "B", "", "first"], ["", "h"], hidden_size=units, activations=["Relu"]),
        helper.make_node("Squeeze", ["h", "one"], ["s"]),
        helper.make_node("Gemm", ["s", "F", "f"], ["y"]),
    ]
    made = helper.make_graph(
        nodes,
        "rare",
        [helper.make_tensor_value_info("x", TensorProto.INT64, [1, "T"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, key) for key, value in stored.items()],
    )
    onnx.save(
        helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "rare.onnx"
    )
    return tmp_path / "rare.onnx"


def test_a_first_state_that_matters_on_one_word_is_kept(tmp_path, capsys):
    """Should answer as the graph does in every command, whatever the state that it begins in."""
    path, word = rare_first_state(tmp_path), ("a", "d") * 8
    model = load_model(path, alphabet=list("abcd"))
    assert isinstance(model, OnnxSteps)
    assert "has an initial state that is not zero" in model.describe()["compiling"]
    assert model.accepts_batch([word, word[:-1], ("a", "d") * 7, (*word, "a")]).tolist() == [True, False, False, False]
    assert model.scores_batch([word]).tolist() == pytest.approx([5.0])
    with pytest.raises(SystemExit, match="0"):
        main(["classify", str(path), "--alphabet", "a,b,c,d", "--word", " ".join(word)])
    assert capsys.readouterr().out.startswith("accepted\t+5.0000")
    (tmp_path / "words.txt").write_text(" ".join(word) + "\n")
    options = ["--alphabet", "a,b,c,d", "--regex", "a*", "--on-data", str(tmp_path / "words.txt"), "--method", "smc"]
    with pytest.raises(SystemExit, match="1"):
        main(["verify", str(path), *options])
    assert "1 of 1" in capsys.readouterr().out


def test_ids_of_an_alphabet_are_used(tmp_path):
    made = graph("GRU", attributes={"linear_before_reset": 1})
    onnx.save(made, tmp_path / "m.onnx")
    plain = load_model(tmp_path / "m.onnx", alphabet=LETTERS)
    swapped = load_model(tmp_path / "m.onnx", alphabet={"p": 4, "q": 0})
    assert isinstance(swapped, CompiledNetwork)
    words = [("p", "q", "q"), ("q",), ("p",), ("q", "p")]
    same = [tuple({"p": "5", "q": "a"}[letter] for letter in word) for word in words]
    assert swapped.scores_batch(words).tolist() == pytest.approx(plain.scores_batch(same).tolist(), abs=1e-6)
    with pytest.raises(ModelError, match="has the id 5, but the embedding has 5 rows"):
        load_model(tmp_path / "m.onnx", alphabet={"p": 5, "q": 0})


def session_answers(model, words, probability=False):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    outputs = [session.run(None, {"x": np.array([word])})[0].item() for word in words]
    return [value > (0.5 if probability else 0.0) for value in outputs]


@pytest.mark.parametrize("op", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("head", [("MatMul",), ("MatMul", "Add"), ("Gemm",)], ids="+".join)
@pytest.mark.parametrize("biases", [True, False])
def test_graphs_by_hand_are_compiled(tmp_path, op, head, biases):
    attributes = {"linear_before_reset": 1} if op == "GRU" else {}
    made = graph(op, head=head, biases=biases, attributes=attributes, end=("Identity", "Sigmoid", "Flatten"))
    onnx.save(made, tmp_path / "m.onnx")
    model = load_model(tmp_path / "m.onnx", alphabet=LETTERS, threads=1)
    assert isinstance(model, CompiledNetwork)
    words = random_words(60, 40)
    expected = session_answers(made, words, probability=True)
    assert model.accepts_batch(WordBatch.from_codes(words)).tolist() == expected
    assert 0 < sum(expected) < len(expected)


@pytest.mark.parametrize(
    ("op", "attributes", "says"),
    [
        ("GRU", {}, "linear_before_reset"),
        ("RNN", {"activations": ["Softsign"]}, "softsign"),
        ("LSTM", {"clip": 0.5}, "clips"),
        ("LSTM", {"input_forget": 1}, "couples"),
    ],
)
def test_operators_that_differ_from_ours_are_stepped_by_onnxruntime(tmp_path, op, attributes, says):
    made = graph(op, attributes=attributes)
    onnx.save(made, tmp_path / "m.onnx")
    model = load_model(tmp_path / "m.onnx", alphabet=LETTERS, threads=1)
    assert isinstance(model, OnnxSteps)
    assert says in model.describe()["compiling"]
    words = random_words(80, 40)
    expected = session_answers(made, words)
    assert model.accepts_batch(WordBatch.from_codes(words)).tolist() == expected
    assert [model.reference_answer(word) for word in words] == expected
    states = model.step(model.initial(3), np.array([0, 1, 2]))
    branched = model.step(states, np.array([3, 4, 3, 0]), np.array([2, 2, 0, 1]))
    pairs = WordBatch.from_codes([(2, 3), (2, 4), (0, 3), (1, 0)])
    assert np.allclose(model.scores(branched), model.scores_batch(pairs), atol=1e-5)


def test_a_graph_that_joins_letters_is_not_taken_apart(tmp_path):
    """What is made of the first letter is silent in every word that is tried."""
    onnx.save(graph(joining=True), tmp_path / "m.onnx")
    model = load_model(tmp_path / "m.onnx", alphabet=LETTERS)
    assert isinstance(model, BlackBoxModel)
    assert "takes letters 0 to 1" in str(model.describe()["stepping"])


def test_a_reversed_operator_is_run_on_whole_words(tmp_path):
    made = graph(attributes={"direction": "reverse"})
    onnx.save(made, tmp_path / "m.onnx")
    model = load_model(tmp_path / "m.onnx", alphabet=LETTERS)
    assert isinstance(model, BlackBoxModel)
    words = random_words(60, 40)
    assert model.accepts_batch(WordBatch.from_codes(words)).tolist() == session_answers(made, words)


def test_stepped_and_whole_models_can_be_sent_to_other_processes(tmp_path):
    batch = WordBatch.from_codes(random_words(30, 20))
    for attributes in ({}, {"clip": 0.5}, {"direction": "reverse"}):
        onnx.save(graph(attributes=attributes), tmp_path / "m.onnx")
        model = load_model(tmp_path / "m.onnx", alphabet=LETTERS)
        again = pickle.loads(pickle.dumps(model))
        assert again.accepts_batch(batch).tolist() == model.accepts_batch(batch).tolist()


def test_a_probability_in_disguise_is_guessed_and_told(tmp_path):
    onnx.save(graph(attributes={"clip": 0.5}, end=("HardSigmoid",)), tmp_path / "m.onnx")
    facts = load_model(tmp_path / "m.onnx", alphabet=LETTERS).describe()
    assert any("probability" in note and "range" in note for note in facts["notes"])


# --- what is refused --------------------------------------------------------------------------------------------------


def refused(path, says, **options):
    with pytest.raises(ModelError) as caught:
        load_model(path, **{"alphabet": LETTERS, **options})
    assert str(path) in str(caught.value)
    assert says in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"\x08\x07", b"garbage" * 30, b"\x80\x04\x95" + b"\0" * 50, b"PK\x03\x04"])
def test_garbage_is_refused(tmp_path, content):
    (tmp_path / "m.onnx").write_bytes(content)
    refused(tmp_path / "m.onnx", "is not an ONNX file")


def test_truncated_and_damaged_files_are_refused_or_load(tmp_path):
    whole = graph().SerializeToString()
    for size in range(0, len(whole), len(whole) // 17):
        (tmp_path / "m.onnx").write_bytes(whole[:size])
        refused(tmp_path / "m.onnx", "")
    rng = np.random.default_rng(0)
    for _ in range(40):
        content = bytearray(whole)
        for at in rng.integers(len(content), size=2):
            content[at] = rng.integers(256)
        (tmp_path / "m.onnx").write_bytes(bytes(content))
        with contextlib.suppress(ModelError):
            load_model(tmp_path / "m.onnx", alphabet=LETTERS, threads=1)


def external(tmp_path, location, **more):
    """A file whose embedding is kept elsewhere."""
    made = graph()
    tensor = next(tensor for tensor in made.graph.initializer if tensor.name == "emb")
    data = bytes(tensor.raw_data)
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, "offset": "0", "length": str(len(data)), **more}.items():
        tensor.external_data.add(key=key, value=value)
    folder = tmp_path / "model"
    folder.mkdir(exist_ok=True)
    (folder / "m.onnx").write_bytes(made.SerializeToString())
    return folder / "m.onnx", data


def test_external_data_in_the_models_own_folder_is_read(tmp_path):
    path, data = external(tmp_path, "weights.bin")
    refused(path, "missing")
    (path.parent / "weights.bin").write_bytes(data)
    words = random_words(40, 20)
    model = load_model(path, alphabet=LETTERS)
    assert model.accepts_batch(WordBatch.from_codes(words)).tolist() == session_answers(graph(), words)


@pytest.mark.parametrize("location", ["../secret.bin", "ABSOLUTE", "sub/../../secret.bin", "link.bin", "", "."])
def test_external_data_outside_the_models_folder_is_refused(tmp_path, location):
    secret = tmp_path / "secret.bin"
    path, data = external(tmp_path, str(secret) if location == "ABSOLUTE" else location)
    secret.write_bytes(data)
    os.symlink(secret, path.parent / "link.bin")
    refused(path, "outside the model's own folder")


@pytest.mark.parametrize("more", [{"length": "999999"}, {"offset": "999999"}, {"length": "x"}, {"offset": "-4"}])
def test_external_data_that_lies_is_refused(tmp_path, more):
    path, data = external(tmp_path, "weights.bin", **more)
    (path.parent / "weights.bin").write_bytes(data)
    refused(path, "")


def test_external_data_of_absurd_size_is_refused(tmp_path):
    path, data = external(tmp_path, "weights.bin", length=str(1 << 40))
    (path.parent / "weights.bin").write_bytes(data)
    refused(path, "limit")


def test_custom_operators_are_refused(tmp_path):
    onnx.save(graph(domain="com.example.mine"), tmp_path / "m.onnx")
    refused(tmp_path / "m.onnx", "onnxruntime cannot load the graph")


def test_letters_are_needed(tmp_path):
    onnx.save(graph(), tmp_path / "m.onnx")
    refused(tmp_path / "m.onnx", "alphabet", alphabet=None)
    (tmp_path / "alphabet.txt").write_text("a\nb\nc\n<d>\n5\n")
    assert load_model(tmp_path / "m.onnx").alphabet == LETTERS
    refused(tmp_path / "m.onnx", "7 letters", alphabet=list("abcdefg"))
    refused(tmp_path / "m.onnx", "first_row", alphabet=list("abc"))
    assert load_model(tmp_path / "m.onnx", alphabet=list("abc"), first_row=2).accepts_batch(
        [("a",), ("c",)]
    ).tolist() == [load_model(tmp_path / "m.onnx").accepts((letter,)) for letter in ("c", "5")]


def test_bad_options_are_refused(tmp_path):
    onnx.save(graph(), tmp_path / "m.onnx")
    refused(tmp_path / "m.onnx", "threshold", threshold=2.0)
    refused(tmp_path / "m.onnx", "one output", label=1)
    refused(tmp_path / "m.onnx", "number", label="yes")
    refused(tmp_path / "m.onnx", "'odds'", output="odds")


def test_graphs_that_are_no_classifiers_of_words_are_refused(tmp_path):
    def made(inputs, outputs, nodes):
        whole = helper.make_graph(nodes, "g", inputs, outputs)
        onnx.save(
            helper.make_model(whole, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "m.onnx"
        )

    def value(name, kind, shape):
        return helper.make_tensor_value_info(name, kind, shape)

    x = value("x", TensorProto.INT64, ["b", "t"])
    y = value("y", TensorProto.FLOAT, ["b", "t"])
    cast = helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT)
    made([x], [y], [cast])
    refused(tmp_path / "m.onnx", "depends on the length")
    made([x, value("n", TensorProto.INT64, ["b"])], [y], [cast])
    refused(tmp_path / "m.onnx", "2 integer inputs")
    made([x, value("h", TensorProto.FLOAT, ["b", 3])], [y], [cast])
    refused(tmp_path / "m.onnx", "returns 0")
    made([x, value("h", TensorProto.FLOAT, ["b", "n"])], [y, value("h", TensorProto.FLOAT, None)], [cast])
    refused(tmp_path / "m.onnx", "free size")
    made([value("x", TensorProto.STRING, ["b"])], [y], [cast])
    refused(tmp_path / "m.onnx", "something other")


def test_without_onnxruntime_the_extra_is_named(tmp_path, monkeypatch):
    onnx.save(graph(), tmp_path / "m.onnx")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtraError, match=r"rnncheck\[onnx\]"):
        load_model(tmp_path / "m.onnx", alphabet=LETTERS)
