"""The browser for the tests of pages: installed where possible, reported where not, and never missing in CI."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from support.browser import no_browser
from support.paths import ROOT

SCRIPT = ROOT / "scripts" / "browser.sh"
pytestmark = pytest.mark.skipif(not SCRIPT.is_file(), reason="the scripts are not beside the tests")


class Machine:
    """A PATH with the shell's own tools and the programs that are put there; each notes how it was called."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.calls = folder / "calls"
        self.bash = shutil.which("bash")
        for tool in ("bash", "true", "env"):
            (folder / tool).symlink_to(str(shutil.which(tool)))

    def put(self, name: str, does: str = "") -> None:
        program = self.folder / name
        program.write_text(f'#!{self.bash}\necho "{name} $*" >> {self.calls}\n{does}\n')
        program.chmod(0o755)

    def run(self, **environment: str) -> subprocess.CompletedProcess[str]:
        command = [str(self.bash), str(SCRIPT)]
        return subprocess.run(command, env={"PATH": str(self.folder), **environment}, capture_output=True, text=True)

    def called(self) -> list[str]:
        return self.calls.read_text().splitlines() if self.calls.exists() else []


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(tmp_path)
    made.put("id", "echo 0")
    return made


@pytest.mark.parametrize("name", ["chromium", "chromium-browser", "google-chrome"])
def test_nothing_is_done_where_there_is_a_browser(machine: Machine, name: str) -> None:
    machine.put(name)
    done = machine.run()
    assert (done.returncode, done.stdout, done.stderr, machine.called()) == (0, "", "", [])


def test_debians_browser_is_installed_by_root(machine: Machine) -> None:
    machine.put("apt-get")
    assert machine.run().returncode == 0
    assert machine.called()[-1] == "apt-get -qq install --yes --no-install-recommends chromium"


def test_debians_browser_is_installed_with_sudo_that_asks_for_no_password(machine: Machine) -> None:
    machine.put("id", "echo 1000")
    machine.put("sudo", 'shift\n"$@"')
    machine.put("apt-get")
    assert machine.run().returncode == 0
    assert "sudo -n apt-get -qq update" in machine.called()


@pytest.mark.parametrize(
    ("programs", "why"),
    [
        ({}, "there is no apt-get"),
        ({"id": "echo 1000", "apt-get": "", "sudo": "exit 1"}, "that needs root"),
        ({"id": "echo 1000", "apt-get": ""}, "that needs root"),
        ({"apt-get": "exit 100"}, "apt-get failed"),
    ],
)
def test_what_is_skipped_is_told_and_fails_where_it_is_required(
    machine: Machine, programs: dict[str, str], why: str
) -> None:
    """Should go on without the tests of pages, but where a browser is required."""
    for name, does in programs.items():
        machine.put(name, does)
    done = machine.run()
    assert done.returncode == 0
    assert why in done.stderr
    assert "skipped" in done.stderr
    assert machine.run(RNNCHECK_BROWSER="required").returncode == 1


def test_a_missing_browser_skips_or_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RNNCHECK_BROWSER", raising=False)
    with pytest.raises(pytest.skip.Exception, match="make browser"):
        no_browser()
    monkeypatch.setenv("RNNCHECK_BROWSER", "required")
    with pytest.raises(pytest.fail.Exception, match="make browser"):
        no_browser()


def test_ci_requires_a_browser_and_the_tests_get_one() -> None:
    assert "export RNNCHECK_BROWSER=required" in (ROOT / ".ci" / "run").read_text()
    makefile = (ROOT / "Makefile").read_text()
    assert "\ntest: setup browser\n" in makefile
    assert "\ntest-all: setup browser\n" in makefile
    assert os.access(SCRIPT, os.X_OK)
