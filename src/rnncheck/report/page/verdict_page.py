"""The report of a verification: one HTML file with everything in it; it queries no network."""

from __future__ import annotations

from rnncheck.report.automaton.graphviz import one_graphviz
from rnncheck.report.markup import shortened
from rnncheck.report.page import (
    cluster_section,
    comparison_section,
    fact_list,
    flow_panels,
    invariant_pictures,
    sections,
)
from rnncheck.report.page.embedded import embedded
from rnncheck.report.page.label_pairs import as_shown
from rnncheck.report.page.shell import page
from rnncheck.verdict.text import outcome_name
from rnncheck.verdict.value import Verdict

_SECTIONS = (
    ("meaning", "Meaning", sections.meaning),
    ("data", "On your data", sections.on_your_data),
    ("counterexample", "Counterexample", sections.counterexample),
    ("compared", "Two models", comparison_section.compared),
    ("flows", "Faulty flows", flow_panels.flows),
    ("mistakes", "Mistakes", cluster_section.mistakes),
    ("boxes", "Boxes", invariant_pictures.boxes),
    ("automata", "Automata", sections.automata),
    ("try", "Try a word", sections.try_a_word),
    ("rounds", "Rounds", sections.rounds),
    ("facts", "Facts", fact_list.facts),
)


def report_page(verdict: Verdict, *, date: str = "", document: str | None = None, ours: bool = False) -> str:
    """The page of a verdict; ``date`` is shown as given, and ``document`` is where the verdict was written.

    ``ours``: it is of this very run, so that the code which its command names may be named.
    """
    verdict = as_shown(verdict)
    origin = verdict.spec_facts.origin or "verification"
    with one_graphviz():
        parts = [(key, name, make(verdict)) for key, name, make in _SECTIONS]
    return page(
        f"{outcome_name(verdict)}: {shortened(origin, 60)} · rnncheck",
        sections.top(verdict, date),
        [*parts, ("repeat", "Repeat it", fact_list.repeat(verdict, document, ours=ours))],
        data=embedded(verdict),
        version=verdict.version,
    )
