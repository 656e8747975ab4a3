"""Long fuzzing of every parser and loader.

    python scripts/fuzz_parsers.py --seconds 600                      all targets in turn, each its share
    python scripts/fuzz_parsers.py --seconds 600 --target regex
    python scripts/fuzz_parsers.py --seconds 600 --atheris            guided by coverage, where atheris is installed
    python scripts/fuzz_parsers.py --repeat regex-0123456789ab.bin    run one kept input again

A failure (an exception that is not rnncheck's, or more than a second of processor time for an input below 10 KB) is
written to a file named after its target; exit code 1 says that there was one. The short runs of the test suite use the
same targets: tests/fuzz.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import re
import subprocess
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1] / "tests"
sys.path[:0] = [str(TESTS)]

from fuzz.fuzzing import Outcome, execute, fuzz  # noqa: E402 - found by the line above
from fuzz.targets import TARGETS, Target, workplace  # noqa: E402


def _available(target: Target) -> bool:
    return all(importlib.util.find_spec(module) for module in target.needs)


def _repeat(file: Path) -> int:
    name = file.name.rsplit("-", 1)[0]
    outcome = Outcome()
    with workplace() as folder:
        run = TARGETS[name].make(Path(folder))
        for data in TARGETS[name].corpus():  # so that no import is charged to the input
            execute(name, run, data, Outcome())
        execute(name, run, file.read_bytes(), outcome)
    for failure in outcome.failures.values():
        sys.stdout.write(f"{failure.place}: {failure.what}\n")
    sys.stdout.write(f"{outcome.slowest:.3f} s, {'failed' if outcome.failures else 'all is well'}\n")
    return 1 if outcome.failures else 0


def _guided(target: Target, seconds: float, seed: int, out: Path) -> tuple[int, bool]:
    """Executions, and whether one failed. libFuzzer ends its process, so each target gets a process of its own."""
    command = [sys.executable, __file__, "--inside", target.name, "--seconds", str(seconds), "--seed", str(seed)]
    done = subprocess.run([*command, "--out", str(out)], capture_output=True, text=True, errors="replace", check=False)
    count = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    if done.returncode:
        sys.stdout.write(done.stdout[-1000:] + done.stderr[-3000:])
    return int(count[1]) if count else 0, done.returncode != 0


def _inside(name: str, seconds: float, seed: int, out: Path) -> None:
    """Hand one target to libFuzzer; does not return."""
    import atheris

    with atheris.instrument_imports(include=["rnncheck"]):
        for module in [module for module in sys.modules if module.split(".")[0] in ("rnncheck", "targets")]:
            del sys.modules[module]  # loaded above without counters
        from fuzz.targets import TARGETS as WATCHED
        from rnncheck.errors import RnncheckError as Refusal

    target, folder, corpus = WATCHED[name], tempfile.mkdtemp(), Path(tempfile.mkdtemp())
    run = target.make(Path(folder))
    for number, data in enumerate(target.corpus()):
        (corpus / str(number)).write_bytes(data)

    def one(data: bytes) -> None:
        with contextlib.suppress(Refusal):
            run(data)

    options = {"max_total_time": int(seconds), "max_len": 10_000, "timeout": 20, "seed": seed + 1, "verbosity": 0}
    options |= {"print_final_stats": 1}
    given = [f"-{option}={value}" for option, value in options.items()]
    atheris.Setup([sys.argv[0], str(corpus), f"-artifact_prefix={out / name}-", *given], one)
    atheris.Fuzz()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600.0, help="of processor time, for all targets together")
    parser.add_argument("--target", choices=sorted(TARGETS), action="append")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path())
    parser.add_argument("--repeat", type=Path, metavar="FILE")
    parser.add_argument("--atheris", action="store_true", help="let libFuzzer choose the inputs")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.repeat:
        return _repeat(options.repeat)
    if options.inside:
        _inside(options.inside, options.seconds, options.seed, options.out)
    chosen = [TARGETS[name] for name in options.target or TARGETS]
    chosen = [target for target in chosen if _available(target)]
    executions = failures = 0
    for target in chosen:
        if options.atheris:
            count, failed = _guided(target, options.seconds / len(chosen), options.seed, options.out)
            executions += count
            failures += failed
            sys.stdout.write(f"{target.name}: {count} executions, {'failed' if failed else 'no failure'}\n")
            sys.stdout.flush()
            continue
        outcome = fuzz(target, seed=options.seed, seconds=options.seconds / len(chosen))
        executions += outcome.executions
        failures += len(outcome.failures)
        sys.stdout.write(
            f"{target.name}: {outcome.executions} executions in {outcome.seconds:.0f} s, {outcome.refused} refused, "
            f"slowest {outcome.slowest:.3f} s ({len(outcome.slowest_input)} bytes), {len(outcome.failures)} failures\n"
        )
        for failure in outcome.failures.values():
            (options.out / failure.file_name).write_bytes(failure.data)
            sys.stdout.write(f"  {options.out / failure.file_name}: {failure.place}: {failure.what}\n")
        sys.stdout.flush()
    sys.stdout.write(f"all: {executions} executions, {failures} failures\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
