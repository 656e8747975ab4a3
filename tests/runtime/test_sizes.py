"""Files beyond the size of their kind are refused, states beyond their bound too, and memory is kept to."""

import subprocess
import sys

import pytest

from rnncheck import Spec, load_model, read_words, verify, wrap, zoo
from rnncheck.contacts import read_contacts
from rnncheck.errors import FormatError, ModelError, StateLimitError
from rnncheck.runtime import files
from support.memory import PEAK_KIB

AB = ["a", "b"]


@pytest.fixture
def small(monkeypatch):
    """Every kind of file may have 20 bytes."""
    for kind in files.MOST_BYTES:
        monkeypatch.setitem(files.MOST_BYTES, kind, 20)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("read", [read_words, read_contacts, Spec.from_file])
def test_a_text_file_that_is_too_large_is_refused(tmp_path, read) -> None:
    (tmp_path / "file").write_text("a b\n" * 20)
    with pytest.raises(FormatError, match=r"file: larger than .* MiB, the limit for an? "):
        read(tmp_path / "file")


@pytest.mark.usefixtures("small")
def test_a_device_without_end_is_refused() -> None:
    with pytest.raises(FormatError, match="/dev/zero: larger than"):
        read_words("/dev/zero")


@pytest.mark.usefixtures("small")
def test_a_model_file_that_is_too_large_is_refused() -> None:
    with pytest.raises(ModelError, match=r"safetensors: larger than .* MiB, the limit for a model file"):
        load_model(zoo.path("response-lstm"))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("command", [["replay"], ["report", "--report", "out.html"]])
def test_a_verdict_that_is_too_large_is_refused(tmp_path, monkeypatch, capsys, command) -> None:
    from rnncheck.cli import main

    monkeypatch.chdir(tmp_path)
    (tmp_path / "verdict.json").write_text("{" + " " * 100)
    with pytest.raises(SystemExit) as ended:
        main([*command, "verdict.json"])
    assert ended.value.code == 2
    assert "the limit for a verdict file" in capsys.readouterr().err


def test_automaton_files_obey_the_bound_on_states(tmp_path) -> None:
    from rnncheck.automata.formats.dfa_json import write_json

    path = tmp_path / "dfa.json"
    path.write_text(write_json(Spec.from_regex("a a a a a", AB).dfa))
    assert len(Spec.from_file(path, max_states=7).dfa) == 7
    with pytest.raises(StateLimitError, match=r"dfa\.json: the automaton needs more than 6 states"):
        Spec.from_file(path, max_states=6)


@pytest.mark.parametrize("method", ["auto", "pdv", "smc", "aamc", "errors"])
def test_memory_that_runs_out_gives_the_verdict_so_far(method) -> None:
    def hungry(words):
        if len(words) > 1 and any(len(word) > 20 for word in words):
            raise MemoryError
        return [False for _ in words]

    verdict = verify(wrap(hungry, AB, batch_size=8), Spec.from_regex("a*", AB), method=method)
    assert verdict.undecided
    assert "memory ran out" in verdict.reason


VERIFY = f"""
import dataclasses, sys
import numpy as np
from rnncheck import Alphabet, CompiledNetwork, Spec, VerifySettings, WordDistribution, verify
from rnncheck.models.cells import Cell
from support.networks import random_network

letters = Alphabet([f"l{{i}}" for i in range(8)])
network = random_network(Cell.GRU, (256,), alphabet=letters, scale=0.3)
network = dataclasses.replace(network, head_bias=np.array([-50.0], dtype=np.float32))  # it rejects everything
model = CompiledNetwork(network, threads=1)
spec = Spec.from_regex("l0 .*", letters)

def run(limit, steps):
    settings = VerifySettings(search_steps=steps, memory_limit=limit << 20)
    words = WordDistribution(letters, stop=0.2)
    assert verify(model, spec, settings=settings, epsilon=0.05, gamma=0.05, distribution=words).satisfied
    return {PEAK_KIB} >> 10

before = run(4, 0)
print(run(16, 60_000) - before, run(1000, 60_000) - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the peak of a process from /proc")
def test_the_memory_limit_covers_what_grows_with_the_work(tmp_path) -> None:
    """All levels of the prefix tree that are kept, the beams, the states and the answers: 16 MiB together."""
    import os

    program = tmp_path / "program.py"
    program.write_text(VERIFY)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    limited, unlimited = map(int, done.stdout.split())
    assert limited <= 16 < unlimited
