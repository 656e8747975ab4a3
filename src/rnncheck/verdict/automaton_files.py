"""Large automata of a verdict, each in its own file beside the document, which has the file's name and digest."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from rnncheck.automata.dfa import DFA
from rnncheck.automata.formats.dfa_json import write_json
from rnncheck.errors import FormatError, short_repr, visible
from rnncheck.runtime.files import read_limited

LARGEST_INSIDE = 10_000  # states
_SCHEMA: Final = "rnncheck/automaton-file/1"


class AutomatonFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Stands in a document for an automaton in a file beside it, with the file's digest."""

    schema: Literal["rnncheck/automaton-file/1"]
    file: str
    sha256: str
    states: int


def in_file(dfa: DFA, document: Path) -> tuple[AutomatonFile, str]:
    """The entry for an automaton in the document of this name, and the text of the automaton's file.

    The file name contains a part of the digest, so that no other file is overwritten.
    """
    text = write_json(dfa)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return AutomatonFile(_SCHEMA, f"{document.stem}.automaton-{digest[:12]}.json", digest, len(dfa)), text


def read_document(text: str | bytes, source: str, folder: Path | None) -> Any:
    """The parts of a verdict's document, with the automata from files in its folder."""
    try:
        return _put_back(msgspec.json.decode(text), source, folder)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise FormatError(f"not a verdict: {visible(str(error))}", source) from None


def _put_back(part: Any, source: str, folder: Path | None) -> Any:
    if isinstance(part, list):
        return [_put_back(each, source, folder) for each in part]
    if not isinstance(part, dict):
        return part
    if part.get("schema") == _SCHEMA:
        return _read(msgspec.convert(part, AutomatonFile), source, folder)
    return {name: _put_back(each, source, folder) for name, each in part.items()}


def _read(named: AutomatonFile, source: str, folder: Path | None) -> Any:
    """The content of the file, which must be unchanged since it was written with the document."""
    what = f"{short_repr(named.file)}, its automaton of {named.states} states,"
    if folder is None:
        raise FormatError(f"{what} is a file beside the document; give folder=, where both are", source)
    if Path(named.file).name != named.file:
        raise FormatError(f"{what} is not the name of a file beside the document; give a document of verify", source)
    try:
        content = read_limited(folder / named.file, "automaton")
    except (OSError, ValueError) as error:
        cause = getattr(error, "strerror", None) or error
        raise FormatError(
            f"{what} cannot be read beside the document ({cause}); put the file there that was written with the "
            "document, or verify again with --json",
            source,
        ) from None
    digest = hashlib.sha256(content).hexdigest()
    if digest != named.sha256:
        raise FormatError(
            f"{what} was changed since the document was written: its sha256 is {digest}, the document has "
            f"{short_repr(named.sha256)}; put the original back, or verify again with --json",
            source,
        )
    return msgspec.json.decode(content)
