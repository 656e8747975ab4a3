"""Weights for a module defined in code: a state dictionary in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from rnncheck.errors import ModelError
from rnncheck.models.files.safetensors_file import check_is_file, name_in_errors, read_safetensors
from rnncheck.models.files.torch_file import read_torch_file


def load_weights(module: Any, path: Path) -> None:
    """Load the state dictionary of a .safetensors, .pt or .pth file into a module; all of its arrays must fit."""
    with name_in_errors(path):
        check_is_file(path)
    arrays = read_safetensors(path)[1] if path.suffix == ".safetensors" else read_torch_file(path)
    try:
        module.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in arrays.items()})
    except RuntimeError as error:
        reason = " ".join(str(error).split())
        raise ModelError(f"{path}: these are not the weights of the module: {reason}") from None
