"""The paper's released networks: what must be found, and how short. Skipped where the data is absent."""

from pathlib import Path

import pytest

import rnncheck
from rnncheck.checker import replay
from rnncheck.words import WordBatch
from support.paths import RELEASED

RANDOM = sorted(RELEASED.glob("random/*/spec_*.dot"))
CONTACTS = sorted(RELEASED.glob("contacts/*/spec_*.dot"))

# Where a violation is longer than this, the guided search has become worse.
LONGEST = 17

needs_data = pytest.mark.skipif(not RANDOM, reason=f"the released networks are not in {RELEASED}")


def name(path: Path) -> str:
    return f"{path.parent.name}-{path.stem}"


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize("path", RANDOM, ids=name)
def test_every_random_network_is_found_to_violate_its_specification(path: Path) -> None:
    model = rnncheck.load_model(path.parent)
    verdict = rnncheck.verify(model, rnncheck.Spec.from_file(path), timeout=60)
    assert verdict.violated, verdict
    assert len(verdict.counterexample) <= LONGEST
    evidence = replay(verdict.to_json(), model)
    assert evidence.exit_code == 0, evidence.sentence()


@needs_data
@pytest.mark.parametrize("method", ["auto", "pdv"])
@pytest.mark.parametrize("path", CONTACTS, ids=name)
def test_contact_networks_invent_contacts_of_two_people(path: Path, method: str) -> None:
    model = rnncheck.load_model(path.parent)
    verdict = rnncheck.verify(model, rnncheck.Spec.from_file(path), method=method, timeout=60)
    assert verdict.violated, verdict
    assert len(verdict.counterexample) <= 2


@needs_data
def test_a_faulty_flow_that_the_authors_published_is_one_here() -> None:
    """Their results of faulty flows have (a d d c d a)ⁿ e e d of the third specification, for n from 1 to 99."""
    folder = RELEASED / "random" / "jun03-13"
    model, spec = rnncheck.load_model(folder), rnncheck.Spec.from_file(folder / "spec_second_3.dot")
    words = WordBatch.from_words(model.alphabet, [list("addcda" * n + "eed") for n in range(1, 100)])
    assert model.accepts_batch(words).all()
    assert not spec.dfa.accepts_batch(words).any()
