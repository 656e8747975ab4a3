"""Robustness: is the answer the same for every word near a word? Exact, with the nearest word that changes it."""
