"""Automata as pictures."""
