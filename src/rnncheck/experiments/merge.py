"""Several shards of one run put together."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from rnncheck.errors import InputError, short_repr
from rnncheck.experiments.folder import RunFolder, difference
from rnncheck.experiments.runner import VerdictPiece
from rnncheck.experiments.subjects import store_subject, stored_subject


def merge(shards: Sequence[str | os.PathLike[str]], out: str | os.PathLike[str]) -> RunFolder:
    """A folder with the pieces of all shards, which must have the same settings; unfinished ones are allowed."""
    folders = [RunFolder.existing(shard) for shard in shards]
    if any(folder.path.resolve() == Path(out).resolve() for folder in folders):
        raise InputError(f"{out} is one of the shards; give --out a folder of its own")
    first = folders[0].manifest
    for folder in folders:
        differs = difference(first, folder.manifest)
        if differs is not None:
            name, ours, theirs = differs
            raise InputError(
                f"{folders[0].path} and {folder.path} have different settings, {name} = {short_repr(ours)} and "
                f"{short_repr(theirs)}; merge the shards of one run"
            )
        if folder.manifest.version != first.version:
            raise InputError(
                f"{folders[0].path} was made by rnncheck {short_repr(first.version)} and {folder.path} by "
                f"{short_repr(folder.manifest.version)}, whose results may differ; make all shards with one version"
            )
    merged = RunFolder.begun(out, first.kind, first.settings, None, first.networks, first.version)
    with merged.locked():
        for folder in folders:
            for name in folder.names("subjects"):
                if not merged.has(f"subjects/{name}.json"):
                    store_subject(merged, name, stored_subject(folder, name))
            for name in folder.names("verdicts"):
                if not merged.has(f"verdicts/{name}.json"):
                    merged.write_json(f"verdicts/{name}.json", folder.read_json(f"verdicts/{name}.json", VerdictPiece))
    return merged
