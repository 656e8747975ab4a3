"""LTLf and LDLf formulas, and patterns of them by name, compiled to automata."""
