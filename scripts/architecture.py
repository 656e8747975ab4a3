"""Draw the architecture into CONTRIBUTING.md, from the layer table that the tests hold and the packages' docstrings.

python scripts/architecture.py          write it
python scripts/architecture.py --check  say whether it is up to date (exit 1 where it is not)
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "CONTRIBUTING.md"
BEGIN, END = "<!-- architecture: begin -->", "<!-- architecture: end -->"
HIDDEN = {"__init__", "__main__", "version"}


def layers() -> list[list[str]]:
    """The rows of the table in ``tests/project/test_layers.py``, lowest first."""
    tree = ast.parse((ROOT / "tests" / "project" / "test_layers.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "") == "LAYERS" and node.value is not None:
            return [sorted(names - HIDDEN) for names, _ in ast.literal_eval(node.value)]
    raise SystemExit("tests/project/test_layers.py has no LAYERS")


def job(name: str) -> str:
    """The first sentence of a module's or package's docstring, without its full stop."""
    source = ROOT / "src" / "rnncheck" / name
    path = source / "__init__.py" if source.is_dir() else source.with_suffix(".py")
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split()).removesuffix(".")


def parts(name: str) -> str:
    """The packages inside a package."""
    source = ROOT / "src" / "rnncheck" / name
    inner = sorted(path.parent.name for path in source.glob("*/__init__.py"))
    return f"{name}/{{{','.join(inner)}}}" if inner else f"{name}/" if source.is_dir() else name


def drawn() -> str:
    """The layers from the top down, a line a package."""
    rows = [row for row in reversed(layers()) if row]
    width = max(len(parts(name)) for row in rows for name in row)
    lines = ["```text"]
    for number, row in enumerate(rows):
        lines += ["  ↓"] if number else []
        lines += [f"{parts(name).ljust(width)}  {job(name)}" for name in row]
    return "\n".join([*lines, "```"])


def main() -> None:
    before = PAGE.read_text(encoding="utf-8")
    head, _, rest = before.partition(BEGIN)
    _, _, tail = rest.partition(END)
    after = f"{head}{BEGIN}\n{drawn()}\n{END}{tail}"
    if "--check" in sys.argv[1:]:
        sys.exit(0 if after == before else "CONTRIBUTING.md: the picture is out of date; run scripts/architecture.py")
    PAGE.write_text(after, encoding="utf-8")


if __name__ == "__main__":
    main()
