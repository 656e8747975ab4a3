"""The shortest mistake of every contact network of a run: what it means, and drawn on the contacts and along time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rnncheck.contacts import explain_path
from rnncheck.errors import RnncheckError
from rnncheck.experiments.contact_networks import contacts_of, is_strict
from rnncheck.experiments.run_results import RunResults
from rnncheck.report.contacts.contact_graph import contact_graph_svg
from rnncheck.report.contacts.timeline import timeline_svg


@dataclass(frozen=True)
class DrawnMeaning:
    """A sentence, and the pictures that belong to it."""

    sentence: str
    graph: str
    timeline: str


def drawn_meanings(run: RunResults) -> Iterator[DrawnMeaning]:
    """One for each network that has a counterexample and whose contacts are at hand."""
    for subject, facts in run.subjects.items():
        word = run.shortest_counterexample(subject)
        contacts = None if word is None else contacts_of(run.settings, subject)
        if word is None or contacts is None:
            continue
        strict = is_strict(run.settings)
        try:
            yield DrawnMeaning(
                f"{facts.get('case', subject)}: the network {explain_path(contacts, word, strict=strict)}.",
                contact_graph_svg(contacts, word, strict=strict),
                timeline_svg(contacts, word, strict=strict),
            )
        except RnncheckError:  # the file has changed since the run, and knows other people
            continue
