"""The rows of ``benchmarks/cliffs.py``, one file per subject; a file lists its rows as ``ROWS``."""
