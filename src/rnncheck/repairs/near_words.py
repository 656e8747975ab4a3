"""The words that a model is trained on: around its mistakes, and around what it must not forget.

From a counterexample: the word and its prefixes, the flow's loops pumped, loops of its own pumped, and its near misses,
words that differ by one letter, whatever their answer. From a property: samples of the words that could be mistakes.
From the distribution: random words, and all short ones. The label of each prefix comes from the requirements and the
model's own answers.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from rnncheck.automata.dfa import DFA
from rnncheck.probability.distributions import WordDistribution
from rnncheck.search.flows import shortest_loops
from rnncheck.training.from_automaton import ConditionedSampler
from rnncheck.verdict.violation import FaultyFlow
from rnncheck.words import Alphabet, Codes

_LONGEST = 200  # letters of a word made of a counterexample
_LOOPS, _LONGEST_LOOP = 2, 4  # of the specification, at each place of a counterexample
_SHORT_STOP = 0.1  # the probability that a short word stops after a letter


def pumped_flow(flow: FaultyFlow, alphabet: Alphabet, rng: np.random.Generator, count: int) -> Iterator[Codes]:
    """A flow with its loop repeated a few times, and many."""
    prefix, loop, suffix = (alphabet.encode(part) for part in (flow.prefix, flow.loop, flow.suffix))
    most = max(1, (_LONGEST - len(prefix) - len(suffix)) // max(1, len(loop)))
    for times in {1, 2, 3, most, *rng.integers(1, most + 1, size=count).tolist()}:
        yield prefix + loop * times + suffix


def pumped_word(word: Codes, spec: DFA, rng: np.random.Generator, count: int) -> Iterator[Codes]:
    """The word with a short loop of the specification inserted at some place, many times over."""
    state, path = spec.initial, [spec.initial]
    for letter in word:
        state = int(spec.transitions[state, letter])
        path.append(state)
    loops = {state: shortest_loops(spec, state, _LOOPS, _LONGEST_LOOP) for state in set(path)}
    for _ in range(count):
        place = int(rng.integers(len(path)))
        at = loops[path[place]]
        if at:
            loop = at[int(rng.integers(len(at)))]
            most = max(1, (_LONGEST - len(word)) // len(loop))
            times = int(np.exp(rng.uniform(0.0, np.log(most + 1))))
            yield word[:place] + loop * times + word[place:]


def near_misses(word: Codes, letters: int, rng: np.random.Generator, most: int) -> list[Codes]:
    """Words with one letter changed, inserted, left out or exchanged with the next; at random if there are many."""
    edits = (2 * letters + 2) * (len(word) + 1)
    # Several edits give the same word, and some the word itself: four times as many leave enough.
    numbers = rng.permutation(edits)[: 4 * most].tolist()
    return distinct((_edited(word, letters, number) for number in numbers), [word])[:most]


def _edited(word: Codes, letters: int, number: int) -> Codes:
    """The word after the edit of this number; the word itself if there is no such edit at that place."""
    place, edit = divmod(number, 2 * letters + 2)
    before, at, after = word[:place], word[place : place + 1], word[place + 1 :]
    if edit < letters:
        return (*before, edit, *at, *after)
    if not at:
        return word
    if edit < 2 * letters:
        return (*before, edit - letters, *after)
    if edit == 2 * letters:
        return before + after
    return (*before, *after[:1], *at, *after[1:])


def words_in(language: DFA, distribution: WordDistribution, rng: np.random.Generator, count: int) -> list[Codes]:
    """Random words of a language: half of them as long as those of the distribution, half shorter.

    The length is drawn first: in a thin language the distribution itself would draw only the shortest words.
    """
    short = WordDistribution(distribution.alphabet, stop=_SHORT_STOP)
    sampler = ConditionedSampler(language, distribution, _LONGEST)
    if not len(sampler.lengths):
        return []
    lengths = [source.sample(rng, max(1, count // 2)).lengths for source in (distribution, short)]
    return list(sampler.sample(rng, np.concatenate(lengths).clip(max=_LONGEST)))


def all_words(letters: int, most: int) -> list[Codes]:
    """All words up to the largest length for which there are at most ``most``."""
    words: list[Codes] = []
    for length in itertools.count():
        if len(words) + letters**length > most:
            return words
        words += itertools.product(range(letters), repeat=length)
    raise AssertionError("lengths end")


def random_words(distribution: WordDistribution, rng: np.random.Generator, letters: int) -> list[Codes]:
    """Random words with about ``letters`` letters in total."""
    count = max(100, int(letters / (distribution.mean_length() + 1)))
    return [word[: 2 * _LONGEST] for word in distribution.sample(rng, count)]


def distinct(words: Iterable[Codes], known: Sequence[Codes] | set[Codes] = ()) -> list[Codes]:
    """The words without those known, each once, in order."""
    seen = set(known)
    return [word for word in dict.fromkeys(words) if word not in seen]
