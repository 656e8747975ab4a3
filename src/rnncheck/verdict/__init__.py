"""The result of a verification: the value, its sentences, its JSON document, and certificates of proofs."""
