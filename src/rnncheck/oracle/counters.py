"""What queries cost, and the budget that ends them."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from rnncheck.runtime.budget import Budget
from rnncheck.words import WordBatch


@dataclass(frozen=True)
class Cost:
    """How many queries were made, and how many steps they took.

    ``membership_queries`` counts the queried words, each once (once more if its answer was evicted from the cache and
    queried again). ``prefix_answers`` counts the answers on prefixes that came along with such a word.
    ``network_steps`` counts rows × steps computed: one for each letter that the model has read. ``batches`` counts the
    batches of new words that the model read: one per call, unless a call is very large. ``work`` counts the letters of
    the queries, even those that stored states saved: it depends on the queries alone, so it decides whatever must not
    depend on the contents of the cache.
    """

    membership_queries: int = 0
    network_steps: int = 0
    batches: int = 0
    prefix_answers: int = 0
    work: int = field(default=0, compare=False)

    def __sub__(self, earlier: Cost) -> Cost:
        return Cost(
            self.membership_queries - earlier.membership_queries,
            self.network_steps - earlier.network_steps,
            self.batches - earlier.batches,
            self.prefix_answers - earlier.prefix_answers,
            self.work - earlier.work,
        )


class Counters:
    """The running counts. Every step of a model is charged here before it is computed, and only within the budget."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.queries = 0
        self.steps = 0
        self.batches = 0
        self.prefix_answers = 0
        self.work = 0
        self._lock = threading.Lock()

    def tick(self, steps: int) -> None:
        """Count the steps that are about to be computed, or raise BudgetExceeded. Called by the model's threads."""
        self.budget.check()
        with self._lock:
            self.steps += steps

    def count_prefixes(self, words: WordBatch) -> None:
        """Count words that were read with all their prefixes: one query each, and the prefixes' answers."""
        filled = int((words.lengths > 0).sum())
        self.queries += filled
        self.prefix_answers += len(words.codes) - filled

    @property
    def cost(self) -> Cost:
        """The counts of this moment."""
        return Cost(self.queries, self.steps, self.batches, self.prefix_answers, self.work)
