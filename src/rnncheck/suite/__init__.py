"""Property files, read and verified: every property of every model in one run, parallel and resumable, one result."""
