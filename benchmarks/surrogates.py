"""Every extraction method on the same networks with the same budget, and the case that all of them miss.

    python benchmarks/surrogates.py [--data ../shared/data/released/random] [--limit 10] [--only jun03-13]
    python benchmarks/surrogates.py --weakness

Each method has ``--limit`` seconds on each network, on one thread, with ε = γ = 0.005. Agreement is measured on the
same fresh words for all methods. The zoo's networks stand for those that have learned their language, the released ones
for those that have not.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rnncheck import zoo
from rnncheck.automata.minimisation import minimise
from rnncheck.automata.regex.regex_compiler import compile_regex
from rnncheck.extraction.compare import compare_surrogates
from rnncheck.extraction.surrogate_comparison import SurrogateComparison
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.exact_network import exact_network
from rnncheck.models.files.released_folder import load_released
from rnncheck.models.protocol import Model
from rnncheck.spec import Spec
from rnncheck.verification.verify import verify
from rnncheck.verification.verify_settings import VerifySettings
from rnncheck.words import Alphabet

SURE = {"epsilon": 5e-3, "gamma": 5e-3}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/released/random"))
    parser.add_argument("--limit", type=float, default=10.0)
    parser.add_argument("--only", action="append")
    parser.add_argument("--words", type=int, default=2_000)
    parser.add_argument("--weakness", action="store_true")
    chosen = parser.parse_args()
    if chosen.weakness:
        show_weakness()
        return
    print(f"{'network':22} {'method':14} {'states':>6} {'agreement':>9}  {'interval':17} {'seconds':>7} {'steps':>9}")
    for name, model in networks(chosen.data):
        if not chosen.only or name in chosen.only:
            show(name, compare_surrogates(model, timeout=chosen.limit, words=chosen.words, **SURE))


def networks(data: Path) -> list[tuple[str, Model]]:
    found: list[tuple[str, Model]] = [
        (entry.name, CompiledNetwork(entry.network(), threads=1)) for entry in zoo.entries()
    ]
    for meta in sorted(data.glob("*/meta")):
        found.append((meta.parent.name, CompiledNetwork(load_released(meta.parent), threads=1)))
    return found


def show(name: str, comparison: SurrogateComparison) -> None:
    for result in comparison.results:
        if result.point is not None:
            low, high = result.point.interval
            print(
                f"{name:22} {result.method:14} {result.point.states:6} {result.point.agreement:9.4f}  "
                f"{low:.4f} to {high:.4f}  {result.seconds:7.1f} {result.network_steps:9}",
                flush=True,
            )
    if comparison.curve is not None:
        knee = comparison.curve.knee()
        print(f"{name:22} {'knee':14} {knee.states:6} {knee.agreement:9.4f}", flush=True)


def show_weakness() -> None:
    """An even number of a, but six letters in the right order open a door behind which every word is accepted."""
    alphabet = Alphabet(list("abcdefgh"))
    even = "([^a]* a [^a]* a)* [^a]*"
    model = CompiledNetwork(exact_network(minimise(compile_regex(f"({even}) | h e a d f e .*", alphabet))))
    spec = Spec.from_regex(even, alphabet)
    print(compare_surrogates(model, spec, methods=["pac", "bounded", "weiss", "kmeans"]).to_text())
    for method, settings in (
        ("smc", VerifySettings()),
        ("pdv", VerifySettings()),
        ("smc", VerifySettings(exhaustive=6)),
        ("auto", VerifySettings()),
    ):
        verdict = verify(model, spec, method=method, settings=settings)
        first = "exhaustive, then " if settings.exhaustive else ""
        print(f"{first}{method}: {verdict} {verdict.counterexample or ''} {verdict.cost.seconds:.2f} s")


if __name__ == "__main__":
    main()
