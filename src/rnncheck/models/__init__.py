"""Things that say yes or no to a word: networks, callables, automata."""
