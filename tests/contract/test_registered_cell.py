"""A cell type added to a copy of the source as CONTRIBUTING.md says: it proves, replays and keeps the contract."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.paths import ROOT

pytestmark = pytest.mark.skipif(not (ROOT / "src" / "rnncheck").is_dir(), reason="the tests are not in the source tree")


@pytest.fixture(scope="module")
def with_new_cell(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the source in which nothing but the places of CONTRIBUTING's row were touched."""
    row = next(
        line for line in (ROOT / "CONTRIBUTING.md").read_text().splitlines() if line.startswith("| a cell type |")
    )
    assert re.findall(r"`(\S+?)`", row) == ["models/cells/", "step_on", "models/cells/__init__.py", "docs/models.md"]
    source = tmp_path_factory.mktemp("source") / "src"
    shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
    cells = source / "rnncheck" / "models" / "cells"
    shutil.copy(ROOT / "tests" / "support" / "coupled_cell.py", cells / "coupled.py")
    text = (cells / "__init__.py").read_text()
    text = text.replace('    LSTM = "lstm"\n', '    LSTM = "lstm"\n    COUPLED = "coupled"\n')
    text = text.replace("    Cell.LSTM: Lstm(),\n", "    Cell.LSTM: Lstm(),\n    Cell.COUPLED: Coupled(),\n")
    text = text.replace("\n\nclass Cell(", "from rnncheck.models.cells.coupled import Coupled\n\n\nclass Cell(", 1)
    (cells / "__init__.py").write_text(text)
    return source


def run(source: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(source), "COVERAGE_PROCESS_START": ""}
    return subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, cwd=ROOT, env=environment, timeout=300
    )


def test_it_keeps_the_contract_of_cells(with_new_cell: Path) -> None:
    """Should be tried by every test of the contract because it is registered, but for its name in the documentation."""
    chosen = ["-k", "coupled and not documentation", "-n", "0", "-p", "no:cacheprovider"]
    found = run(with_new_cell, "-m", "pytest", "tests/contract/test_cell_contract.py", *chosen, "-vv")
    assert found.returncode == 0, found.stdout[-3000:] + found.stderr
    assert found.stdout.count("PASSED") + found.stdout.count("passed") >= 15


def test_its_proof_is_replayed_by_the_command_line(with_new_cell: Path, tmp_path: Path) -> None:
    """Should say which claim rests on the cell's own equations."""
    make = (
        "import sys; sys.path.insert(0, 'tests')\n"
        "from rnncheck.models.cells import Cell\n"
        "from rnncheck.models.files.safetensors_file import save_network\n"
        "from support.provable_networks import provable_network\n"
        f"save_network(provable_network(Cell.COUPLED), {str(tmp_path / 'coupled.safetensors')!r})\n"
    )
    assert run(with_new_cell, "-c", make).returncode == 0
    model, proof = str(tmp_path / "coupled.safetensors"), str(tmp_path / "proof.json")
    proved = run(
        with_new_cell, "-m", "rnncheck", "prove", model, "--regex", "(a|b)* a b? b? b?", "--certificate", proof
    )
    assert proved.returncode == 0, proved.stdout + proved.stderr
    replayed = run(with_new_cell, "-m", "rnncheck", "replay", proof, "--model", model)
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr
    assert "not checked\tequations\tthe equations of coupled" in replayed.stdout
    assert "CONFIRMED: the proof stands" in replayed.stdout
