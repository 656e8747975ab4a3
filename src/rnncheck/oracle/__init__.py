"""Membership queries: batched, remembered, counted, and within a budget."""

from rnncheck.oracle.membership import DEFAULT_MEMORY, Cost, Oracle, Query

__all__ = ["DEFAULT_MEMORY", "Cost", "Oracle", "Query"]
