"""The words around some words, walked at growing distances: the work of one piece."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from rnncheck.automata.dfa import DFA
from rnncheck.automata.edits import Cost, Edits, ball, plain
from rnncheck.automata.language import short_words
from rnncheck.automata.product import intersection
from rnncheck.errors import ModelError, StateLimitError
from rnncheck.models.engine.stepped_reference import SteppedReference
from rnncheck.models.labelled import network_of
from rnncheck.neighbourhoods.robustness_result import WordRobustness
from rnncheck.neighbourhoods.uniform_words import UniformWords
from rnncheck.neighbourhoods.walk import Ball, Walk, prefixes
from rnncheck.oracle import MembershipOracle
from rnncheck.probability.confidence import Confidence
from rnncheck.proofs.proof_search import Invariant, ProofSettings, search_proof
from rnncheck.relations import Property, Relation
from rnncheck.runtime.budget import INTERRUPTED, BudgetExceeded
from rnncheck.search.guided import GuidedSearch
from rnncheck.search.prefix_tree import PrefixTree
from rnncheck.search.sampler import Sampler
from rnncheck.verdict.facts import Outcome
from rnncheck.words import Codes, Word, format_word

_PROOF = ProofSettings(context=3, classes=5_000, rounds=300, induction_depth=0)
_COMPARED = 32  # words of a neighbourhood on which the reference is queried too


@dataclass(frozen=True)
class Request:
    """The question about each word."""

    distance: Cost
    edits: Edits
    spec: DFA | None = None  # only its words count
    confidence: Confidence = Confidence()  # noqa: RUF009 - frozen
    max_steps: int = 50_000_000
    memory: int = 1 << 28
    seed: int = 0


@dataclass
class _Word:
    """A word on its way to a result."""

    word: Word
    answer: bool
    certified: Cost | None = None
    nearest: Codes | None = None
    distance: Cost | None = None
    exact: bool = True
    language: DFA | None = None
    epsilon: float | None = None
    boxes: int | None = None  # of a proof
    compared: bool = False  # whether the reference was queried on some of the words too
    why: str = ""

    @property
    def open(self) -> bool:
        return self.nearest is None and not self.why


class EvaluatorDiffersError(Exception):
    """The model's evaluator and its reference give different answers."""


@dataclass
class Neighbourhoods:
    """Some words and their neighbours, queried by one oracle. ``results`` is valid after any interruption."""

    oracle: MembershipOracle
    request: Request
    words: Sequence[Word]
    compared: int = 0
    _found: list[_Word] = field(default_factory=list)

    def explore(self) -> Iterator[None]:
        """Ask the words near each word, nearest first; yields between steps."""
        alphabet = self.oracle.alphabet
        codes = [alphabet.encode(word) for word in self.words]
        answers = [self.oracle.reference_answer(word) for word in codes]
        self._found = [_Word(word, answer, Cost(0)) for word, answer in zip(self.words, answers, strict=True)]
        request = self.request
        distances = request.edits.distances(request.distance)
        if request.distance not in distances and request.distance:  # no word has it, but it was requested
            distances.append(request.distance)
        for distance in distances:
            balls = [(some, self._ball(some, distance)) for some in self._found if some.open]
            yield from self._walk(distance, [(some, language) for some, language in balls if language is not None])
        for some in self._found:
            if some.why:
                yield from self._search(some)
        yield from self._compare()

    def results(self, reason: str = "") -> list[WordRobustness]:
        """The results so far; ``reason`` says why there are no more."""
        if not self._found:
            return [not_queried(word, reason) for word in self.words]
        return [self._result(some, reason) for some in self._found]

    def _ball(self, some: _Word, distance: Cost) -> DFA | None:
        """The words to ask; None where there are too many."""
        try:
            some.language = self._near(some.word, distance)
        except StateLimitError as error:
            some.language, some.why = None, str(error)
            return None
        steps = prefixes(some.language)
        if steps > self.request.max_steps:
            some.why = (
                f"to ask every word within distance {plain(distance)} takes {steps:.3g} network steps, more than "
                f"{self.request.max_steps}"
            )
            return None
        return some.language

    def _near(self, word: Word, distance: Cost) -> DFA:
        language, longest = ball(word, distance, self.request.edits, self.oracle.alphabet), self.oracle.model.max_length
        if longest is not None:
            language = intersection(language, short_words(language.alphabet, longest))
        return language if self.request.spec is None else intersection(language, self.request.spec)

    def _walk(self, distance: Cost, balls: list[tuple[_Word, DFA]]) -> Iterator[None]:
        if not balls:
            return
        walk = Walk(self.oracle.stepper, [Ball(language, some.answer) for some, language in balls], self.request.memory)
        while not walk.finished:
            walk.advance()
            yield
        for (some, _), flip in zip(balls, walk.flips, strict=True):
            if flip is None:
                some.certified = distance
            else:
                self._confirm(flip, not some.answer)
                some.nearest, some.distance = flip, distance

    def _search(self, some: _Word) -> Iterator[None]:
        """Where there are too many words: a proof by boxes, or else follow the scores, and then draw words.

        Searching and drawing may find a flip, and never show that there is none.
        """
        try:
            some.language = self._near(some.word, self.request.distance)
        except StateLimitError:
            some.language = None
            return
        rng = self._rng(some)
        relation = Relation.SUPERSET if some.answer else Relation.SUBSET
        spec = some.language if some.answer else some.language.complement()
        prop = Property(spec, relation)
        empty = bool(some.language.accepting[some.language.initial])
        if not empty or self.oracle.reference_answer(()) == some.answer:  # which no proof is about
            some.boxes = yield from self._proof(prop)
        if some.boxes is not None:
            some.certified = self.request.distance
            return
        search = GuidedSearch(PrefixTree(self.oracle.stepper, prop), rng, memory=self.request.memory)
        end = self.oracle.cost.work + self.request.max_steps // 10
        while not search.finished and self.oracle.cost.work < end:
            search.advance()
            yield
        flip = search.violation
        sampler = Sampler(self.oracle, UniformWords(some.language), rng, prop)
        while flip is None and sampler.words < self.request.confidence.words:
            flip = sampler.draw(self.request.confidence.words - sampler.words).violation
            some.epsilon = self.request.confidence.achieved(sampler.words)
            yield
        if flip is not None:
            self._confirm(flip, not some.answer)
            some.nearest, some.distance, some.epsilon = flip, self._distance(some, flip), None
            nearer = [Cost(0), *(d for d in self.request.edits.distances(self.request.distance) if d < some.distance)]
            some.exact = some.certified == nearer[-1]

    def _proof(self, prop: Property) -> Generator[None, None, int | None]:
        """How many boxes of states prove it of the network's own weights; None where there is no proof."""
        model = self.oracle.model
        if not isinstance(model.by_reference(), SteppedReference):
            return None
        attempts = search_proof(network_of(model), prop, _PROOF)
        while True:
            try:
                next(attempts)
            except StopIteration as end:
                return len(end.value.own_boxes) if isinstance(end.value, Invariant) else None
            yield

    def _distance(self, some: _Word, flip: Codes) -> Cost:
        """The distance of a word from another one, which is within the requested distance."""
        letters = self.oracle.alphabet.decode(flip)
        near = (
            distance
            for distance in self.request.edits.distances(self.request.distance)
            if ball(some.word, distance, self.request.edits, self.oracle.alphabet).accepts(letters)
        )
        return next(near, self.request.distance)

    def _compare(self) -> Iterator[None]:
        """Ask the reference for some of the words that everything rests on; until then nothing is certified."""
        own = self.oracle.model.by_reference() is self.oracle.model
        for some in self._found:
            if some.certified and some.boxes is None and not own:
                source = UniformWords(self._near(some.word, some.certified))
                for word in dict.fromkeys(source.sample(self._rng(some), _COMPARED) if source.count else ()):
                    self._confirm(word, some.answer)
                    self.compared += 1
                    yield
            some.compared = True

    def _rng(self, some: _Word) -> np.random.Generator:
        """Random numbers that depend on the word alone, not on its company."""
        return np.random.default_rng([self.request.seed, *self.oracle.alphabet.encode(some.word)])

    def _confirm(self, word: Codes, answer: bool) -> None:
        if self.oracle.reference_answer(word) != answer:
            raise EvaluatorDiffersError(format_word(self.oracle.alphabet.decode(word)))

    def _result(self, some: _Word, reason: str) -> WordRobustness:
        flipped = some.nearest is not None
        done = some.certified == self.request.distance and (some.boxes is not None or some.compared)
        outcome = Outcome.VIOLATED if flipped else Outcome.SATISFIED if done else Outcome.UNDECIDED
        if some.certified and some.boxes is None and not some.compared:  # by the evaluator alone
            some.certified, some.exact = Cost(0), not flipped
        near, words = f"every word within distance {plain(self.request.distance)}", _whole(some.language)
        if flipped:
            nearer = "no word nearer has it" if some.exact else "a nearer one may have it"
            reason = f"a word at distance {plain(some.distance or Cost(0))} has the other answer; {nearer}"
        elif some.boxes is not None:
            reason = (
                f"{near} has the same answer, proved by {some.boxes} boxes of network states for every evaluation in "
                "IEEE arithmetic"
            )
        elif done and words == 0:
            reason = f"no word within distance {plain(self.request.distance)} counts, the word itself included"
        elif done:
            reason = f"{near} was queried and has the same answer"
        else:
            reason = some.why or reason or "not queried"
        return WordRobustness(
            word=some.word,
            accepted=some.answer,
            outcome=outcome,
            certified=None if some.certified is None else plain(some.certified),
            nearest=None if some.nearest is None else self.oracle.alphabet.decode(some.nearest),
            distance=None if some.distance is None else plain(some.distance),
            exact=some.exact,
            words=words,
            epsilon=some.epsilon,
            boxes=some.boxes,
            reason=reason,
        )


def _whole(language: DFA | None) -> int | None:
    """The number of words, if a float represents it exactly and there is time left."""
    if language is None:
        return None
    try:
        count = UniformWords(language).count
    except BudgetExceeded:
        return None
    return int(count) if count < 2**53 else None


def not_queried(word: Word, reason: str) -> WordRobustness:
    """The result for a word that was not reached."""
    return WordRobustness(word=word, accepted=None, outcome=Outcome.UNDECIDED, reason=reason)


@dataclass(frozen=True)
class Explored:
    """The results for some words; ``ended`` says why the work stopped early, if it did."""

    words: list[WordRobustness]
    compared: int
    steps: int
    note: str | None
    ended: str


def explore(oracle: MembershipOracle, request: Request, words: Sequence[Word], between: Callable[[], None]) -> Explored:
    """Ask the neighbours of some words; by the reference alone, where the evaluator turns out to differ from it."""
    work, note, ended = Neighbourhoods(oracle, request, words), None, ""
    try:
        try:
            _run(work, between)
        except EvaluatorDiffersError as difference:
            if oracle.by_reference() is oracle:
                raise ModelError(
                    f"the model answers the word {difference} differently when queried again; a model must give each "
                    "word one answer"
                ) from None
            note = (
                f"the model's evaluator and its reference give different answers to the word {difference}; every "
                "answer is the reference's, which is slow"
            )
            work = Neighbourhoods(oracle.by_reference(), request, words)
            _run(work, between)
    except BudgetExceeded as end:
        ended = end.reason
    except KeyboardInterrupt:
        ended = INTERRUPTED
    except MemoryError:
        ended = "memory ran out"
    return Explored(work.results(ended), work.compared, oracle.cost.work, note, ended)


def _run(work: Neighbourhoods, between: Callable[[], None]) -> None:
    for _ in work.explore():
        work.oracle.budget.check()
        between()
