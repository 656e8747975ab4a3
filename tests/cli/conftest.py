"""Run the command line as users do: in a process of its own for a few, in this one for the rest."""

from collections.abc import Callable
from typing import NamedTuple

import pytest

from rnncheck.cli import main


class Result(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys) -> Callable[..., Result]:
    """``run("spec", "show", …)`` gives exit code, stdout and stderr."""

    def call(*arguments: object) -> Result:
        with pytest.raises(SystemExit) as caught:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Result(int(caught.value.code or 0), captured.out, captured.err)

    return call
