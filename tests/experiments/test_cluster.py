"""A real Dask scheduler with two worker processes, one of which is killed in the middle."""

import os
import signal
import threading
import time
from collections.abc import Iterator

import pytest

pytest.importorskip("distributed")

from experiments.test_runner import contents, perform
from rnncheck.runtime.executors import open_executor
from support.clusters import Cluster
from support.sources import DrawnSubjects, Here


@pytest.fixture
def cluster(tmp_path) -> Iterator[Cluster]:
    started = Cluster(tmp_path)
    yield started
    started.close()


@pytest.mark.filterwarnings("ignore")  # what Dask and its event loop warn about is theirs
def test_a_cluster_gives_the_same_run_although_a_worker_is_killed(tmp_path, cluster) -> None:
    source = DrawnSubjects(count=2)
    out = tmp_path / "cluster"

    def kill_one() -> None:
        while len(list(out.glob("verdicts/*.json"))) < 3:
            time.sleep(0.01)
        os.kill(cluster.workers[0].pid, signal.SIGKILL)

    killer = threading.Thread(target=kill_one, daemon=True)
    killer.start()
    with open_executor(1, cluster.address) as executor:
        assert executor.workers >= 1
        on_cluster = perform(out, executor, source)
    killer.join(timeout=120)
    assert cluster.workers[0].wait(timeout=120) == -signal.SIGKILL
    assert contents(on_cluster) == contents(perform(tmp_path / "here", Here(), source))
