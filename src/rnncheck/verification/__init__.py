"""The three algorithms of the paper, one that combines them and one that learns the violations, behind ``verify``."""
