"""A user's own functions that step a model: initial state, step and score, on states of any shape."""
