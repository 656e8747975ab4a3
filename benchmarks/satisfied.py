"""What a "satisfied" costs, against the matrix products that it cannot do without.

    python benchmarks/satisfied.py [--data ../shared/data/released/random] [--rounds 3] [--only jun03-13 …]

For every specification that SMC calls satisfied: the processor time of the whole verification over that of the bare
matrix products (float32, 1024 rows a product, one thread) for the sampled words that the specification refuses, which
is the least that any sampling needs. PDV also tests its hypothesis, on more words; its products are counted likewise.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

import numpy as np

import rnncheck
from rnncheck.models.engine.threads import single_threaded_blas
from rnncheck.models.protocol import SteppingModel
from rnncheck.verification.verify_settings import VerifySettings

ROWS = 1024


def products(model: SteppingModel, letters: int) -> float:
    """Seconds for the recurrent products of this many letters alone."""
    layers = model.network.layers  # type: ignore[attr-defined]
    rng = np.random.default_rng(0)
    pairs = []
    for number, layer in enumerate(layers):
        width = layer.hidden + (layer.input_weight.shape[1] if number else 0)
        weights = rng.normal(size=(width, layer.recurrent_weight.shape[0])).astype(np.float32)
        pairs.append((rng.normal(size=(ROWS, width)).astype(np.float32), weights))
    out = [np.empty((ROWS, weights.shape[1]), dtype=np.float32) for _, weights in pairs]
    with single_threaded_blas:
        begin = time.process_time()
        for _ in range(max(1, letters // ROWS)):
            for (rows, weights), into in zip(pairs, out, strict=True):
                np.matmul(rows, weights, out=into)
        return time.process_time() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/released/random"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=[""], help="parts of paths, such as jun03-13/spec_second_1")
    arguments = parser.parse_args()
    ratios: dict[str, list[float]] = {"smc": [], "pdv": []}
    print(f"{'instance':<14}{'method':>7}{'steps':>12}{'seconds':>10}{'products':>10}{'ratio':>7}")
    for path in sorted(arguments.data.glob("*/spec_*.dot")):
        if not any(part in str(path) for part in arguments.only):
            continue
        model = rnncheck.load_model(path.parent, threads=1)
        if model.network.layers[0].hidden not in (160, 180):  # type: ignore[attr-defined]
            continue
        spec = rnncheck.Spec.from_file(path)
        for method in ratios:
            best = (np.inf, np.inf, 0)
            for _ in range(arguments.rounds):
                verdict = rnncheck.verify(model, spec, method=method, settings=VerifySettings(clock=time.process_time))
                if not verdict.satisfied:
                    break
                bare = products(model, verdict.cost.network_steps)
                best = min(best, (verdict.cost.seconds, bare, verdict.cost.network_steps))
            seconds, bare, steps = best
            if steps:
                ratios[method].append(seconds / bare)
                name = f"{path.parent.name}/{path.stem[-1]}"
                print(
                    f"{name:<14}{method:>7}{steps:>12,}{seconds:>10.2f}{bare:>10.2f}{seconds / bare:>7.2f}", flush=True
                )
    for method, found in ratios.items():
        if found:
            print(f"{method}: median {statistics.median(found):.2f}, largest {max(found):.2f} of {len(found)}; aim 1.5")


if __name__ == "__main__":
    main()
