"""Extraction of automata against time and network steps: rnncheck, an older rnncheck, and AALpy.

    python benchmarks/extract_networks.py FOLDER
    python benchmarks/extract.py FOLDER [--before SRC] [--limit 120] [--only NAME] [--method NAME]

Every method has ``--limit`` seconds of processor time on each network, on one thread. The result is judged by 3 000
words of each of three distributions, drawn here: as it was learned for (stop 0.05), longer words (stop 0.02), and short
words of uneven letters (stop 0.1, letter i with weight 1/i). ``before`` is the source folder of an older version, run
in a process of its own. AALpy is asked by KV, L# and RPNI through one membership oracle of ours, so that its network
steps are counted the same way; where the time is over, its last hypothesis is judged.

Results are lines of FOLDER/results.jsonl. What is there already is not run again; ``--table`` shows what there is.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from extract_networks import NAMES, STOP, network

from rnncheck.automata.dfa import DFA
from rnncheck.automata.moore import Hypothesis
from rnncheck.extraction.extract import extract
from rnncheck.learning.learning_settings import LearningSettings
from rnncheck.models.protocol import Model
from rnncheck.oracle import MembershipOracle
from rnncheck.probability.distributions import WordDistribution

METHODS = ("before", "pac", "mixed", "tree", "auto", "aalpy-kv", "aalpy-lsharp", "aalpy-rpni")
WORDS = 3_000
SAMPLE = 2_000  # words for RPNI


class TimeOver(Exception):  # noqa: N818 - an expected end
    """The limit of a method that knows none."""


def distributions(model: Model) -> list[WordDistribution]:
    letters = model.alphabet
    uneven = [1.0 / (at + 1) for at in range(len(letters))]
    return [WordDistribution(letters, stop=STOP), WordDistribution(letters, stop=0.02),
            WordDistribution(letters, uneven, stop=0.1)]  # fmt: skip


def judged(model: Model, automaton: Hypothesis) -> list[float]:
    agreement = []
    for number, distribution in enumerate(distributions(model)):
        words = distribution.sample(np.random.default_rng(1_000 + number), WORDS)
        agreement.append(float((automaton.support.accepts_batch(words) == model.accepts_batch(words)).mean()))
    return agreement


def constant(model: Model) -> list[float]:
    shares = []
    for number, distribution in enumerate(distributions(model)):
        words = distribution.sample(np.random.default_rng(1_000 + number), WORDS)
        accepted = float(model.accepts_batch(words).mean())
        shares.append(max(accepted, 1.0 - accepted))
    return shares


def ours(model: Model, limit: float, **options: Any) -> dict[str, Any]:
    """``options`` as an older version knows them: none."""
    extraction = extract(
        model, distribution=distributions(model)[0], timeout=limit, epsilon=0.005, gamma=0.005,
        settings=LearningSettings(clock=time.process_time, equivalence=options.pop("equivalence", None)), **options,
    )  # fmt: skip
    cost = extraction.cost
    return {"states": len(extraction.automaton), "seconds": cost.seconds, "steps": cost.network_steps,
            "passed": extraction.passed, "agreement": judged(model, extraction.automaton)}  # fmt: skip


def aalpy(kind: str, model: Model, limit: float) -> dict[str, Any]:
    """AALpy with an equivalence oracle that draws words of the first distribution."""
    from aalpy.base import SUL, Oracle
    from aalpy.learning_algs import run_KV, run_Lsharp, run_RPNI

    oracle = MembershipOracle(model)
    letters = list(range(len(model.alphabet)))
    distribution, rng = distributions(model)[0], np.random.default_rng(0)
    began = time.process_time()
    network_seconds = 0.0
    last: list[Any] = [None]

    def answers(words: list[tuple[int, ...]]) -> list[bool]:
        nonlocal network_seconds
        if time.process_time() - began > limit:
            raise TimeOver
        start = time.process_time()
        said = oracle.answers(words).tolist()
        network_seconds += time.process_time() - start
        return [bool(answer) for answer in said]

    class Asked(SUL):  # type: ignore[misc]
        def pre(self) -> None:
            self.word: tuple[int, ...] = ()

        def post(self) -> None: ...

        def step(self, letter: int | None) -> bool:
            if letter is not None:
                self.word = (*self.word, letter)
            return answers([self.word])[0]

        def query(self, word: Any) -> list[bool]:
            self.num_queries += 1
            return answers([tuple(word[: at + 1]) for at in range(len(word))] or [()])

    class Sampled(Oracle):  # type: ignore[misc]
        def find_cex(self, hypothesis: Any) -> Any:
            last[0] = hypothesis
            needed = 0
            while needed < SAMPLE:
                words = list(distribution.sample(rng, 20))
                needed += len(words)
                for word, answer in zip(words, answers(words), strict=True):
                    hypothesis.reset_to_initial()
                    said = hypothesis.current_state.is_accepting
                    for letter in word:
                        said = hypothesis.step(letter)
                    if said != answer:
                        return word
            return None

    sul = Asked()
    try:
        if kind == "kv":
            last[0] = run_KV(letters, sul, Sampled(letters, sul), "dfa", print_level=0, cache_and_non_det_check=False)
        elif kind == "lsharp":
            last[0] = run_Lsharp(
                letters, sul, Sampled(letters, sul), "dfa", print_level=0, cache_and_non_det_check=False
            )
        else:
            words = list(distribution.sample(rng, SAMPLE))
            data = list(zip(words, answers(words), strict=True))
            last[0] = run_RPNI(data, "dfa", print_info=False)
    except TimeOver:
        pass
    result: dict[str, Any] = {"seconds": time.process_time() - began, "steps": oracle.cost.network_steps,
                              "network_seconds": network_seconds, "passed": False}  # fmt: skip
    if last[0] is None:
        return {**result, "states": 0, "agreement": None}
    automaton = completed(last[0], model)
    return {**result, "states": len(automaton), "agreement": judged(model, automaton)}


def completed(machine: Any, model: Model) -> DFA:
    """AALpy's automaton as ours; transitions that RPNI leaves out go to a rejecting state."""
    states = [machine.initial_state]
    for state in states:  # grows while it is walked
        states += [goal for goal in dict.fromkeys(state.transitions.values()) if goal not in states]
    number = {id(state): at for at, state in enumerate(states)}
    sink = len(states)
    table = [
        [number[id(s.transitions[a])] if a in s.transitions else sink for a in range(len(model.alphabet))]
        for s in states
    ]
    accepting = [bool(state.is_accepting) for state in states]
    if any(sink in row for row in table):
        table, accepting = [*table, [sink] * len(model.alphabet)], [*accepting, False]
    return DFA(model.alphabet, table, accepting)


def measured(method: str, name: str, folder: Path, limit: float) -> dict[str, Any]:
    model = network(name, folder)
    if method.startswith("aalpy-"):
        return aalpy(method.removeprefix("aalpy-"), model, limit)
    options = {"mixed": {"equivalence": "mixed"}, "tree": {"method": "tree"}, "auto": {"method": "auto"}}
    return ours(model, limit, **options.get(method, {}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--before", type=Path, help="the src folder of an older version")
    parser.add_argument("--limit", type=float, default=120.0)
    parser.add_argument("--only", action="append")
    parser.add_argument("--method", action="append", choices=METHODS)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--one", nargs=2, metavar=("METHOD", "NETWORK"), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    file = chosen.folder / "results.jsonl"
    if chosen.one:
        print(json.dumps(measured(*chosen.one, chosen.folder, chosen.limit)))
        return
    if not chosen.table:
        run_all(chosen, file)
    show([json.loads(line) for line in file.read_text().splitlines()])


def run_all(chosen: argparse.Namespace, file: Path) -> None:
    done = {(r["method"], r["network"], r["limit"]) for r in map(json.loads, _lines(file))}
    for name in chosen.only or NAMES:
        if ("constant", name, 0) not in done:
            _write(file, {"method": "constant", "network": name, "limit": 0, "states": 1, "seconds": 0, "steps": 0,
                          "agreement": constant(network(name, chosen.folder))})  # fmt: skip
        for method in chosen.method or METHODS:
            if (method, name, chosen.limit) in done or (method == "before" and chosen.before is None):
                continue
            command = [sys.executable, __file__, str(chosen.folder), "--limit", str(chosen.limit),
                       "--one", method, name]  # fmt: skip
            source = {"PYTHONPATH": str(chosen.before)} if method == "before" else {}
            ended = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **source}, check=False)
            found = json.loads(ended.stdout) if ended.returncode == 0 else {"error": ended.stderr[-400:]}
            _write(file, {"method": method, "network": name, "limit": chosen.limit, **found})


def _lines(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


def _write(file: Path, row: dict[str, Any]) -> None:
    with file.open("a") as out:
        out.write(json.dumps(row) + "\n")


def show(rows: list[dict[str, Any]]) -> None:
    print(f"{'network':20} {'method':13} {'states':>6}   as learned  longer   uneven      s      steps")
    for row in sorted(rows, key=lambda row: (NAMES.index(row["network"]), row["method"] != "constant")):
        if row.get("agreement") is None:
            print(f"{row['network']:20} {row['method']:13} {row.get('error', 'no automaton')[-60:]!r}")
            continue
        shares = " ".join(f"{share:8.4f}" for share in row["agreement"])
        print(
            f"{row['network']:20} {row['method']:13} {row['states']:6}   {shares} {row['seconds']:6.1f} "
            f"{row['steps']:10}"
        )


if __name__ == "__main__":
    main()
