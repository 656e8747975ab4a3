"""Random models × random specifications × methods × relations, held against the original and against one another.

    python scripts/differential.py --cases 100 --seed 3             100 cases; exit 1 where there is a contradiction
    python scripts/differential.py --cases 100000 --workers 2 --out runs/differential
    python scripts/differential.py --seconds 600                    begin nothing more after so long
    python scripts/differential.py --replay differential-3000017.json

A case fails when the engine or a counterexample is not confirmed by the original and by a plain walk through the
specification's table; when "exact up to n" or a proof is contradicted by a word; when the violations that are known
have together, exactly, as much probability as a "satisfied" leaves room for, or more; or when replaying the verdict
refutes it. The failing case is written to a file that repeats it. γ is one in a million: bad luck plays no part. That a
network overflows on a word is a refusal and no failure.

Work is done in pieces. With --out each finished piece is kept in that folder, so that the same command, given again
after an interruption, does what is missing; pieces of other source code do not count.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import torch
from differential_cases import Case, case_in, failure_text, run_case

import rnncheck
from rnncheck.runtime.files import write_atomically

PIECE = 100  # cases
_ENDINGS = ("satisfied", "violated", "undecided", "refused", "not accepted")


@dataclass
class Counts:
    """What came of some cases. The key of ``verdicts`` is "kind of model/method/verdict"."""

    cases: int = 0
    near: int = 0
    failed: list[int] = field(default_factory=list)
    verdicts: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.cases + other.cases,
            self.near + other.near,
            self.failed + other.failed,
            self.verdicts + other.verdicts,
        )

    def __str__(self) -> str:
        rows = sorted({key.rsplit("/", 1)[0] for key in self.verdicts})
        lines = [f"{'model':<22} {'method':<7}" + "".join(f"{ending:>13}" for ending in _ENDINGS)]
        for row in rows:
            kind, method = row.split("/")
            figures = "".join(f"{self.verdicts[f'{row}/{ending}']:>13}" for ending in _ENDINGS)
            lines.append(f"{kind:<22} {method:<7}{figures}")
        total = sum(self.verdicts.values())
        lines.append(f"{self.cases} cases, {total} verdicts, {self.near} words near the threshold, ")
        return "\n".join(lines) + f"{len(self.failed)} failed"


def run_piece(seeds: range, out: Path, code: str | None, end: float) -> Counts:
    """The cases of these seeds, or what is kept of them from an earlier run of the same code."""
    if time.monotonic() > end:
        return Counts()
    file = out / f"piece-{code}-{seeds.start}-{len(seeds)}.json"
    if code is not None and file.exists():
        kept = json.loads(file.read_text())
        return Counts(kept["cases"], kept["near"], kept["failed"], Counter(kept["verdicts"]))
    counts = Counts()
    for seed in seeds:
        case = Case.drawn(seed)
        outcome = run_case(case)
        counts.cases += 1
        counts.near += outcome.near
        counts.verdicts.update(f"{case.model}/{method}/{ending}" for method, ending in outcome.verdicts.items())
        if outcome.problems:
            counts.failed.append(seed)
            write_atomically(_failure(out, seed), failure_text(case, outcome.problems))
    if code is not None:
        write_atomically(file, json.dumps(vars(counts)))
    return counts


def _failure(out: Path, seed: int) -> Path:
    return out / f"differential-{seed}.json"


def _pieces(options: argparse.Namespace) -> Iterator[range]:
    first = options.seed * 1_000_000
    last = first + (options.cases or (1_000_000 if options.seconds else 100))
    for begin in range(first, last, PIECE):
        yield range(begin, min(begin + PIECE, last))


def _results(options: argparse.Namespace) -> Iterator[Counts]:
    out = options.out or Path()
    out.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + options.seconds if options.seconds else float("inf")
    work = functools.partial(run_piece, out=out, code=_code() if options.out else None, end=end)
    if options.workers == 1:
        torch.set_num_threads(1)
        yield from map(work, _pieces(options))
        return
    with ProcessPoolExecutor(options.workers, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        yield from pool.map(work, _pieces(options))


def _code() -> str:
    """A digest of the source that a result depends on."""
    digest = hashlib.sha256()
    for file in [
        *sorted(Path(rnncheck.__file__).parent.rglob("*.py")),
        *sorted(Path(__file__).parent.glob("diff*.py")),
    ]:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--cases", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--out", type=Path, metavar="FOLDER")
    parser.add_argument("--replay", type=Path, metavar="FILE")
    options = parser.parse_args()
    if options.replay:
        problems = run_case(case_in(options.replay.read_text())).problems
        sys.stdout.write("".join(f"{problem}\n" for problem in problems) or "all is well\n")
        return 1 if problems else 0
    total = Counts()
    for counts in _results(options):
        total += counts
        for seed in counts.failed:
            sys.stdout.write(f"{_failure(options.out or Path(), seed)}\n")
        if options.out:
            sys.stdout.write(f"{total.cases} cases done, {len(total.failed)} failed\n")
        sys.stdout.flush()
    sys.stdout.write(f"{total}\n")
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
