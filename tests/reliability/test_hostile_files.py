"""Malicious files. What other tests cover already is listed in docs/reliability.md."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import struct
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
import pytest

from rnncheck import Alphabet, Spec, load_model
from rnncheck.automata.ltlf.ltlf_compiler import compile_ltlf
from rnncheck.contacts import read_contacts
from rnncheck.errors import FormatError, InputError, ModelError, RnncheckError
from rnncheck.experiments.folder import RunFolder
from rnncheck.experiments.merge import merge
from rnncheck.experiments.run_results import read_results
from rnncheck.experiments.subjects import stored_facts, stored_subject
from rnncheck.models.files.safetensors_file import METADATA_KEY, save_network
from rnncheck.training.labelled_files import read_labelled_words
from rnncheck.verdict.value import Verdict
from rnncheck.word_files import read_words
from support.clocks import HARDLY_EVER
from support.networks import random_network
from support.strategies import refusal

DEEP = 1_000_000
AB = Alphabet(["a", "b"])


class Trap:
    """Unpickled, it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return os.mknod, (str(self.path),)


READERS: dict[str, Callable[[Path], object]] = {
    "model": lambda path: load_model(path, alphabet=AB),
    "specification": Spec.from_file,
    "words": read_words,
    "labelled words": read_labelled_words,
    "contacts": read_contacts,
    "verdict": lambda path: Verdict.from_json(path.read_bytes()),
    "run": RunFolder.existing,
}
SUFFIXES = ["pkl", "pickle", "joblib", "pt", "pth", "pt2", "ckpt", "safetensors", "onnx", "dot", "json", "csv", "npz"]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("protocol", [0, 2, 5])
def test_a_pickle_is_refused_whatever_it_is_called(tmp_path, suffix: str, protocol: int) -> None:
    """Should be refused by every reader that may meet it, and nothing in it should run."""
    trap, path = tmp_path / "ran", tmp_path / f"file.{suffix}"
    path.write_bytes(pickle.dumps({"weight": Trap(trap)}, protocol=protocol))
    for name, reader in READERS.items():
        if name != "words" or protocol > 0:  # protocol 0 is text, and any text is words
            with pytest.raises(RnncheckError):
                reader(path)
    assert not trap.exists()
    pickle.loads(path.read_bytes())
    assert trap.exists()  # the trap works when it is sprung


def test_an_archive_that_unpacks_to_a_gigabyte_takes_no_memory(tmp_path) -> None:
    """Should be refused by its table of contents, for every suffix."""
    bomb = tmp_path / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        with archive.open("archive/data.pkl", "w", force_zip64=True) as entry:
            for _ in range(64):
                entry.write(bytes(1 << 20))
        with archive.open("archive/data/0", "w", force_zip64=True) as entry:
            for _ in range(64):
                entry.write(bytes(1 << 20))
    content = bomb.read_bytes()
    for suffix in SUFFIXES:
        path = tmp_path / f"bomb.{suffix}"
        path.write_bytes(content)
        tracemalloc.start()
        with pytest.raises(RnncheckError):
            load_model(path, alphabet=AB)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 8e6 + 4 * len(content)


def test_an_archive_that_claims_to_be_one_of_several_is_refused(tmp_path) -> None:
    """Found by fuzzing: asking whether it is an archive at all raises already."""
    path = tmp_path / "m.pt"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", b"x")
    end = struct.pack("<4sLQL", b"PK\x06\x07", 0, 0, 3)  # the place of the end of the archive: on disk 3
    content = path.read_bytes()
    at = content.rindex(b"PK\x05\x06")
    path.write_bytes(content[:at] + end + content[at:])
    with pytest.raises(zipfile.BadZipFile, match="multiple disks"):
        zipfile.is_zipfile(path)
    with pytest.raises(ModelError, match="damaged archive"):
        load_model(path, alphabet=AB)


def raw_safetensors(path: Path, header: object, body: bytes) -> Path:
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)
    return path


@pytest.mark.parametrize(
    "entries",
    [
        {"x": (0, 8), "y": (4, 12)},
        {"x": (0, 8), "y": (0, 8)},
        {"x": (0, 8), "y": (12, 16)},
        {"x": (4, 12)},
        {"x": (0, 4)},
        {"x": (0, 2**64 - 1)},
        {"x": (-8, 0)},
    ],
    ids=["overlap", "shared", "hole", "late", "trailing bytes", "huge", "negative"],
)
def test_arrays_that_do_not_tile_the_file_are_refused(tmp_path, entries: dict[str, tuple[int, int]]) -> None:
    header = {
        name: {"dtype": "F32", "shape": [max(0, (end - start) // 4)], "data_offsets": [start, end]}
        for name, (start, end) in entries.items()
    }
    with pytest.raises(ModelError):
        load_model(raw_safetensors(tmp_path / "m.safetensors", header, bytes(16)), alphabet=AB)


@pytest.mark.parametrize("shape", [[2**62, 4], [2**32, 2**32], [0, 2**63], [2**63 - 1, 0, 3]])
def test_shapes_that_overflow_are_refused(tmp_path, shape: list[int]) -> None:
    header = {"embedding.weight": {"dtype": "F32", "shape": shape, "data_offsets": [0, 0]}}
    with pytest.raises(ModelError):
        load_model(raw_safetensors(tmp_path / "m.safetensors", header, b""), alphabet=AB)


def test_metadata_nested_a_million_deep_is_refused(tmp_path) -> None:
    for document in ("[" * DEEP, '{"format":' * DEEP, '{"format": "rnncheck/network/1", "facts": ' + '{"a":' * DEEP):
        path = raw_safetensors(tmp_path / "m.safetensors", {"__metadata__": {METADATA_KEY: document}}, b"")
        with pytest.raises(ModelError):
            load_model(path)


NESTED = {
    "lists": "[" * DEEP + "]" * DEEP,
    "objects": '{"schema":' * DEEP + "1" + "}" * DEEP,
    "inside a field": '{"schema": "rnncheck/verdict/1", "model": {"x": ' + "[" * DEEP + "]" * DEEP + "}}",
    "inside a run": '{"schema": "rnncheck/run/1", "settings": {"x": ' + '{"a":' * DEEP,
}


@pytest.mark.parametrize("nested", NESTED)
def test_documents_nested_a_million_deep_are_refused(tmp_path, nested: str) -> None:
    """Should end in an error of ours and at once, in every reader of JSON."""
    (tmp_path / "run.json").write_text(NESTED[nested])
    began = time.process_time()
    for read in (
        Spec.from_file,
        lambda path: Verdict.from_json(path.read_bytes()),
        lambda path: RunFolder.existing(path.parent),
    ):
        with pytest.raises(FormatError):
            read(tmp_path / "run.json")
    assert time.process_time() - began < HARDLY_EVER


@pytest.mark.parametrize(
    "text",
    [
        "digraph { " + "subgraph { " * DEEP,
        "digraph " + "{" * DEEP + "}" * DEEP,
        "digraph { a [label=<" + "<b>" * DEEP,
        "digraph { a " + "-> a " * (DEEP // 4),
    ],
    ids=["subgraphs", "braces", "markup", "arrows"],
)
def test_dot_nested_a_million_deep_is_refused(tmp_path, text: str) -> None:
    (tmp_path / "spec.dot").write_text(text)
    began = time.process_time()
    with pytest.raises(RnncheckError):
        Spec.from_file(tmp_path / "spec.dot")
    assert time.process_time() - began < HARDLY_EVER


DEEP_FORMULA = 30_000  # fifteen seconds for a million, and there is no file to read them from


@pytest.mark.parametrize(
    "text",
    [
        "!" * DEEP_FORMULA + "a",
        "(" * DEEP_FORMULA + "a" + ")" * DEEP_FORMULA,
        "X " * DEEP_FORMULA + "a",
        "G " * DEEP_FORMULA + "a",
    ],
    ids=["negations", "parentheses", "nexts", "always"],
)
def test_deep_formulas_end_in_an_answer_or_a_refusal(text: str) -> None:
    began = time.process_time()
    error = refusal(lambda: compile_ltlf(text, AB, max_states=1000))
    assert error is None or len(str(error)) < 500
    assert time.process_time() - began < HARDLY_EVER


OUTSIDE = [
    "../secret.pt",
    "/etc/passwd",
    "sub/secret.pt",
    "..",
    ".",
    "a\0b.pt",
    "x" * 300 + ".pt",
    "x" * 300 + ".safetensors",
]


@pytest.mark.parametrize("name", OUTSIDE)
def test_the_weights_of_a_released_folder_are_in_it(tmp_path, name: str) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "secret.pt").write_bytes(b"secret")
    (folder / "meta").write_text(f"alphabet = a,b\ntorch_save = {name}\n")
    with pytest.raises(ModelError) as caught:
        load_model(folder)
    assert "secret" not in str(caught.value) or "of this folder" in str(caught.value)


@pytest.mark.parametrize("name", ["x" * 300, "a\0b", "x/" * 3000], ids=["long", "null", "deep"])
def test_names_that_no_file_has_are_refused(name: str) -> None:
    """Should be an error of ours in every reader, with every suffix that a reader looks at."""
    for suffix in ("", ".safetensors", ".pt", ".onnx", ".json", ".dot"):
        for reader in ("model", "specification", "words", "labelled words", "contacts", "run"):
            with pytest.raises(RnncheckError):
                READERS[reader](Path(name + suffix))


MANIFEST = {"schema": "rnncheck/run/1", "kind": "random", "settings": {"methods": ["pdv"]}, "version": "0"}


def benchmark(path: Path, subject: str = "one", **changes: object) -> RunFolder:
    """A benchmark's folder with one network and one specification in it."""
    (path / "subjects").mkdir(parents=True)
    (path / "verdicts").mkdir()
    (path / "run.json").write_text(json.dumps(MANIFEST))
    weights = path / "subjects" / f"{subject}.safetensors"
    save_network(random_network(hidden=(2,)), weights)
    automaton = {"schema": "rnncheck/dfa/1", "alphabet": ["a"], "initial": 0, "transitions": [[0]], "accepting": [0]}
    document = {
        "schema": "rnncheck/subject/1",
        "name": subject,
        "network_sha256": hashlib.sha256(weights.read_bytes()).hexdigest(),
        "facts": {},
        "specs": {"A": automaton},
        **changes,
    }
    (path / "subjects" / f"{subject}.json").write_text(json.dumps(document))
    return RunFolder.existing(path)


def listing(path: Path) -> set[str]:
    return {str(file.relative_to(path)) for file in path.rglob("*")}


@pytest.mark.parametrize("name", ["../../outside", "/tmp/outside", "..", "a/../../b", "a\0b", "A\n"])
def test_a_specification_s_name_does_not_lead_out_of_a_benchmark(tmp_path, name: str) -> None:
    """Should be refused where a piece would be looked for or written under that name, or stay inside the folder."""
    automaton = {"schema": "rnncheck/dfa/1", "alphabet": ["a"], "initial": 0, "transitions": [[0]], "accepting": [0]}
    folder = benchmark(tmp_path / "run", specs={name: automaton})
    before = listing(tmp_path)
    for spec in stored_facts(folder, "one")[1]:
        piece = f"verdicts/one-{spec}-pdv.json"
        error = refusal(partial(folder.place, piece))
        assert error is not None or folder.place(piece).resolve().is_relative_to(folder.path.resolve())
        if error is not None:
            for act in (folder.has, lambda place: folder.write(place, b"x")):
                with pytest.raises(InputError, match="cannot be the name"):
                    act(piece)
    assert listing(tmp_path) == before


def test_a_subject_s_own_name_is_not_believed(tmp_path) -> None:
    """Should use the name of the file; what a document calls itself is only text."""
    folder = benchmark(tmp_path / "run", name="../../outside")
    merged = merge([folder.path], tmp_path / "merged")
    assert set(merged.names("subjects")) == {"one"}
    assert listing(tmp_path / "merged") == {
        "run.json",
        "run.lock",
        "subjects",
        "subjects/one.json",
        "subjects/one.safetensors",
    }
    assert not (tmp_path / "outside.json").exists()


def test_files_with_strange_names_in_a_benchmark_are_passed_over(tmp_path) -> None:
    folder = benchmark(tmp_path / "run")
    for name in ("..json", "a b.json", "-rf.json", "é.json", "x" * 150 + ".json"):
        (folder.path / "verdicts" / name).write_text("{}")
    assert folder.names("verdicts") == []
    assert read_results(folder).results == ()


def test_a_network_that_was_exchanged_is_noticed(tmp_path) -> None:
    folder = benchmark(tmp_path / "run")
    save_network(random_network(hidden=(2,), seed=1), folder.path / "subjects" / "one.safetensors")
    with pytest.raises(FormatError, match="missing or damaged"):
        stored_subject(folder, "one")


@pytest.mark.parametrize("methods", [None, 3, "pdv", [3], {"a": 1}, [None], 1e308])
def test_a_manifest_without_methods_is_refused(tmp_path, methods: object) -> None:
    folder = benchmark(tmp_path / "run")
    (folder.path / "run.json").write_text(json.dumps({**MANIFEST, "settings": {"methods": methods}}))
    with pytest.raises(FormatError, match="methods"):
        read_results(RunFolder.existing(folder.path))


FIGURES = [
    {"cost": {}},
    {"cost": {"seconds": "long", "membership_queries": 1, "network_steps": 1}},
    {"cost": {"seconds": [], "membership_queries": 1, "network_steps": 1}},
    {"cost": {"seconds": 1, "membership_queries": 1e308 * 10, "network_steps": 1}},
    {"hypothesis": {}},
    {"hypothesis": {"states": {}}},
]


@pytest.mark.parametrize("change", FIGURES)
def test_a_verdict_with_figures_that_are_none_is_refused(tmp_path, change: dict[str, object]) -> None:
    folder = benchmark(tmp_path / "run")
    document = {
        "schema": "rnncheck/verdict/1", "verdict": "undecided", "reason": "", "method": "pdv", "relation": "subset",
        "counterexample": None, "confirmed": False, "guarantee": None,
        "cost": {"seconds": 1.0, "membership_queries": 1, "network_steps": 1, "rounds": 1}, "hypothesis": None,
        "faulty_flows": [], "health": [], "model": {}, "spec": {}, "alphabet": ["a"], "seed": 0, "version": "0",
    }  # fmt: skip
    piece = {"schema": "rnncheck/piece/1", "subject": "one", "spec": "A", "method": "pdv", "verdict": document}
    place = folder.path / "verdicts" / "one-A-pdv.json"
    place.write_bytes(msgspec.json.encode(piece))
    assert len(read_results(folder).results) == 1
    text = json.dumps({**piece, "verdict": {**document, **change}}).replace("Infinity", "1e999")
    place.write_text(text)
    with pytest.raises(FormatError, match="damaged"):
        read_results(folder)


@pytest.mark.parametrize("what", ["location of 300 letters", "null in the location", "length of 5000 digits"])
def test_external_data_of_an_onnx_file_with_impossible_entries_is_refused(tmp_path, what: str) -> None:
    onnx = pytest.importorskip("onnx")
    entries = {"location": "weights.bin", "length": "4"}
    key, value = {
        "location of 300 letters": ("location", "x" * 300),
        "null in the location": ("location", "a\0b"),
        "length of 5000 digits": ("length", "9" * 5000),
    }[what]
    tensor = onnx.helper.make_tensor("w", onnx.TensorProto.FLOAT, [1], np.zeros(1, np.float32).tobytes(), raw=True)
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for entry in {**entries, key: value}.items():
        tensor.external_data.add(key=entry[0], value=entry[1])
    node = onnx.helper.make_node("Constant", [], ["y"], value=tensor)  # an attribute, not an initializer
    output = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1])
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "g", [], [output]))
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    (tmp_path / "weights.bin").write_bytes(bytes(4))
    with pytest.raises(ModelError, match="external data"):
        load_model(tmp_path / "m.onnx", alphabet=AB)


@pytest.mark.parametrize("location", ["../secret.bin", "/etc/passwd"])
def test_external_data_in_an_inner_graph_is_refused_too(tmp_path, location: str) -> None:
    """Should look into the branches of If and the bodies of Loop and Scan."""
    onnx = pytest.importorskip("onnx")
    (tmp_path / "secret.bin").write_bytes(bytes(4))
    tensor = onnx.TensorProto(name="w", data_type=onnx.TensorProto.FLOAT, dims=[1])
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    output = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1])
    constant = onnx.helper.make_node("Constant", [], ["y"], value=tensor)
    branch = onnx.helper.make_graph([constant], "branch", [], [output])
    nested = onnx.helper.make_graph(
        [onnx.helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)], "nested", [], [output]
    )
    outer = onnx.helper.make_node("If", ["c"], ["y"], then_branch=nested, else_branch=nested)
    condition = onnx.helper.make_tensor_value_info("c", onnx.TensorProto.BOOL, [])
    model = onnx.helper.make_model(onnx.helper.make_graph([outer], "g", [condition], [output]))
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "m.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(ModelError, match="outside the model's own folder"):
        load_model(tmp_path / "model" / "m.onnx", alphabet=AB)
