"""Where things are: the project, its tests, and the data of others that may lie beside the checkout."""

from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
SHARED_DATA = ROOT.parent / "shared" / "data"
RELEASED = SHARED_DATA / "released"
