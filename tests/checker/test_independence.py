"""What a replay of a proof depends on: which modules are loaded, and whose code runs."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import FrameType

import pytest

from rnncheck.checker import Status, replay
from rnncheck.models.cells import Cell
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.files.safetensors_file import save_network
from rnncheck.proofs.certifying import certificate_of
from rnncheck.proofs.proof_search import Invariant, find_invariant
from rnncheck.relations import Property, Relation
from rnncheck.verdict.certificate import Certificate
from support.provable_networks import provable_network, recent_a

# Packages that a replay from two files may load. None of them looks for anything, learns or proves.
LOADED = {"automata", "checker", "models", "probability", "relations", "runtime", "verdict", "words", "word_files"}
LOADED |= {"errors", "display", "version"}

# Modules whose code runs while a proof is checked, beside the checker's own, and what they contribute.
SHARED = {
    "rnncheck.verdict.certificate": "the certificate, as data",
    "rnncheck.verdict.value": "its encoding for the digest",
    "rnncheck.automata.formats.dfa_json": "the specification's automaton in its document, for the digest",
    "rnncheck.words": "letters",
    "rnncheck.models.network": "weights, threshold and the network's digest",
    "rnncheck.models.cells": "the cell type's name, as data",
    "rnncheck.models.cells.cell_type": "the shapes of layers",
    "rnncheck.models.labelled": "the network of a loaded model",
    "rnncheck.models.thresholds": "where the logit of the threshold is; the checker compares the probability, too",
    "rnncheck.models.engine.compiled": "the model itself",
    "rnncheck.models.engine.reference": "the answer to the empty word",
    "rnncheck.models.engine.threads": "the answer to the empty word",
    "rnncheck.runtime.budget": "the time limit",
    "rnncheck.runtime.watchdog": "the time limit",
}


def proof_of(cell: Cell, layers: int = 1) -> Certificate:
    network, wanted = provable_network(cell, layers), Property(recent_a(), Relation.SUBSET)
    found = find_invariant(network, wanted)
    assert isinstance(found, Invariant)
    return certificate_of(found, network, wanted, CompiledNetwork(network).accepts_empty)


def test_a_replay_from_files_loads_no_prover(tmp_path: Path) -> None:
    """Should confirm a proof where the prover cannot even be imported."""
    save_network(provable_network(Cell.GRU), tmp_path / "network.safetensors")
    (tmp_path / "proof.json").write_text(proof_of(Cell.GRU).to_json())
    code = (
        "import pathlib, sys\n"
        "for name in ('proofs', 'search', 'learning', 'verification', 'training'):\n"
        "    sys.modules['rnncheck.' + name] = None\n"
        "from rnncheck.checker import replay\n"
        "from rnncheck.models.files.loading import load_model\n"
        "print(replay(pathlib.Path('proof.json').read_text(), load_model('network.safetensors')).status.value)\n"
        "print(*[name for name in sys.modules if sys.modules[name] is not None])\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    status, modules = result.stdout.splitlines()
    assert status == "confirmed"
    ours = {name.split(".")[1] for name in modules.split() if name.startswith("rnncheck.")}
    assert ours <= LOADED, ours - LOADED


@pytest.mark.parametrize("cell", list(Cell), ids=lambda cell: cell.value)
def test_the_code_that_runs_in_a_replay_is_the_checkers(cell: Cell) -> None:
    """Should run no step of a cell, no engine and no enclosure but its own; what is shared is listed."""
    model, proof = CompiledNetwork(provable_network(cell, 2)), proof_of(cell, 2)
    ran: Counter[str] = Counter()
    functions: set[tuple[str, str]] = set()

    def called(frame: FrameType, event: str, _: object) -> None:
        name = frame.f_globals.get("__name__", "")
        if event == "call" and name.startswith("rnncheck"):
            ran[name] += 1
            functions.add((name, frame.f_code.co_name))

    sys.setprofile(called)
    try:
        result = replay(proof, model)
    finally:
        sys.setprofile(None)
    assert result.status is Status.CONFIRMED
    others = {name for name in ran if not name.startswith("rnncheck.checker")}
    assert others <= SHARED.keys(), others - SHARED.keys()
    assert ran["rnncheck.checker.outward"] > 100
    stepping = {"step", "step_on", "contributions", "contributions_on", "advance", "sigmoid", "applied"}
    assert not {name for module, name in functions if not module.startswith("rnncheck.checker")} & stepping
