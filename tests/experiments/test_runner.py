"""A run is finished piece by piece, can be continued, and is the same whoever does the pieces."""

import contextlib
import itertools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import numpy as np
import pytest

from experiments.sources import DrawnSubjects
from rnncheck.errors import FormatError, InputError, RnncheckError
from rnncheck.executors import open_executor
from rnncheck.experiments.folder import RunFolder
from rnncheck.experiments.merge import merge
from rnncheck.experiments.results import read_results
from rnncheck.experiments.runner import Questions, Shard, run_experiment
from rnncheck.experiments.subjects import stored_subject

QUESTIONS = Questions(epsilon=0.05, gamma=0.05, timeout=60.0)


@pytest.fixture(scope="module")
def executor():
    with open_executor(2) as two:
        yield two


def perform(path: Path, executor, source=None, questions: Questions = QUESTIONS, shard: str | None = None) -> RunFolder:
    source = source or DrawnSubjects()
    settings = msgspec.to_builtins(questions) | {"source": msgspec.to_builtins(source)}
    folder = RunFolder.begun(path, "random", settings, shard)
    run_experiment(folder, source, questions, executor, shard=None if shard is None else Shard.parse(shard))
    return folder


def contents(folder: RunFolder) -> dict[str, object]:
    """All verdicts, without what the clock says."""
    found = {}
    for result in read_results(folder).results:
        key = (result.subject, result.spec, result.method)
        found["/".join(key)] = (result.verdict, result.counterexample, result.queries, result.steps, result.states)
    return found


def test_every_subject_specification_and_method_is_answered(tmp_path, executor) -> None:
    folder = perform(tmp_path / "run", executor)
    run = read_results(folder)
    wanted = {
        f"net-{n}/{spec}/{method}"
        for n, spec, method in itertools.product(range(3), (1, 2), ("smc", "aamc", "pdv", "auto"))
    }
    assert set(contents(folder)) == wanted
    assert run.complete
    for result in run.results:
        if result.counterexample is not None:
            subject = stored_subject(folder, result.subject)
            assert not subject.specs[result.spec].accepts(result.counterexample)


def test_the_number_of_workers_changes_nothing(tmp_path, executor) -> None:
    source = DrawnSubjects(count=2, specs=1)
    two = perform(tmp_path / "two", executor, source)
    with open_executor(1) as one:
        alone = perform(tmp_path / "one", one, source)
    assert contents(two) == contents(alone)


def test_what_is_finished_is_not_repeated(tmp_path, executor) -> None:
    folder = perform(tmp_path / "run", executor)
    before = {file: file.stat().st_mtime_ns for file in folder.path.rglob("*.json")}
    missing = folder.place("verdicts/net-1-2-pdv.json")
    expected = contents(folder)
    missing.unlink()
    again = perform(tmp_path / "run", executor)
    assert contents(again) == expected
    changed = {file for file, when in before.items() if file.stat().st_mtime_ns != when}
    assert changed == {missing}


def test_shards_put_together_are_the_whole_run(tmp_path, executor) -> None:
    source = DrawnSubjects(specs=1)
    whole = perform(tmp_path / "whole", executor, source)
    shards = [perform(tmp_path / f"shard-{n}", executor, source, shard=f"{n}/2").path for n in (1, 2)]
    assert 0 < len(contents(RunFolder.existing(shards[0]))) < len(contents(whole))
    assert contents(merge(shards, tmp_path / "merged")) == contents(whole)


def test_shards_of_different_runs_are_not_merged(tmp_path, executor) -> None:
    one = perform(tmp_path / "one", executor, shard="1/3")
    other = perform(tmp_path / "other", executor, DrawnSubjects(specs=1), shard="2/3")
    with pytest.raises(InputError, match="different things"):
        merge([one.path, other.path], tmp_path / "merged")


def test_a_piece_that_fails_is_named_and_the_others_are_kept(tmp_path, executor) -> None:
    with pytest.raises(RnncheckError, match="net-1 cannot be made"):
        perform(tmp_path / "run", executor, DrawnSubjects(broken="net-1"))
    run = read_results(RunFolder.existing(tmp_path / "run"))
    assert {result.subject for result in run.results} == {"net-0", "net-2"}


def test_a_damaged_piece_is_named_with_a_remedy_and_nothing_is_lost(tmp_path, executor) -> None:
    folder = perform(tmp_path / "run", executor)
    expected = contents(folder)
    damaged = folder.place("verdicts/net-0-1-smc.json")
    damaged.write_bytes(damaged.read_bytes()[:100])
    with pytest.raises(FormatError, match=r"net-0-1-smc\.json.*delete the file"):
        perform(tmp_path / "run", executor)
    with pytest.raises(FormatError, match="damaged"):
        read_results(folder)
    damaged.unlink()
    assert contents(perform(tmp_path / "run", executor)) == expected


def test_a_damaged_network_is_noticed(tmp_path, executor) -> None:
    folder = perform(tmp_path / "run", executor)
    weights = folder.place("subjects/net-0.safetensors")
    content = bytearray(weights.read_bytes())
    content[-3] ^= 1
    weights.write_bytes(content)
    folder.place("verdicts/net-0-1-smc.json").unlink()
    with pytest.raises(FormatError, match="missing or damaged"):
        perform(tmp_path / "run", executor)


def test_a_folder_belongs_to_one_run(tmp_path, executor) -> None:
    perform(tmp_path / "run", executor, DrawnSubjects(count=1, specs=1))
    with pytest.raises(InputError, match=r"epsilon = 0\.05.*0\.1 was"):
        perform(tmp_path / "run", executor, DrawnSubjects(count=1, specs=1), Questions(epsilon=0.1, gamma=0.05))
    with pytest.raises(InputError, match="holds a run of the kind random"):
        RunFolder.begun(tmp_path / "run", "contacts", {}, None)


def test_a_folder_with_other_files_is_refused(tmp_path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match="holds other files"):
        RunFolder.begun(tmp_path, "random", {}, None)


def test_a_folder_of_another_version_is_refused(tmp_path, executor) -> None:
    folder = perform(tmp_path / "run", executor, DrawnSubjects(count=1, specs=1))
    manifest = folder.path / "run.json"
    manifest.write_text(manifest.read_text().replace("rnncheck/run/1", "rnncheck/run/7"))
    with pytest.raises(FormatError, match="rnncheck/run/7"):
        RunFolder.existing(folder.path)
    assert len(list(folder.path.glob("verdicts/*.json"))) == 4


def test_two_runs_in_one_folder_are_refused(tmp_path, executor) -> None:
    folder = perform(tmp_path / "run", executor, DrawnSubjects(count=1, specs=1))
    with folder.locked(), pytest.raises(InputError, match="another run is working"):
        perform(tmp_path / "run", executor, DrawnSubjects(count=1, specs=1))


def test_an_unwritable_folder_is_a_clear_error(tmp_path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be used"):
        RunFolder.begun(tmp_path / "file" / "run", "random", {}, None)


@pytest.mark.parametrize("name", ["../outside", "verdicts/../../x", "/etc/passwd", "a/.hidden", "a b", ""])
def test_names_do_not_lead_out_of_the_folder(tmp_path, name) -> None:
    folder = RunFolder.begun(tmp_path / "run", "random", {}, None)
    with pytest.raises(InputError, match="cannot be the name"):
        folder.place(name)


@pytest.mark.parametrize("text", ["", "3", "0/2", "3/2", "1/2/3", "a/b", "-1/2"])
def test_a_shard_is_one_of_several(text) -> None:
    with pytest.raises(InputError, match="is not I/N"):
        Shard.parse(text)


def test_shards_deal_out_every_subject_once() -> None:
    shards = [Shard(number, 4) for number in range(1, 5)]
    assert [sum(shard.holds(position) for shard in shards) for position in range(13)] == [1] * 13


COMMAND = [
    sys.executable, "-m", "rnncheck", "bench", "random", "--count", "2", "--states", "5", "--hidden", "12", "--words",
    "600", "--specs", "2", "--accuracy", "0.5", "--target-accuracy", "0.9", "--epsilon", "0.05", "--gamma", "0.05",
    "--method", "smc", "--method", "pdv", "--workers", "2", "--quiet",
]  # fmt: skip


@pytest.mark.parametrize("kills", [2, pytest.param(50, marks=pytest.mark.slow)])
def test_a_run_killed_again_and_again_gives_the_same_table(tmp_path, kills) -> None:
    """SIGKILL at random moments of training, verification and writing; then to the end; nothing is done twice."""
    subprocess.run([*COMMAND, "--out", tmp_path / "calm"], check=True, stdout=subprocess.DEVNULL, timeout=300)
    out = tmp_path / "killed"
    out.mkdir()
    rng = np.random.default_rng(0)
    finished: dict[str, int] = {}
    for _ in range(kills):
        process = subprocess.Popen([*COMMAND, "--out", out], stdout=subprocess.DEVNULL, start_new_session=True)
        before = state(out)
        while state(out) == before and process.poll() is None:  # until it has written something
            time.sleep(0.005)
        time.sleep(rng.exponential(0.2))
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for file in out.rglob("*.json"):
            stamp = file.stat().st_mtime_ns
            assert finished.setdefault(str(file), stamp) == stamp, f"{file} was written twice"
    subprocess.run([*COMMAND, "--out", out], check=True, stdout=subprocess.DEVNULL, timeout=300)
    assert contents(RunFolder.existing(out)) == contents(RunFolder.existing(tmp_path / "calm"))
    assert not list(out.rglob("*.part"))
    assert not (out / "part").exists()


def state(folder: Path) -> dict[str, int]:
    """Every file and when it was written; files come and go meanwhile."""
    seen = {}
    for file in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            seen[str(file)] = file.stat().st_mtime_ns
    return seen


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_a_full_disk_ends_the_run_with_an_error_and_what_was_written_stays(tmp_path, executor) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48k", "tmpfs", disk], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting a small file system is not allowed here")
    try:
        with pytest.raises(InputError, match="No space left"):
            perform(disk / "run", executor, DrawnSubjects(count=2))
        kept = read_results(RunFolder.existing(disk / "run"))
        assert kept.results
        assert not list((disk / "run").rglob("*.part"))
    finally:
        subprocess.run(["umount", "-l", disk], check=True)
