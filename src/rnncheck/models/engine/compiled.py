"""A recurrent network compiled for stepping: the engine behind almost every membership query."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from rnncheck.errors import ModelError, short_repr
from rnncheck.models.cells.cell_type import StateLayout, compile_layers
from rnncheck.models.engine.batch_state import NumpyRows, Rows, products
from rnncheck.models.engine.check_words import check_words, grows
from rnncheck.models.engine.kernel import Kernel, usable_kernel
from rnncheck.models.engine.kernel_rows import KernelRows
from rnncheck.models.engine.reference import (
    Judgement,
    reference_answers_along,
    reference_judgement,
    reference_prefix_scores,
)
from rnncheck.models.engine.score_cache import ReferenceCache, ScoreCache
from rnncheck.models.engine.self_check_cache import CachedCheck, cached_check, key_of, store_check
from rnncheck.models.engine.stepped_reference import SteppedReference
from rnncheck.models.engine.threads import thread_count
from rnncheck.models.fingerprint import digest_of
from rnncheck.models.network import RecurrentNetwork
from rnncheck.models.protocol import (
    ByReference,
    Labeller,
    Letters,
    Model,
    Scores,
    States,
    SteppingModel,
    Tick,
    check_letters,
    no_tick,
)
from rnncheck.words import Codes, IntArray, WordBatch, format_word

Reference: TypeAlias = Callable[[Codes], Judgement]

MARGIN_FLOOR = 1e-4
MARGIN_FACTOR = 100.0
TOLERANCE = 1e-4
_SMALLEST_SCALE = 0.1

_CHECKED_RUNS, _CHECKED_WORDS = 16, 64


class SelfCheckError(ModelError):
    """Engine and reference differ."""


@dataclass(frozen=True)
class SelfCheck:
    """How the engine compared with the reference on random words."""

    words: int
    largest_difference: float
    largest_score: float


class CompiledNetwork(SteppingModel):
    """A recurrent network that reads many words per step.

    ``reference`` gives the score and the answer of one word alone by the network's original; without one, the plain
    evaluation of the weights (:func:`reference_judgement`) is the reference. Compiling compares engine and
    reference on random words, and raises ModelError where they differ by more than ``TOLERANCE`` times the largest
    score. By default ``margin`` is ``MARGIN_FACTOR`` times the largest difference seen, and at least
    ``MARGIN_FLOOR``, and ``dtype`` is that of the weights. ``cache`` says where to store the result of the comparison
    with the plain evaluation: in the user's cache directory (True) or in this process (None, the default). With False
    the comparison is made again, and nothing in that directory is read or written, the compiled kernel included.

    No word of more than ``max_length`` letters is evaluated, not even for the comparison.

    Answers do not depend on the batch, and nothing depends on ``threads`` (by default all cores).
    """

    def __init__(
        self,
        network: RecurrentNetwork,
        *,
        dtype: npt.DTypeLike | None = None,
        threads: int | None = None,
        margin: float | None = None,
        reference: Reference | None = None,
        cache: bool | None = None,
        max_length: int | None = None,
    ) -> None:
        self._dtype = network.number_type if dtype is None else np.dtype(dtype)
        if self._dtype not in (np.float32, np.float64):
            raise ModelError(f"dtype {self._dtype} is not supported; choose float32 or float64")
        if margin is not None and not 0.0 <= margin < np.inf:
            raise ModelError(f"margin {margin} is not a number of at least 0; give one, or leave it out")
        self.network = network
        self.alphabet, self.label_names = network.alphabet, network.label_names
        self._options: dict[str, Any] = {
            "dtype": self._dtype,
            "threads": threads,
            "margin": margin,
            "reference": reference,
            "cache": cache,
            "max_length": max_length,
        }
        self.max_length = max_length
        self._by_label: dict[int, CompiledNetwork] = {}  # by accepting label
        self._score_cache: ScoreCache | None = None
        self._reference_cache: ReferenceCache | None = None
        self._reference = reference or functools.partial(reference_judgement, network)
        self.covers_reference = reference is None or getattr(reference, "complete", False)
        self._threads = thread_count(threads)
        self._cell = network.cell.kind
        self._kernel = self._usable_kernel()
        with np.errstate(all="ignore"):  # what overflows shows in the comparison with the reference
            self._rows = self._make_rows()
        self.empty_score, self.accepts_empty = self._reference(())
        self.self_check = self._run_self_check()
        self.margin = self._choose_margin(margin)

    def __reduce__(self) -> tuple[object, ...]:
        return (_compile_again, (self.network, self._options), {"max_length": self.max_length})

    def __repr__(self) -> str:
        units = ", ".join(str(layer.hidden) for layer in self.network.layers)
        return f"{super().__repr__()[:-1]}: {self.network.cell.value} of {units} units>"

    def with_threads(self, threads: int) -> CompiledNetwork:
        """The same network with another number of threads."""
        return self._copy(self.network, **{**self._options, "threads": threads})

    def with_cache(self) -> CompiledNetwork:
        """The same network for many verifications, with a cache of the scores of sampled words."""
        copied = object.__new__(CompiledNetwork)  # copying would compile and compare once more
        vars(copied).update(vars(self))
        copied._score_cache, copied._reference_cache = ScoreCache(), ReferenceCache()
        return copied

    def initial(self, rows: int) -> States:
        return self._rows.initial(rows)

    def step(self, states: States, letters: Letters, rows: IntArray | None = None) -> States:
        letters = np.asarray(letters)
        check_letters(letters, self.alphabet)
        if rows is None and len(states) != len(letters):
            raise ModelError(f"{len(letters)} letters for {len(states)} states; give one each, or say which rows")
        return self._rows.step(states, letters, rows)

    def scores(self, states: States) -> Scores:
        with np.errstate(all="ignore"):
            return self.network.scores(self._rows.outputs(states))

    def outputs(self, states: States) -> npt.NDArray[Any]:
        """The outputs of the head, one row for each state."""
        with np.errstate(all="ignore"):
            return self._rows.outputs(states)

    def prefix_scores(self, words: WordBatch, tick: Tick = no_tick) -> Scores:
        """The score after every letter of every word, aligned with ``words.codes``."""
        words.check_codes(len(self.alphabet))
        if self._score_cache is not None:
            return self._score_cache.scores(words, tick, self._prefix_scores)
        return self._prefix_scores(words, tick)

    def _prefix_scores(self, words: WordBatch, tick: Tick) -> Scores:
        with np.errstate(all="ignore"):
            return self._rows.run(words, tick, self.network.scores)

    def reference_answer(self, codes: Codes) -> bool:
        return self._reference(tuple(codes)).accepted

    def reference_score(self, codes: Codes) -> float:
        return self._reference(tuple(codes)).score

    def reference_answers_along(self, codes: Codes) -> list[bool]:
        if self._options["reference"] is None:
            return reference_answers_along(self.network, codes)
        return super().reference_answers_along(codes)

    def labeller(self, *, together: bool = False) -> Labeller | None:
        make = getattr(self._options["reference"], "labeller", None)  # a plain function has none
        return None if make is None else make(len(self.alphabet), together=together)

    def describe(self) -> Mapping[str, Any]:
        facts = self.network.describe()
        if self._options["reference"]:
            facts["empty_word"] = "as in the reference"
        return {
            **facts,
            "queries": f"stepped, {self._dtype.name}{', compiled kernel' if self._kernel else ''}",
            "margin": self.margin,
            "self_check": asdict(self.self_check),
        }

    def fingerprint(self) -> str:
        # Threads do not change an answer. The kernel does not either, but a result names its evaluator.
        evaluator = (self._dtype.name, self._kernel is not None)
        return digest_of("engine", self.network.sha256(), *evaluator, self.margin, self._options["reference"])

    def by_reference(self) -> Model:
        if self._options["reference"] is not None:
            return ByReference(self)
        reference = SteppedReference(self.network, self.describe(), self._reference_cache)
        reference.max_length = self.max_length
        return reference

    def for_label(self, label: int) -> CompiledNetwork:
        if label not in self._by_label:  # made once, since each is compared with its reference
            reference = self._options["reference"]
            options = {**self._options, "reference": None if reference is None else reference.for_label(label)}
            other = CompiledNetwork(dataclasses.replace(self.network, label=label), **options)
            other._by_label = self._by_label
            self._by_label[label] = other
        found = self._by_label[label]
        found.max_length = self.max_length
        return found

    def _copy(self, network: RecurrentNetwork, **options: Any) -> CompiledNetwork:
        other = CompiledNetwork(network, **options)
        other.max_length = self.max_length
        return other

    def _usable_kernel(self) -> Kernel | None:
        if self._cell.kernel is None or self._dtype != np.float32:
            return None
        return usable_kernel(keep=self._options["cache"] is not False)

    def _make_rows(self) -> Rows:
        layers, inputs, layout = self.network.layers, self.network.inputs, StateLayout(self._cell, self.network.layers)
        head = _head(self.network)
        if self._kernel is not None:
            return KernelRows(self._kernel, self._cell, layers, inputs, layout, head, self._threads)
        compiled = compile_layers(self._cell, layers, inputs, layout, self._dtype)
        return NumpyRows(compiled, self._cell, layers, layout, head, self._dtype, self._threads)

    def _run_self_check(self) -> SelfCheck:
        """Compare with the reference.

        If the kernel differs too much, use the numpy layers, whose functions are nearer to the exact ones: a network
        that amplifies every rounding error may need that.
        """
        reference, uncached = self._options["reference"], self._options["cache"] is False
        try:
            return self._compare_with_reference(reference) if reference or uncached else self._cached_check()
        except SelfCheckError:
            if self._kernel is None:
                raise
        self._kernel = None
        with np.errstate(all="ignore"):
            self._rows = self._make_rows()
        return self._run_self_check()

    def _cached_check(self) -> SelfCheck:
        """The comparison with the plain evaluation, from the cache if it is there."""
        kernel, longest = self._kernel and self._kernel.digest, self._options["max_length"]
        key = key_of("self-check", self.network.sha256(), self._dtype.name, kernel, longest)
        on_disk = bool(self._options["cache"])
        known = cached_check(key, on_disk)
        if known is not None:
            check = SelfCheck(known.words, known.largest_difference, known.largest_score)
            if self._within_tolerance(check):
                return check
        check = self._compare_with_reference(None)
        store_check(CachedCheck(key=key, **asdict(check)), on_disk)
        return check

    @staticmethod
    def _within_tolerance(check: SelfCheck) -> bool:
        return check.largest_difference <= TOLERANCE * max(_SMALLEST_SCALE, check.largest_score)

    def _compare_with_reference(self, reference: Reference | None) -> SelfCheck:
        """Compare scores on random words (``check_words``): all prefixes where that is cheap, else whole words."""
        words, more = check_words(
            len(self.alphabet),
            products(self.network.layers),
            _CHECKED_RUNS if reference is None else _CHECKED_WORDS,
            bounded=self._cell.bounded,
            longest=self._options["max_length"],
        )
        check, lengths, differences = self._compare_on(words, reference)
        if not more or not grows(lengths, differences):
            return check
        later, _, _ = self._compare_on(more, reference)
        return SelfCheck(
            check.words + later.words,
            max(check.largest_difference, later.largest_difference),
            max(check.largest_score, later.largest_score),
        )

    def _compare_on(
        self, words: list[Codes], reference: Reference | None
    ) -> tuple[SelfCheck, IntArray, npt.NDArray[np.float64]]:
        """The comparison, the lengths of what was compared, and by how much each differs."""
        batch = WordBatch.from_codes(words)
        scores = self.prefix_scores(batch)
        known = self._reference_scores(batch) if reference is None else [[reference(word).score] for word in words]
        expected = np.concatenate(known)
        ours = np.concatenate(
            [scores[end - len(part) : end] for end, part in zip(batch.offsets[1:], known, strict=True)]
        )
        with np.errstate(all="ignore"):
            differences = np.nan_to_num(np.abs(ours - expected), nan=np.inf)
        check = SelfCheck(len(expected), float(differences.max()), float(np.abs(expected).max()))
        run = np.repeat(np.arange(len(words)), [len(part) for part in known])
        lengths = batch.lengths if reference is not None else np.concatenate([np.arange(len(w)) + 1 for w in words])
        if not self._within_tolerance(check):
            worst = int(differences.argmax())
            word = words[run[worst]][: lengths[worst]]
            raise SelfCheckError(
                f"on the word {short_repr(format_word(self.alphabet.decode(word)), 300)} the stepped "
                f"network scores {ours[worst]:.6g} and its reference {expected[worst]:.6g}; it was not read correctly, "
                "or its values depend on rounding"
            )
        return check, lengths, differences

    def _reference_scores(self, words: WordBatch) -> list[list[float]]:
        """The plain evaluation's scores of all prefixes; words are read side by side, each as if it were alone."""
        scores = SteppedReference(self.network).prefix_scores(words)
        known = [part.tolist() for part in np.split(scores, words.offsets[1:-1])]
        for word, part in zip(words, known, strict=True):
            if not np.isfinite(part).all():
                reference_prefix_scores(self.network, word)  # raises an error that names the prefix
        return known

    def _choose_margin(self, given: float | None) -> float:
        seen = self.self_check.largest_difference
        if given is None:
            return max(MARGIN_FLOOR, MARGIN_FACTOR * seen)
        if given < seen:
            raise ModelError(
                f"margin {given} is too small: scores differ from the reference's by up to {seen:.3g}; "
                "give a larger margin, or leave it out"
            )
        return given


def _head(network: RecurrentNetwork) -> npt.NDArray[Any]:
    """Rows to multiply with (1, h of the top layer), one column per output."""
    weight = network.head_weight.T.astype(np.float64) / network.cell.kind.hidden_scale
    return np.vstack([network.head_bias.astype(np.float64), weight])


def _compile_again(network: RecurrentNetwork, options: dict[str, Any]) -> CompiledNetwork:
    return CompiledNetwork(network, **options)


def compiled_or_stepped(network: RecurrentNetwork, **options: Any) -> CompiledNetwork | SteppedReference:
    """The compiled network, or the reference itself if rounding makes the engine differ from it."""
    try:
        return CompiledNetwork(network, **options)
    except SelfCheckError as error:
        note = f"the reference evaluates every word, which is slow, since the engine differs from it: {error}"
        return SteppedReference(network, {**network.describe(), "notes": [note]})
