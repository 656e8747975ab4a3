"""Contact sequences: does a network invent meetings that never took place?

The contacts are synthetic. A network is trained to accept sequences of people that follow contacts in the order of
time. Verification then looks for an accepted sequence in which two neighbours never met, and the script explains the
counterexample in words.

Run it with ``python examples/contact_sequences.py``. It takes a few seconds and needs the extra ``torch``.
"""

import numpy as np

import rnncheck
from rnncheck.contacts import (
    DatasetSettings,
    SyntheticSettings,
    contact_dataset,
    explain_path,
    graph_automaton,
    synthetic_contacts,
)
from rnncheck.training import LabelledWords, TrainingSettings, train_on_words


def main() -> None:
    rng = np.random.default_rng(0)
    contacts = synthetic_contacts(rng, SyntheticSettings(people=12, days=1, group_size=6))
    drawn = contact_dataset(contacts, rng, DatasetSettings(shortest=3, longest=8, train=2_000)).train
    print(f"{len(contacts.people)} people, {len(contacts)} contacts, {len(drawn)} sequences to learn from")

    trained = train_on_words(
        LabelledWords(drawn.alphabet, drawn.words, drawn.valid.astype(np.int64)),
        settings=TrainingSettings(cell=rnncheck.Cell.GRU, hidden=32, epochs=8, restarts=0),
    )
    print(f"the network is right about {trained.report.test_accuracy:.0%} of its test sequences")

    model = rnncheck.CompiledNetwork(trained.network)
    spec = rnncheck.Spec.from_dfa(graph_automaton(contacts), origin="every two neighbours met at some time")
    verdict = rnncheck.verify(model, spec, timeout=60)
    print(f"{spec.origin}: {verdict.outcome.value}")
    if verdict.counterexample is not None:
        print(f"  the network {explain_path(contacts, verdict.counterexample)}")


if __name__ == "__main__":
    main()
