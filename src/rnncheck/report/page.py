"""The report of a verification: one HTML file with everything in it, which asks nothing of any network."""

from __future__ import annotations

from rnncheck.report import facts_section, flow_section, mistakes_section, sections
from rnncheck.report.embedded import embedded
from rnncheck.report.label_question import as_shown
from rnncheck.report.markup import shortened
from rnncheck.report.shell import page
from rnncheck.verdict import Verdict

_SECTIONS = (
    ("meaning", "Meaning", sections.meaning),
    ("counterexample", "Counterexample", sections.counterexample),
    ("flows", "Faulty flows", flow_section.flows),
    ("mistakes", "Mistakes", mistakes_section.mistakes),
    ("automata", "Automata", sections.automata),
    ("try", "Try a word", sections.try_a_word),
    ("rounds", "Rounds", sections.rounds),
    ("facts", "Facts", facts_section.facts),
    ("repeat", "Repeat it", facts_section.repeat),
)


def report_page(verdict: Verdict) -> str:
    """The page of a verdict."""
    verdict = as_shown(verdict)
    origin = str(verdict.spec_facts.get("origin", "")) or "verification"
    return page(
        f"{verdict.outcome.value}: {shortened(origin, 60)} · rnncheck",
        sections.top(verdict),
        [(key, name, make(verdict)) for key, name, make in _SECTIONS],
        data=embedded(verdict),
        version=verdict.version,
    )
