"""``check --resume`` takes a verdict only where all that the model's answers depend on is known to be the same."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from rnncheck import Spec, SuiteResult, check
from rnncheck.errors import FormatError
from rnncheck.models.files.safetensors_file import save_network
from rnncheck.suite.reading import read_suite
from rnncheck.suite.suite_checkpoint import SuiteCheckpoint
from support.robust_networks import robust_network

SUITE = """
[defaults]
epsilon = 0.2
gamma = 0.2
search_steps = 200
max_length = 4
[models.mine]
module = "{module}:{name}"
alphabet = ["a", "b"]
{more}
[properties.no-b]
regex = "a*"
"""
# Each answers by ``limit``, which it reads as only its author knows.
SOURCES = {
    "safetensors": (
        "import os\nfrom safetensors.numpy import load_file\n"
        "here = os.path.dirname(__file__)\nlimit = int(load_file(os.path.join(here, 'w'))['limit'][0])\n"
        "def answers(words): return [word.count('b') < limit for word in words]\n"
    ),
    "import_module": (
        "import importlib\n"
        "def answers(words):\n    limit = importlib.import_module('{helper}').limit\n"
        "    return [word.count('b') < limit for word in words]\n"
    ),
    "numpy": (
        "import os\nimport numpy as np\nread = np.load\n"
        "def answers(words):\n    limit = int(read(os.path.join(os.path.dirname(__file__), 'w.npy'))[0])\n"
        "    return [word.count('b') < limit for word in words]\n"
    ),
    "module": (
        "import torch\nfrom {helper} import limit\n"
        "class answers(torch.nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n        self.scale = torch.nn.Parameter(torch.ones(1))\n"
        "    def forward(self, x): return self.scale * (limit - 0.5 - (x == 1).sum(-1, keepdim=True).float())\n"
    ),
}


class Model:
    """A user's own model in a folder: ``limit`` words with as many b and more are rejected."""

    def __init__(self, folder: Path, kind: str, limit: int) -> None:
        self.folder, self.kind, self.module = folder, kind, f"users_model_{kind}"
        (folder / f"{self.module}.py").write_text(SOURCES[kind].replace("{helper}", f"users_limit_{kind}"))
        self.set(limit)

    def set(self, limit: int) -> None:
        """Change what the model reads, and nothing of what names it; as in a new process."""
        save_file({"limit": np.array([limit])}, self.folder / "w")
        np.save(self.folder / "w.npy", np.array([limit]))
        (self.folder / f"users_limit_{self.kind}.py").write_text(f"limit = {limit}\n{'#' * limit}\n")
        for name in (self.module, f"users_limit_{self.kind}"):
            sys.modules.pop(name, None)

    def suite(self, more: str = "") -> Path:
        path = self.folder / "suite.toml"
        path.write_text(SUITE.format(module=self.module, name="answers", more=more))
        return path


@pytest.fixture
def made(tmp_path: Path, monkeypatch) -> Callable[..., Model]:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return lambda kind, limit=1: Model(tmp_path, kind, limit)


def outcomes(result: SuiteResult) -> list[str]:
    return [one.outcome for one in result.checks]


def same(first: SuiteResult, second: SuiteResult) -> bool:
    """Whether the verdicts are those of the first run, and not made anew."""
    return [one.verdict and one.verdict.cost for one in first.checks] == [
        one.verdict and one.verdict.cost for one in second.checks
    ]


@pytest.mark.parametrize("kind", SOURCES)
def test_a_model_that_runs_code_is_verified_anew(tmp_path: Path, made: Any, kind: str) -> None:
    """Whatever it reads may have changed; the result says how to make it resumable."""
    model, kept = made(kind, limit=1), tmp_path / "kept.json"
    suite = model.suite()
    first = check(suite, checkpoint=kept)
    assert outcomes(first) == ["satisfied"]
    assert [note for note in first.notes if "mine" in note and 'fingerprint = "…"' in note]
    assert SuiteCheckpoint(kept, resume=True).earlier() == {}
    model.set(2)
    assert outcomes(check(suite, checkpoint=kept, resume=True)) == ["violated"]


@pytest.mark.parametrize("kind", SOURCES)
def test_with_a_fingerprint_it_is_resumed_until_that_changes(tmp_path: Path, made: Any, kind: str) -> None:
    model, kept = made(kind, limit=1), tmp_path / "kept.json"
    first = check(model.suite('fingerprint = "1"'), checkpoint=kept)
    assert first.notes == ()
    model.set(1)
    assert same(first, check(model.suite('fingerprint = "1"'), checkpoint=kept, resume=True))
    model.set(2)
    assert outcomes(check(model.suite('fingerprint = "2"'), checkpoint=kept, resume=True)) == ["violated"]
    model.set(1)
    assert same(first, check(model.suite('fingerprint = "1"'), checkpoint=kept, resume=True))


def test_weights_that_can_be_seen_count_beside_the_fingerprint(tmp_path: Path, monkeypatch) -> None:
    """Should notice other weights, whether or not the user changed the fingerprint with them."""
    import torch

    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "users_weights.py").write_text(
        "import torch\nclass Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.bias = torch.nn.Parameter(torch.zeros(1))\n"
        "    def forward(self, x): return self.bias - (x == 1).sum(-1, keepdim=True).float()\n"
    )
    kept, suite = tmp_path / "kept.json", tmp_path / "suite.toml"
    suite.write_text(
        SUITE.format(module="users_weights", name="Net", more=f'fingerprint = "1"\nstate = "{tmp_path / "w.pt"}"')
    )
    for bias, outcome in ((0.5, "satisfied"), (1.5, "violated"), (0.5, "satisfied")):
        torch.save({"bias": torch.tensor([bias])}, tmp_path / "w.pt")
        assert outcomes(check(suite, checkpoint=kept, resume=kept.exists())) == [outcome]


FILE = """
[defaults]
epsilon = 0.2
gamma = 0.2
search_steps = 200
[models.net]
path = "net.safetensors"
[properties.{name}]
regex = "{regex}"
"""


def test_files_are_resumed_and_noticed_when_they_change(tmp_path: Path) -> None:
    """Under other names, in other property files and from a copied checkpoint too: the question is what counts."""
    spec, other = (Spec.from_regex(text, ["a", "b"]).dfa for text in ("a*", "b*"))
    kept, copied, suite, second = (tmp_path / name for name in ("kept.json", "copy.json", "suite.toml", "other.toml"))
    suite.write_text(FILE.format(name="no-b", regex="a*"))
    second.write_text(FILE.format(name="else", regex="b*"))
    save_network(robust_network(spec), tmp_path / "net.safetensors")
    first = check(suite, checkpoint=kept)
    assert (outcomes(first), first.notes) == (["satisfied"], ())
    copied.write_bytes(kept.read_bytes())
    assert same(first, check(suite, checkpoint=copied, resume=True))
    assert outcomes(check(second, checkpoint=copied, resume=True)) == ["violated"]
    save_network(robust_network(other), tmp_path / "net.safetensors")  # in place
    for checkpoint in (kept, copied):
        assert outcomes(check(suite, checkpoint=checkpoint, resume=True)) == ["violated"]
        assert outcomes(check(second, checkpoint=checkpoint, resume=True)) == ["satisfied"]
    save_network(robust_network(spec), tmp_path / "net.safetensors")
    assert same(first, check(suite, checkpoint=copied, resume=True))
    assert len(SuiteCheckpoint(copied, resume=True).earlier()) == 4


def test_a_fingerprint_is_for_code_alone(tmp_path: Path) -> None:
    suite = tmp_path / "suite.toml"
    suite.write_text(
        FILE.format(name="no-b", regex="a*").replace('net.safetensors"', 'net.safetensors"\nfingerprint = "1"')
    )
    with pytest.raises(FormatError, match="no effect without module"):
        read_suite(suite)


def test_an_edited_checkpoint_is_refused(tmp_path: Path) -> None:
    """Should not report the verdict of one property as that of another whose digest was written beside it."""
    kept, suite = tmp_path / "kept", tmp_path / "suite.toml"
    suite.write_text(FILE.format(name="no-b", regex="a*") + '[properties.no-a]\nregex = "b*"\n')
    save_network(robust_network(Spec.from_regex("a*", ["a", "b"]).dfa), tmp_path / "net.safetensors")
    first = check(suite, checkpoint=kept)
    assert outcomes(first) == ["satisfied", "violated"]
    one, other = (str(each.fingerprint).encode() for each in first.checks)
    kept.write_bytes(kept.read_bytes().replace(one, b"-").replace(other, one).replace(b'"-"', b'"' + other + b'"'))
    with pytest.raises(FormatError, match="damaged or edited"):
        check(suite, checkpoint=kept, resume=True)
