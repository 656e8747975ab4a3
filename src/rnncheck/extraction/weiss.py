"""L* with equivalence queries answered by an abstraction of the network (Weiss, Goldberg and Yahav, ICML 2018).

A partition of the state space makes an abstract automaton of the network: a cell is a state, and the transitions of
a cell are those of the first network state that was reached in it. It is explored breadth first, side by side with the
hypothesis H, each cell with the state of H that the same word leads to. Two conflicts are possible. The network may
differ from H: a counterexample. Or one cell may be reached with two states of H: then a suffix that distinguishes these
is queried after both words, and either H is wrong about one of them, also a counterexample, or the network does
distinguish the two and the cell is too coarse, so the partition is refined. Without a conflict, H is the result.

This is the weakness of the method: it has then seen one word per cell, and a coarse partition has few cells.
Convergence is no evidence about words that were not visited, and no proof; only a test on other words is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rnncheck.automata.dfa import DFA
from rnncheck.automata.product import difference_witness
from rnncheck.errors import InputError, LearningBoundReached
from rnncheck.extraction.method import Extracting, check_on_fresh_words
from rnncheck.extraction.state_partition import StatePartition, Vectors
from rnncheck.learning.learning_task import LearningTask, refining
from rnncheck.models.protocol import States
from rnncheck.oracle import MembershipOracle, Stepper
from rnncheck.words import Codes

DEFAULT_DIMENSIONS = 10
DEFAULT_MAX_CELLS = 10_000
_FIRST_WORDS = 256  # words queried before the first hypothesis, for an example of either answer
_START = -1  # the cell of the empty word, whose answer may differ from that of the initial state


def weiss(
    task: LearningTask, *, dimensions: int = DEFAULT_DIMENSIONS, max_cells: int = DEFAULT_MAX_CELLS
) -> Extracting:
    """Learn until exploring the abstraction finds no conflict, or needs more than ``max_cells`` cells."""
    if dimensions < 1 or max_cells < 1:
        raise InputError(f"{dimensions} dimensions and {max_cells} cells were requested; give at least 1 of each")
    oracle = task.oracle
    network = _Network(task.oracle.stepper)
    partition = StatePartition(dimensions)
    learner = task.learner()
    try:
        yield from learner.refining(_examples(task))
        while True:
            task.begin_round(learner)
            hypothesis = learner.hypothesis
            yield
            oracle.budget.check()
            found = _explore(network, partition, hypothesis, max_cells)
            if found is None:
                break
            word = found if isinstance(found, tuple) else _resolve(found, network, partition, hypothesis, oracle)
            if word is not None:
                yield from refining(learner, word)
    except LearningBoundReached as bound:
        how = str(bound)
    except _TooManyCellsError:
        how = f"the abstraction needs more than {max_cells} cells, the bound"
    else:
        steps = f"{partition.refinements} refinement{'' if partition.refinements == 1 else 's'}"
        how = f"exploring the abstraction found no conflict ({steps}), which proves nothing about other words"
    return (yield from check_on_fresh_words(task, learner.hypothesis, how))


def _examples(task: LearningTask) -> list[Codes]:
    """The least word of either answer among sampled words and their prefixes: without them H may never start to grow.

    With one cell and one state there is no conflict, whatever the network answers to longer words.
    """
    words = task.distribution.sample(task.rng("weiss"), _FIRST_WORDS)
    answers = task.oracle.prefix_answers(words)
    found = (words.least_prefix(np.equal(answers, answer)) for answer in (False, True))
    return [word for word in found if word is not None]


class _TooManyCellsError(Exception):
    """The exploration reached more cells than allowed."""


@dataclass(frozen=True)
class _Conflict:
    """Two words that lead to one cell and to different states of the hypothesis.

    ``others`` are the vectors of all words that reached that cell with the earlier state of the hypothesis.
    """

    cell: int
    earlier: Codes
    later: Codes
    others: Vectors


class _Network:
    """The network's states and answers after words, each computed once; words come after their prefixes."""

    def __init__(self, stepper: Stepper) -> None:
        self._stepper = stepper
        self._rows: dict[Codes, States] = {(): stepper.initial(1)[0]}
        self.answers: dict[Codes, bool] = {(): stepper.accepts_empty}

    def read(self, words: list[Codes]) -> None:
        """Step to words whose prefixes have been read."""
        new = [word for word in words if word not in self.answers]
        if not new:
            return
        before = np.array([self._rows[word[:-1]] for word in new])
        states = self._stepper.step(before, np.array([word[-1] for word in new]))
        answers = self._stepper.answers(self._stepper.scores(states), new.__getitem__)
        self._rows.update(zip(new, states, strict=True))
        self.answers.update(zip(new, answers.tolist(), strict=True))

    def vectors(self, words: list[Codes]) -> Vectors:
        rows = np.array([self._rows[word] for word in words], dtype=np.float64)
        return rows.reshape(len(words), -1)


def _explore(network: _Network, partition: StatePartition, hypothesis: DFA, max_cells: int) -> Codes | _Conflict | None:
    """Walk abstraction and hypothesis side by side: a counterexample, a conflict, or None."""
    if network.answers[()] != hypothesis.accepting[hypothesis.initial]:
        return ()
    table = hypothesis.transitions.tolist()
    accepting = hypothesis.accepting.tolist()
    reached: dict[int, tuple[Codes, int]] = {_START: ((), hypothesis.initial)}
    members: dict[int, list[Codes]] = {}
    frontier: list[tuple[Codes, int]] = [((), hypothesis.initial)]
    while frontier:
        below = [((*word, a), table[state][a]) for word, state in frontier for a in range(len(hypothesis.alphabet))]
        words = [word for word, _ in below]
        network.read(words)
        cells = partition.cell_of(network.vectors(words)).tolist()
        frontier = []
        for (word, state), cell in zip(below, cells, strict=True):
            if network.answers[word] != accepting[state]:
                return word
            if cell not in reached:
                reached[cell] = word, state
                frontier.append((word, state))
            elif reached[cell][1] != state:
                return _Conflict(cell, reached[cell][0], word, network.vectors(members[cell]))
            members.setdefault(cell, []).append(word)
        if len(reached) > max_cells:
            raise _TooManyCellsError
    return None


def _resolve(
    conflict: _Conflict, network: _Network, partition: StatePartition, hypothesis: DFA, oracle: MembershipOracle
) -> Codes | None:
    """A counterexample, if the hypothesis causes the conflict; otherwise refine the partition and return None."""
    words = conflict.earlier, conflict.later
    alphabet = hypothesis.alphabet
    first, second = (hypothesis.run(alphabet.decode(word))[-1] for word in words)
    suffix = difference_witness(_starting_in(hypothesis, first), _starting_in(hypothesis, second))
    if suffix is None:
        raise InputError("the hypothesis has two states for the same words; use a learner whose hypotheses are minimal")
    longer = [word + alphabet.encode(suffix) for word in words]
    for word, answer in zip(longer, oracle.answers(longer).tolist(), strict=True):
        if hypothesis.accepts(alphabet.decode(word)) != answer:
            return word
    partition.refine(conflict.cell, network.vectors([conflict.later])[0], conflict.others)
    return None


def _starting_in(dfa: DFA, state: int) -> DFA:
    return DFA(dfa.alphabet, dfa.transitions, dfa.accepting, state)
