"""Contact sequences as pictures."""
