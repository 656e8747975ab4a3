"""Automata as files, and as the objects of other libraries."""
