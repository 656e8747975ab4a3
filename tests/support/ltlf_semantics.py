"""The meaning of LTLf and LDLf, written down directly: the judge of the compiler, sharing no code with it.

A formula is a nested tuple. Its truth on a word of n letters is a list of n + 1 answers: one for each position,
and one for the end of the word, where nothing is left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from hypothesis import strategies as st

from rnncheck.words import Word

Formula: TypeAlias = tuple[Any, ...]
Truth: TypeAlias = list[bool]

UNARY = ("!", "X", "WX", "F", "G")
BOOLEAN = ("&", "|", "->", "<->")
TEMPORAL = ("U", "R", "W", "M")


def truth(formula: Formula, word: Word) -> Truth:
    """Whether the formula holds at each position of the word, and at its end."""
    n = len(word)
    op, *parts = formula
    everywhere = range(n + 1)
    if op == "letters":
        return [*(letter in parts[0] for letter in word), False]
    if op in ("true", "false"):
        return [op == "true"] * (n + 1)
    if op == "last":
        return [i + 1 >= n for i in everywhere]
    if op == "ε":
        return [i == n for i in everywhere]
    if op in ("<>", "[]"):
        steps, goal = relation(parts[0], word), truth(parts[1], word)
        quantifier = any if op == "<>" else all
        return [quantifier(goal[j] for k, j in steps if k == i) for i in everywhere]
    if op in UNARY:
        inner = truth(parts[0], word)
        return [_unary(op, inner, i, n) for i in everywhere]
    left, right = truth(parts[0], word), truth(parts[1], word)
    if op in BOOLEAN:
        return [_boolean(op, left[i], right[i]) for i in everywhere]
    return [_temporal(op, left, right, i, n) for i in everywhere]


def holds(formula: Formula, word: Word) -> bool:
    return truth(formula, word)[0]


def relation(path: Formula, word: Word) -> set[tuple[int, int]]:
    """From which place to which a path leads."""
    op, *parts = path
    places = range(len(word) + 1)
    if op == "read":
        condition = truth(parts[0], word)
        return {(i, i + 1) for i in range(len(word)) if condition[i]}
    if op == "?":
        condition = truth(parts[0], word)
        return {(i, i) for i in places if condition[i]}
    if op == "+":
        return relation(parts[0], word) | relation(parts[1], word)
    if op == ";":
        first, second = relation(parts[0], word), relation(parts[1], word)
        return {(i, k) for i, j in first for m, k in second if j == m}
    once = relation(parts[0], word)
    reached = {(i, i) for i in places}
    while True:
        more = reached | {(i, k) for i, j in reached for m, k in once if j == m}
        if more == reached:
            return reached
        reached = more


def _unary(op: str, inner: Truth, i: int, n: int) -> bool:
    ahead = [inner[j] for j in range(i, n)]
    return {
        "!": not inner[i],
        "X": i + 1 < n and inner[i + 1],
        "WX": i + 1 >= n or inner[i + 1],
        "F": any(ahead),
        "G": all(ahead),
    }[op]


def _boolean(op: str, left: bool, right: bool) -> bool:
    return {"&": left and right, "|": left or right, "->": not left or right, "<->": left == right}[op]


def _temporal(op: str, left: Truth, right: Truth, i: int, n: int) -> bool:
    until = any(right[j] and all(left[k] for k in range(i, j)) for j in range(i, n))
    if op == "U":
        return until
    if op == "W":
        return until or all(left[j] for j in range(i, n))
    if op == "R":
        return all(right[j] or any(left[k] for k in range(i, j)) for j in range(i, n))
    return any(left[j] and all(right[k] for k in range(i, j + 1)) for j in range(i, n))


# How a formula is written. Looser operators have smaller ranks; -> and U R W M group to the right.

_RANKS = {"+": 1, ";": 2, "<->": 3, "->": 4, "|": 5, "&": 6, "U": 7, "R": 7, "W": 7, "M": 7, "*": 8, "?": 8}
_UNARY_RANK, _ATOM_RANK = 9, 10


def written(formula: Formula, *, plainly: bool) -> str:
    """The text of a formula or path: with every parenthesis, or with no more than the ranks demand."""
    op, *parts = formula
    if op == "letters":
        return parts[0][0] if len(parts[0]) == 1 else "{" + " ".join(parts[0]) + "}"
    if op in ("true", "false", "last", "ε"):
        return str(op)
    if op == "read":
        return written(parts[0], plainly=plainly)

    def inside(part: Formula, loosest: int) -> str:
        text = written(part, plainly=plainly)
        return f"({text})" if plainly or _rank(part) < loosest else text

    if op in ("<>", "[]"):
        path = written(parts[0], plainly=plainly)
        return f"{op[0]}{path}{op[1]} {inside(parts[1], _UNARY_RANK)}"
    if op in UNARY:
        return f"{op} {inside(parts[0], _UNARY_RANK)}"
    rank = _RANKS[op]
    if op in "*?":
        return inside(parts[0], rank if op == "*" else _UNARY_RANK) + op
    right_grouping = op == "->" or op in TEMPORAL
    left, right = inside(parts[0], rank + right_grouping), inside(parts[1], rank + (not right_grouping))
    return f"{left} {op} {right}"


def _rank(formula: Formula) -> int:
    op = formula[0]
    if op == "read":
        return _rank(formula[1])
    if op in UNARY or op in ("<>", "[]"):
        return _UNARY_RANK
    return _RANKS.get(op, _ATOM_RANK)


# What the tests draw.

FEW_SETS = (("a",), ("b",), ("c",), ("a", "b"), ("b", "c"))


def propositional(letter_sets: Sequence[tuple[str, ...]] = FEW_SETS) -> st.SearchStrategy[Formula]:
    sets = st.sampled_from(letter_sets)
    leaves = st.one_of(st.tuples(st.just("letters"), sets), st.sampled_from([("true",), ("false",)]))
    return st.recursive(
        leaves,
        lambda inner: st.one_of(st.tuples(st.just("!"), inner), st.tuples(st.sampled_from(BOOLEAN), inner, inner)),
        max_leaves=3,
    )


def ltlf_formulas(max_leaves: int = 6, letter_sets: Sequence[tuple[str, ...]] = FEW_SETS) -> st.SearchStrategy[Formula]:
    return st.recursive(_leaves(letter_sets), _ltlf_layer, max_leaves=max_leaves)


def ldlf_formulas() -> st.SearchStrategy[Formula]:
    """Formulas of both logics mixed."""
    return st.recursive(
        _leaves(),
        lambda inner: st.one_of(_ltlf_layer(inner), st.tuples(st.sampled_from(["<>", "[]"]), paths(inner), inner)),
        max_leaves=5,
    )


def paths(tests: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
    leaves = st.one_of(st.tuples(st.just("read"), propositional()), st.tuples(st.just("?"), tests))
    return st.recursive(
        leaves,
        lambda inner: st.one_of(st.tuples(st.just("*"), inner), st.tuples(st.sampled_from([";", "+"]), inner, inner)),
        max_leaves=4,
    )


def _leaves(letter_sets: Sequence[tuple[str, ...]] = FEW_SETS) -> st.SearchStrategy[Formula]:
    return st.one_of(propositional(letter_sets), st.sampled_from([("last",), ("ε",)]))


def _ltlf_layer(inner: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
    return st.one_of(
        st.tuples(st.sampled_from(UNARY), inner), st.tuples(st.sampled_from(BOOLEAN + TEMPORAL), inner, inner)
    )


def subformulas(formula: Formula) -> Iterator[Formula]:
    """The formula or path and everything inside it."""
    yield formula
    for part in formula[1:]:
        if part and isinstance(part[0], str) and formula[0] != "letters":
            yield from subformulas(part)
