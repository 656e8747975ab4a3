"""Roads from a network to a small automaton that stands for it, and ways to say how far to trust the result."""
