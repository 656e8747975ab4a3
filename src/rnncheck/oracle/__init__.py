"""Membership queries: batched, cached, counted, and within a budget."""

from rnncheck.oracle.counters import Cost
from rnncheck.oracle.membership import DEFAULT_MEMORY, MembershipOracle, Query
from rnncheck.oracle.stepper import Stepper

__all__ = ["DEFAULT_MEMORY", "Cost", "MembershipOracle", "Query", "Stepper"]
