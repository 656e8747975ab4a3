"""What an experiment verifies: networks, each with its specifications, and where they come from."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import msgspec

from rnncheck.automata.dfa import DFA
from rnncheck.automata.formats.dfa_json import read_json, write_json
from rnncheck.errors import FormatError
from rnncheck.experiments.folder import RunFolder
from rnncheck.models.files.safetensors_file import load_network, save_network
from rnncheck.models.network import RecurrentNetwork

Recipe = Literal["ours", "paper"]  # how networks are trained: as we would, or as for the paper


@dataclass(frozen=True)
class Subject:
    """A network, the specifications to check it against, and what is worth knowing of both."""

    network: RecurrentNetwork
    specs: Mapping[str, DFA]
    facts: Mapping[str, object] = field(default_factory=dict)


class Source(Protocol):
    """Makes the subjects of a run. It is sent to workers, so it holds plain values only."""

    def names(self) -> Sequence[str]:
        """One name a subject, fit for a file name."""
        ...

    def make(self, name: str, checkpoint: str | None) -> Subject:
        """The subject; training resumes from ``checkpoint`` if that file exists, and keeps it up to date."""
        ...


class _Document(msgspec.Struct, forbid_unknown_fields=True):
    schema: Literal["rnncheck/subject/1"]
    name: str
    network_sha256: str
    facts: dict[str, Any]
    specs: dict[str, dict[str, Any]]


def store_subject(folder: RunFolder, name: str, subject: Subject) -> None:
    """Keep a subject: the network first, the document that makes it count last."""
    weights = folder.place(f"subjects/{name}.safetensors")
    weights.parent.mkdir(exist_ok=True)
    save_network(subject.network, weights)
    document = _Document(
        schema="rnncheck/subject/1",
        name=name,
        network_sha256=_sha256(weights.read_bytes()),
        facts=dict(subject.facts),
        specs={spec: msgspec.json.decode(write_json(dfa)) for spec, dfa in subject.specs.items()},
    )
    folder.write_json(f"subjects/{name}.json", document)


def stored_subject(folder: RunFolder, name: str) -> Subject:
    """A finished subject; one whose network is not the one that was stored is an error."""
    file = f"subjects/{name}.json"
    document = folder.read_json(file, _Document)
    weights = folder.place(f"subjects/{name}.safetensors")
    try:
        intact = _sha256(weights.read_bytes()) == document.network_sha256
    except OSError:
        intact = False
    if not intact:
        raise FormatError(
            f"the network is missing or damaged; delete {folder.place(file)} and run the same command again: this "
            "network is trained again",
            str(weights),
        )
    return Subject(load_network(weights), _specs(folder, file, document), document.facts)


def stored_facts(folder: RunFolder, name: str) -> tuple[Mapping[str, object], list[str]]:
    """What is known of a finished subject, and the names of its specifications, without loading the network."""
    document = folder.read_json(f"subjects/{name}.json", _Document)
    return document.facts, list(document.specs)


def _specs(folder: RunFolder, file: str, document: _Document) -> dict[str, DFA]:
    source = str(folder.place(file))
    return {name: read_json(msgspec.json.encode(part), source=source) for name, part in document.specs.items()}


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
