"""Networks that exist already: one folder each, with their specifications beside them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from rnncheck.errors import InputError
from rnncheck.experiments.subjects import Subject
from rnncheck.models.released import load_released
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
        return [meta.parent.name for meta in sorted(Path(self.folder).glob("*/meta")) if _spec_files(meta.parent)]

    def make(self, name: str, checkpoint: str | None) -> Subject:
        folder = Path(self.folder) / name
        network = load_released(folder)
        specs = {
            file.stem.removeprefix("spec_").removeprefix("second_"): Spec.from_file(file, network.alphabet).dfa
            for file in _spec_files(folder)
        }
        facts = {
            "letters": len(network.alphabet),
            "cell": network.cell.value,
            "hidden": network.layers[0].hidden,
            "layers": len(network.layers),
        }
        return Subject(network, specs, facts)


def _spec_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("spec*.dot"))
