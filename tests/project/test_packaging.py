"""What is published: built from the tree, installed where the tree is not, and used with its core dependencies alone.

The packages come from whatever index pip is set up for; without one, these tests are skipped.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

from support.paths import ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (ROOT / "pyproject.toml").is_file(), reason="the tests are not in the source tree"),
]

# Tests of the core that need neither torch nor any other extra.
CORE_TESTS = [
    *("test_words.py", "test_zoo.py", "automata/test_regex_errors.py", "automata/test_product.py"),
    *("probability/test_distributions.py", "probability/test_statistics.py", "verification/test_verify_limits.py"),
]


def plain_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=plain_environment(), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise AssertionError(f"{command} in {cwd}:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done.stdout


class Environment:
    """A fresh virtual environment."""

    def __init__(self, path: Path) -> None:
        venv.create(path, with_pip=True)
        self.path = path
        self.python = path / "bin" / "python"

    def install(self, *packages: str | Path) -> None:
        command = [self.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
        done = subprocess.run(
            [str(part) for part in command], env=plain_environment(), capture_output=True, text=True, check=False
        )
        if "No matching distribution" in done.stderr or "Could not find a version" in done.stderr:
            pytest.skip(f"pip finds no {packages}")
        if done.returncode:
            raise AssertionError(done.stderr[-2000:])


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the sdist and the wheel."""
    folder = tmp_path_factory.mktemp("built")
    environment = Environment(folder / "builder")
    environment.install("hatchling")
    run(environment.python, "-m", "hatchling", "build", "-d", folder / "dist", cwd=ROOT)
    return folder / "dist"


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    return next(built.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    environment = Environment(tmp_path_factory.mktemp("installed") / "env")
    environment.install(wheel)
    return environment


VERIFY = """
import importlib.util, json, sys
import rnncheck
from rnncheck import zoo

missing = [name for name in ("torch", "onnx", "onnxruntime", "matplotlib") if importlib.util.find_spec(name) is None]
verdicts = {}
for entry in zoo.entries():
    model = rnncheck.load_model(entry.path)
    verdicts[entry.name] = rnncheck.verify(model, entry.spec(), epsilon=0.01, gamma=0.01, timeout=60).outcome.value
wanted = {entry.name: entry.expected_verdict for entry in zoo.entries()}
print(json.dumps({"file": rnncheck.__file__, "missing": missing, "verdicts": verdicts, "wanted": wanted}))
"""


def check_verifies(environment: Environment, folder: Path) -> None:
    output = json.loads(run(environment.python, "-c", VERIFY, cwd=folder))
    assert Path(output["file"]).is_relative_to(environment.path)
    assert output["missing"] == ["torch", "onnx", "onnxruntime", "matplotlib"]
    assert output["verdicts"] == output["wanted"]


def test_the_wheel_holds_the_package_and_what_it_reads(wheel: Path) -> None:
    """Should hold every file of the package but nothing else, the networks and the report's assets among them."""
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if not name.startswith("rnncheck-")}
    source = ROOT / "src"
    tree = {
        str(file.relative_to(source))
        for file in source.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    assert packed == tree
    assert any(name.endswith(".safetensors") for name in packed)


def test_the_sdist_makes_the_same_wheel(built: Path, wheel: Path, tmp_path: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        archive.extractall(tmp_path, filter="data")
    (unpacked,) = tmp_path.iterdir()
    builder = built.parent / "builder" / "bin" / "python"
    run(builder, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path / "again", cwd=unpacked)
    with zipfile.ZipFile(wheel) as first, zipfile.ZipFile(next((tmp_path / "again").glob("*.whl"))) as second:
        assert sorted(first.namelist()) == sorted(second.namelist())
        assert all(first.read(name) == second.read(name) for name in first.namelist())


def test_the_installed_wheel_verifies_without_extras(installed: Environment, tmp_path: Path) -> None:
    """Should give every shipped network its verdict, far from the source tree and without torch."""
    check_verifies(installed, tmp_path)
    shown = run(installed.path / "bin" / "rnncheck", "--version", cwd=tmp_path)
    assert re.search(r"\d+\.\d+", shown)


def test_the_installed_wheel_passes_the_core_s_tests(installed: Environment, tmp_path: Path) -> None:
    installed.install("pytest", "hypothesis")
    shutil.copytree(ROOT / "tests" / "support", tmp_path / "support")
    for name in CORE_TESTS:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / "tests" / name, tmp_path / name)
    output = run(
        installed.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error",
        "-o", "markers=slow: long", "-o", "pythonpath=.", "-m", "not slow", *CORE_TESTS, cwd=tmp_path,
    )  # fmt: skip
    assert re.search(r"\d+ passed", output)
    assert "failed" not in output


def test_the_oldest_versions_allowed_are_enough(wheel: Path, tmp_path: Path) -> None:
    """Should work with exactly the lower bounds of pyproject.toml."""
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    oldest = [requirement.replace(">=", "==") for requirement in wanted]
    environment = Environment(tmp_path / "env")
    environment.install(*oldest, wheel)
    check_verifies(environment, tmp_path)


def test_the_version_is_told_once(wheel: Path) -> None:
    """Should be the same in the metadata, the wheel's name and the package."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"-{declared}-" in wheel.name
    code = "import rnncheck; print(rnncheck.__version__)"
    output = run(sys.executable, "-c", code, cwd=ROOT).strip()
    assert output == declared
