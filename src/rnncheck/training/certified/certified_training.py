"""Certified training: train a network from a specification, or an existing network further, until it is proved."""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rnncheck.automata.dfa import DFA
from rnncheck.automata.minimisation import minimise
from rnncheck.automata.product import intersection, product, union
from rnncheck.errors import InputError, renamed_fields
from rnncheck.extraction.extract import extract
from rnncheck.learning.learning_settings import LearningSettings
from rnncheck.models.cells import Cell
from rnncheck.models.engine.compiled import compiled_or_stepped
from rnncheck.models.engine.reference import reference_judgement
from rnncheck.models.files.torch_file import import_torch
from rnncheck.models.labelled import answers_of
from rnncheck.models.network import RecurrentNetwork
from rnncheck.proofs.certifying import certificate_of
from rnncheck.proofs.proof_search import Invariant, NotProved, ProofSettings, find_invariant
from rnncheck.proofs.word_classes import Partition, partition_by_last_letters
from rnncheck.relations import Property, Relation, RelationName
from rnncheck.runtime.budget import UNLIMITED, Budget, BudgetExceeded
from rnncheck.training.certified.automaton_init import with_rules
from rnncheck.training.certified.certified_result import (
    HardeningEnding,
    HardeningProgress,
    HardeningReport,
    Progress,
    ProvableNetwork,
)
from rnncheck.training.from_automaton import data_from_automaton
from rnncheck.training.training_settings import TrainingSettings
from rnncheck.verdict.certificate import Certificate
from rnncheck.words import Codes, Word, WordBatch

if TYPE_CHECKING:
    from rnncheck.training.certified.box_training import Standing

_COMPARED = 3_000  # words on which a network's own answers are compared with the specification
_SEARCHED = 20_000  # words, shortest first, among which a wrong one is searched for
_SEARCHED_LETTERS = 300_000  # the most letters of all of them
_CLASSES = 4_000  # of words, at most: each has a box that is trained
_ROUNDS = 1_000  # of the search of the prover, as in `prove`
_FRESH, _WEIGHTS, _OWN = 10, 11, 12  # the uses of random numbers, besides those of the training itself
_READING_LONGER = 600  # iterations on the parts that read off states, if rules may need no more
_ATTEMPT_EVERY = 4  # rounds, if no proof is near


@renamed_fields(max_seconds="timeout")
@dataclass(frozen=True)
class HardeningSettings:
    """The length of the training, and the classes of words.

    ``warm_up`` iterations at most on words with noise, ``iterations`` at most on boxes, one for each state of the
    specification and the last ``context`` letters. ``words`` fresh ones measure the accuracy. The seed decides
    everything that is random; ``threads`` may change the last bits.
    """

    warm_up: int = 1_500
    iterations: int = 5_000
    context: int = 1
    words: int = 1_000
    timeout: float | None = None
    seed: int = 0
    threads: int = 1

    def __post_init__(self) -> None:
        for name, least in (
            ("warm_up", 0),
            ("iterations", 0),
            ("context", 0),
            ("words", 1),
            ("seed", 0),
            ("threads", 1),
        ):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise InputError(f"{name} {value!r} is not a whole number of at least {least}")
        if self.timeout is not None and not self.timeout > 0:
            raise InputError(f"timeout {self.timeout!r} is not a positive number")


def train_provable(
    spec: DFA,
    *,
    cell: Cell = Cell.LSTM,
    hidden: int = 32,
    layers: int = 1,
    embedding: int = 0,
    rules: bool = True,
    settings: HardeningSettings | None = None,
    progress: Progress | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> ProvableNetwork:
    """Train a network until its language is proved to be that of ``spec``.

    With ``rules`` its initial weights are rules of the automaton and random numbers, else only random numbers.
    """
    settings = settings or HardeningSettings()
    budget = Budget.lasting(settings.timeout, clock=clock)
    shape = TrainingSettings(cell=cell, hidden=hidden, layers=layers, embedding=embedding, seed=settings.seed)
    import_torch("training")
    from rnncheck.training.torch_network import TorchNetwork

    fresh = TorchNetwork(len(spec.alphabet), 1, shape, np.random.default_rng([settings.seed, _WEIGHTS]))
    target = minimise(spec)
    begun = fresh.to_network(spec.alphabet, (), None, {"begun": "with rules" if rules else "at random"})
    begun = with_rules(begun, target) if rules else begun
    return _Run(begun, Property(spec, Relation.EQUAL), target, settings, budget).go(progress, was_trained=False)


def harden(
    network: RecurrentNetwork,
    spec: DFA,
    *,
    relation: Relation | RelationName = Relation.SUBSET,
    settings: HardeningSettings | None = None,
    progress: Progress | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> ProvableNetwork:
    """Train a network further until its relation to ``spec`` is proved for every word.

    It keeps its answers as far as the relation allows: the target is an automaton learned from them and corrected by
    ``spec``. If the relation is equality, nothing is left to keep.
    """
    if network.alphabet != spec.alphabet:
        raise InputError("the network and the specification have different alphabets; order the letters alike")
    settings = settings or HardeningSettings()
    wanted, began = Property(spec, Relation.named(relation)), clock()
    budget = Budget.lasting(settings.timeout, clock=clock)
    import_torch("hardening")
    target = minimise(_corrected_automaton(network, wanted, settings.seed, budget))
    return _Run(network, wanted, target, settings, budget, began).go(progress, was_trained=True)


def own_automaton(network: RecurrentNetwork, seed: int = 0, budget: Budget = UNLIMITED) -> DFA:
    """The automaton of a network's own answers, as far as a learner finds it within the budget."""
    settings = LearningSettings(clock=budget.clock, cancelled=budget.cancelled)
    model = compiled_or_stepped(network, threads=1)
    own = extract(model, method="bounded", seed=seed, timeout=budget.left, settings=settings).automaton
    assert isinstance(own, DFA)
    return own


def _corrected_automaton(network: RecurrentNetwork, wanted: Property, seed: int, budget: Budget) -> DFA:
    """An automaton of the network's own answers, changed where they violate the relation."""
    spec, relation = wanted.spec, wanted.relation
    if relation is Relation.EQUAL:
        return spec
    model, smallest = compiled_or_stepped(network, threads=1), minimise(spec)
    drawn = data_from_automaton(smallest, np.random.default_rng([seed, _OWN]), count=_COMPARED).train.words
    if not (model.accepts_batch(drawn) != smallest.accepts_batch(drawn)).any():
        return spec  # the network agrees with it on every word compared
    own = own_automaton(network, seed, budget)
    return intersection(own, spec) if relation is Relation.SUBSET else union(own, spec)


class _Trained(NamedTuple):
    network: RecurrentNetwork
    found: Invariant | NotProved
    standing: Standing
    ending: HardeningEnding


class _Run:
    """From a network to a proof."""

    def __init__(
        self,
        network: RecurrentNetwork,
        wanted: Property,
        target: DFA,
        settings: HardeningSettings,
        budget: Budget,
        began: float | None = None,
    ) -> None:
        self._before, self._wanted, self._target, self._settings, self._budget = (
            network, wanted, target, settings, budget,
        )  # fmt: skip
        self._clock = budget.clock
        self._partition, self._context = _partition(target, settings.context)
        # The same specification, whose states also determine the state of the target after a word.
        finer = Property(product(wanted.spec, target, lambda a, _: a).dfa, wanted.relation)
        self._finer = None if target == minimise(wanted.spec) else finer
        self._proof_seconds = 0.0
        self._began = budget.clock() if began is None else began

    def go(self, progress: Progress | None, *, was_trained: bool) -> ProvableNetwork:
        """Train until the proof closes or a limit is reached; then measure."""
        network, found, standing, ending = self._train(progress, 0 if was_trained else _READING_LONGER)
        fresh = self._fresh_words()
        right = self._target.accepts_batch(fresh)
        before, after = compiled_or_stepped(self._before, threads=1), compiled_or_stepped(network, threads=1)
        now = after.accepts_batch(fresh)
        then = before.accepts_batch(fresh) if was_trained else None
        not_proved = found if isinstance(found, NotProved) else None
        report = HardeningReport(
            ending=ending,
            relation=self._wanted.relation,
            on_words=standing.on_words,
            on_boxes=standing.on_boxes,
            seconds=self._clock() - self._began,
            accuracy=float((now == right).mean()),
            accuracy_before=None if then is None else float((then == right).mean()),
            changed=int((answers_of(before, fresh) != answers_of(after, fresh)).sum()) if was_trained else None,
            words=len(fresh),
            boxes=len(found.own_boxes) if isinstance(found, Invariant) else None,
            proof_seconds=self._proof_seconds,
            obstacle=None if not_proved is None else not_proved.sentence(network.alphabet),
            wrong_word=None if not_proved is None else self._wrong_word(network, not_proved, fresh),
            settings=asdict(self._settings),
        )
        facts = {**self._before.facts, "hardening" if was_trained else "training": report.facts()}
        network = dataclasses.replace(network, facts=facts)
        return ProvableNetwork(network, report, self._certificate(network, found))

    def _train(self, progress: Progress | None, reading_longer: int) -> _Trained:
        from rnncheck.training.certified.box_training import Hardening
        from rnncheck.training.torch_network import torch_threads

        settings = self._settings
        with torch_threads(settings.threads):
            run = Hardening(
                self._before, self._target, self._partition, settings.warm_up, settings.seed, reading_longer
            )
            for number in itertools.count(1):
                run.round(lambda: self._budget.remaining() <= 0.0)
                standing, seconds = run.standing, self._clock() - self._began
                if progress is not None:
                    progress(HardeningProgress(**asdict(standing), seconds=seconds))
                limit = self._limit(standing.on_boxes)
                if limit is None and not run.near_a_proof and (number + 1) % _ATTEMPT_EVERY:
                    continue
                network = run.network()
                try:
                    found = self._attempt(network, last=limit is not None)
                except BudgetExceeded as end:
                    return _Trained(network, NotProved((), end.reason), standing, HardeningEnding.TIME)
                if isinstance(found, Invariant):
                    return _Trained(network, found, standing, HardeningEnding.PROVED)
                if limit is not None:
                    return _Trained(network, found, standing, limit)
        raise AssertionError("counting ends")

    def _certificate(self, network: RecurrentNetwork, found: Invariant | NotProved) -> Certificate | None:
        if isinstance(found, NotProved):
            return None
        return certificate_of(found, network, self._wanted, reference_judgement(network, ()).accepted)

    def _limit(self, iterations: int) -> HardeningEnding | None:
        if self._budget.remaining() <= 0.0:
            return HardeningEnding.TIME
        return HardeningEnding.ITERATIONS if iterations >= self._settings.iterations else None

    def _attempt(self, network: RecurrentNetwork, *, last: bool) -> Invariant | NotProved:
        """Run the prover with boxes one letter finer than those that are trained.

        Its further methods take seconds, and are used only at the last attempt.
        """
        self._budget.check()
        began = self._clock()
        found: Invariant | NotProved = NotProved((), "the empty word is answered wrongly")
        if not self._breaks(network, ()):
            context, ahead = self._context + 1, ProofSettings().induction_depth if last else 0
            settings = ProofSettings(context=context, classes=_CLASSES, rounds=_ROUNDS, induction_depth=ahead)
            found = find_invariant(network, self._wanted, settings, self._budget.check)
            if isinstance(found, NotProved) and self._finer is not None:
                again = find_invariant(network, self._finer, settings, self._budget.check)
                if isinstance(
                    again, Invariant
                ):  # else the obstacle is reported in the states of the original specification
                    found, self._wanted = again, self._finer
        self._proof_seconds = self._clock() - began
        return found

    def _breaks(self, network: RecurrentNetwork, word: Codes) -> bool:
        """Whether a word is a violation, by the network's own formulas."""
        spec, relation = self._wanted.spec, self._wanted.relation
        answers = (reference_judgement(network, word).accepted, spec.accepts(spec.alphabet.decode(word)))
        return bool(relation.broken(*(np.array([answer]) for answer in answers))[0])

    def _fresh_words(self) -> WordBatch:
        """Words that were not drawn in training, of both labels if there are both."""
        rng = np.random.default_rng([self._settings.seed, _FRESH])
        return data_from_automaton(self._target, rng, count=10 * self._settings.words).test.words

    def _wrong_word(self, network: RecurrentNetwork, found: NotProved, fresh: WordBatch) -> Word | None:
        """The shortest violation among short words, fresh words, and words along which boxes grew too large."""
        spec, relation = self._wanted.spec, self._wanted.relation
        words = _shortest_words(len(spec.alphabet))
        grown = (each.stuck.word[:end] for each in found.obstacles for end in range(len(each.stuck.word) + 1))
        suspects = WordBatch.from_codes(sorted({*words, *fresh, *grown}, key=lambda word: (len(word), word)))
        broken = relation.broken(
            compiled_or_stepped(network, threads=1).accepts_batch(suspects), spec.accepts_batch(suspects)
        )
        words_of_it = (suspects[int(at)] for at in np.flatnonzero(broken))
        wrong = next((word for word in words_of_it if self._breaks(network, word)), None)
        return None if wrong is None else spec.alphabet.decode(wrong)


def _partition(target: DFA, context: int) -> tuple[Partition, int]:
    """Classes of words by their last letters, as many letters as the limit of classes allows."""
    for letters in range(context, -1, -1):
        partition = partition_by_last_letters(Property(target, Relation.EQUAL), letters, _CLASSES)
        if partition is not None:
            return partition, letters
    raise InputError(
        f"the specification has {len(target)} states; boxes for more than {_CLASSES} are too many to train with"
    )


def _shortest_words(letters: int) -> Iterator[Codes]:
    """All words, shortest first, up to a number of words and of letters, which over one letter is reached first."""
    words = itertools.chain.from_iterable(
        itertools.product(range(letters), repeat=length) for length in itertools.count()
    )
    read = 0
    for word in itertools.islice(words, _SEARCHED):
        read += len(word)
        if read > _SEARCHED_LETTERS:
            return
        yield word
