"""What finer sets than a box for each class of words gain, on networks that were trained with noise alone.

python benchmarks/refinements.py --seeds 2
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import torch
from provable import specification
from torch import nn

from rnncheck.automata.dfa import DFA
from rnncheck.checker import Status, replay
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.engine.reference import reference_judgement
from rnncheck.models.network import Cell, Layer, RecurrentNetwork
from rnncheck.proofs import induction
from rnncheck.proofs.certifying import certificate_of
from rnncheck.proofs.proof_search import Invariant, NotProved, ProofSettings, find_invariant
from rnncheck.relations import Property, Relation
from rnncheck.training.torch_network import torch_threads

SPECS = ("response", "tomita-4", "even", "tomita-7")
MODULES = {Cell.RNN_TANH: nn.RNN, Cell.GRU: nn.GRU, Cell.LSTM: nn.LSTM}
NOISE = {Cell.RNN_TANH: 0.5, Cell.GRU: 0.5, Cell.LSTM: 0.3}
UNITS, BATCH, LETTERS = 16, 128, 24


def trained(spec: DFA, cell: Cell, seed: int, iterations: int = 500) -> RecurrentNetwork:
    """By the answers after every prefix of random words, first without noise and then with it in every number."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    count = len(spec.alphabet)
    recurrent, head = MODULES[cell](count, UNITS), nn.Linear(UNITS, 1)
    weights = [*recurrent.parameters(), *head.parameters()]
    for noise in (0.0, NOISE[cell]):
        adam = torch.optim.Adam(weights, 0.012)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(adam, iterations)
        for _ in range(iterations):
            words = rng.integers(count, size=(LETTERS, BATCH))
            loss = _loss(recurrent, head, spec, words, noise)
            adam.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(weights, 1.0)
            adam.step()
            schedule.step()
    layer = Layer(*(p.detach().numpy() for p in recurrent.parameters()))
    one_hot = np.eye(count, dtype=np.float32)
    return RecurrentNetwork(
        spec.alphabet, cell, one_hot, (layer,), head.weight.detach().numpy(), head.bias.detach().numpy()
    )


def _loss(recurrent: nn.RNNBase, head: nn.Linear, spec: DFA, words: np.ndarray, noise: float) -> torch.Tensor:
    states = np.full(words.shape[1], spec.initial)
    one_hot = torch.eye(len(spec.alphabet))
    memory, losses = None, []
    for row in words:
        states = spec.transitions[states, row]
        _, memory = recurrent(one_hot[torch.from_numpy(row)][None], memory)
        parts = memory if isinstance(memory, tuple) else (memory,)
        parts = tuple(part + noise * (2 * torch.rand_like(part) - 1) for part in parts)
        memory = parts if isinstance(memory, tuple) else parts[0]
        right = torch.from_numpy(spec.accepting[states].astype(np.float32))
        losses.append(nn.functional.binary_cross_entropy_with_logits(head(parts[0][0])[:, 0], right))
    return torch.stack(losses).mean()


def attempt(network: RecurrentNetwork, spec: DFA, ahead: int, *, sized: bool) -> str:
    """What a proof of L(R) = L(A) comes to; with ``sized``, small boxes are sized by sensitivity."""
    wanted, began = Property(spec, Relation.EQUAL), time.process_time()
    by_sensitivity = induction.widths
    if not sized:
        induction.widths = lambda abstract, _: np.ones(abstract.width)
    try:
        found: Invariant | NotProved = find_invariant(network, wanted, ProofSettings(induction_depth=ahead))
    finally:
        induction.widths = by_sensitivity
    seconds = time.process_time() - began
    if isinstance(found, NotProved):
        return f"open {seconds:.1f} s"
    certificate = certificate_of(found, network, wanted, reference_judgement(network, ()).accepted)
    began = time.process_time()
    fine = replay(certificate.to_json(), CompiledNetwork(network)).status is Status.CONFIRMED
    checked = f"replayed in {time.process_time() - began:.2f} s" if fine else "REFUSED BY REPLAY"
    return f"{len(found.own_boxes)} boxes, {len(found.partition)} classes, {seconds:.2f} s, {checked}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--cells", nargs="*", default=[cell.value for cell in MODULES])
    asked = parser.parse_args()
    with torch_threads(1):
        for cell in map(Cell, asked.cells):
            for name in SPECS:
                for seed in range(asked.seeds):
                    spec = specification(name)
                    network = trained(spec, cell, seed)
                    print(f"{cell.value} {name} seed {seed}")
                    for what, ahead, sized in (
                        ("a box for each class", 0, True),
                        ("small boxes, a letter", 1, False),
                        ("small boxes, 4 letters", 4, False),
                        ("the same sized by sensitivity", 4, True),
                    ):
                        print(f"  {what}: {attempt(network, spec, ahead, sized=sized)}", flush=True)


if __name__ == "__main__":
    main()
