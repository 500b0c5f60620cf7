"""Ray: the same files as local work, and a node lost on the way costs nothing but time."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from alora_ts.errors import AloraError
from alora_ts.fleet import Fleet, RayEngine
from alora_ts.progress import Step
from tests.fleet.cluster import ray_cluster
from tests.fleet.machines import BAD, files, quick, write_machines
from tests.fleet.naive_engine import OneByOne
from tests.fleet.work import die_once, double, note

# Ray's own parts leave sockets and log files to the garbage collector.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

_MACHINES = 12


@pytest.mark.skipif(
    not hasattr(signal, "SIGKILL"), reason="Ray starts and ends its processes by POSIX means here"
)
def test_a_cluster_that_loses_a_node_gives_the_same_files(tmp_path: Path) -> None:
    source = write_machines(tmp_path / "in", _MACHINES - 3, bad=True)
    expected = Fleet(quick(), engine=OneByOne())
    expected.fit(source, output=tmp_path / "naive", progress=False)
    expected.diagnose(source, progress=False)
    seen: list[Step] = []
    with ray_cluster(3) as cluster:
        lost = cluster.list_all_nodes()[-1]

        def lose_a_node(step: Step) -> None:
            seen.append(step)
            if step.done == _MACHINES // 3 and lost in cluster.list_all_nodes():
                cluster.remove_node(lost, allow_graceful=False)

        fleet = Fleet(quick(), engine=RayEngine())
        fleet.fit(source, output=tmp_path / "ray", progress=lose_a_node)
        assert lost not in cluster.list_all_nodes()
        tally = fleet.tally_
        assert tally.done + tally.skipped == _MACHINES - 3
        assert set(tally.reasons) == BAD
        assert len(tally.nodes) >= 2
        assert [step.done for step in seen] == list(range(_MACHINES + 1))
        fleet.diagnose(source, progress=False)
        _check_the_engine_alone(tmp_path)
    assert files(tmp_path / "ray") == files(tmp_path / "naive")
    # Each machine is in the output once.
    statuses = [json.loads(path.read_text()) for path in (tmp_path / "ray").rglob("fit.json")]
    assert len({status["entity"] for status in statuses}) == len(statuses) == _MACHINES


def _check_the_engine_alone(folder: Path) -> None:
    """On a cluster that is running: results, errors, lost workers, cancelled work."""
    engine = RayEngine(retries=1)
    found = {each.task: each for each in engine.map(double, [3, 13], memory=lambda _: 0)}
    assert found[3].result == 6
    assert found[13].error == "ValueError: thirteen is unlucky"
    # More memory than any node has is cut to what the largest has, instead of waiting forever.
    tries = folder / "tries"
    tries.mkdir()
    tasks = [str(tries / name) for name in ("a", "dies-b", "always-c")]
    finished = {Path(e.task).name: e for e in engine.map(die_once, tasks, memory=lambda _: 2**60)}
    assert (finished["a"].result, finished["dies-b"].result) == ("a", "dies-b")
    assert "lost too often" in str(finished["always-c"].error)
    assert len(list(tries.glob("always-c.*"))) == 2
    slow = [(str(tries / "quick"), 0.0), *((str(tries / f"slow-{at}"), 90.0) for at in range(3))]
    running = engine.map(note, slow, memory=lambda _: 0)
    assert Path(next(running).task[0]).name == "quick"
    running.close()


def test_an_address_without_a_cluster_is_named() -> None:
    with pytest.raises(AloraError, match=r"cannot reach a Ray cluster at '127\.0\.0\.1:1'"):
        list(RayEngine(address="127.0.0.1:1").map(double, [1], memory=lambda _: 0))
    with pytest.raises(AloraError, match="workers=0"):
        RayEngine(workers=0)
