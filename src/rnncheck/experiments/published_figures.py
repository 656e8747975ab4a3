"""The figures that the paper reports, to be shown beside ours.

From "Property-Directed Verification of Recurrent Neural Networks" (Khmelnitsky et al., 2020), Tables 1 and 2: 30
networks and 138 specifications, ε = γ = 5·10⁻⁴, time-out 600 s, on a machine with graphics cards.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RandomRow:
    """A row of the paper's Table 1."""

    instances: int
    mistakes: int
    average_seconds: float
    average_length: float
    average_queries: float
    average_states: float | None = None
    with_flows: int | None = None


RANDOM = {
    "smc": RandomRow(138, 122, 92, 111, 286_063),
    "aamc": RandomRow(138, 30, 444, 7, 3_701_916, average_states=319),
    "pdv": RandomRow(138, 109, 21, 11, 28_318, average_states=26, with_flows=81),
}


@dataclass(frozen=True)
class ContactsCell:
    """A case and a method of the paper's Table 2: a counterexample's length, extracted states, seconds."""

    length: int
    states: int | None
    seconds: float


CONTACTS = {
    "Across Kenyan Household": {
        "smc": ContactsCell(3, None, 0.3),
        "aamc": ContactsCell(2, 328, 624.76),
        "pdv": ContactsCell(2, 2, 0.22),
    },
    "Workplace": {
        "smc": ContactsCell(2, None, 0.23),
        "aamc": ContactsCell(2, 111, 604.99),
        "pdv": ContactsCell(2, 2, 0.77),
    },
    "Highschool 2011": {
        "smc": ContactsCell(5, None, 0.33),
        "aamc": ContactsCell(2, 91, 627.30),
        "pdv": ContactsCell(2, 2, 0.19),
    },
    "Hospital": {
        "smc": ContactsCell(7, None, 0.24),
        "aamc": ContactsCell(2, 36, 614.76),
        "pdv": ContactsCell(2, 2, 0.006),
    },
    "Within Kenyan Household": {
        "smc": ContactsCell(2, None, 0.28),
        "aamc": ContactsCell(2, 178, 620.30),
        "pdv": ContactsCell(2, 2, 0.27),
    },
    "Conference": {
        "smc": ContactsCell(71, None, 1.51),
        "aamc": ContactsCell(2, 38, 876.19),
        "pdv": ContactsCell(2, 2, 0.33),
    },
    "Workplace 2015": {
        "smc": ContactsCell(3, None, 0.48),
        "aamc": ContactsCell(2, 87, 621.44),
        "pdv": ContactsCell(2, 2, 1.11),
    },
}
