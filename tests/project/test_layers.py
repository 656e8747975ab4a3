"""Imports go down only. The table is the architecture; a module that is not in it fails the test."""

import ast
import subprocess
import sys
from pathlib import Path
from typing import TypeGuard

import pytest

from support.paths import ROOT

SOURCE = ROOT / "src" / "rnncheck"

# Later rows may import earlier ones. Names in one row may import one another only where the row says so.
LAYERS: list[tuple[set[str], bool]] = [
    ({"errors", "version", "display"}, False),
    ({"words"}, False),
    ({"runtime"}, False),
    ({"word_files", "automata"}, False),
    ({"probability", "spec", "relations"}, False),
    ({"models"}, True),
    ({"oracle"}, False),
    ({"verdict"}, False),
    ({"checker"}, False),
    ({"search", "proofs"}, False),
    ({"learning"}, False),
    ({"extraction"}, True),
    ({"verification", "neighbourhoods", "training", "zoo", "contacts"}, False),
    ({"repairs"}, False),
    ({"options"}, False),
    ({"experiments", "suite"}, False),
    ({"report"}, True),
    ({"cli", "__init__", "__main__"}, True),
]

# The one door upwards: values at the bottom are shown by what stands at the top, imported when they are shown.
UPWARDS = {("display", "report")}


def layer_of(top: str) -> int:
    for number, (names, _) in enumerate(LAYERS):
        if top in names:
            return number
    pytest.fail(f"rnncheck.{top} is not in the layer table")


def imports_of(path: Path) -> set[str]:
    """The top-level parts of rnncheck that a file imports, inside functions too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "rnncheck":
            parts = node.module.split(".")[1:]
            found |= {parts[0]} if parts else {alias.name for alias in node.names if alias.name != "__version__"}
        elif isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("rnncheck.")}
    return found


MODULES = sorted(SOURCE.rglob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_down_only(path: Path) -> None:
    relative = path.relative_to(SOURCE)
    own = relative.parts[0] if len(relative.parts) > 1 else relative.stem
    layer = layer_of(own)
    for other in imports_of(path) - {own}:
        if (own, other) in UPWARDS:
            continue
        assert layer_of(other) <= layer, f"{relative} imports rnncheck.{other}, which is above it"
        if layer_of(other) == layer:
            assert LAYERS[layer][1], f"{relative} imports its sibling rnncheck.{other}"


HEAVY = ("torch", "onnx", "onnxruntime", "pygraphviz", "matplotlib", "rich", "automata", "aalpy", "sklearn")


@pytest.mark.parametrize("module", ["rnncheck", "rnncheck.cli"])
def test_import_is_light(module: str) -> None:
    """Neither the library nor the command line loads a heavy package before it is needed."""
    code = f"import sys, {module}; print(*[name for name in {HEAVY!r} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split() == []


def modules_after(code: str) -> set[str]:
    result = subprocess.run(
        [sys.executable, "-c", f"{code}; import sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(result.stdout.split())


def test_importing_the_package_loads_none_of_its_parts() -> None:
    """Should import a part when a public name of it is first used."""
    ours = {name for name in modules_after("import rnncheck") if name.startswith("rnncheck.")}
    assert ours == set()
    words = {name for name in modules_after("import rnncheck; rnncheck.Alphabet") if name.startswith("rnncheck.")}
    assert "rnncheck.words" in words
    assert "rnncheck.verification" not in words


def test_the_library_loads_little_beyond_numpy() -> None:
    """Should bring few modules of others, beside numpy, even when all public names are loaded."""
    before = modules_after("import numpy")
    after = modules_after("from rnncheck import *")
    assert sum(not name.startswith("rnncheck") for name in after - before) < 130


WRITING = {"write_text", "write_bytes", "save_file", "tofile", "to_csv"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_files_are_written_in_one_place_only(path: Path) -> None:
    """Should leave writing to ``files``, where nothing is lost when it fails."""
    if path == SOURCE / "runtime" / "files.py":
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            modes = [word.value for word in (*node.args, *(each.value for each in node.keywords)) if is_text(word)]
            assert name not in WRITING, f"{path}:{node.lineno}"
            assert name not in ("open", "fdopen") or not {"w", "wb", "a", "ab", "x", "xb"} & set(modes), path


def is_text(node: ast.expr) -> TypeGuard[ast.Constant]:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
