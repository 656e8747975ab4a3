"""The transitions that lead where one wants to go, against a look at every letter."""

import numpy as np
import pytest

from rnncheck.automata.branches import Branches


@pytest.mark.parametrize("seed", range(20))
def test_branches_are_the_letters_that_lead_to_wanted_states(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.integers(6, size=(6, 4))
    wanted = rng.random(6) < rng.random()
    states = rng.integers(6, size=rng.integers(9))

    places, letters = Branches(table, wanted).follow(states)

    expected = [(i, a) for i, state in enumerate(states) for a in range(4) if wanted[table[state, a]]]
    assert list(zip(places.tolist(), letters.tolist(), strict=True)) == expected
    assert Branches(table, wanted).counts(states).tolist() == np.bincount(places, minlength=len(states)).tolist()
