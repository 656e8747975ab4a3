"""Distributions of random words, and what a sample shows about all words."""
