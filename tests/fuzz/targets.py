"""Every parser and loader, each with valid inputs to begin with and one function that reads bytes.

A target may raise an RnncheckError and nothing else, and may not take a second of processor time.
"""

from __future__ import annotations

import io
import os
import random
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import msgspec
import numpy as np

from fuzz.mutations import JsonMutator, Mutator, SafetensorsMutator
from rnncheck import Alphabet, Spec, load_model, verify
from rnncheck.automata.dfa import DFA
from rnncheck.automata.formats.dfa_json import read_json, write_json
from rnncheck.automata.formats.dot import read_dot, write_dot
from rnncheck.automata.ltlf.ltlf_compiler import compile_ltlf, letters_in_ltlf
from rnncheck.automata.regex.regex_compiler import compile_regex, letters_in_regex
from rnncheck.checker import ReplaySettings, Status, replay
from rnncheck.contacts import read_contacts
from rnncheck.contacts.columns import parse_columns
from rnncheck.display import page_of
from rnncheck.experiments.folder import RunFolder
from rnncheck.experiments.run_results import read_results
from rnncheck.experiments.runner import VerdictPiece
from rnncheck.experiments.subjects import stored_facts, stored_subject
from rnncheck.experiments.table import render
from rnncheck.models.adapters import DFAModel
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.files.loading import read_alphabet
from rnncheck.models.files.safetensors_file import save_network
from rnncheck.models.files.torch_file import read_torch_file
from rnncheck.models.network import Cell, Layer, RecurrentNetwork
from rnncheck.proofs.certifying import certificate_of
from rnncheck.proofs.proof_search import Invariant, find_invariant
from rnncheck.relations import Property, Relation
from rnncheck.training.labelled_files import read_labelled_words
from rnncheck.verdict.certificate import Certificate
from rnncheck.verdict.value import Verdict
from rnncheck.word_files import read_words
from rnncheck.words import format_word, parse_word
from support.robust_networks import robust_network

ABC = Alphabet(["a", "b", "c"])
STATES = 500  # what a formula or expression may need here: the limit is there to be met

Run = Callable[[bytes], object]


@dataclass(frozen=True)
class Target:
    """``make`` builds the reader, with whatever files it needs, in a folder of its own."""

    name: str
    make: Callable[[Path], Run]
    corpus: Callable[[], Sequence[bytes]]
    tokens: tuple[bytes, ...] = ()
    mutator: type[Mutator] = Mutator
    needs: tuple[str, ...] = field(default=())  # modules that may be missing

    def inputs(self, rng: random.Random) -> Iterator[bytes]:
        mutator = self.mutator(self.corpus(), self.tokens, rng)
        while True:
            yield mutator.input()


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _words(_: Path) -> Run:
    def run(data: bytes) -> None:
        text = _text(data)
        word = parse_word(text)
        if parse_word(format_word(word)) != word:
            raise AssertionError("a word does not survive being written and read")
        Alphabet.parse(text)

    return run


def _from_file(name: str, reader: Callable[[Path], object]) -> Callable[[Path], Run]:
    def make(folder: Path) -> Run:
        path = folder / name

        def run(data: bytes) -> object:
            path.write_bytes(data)
            return reader(path)

        return run

    return make


def _regex(_: Path) -> Run:
    def run(data: bytes) -> None:
        text = _text(data)
        letters_in_regex(text)
        compile_regex(text, ABC, max_states=STATES)

    return run


def _ltlf(_: Path) -> Run:
    def run(data: bytes) -> None:
        text = _text(data)
        letters_in_ltlf(text)
        compile_ltlf(text, ABC, max_states=STATES)

    return run


def _dot(_: Path) -> Run:
    def run(data: bytes) -> None:
        dfa = read_dot(_text(data), complete=bool(len(data) % 2))
        if read_dot(write_dot(dfa)) != dfa:
            raise AssertionError("an automaton does not survive being written and read")

    return run


def _json(_: Path) -> Run:
    return lambda data: read_json(data, complete=bool(len(data) % 2))


def _contacts(folder: Path) -> Run:
    path = folder / "contacts.csv"

    def run(data: bytes) -> None:
        path.write_bytes(data)
        read_contacts(path, columns=parse_columns(_text(data[:60])) if len(data) % 8 == 7 else None)

    return run


def _released(folder: Path) -> Run:
    from safetensors.numpy import save_file

    rng = np.random.default_rng(0)

    def draw(*shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(np.float32)

    save_file(
        {
            "embedding.weight": draw(3, 2), "lstm.weight_ih_l0": draw(8, 2), "lstm.weight_hh_l0": draw(8, 2),
            "lstm.bias_ih_l0": draw(8), "lstm.bias_hh_l0": draw(8), "fc.weight": draw(1, 2), "fc.bias": draw(1),
        },
        folder / "weights.safetensors",
    )  # fmt: skip
    return _from_file("meta", lambda path: load_model(path.parent, threads=1))(folder)


def _verdict(_: Path) -> Run:
    def run(data: bytes) -> None:
        replay(data, None, ReplaySettings(words=5, steps=1000))

    return run


def _certificate(_: Path) -> Run:
    """With the network that it is about: what was changed is no certificate, or is refused."""
    model = CompiledNetwork(_proved_network(), threads=1)
    valid = [Certificate.from_json(document) for document in _certificates()]

    def run(data: bytes) -> None:
        proof = Certificate.from_json(data)
        if replay(proof, model).status is Status.CONFIRMED and proof not in valid:
            raise AssertionError("a changed certificate was confirmed")

    return run


def _report(_: Path) -> Run:
    return lambda data: page_of(Verdict.from_json(data))


def _run_folder(folder: Path) -> Run:
    """The bytes are the manifest, a subject's document or a piece, by their first byte's parity and what they say."""
    make_benchmark(folder)
    files = [folder / "run.json", folder / "subjects" / "one.json", folder / "verdicts" / "one-A-pdv.json"]
    valid = [file.read_bytes() for file in files]

    def run(data: bytes) -> None:
        place = next((i for i, word in enumerate((b"/run/", b"/subject/", b"/piece/")) if word in data), len(data) % 3)
        files[place].write_bytes(data)
        try:
            opened = RunFolder.existing(folder)
            stored_facts(opened, "one")
            stored_subject(opened, "one")
            results = read_results(opened)
            for form in ("text", "csv", "json", "latex"):
                render(results, form)
        finally:
            files[place].write_bytes(valid[place])

    return run


def make_benchmark(folder: Path) -> None:
    """A folder as ``rnncheck bench`` leaves it, with one network, one specification and one verdict."""
    from rnncheck.experiments.subjects import Subject, store_subject

    network = small_network()
    spec = Spec.from_regex("a*", network.alphabet)
    run = RunFolder.begun(folder, "random", {"methods": ["pdv"], "seed": 0, "networks": 1}, None)
    store_subject(run, "one", Subject(network, {"A": spec.dfa}, {"states": 3, "accuracy": 1.0}))
    verdict = verify(CompiledNetwork(network, threads=1), spec, method="pdv", epsilon=0.2, gamma=0.2)
    piece = VerdictPiece("rnncheck/piece/1", "one", "A", "pdv", verdict)
    run.write_json("verdicts/one-A-pdv.json", piece)


def small_network(cell: Cell = Cell.GRU) -> RecurrentNetwork:
    rng = np.random.default_rng(3)

    def draw(*shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(np.float32)

    layer = Layer(draw(cell.gates * 2, 2), draw(cell.gates * 2, 2), draw(cell.gates * 2), draw(cell.gates * 2))
    return RecurrentNetwork(ABC, cell, draw(3, 2), (layer,), draw(1, 2), draw(1))


# --- valid inputs ---------------------------------------------------------------------------------------------------


def _texts(*texts: str) -> Callable[[], Sequence[bytes]]:
    return lambda: [text.encode() for text in texts]


def _automata() -> list[DFA]:
    return [Spec.from_regex(text, ABC).dfa for text in ("a*", "(a b)* c?", "!(.* a a .*)", "a{3,5}")]


@cache
def _verdicts() -> tuple[bytes, ...]:
    documents = []
    for method, relation in (("pdv", "subset"), ("auto", "equal"), ("smc", "superset"), ("aamc", "subset")):
        for regex in ("a*", "(a|b|c)*", "!(.* a a .*)"):
            spec = Spec.from_regex(regex, ABC)
            for model in (CompiledNetwork(small_network(), threads=1), DFAModel(spec.dfa)):
                verdict = verify(model, spec, method=method, relation=relation, epsilon=0.2, gamma=0.2)
                documents.append(msgspec.json.format(verdict.to_json().encode(), indent=-1))
    return tuple(document for document in documents if len(document) < 9_000)


def _proved_network() -> RecurrentNetwork:
    return robust_network(Spec.from_regex(".* a", ABC).dfa)


@cache
def _certificates() -> tuple[bytes, ...]:
    spec, network = Spec.from_regex(".* a", ABC).dfa, _proved_network()
    documents = []
    for relation in Relation:
        found = find_invariant(network, Property(spec, relation))
        assert isinstance(found, Invariant)
        documents.append(certificate_of(found, network, Property(spec, relation), False).to_json().encode())
    return tuple(documents)


@cache
def _networks() -> tuple[bytes, ...]:
    from safetensors.numpy import save

    with tempfile.TemporaryDirectory() as folder:
        contents = []
        for cell in Cell:
            path = Path(folder) / f"{cell.value}.safetensors"
            save_network(small_network(cell), path)
            contents.append(path.read_bytes())
    network = small_network(Cell.LSTM)
    (layer,) = network.layers
    state = {"emb.weight": network.inputs, "rnn.weight_ih_l0": layer.input_weight}
    state |= {"rnn.weight_hh_l0": layer.recurrent_weight, "rnn.bias_ih_l0": layer.input_bias}
    state |= {"rnn.bias_hh_l0": layer.recurrent_bias, "fc.weight": network.head_weight, "fc.bias": network.head_bias}
    return (*contents, save(state))


@cache
def _run_files() -> tuple[bytes, ...]:
    with tempfile.TemporaryDirectory() as folder:
        make_benchmark(Path(folder) / "run")
        return tuple(file.read_bytes() for file in sorted((Path(folder) / "run").rglob("*.json")))


@cache
def _onnx_files() -> tuple[bytes, ...]:
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(1)

    def array(name: str, *shape: int) -> object:
        return numpy_helper.from_array(rng.normal(size=shape).astype(np.float32), name)

    made = []
    for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        more = {"linear_before_reset": 1} if op == "GRU" else {}
        nodes = [
            helper.make_node("Gather", ["emb", "x"], ["e"], axis=0),
            helper.make_node(op, ["e", "w", "r", "b"], ["", "h"], hidden_size=2, **more),
            helper.make_node("Squeeze", ["h", "axes"], ["s"]),
            helper.make_node("Gemm", ["s", "fw", "fb"], ["l"], transB=1),
            helper.make_node("Sigmoid", ["l"], ["y"]),
        ]
        values = [
            array("emb", 3, 2), array("w", 1, gates * 2, 2), array("r", 1, gates * 2, 2), array("b", 1, gates * 4),
            array("fw", 1, 2), array("fb", 1), numpy_helper.from_array(np.array([0], dtype=np.int64), "axes"),
        ]  # fmt: skip
        inputs = [helper.make_tensor_value_info("x", TensorProto.INT64, ["T", "B"])]
        outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["B", 1])]
        graph = helper.make_graph(nodes, "g", inputs, outputs, values)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(model)
        made.append(model.SerializeToString())
    return tuple(made)


@cache
def _torch_files() -> tuple[bytes, ...]:
    import torch

    network = small_network(Cell.LSTM)
    (layer,) = network.layers
    state = {
        "emb.weight": network.inputs, "rnn.weight_ih_l0": layer.input_weight,
        "rnn.weight_hh_l0": layer.recurrent_weight, "fc.weight": network.head_weight, "fc.bias": network.head_bias,
    }  # fmt: skip
    made = []
    for archive in (True, False):
        stream = io.BytesIO()
        tensors = {name: torch.from_numpy(value.copy()) for name, value in state.items()}
        torch.save(tensors, stream, _use_new_zipfile_serialization=archive)
        made.append(stream.getvalue())
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("archive/data.pkl", b"\x80\x02}q\x00.")
        file.writestr("archive/version", b"3\n")
    return (*made, packed.getvalue())


_REGEX = _texts(
    "a*", "(a|b)* c", "!(.* a a .*)", "a{2,5} & [^b]*", "(a b){3} | ()", "let x = a b in x*", ".* - a", "a+ b? c{0,3}",
    "'a' \"b\"", "[abc]{2,} & !(a*)", "((a|b){2,3} c)*",
)  # fmt: skip
_LTLF = _texts(
    "G(a -> F b)", "a U b", "X a & WX b", "!(a R b) | F(c & last)", "<a*; b> tt", "[(a|b)*] end", "G(a -> X !a)",
    "true", "a W b", "F G a", "(a <-> b) xor c", "a M b", "N a", "{a; b*}",
)  # fmt: skip


def _tokens(text: str, *more: bytes) -> tuple[bytes, ...]:
    return (*text.encode().split(), *more)


_REGEX_TOKENS = _tokens("( ) * + ? | & ! - [ ] ^ { } , {2,9} {9} {1000} a b c . () ' \" ~ x = ; # \\", b" ")
_LTLF_TOKENS = _tokens(
    "( ) ! & | -> <-> G F X WX N U R W M a b c last end true false tt ff < > [ ] ? * ; + ' ^ { } Response(a,b)", b" "
)
_DOT_TOKENS = _tokens(
    'digraph { } [ ] -> ; = label shape doublecircle " , a 0 1 __start0 subgraph // /* */ # strict < > \\ -- node'
)
_WORD_TOKENS = _tokens("' \" a b , \\ \\n \\u{41} ε <book> #", b" ", b"\n", b"\t")
_JSON_TOKENS = _tokens('{ } [ ] : , " null true 1 \\u0000 - e')
_LINE_TOKENS = _tokens(", yes no 0 1 a b # ' ; time 20", b"\n", b"\t", b" ", b"\r")
_META = "alphabet = a,b\nembedding_dim = 2\nhidden_dim = 2\nn_layers = 1\ntorch_save = weights.safetensors\n"

TARGETS = {
    target.name: target
    for target in (
        Target("words", _words, _texts("a b c", "ε", "'a b' \"c\"", "<book> 1157", "a,b,'<a b>'"), _WORD_TOKENS),
        Target(
            "word-file", _from_file("words.txt", read_words),
            _texts("a b\nε\n# note\n\n'x y' z\n", "a\nb\nc a\n"), _WORD_TOKENS,
        ),
        Target(
            "labelled-words", _from_file("words.txt", read_labelled_words),
            _texts("yes\ta b\nno\tε\n", "1\ta\n0\tb\n", "red\ta\ngreen\tb a\nblue\tε\n"), _LINE_TOKENS,
        ),
        Target(
            "alphabet-file", _from_file("m.alphabet", read_alphabet),
            _texts("a\nb\nc\n", "'a b'\n<book>\n"), _WORD_TOKENS,
        ),
        Target(
            "contacts", _contacts,
            _texts("20,a,b\n40,b,c\n", "time person1 person2\n20 a b\n40 b c\n", "20\t1\t2\tX\tY\n40\t2\t3\tY\tX\n",
                   "h1,m1,h2,m2,age1,age2,sex1,sex2,duration,day,hour\nE,1,E,2,0,1,M,F,20,1,2\n"), _LINE_TOKENS,
        ),
        Target("regex", _regex, _REGEX, _REGEX_TOKENS),
        Target("ltlf", _ltlf, _LTLF, _LTLF_TOKENS),
        Target("dot", _dot, lambda: [write_dot(dfa).encode() for dfa in _automata()], _DOT_TOKENS),
        Target("json", _json, lambda: [write_json(dfa).encode() for dfa in _automata()], _JSON_TOKENS, JsonMutator),
        Target("verdict", _verdict, _verdicts, _JSON_TOKENS, JsonMutator),
        Target("certificate", _certificate, _certificates, _JSON_TOKENS, JsonMutator),
        Target("report", _report, _verdicts, _JSON_TOKENS, JsonMutator),
        Target("run-folder", _run_folder, _run_files, _JSON_TOKENS, JsonMutator),
        Target(
            "safetensors", _from_file("m.safetensors", lambda path: load_model(path, alphabet=None, threads=1)),
            _networks, _JSON_TOKENS, SafetensorsMutator,
        ),
        Target(
            "state-dictionary", _from_file("m.safetensors", lambda path: load_model(path, alphabet=ABC, threads=1)),
            lambda: _networks()[-1:], _JSON_TOKENS, SafetensorsMutator,
        ),
        Target(
            "released-folder", _released,
            _texts(_META), _tokens("= , alphabet torch_save hidden_dim ../ / .pt n_layers", b"\n"),
        ),
        Target(
            "onnx", _from_file("m.onnx", lambda path: load_model(path, alphabet=ABC, threads=1)), _onnx_files,
            (b"LSTM", b"GRU", b"Gather", b"Gemm", b"\x08", b"\x12", b"\x80\x01"), needs=("onnx", "onnxruntime"),
        ),
        Target(
            "torch", _from_file("m.pt", read_torch_file), _torch_files,
            (b"PK\x03\x04", b"PK\x01\x02", b"\x80\x02", b"}q\x00", b"R", b"c", b"os\nsystem\n", b"."), needs=("torch",),
        ),
    )
}  # fmt: skip


def workplace() -> tempfile.TemporaryDirectory[str]:
    """A folder for files that are rewritten all the time: in memory, where there is such a place."""
    memory = "/dev/shm"
    return tempfile.TemporaryDirectory(prefix="fuzz-", dir=memory if os.access(memory, os.W_OK) else None)
