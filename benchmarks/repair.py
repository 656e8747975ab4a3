"""What repair achieves: networks of the zoo, random automata, and released networks beside plain retraining.

``python benchmarks/repair.py zoo|random|released [--folder FOLDER] [--data FOLDER]`` writes one JSON file a network and
leaves out those that are there already, so that it goes on where it was ended. At the end it prints the table.
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rnncheck import (
    RepairSettings,
    Requirement,
    Spec,
    VerifySettings,
    WordDistribution,
    load_model,
    repair,
    verify,
    zoo,
)
from rnncheck.automata.dfa import DFA
from rnncheck.automata.minimisation import minimise
from rnncheck.models.engine.compiled import compiled_or_stepped
from rnncheck.models.files.safetensors_file import read_safetensors
from rnncheck.models.labelled import network_of
from rnncheck.models.network import RecurrentNetwork
from rnncheck.repairs.repair_conclusion import Repaired
from rnncheck.repairs.repair_report import Ending, RepairProgress
from rnncheck.repairs.repaired_models import RepairedNetwork, scores_along
from rnncheck.repairs.requirements import AllowedOutputs
from rnncheck.repairs.violation_mining import mine_violations
from rnncheck.runtime.budget import UNLIMITED, Budget
from rnncheck.training import TrainingSettings, data_from_automaton, train_on_automaton
from rnncheck.training.batches import Stage
from rnncheck.training.fine_tuning import FineTuning, fine_tune
from rnncheck.words import Alphabet, WordBatch

_FRESH_SEED = 12_345  # of checks afterwards: no repair has used it
_LOOKED = 500_000  # network steps of the search for violations that are left, for each property


def cpu_seconds(seconds: float) -> Budget:
    """A limit that other work on the machine does not use up."""
    return Budget.lasting(seconds, clock=time.process_time)


def accuracy(network: RecurrentNetwork, dfa: DFA) -> float:
    """On held-out words with both labels and near misses, by the language itself."""
    test = data_from_automaton(dfa, np.random.default_rng(_FRESH_SEED), count=20_000).test
    return float((compiled_or_stepped(network, threads=1).accepts_batch(test.words) == (test.answers == 1)).mean())


def checked(network: RecurrentNetwork, spec: Spec, relation: str, steps: int, epsilon: float = 5e-4) -> str:
    """The verdict with fresh seeds."""
    model = compiled_or_stepped(network, threads=1)
    settings = VerifySettings(search_steps=steps, severity_samples=0)
    verdict = verify(
        model, spec, relation=relation, seed=_FRESH_SEED, settings=settings, epsilon=epsilon  # type: ignore[arg-type]
    )  # fmt: skip
    proved = verdict.guarantee is not None and verdict.guarantee.proof
    return "proved" if proved else verdict.outcome.value


def summary_of(made: Repaired, before: RecurrentNetwork, truth: DFA | None) -> dict[str, object]:
    report, network = made.report, made.network
    assert network is not None
    return {
        "ending": report.ending.value,
        "rounds": len(report.rounds),
        "seconds": round(report.seconds, 1),
        "held_out": [report.held_out.before, report.held_out.after],
        "accuracy": None if truth is None else [accuracy(before, truth), accuracy(network, truth)],
        # Before each round the properties violated; after it the mistakes among the audited words, and those trained on
        "left": [[len(each.violated), each.mistakes, each.audited, each.words] for each in report.rounds],
        "hardening": None if report.hardening is None else report.hardening.reason,
        "reason": report.reason,
    }


def zoo_network(name: str) -> dict[str, object]:
    entry = zoo.entry(name)
    network, spec = entry.network(), entry.spec()
    made = repair(network, spec, budget=cpu_seconds(300))
    assert made.network is not None
    return summary_of(made, network, spec.dfa) | {"checked": checked(made.network, spec, "subset", 10_000_000)}


def random_automaton(number: int, effort: float) -> dict[str, object]:
    """A network of 32 units that was trained on too few words for a random automaton of 5 to 10 states."""
    rng = np.random.default_rng([7, number])
    alphabet = Alphabet(["a", "b", "c"])
    while True:
        states = int(rng.integers(5, 11))
        table, accepting = rng.integers(states, size=(states, 3)), rng.random(states) < 0.5
        dfa = minimise(DFA(alphabet, table, accepting, 0))
        if len(dfa) >= 5:
            break
    shape = TrainingSettings(hidden=32, epochs=60, max_length=30, hold=1, seed=number)
    network = train_on_automaton(
        dfa, settings=shape, distribution=WordDistribution(alphabet, stop=0.05), words=2_000
    ).network
    spec, steps = Spec.from_dfa(dfa), round(1_000_000 * effort)
    trained = time.process_time()
    settings = RepairSettings(effort=effort, rounds=6, threads=1)
    made = repair(network, spec, relation="equal", budget=cpu_seconds(60), settings=settings)
    spent = round(time.process_time() - trained, 1)
    assert made.network is not None
    found = {
        "states": len(dfa),
        "checked before": checked(network, spec, "equal", 100_000, 5e-3),
        "CPU seconds of the repair": spent,
    }
    return found | summary_of(made, network, dfa) | {"checked": checked(made.network, spec, "equal", steps)}


def released(folder: Path, seconds: float, runs: Path, rounds: int) -> dict[str, object] | None:
    """All specifications at once, and the plain way with as many random words in every round.

    None where the seconds ended before the rounds did: another call goes on from the checkpoint.
    """
    network, checkpoint = network_of(load_model(folder)), runs / f"{folder.name}.checkpoint"
    specs = [Spec.from_file(path, network.alphabet) for path in sorted(folder.glob("spec*.dot"))]
    requirements = [Requirement(Path(spec.origin).stem, spec) for spec in specs]
    truth = Spec.from_file(folder / "dfa.dot", network.alphabet).dfa
    settings = RepairSettings(effort=1.0, rounds=rounds, threads=1)

    def keep(now: RepairProgress) -> None:
        copy = runs / f"{folder.name}-{now.round}.round"
        if now.round and now.doing.startswith("verifying") and not copy.exists():
            shutil.copy(checkpoint, copy)

    made = repair(
        network, requirements, budget=cpu_seconds(seconds), settings=settings, progress=keep,
        checkpoint=checkpoint, resume=checkpoint.exists(),
    )  # fmt: skip
    if made.report.ending is Ending.ENDED_EARLY:
        return None
    candidate, rows = RepairedNetwork(network, threads=1), []
    for number, each in enumerate(made.report.rounds, start=1):
        _, arrays = read_safetensors(runs / f"{folder.name}-{number}.round")
        candidate.load({name.removeprefix("now/"): array for name, array in arrays.items() if name.startswith("now/")})
        rows.append({"words": each.words, "epochs": each.epochs} | left(candidate.network(), requirements, truth))
    assert made.network is not None
    return summary_of(made, network, truth) | {
        "before": left(network, requirements, truth),
        "after each round": rows,
        "plain": plainly(network, requirements, [each.words for each in made.report.rounds], truth),
        "checked": [checked(made.network, spec, "subset", 1_000_000) for spec in specs],
    }


def left(network: RecurrentNetwork, requirements: Sequence[Requirement], truth: DFA) -> dict[str, object]:
    """The properties that a search with fresh seeds still violates, the violations it comes to, and the accuracy."""
    model, found = compiled_or_stepped(network, threads=1), []
    for number, each in enumerate(requirements):
        rng = np.random.default_rng([_FRESH_SEED, number])
        found.append(len(mine_violations(each, model, rng, steps=_LOOKED, most=10**6, budget=UNLIMITED)))
    return {"violated": sum(map(bool, found)), "violations": sum(found), "accuracy": accuracy(network, truth)}


def plainly(
    network: RecurrentNetwork, requirements: Sequence[Requirement], counts: Sequence[int], truth: DFA
) -> list[dict[str, object]]:
    """Training further on random words that the specifications and the network itself label: what most people do."""
    candidate = RepairedNetwork(network, threads=1)
    before, distribution = candidate.model(), WordDistribution(network.alphabet)
    allowed_outputs = AllowedOutputs(requirements, network.alphabet, candidate.labels)
    rows: list[dict[str, object]] = []
    for number, count in enumerate(counts):
        rng = np.random.default_rng([3, number])
        words = WordBatch.from_codes([word[:200] for word in distribution.sample(rng, count)])
        answers = allowed_outputs.answers(words, scores_along(before, words, 2)).answers
        how = FineTuning(epochs=min(FineTuning.epochs, 10 * 2**number))  # as repair
        tuned = fine_tune(candidate, Stage(words, answers, True), 2, rng, how)
        rows.append({"words": count, "epochs": tuned.epochs} | left(candidate.network(), requirements, truth))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["zoo", "random", "released"])
    parser.add_argument("--folder", type=Path, default=Path("repair-runs"))
    parser.add_argument("--data", type=Path, default=Path("../shared/data/released/random"))
    parser.add_argument("--network", action="append", help="only these folders of --data")
    parser.add_argument("--first", type=int, default=0, help="number of the first random automaton")
    parser.add_argument("--count", type=int, default=20, help="number after the last random automaton")
    parser.add_argument("--seconds", type=float, default=900.0, help="for each released network")
    parser.add_argument("--rounds", type=int, default=5, help="for each released network, at most")
    parser.add_argument("--effort", type=float, default=1.0, help="of repairs of random automata")
    choices = parser.parse_args()
    choices.folder.mkdir(parents=True, exist_ok=True)
    jobs = {
        "zoo": {name: lambda name=name: zoo_network(name) for name in ("response-faulty-lstm", "xml-lstm")},
        "random": {
            f"random-{n}": lambda n=n: random_automaton(n, choices.effort) for n in range(choices.first, choices.count)
        },
        "released": {
            name: lambda name=name: released(choices.data / name, choices.seconds, choices.folder, choices.rounds)
            for name in choices.network or ()
        },
    }[choices.what]
    for name, job in jobs.items():
        file = choices.folder / f"{name}.json"
        if not file.exists():
            began = time.process_time()
            found = job()
            if found is None:
                print(name, "goes on from its checkpoint with the next call", flush=True)
                continue
            file.write_text(json.dumps(found | {"all seconds": round(time.process_time() - began, 1)}))
        print(name, file.read_text(), flush=True)


if __name__ == "__main__":
    main()
