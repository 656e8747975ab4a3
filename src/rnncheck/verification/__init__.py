"""The three algorithms of the paper, and one that combines them, behind one ``verify``."""
