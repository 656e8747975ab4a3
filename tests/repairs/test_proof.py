"""What is tried to get a proof, and what is not."""

import pytest

pytest.importorskip("torch")

from rnncheck.automata.language import all_words
from rnncheck.relations import Property, Relation
from rnncheck.repairs.repair_proof import too_large
from rnncheck.words import Alphabet
from support.networks import random_network


@pytest.mark.parametrize(
    ("units", "letters", "reason"),
    [(8, 2, None), (201, 2, "201 units is too large"), (8, 61, "61 letters is too large")],
)
def test_what_is_too_large_to_train_for_a_proof(units: int, letters: int, reason: str | None) -> None:
    """Should say why, and refuse what is no single property."""
    alphabet = Alphabet([f"l{number}" for number in range(letters)])
    network = random_network(hidden=(units,), alphabet=alphabet)
    told = too_large(network, Property(all_words(alphabet), Relation.SUBSET))
    assert told is None if reason is None else told is not None and reason in told
    assert "cannot be combined into one" in str(too_large(network, None))
