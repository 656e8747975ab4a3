"""The rows of ``benchmarks/cliffs.py``, one file per subject: ``ROWS``, and curves of growth, ``CURVES``."""
