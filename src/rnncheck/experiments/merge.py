"""Several shards of one run put together."""

from __future__ import annotations

import os
from collections.abc import Sequence

from rnncheck.errors import InputError
from rnncheck.experiments.folder import RunFolder
from rnncheck.experiments.runner import VerdictPiece
from rnncheck.experiments.subjects import store_subject, stored_subject


def merge(shards: Sequence[str | os.PathLike[str]], out: str | os.PathLike[str]) -> RunFolder:
    """A folder with the pieces of all shards, which must have been asked for the same; unfinished ones are welcome."""
    folders = [RunFolder.existing(shard) for shard in shards]
    first = folders[0].manifest
    for folder in folders[1:]:
        if (folder.manifest.kind, folder.manifest.settings) != (first.kind, first.settings):
            raise InputError(
                f"{folder.path} and {folders[0].path} were asked for different things; merge like with like"
            )
    merged = RunFolder.begun(out, first.kind, first.settings, None)
    with merged.locked():
        for folder in folders:
            for name in folder.names("subjects"):
                if not merged.has(f"subjects/{name}.json"):
                    store_subject(merged, name, stored_subject(folder, name))
            for name in folder.names("verdicts"):
                if not merged.has(f"verdicts/{name}.json"):
                    merged.write_json(f"verdicts/{name}.json", folder.read_json(f"verdicts/{name}.json", VerdictPiece))
    return merged
