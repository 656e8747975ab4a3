"""The names that others may rely on, and that documentation and examples keep to."""

import ast
import importlib

import pytest

import rnncheck
from support.doc_pages import blocks_of
from support.paths import ROOT

PUBLIC_MODULES = (
    "rnncheck",
    "rnncheck.automata",
    "rnncheck.contacts",
    "rnncheck.learning",
    "rnncheck.report",
    "rnncheck.training",
    "rnncheck.zoo",
)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "examples").glob("*.py"))]


@pytest.mark.parametrize("module", PUBLIC_MODULES)
def test_public_names_exist_and_are_documented(module: str) -> None:
    """Should have each name of ``__all__`` once, with a docstring where it can have one."""
    public = importlib.import_module(module)
    assert len(set(public.__all__)) == len(public.__all__)
    assert public.__doc__
    for name in public.__all__:
        value = getattr(public, name)
        if callable(value):
            assert (value.__doc__ or "").strip(), name


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'verfy'"):
        rnncheck.verfy  # type: ignore[attr-defined]  # noqa: B018


def test_completion_sees_every_public_name() -> None:
    assert set(rnncheck.__all__) <= set(dir(rnncheck))


def test_every_error_is_public() -> None:
    raised = {
        name for name, value in vars(rnncheck.errors).items() if isinstance(value, type) and name.endswith("Error")
    }
    assert raised <= set(rnncheck.__all__)


def sources(page) -> list[str]:
    if page.suffix == ".py":
        return [page.read_text(encoding="utf-8")]
    return [block.text for block in blocks_of(page) if block.kind == "python"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_documentation_and_examples_use_public_names_alone(page) -> None:
    """Should import from public modules what these list, so that readers can rely on what they see."""
    for source in sources(page):
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names if alias.name.split(".")[0] == "rnncheck"]
                assert set(modules) <= set(PUBLIC_MODULES), modules
            elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "rnncheck":
                assert node.module in PUBLIC_MODULES, f"{page.name} imports from {node.module}"
                public = importlib.import_module(node.module)
                submodules = {name.removeprefix("rnncheck.") for name in PUBLIC_MODULES}
                for alias in node.names:
                    assert alias.name in {*public.__all__, *submodules}, f"{page.name} imports {alias.name}"
