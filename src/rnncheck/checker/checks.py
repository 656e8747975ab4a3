"""The results of a replay: one check for each claim of a document."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Status(enum.Enum):
    """The result of checking one claim.

    ``OPEN`` claims matter and could not be decided, so the whole cannot be confirmed. ``UNCHECKED`` claims do not
    affect what the verdict says about the model; they are listed so that nobody relies on them.
    """

    CONFIRMED = "confirmed"
    REFUTED = "REFUTED"
    OPEN = "undecided"
    UNCHECKED = "not checked"

    @property
    def exit_code(self) -> int:
        """The exit code of a replay with this result."""
        return {Status.CONFIRMED: 0, Status.REFUTED: 1, Status.OPEN: 3}[self]


# A claim is refuted where the observation would be less probable than this if the claim were true.
SURPRISE = 1e-7
SAMPLE_SIZE = "sample size"  # the one number that fewer words than the verification's cannot confirm


@dataclass(frozen=True)
class Check:
    """One claim: its name, the result, and what was observed (or why nothing was)."""

    name: str
    status: Status
    seen: str

    @property
    def holds(self) -> bool:
        """Whether the claim was checked and is right."""
        return self.status is Status.CONFIRMED


@dataclass(frozen=True)
class Replay:
    """All checks of one document."""

    checks: tuple[Check, ...]
    document: str = "verdict"  # its kind, for messages

    @property
    def status(self) -> Status:
        """Refuted if any claim is refuted, else open if any claim is open, else confirmed."""
        found = {check.status for check in self.checks}
        return next((status for status in (Status.REFUTED, Status.OPEN) if status in found), Status.CONFIRMED)

    @property
    def exit_code(self) -> int:
        return self.status.exit_code

    def having(self, status: Status) -> tuple[Check, ...]:
        """The checks that ended this way."""
        return tuple(check for check in self.checks if check.status is status)

    def sentence(self) -> str:
        """The result in words."""
        wrong, still_open = len(self.having(Status.REFUTED)), len(self.having(Status.OPEN))
        if wrong:
            return f"the {self.document} does not stand; claims that are wrong: {wrong}"
        if still_open:
            return f"the {self.document} is open; claims that matter and could not be checked: {still_open}"
        claimed = "".join(f"; {check.name} not checked" for check in self.checks if check.name == SAMPLE_SIZE)
        held = len(self.having(Status.CONFIRMED))
        return f"the {self.document} stands; claims that were checked and hold: {held}{claimed}"


def confirmed(name: str, seen: str) -> Check:
    return Check(name, Status.CONFIRMED, seen)


def refuted(name: str, seen: str) -> Check:
    return Check(name, Status.REFUTED, seen)


def left_open(name: str, why: str) -> Check:
    return Check(name, Status.OPEN, why)


def unchecked(name: str, why: str) -> Check:
    return Check(name, Status.UNCHECKED, why)


def confirmed_if(name: str, holds: bool, seen: str) -> Check:
    return Check(name, Status.CONFIRMED if holds else Status.REFUTED, seen)
