"""Provable training: specifications × cells × sizes × seeds, how many are proved, and what it takes.

python benchmarks/certified_training.py --results provable.jsonl --seeds 3          # resumes where it ended
python benchmarks/certified_training.py --results growth.jsonl --specs random-10 --cells lstm --hidden 64 --seeds 1
python benchmarks/certified_training.py --results zoo.jsonl --harden                # the zoo's own networks

Seconds are those of one core (processor time).
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "tests")]

from rnncheck import zoo  # noqa: E402 - found by the line above
from rnncheck.automata.dfa import DFA  # noqa: E402
from rnncheck.automata.minimisation import minimise  # noqa: E402
from rnncheck.checker import replay  # noqa: E402
from rnncheck.models.engine.compiled import CompiledNetwork  # noqa: E402
from rnncheck.models.network import Cell  # noqa: E402
from rnncheck.spec import Spec  # noqa: E402
from rnncheck.training import HardeningSettings, ProvableNetwork, harden, train_provable  # noqa: E402
from support.proofs import random_dfa  # noqa: E402

NAMED: dict[str, Callable[[], Spec]] = {
    "response": lambda: Spec.from_ltlf("G(a -> F b)", ["a", "b", "c"]),
    "tomita-4": lambda: Spec.from_regex("!(.* 0 0 0 .*)", ["0", "1"]),
    "tomita-7": lambda: Spec.from_regex("0* 1* 0* 1*", ["0", "1"]),
    "even": lambda: Spec.from_regex("(b* a b* a)* b*", ["a", "b"]),
}
SPECS = (*NAMED, "random-5", "random-8")
LETTERS = 5


def specification(name: str) -> DFA:
    """By name; ``random-N`` is the first minimal random automaton of N states over 5 letters."""
    if name in NAMED:
        return minimise(NAMED[name]().dfa)
    states = int(name.removeprefix("random-"))  # checked by spec_name
    drawn = (minimise(random_dfa(states, LETTERS, seed)) for seed in itertools.count(1))
    return next(dfa for dfa in drawn if len(dfa) == states)


def spec_name(text: str) -> str:
    """A name that ``specification`` knows."""
    number = text.removeprefix("random-")
    if text in NAMED or (number != text and number.isdecimal() and int(number) > 0):
        return text
    raise argparse.ArgumentTypeError(f"no specification is called {text!r}; choose {', '.join(NAMED)} or random-N")


def row(key: str, made: ProvableNetwork) -> dict[str, object]:
    """What is kept of one run; the certificate is replayed."""
    began = time.process_time()
    confirmed = made.certificate is not None and replay(made.certificate, CompiledNetwork(made.network)).exit_code == 0
    report = made.report
    return {
        "run": key,
        "proved": report.proved,
        "replayed": confirmed,
        "replay_seconds": round(time.process_time() - began, 2),
        "boxes": report.boxes,
        "seconds": round(report.seconds, 1),
        "proof_seconds": round(report.proof_seconds, 3),
        "on_words": report.on_words,
        "on_boxes": report.on_boxes,
        "accuracy": report.accuracy,
        "accuracy_before": report.accuracy_before,
        "changed": report.changed,
        "words": report.words,
        "wrong_word": report.wrong_word,
        "obstacle": report.obstacle,
    }


def training(asked: argparse.Namespace) -> Iterator[tuple[str, Callable[[], ProvableNetwork]]]:
    for seed, hidden, cell, name in itertools.product(range(asked.seeds), asked.hidden, asked.cells, asked.specs):
        settings = HardeningSettings(seed=seed, timeout=asked.seconds, iterations=100_000)

        def run(
            name: str = name, cell: str = cell, hidden: int = hidden, settings: HardeningSettings = settings
        ) -> ProvableNetwork:
            return train_provable(
                specification(name),
                cell=Cell(cell),
                hidden=hidden,
                layers=asked.layers,
                rules=not asked.no_rules,
                settings=settings,
                clock=time.process_time,
            )

        yield f"{name} {cell} {hidden}x{asked.layers} seed {seed}{' no rules' if asked.no_rules else ''}", run


def hardening(asked: argparse.Namespace) -> Iterator[tuple[str, Callable[[], ProvableNetwork]]]:
    settings = HardeningSettings(timeout=asked.seconds, iterations=100_000)
    for entry, relation in itertools.product(zoo.entries(), ("subset", "equal")):

        def run(entry: zoo.Entry = entry, relation: str = relation) -> ProvableNetwork:
            return harden(
                entry.network(),
                entry.spec().dfa,
                relation=relation,  # type: ignore[arg-type]
                settings=settings,
                clock=time.process_time,
            )

        yield f"{entry.name} {relation}", run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--specs", nargs="*", type=spec_name, default=SPECS)
    parser.add_argument("--cells", nargs="*", default=["rnn_tanh", "gru", "lstm"])
    parser.add_argument("--hidden", nargs="*", type=int, default=[16, 32])
    parser.add_argument("--layers", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60.0, help="of training each")
    parser.add_argument("--no-rules", action="store_true", help="begin with random weights alone")
    parser.add_argument("--harden", action="store_true", help="the networks of the zoo instead")
    asked = parser.parse_args()
    known = {}
    if asked.results.exists():
        known = {entry["run"]: entry for entry in map(json.loads, asked.results.read_text().splitlines())}
    for key, run in (hardening if asked.harden else training)(asked):
        if key not in known:
            known[key] = row(key, run())
            with asked.results.open("a") as file:
                file.write(json.dumps(known[key]) + "\n")
        found = known[key]
        outcome = "proved" if found["proved"] else f"open, wrong word {found['wrong_word']}"
        print(
            f"{key:<36} {outcome}, {found['boxes']} boxes, {found['seconds']} s, proof {found['proof_seconds']} s, "
            f"accuracy {found['accuracy']:.4f}, replayed {found['replayed']}",
            flush=True,
        )
    proved = sum(bool(found["proved"]) for found in known.values())
    print(f"{proved} of {len(known)} proved")


if __name__ == "__main__":
    main()
