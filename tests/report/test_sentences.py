"""Every sentence about a verdict, as it is printed: compared with ``sentences.txt``, which ``make accept`` writes anew.

The verdicts are documents of every kind, so that no network is queried and no number depends on the machine.
"""

from pathlib import Path

import msgspec
import pytest

from rnncheck import Strength, Verdict
from rnncheck.cli.output import Line
from rnncheck.cli.verdict_text import verdict_lines
from rnncheck.report.checks.check_sentences import check_lines
from rnncheck.suite.check_results import Check
from rnncheck.verdict import text

DOCUMENTS = Path(__file__).parent.parent / "checker" / "documents_1"
KEPT = Path(__file__).parent / "sentences.txt"


def verdicts() -> dict[str, Verdict]:
    read: dict[str, Verdict] = {
        path.stem: Verdict.from_json(path.read_bytes()) for path in sorted(DOCUMENTS.glob("*.json"))
    }
    proved = read["proved"]
    scope = msgspec.structs.replace(proved.scope, covers_reference=False)
    read["proved of read weights"] = msgspec.structs.replace(proved, scope=scope, required=Strength.PROVED)
    read["too weak"] = msgspec.structs.replace(read["statistical"], required=Strength.BOUNDED)
    return read


def sentences(verdict: Verdict) -> list[str]:
    """All that is shown of a verdict, except numbers and pictures of the page."""
    lines = [line if isinstance(line, str) else f"{line.lead}{line.text}" for line in verdict_lines(verdict)]
    check = Check(model="m", name="p", kind="ltlf", text="F a", source="m.safetensors", verdict=verdict)
    parts = {
        "terminal": lines,
        "page": [f"{text.capital(text.headline(verdict))}.", text.question(verdict), text.formula(verdict)],
        "it means": text.meaning(verdict),
        "it does not mean": text.limits(verdict),
        "JUnit and SARIF": check_lines(check),
        "repr": [repr(verdict)],
        "matrix": [f"{text.SIGNS[check.outcome_name]} {check.outcome_name} ({check.outcome})"],
    }
    return [f"  {name}: {line}" for name, part in parts.items() for line in part]


def test_the_sentences_are_those_that_were_accepted(request: pytest.FixtureRequest) -> None:
    """Should differ from what is kept only where the difference was read and accepted."""
    found = "\n".join(line for name, verdict in verdicts().items() for line in (f"# {name}", *sentences(verdict), ""))
    if request.config.getoption("--accept"):
        KEPT.write_text(found, encoding="utf-8")
    assert found == KEPT.read_text(encoding="utf-8"), "if the new sentences are right: make accept"


def test_a_line_of_the_terminal_has_its_colour() -> None:
    first = verdict_lines(verdicts()["statistical"])[0]
    assert isinstance(first, Line)
    assert first.lead == "○ NONE FOUND"
    assert first.colour == "green"
