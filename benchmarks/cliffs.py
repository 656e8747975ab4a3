"""What users wait for: one table of costs, each row a ratio against a named baseline measured in the same run.

Run: python benchmarks/cliffs.py [--rows 3 4 …] [--quick]

Processor time of this process and its children, so that a shared machine gives the same table. The rows are in
``cliff_rows/``, one file per subject; ``--quick`` takes smaller sizes, for trying that a row works.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil

import cliff_rows
from cliff_rows.row import Row


def all_rows() -> list[Row]:
    """Every row of every file in ``cliff_rows``, by number."""
    rows: list[Row] = []
    for module in pkgutil.iter_modules(cliff_rows.__path__):
        rows += getattr(importlib.import_module(f"cliff_rows.{module.name}"), "ROWS", [])
    return sorted(rows, key=lambda row: row.number)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="*", help="only these rows")
    parser.add_argument("--quick", action="store_true", help="smaller sizes")
    chosen = parser.parse_args()
    print("| # | what | measured | baseline | ratio | aim |\n|---|---|---|---|---|---|")
    for row in all_rows():
        if chosen.rows and row.number not in chosen.rows:
            continue
        for found in row.measure(chosen.quick):
            print(
                f"| {row.number} | {found.what} | {found.measured} | {found.baseline} | {found.ratio} | {row.aim} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
