"""The W-method (Chow, 1978): all words that can refute a hypothesis if the target has a few more states.

State cover × all infixes of at most d letters × characterising suffixes. If the target is an automaton with at most
d − 1 states more than the hypothesis, passing proves that they are equal. A network need not be such an automaton.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from rnncheck.automata.characterisation import characterising_suffixes, state_cover
from rnncheck.automata.moore import Hypothesis
from rnncheck.learning.equivalence.test_suite import SuiteEquivalence
from rnncheck.words import Codes, WordBatch

_MOST_WORDS = 50_000  # per test
_LONGEST_INFIX = 16
_BATCH = 4096


class WMethodEquivalence(SuiteEquivalence):
    """Infixes as long as ``_MOST_WORDS`` allows, shortest first; infixes of one letter are always started."""

    def batches(self, hypothesis: Hypothesis) -> Iterator[WordBatch]:
        words = itertools.islice(self._words(hypothesis), _MOST_WORDS)
        while batch := list(itertools.islice(words, _BATCH)):
            yield WordBatch.from_codes(batch)

    def _words(self, hypothesis: Hypothesis) -> Iterator[Codes]:
        letters = range(hypothesis.support.transitions.shape[1])
        cover = list(state_cover(hypothesis).values())
        suffixes = characterising_suffixes(hypothesis)
        for length in range(_LONGEST_INFIX + 1):
            if length > 1 and len(cover) * len(letters) ** length * len(suffixes) > _MOST_WORDS:
                return
            for infix in itertools.product(letters, repeat=length):
                for access in cover:
                    for suffix in suffixes:
                        yield (*access, *infix, *suffix)
