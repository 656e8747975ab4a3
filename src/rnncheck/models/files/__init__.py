"""Model files of every kind. Loading never runs anything that is in a file."""
