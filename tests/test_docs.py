"""README and docs: links lead somewhere, commands exist, and the README's Python example runs."""

import re
import shutil
from pathlib import Path

import pytest

from rnncheck import zoo
from rnncheck.cli import rnncheck as command_line

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "benchmarks" / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_that_are_named_exist(page: Path) -> None:
    for command in re.findall(r"(?:`|\$ |^    )rnncheck ([a-z]+)\b", page.read_text(), flags=re.MULTILINE):
        assert command in command_line.commands, f"{page.name} names rnncheck {command}"


def test_the_python_example_of_the_readme_runs(tmp_path, monkeypatch, capsys) -> None:
    shutil.copy(zoo.path("response-faulty-lstm"), tmp_path / "model.safetensors")
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    exec(compile(example, "README.md", "exec"), {})
    assert capsys.readouterr().out


def test_the_demo_runs(capsys) -> None:
    source = (ROOT / "examples" / "demo.py").read_text()
    exec(compile(source, "demo.py", "exec"), {"__name__": "__main__"})
    out = capsys.readouterr().out
    assert "VIOLATED" in out
    assert "SATISFIED" in out
    assert "REFUTED" not in out
