"""What is added to a copy of the source as CONTRIBUTING.md says is tried by the contracts because it is registered.

A cell type with other equations also proves and replays.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.paths import ROOT

pytestmark = pytest.mark.skipif(not (ROOT / "CONTRIBUTING.md").is_file(), reason="the tests are not in the source tree")


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


# What is added: the package, the new module, and what is replaced in the file of the package.
ADDED: dict[str, tuple[str, str, str, dict[str, str]]] = {
    "learner": (
        "learning/learners",
        ("from rnncheck.learning.learners.kearns_vazirani import KearnsVazirani\n\n\n"
        "class Newcomer(KearnsVazirani):\n    pass\n"),
        "from rnncheck.learning.learners.newcomer import Newcomer\n",
        {'"lstar-prefixes"]': '"lstar-prefixes", "newcomer"]',
         '"lstar-prefixes": AngluinLStar': '"lstar-prefixes": AngluinLStar, "newcomer": Newcomer'},
    ),
    "equivalence oracle": (
        "learning/equivalence",
        ("from rnncheck.learning.equivalence.w_method import WMethodEquivalence\n\n\n"
        "class Newcomer(WMethodEquivalence):\n    pass\n"),
        "from rnncheck.learning.equivalence.newcomer import Newcomer\n",
        {'"w-method"]': '"w-method", "newcomer"]',
         "[WMethodEquivalence(context), sample],\n": "[WMethodEquivalence(context), sample],\n"
         '        "newcomer": lambda context, rng, sample: [Newcomer(context), sample],\n'},
    ),
    "extraction method": (
        "extraction",
        "from rnncheck.extraction.merging import merging\n\n\ndef newcomer(task):\n    return merging(task)\n",
        "from rnncheck.extraction.newcomer import newcomer\n",
        {'"cells"]': '"cells", "newcomer"]',
         "ExtractionMethod(merging, black_box=True),\n": "ExtractionMethod(merging, black_box=True),\n"
         '        "newcomer": ExtractionMethod(newcomer, black_box=True),\n'},
    ),
}  # fmt: skip
CONTRACTS = {
    "learner": ["tests/contract/test_learner_contract.py", "tests/oracle/test_every_step_is_counted.py"],
    "equivalence oracle": ["tests/learning/test_equivalence.py", "tests/oracle/test_every_step_is_counted.py"],
    "extraction method": ["tests/extraction/test_methods.py", "tests/oracle/test_every_step_is_counted.py"],
}


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


@pytest.mark.slow
@pytest.mark.parametrize("what", ADDED)
def test_what_is_registered_is_tried(what: str, tmp_path: Path) -> None:
    """Should be tried by the tests of its kind, and pass them, without a change of any test."""
    package, module, imported, changes = ADDED[what]
    source = tmp_path / "src"
    shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
    folder = source / "rnncheck" / package
    (folder / "newcomer.py").write_text(module)
    text = (folder / "__init__.py").read_text()
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new, 1)
    first = text.index("from rnncheck.")
    (folder / "__init__.py").write_text(text[:first] + imported + text[first:])
    chosen = ["-k", "newcomer", "-m", "not slow", "-n", "0", "-p", "no:cacheprovider", "-vv"]
    found = run(source, "-m", "pytest", *CONTRACTS[what], *chosen)
    assert found.returncode == 0, found.stdout[-3000:] + found.stderr
    assert found.stdout.count("PASSED") >= 4, found.stdout
