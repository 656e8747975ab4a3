"""Robustness: is the answer the same for every word near a word? Exactly, with the nearest word that flips it."""
