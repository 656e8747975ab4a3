"""Deterministic finite automata on integer tables, and the languages that compile to them."""
