"""Networks that exist already: one folder each, with their specifications beside them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from rnncheck.errors import InputError
from rnncheck.experiments.folder import LONGEST_SPEC, safe_name
from rnncheck.experiments.subjects import Subject
from rnncheck.models.files.released_folder import load_released
from rnncheck.spec import Spec


class ReleasedNetworks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The folders below ``folder`` that hold a network (``meta``, ``state_dict.pt``) and ``spec*.dot`` files."""

    folder: str

    def __post_init__(self) -> None:
        if not Path(self.folder).is_dir():
            raise InputError(f"{self.folder} is not a folder; give --models a folder with one folder a network")
        if not self.names():
            raise InputError(
                f"no folder below {self.folder} holds a network and its specifications (meta, state_dict.pt, spec*.dot)"
            )

    def names(self) -> Sequence[str]:
        return [safe_name(folder.name) for folder in self._folders()]

    def folder_of(self, name: str) -> Path:
        """The folder of a network."""
        return self._folders()[self.names().index(name)]

    def make(self, name: str, checkpoint: str | None) -> Subject:
        folder = self.folder_of(name)
        network = load_released(folder)
        specs = {name: Spec.from_file(file, network.alphabet).dfa for name, file in _specs(folder).items()}
        facts = {
            "letters": len(network.alphabet),
            "cell": network.cell.value,
            "hidden": network.layers[0].hidden,
            "layers": len(network.layers),
        }
        return Subject(network, specs, facts)

    def _folders(self) -> list[Path]:
        return [meta.parent for meta in sorted(Path(self.folder).glob("*/meta")) if _spec_files(meta.parent)]


def _specs(folder: Path) -> dict[str, Path]:
    """The specifications by name: the part in which their file names differ.

    There is no dash in a name, so that the name of a piece, NETWORK-SPEC-METHOD, can be read in one way only.
    """
    files = _spec_files(folder)
    short = [file.stem.removeprefix("spec_").removeprefix("second_") for file in files]
    names = short if len(set(short)) == len(files) and all(short) else [file.stem for file in files]
    plain = [safe_name(name, LONGEST_SPEC - 3).replace("-", "_") for name in names]
    if len(set(plain)) < len(plain):
        plain = [f"{number}_{name}" for number, name in enumerate(plain, 1)]
    return dict(zip(plain, files, strict=True))


def _spec_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("spec*.dot"))
