"""Several shards of one run put together."""

from __future__ import annotations

import os
from collections.abc import Sequence

from rnncheck.errors import InputError, shown
from rnncheck.experiments.folder import RunFolder, difference
from rnncheck.experiments.runner import VerdictPiece
from rnncheck.experiments.subjects import store_subject, stored_subject
from rnncheck.version import __version__


def merge(shards: Sequence[str | os.PathLike[str]], out: str | os.PathLike[str]) -> RunFolder:
    """A folder with the pieces of all shards, which must have been asked for the same; unfinished ones are welcome."""
    folders = [RunFolder.existing(shard) for shard in shards]
    first = folders[0].manifest
    for folder in folders:
        differs = difference(first, folder.manifest)
        if differs is not None:
            name, ours, theirs = differs
            raise InputError(
                f"{folders[0].path} and {folder.path} were asked for different things, {name} = {shown(ours)} and "
                f"{shown(theirs)}; merge the shards of one run"
            )
        if folder.manifest.version != __version__:
            raise InputError(
                f"{folder.path} was made by rnncheck {folder.manifest.version} and this is {__version__}, whose "
                "results may differ; merge with that version"
            )
    merged = RunFolder.begun(out, first.kind, first.settings, None, first.networks)
    with merged.locked():
        for folder in folders:
            for name in folder.names("subjects"):
                if not merged.has(f"subjects/{name}.json"):
                    store_subject(merged, name, stored_subject(folder, name))
            for name in folder.names("verdicts"):
                if not merged.has(f"verdicts/{name}.json"):
                    merged.write_json(f"verdicts/{name}.json", folder.read_json(f"verdicts/{name}.json", VerdictPiece))
    return merged
