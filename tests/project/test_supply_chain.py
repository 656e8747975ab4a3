"""What the development environment is made of is written down, by version and by hash."""

from __future__ import annotations

import importlib.metadata
import re

import pytest

from support.paths import ROOT

pytestmark = pytest.mark.skipif(not (ROOT / "constraints.txt").is_file(), reason="the tests are not in the source tree")
NOT_LOCKED = {"torch"}  # its CPU and CUDA builds share a version and have other hashes
NOT_OURS = {"rnncheck", "pip", "setuptools"}  # this project, and what an environment comes with


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(file: str) -> dict[str, str]:
    found = re.findall(r"^([\w.-]+)==([\w.]+)", (ROOT / file).read_text(), re.MULTILINE)
    return {plain(name): version for name, version in found}


def test_the_lock_file_has_what_the_constraints_say() -> None:
    """Should be made anew (`make lock`) whenever a version changes."""
    constraints = pins("constraints.txt")
    assert pins("requirements-dev.lock") == {name: constraints[name] for name in constraints.keys() - NOT_LOCKED}


def test_every_locked_package_has_a_hash() -> None:
    for entry in re.split(r"\n(?=\w)", (ROOT / "requirements-dev.lock").read_text()):
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), entry[:80]


@pytest.mark.parametrize("extra", ["dev"])
def test_whatever_a_dependency_needs_is_pinned(extra: str) -> None:
    """Should find every package that the extras need, and those in turn, among the constraints."""
    packaging = pytest.importorskip("packaging.requirements")
    constraints, seen, open_ends = pins("constraints.txt"), set(), [("rnncheck", extra)]
    while open_ends:
        name, wanted = open_ends.pop()
        if (name, wanted) in seen:
            continue
        seen.add((name, wanted))
        for line in importlib.metadata.requires(name) or ():
            need = packaging.Requirement(line)
            if need.marker is None or need.marker.evaluate({"extra": wanted}):
                open_ends += [(plain(need.name), each) for each in (need.extras or {""})]
    names = {name for name, _ in seen} - NOT_OURS
    assert len(names) > 50
    assert names <= constraints.keys()
