"""The networks of an earlier run, with their specifications, for other questions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from rnncheck.errors import InputError
from rnncheck.experiments.folder import RunFolder
from rnncheck.experiments.released_networks import ReleasedNetworks
from rnncheck.experiments.subjects import Source, Subject, stored_subject


class EarlierRun(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a run has made so far; ``networks`` are found at the first use, and stay the same."""

    folder: str
    networks: tuple[str, ...]

    @classmethod
    def of(cls, folder: str) -> EarlierRun:
        run = RunFolder.existing(folder)
        names = tuple(name for name in run.manifest.networks if run.has(f"subjects/{name}.json"))
        if not names:
            raise InputError(
                f"the run in {folder} has no finished network yet; let it continue, or name another folder"
            )
        return cls(folder, names)

    def names(self) -> Sequence[str]:
        return self.networks

    def make(self, name: str, checkpoint: str | None) -> Subject:
        return stored_subject(RunFolder.existing(self.folder), name)


def networks_in(folder: str) -> Source:
    """The networks of a folder: of an earlier run, or one folder each."""
    return EarlierRun.of(folder) if (Path(folder) / "run.json").is_file() else ReleasedNetworks(folder)
