"""What the tests draw from: alphabets with odd letters, words, automata; and slow, plain judges of all operations.

The judges work on Python lists and sets, letter by letter, and share no code with the library.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from rnncheck.automata.dfa import DFA
from rnncheck.errors import RnncheckError
from rnncheck.words import Alphabet, Word

# Machines that run tests are often busy: how long one example takes says nothing about the code.
settings.register_profile("rnncheck", deadline=None)
settings.load_profile("rnncheck")

# Every error message of rnncheck is this.
ONE_LINE = r"\A[^\n\r]+\Z"


# Letters that some text form somewhere is likely to trip over.
ODD_LETTERS = (
    *("a", "b", "c", "0", "1157", "-1", "1.5", "<book>", "</book>", "é", "e\u0301", "漢字", "\U0001f600"),
    *("", " ", "two words", ",", ", ", "a,b", "'", '"', "'a'", '"a"', "\\", "\\n", "\\'", "\\u{41}", "ε"),
    *("\n", "\r", "\t", "\x00", "\x1f", "\x7f", "\x85", "\xa0", "\u2028", "\u200b", "\ufeff"),
    *("{", "}", "[", "]", "(", ")", "->", "--", ";", "=", "//", "/*", "*/", "#", ".", "|", "*", "&", "!"),
    *("__start0", "digraph", "node", "label", "null"),
)


def refusal(call: Callable[[], object]) -> RnncheckError | None:
    """The error with which a call is refused on purpose, or None; any other exception passes through."""
    try:
        call()
    except RnncheckError as error:
        return error
    return None


def all_words(alphabet: Alphabet, length: int) -> Iterator[Word]:
    """Every word of at most ``length`` letters, in shortlex order."""
    for n in range(length + 1):
        yield from itertools.product(alphabet, repeat=n)


def far_enough(alphabet: Alphabet) -> int:
    """A length up to which all words can be tried: about a thousand words, or twenty of one letter."""
    return {1: 20, 2: 8, 3: 6}.get(len(alphabet), 3)


def letters(*, surrogates: bool = True) -> st.SearchStrategy[str]:
    """Any string at all, the troublesome ones often; with half surrogate pairs or not."""
    characters = st.characters() if surrogates else st.characters(codec="utf-8")
    return st.one_of(st.sampled_from("abc"), st.sampled_from(ODD_LETTERS), st.text(characters, max_size=4))


def alphabets(max_size: int = 3, *, surrogates: bool = True) -> st.SearchStrategy[Alphabet]:
    return st.lists(letters(surrogates=surrogates), min_size=1, max_size=max_size, unique=True).map(Alphabet)


def plain_alphabets(max_size: int = 3) -> st.SearchStrategy[Alphabet]:
    """The letters a, b, c …, for tests that are not about letters."""
    return st.integers(1, max_size).map(lambda size: Alphabet([chr(ord("a") + i) for i in range(size)]))


def words(alphabet: Alphabet, max_size: int = 12) -> st.SearchStrategy[Word]:
    return st.lists(st.sampled_from(alphabet.letters), max_size=max_size).map(tuple)


@st.composite
def dfas(draw, alphabet=None, *, max_states: int = 8, max_letters: int = 3, names=None) -> DFA:
    """Complete automata with any table, any initial state, and states that may be unreachable or dead."""
    if alphabet is None:
        alphabet = draw(plain_alphabets(max_letters))
    states = draw(st.integers(1, max_states))
    state = st.integers(0, states - 1)
    row = st.lists(state, min_size=len(alphabet), max_size=len(alphabet))
    table = draw(st.lists(row, min_size=states, max_size=states))
    accepting = draw(st.lists(st.booleans(), min_size=states, max_size=states))
    called = None if names is None else draw(st.lists(names, min_size=states, max_size=states))
    return DFA(alphabet, table, accepting, draw(state), called)


@st.composite
def dfa_pairs(draw, *, max_states: int = 8, max_letters: int = 3) -> tuple[DFA, DFA]:
    """Two automata over the same letters, the second perhaps with its letters in another order."""
    alphabet = draw(plain_alphabets(max_letters))
    first = draw(dfas(alphabet, max_states=max_states))
    other = Alphabet(draw(st.permutations(alphabet.letters)))
    if draw(st.booleans()):
        return first, draw(dfas(other, max_states=max_states))
    accepting = draw(st.lists(st.booleans(), min_size=len(first), max_size=len(first)))
    return first, with_letters(DFA(alphabet, first.transitions, accepting, first.initial), other)


@st.composite
def partial_tables(draw, *, max_states: int = 5) -> tuple[Alphabet, list[list[int | None]], list[bool], int]:
    """The parts of an automaton in which successors may be missing."""
    alphabet = draw(plain_alphabets())
    states = draw(st.integers(1, max_states))
    state = st.integers(0, states - 1)
    row = st.lists(st.none() | state, min_size=len(alphabet), max_size=len(alphabet))
    table = draw(st.lists(row, min_size=states, max_size=states))
    return alphabet, table, draw(st.lists(st.booleans(), min_size=states, max_size=states)), draw(state)


def with_letters(dfa: DFA, alphabet: Alphabet) -> DFA:
    """The same language with the letters in another order."""
    columns = [dfa.alphabet.letters.index(letter) for letter in alphabet]
    table = [[row[column] for column in columns] for row in dfa.transitions.tolist()]
    return DFA(alphabet, table, dfa.accepting, dfa.initial)


def random_dfa(rng: np.random.Generator, states: int, letters: int) -> DFA:
    alphabet = Alphabet([f"l{i}" for i in range(letters)])
    return DFA(alphabet, rng.integers(states, size=(states, letters)), rng.random(states) < 0.5)


def chain(states: int, letters: int = 2, *, closed: bool = False) -> DFA:
    """Accepts the words of exactly ``states`` − 2 letters; where ``closed``, of a length ≡ −1 modulo ``states``."""
    ahead = np.arange(1, states + 1)
    ahead[-1] = 0 if closed else states - 1
    accepting = np.zeros(states, dtype=bool)
    accepting[states - (1 if closed else 2)] = True
    return DFA(Alphabet([f"l{i}" for i in range(letters)]), np.repeat(ahead[:, None], letters, axis=1), accepting)


def language(dfa: DFA, length: int) -> dict[Word, bool]:
    """Every word of at most ``length`` letters, in shortlex order, and whether the automaton accepts it."""
    table, accepting = dfa.transitions.tolist(), dfa.accepting.tolist()
    judged: dict[Word, bool] = {}
    front: list[tuple[Word, int]] = [((), dfa.initial)]
    for n in range(length + 1):
        judged.update((word, accepting[state]) for word, state in front)
        if n < length:
            front = [
                ((*word, letter), successor)
                for word, state in front
                for letter, successor in zip(dfa.alphabet, table[state], strict=True)
            ]
    return judged


def accepted(dfa: DFA, length: int) -> list[Word]:
    """The accepted words of at most ``length`` letters, in shortlex order."""
    return [word for word, yes in language(dfa, length).items() if yes]


def reached_states(dfa: DFA, start: int) -> set[int]:
    """The states that can be reached from a state, by the plainest search."""
    found, stack = {start}, [start]
    while stack:
        for successor in dfa.transitions[stack.pop()].tolist():
            if successor not in found:
                found.add(successor)
                stack.append(successor)
    return found


def distinguishable(dfa: DFA) -> set[tuple[int, int]]:
    """The pairs of states that some word tells apart, by filling the table of pairs until nothing changes."""
    table, accepting = dfa.transitions.tolist(), dfa.accepting.tolist()
    pairs = list(itertools.product(range(len(dfa)), repeat=2))
    apart = {(p, q) for p, q in pairs if accepting[p] != accepting[q]}
    while True:
        more = {
            (p, q)
            for p, q in pairs
            if (p, q) not in apart and any((s, t) in apart for s, t in zip(table[p], table[q], strict=True))
        }
        if not more:
            return apart
        apart |= more


def fewest_states(dfa: DFA) -> int:
    """The size of the smallest complete DFA of the language, by Myhill and Nerode."""
    apart = distinguishable(dfa)
    chosen: list[int] = []
    for state in sorted(reached_states(dfa, dfa.initial)):
        if all((state, other) in apart for other in chosen):
            chosen.append(state)
    return len(chosen)


def least_where(a: DFA, b: DFA, wanted) -> Word | None:
    """The shortlex-least word where ``wanted(a accepts, b accepts)``, by a plain search over pairs of states."""
    b = with_letters(b, a.alphabet)
    seen = {(a.initial, b.initial)}
    queue: list[tuple[Word, int, int]] = [((), a.initial, b.initial)]
    for word, p, q in queue:
        if wanted(bool(a.accepting[p]), bool(b.accepting[q])):
            return word
        for letter, s, t in zip(a.alphabet, a.transitions[p].tolist(), b.transitions[q].tolist(), strict=True):
            if (s, t) not in seen:
                seen.add((s, t))
                queue.append(((*word, letter), s, t))
    return None


@st.composite
def mutations(draw, texts: list[str]) -> str:
    """A text with a few pieces cut out, doubled, moved, or replaced by odd ones."""
    text = draw(st.sampled_from(texts))
    for _ in range(draw(st.integers(1, 4))):
        start, end = sorted((draw(st.integers(0, len(text))), draw(st.integers(0, len(text)))))
        end = min(end, start + draw(st.sampled_from([0, 1, 1, 3, 20, 10**6])))
        piece = draw(
            st.one_of(st.just(""), st.just(text[start:end] * 2), letters(), st.sampled_from('"{}[];->=,\\\n0'))
        )
        text = text[:start] + piece + text[end:]
    return text
