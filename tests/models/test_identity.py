"""One digest of everything that answers depend on: whatever may change an answer changes it, and nothing else does."""

import functools
import random
import sys
import types

import numpy as np
import pytest
import torch
from torch import nn

from rnncheck import load_model, wrap
from rnncheck.errors import ModelError
from rnncheck.models.adapters import DFAModel, complement
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.identity import digest_of
from rnncheck.models.labelled import LabelledNetwork
from rnncheck.models.traces import as_judged
from rnncheck.spec import Spec
from rnncheck.verification.labels import label_spec
from support.networks import random_network

LETTERS = ["a", "b", "c"]


def user_module(source: str, name: str = "users_own_code") -> types.ModuleType:
    """Code that belongs to nobody's library."""
    module = types.ModuleType(name)
    sys.modules[name] = module
    exec(source, vars(module))
    return module


def made_by(source: str, name: str = "answers"):
    return getattr(user_module(source), name)


def test_the_code_of_a_function_counts():
    first = made_by("def answers(words): return [len(w) % 2 == 0 for w in words]")
    again = made_by("def answers(words): return [len(w) % 2 == 0 for w in words]")
    other = made_by("def answers(words): return [len(w) % 2 == 1 for w in words]")
    assert digest_of(first) == digest_of(again) != digest_of(other)


@pytest.mark.parametrize(
    "source",
    [
        "LIMIT = {}\ndef answers(words): return [len(w) < LIMIT for w in words]",
        "def helper(n): return n < {}\ndef answers(words): return [helper(len(w)) for w in words]",
        "def make(n):\n  def answers(words): return [len(w) < n for w in words]\n  return answers\nanswers = make({})",
        "def answers(words, limit={}): return [len(w) < limit for w in words]",
        "class A:\n  def __init__(s): s.n = {}\n  def __call__(s, ws): return [len(w) < s.n for w in ws]\nanswers=A()",
        "class A:\n  n = {}\n  def __call__(s, ws): return [len(w) < s.n for w in ws]\nanswers = A()",
        "import functools\ndef f(n, words): return [len(w) < n for w in words]\nanswers = functools.partial(f, {})",
        "import functools\n@functools.cache\ndef f(w): return len(w) < {}\ndef answers(ws): return [f(w) for w in ws]",
        "class L(list):\n  def has(s, w): return len(w) < {}\nX = L()\ndef answers(ws): return [X.has(w) for w in ws]",
        "import numpy as np\nTABLE = np.arange({})\ndef answers(words): return [len(w) in TABLE for w in words]",
    ],
)
def test_what_the_code_uses_counts(source):
    four, again, five = (made_by(source.format(limit)) for limit in (4, 4, 5))
    assert wrap(four, LETTERS).identity() == wrap(again, LETTERS).identity() != wrap(five, LETTERS).identity()


@pytest.mark.parametrize(
    "source",
    [
        "def answers(words): return [w in open('list').read() for w in words]",
        "import pathlib\ndef answers(ws): return [w in pathlib.Path('x').read_text() for w in ws]",
        "def answers(ws): return [globals()['f'](w) for w in ws]",
        "STREAM = (n for n in range(9))\ndef answers(words): return [next(STREAM) > 3 for w in words]",
        "class A:\n  __slots__ = ('limit',)\n  def __call__(self, words): return []\nanswers = A()",
    ],
)
def test_what_cannot_be_told_has_no_digest(source):
    with pytest.raises(ModelError, match="nobody can tell"):
        digest_of(made_by(source))


MODULE = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.e, self.r, self.l = nn.Embedding(3, 4), nn.GRU(4, 5, batch_first=True), nn.Linear(5, 1)
    def forward(self, x):
        out = self.l(self.r(self.e(x))[0][:, -1])
        return {}
answers = Net()
"""


def test_a_modules_forward_counts_and_its_mode_does_not():
    plain, again, other = (made_by(MODULE.format(text)) for text in ("out", "out", "-out"))
    identity = wrap(plain, LETTERS).identity()
    assert wrap(again.train(), LETTERS).identity() == identity
    assert wrap(other, LETTERS).identity() != identity
    with torch.no_grad():
        again.l.bias.add_(1.0)
    assert wrap(again, LETTERS).identity() != identity
    plain.register_forward_hook(lambda module, given, out: -out)
    assert wrap(plain, LETTERS).identity() != identity


class Forwards:
    factor = 2.0

    def __call__(self, x):
        return x * self.factor

    forward = __call__


@pytest.mark.parametrize("put", [lambda own: own.forward, lambda own: functools.partial(own.forward), lambda own: own])
def test_what_is_put_in_the_place_of_a_library_modules_forward_counts(put):
    layer, own = nn.Linear(2, 1), Forwards()
    whole = nn.Sequential(layer)
    before = digest_of(whole)
    setattr(layer, "forward", put(own))  # noqa: B010
    replaced = digest_of(whole)
    own.factor = 3.0
    assert len({before, replaced, digest_of(whole)}) == 3


@pytest.mark.parametrize("layer", [nn.Linear(2, 1), nn.GRU(2, 1)])
def test_what_a_forward_that_was_put_there_reads_beside_it_counts(layer):
    """A list on a module of PyTorch, which the module's own class knows nothing of."""
    layer.shifts = [1.0]
    layer.forward = types.MethodType(lambda self, x: x + self.shifts[0], layer)
    before = digest_of(nn.Sequential(layer))
    assert digest_of(nn.Sequential(layer)) == before
    layer.shifts = [2.0]
    assert digest_of(nn.Sequential(layer)) != before


def test_what_is_registered_with_a_method_has_no_digest():
    class Answering:
        @functools.singledispatchmethod
        def score(self, word):
            return 0

        def __call__(self, words):
            return [self.score(word) > 0 for word in words]

    with pytest.raises(ModelError, match="singledispatchmethod"):
        digest_of(Answering())


def test_what_is_registered_with_a_generic_function_counts():
    @functools.singledispatch
    def score(word):
        return 0

    def answers(words):
        return [score(word) > 0 for word in words]

    before = digest_of(answers)
    score.register(tuple, lambda word: 1)
    first = digest_of(answers)
    score.register(tuple, lambda word: 2)
    assert len({before, first, digest_of(answers)}) == 3


def test_a_module_of_pytorch_alone_has_a_digest():
    def made(bias):
        torch.manual_seed(0)
        return nn.Sequential(nn.Embedding(3, 4), nn.Flatten(), nn.Linear(4, 1, bias=bias))

    assert digest_of(made(True)) == digest_of(made(True)) != digest_of(made(False))


def test_networks_wrappers_and_decisions():
    network = random_network(outputs=3, scale=2.0)
    model = CompiledNetwork(network)
    identities = [
        model.identity(),
        CompiledNetwork(network, dtype=np.float64).identity(),
        complement(model).identity(),
        CompiledNetwork(random_network(outputs=3, scale=2.0, label=2)).identity(),
        CompiledNetwork(random_network(outputs=3, scale=2.0, seed=1)).identity(),
        CompiledNetwork(random_network(threshold=0.5)).identity(),
        CompiledNetwork(random_network(threshold=0.6)).identity(),
        LabelledNetwork(model).identity(),
        *(as_judged(model, label_spec(model, ltlf=text).dfa).identity() for text in ("G label=0", "G label=1")),
        *(DFAModel(Spec.from_regex(text, LETTERS).dfa).identity() for text in ("a*", "b*")),
        complement(DFAModel(Spec.from_regex("a*", LETTERS).dfa)).identity(),
    ]
    assert len(set(identities)) == len(identities)
    assert CompiledNetwork(network, threads=1).identity() == model.identity()  # threads change no answer


def test_external_data_of_onnx_counts(tmp_path):
    onnx = pytest.importorskip("onnx")
    torch.manual_seed(0)
    digests = set()
    for value in (0.0, 1.0):
        weight = onnx.numpy_helper.from_array(np.full((3, 400), value, dtype=np.float32), "w")
        head = onnx.numpy_helper.from_array(np.ones((400, 1), dtype=np.float32), "h")
        nodes = [
            onnx.helper.make_node("Gather", ["w", "x"], ["e"]),
            onnx.helper.make_node("ReduceSum", ["e", "axes"], ["s"], keepdims=0),
            onnx.helper.make_node("MatMul", ["s", "h"], ["y"]),
        ]
        graph = onnx.helper.make_graph(
            nodes,
            "g",
            [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.INT64, ["B", "T"])],
            [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["B", 1])],
            [weight, head, onnx.numpy_helper.from_array(np.array([1]), "axes")],
        )
        made = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(made, tmp_path / "m.onnx", save_as_external_data=True, location="data.bin", size_threshold=0)
        model = load_model(tmp_path / "m.onnx", alphabet=LETTERS)
        digests.add((model.identity(), model.describe()["sha256"]))
    assert len({one for one, _ in digests}) == len({two for _, two in digests}) == 2


def test_threshold_of_whole_word_models_counts():
    function = functools.partial(random_answers, 3)
    assert wrap(function, LETTERS, threshold=0.4).identity() != wrap(function, LETTERS).identity()


def random_answers(seed, words):
    return [random.Random(f"{seed} {word}").random() for word in words]


def test_attributes_of_functions_wrappers_and_built_in_kinds_count() -> None:
    """Should tell apart what differs only in an attribute that an answer may depend on."""
    source = (
        "import functools\nclass Scaled:\n    def __init__(self, f, factor):\n"
        "        functools.update_wrapper(self, f)\n        self.factor = factor\n"
        "class Own(dict):\n    pass\ndef plain():\n    pass\n"
    )
    code = user_module(source)
    assert digest_of(code.Scaled(code.plain, 1.0)) != digest_of(code.Scaled(code.plain, -1.0))
    first, second = code.Own(), code.Own()
    second.weight = 2
    assert digest_of(first) != digest_of(second)
    before = digest_of(code.plain)
    code.plain.weight = 2
    assert digest_of(code.plain) != before
    values = np.arange(3.0)
    assert digest_of(np.ma.array(values, mask=[0, 0, 1])) != digest_of(np.ma.array(values, mask=[0, 1, 0]))
