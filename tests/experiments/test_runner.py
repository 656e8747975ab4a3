"""A run is finished piece by piece, can be continued, and is the same whoever does the pieces."""

import contextlib
import errno
import itertools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from rnncheck.cli import main
from rnncheck.errors import FormatError, InputError, RnncheckError
from rnncheck.experiments.folder import RunFolder, safe_name
from rnncheck.experiments.merge import merge
from rnncheck.experiments.run_results import read_results
from rnncheck.experiments.runner import Questions, Shard, run_experiment, verify_piece
from rnncheck.experiments.subjects import stored_subject
from rnncheck.models.engine.compiled import SelfCheckError
from rnncheck.runtime.executors import open_executor
from rnncheck.version import __version__
from support.killing import STAGES, kill_inside_writes
from support.sources import DrawnSubjects, Here

QUESTIONS = Questions(epsilon=0.05, gamma=0.05, timeout=60.0)


STANDARD = DrawnSubjects(count=2)
ONE_METHOD = Questions(methods=("smc",), epsilon=0.05, gamma=0.05, timeout=60.0)


@pytest.fixture(scope="module")
def executor():
    with open_executor(2) as two:
        yield two


@pytest.fixture(scope="module")
def finished(tmp_path_factory, executor) -> RunFolder:
    """A run to look at; tests that change something take a ``copy``."""
    return perform(tmp_path_factory.mktemp("finished") / "run", executor)


@pytest.fixture
def copy(tmp_path, finished) -> RunFolder:
    shutil.copytree(finished.path, tmp_path / "run")
    return RunFolder.existing(tmp_path / "run")


def perform(path: Path, executor, source=None, questions: Questions = QUESTIONS, shard: str | None = None) -> RunFolder:
    source = source or STANDARD
    folder = begun(path, source, questions, shard)
    run_experiment(folder, source, questions, executor, shard=None if shard is None else Shard.parse(shard))
    return folder


def begun(path: Path, source=STANDARD, questions: Questions = QUESTIONS, shard: str | None = None) -> RunFolder:
    settings = msgspec.to_builtins(questions) | {"source": msgspec.to_builtins(source)}
    return RunFolder.begun(path, "random", settings, shard, source.names())


def contents(folder: RunFolder) -> dict[str, object]:
    """All verdicts, without what the clock says."""
    found: dict[str, object] = {}
    for result in read_results(folder).results:
        key = (result.subject, result.spec, result.method)
        found["/".join(key)] = (result.verdict, result.counterexample, result.queries, result.steps, result.states)
    return found


def test_every_subject_specification_and_method_is_answered(finished) -> None:
    run = read_results(finished)
    wanted = {
        f"net-{n}/{spec}/{method}"
        for n, spec, method in itertools.product(range(2), (1, 2), ("smc", "aamc", "pdv", "auto"))
    }
    assert set(contents(finished)) == wanted
    assert run.complete
    for result in run.results:
        if result.counterexample is not None:
            subject = stored_subject(finished, result.subject)
            assert not subject.specs[result.spec].accepts(result.counterexample)


def test_the_number_of_workers_changes_nothing(tmp_path, finished) -> None:
    with open_executor(1) as one:
        alone = perform(tmp_path / "one", one, DrawnSubjects(count=2, specs=1))
    assert contents(alone) == {name: found for name, found in contents(finished).items() if "/1/" in name}


def test_what_is_finished_is_not_repeated(copy, finished, executor) -> None:
    before = {file: file.stat().st_mtime_ns for file in copy.path.rglob("*.json")}
    missing = copy.place("verdicts/net-1-2-pdv.json")
    missing.unlink()
    again = perform(copy.path, executor)
    assert contents(again) == contents(finished)
    changed = {file for file, when in before.items() if file.stat().st_mtime_ns != when}
    assert changed == {missing}


def test_a_run_is_complete_only_with_all_its_networks(copy) -> None:
    """Should not look at the networks that exist so far alone."""
    for file in [*copy.path.glob("subjects/net-1.*"), *copy.path.glob("verdicts/net-1-*")]:
        file.unlink()
    run = read_results(copy)
    assert len(run.results) == run.expected
    assert run.missing == ("net-1",)
    assert not run.complete
    assert not read_results(begun(copy.path.parent / "new")).complete


def test_shards_put_together_are_the_whole_run(tmp_path) -> None:
    source = DrawnSubjects(specs=1)
    whole = perform(tmp_path / "whole", Here(), source, ONE_METHOD)
    shards = [perform(tmp_path / f"shard-{n}", Here(), source, ONE_METHOD, shard=f"{n}/2") for n in (1, 2)]
    assert 0 < len(contents(shards[0])) < len(contents(whole))
    assert [read_results(shard).complete for shard in shards] == [True, True]
    paths = [shard.path for shard in shards]
    with pytest.raises(InputError, match="is one of the shards"):
        merge(paths, paths[0])
    half = merge(paths[:1], tmp_path / "merged")
    assert read_results(half).missing == ("net-1",)
    for _ in range(2):
        merged = merge(paths, tmp_path / "merged")
        assert contents(merged) == contents(whole)
        assert read_results(merged).complete


def test_shards_of_different_runs_are_not_merged(tmp_path) -> None:
    one = begun(tmp_path / "one", shard="1/3")
    other = begun(tmp_path / "other", DrawnSubjects(count=2, specs=1), shard="2/3")
    with pytest.raises(InputError, match="different settings, specs = 2 and 1"):
        merge([one.path, other.path], tmp_path / "merged")
    assert not (tmp_path / "merged").exists()


def test_shards_of_different_versions_are_not_merged(tmp_path) -> None:
    """Should keep the version of the shards, which is not always the one that merges."""
    one, other = (begun(tmp_path / f"{n}", shard=f"{n}/2") for n in (1, 2))
    manifest = one.path / "run.json"
    manifest.write_text(manifest.read_text().replace(f'"{__version__}"', '"0.0.0"'))
    with pytest.raises(InputError, match=r"made by rnncheck '0\.0\.0' and"):
        merge([one.path, other.path], tmp_path / "merged")
    assert not (tmp_path / "merged").exists()
    assert merge([one.path], tmp_path / "merged").manifest.version == "0.0.0"


def test_a_piece_that_fails_is_named_and_the_others_are_kept(tmp_path, executor) -> None:
    source = DrawnSubjects(specs=1, broken="net-1")
    with pytest.raises(RnncheckError, match="net-1 cannot be made"):
        perform(tmp_path / "run", executor, source, ONE_METHOD)
    run = read_results(RunFolder.existing(tmp_path / "run"))
    assert {result.subject for result in run.results} == {"net-0", "net-2"}
    assert not run.complete


def test_a_piece_may_fail_for_reasons_that_are_not_ours(tmp_path, executor) -> None:
    """Should go on with the other pieces when one is out of memory, say."""
    source = DrawnSubjects(count=2, specs=1, exhausted="net-0")
    with pytest.raises(RnncheckError, match=r"the others are kept: net-0: MemoryError no more of it"):
        perform(tmp_path / "run", executor, source, ONE_METHOD)
    assert list(contents(RunFolder.existing(tmp_path / "run"))) == ["net-1/1/smc"]


def test_a_damaged_piece_is_named_with_a_remedy_and_nothing_is_lost(copy, finished, executor) -> None:
    damaged = copy.place("verdicts/net-0-1-smc.json")
    damaged.write_bytes(damaged.read_bytes()[:100])
    with pytest.raises(FormatError, match=r"net-0-1-smc\.json.*delete the file"):
        perform(copy.path, executor)
    with pytest.raises(FormatError, match="damaged"):
        read_results(copy)
    damaged.unlink()
    assert contents(perform(copy.path, executor)) == contents(finished)


def test_a_damaged_network_is_noticed(copy, executor) -> None:
    weights = copy.place("subjects/net-0.safetensors")
    content = bytearray(weights.read_bytes())
    content[-3] ^= 1
    weights.write_bytes(content)
    copy.place("verdicts/net-0-1-smc.json").unlink()
    with pytest.raises(FormatError, match="missing or damaged"):
        perform(copy.path, executor)


def test_verdicts_about_a_network_that_is_no_more_are_repeated(copy, finished, executor) -> None:
    """Should keep the others: a network that is made anew is mostly the same again."""
    for file in copy.path.glob("subjects/net-0.*"):
        file.unlink()
    other = copy.place("verdicts/net-0-1-smc.json")
    sha256 = stored_subject(finished, "net-0").network.sha256()
    other.write_text(other.read_text().replace(sha256, "0" * 64))
    before = {file: file.stat().st_mtime_ns for file in copy.path.glob("verdicts/*.json")}
    perform(copy.path, executor)
    assert {file for file, when in before.items() if file.stat().st_mtime_ns != when} == {other}
    assert sha256 in other.read_text()


def test_a_folder_belongs_to_one_run(tmp_path) -> None:
    begun(tmp_path / "run")
    with pytest.raises(InputError, match=r"epsilon = 0\.05.*0\.1 was"):
        begun(tmp_path / "run", questions=Questions(epsilon=0.1, gamma=0.05, timeout=60.0))
    with pytest.raises(InputError, match=r"specs = 2, and 1 was"):
        begun(tmp_path / "run", DrawnSubjects(count=2, specs=1))
    with pytest.raises(InputError, match=r"shard = None, and '1/2' was"):
        begun(tmp_path / "run", shard="1/2")
    with pytest.raises(InputError, match="holds a run of the kind random"):
        RunFolder.begun(tmp_path / "run", "contacts", {}, None)


def test_other_networks_behind_the_same_options_are_another_run(tmp_path) -> None:
    """A folder of networks may have got one more since the run began."""
    RunFolder.begun(tmp_path, "random", {}, None, ["one"])
    with pytest.raises(InputError, match=r"networks = \[\], and \['two'\] was"):
        RunFolder.begun(tmp_path, "random", {}, None, ["one", "two"])


def test_a_folder_with_other_files_is_refused(tmp_path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match="holds other files"):
        RunFolder.begun(tmp_path, "random", {}, None)


def test_a_folder_of_another_version_is_refused(copy) -> None:
    manifest = copy.path / "run.json"
    manifest.write_text(manifest.read_text().replace("rnncheck/run/1", "rnncheck/run/7"))
    with pytest.raises(FormatError, match="rnncheck/run/7"):
        RunFolder.existing(copy.path)
    assert len(list(copy.path.glob("verdicts/*.json"))) == 16


def test_two_runs_in_one_folder_are_refused(copy) -> None:
    with copy.locked(), pytest.raises(InputError, match="another run is working"):
        perform(copy.path, Here())


def test_a_file_system_without_locks_is_not_taken_for_another_run(tmp_path, monkeypatch) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    folder = begun(tmp_path / "run")
    monkeypatch.setattr("rnncheck.runtime.locks._fcntl.flock", no_locks)
    with pytest.raises(InputError, match="cannot be locked: No locks available"), folder.locked():
        pass


def test_an_unwritable_folder_is_a_clear_error(tmp_path) -> None:
    (tmp_path / "file").write_text("")
    for wrong in (tmp_path / "file" / "run", tmp_path / ("long" * 100), tmp_path / "with\0null"):
        with pytest.raises(InputError, match="cannot be used"):
            RunFolder.begun(wrong, "random", {}, None)


def test_a_name_that_is_no_text_is_refused(tmp_path) -> None:
    with pytest.raises(InputError, match=r"udcff.* is not UTF-8"):
        RunFolder.begun(tmp_path / "run", "random", {"source": {"files": ["\udcff.csv"]}}, None)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("text", ["a b", "é", "", ".hidden", "../x", "a" * 300, "日本", "a\nb", "\udcff"])
def test_any_text_has_a_safe_name_of_its_own(tmp_path, text) -> None:
    folder = begun(tmp_path / "run")
    assert not folder.has(f"subjects/{safe_name(text)}.json")
    assert safe_name(text) == safe_name(text) != safe_name(text + "b")
    assert safe_name("tij_InVS15") == "tij_InVS15"


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
    "bench", "random", "--states", "5", "--specs", "2", "--epsilon", "0.05", "--gamma", "0.05",
    "--method", "smc", "--method", "pdv", "--quiet",
]  # fmt: skip
SMALL = [
    "--count", "2", "--cell", "rnn_tanh", "--hidden", "8", "--words", "100", "--accuracy", "0.2",
    "--target-accuracy", "0.6",
]  # fmt: skip
LARGE = [
    "--count", "16", "--hidden", "12", "--words", "600", "--accuracy", "0.5", "--target-accuracy", "0.9",
    "--workers", "2",
]  # fmt: skip


def test_a_run_killed_when_it_began_can_begin_again(tmp_path) -> None:
    """Should not take the half of its own manifest for other files."""
    (tmp_path / ".rnncheck-x.part").write_text("{")
    begun(tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["run.json"]


def test_a_training_that_was_finished_leaves_no_checkpoint(tmp_path) -> None:
    """Should remove what a run left that was killed after it stored the network and before it removed the file."""
    folder = perform(tmp_path / "run", Here(), STANDARD)
    left = folder.path / "part" / f"{STANDARD.names()[0]}.checkpoint.0"
    left.parent.mkdir(exist_ok=True)
    left.write_text("half a training")
    perform(tmp_path / "run", Here(), STANDARD)
    assert not left.parent.exists()


@pytest.mark.parametrize(
    ("size", "moments"),
    [
        pytest.param(SMALL, [("half written", 2)], id="small"),
        pytest.param(LARGE, list(itertools.product(STAGES, range(1, 5))), id="large", marks=pytest.mark.slow),
    ],
)
def test_a_run_killed_inside_its_writes_gives_the_same_table(tmp_path, monkeypatch, size, moments) -> None:
    """SIGKILL at every stage of writing a piece or a checkpoint; then to the end; no piece is written twice."""
    monkeypatch.setattr("rnncheck.runtime.executors.open_executor", lambda *_: contextlib.nullcontext(Here()))
    with pytest.raises(SystemExit) as ended:  # once in this very process
        main([*COMMAND, *size, "--out", str(tmp_path / "calm")])
    assert not ended.value.code
    out = tmp_path / "killed"
    command = [sys.executable, "-m", "rnncheck", *COMMAND, *size, "--out", out]
    finished: dict[str, int] = {}
    for _ in kill_inside_writes(command, tmp_path / "hooks", moments):
        for file in out.rglob("*.json"):
            stamp = file.stat().st_mtime_ns
            assert finished.setdefault(str(file), stamp) == stamp, f"{file} was written twice"
    assert finished
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=600)
    assert contents(RunFolder.existing(out)) == contents(RunFolder.existing(tmp_path / "calm"))
    assert not list(out.rglob("*.part"))
    assert not (out / "part").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_a_full_disk_ends_the_run_with_an_error_and_what_was_written_stays(tmp_path, executor) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48k", "tmpfs", disk], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting a small file system is not allowed here")
    try:
        with pytest.raises(InputError, match="No space left"):
            perform(disk / "run", executor)
        kept = read_results(RunFolder.existing(disk / "run"))
        assert kept.results
        assert not list((disk / "run").rglob("*.part"))
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def test_a_network_whose_values_depend_on_rounding_is_read_by_the_reference(monkeypatch) -> None:
    """Training comes to such networks, and none of a run should be lost for it."""
    subject = STANDARD.make("net-1", None)
    (spec, *_) = subject.specs.values()
    usual = verify_piece(subject.network, spec, "smc", "piece", ONE_METHOD)

    def refused(*_: object, **__: object) -> None:
        raise SelfCheckError("rounding")

    monkeypatch.setattr("rnncheck.models.engine.compiled.CompiledNetwork", refused)
    slow = verify_piece(subject.network, spec, "smc", "piece", ONE_METHOD)
    assert (slow.outcome, slow.counterexample) == (usual.outcome, usual.counterexample)
    assert "reference evaluates every word" in str(slow.model_facts["notes"])
