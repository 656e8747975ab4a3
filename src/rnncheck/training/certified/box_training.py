"""Training until errors die out: first on words with noise, then on boxes of states, as in a proof.

A proof by boxes needs a network in which small errors of a state shrink, in every single number, and it needs one box
for each class of words. So the network is trained on exactly that: the boxes of all classes are stepped by all letters,
a few times in a row, and the loss is that of the worst answer in any box. The boxes begin as points and may grow while
the network keeps up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from rnncheck.automata.dfa import DFA, Mask
from rnncheck.models.network import Floats, RecurrentNetwork
from rnncheck.proofs.word_classes import INITIAL, Partition
from rnncheck.training.certified.covering_words import CoveringWords
from rnncheck.training.certified.tensor_domains import Boxes
from rnncheck.training.certified.trainable_network import TrainableNetwork
from rnncheck.training.torch_network import AdamOptimizer
from rnncheck.words import IntArray

_GUESSER, _ROUNDS, _CENTRES = range(3)  # the uses of random numbers; each has its own stream

ROUND = 25  # iterations between two attempts at a proof
_WORDS, _LETTERS = 96, 5  # words that are read on, and by how many letters in each iteration
_LENGTH = 12  # half the mean length of words; more where the automaton is deeper
_EMPTY_SHARE = 0.2  # of the loss of the empty word, which is one of hundreds and has no box
_MOST_ENDING = 0.7  # of the words in a state that is visited too often: one that is never left would dominate
_CLIP = 1.0
# At first only the parts that read off states are trained: an untrained guesser would spoil the other weights.
_READING_ALONE, _READING_RATE = 75, 0.03
_ALMOST = 0.9  # accuracy from which more of that training may be enough

_FIRST_NOISE = 0.1  # of that, to begin with
_NOISE_STEP = 1.03
_KEPT_UP, _LOST = 0.95, 0.9  # accuracy from which the noise grows, and below which it shrinks
_LONG_ENOUGH = 400  # iterations after which a lower accuracy is enough
_LEARNED = 0.985  # accuracy under full noise at which boxes take over

_BOX_RATE = 6e-3
_BOX_NOISE = 0.2
_UNROLLED = 4  # steps of all boxes in a row
_SWELLING = 2.0  # times the radius: larger boxes are cut in between, or a network that expands them learns nothing
_MARGIN = 0.5  # of every score and guess
_INFLATED = 2e-4  # each bound, by each step
_NARROW, _WIDTH_SHARE = 0.1, 0.3  # a box much narrower than this is narrow enough; what the logarithm of widths counts
_WORST_SHARE = 0.3  # of the worst box, beside the mean of all: a state that is never left has many, and few are wide
_FULL_WEIGHT = 0.5  # a larger loss of boxes is scaled down to this, or it would undo the training on words
_FIRST_RADIUS, _LEAST_RADIUS, _LARGEST_RADIUS = 0.005, 0.001, 4.0
_GROWTH, _SHRINKAGE = 1.04, 0.98  # while every box is on its side of the decision, and while one is not
_WELL, _BADLY = 0.96, 0.92  # accuracy below which boxes do not grow, and below which they shrink
_AVERAGED = 0.98  # of the average of weights is kept in each iteration: the average is better than any of them
_CENTRES_EVERY, _CENTRES_KEPT, _CENTRE_WORDS = 4, 0.4, 64
_NEAR = -0.5  # a margin from which a proof is worth trying


@dataclass(frozen=True)
class Standing:
    """The progress of a run: iterations on words, then on boxes.

    ``accuracy`` is that of answers and guesses under noise, every state of the automaton counting alike. ``clearance``
    is the distance of the worst box from the threshold: positive if every box is on the correct side.
    """

    on_words: int
    on_boxes: int
    accuracy: float
    clearance: float


class Hardening:
    """One run: rounds of ``ROUND`` iterations, each determined by the seed and its number alone."""

    def __init__(
        self,
        network: RecurrentNetwork,
        target: DFA,
        partition: Partition,
        warm_up: int,
        seed: int,
        reading_longer: int = 0,
    ) -> None:
        """``partition`` sorts words by ``target``, whose language the network is to have.

        Boxes are learned after ``warm_up`` iterations on words, or when these are learned. Where states are right from
        the start, up to ``reading_longer`` of them may go into reading these off.
        """
        self._reading_longer = reading_longer
        self._seed = seed
        self._warm_up = warm_up
        kind = network.cell.kind
        self._full_noise = 0.3 if kind.memory else 0.5  # how far each number of a state is moved, at most
        self._rate = 0.006 if kind.gates == 1 else 0.012
        self._gate_penalty = 0.5 if kind.memory else 1.0
        self._partition = partition
        self._network = TrainableNetwork(network, len(target), np.random.default_rng([seed, _GUESSER]))
        self._optimizer = AdamOptimizer(self._network.parameters(), _CLIP)
        self._readers = AdamOptimizer(self._network.readers(), _CLIP)
        self._words = CoveringWords(target)
        self._accepting = torch.from_numpy(target.accepting.copy())
        self._successors = torch.from_numpy(partition.successors.reshape(-1))
        self._spec_states = torch.from_numpy(partition.spec_states.astype(np.int64))
        # Every state of the specification counts alike, however many classes it has.
        rarity = 1.0 / np.bincount(partition.spec_states[INITIAL + 1 :], minlength=len(target)).clip(min=1)
        shares = rarity[partition.spec_states[INITIAL + 1 :]]
        self._shares = torch.from_numpy((shares / shares.sum()).astype(np.float32))
        self._length = max(_LENGTH, _depth(partition) + 4)
        # Labels that the specification does not determine are those of the original network.
        self._original = TrainableNetwork(network, 1, np.random.default_rng(0)) if network.label is not None else None
        self._reading = _Reading(self._words.initial, self._network, self._original)
        self._averages: dict[str, Floats] = {}
        self._on_words = self._on_boxes = 0
        self._boxes: Boxes | None = None
        self._accuracy = 0.0
        self._noise = _FIRST_NOISE * self._full_noise
        self._radius = _FIRST_RADIUS
        self._clearance = -math.inf

    @property
    def standing(self) -> Standing:
        return Standing(self._on_words, self._on_boxes, self._accuracy, self._clearance)

    @property
    def near_a_proof(self) -> bool:
        return self._clearance > _NEAR

    @property
    def _learned(self) -> bool:
        """Whether words are answered under full noise, or under some after long enough."""
        enough = self._on_words >= _LONG_ENOUGH and self._accuracy > _BADLY
        return enough or (self._accuracy > _LEARNED and self._noise >= self._full_noise)

    def network(self) -> RecurrentNetwork:
        """The current network during training on words; with boxes, the average of the last iterations."""
        return self._network.to_network(self._averages or None)

    def round(self, over: Callable[[], bool] = lambda: False) -> None:
        """``ROUND`` iterations more, on words or on boxes; fewer where the time is ``over``."""
        if self._boxes is None and (self._learned or self._on_words >= self._warm_up):
            self._boxes = self._begin_boxes()
        rng = np.random.default_rng([self._seed, _ROUNDS, self._on_words + self._on_boxes])
        for _ in range(ROUND):
            if over():
                return
            if self._boxes is None:
                self._learn_words(rng)
                self._on_words += 1
            else:
                self._boxes = self._learn_boxes(rng, self._boxes)
                self._on_boxes += 1

    def _begin_boxes(self) -> Boxes:
        """Each begins near the point that the shortest word of its class leads to."""
        self._totals = self._representatives()
        self._counts = torch.ones(len(self._partition))
        self._measure_centres(np.random.default_rng([self._seed, _CENTRES]))
        return Boxes(self._centres - self._radius, self._centres + self._radius)

    def _learn_words(self, rng: np.random.Generator) -> None:
        almost = self._on_words < self._reading_longer and self._accuracy > _ALMOST
        if almost or self._on_words < _READING_ALONE:
            self._readers.step(self._word_loss(rng, 0.0), _READING_RATE)
            return
        loss = self._word_loss(rng, self._noise)
        self._optimizer.step(loss, self._rate)
        if self._accuracy > _KEPT_UP:
            self._noise = min(self._full_noise, self._noise * _NOISE_STEP)
        elif self._accuracy < _LOST:
            self._noise = max(_FIRST_NOISE * self._full_noise, self._noise / _NOISE_STEP)

    def _learn_boxes(self, rng: np.random.Generator, boxes: Boxes) -> Boxes:
        """One iteration; return the boxes to continue with."""
        if self._on_boxes % _CENTRES_EVERY == 0:
            self._measure_centres(rng)
        for _ in range(_UNROLLED - 1):
            boxes = self._kept_near(self._closed_once(boxes), _SWELLING * self._radius)
        boxes = self._closed_once(boxes)
        loss = self._box_loss(boxes)
        weight = min(1.0, _FULL_WEIGHT / float(loss.detach()))
        words = self._word_loss(rng, min(_BOX_NOISE, self._noise))
        self._optimizer.step(words + weight * loss, _BOX_RATE)
        self._average()
        if self._clearance < 0.0 or self._accuracy < _BADLY:
            self._radius *= _SHRINKAGE
        elif self._accuracy > _WELL:
            self._radius *= _GROWTH
        self._radius = min(max(self._radius, _LEAST_RADIUS), _LARGEST_RADIUS)
        return self._kept_near(Boxes(boxes.lo.detach(), boxes.hi.detach()), self._radius)

    def _kept_near(self, boxes: Boxes, radius: float) -> Boxes:
        """The boxes cut to the neighbourhood of the centre of each class, which is always in them."""
        centres = self._centres
        return Boxes(
            torch.maximum(torch.minimum(boxes.lo, centres), centres - radius),
            torch.minimum(torch.maximum(boxes.hi, centres), centres + radius),
        )

    def _average(self) -> None:
        for name, value in self._network.arrays().items():
            before = self._averages.get(name, value)
            self._averages[name] = before + np.float32(1.0 - _AVERAGED) * (value - before)

    def _word_loss(self, rng: np.random.Generator, noise: float) -> Tensor:
        """The loss on more letters of the current words, with noise; some words begin again."""
        reading, network = self._reading, self._network
        ending = _LETTERS / (2.0 * self._length) * self._words.commonness[reading.meant]
        reading.begin_again(rng.random(_WORDS) < ending.clip(max=_MOST_ENDING), self._words.initial)
        letters, states, meant = self._words.extend(rng, reading.at, reading.meant, _LETTERS)
        moved = torch.from_numpy(rng.uniform(-noise, noise, (_LETTERS, _WORDS, network.width)).astype(np.float32))
        after, penalty = reading.read(network, letters, moved)
        reading.at, reading.meant = states[-1], meant[-1]
        at = torch.from_numpy(np.append(self._words.initial, states[1:]))
        outputs, guesses, accept = network.outputs(after), network.guesses(after), self._accepting[at]
        scores = network.scores(outputs)
        # Every state counts alike, however often it is visited, and once more for words meant to be elsewhere.
        astray = torch.from_numpy(np.append(False, states[1:] != meant[1:]))
        visited_as = 2 * at + astray
        rarity = 1.0 / torch.bincount(visited_as)[visited_as]
        weights = rarity / rarity.sum()
        loss = (
            functional.binary_cross_entropy_with_logits(scores, accept.float(), weights, reduction="sum")
            + (weights * functional.cross_entropy(guesses, at, reduction="none")).sum()
            + _EMPTY_SHARE * functional.binary_cross_entropy_with_logits(scores[0], accept[0].float())
            + self._gate_penalty * penalty / _LETTERS
        )
        if self._original is not None:
            loss = loss + self._label_loss(letters, outputs, accept)
        right = min(float(weights[(scores > 0) == accept].sum()), float(weights[guesses.argmax(dim=-1) == at].sum()))
        self._accuracy = 0.9 * self._accuracy + 0.1 * right
        return loss

    def _label_loss(self, letters: IntArray, outputs: Tensor, accept: Tensor) -> Tensor:
        """The loss of labels: where the original network accepts or rejects correctly, its label is kept."""
        assert self._original is not None
        with torch.no_grad():
            expected = self._original.outputs(self._reading.read_original(self._original, letters))
            right = (self._original.scores(expected) > 0) == accept
        if not right.any():
            return torch.zeros(())
        return functional.cross_entropy(outputs[right], expected.argmax(dim=-1)[right])

    def _closed_once(self, boxes: Boxes) -> Boxes:
        """For each class the box around all successors of its predecessors; the initial state does not change."""
        after = self._network.step_boxes(boxes)
        classes, width = boxes.lo.shape
        goals = self._successors[:, None].expand(-1, width)
        nothing = torch.full((classes, width), torch.inf)
        lo = nothing.scatter_reduce(0, goals, after.lo.reshape(-1, width), "amin")[INITIAL + 1 :]
        hi = (-nothing).scatter_reduce(0, goals, after.hi.reshape(-1, width), "amax")[INITIAL + 1 :]
        start = torch.zeros(1, width)
        return Boxes(torch.cat([start, lo - _INFLATED]), torch.cat([start, hi + _INFLATED]))

    def _box_loss(self, boxes: Boxes) -> Tensor:
        """The loss of the worst answers and guesses in all boxes."""
        states = self._spec_states
        clear = self._network.margins(boxes, self._accepting[states])[INITIAL + 1 :]
        losses = functional.softplus(_MARGIN - clear)
        exceeding = self._network.worst_guesses(boxes, states)
        right = functional.one_hot(states, exceeding.shape[1]).bool()
        guessed = torch.logsumexp(torch.where(right, 0.0, exceeding + _MARGIN), dim=1)[INITIAL + 1 :]
        self._clearance = float(clear.detach().min())
        centres, radius = self._centres, self._radius  # what a box has beyond them is what keeps it from being closed
        beyond = torch.relu(centres - boxes.lo - radius) + torch.relu(boxes.hi - centres - radius)
        outside = torch.log1p(beyond / radius).mean(dim=1)[INITIAL + 1 :]
        width = torch.log1p((boxes.hi - boxes.lo) / _NARROW).mean(dim=1)[INITIAL + 1 :]
        each = losses + guessed + outside + _WIDTH_SHARE * width
        return (self._shares * each).sum() + _WORST_SHARE * each.max()

    @property
    def _centres(self) -> Tensor:
        return self._totals / self._counts[:, None]

    def _measure_centres(self, rng: np.random.Generator) -> None:
        """The mean state of each class, over words without noise; older ones count less and less."""
        count, length = _CENTRE_WORDS, self._length + 4
        letters, _ = self._words.draw(rng, count, length)
        classes = np.full(count, INITIAL)
        self._totals, self._counts = _CENTRES_KEPT * self._totals, _CENTRES_KEPT * self._counts
        with torch.no_grad():
            state = torch.zeros(count, self._network.width)
            for codes in letters:
                state, _ = self._network.step(state, torch.from_numpy(codes))
                classes = self._partition.successors[classes, codes]
                at = torch.from_numpy(classes)
                self._totals.index_add_(0, at, state)
                self._counts.index_add_(0, at, torch.ones(count))
        faded = self._counts < 1e-3  # not visited for long: its last mean is kept
        scale = torch.where(faded, 1e-3 / self._counts, torch.ones(()))
        self._totals, self._counts = self._totals * scale[:, None], self._counts * scale

    def _representatives(self) -> Tensor:
        """The state after the shortest word of each class."""
        states = torch.zeros(len(self._partition), self._network.width)
        with torch.no_grad():
            for goal, (origin, letter) in enumerate(_first_edges(self._partition)):
                if goal != INITIAL:
                    states[goal] = self._network.step(states[origin][None], torch.tensor([letter]))[0][0]
        return states


class _Reading:
    """The words being read, and their states: in the automaton, in the network, and in the original network."""

    def __init__(self, initial: int, network: TrainableNetwork, original: TrainableNetwork | None) -> None:
        self.at: IntArray = np.full(_WORDS, initial, dtype=np.int64)
        self.meant = self.at  # where they would be without their injected errors
        self._states = torch.zeros(_WORDS, network.width)
        self._original_states = torch.zeros(_WORDS, 0 if original is None else original.width)

    def begin_again(self, which: Mask, initial: int) -> None:
        self.at, self.meant = (np.where(which, initial, states) for states in (self.at, self.meant))
        for states in (self._states, self._original_states):
            states[torch.from_numpy(which)] = 0.0

    def read(self, network: TrainableNetwork, letters: IntArray, moved: Tensor) -> tuple[Tensor, Tensor]:
        """The state of the empty word, then those after every letter, and the penalty of gates."""
        state, kept, penalty = self._states, [network.empty()], torch.zeros(())
        for row, move in zip(torch.from_numpy(letters), moved, strict=True):
            state, held = network.step(state + move, row)
            kept.append(state)
            penalty = penalty + held
        self._states = state.detach().clone()
        return torch.cat(kept), penalty

    def read_original(self, original: TrainableNetwork, letters: IntArray) -> Tensor:
        """The states of the original network on the same words, without noise."""
        kept = [original.empty()]
        for row in torch.from_numpy(letters):
            self._original_states, _ = original.step(self._original_states, row)
            kept.append(self._original_states)
        self._original_states = self._original_states.clone()
        return torch.cat(kept)


def _first_edges(partition: Partition) -> list[tuple[int, int]]:
    """The edge by which each class is reached first; classes are numbered in the order in which they are reached."""
    edges = [(INITIAL, 0)] * len(partition)
    seen = {INITIAL}
    for origin, row in enumerate(partition.successors.tolist()):
        for letter, goal in enumerate(row):
            if goal not in seen:
                seen.add(goal)
                edges[goal] = (origin, letter)
    return edges


def _depth(partition: Partition) -> int:
    """The length of the longest of the classes' shortest words."""
    lengths = [0]
    for origin, _ in _first_edges(partition)[INITIAL + 1 :]:
        lengths.append(lengths[origin] + 1)
    return max(lengths)
