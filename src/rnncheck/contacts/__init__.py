"""Temporal networks of human contacts: reading them, their time-respecting paths, data sets and specifications.

Reading order: ``temporal`` (the value), ``columns`` and ``reading`` (files), ``paths`` (what is a time-respecting
path), ``specification`` (automata), ``walks`` and ``dataset`` (labelled words), ``synthetic`` (made-up data).
"""

from rnncheck.contacts.columns import parse_columns
from rnncheck.contacts.contact_files import read_contacts, write_contacts
from rnncheck.contacts.dataset import BreakKind, ContactDataset, ContactWords, DatasetSettings, contact_dataset
from rnncheck.contacts.paths import (
    BrokenStep,
    PathCheck,
    Reason,
    broken_pairs,
    check_path,
    explain_path,
    respect_time,
)
from rnncheck.contacts.specification import graph_automaton, spaced_automaton, time_automaton
from rnncheck.contacts.synthetic import SyntheticSettings, synthetic_contacts
from rnncheck.contacts.temporal import TemporalNetwork

__all__ = [
    "BreakKind",
    "BrokenStep",
    "ContactDataset",
    "ContactWords",
    "DatasetSettings",
    "PathCheck",
    "Reason",
    "SyntheticSettings",
    "TemporalNetwork",
    "broken_pairs",
    "check_path",
    "contact_dataset",
    "explain_path",
    "graph_automaton",
    "parse_columns",
    "read_contacts",
    "respect_time",
    "spaced_automaton",
    "synthetic_contacts",
    "time_automaton",
    "write_contacts",
]
