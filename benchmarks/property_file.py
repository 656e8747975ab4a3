"""One property file against single calls: the same properties of the same models, by ``check`` and by ``verify``.

    python benchmarks/property_file.py [--properties 50] [--models 5] [--holding]

With ``--holding`` the properties are all different, and hold; else most are violated. Prints the processor time of one
``rnncheck check``, and that of as many calls of ``rnncheck verify`` as it has checks (some of them, every so manieth,
scaled up: ``--sampled``). Both run with one thread.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from diff import copied

from rnncheck import save_network, zoo

RUN = [sys.executable, "-c", "from rnncheck.cli import main; main()"]
FORMS = ["G({x} -> F {y})", "G({x} -> X !{y})", "F {x} | G !{y}", "!({x} & X {y})", "G(F {x} -> F {y})"]


def holding(count: int) -> list[str]:
    """Consequences of what the networks have learned, no two of them alike."""
    return [f"G(a -> F b) | {'X ' * (number // 3)}{'abc'[number % 3]}" for number in range(count)]


def copies(folder: Path) -> list[str]:
    """Five networks that satisfy these: two of the zoo, and copies with rounded weights."""
    for name in ("response-lstm", "response-provable-lstm"):
        network = zoo.entry(name).network()
        save_network(network, folder / f"{name}.safetensors")
        for kind in ("float16", "int8"):
            save_network(copied(network, kind), folder / f"{name}-{kind}.safetensors")
    return sorted(map(str, folder.glob("*.safetensors")))


def formulas(letters: list[str], count: int) -> list[str]:
    pairs = [(x, y) for x in letters for y in letters if x != y]
    return [FORMS[n % len(FORMS)].format(x=pairs[n % len(pairs)][0], y=pairs[n % len(pairs)][1]) for n in range(count)]


def seconds(command: list[str], folder: Path) -> float:
    began = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([*RUN, *command], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1, 3), done.stderr
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--properties", type=int, default=50)
    parser.add_argument("--models", type=int, default=5)
    parser.add_argument("--sampled", type=int, default=5, help="time every so manieth single call")
    parser.add_argument("--holding", action="store_true", help="properties that are all different, and hold")
    chosen = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    names = [f"response-{kind}" for kind in ("lstm", "faulty-lstm", "provable-lstm")] * 2
    texts = holding(chosen.properties) if chosen.holding else formulas(["a", "b", "c"], chosen.properties)
    lines = ["[defaults]", "epsilon = 0.01", "gamma = 0.01"]
    made = tempfile.TemporaryDirectory()
    found = copies(Path(made.name)) if chosen.holding else [str(zoo.path(name)) for name in names]
    paths = found[: chosen.models]
    for number, path in enumerate(paths):
        lines += [f"[models.m{number}]", f'path = "{path}"']
    for number, text in enumerate(texts):
        lines += [f"[properties.p{number}]", f'ltlf = "{text}"']
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "suite.toml").write_text("\n".join(lines))
        together = seconds(["check", "suite.toml", "--threads", "1", "--quiet"], place)
        print(f"one check of {len(paths) * len(texts)}: {together:.1f} s", flush=True)
        calls = [(path, text) for path in paths for text in texts][:: chosen.sampled]
        options = ["--epsilon", "0.01", "--gamma", "0.01", "--threads", "1", "--quiet"]
        alone = sum(seconds(["verify", path, "--ltlf", text, *options], place) for path, text in calls)
    made.cleanup()
    scaled = alone * len(paths) * len(texts) / len(calls)
    print(f"single calls: {scaled:.1f} s ({len(calls)} of them timed); ratio {together / scaled:.2f}")


if __name__ == "__main__":
    main()
