"""A run's folder: its settings, and every finished piece, each written at once and as a whole.

    run.json                    the settings; a folder belongs to one run
    subjects/NAME.json          a network's specifications and facts; written last, so that it means "finished"
    subjects/NAME.safetensors   the network
    verdicts/NAME-SPEC-METHOD.json
    part/NAME.checkpoint        training that is still going on

A process that works in a folder holds a lock, which the operating system releases when the process ends.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from rnncheck.errors import FormatError, InputError, short_repr
from rnncheck.runtime import locks
from rnncheck.runtime.files import read_limited, remove_leftovers, write_atomically
from rnncheck.verdict.value import decode_part, encode_part, in_todays_schema
from rnncheck.version import __version__

Piece = TypeVar("Piece", bound=msgspec.Struct)

SCHEMA: Literal["rnncheck/run/1"] = "rnncheck/run/1"
_MANIFEST = "run.json"
_LOCK = "run.lock"
_SAFE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
_LONGEST_NETWORK, LONGEST_SPEC = 60, 24  # of the name of a piece, which also has a method and an ending


class _Version(msgspec.Struct):
    schema: str


class Manifest(msgspec.Struct, forbid_unknown_fields=True):
    """The question of a run. ``settings`` belong to the kind; ``version`` is the one that began the run.

    ``networks`` are the names of all subjects of the whole run, so that one which is still missing is known to be.
    """

    schema: Literal["rnncheck/run/1"]
    kind: str
    settings: dict[str, Any]
    version: str
    shard: str | None = None
    networks: tuple[str, ...] = ()


class RunFolder:
    """The pieces of one run."""

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self.path = path
        self.manifest = manifest

    @classmethod
    def existing(cls, path: str | os.PathLike[str]) -> RunFolder:
        """A folder that some run has begun."""
        folder = Path(path)
        file = folder / _MANIFEST
        if not _is_there(file):
            raise InputError(f"{folder} is not the folder of a run: there is no {_MANIFEST} in it")
        return cls(folder, _read_manifest(file))

    @classmethod
    def begun(
        cls,
        path: str | os.PathLike[str],
        kind: str,
        settings: dict[str, Any],
        shard: str | None,
        networks: Sequence[str] = (),
        version: str = __version__,
    ) -> RunFolder:
        """A new folder, or the folder of an earlier run with the same settings."""
        folder = Path(path)
        try:
            as_written = msgspec.json.decode(msgspec.json.encode(settings))
        except UnicodeEncodeError as error:
            raise InputError(f"{short_repr(error.object)} is not UTF-8 text; rename the file or folder") from None
        manifest = Manifest(SCHEMA, kind, as_written, version, shard, tuple(networks))
        file = folder / _MANIFEST
        if _is_there(file):
            earlier = _read_manifest(file)
            _check_same(folder, earlier, manifest)
            return cls(folder, earlier)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            remove_leftovers(folder)  # of a run that was killed when it wrote its manifest
            if any(entry.name != _LOCK for entry in folder.iterdir()):
                raise InputError(f"{folder} holds other files; give --out a new folder, or one of an earlier run")
        except (OSError, ValueError) as error:  # a null character is a ValueError
            raise InputError(f"{folder}: cannot be used: {getattr(error, 'strerror', None) or error}") from None
        write_atomically(file, msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n")
        return cls(folder, manifest)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder; a second run in it is an error."""
        try:
            handle = os.open(self.path / _LOCK, os.O_CREAT | os.O_RDWR, 0o666)
        except OSError as error:
            raise InputError(f"{self.path}: cannot be used: {error.strerror or error}") from None
        try:
            self._lock(handle)
            yield
        finally:
            os.close(handle)

    def _lock(self, handle: int) -> None:
        try:
            ours = locks.lock(handle)
        except OSError as error:
            raise InputError(
                f"{self.path}: cannot be locked: {error.strerror or error}; give --out a folder on a file system "
                "that knows locks"
            ) from None
        if not ours:
            raise InputError(f"another run is working in {self.path}; wait for its end, or give --out another folder")

    def place(self, name: str) -> Path:
        """The path of one of the folder's files, which never leads out of it."""
        if not all(_SAFE_NAME.fullmatch(part) for part in name.split("/")):
            raise InputError(f"{short_repr(name)} cannot be the name of a file in a run's folder")
        return self.path / name

    def has(self, name: str) -> bool:
        return self.place(name).exists()

    def write(self, name: str, content: bytes) -> None:
        """Write a piece, as a whole or not at all."""
        target = self.place(name)
        try:
            target.parent.mkdir(exist_ok=True)
        except OSError as error:
            raise InputError(f"{target.parent}: cannot be made: {error.strerror or error}") from None
        write_atomically(target, content)

    def write_json(self, name: str, piece: msgspec.Struct) -> None:
        self.write(name, msgspec.json.format(msgspec.json.encode(piece, enc_hook=encode_part), indent=1) + b"\n")

    def read_json(self, name: str, kind: type[Piece]) -> Piece:
        """A piece; one that does not read is named, with what to do."""
        path = self.place(name)
        try:
            document = in_todays_schema(msgspec.json.decode(read_limited(path, "verdict")))
            return msgspec.convert(document, kind, dec_hook=decode_part, str_keys=True)
        except OSError as error:
            raise FormatError(f"cannot be read: {error.strerror or error}", str(path)) from None
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            raise FormatError(
                f"this piece of the run is damaged ({error}); delete the file and run the same command again: "
                "only this piece is repeated",
                str(path),
            ) from None

    def names(self, part: str) -> list[str]:
        """The names of the finished pieces in one part of the folder, such as ``verdicts``."""
        return sorted(file.stem for file in (self.path / part).glob("*.json") if _SAFE_NAME.fullmatch(file.name))


def _is_there(file: Path) -> bool:
    try:
        return file.exists()
    except OSError as error:  # a name too long, a place that may not be looked at
        raise InputError(f"{file.parent}: cannot be used: {error.strerror or error}") from None


def _read_manifest(file: Path) -> Manifest:
    try:
        content = file.read_bytes()
        schema = msgspec.json.decode(content, type=_Version).schema
        if schema != SCHEMA:
            raise FormatError(
                f"the run was written as {short_repr(schema)}, and this version of rnncheck reads {SCHEMA}; "
                "use the version that began it, or another folder",
                str(file),
            )
        return msgspec.json.decode(content, type=Manifest)
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror or error}", str(file)) from None
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise FormatError(f"not a run's manifest: {error}", str(file)) from None


def safe_name(text: str, longest: int = _LONGEST_NETWORK) -> str:
    """A name for a subject that is fit for file names: the text itself where it can be, else one that is like it."""
    if _SAFE_NAME.fullmatch(text) and len(text) <= longest:
        return text
    like = re.sub(r"[^A-Za-z0-9_]+", "_", text)[: longest - 9] or "_"
    return f"{like}-{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def difference(earlier: Manifest, now: Manifest) -> tuple[str, object, object] | None:
    """The first setting in which two runs differ, with its two values; neither shard nor version count."""
    if earlier.kind != now.kind:
        return "kind", earlier.kind, now.kind
    before, requested = _flat(earlier.settings), _flat(now.settings)
    for name in sorted(before.keys() | requested.keys()):
        if before.get(name) != requested.get(name):
            return name, before.get(name), requested.get(name)
    if earlier.networks and now.networks and earlier.networks != now.networks:
        return "networks", _only_in(earlier, now), _only_in(now, earlier)
    return None


def _flat(settings: Mapping[str, Any]) -> dict[str, object]:
    """The settings of the source beside the others: these are the options that the user gave."""
    inner = settings.get("source")
    if not isinstance(inner, dict):
        return dict(settings)
    return {**inner, **{name: value for name, value in settings.items() if name != "source"}}


def _only_in(one: Manifest, other: Manifest) -> list[str]:
    return [name for name in one.networks if name not in other.networks]


def _check_same(folder: Path, earlier: Manifest, now: Manifest) -> None:
    if earlier.kind != now.kind:
        raise InputError(f"{folder} holds a run of the kind {earlier.kind}, not {now.kind}; give --out another folder")
    differs = difference(earlier, now)
    if differs is None and earlier.shard != now.shard:
        differs = "shard", earlier.shard, now.shard
    if differs is not None:
        name, before, requested = differs
        raise InputError(
            f"{folder} holds a run with {name} = {short_repr(before)}, and {short_repr(requested)} was given; repeat "
            "the same options to continue it, or give --out another folder"
        )
    if earlier.version != now.version:
        raise InputError(
            f"{folder} was begun by rnncheck {earlier.version} and this is {now.version}, whose results may differ; "
            "finish it with that version, or give --out another folder"
        )
