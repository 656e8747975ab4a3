"""From a model to an automaton that stands for it."""
