"""Verify recurrent neural networks against regular specifications.

What is importable from here, and from ``rnncheck.automata``, ``rnncheck.learning``, ``rnncheck.training``,
``rnncheck.contacts``, ``rnncheck.report`` and ``rnncheck.zoo``, is public; anything deeper may move.

Reading order of the source, from the bottom up: ``errors``, ``words``, ``runtime/`` (budgets, executors, files),
``automata/`` (the DFA and everything that compiles to one), ``probability/``, ``spec`` and ``relations``, ``models/``,
``oracle/`` (the one door to a model), ``verdict/``, ``checker/``, ``search/``, ``proofs/``, ``learning/``,
``extraction/``, ``verification/``, ``neighbourhoods/``, ``training/``, ``repairs/``, ``contacts/``, ``experiments/``,
``suite/`` (property files), ``report/``, ``cli/``.
"""

import ast
import importlib
from pathlib import Path

import rnncheck_start  # noqa: F401 - before anything that takes time to load


def _homes() -> dict[str, tuple[str, str | None]]:
    """Where each public name lives, a module and its attribute: the imports of the stub beside this file.

    Type checkers and editors read the stub as well, so that each name is declared once.
    """
    stub = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    homes: dict[str, tuple[str, str | None]] = {}
    for line in stub.body:
        if isinstance(line, ast.ImportFrom) and line.module == __name__:
            homes |= {each.name: (f"{__name__}.{each.name}", None) for each in line.names}
        elif isinstance(line, ast.ImportFrom) and line.module:
            homes |= {each.name: (line.module, each.name) for each in line.names}
    return homes


_HOMES = _homes()
__all__ = sorted(name for name, (_, attribute) in _HOMES.items() if attribute)


_RENAMED = {"extract_automaton": "extract", "robustness": "robust"}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used: a program waits for what it needs, and for nothing else."""
    if name in _RENAMED:  # an AttributeError would be lost on its way to ``from rnncheck import …``
        raise ImportError(f"rnncheck.{name} is called rnncheck.{_RENAMED[name]} now; use that name")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _HOMES[name]
    found = importlib.import_module(module)
    value = globals()[name] = found if attribute is None else getattr(found, attribute)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
