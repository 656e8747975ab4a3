"""What tests of proofs share: random states inside boxes, and one step of them by the engine and by PyTorch."""

from __future__ import annotations

import itertools

import numpy as np

from rnncheck.automata.dfa import DFA
from rnncheck.models.cells.cell_type import StateLayout
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.network import RecurrentNetwork
from rnncheck.proofs.domains.interval import Interval
from rnncheck.words import WordBatch
from support.networks import ByTorch


def points_in(box: Interval, rng: np.random.Generator, count: int) -> np.ndarray:
    """Float32 numbers inside each box, many of them at its corners: boxes × count × width."""
    share = rng.random((len(box.lo), count, box.lo.shape[1]))
    share = np.where(rng.random(share.shape) < 0.6, np.round(share), share)
    points = (box.lo[:, None] + share * (box.hi - box.lo)[:, None]).astype(np.float32)
    for _ in range(2):  # rounding to float32 may lead out by one
        points = np.where(points < box.lo[:, None], np.nextafter(points, np.float32(np.inf)), points)
        points = np.where(points > box.hi[:, None], np.nextafter(points, np.float32(-np.inf)), points)
    points = np.where((points < box.lo[:, None]) | (points > box.hi[:, None]), box.lo[:, None], points)
    return points.astype(np.float64)


def engine_step(
    network: RecurrentNetwork, states: np.ndarray, letter: int, dtype: type
) -> tuple[np.ndarray, np.ndarray]:
    """The states after a letter, by the engine, and the scores."""
    model = CompiledNetwork(network, dtype=dtype, threads=1)
    kind = network.cell.kind
    layout = StateLayout(kind, network.layers)
    rows = model.initial(len(states))
    start = 0
    for place in layout.hidden:
        size = place.stop - place.start
        rows[:, place] = states[:, start : start + size] * kind.hidden_scale
        start += size
    for place in layout.memory:
        size = place.stop - place.start
        rows[:, place] = states[:, start : start + size]
        start += size
    after = model.step(rows, np.full(len(states), letter))
    parts = [after[:, place] / kind.hidden_scale for place in layout.hidden] + [after[:, p] for p in layout.memory]
    return np.hstack(parts).astype(np.float64), model.scores(after)


def torch_step(judge: ByTorch, states: np.ndarray, letter: int) -> np.ndarray:
    """The states after a letter, by PyTorch in the precision of the weights."""
    torch, network = judge.torch, judge.network
    layers, size = len(network.layers), network.layers[0].hidden
    dtype = network.layers[0].recurrent_weight.dtype
    parts = states.astype(dtype).reshape(len(states), -1, layers, size).transpose(1, 2, 0, 3)
    tensors = [torch.from_numpy(np.ascontiguousarray(part)) for part in parts]
    fed = np.repeat(network.inputs[letter][None, None], len(states), axis=0)
    with torch.inference_mode():
        _, after = judge.module(torch.from_numpy(fed), tuple(tensors) if len(tensors) > 1 else tensors[0])
    after = after if isinstance(after, tuple) else (after,)
    return np.hstack([part.numpy()[layer] for part in after for layer in range(layers)]).astype(np.float64)


def with_one_word_changed(dfa: DFA, word: tuple[int, ...]) -> DFA:
    """The automaton that answers one word otherwise, and every other word alike."""
    states = len(dfa)
    along = [dfa.initial]
    for letter in word:
        along.append(int(dfa.transitions[along[-1], letter]))
    table = np.vstack([dfa.transitions, dfa.transitions[along]])
    for place, letter in enumerate(word):
        table[states + place, letter] = states + place + 1
    accepting = np.concatenate([dfa.accepting, dfa.accepting[along]])
    accepting[-1] = not accepting[-1]
    return DFA(dfa.alphabet, table, accepting, states)


def random_dfa(states: int, letters: int, seed: int) -> DFA:
    rng = np.random.default_rng(seed)
    alphabet = [chr(ord("a") + i) for i in range(letters)]
    return DFA(alphabet, rng.integers(states, size=(states, letters)), rng.random(states) < 0.5)


def all_words(letters: int, longest: int) -> WordBatch:
    """Every word of at most ``longest`` letters."""
    return WordBatch.from_codes(
        [word for length in range(longest + 1) for word in itertools.product(range(letters), repeat=length)]
    )
