"""A name says where its code is: every file name occurs once, and no package hides a public function."""

import inspect
from collections import Counter

import rnncheck
from support.paths import ROOT

SOURCE = ROOT / "src" / "rnncheck"


def test_file_names_are_unique_across_packages() -> None:
    counts = Counter(path.name for path in SOURCE.rglob("*.py") if path.parent.name != "cli")
    repeated = {name for name, count in counts.items() if count > 1}
    assert repeated <= {"__init__.py"}, f"several packages have a file of this name: {repeated}"


def test_no_package_has_the_name_of_a_public_function() -> None:
    """``rnncheck.repair`` is a function; a package of that name would take its place when it is imported."""
    packages = {path.parent.name for path in SOURCE.rglob("__init__.py")}
    functions = {name for name in rnncheck.__all__ if inspect.isfunction(getattr(rnncheck, name))}
    assert not packages & functions
