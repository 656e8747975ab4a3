"""How much "increasing" and "not decreasing" times differ: python benchmarks/strict_paths.py FILES.

For each file: of the time-respecting paths that the recipe draws for training (5 to 15 people), how many have times
that increase; how many of each sort the recipe finds when it is asked for two words a contact, at most 2 000.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from rnncheck.contacts import DatasetSettings, contact_dataset, read_contacts
from rnncheck.contacts.paths import respect_time
from rnncheck.errors import RnncheckError

_MOST = 2_000


def paths(file: str, *, strict: bool) -> str:
    """How many paths the recipe finds, and how many of these have increasing times."""
    network = read_contacts(file)
    wanted = min(2 * len(network), _MOST)
    try:
        words = contact_dataset(network, np.random.default_rng(0), DatasetSettings(train=wanted, strict=strict)).train
    except RnncheckError as error:
        return f"none: {error}"
    valid = words.words.take(words.valid)
    increasing = int(respect_time(network, valid, strict=True).sum())
    return f"{len(valid)} of {wanted // 2} wanted, {increasing} with increasing times"


if __name__ == "__main__":
    for file in sys.argv[1:]:
        print(Path(file).stem)
        print(f"  not decreasing: {paths(file, strict=False)}")
        print(f"  increasing: {paths(file, strict=True)}")
