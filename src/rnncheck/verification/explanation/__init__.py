"""Explains a violation: shorter and further counterexamples, faulty flows, failure clusters, and severity."""
