"""Options about how sure to be, how to learn and how long to take: of verify, extract and compare-surrogates."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Container
from typing import Any, TypeVar

import click

from rnncheck.cli.options import Command, ModelRequest
from rnncheck.learning import EQUIVALENCES, LEARNERS
from rnncheck.learning.learning_settings import MAX_STATES, MAX_STATES_IN_TIME, LearningSettings
from rnncheck.learning.learning_task import Progress
from rnncheck.models.protocol import Model
from rnncheck.probability.confidence import Bound, Confidence
from rnncheck.runtime.budget import Budget
from rnncheck.runtime.watchdog import guarded_for
from rnncheck.word_files import USUAL, read_words
from rnncheck.words import Alphabet

Result = TypeVar("Result")

# MiB that are taken before any work is done; fixed numbers, so that a result does not depend on the machine.
_INTERPRETER, _LIBRARIES = 80, {"torch": 192, "onnxruntime": 48}
_LEAST_WORK = 32


def learning_options(command: Command) -> Command:
    """Add the options; ``learning_settings`` reads them."""
    for option in reversed(
        [
            click.option("--epsilon", type=float, default=Confidence.epsilon, show_default=True,
                         help="The probability of a violation, or of a difference, to stay below."),
            click.option("--gamma", type=float, default=Confidence.gamma, show_default=True,
                         help="One minus the confidence."),
            click.option("--bound", type=click.Choice([b.value for b in Bound]), default=Confidence.bound.value,
                         show_default=True),
            click.option("--learner", type=click.Choice(list(LEARNERS)), default=LearningSettings.learner,
                         show_default=True),
            click.option("--equivalence", type=click.Choice(list(EQUIVALENCES)),
                         help="What looks for words on which a learned automaton is wrong; a sample is part of "
                         "every test.  [default: sampling; for verify --method auto coverage]"),
            click.option("--max-hypothesis", type=click.IntRange(min=2),
                         help="States of the learned automaton at most.  "
                         f"[default: {MAX_STATES}; for extract with --timeout {MAX_STATES_IN_TIME}; for verify "
                         "--faithful no bound]"),
            click.option("--max-query", type=click.IntRange(min=2), help="Letters of a learner's query at most."),
            click.option("--known-words", type=click.Path(), metavar="FILE", help="Words to start the learner with."),
            click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True),
            click.option("--timeout", type=click.FloatRange(min=0), metavar="SECONDS",
                         help="Stop after so long, loading and compiling included."),
            click.option("--memory", type=click.FloatRange(min=0, max=1 << 30), default=1024, show_default=True,
                         metavar="MIB", help="Memory of the process: the libraries it loads, answers, states and "
                         "searches."),
            click.option("--quiet", is_flag=True, help="No progress on stderr."),
        ]
    ):  # fmt: skip
        command = option(command)
    return command


def learning_fields(choices: dict[str, Any], alphabet: Alphabet) -> dict[str, Any]:
    """The fields of LearningSettings that the options set, for a model over an alphabet."""
    known = choices["known_words"]
    return {
        "learner": choices["learner"],
        "equivalence": choices["equivalence"],
        "bound": Bound(choices["bound"]),
        "max_states": choices["max_hypothesis"],
        "max_query_length": choices["max_query"],
        "known_words": () if known is None else tuple(read_words(known, alphabet, choices.get("word_format", USUAL))),
        "memory_limit": working_memory(choices["memory"], sys.modules),
    }


def working_memory(limit: float, loaded: Container[str]) -> int:
    """The bytes that --memory leaves for the work, beside the interpreter and the libraries that are loaded."""
    if math.isnan(limit):
        raise click.UsageError("--memory nan is no number of MiB; give one, such as 1024")
    base = _INTERPRETER + sum(size for name, size in _LIBRARIES.items() if name in loaded)
    if limit < base + _LEAST_WORK:
        raise click.UsageError(
            f"--memory {limit:g} is too little: the interpreter and the libraries for this model take {base} MiB by "
            f"themselves; give {base + _LEAST_WORK} or more"
        )
    return int((limit - base) * 2**20)


def learning_settings(choices: dict[str, Any], alphabet: Alphabet) -> LearningSettings:
    """What the options say of learning."""
    return LearningSettings(**learning_fields(choices, alphabet))


class TimeLimit:
    """One ``--timeout`` for all that a command does: loading, compiling, connecting, and its work itself."""

    def __init__(self, seconds: float | None) -> None:
        self._budget = Budget.lasting(seconds)

    @property
    def left(self) -> float | None:
        """The seconds that are left; None where there is no limit."""
        return self._budget.left

    def spent_on(self, what: str, work: Callable[[], Result]) -> Result:
        """The result of the work; BudgetExceeded says that the time was over ``while`` it went on."""
        return guarded_for(self.left, work, what)

    def load(
        self, model: ModelRequest, alphabet: Alphabet | None, max_length: int | None = None, *, any_label: bool = False
    ) -> Model:
        """The model, which is tried out on some words when it is loaded, and may hang there."""
        return self.spent_on(
            "the model was being loaded", lambda: model.load(alphabet, max_length, any_label=any_label)
        )


def _sampled(progress: Progress) -> str:
    """The words drawn, and how many one test needs: later rounds draw their own, so that all can be more than that."""
    if progress.words <= progress.words_needed:
        return f"{progress.words}/{progress.words_needed} words sampled"
    return f"{progress.words} words sampled ({progress.words_needed} for a test)"


def progress_text(progress: Progress) -> str:
    """How far the work is, in one line."""
    parts = [f"{progress.method}  {progress.seconds:.0f} s"]
    if progress.states is not None:
        parts.append(f"round {progress.rounds}, {progress.states} states")
    if progress.boxes is not None:
        growing, boxes = progress.boxes
        parts.append(f"{growing} of {boxes} boxes open")
    if progress.method != "prove":
        parts.append(_sampled(progress))
    if progress.exact_length is not None:
        parts.append(f"exact up to {progress.exact_length}")
    if progress.counterexample is not None:
        parts.append(f"violation of {len(progress.counterexample)} letters")
    parts.append(f"{progress.membership_queries} queries")
    if progress.remaining != float("inf"):
        parts.append(f"{progress.remaining:.0f} s left")
    return "  ".join(parts)
