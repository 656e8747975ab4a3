"""Proofs for words of any length: boxes of network states that no step leaves, and in which every answer is correct."""
