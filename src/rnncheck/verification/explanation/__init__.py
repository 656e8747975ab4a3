"""What stands around the search for violations: shorter and other counterexamples, their causes, and severity."""
