"""The report of a verification: one HTML file with everything in it, which asks nothing of any network."""

from __future__ import annotations

from rnncheck.report.markup import shortened
from rnncheck.report.page import compared, facts, flow_panels, mistakes, sections
from rnncheck.report.page.embedded import embedded
from rnncheck.report.page.label_pairs import as_shown
from rnncheck.report.page.shell import page
from rnncheck.verdict.value import Verdict

_SECTIONS = (
    ("meaning", "Meaning", sections.meaning),
    ("counterexample", "Counterexample", sections.counterexample),
    ("compared", "Two models", compared.compared),
    ("flows", "Faulty flows", flow_panels.flows),
    ("mistakes", "Mistakes", mistakes.mistakes),
    ("automata", "Automata", sections.automata),
    ("try", "Try a word", sections.try_a_word),
    ("rounds", "Rounds", sections.rounds),
    ("facts", "Facts", facts.facts),
    ("repeat", "Repeat it", facts.repeat),
)


def report_page(verdict: Verdict) -> str:
    """The page of a verdict."""
    verdict = as_shown(verdict)
    origin = verdict.spec_facts.origin or "verification"
    return page(
        f"{verdict.outcome.value}: {shortened(origin, 60)} · rnncheck",
        sections.top(verdict),
        [(key, name, make(verdict)) for key, name, make in _SECTIONS],
        data=embedded(verdict),
        version=verdict.version,
    )
