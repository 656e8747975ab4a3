"""Work is done elsewhere, whatever becomes of the workers."""

import contextlib
import subprocess
import sys
import time

import pytest

from rnncheck.errors import InputError, RnncheckError
from rnncheck.runtime.executors import DaskCluster, LocalProcesses, WorkerLostError, open_executor
from support.clusters import Cluster
from support.workers import (
    Travelling,
    die_always,
    die_once,
    die_once_with,
    name_of,
    refuse,
    square,
    unpicklable,
    where,
)


@pytest.fixture(scope="module")
def two():
    with open_executor(2) as executor:
        yield executor


def test_results_come_back_in_the_order_of_the_futures(two) -> None:
    futures = [two.submit(square, number) for number in range(20)]
    assert [future.result(30) for future in futures] == [number * number for number in range(20)]


def test_the_work_is_done_in_other_processes(two) -> None:
    import os

    pids = {two.submit(where, number).result(30) for number in range(6)}
    assert os.getpid() not in pids
    assert len(pids) <= 2


def test_an_exception_travels_back(two) -> None:
    with pytest.raises(ValueError, match="no such thing"):
        two.submit(refuse, "no such thing").result(30)
    assert two.submit(square, 3).result(30) == 9


def test_a_worker_that_dies_is_replaced_and_its_piece_repeated(two, tmp_path) -> None:
    assert two.submit(die_once, str(tmp_path / "marker")).result(30) == "done"
    assert (tmp_path / "marker").read_text() == "died"


def test_a_piece_that_always_kills_its_worker_is_given_up_and_the_others_go_on(two) -> None:
    lost = two.submit(die_always)
    fine = [two.submit(square, number) for number in range(5)]
    with pytest.raises(WorkerLostError, match="die_always"):
        lost.result(60)
    assert [future.result(30) for future in fine] == [0, 1, 4, 9, 16]


def test_a_shared_value_travels_to_a_worker_once(two) -> None:
    Travelling.sent = 0
    first, second = (two.share(Travelling(name)) for name in ("first", "second"))
    futures = [two.submit(name_of, value, number) for number in range(10) for value in (first, second)]
    assert [future.result(30) for future in futures] == ["first", "second"] * 10
    assert Travelling.sent <= 2 * two.workers


def test_a_worker_forgets_shared_values_and_gets_them_again(two) -> None:
    values = [two.share(Travelling(str(number))) for number in range(5)]
    for _ in range(3):
        assert [two.submit(name_of, value, 0).result(30) for value in values] == list("01234")


def test_a_worker_in_the_place_of_one_that_died_gets_what_is_shared(two, tmp_path) -> None:
    value = two.share(Travelling("shared"))
    assert two.submit(name_of, value, 0).result(30) == "shared"
    assert two.submit(die_once_with, value, str(tmp_path / "marker")).result(60) == "shared"
    assert [two.submit(name_of, value, number).result(30) for number in range(4)] == ["shared"] * 4


@pytest.mark.filterwarnings("ignore")  # what Dask and its event loop warn about is theirs
def test_on_a_cluster_a_shared_value_is_sent_once_and_outlives_a_worker(tmp_path) -> None:
    pytest.importorskip("distributed")
    with contextlib.closing(Cluster(tmp_path)) as cluster, open_executor(1, cluster.address) as executor:
        Travelling.sent = 0
        value = executor.share(Travelling("shared"))
        assert [executor.submit(name_of, value, number).result(60) for number in range(6)] == ["shared"] * 6
        assert Travelling.sent == 1  # from here; the workers pass it on
        cluster.workers[0].kill()
        assert [executor.submit(name_of, value, number).result(60) for number in range(6)] == ["shared"] * 6


def test_a_result_that_cannot_travel_is_named(two) -> None:
    with pytest.raises(RnncheckError, match="cannot be sent back"):
        two.submit(unpicklable).result(30)


def test_no_workers_are_refused() -> None:
    with pytest.raises(InputError, match="at least 1"):
        LocalProcesses(0)


def test_workers_end_with_their_parent(tmp_path) -> None:
    """A parent that is killed leaves no worker behind that goes on with its piece."""
    script = tmp_path / "parent.py"
    script.write_text(
        "import os, signal, time\nfrom rnncheck.runtime.executors import LocalProcesses\nif __name__ == '__main__':\n  "
        "  executor = LocalProcesses(1)\n    print(executor.submit(os.getpid).result(), flush=True)\n    "
        "executor.submit(time.sleep, 600)\n    time.sleep(600)\n"
    )
    parent = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    worker = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 120
    while _alive(worker) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _alive(worker)


def _alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_an_address_without_a_scheduler_is_refused(monkeypatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("rnncheck.runtime.executors._CONNECT_SECONDS", 1.0)
    with pytest.raises(InputError, match="no scheduler answers"):
        DaskCluster("tcp://127.0.0.1:1")
