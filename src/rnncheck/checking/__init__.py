"""Property files, verified: every property of every model in one run, shared out, resumable, with one result."""
