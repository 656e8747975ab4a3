"""Models, which accept or reject words: networks, callables, automata."""
