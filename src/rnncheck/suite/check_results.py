"""The result of a property file: one check for each property and model, and the outcome of the whole run."""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from rnncheck.errors import FormatError, InputError, visible
from rnncheck.runtime.budget import INTERRUPTED
from rnncheck.suite.property_file import ModelEntry, PropertyEntry, Severity
from rnncheck.verdict.text import outcome_name
from rnncheck.verdict.value import AnyVerdict, check_parts, decode_part, encode_part, in_todays_schema
from rnncheck.words import format_word

OutcomeName = Literal["satisfied", "violated", "undecided", "error"]
_WORST_FIRST: tuple[tuple[OutcomeName, int], ...] = (("error", 2), ("violated", 1), ("undecided", 3))


class Check(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"name": "property"}):
    """One property of one model: its verdict, or the ``error`` that kept it from having one.

    Without either it was not begun when the run was interrupted.
    """

    model: str
    name: str  # of the property
    kind: str
    text: str
    source: str
    description: str = ""
    severity: Severity = Severity.ERROR
    allow_undecided: bool = False
    tags: tuple[str, ...] = ()
    line: int = 0
    verdict: AnyVerdict | None = None
    error: str | None = None
    fingerprint: str | None = None  # of everything that the verdict depends on; None where the model has no digest

    @classmethod
    def of(
        cls,
        model: ModelEntry,
        one: PropertyEntry,
        *,
        verdict: AnyVerdict | None = None,
        error: str | None = None,
        fingerprint: str | None = None,
    ) -> Check:
        """The check of a property of a model."""
        return cls(
            model=model.name,
            name=one.name,
            kind=one.kind,
            text=one.whole_text,
            source=model.source,
            description=one.description,
            severity=one.severity,
            allow_undecided=one.allow_undecided,
            tags=one.tags,
            line=one.line,
            verdict=verdict,
            error=error,
            fingerprint=fingerprint,
        )

    @property
    def outcome_name(self) -> str:
        """The outcome, and what "satisfied" rests on."""
        weak = self.verdict is not None and self.verdict.shortfall is not None
        return self.outcome if self.verdict is None or weak else outcome_name(self.verdict)

    @property
    def outcome(self) -> OutcomeName:
        if self.verdict is None:
            return "undecided" if self.error is None else "error"
        return self.verdict.outcome.value if self.verdict.shortfall is None else "undecided"

    @property
    def error_probability(self) -> float:
        """The γ of a verdict that is satisfied by a sample; 0 for any other."""
        if self.verdict is None or self.verdict.guarantee is None or self.outcome != "satisfied":
            return 0.0
        return self.verdict.guarantee.error_probability

    @property
    def allowed(self) -> bool:
        """Whether the run passes with it: it is satisfied, or not severe.

        An error never is, nor a check that was not begun or was interrupted: no setting allows these.
        """
        if self.verdict is None or self.verdict.reason == INTERRUPTED:
            return False
        if self.outcome == "satisfied":
            return True
        return self.severity is not Severity.ERROR or (self.outcome == "undecided" and self.allow_undecided)

    def sentence(self) -> str:
        """The outcome, in one line without capital and full stop."""
        if self.verdict is None:
            return self.error or "not begun: the run was interrupted"
        if self.verdict.counterexample is not None:
            return f"counterexample: {format_word(self.verdict.counterexample)}"
        return self.verdict.shortfall or self.verdict.reason


class SuiteResult(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All checks of a run, model after model in the order of the file."""

    schema: Literal["rnncheck/check/1"] = "rnncheck/check/1"
    suite: str
    title: str = ""
    checks: tuple[Check, ...]
    seconds: float
    notes: tuple[str, ...] = ()  # what went wrong beside the checks
    version: str = ""
    joint_confidence: float | None = None  # that all statistical verdicts are right together; None with fewer than two

    def __post_init__(self) -> None:
        # The union bound, which needs no independence: the verdicts may share models and words.
        found = self._error_probabilities
        joint = max(0.0, 1.0 - math.fsum(found)) if len(found) > 1 else None
        msgspec.structs.force_setattr(self, "joint_confidence", joint)

    @property
    def _error_probabilities(self) -> list[float]:
        return [check.error_probability for check in self.checks if check.error_probability > 0.0]

    @property
    def passed(self) -> bool:
        """Whether every outcome is satisfied or allowed."""
        return self.exit_code == 0

    @property
    def exit_code(self) -> int:
        """The worst that is not allowed: 2 an error, 1 violated, 3 undecided; 0 where there is nothing."""
        found = {check.outcome for check in self.checks if not check.allowed}
        return next((code for outcome, code in _WORST_FIRST if outcome in found), 0)

    def count(self, outcome: OutcomeName) -> int:
        """The number of checks with this outcome."""
        return sum(check.outcome == outcome for check in self.checks)

    def summary(self) -> str:
        """The number of checks by outcome, in one line."""
        counts = [self._counted(name) for name in ("violated", "undecided", "error", "satisfied")]
        models = len({check.model for check in self.checks})
        names = len({check.name for check in self.checks})
        shown = ", ".join(text for text in counts if not text.startswith("0 "))
        return f"{_counted(names, 'property', 'properties')} of {_counted(models, 'model', 'models')}: {shown}"

    def joint_sentence(self) -> str | None:
        """What holds of all statistical verdicts together, without capital and full stop; None with fewer than two."""
        if self.joint_confidence is None:
            return None
        found = self._error_probabilities
        if not self.joint_confidence:
            return f"the {len(found)} statistical verdicts have no joint confidence: the sum of their γ is not below 1"
        same = f" at γ = {found[0]:.3g} each" if len(set(found)) == 1 else ""
        return (
            f"the {len(found)} statistical verdicts{same} are all right with confidence at least "
            f"{self.joint_confidence:.6g} (1 − the sum of their γ)"
        )

    def _counted(self, outcome: OutcomeName) -> str:
        """The number of checks with this outcome, and how many of these are allowed."""
        allowed = sum(check.allowed for check in self.checks if check.outcome == outcome != "satisfied")
        return f"{self.count(outcome)} {outcome}" + (f" ({allowed} of these allowed)" if allowed else "")

    def to_json(self) -> str:
        """The JSON document (schema ``rnncheck/check/1``), indented."""
        return msgspec.json.format(msgspec.json.encode(self, enc_hook=encode_part), indent=2).decode() + "\n"

    @classmethod
    def from_json(cls, text: str | bytes, source: str = "result") -> SuiteResult:
        """The result in a JSON document; ``source`` names it in errors."""
        try:
            result = msgspec.convert(in_todays_schema(msgspec.json.decode(text)), cls, dec_hook=decode_part)
            for check in result.checks:
                if check.verdict is not None:
                    check_parts(check.verdict)
            return result
        except InputError as error:
            raise FormatError(f"not the result of a check: {error}", source) from None
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            raise FormatError(f"not the result of a check: {visible(str(error))}", source) from None


def _counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
