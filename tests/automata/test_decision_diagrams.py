"""Boolean functions against truth tables: one number for one function, whatever way it was made."""

from __future__ import annotations

import functools
import itertools
import random

import pytest

from rnncheck.automata.ltlf.decision_diagrams import FALSE, TRUE, DecisionDiagrams
from rnncheck.errors import ResourceLimitError

VARIABLES = 4
ROWS = list(itertools.product([False, True], repeat=VARIABLES))


def table(functions: DecisionDiagrams, f: int) -> tuple[bool, ...]:
    """The truth table, by walking down the stored choices."""
    answers = []
    for row in ROWS:
        at = f
        while (level := functions.levels[at >> 1]) >= 0:
            high, low = functions.cases(at, level)
            at = high if row[level] else low
        answers.append(at == TRUE)
    return tuple(answers)


@pytest.mark.parametrize("seed", range(3))
def test_equal_tables_are_equal_numbers(seed):
    chance = random.Random(seed)
    functions = DecisionDiagrams(max_terms=10**6)
    made = [TRUE, FALSE, *(functions.variable(level) for level in range(VARIABLES))]
    by_table = {table(functions, f): f for f in made}
    for _ in range(2000):
        f, g = chance.choice(made) ^ chance.randrange(2), chance.choice(made) ^ chance.randrange(2)
        pairs = list(zip(table(functions, f), table(functions, g), strict=True))
        both, either = functions.both(f, g), functions.either(f, g)
        assert table(functions, both) == tuple(x and y for x, y in pairs)
        assert table(functions, either) == tuple(x or y for x, y in pairs)
        for result in (both, either):
            known = by_table.setdefault(table(functions, result), result)
            assert known == result
        made = list(by_table.values())
    assert len(by_table) > 500


def test_negation_flips_every_row():
    functions = DecisionDiagrams(max_terms=100)
    f = functions.both(functions.variable(0), functions.variable(2) ^ 1)
    assert table(functions, f ^ 1) == tuple(not answer for answer in table(functions, f))


def test_functions_deeper_than_the_stack():
    functions = DecisionDiagrams(max_terms=10**6)
    evens = odds = TRUE
    for level in range(30_000):
        if level % 2:
            odds = functions.both(functions.variable(level), odds)
        else:
            evens = functions.both(functions.variable(level), evens)
    everything = functions.both(evens, odds)
    assert functions.both(everything, functions.variable(0) ^ 1) == FALSE
    assert functions.both(everything, evens) == everything


def test_the_limit_on_work():
    functions = DecisionDiagrams(max_terms=1000)
    products = [functions.both(functions.variable(i), functions.variable(20 + i)) for i in range(20)]
    with pytest.raises(ResourceLimitError, match="more than 1000 terms"):
        functools.reduce(functions.either, products)
