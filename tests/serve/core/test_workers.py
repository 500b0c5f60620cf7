"""Several processes on one PostgreSQL store: killed, paused, stopped, added."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from benchmarks.serve_postgres import Server
from benchmarks.serve_programs import free_port
from benchmarks.serve_receiver import Receiver
from numpy.testing import assert_allclose
from sqlalchemy import create_engine, text

from alora_ts import ALoRa
from alora_ts.errors import AloraError
from alora_ts.serve.settings import Settings
from alora_ts.serve.store.engines import store_url
from alora_ts.serve.workers.process import refuse_sqlite
from alora_ts.serve.workers.shares import fair_share
from tests.forked import Forked, begin
from tests.serve.core import plant

SOURCES = [f"s{number}" for number in range(6)]


class Processes:
    """A web process and workers, and what is asked of their store."""

    def __init__(self, folder: Path, server: Server, config: str) -> None:
        self.folder = folder
        self.address = server.address
        self.config = folder / "serve.toml"
        self.config.write_text(config, encoding="utf-8")
        self.port = free_port()
        self.engine = create_engine(store_url(server.address), pool_pre_ping=True)
        self.all: list[Forked] = []

    def start(self, *words: str) -> Forked:
        where = ["--config", str(self.config), "--store", self.address]
        process = begin([*words, *where, "--folder", f"{self.folder}/d"], log=self.folder / "log")
        self.all.append(process)
        return process

    def serve(self, workers: int) -> Forked:
        process = self.start("serve", "--port", str(self.port), "--workers", str(workers))

        def ready() -> bool:
            try:
                return httpx.get(self.url("/readyz"), timeout=30).status_code == 200
            except httpx.TransportError:
                return False

        self.until(ready)
        return process

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def send(self, source: str, rows: list[dict[str, Any]]) -> None:
        answer = httpx.post(
            self.url(f"/api/v1/sources/{source}/rows"), json={"rows": rows}, timeout=60
        )
        assert answer.status_code == 200, answer.text

    def ask(self, query: str) -> list[Any]:
        with self.engine.begin() as connection:
            return list(connection.execute(text(query)))

    def held(self) -> Counter[str]:
        """How many sources each living worker has."""
        return Counter(
            dict(
                self.ask(
                    "SELECT w.name, count(*) FROM leases l JOIN workers w ON w.id = l.worker "
                    "WHERE l.kind = 'source' AND "
                    "w.until_us > extract(epoch FROM clock_timestamp()) * 1e6 GROUP BY 1"
                )
            )
        )

    def until(self, done: Callable[[], bool], seconds: float = 120) -> float:
        began = time.monotonic()
        while not done():
            assert time.monotonic() - began < seconds, (self.folder / "log").read_text()[-4000:]
            time.sleep(0.1)
        return time.monotonic() - began

    def close(self) -> None:
        for process in self.all:
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()
        self.engine.dispose()


def who(process: Forked) -> str:
    return f"{os.uname().nodename}:{process.pid}"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.shutdown()
    receiver.server_close()


@pytest.fixture
def processes(
    tmp_path: Path, server: Server, receiver: Receiver, model_file: Path
) -> Iterator[Processes]:
    server.empty()
    models = "".join(f'{name} = "{model_file}"\n' for name in SOURCES)
    config = (
        "late_limit = 1e6\nsilent_after = 0\n"
        f"[notify]\nmax_age = 31622400\n[[notify.webhook]]\nname = 'hook'\n"
        f"url = 'http://127.0.0.1:{receiver.server_port}/'\n[models]\n{models}"
    )
    processes = Processes(tmp_path, server, config)
    yield processes
    processes.close()
    server.empty()


@pytest.mark.slow
def test_sources_move_and_everything_happens_once(
    processes: Processes, receiver: Receiver, model: ALoRa
) -> None:
    """Killed, paused past its lease, stopped: rows, scores and notifications as if by one."""
    table = plant.values(400, seed=5)
    table[150:170, 1] += 60
    table[300:320, 0] += 60
    rows = plant.rows(table)
    processes.serve(0)
    first, second = processes.start("worker"), processes.start("worker")
    processes.until(lambda: processes.held() == {who(first): 3, who(second): 3})

    # One is paused in the midst of its work until its lease is gone.
    for name in SOURCES:
        processes.send(name, rows[:100])
    first.send_signal(signal.SIGSTOP)
    for name in SOURCES:
        processes.send(name, rows[100:200])
    assert processes.until(lambda: processes.held() == {who(second): 6}) < 30
    unscored = "SELECT 1 FROM sources WHERE unscored > 0"
    processes.until(lambda: not processes.ask(unscored))
    stamp = "SELECT source_id, time_us, xmin::text FROM readings ORDER BY 1, 2"
    before = processes.ask(stamp)
    first.send_signal(signal.SIGCONT)
    # It comes back under another id and gets its part again, without having written anything.
    processes.until(lambda: processes.held() == {who(first): 3, who(second): 3})
    assert processes.ask(stamp) == before

    # One is killed while rows come.
    for name in SOURCES:
        processes.send(name, rows[200:300])
    second.kill()
    assert processes.until(lambda: processes.held() == {who(first): 6}) < 30

    # A third comes, the first is stopped in order: that takes a moment only.
    hands = "SELECT sum(epoch) FROM leases WHERE kind = 'source'"
    changed = processes.ask(hands)[0][0]
    third = processes.start("worker")
    processes.until(lambda: processes.held() == {who(first): 3, who(third): 3})
    # Half of six had to move, and no more did.
    assert processes.ask(hands)[0][0] == changed + 3
    first.terminate()
    first.wait()
    assert processes.until(lambda: processes.held() == {who(third): 6}) < 6
    for name in SOURCES:
        processes.send(name, rows[300:])
    processes.until(lambda: not processes.ask(unscored))

    expected = model.score(plant.frame(table), progress=False)
    for name in SOURCES:
        found = processes.ask(
            "SELECT r.score FROM readings r JOIN sources s ON s.id = r.source_id "
            f"WHERE s.name = '{name}' ORDER BY r.time_us"
        )
        assert_allclose(
            np.array(found)[8:, 0], np.asarray(expected)[8:], rtol=2e-4, atol=1e-6, err_msg=name
        )
    processes.until(lambda: not processes.ask("SELECT 1 FROM outbox WHERE state = 'pending'"))
    incidents = processes.ask("SELECT id FROM incidents WHERE state <> 'withdrawn'")
    opened = [one["incident"]["id"] for one in receiver.told if one["event"] == "opened"]
    assert sorted(opened) == sorted(key for (key,) in incidents)
    assert len(incidents) >= len(SOURCES)


@pytest.mark.slow
def test_serve_starts_workers_and_pages_hear_of_what_they_do(processes: Processes) -> None:
    table = plant.values(300, seed=5)
    table[150:170, 1] += 60
    web = processes.serve(2)
    processes.until(lambda: sorted(processes.held().values()) == [3, 3])
    heard: list[str] = []

    def listen() -> None:
        stream = httpx.stream("GET", processes.url("/api/v1/events"), timeout=60)
        with contextlib.suppress(httpx.TransportError), stream as answer:
            heard.extend(line for line in answer.iter_lines() if line)

    threading.Thread(target=listen, daemon=True).start()
    processes.until(lambda: bool(heard))
    processes.send("s1", plant.rows(table))
    processes.until(lambda: "event: reading" in heard and "event: incident" in heard, 30)
    # A worker that dies is started again.
    child = next(int(name.rpartition(":")[2]) for name in processes.held())
    os.kill(child, signal.SIGKILL)
    gone = f"{os.uname().nodename}:{child}"

    def replaced() -> bool:
        held = processes.held()
        return sorted(held.values()) == [3, 3] and gone not in held

    processes.until(replaced)
    health = httpx.get(processes.url("/api/v1/health"), timeout=60).json()
    found = {one["name"]: one["sources"] for one in health["workers"] if one["alive"]}
    assert sum(found.values()) == 6, found
    web.terminate()
    web.wait()
    assert processes.ask("SELECT 1 FROM workers WHERE name NOT LIKE '%:%'") == []
    assert processes.held() == {}


@pytest.mark.slow
def test_workers_take_up_changed_settings(processes: Processes, receiver: Receiver) -> None:
    """Those that serve started are told by it; others watch their own file."""
    with_hook = processes.config.read_text()
    start, end = with_hook.index("[notify]"), with_hook.index("[models]")
    folder = f"[[connect.directory]]\nname = 'drop'\nsource = 's0'\npath = '{processes.folder}'\n"
    processes.config.write_text(with_hook[:start] + folder + with_hook[end:])
    processes.serve(2)
    own = processes.config = processes.folder / "worker.toml"
    own.write_text((processes.folder / "serve.toml").read_text())
    processes.start("worker")
    processes.until(lambda: sorted(processes.held().values()) == [2, 2, 2])
    drop = "SELECT worker FROM leases WHERE kind = 'connector' AND name = 'drop'"
    processes.until(lambda: [one for (one,) in processes.ask(drop) if one] != [])

    own.write_text(with_hook)
    (processes.folder / "serve.toml").write_text(with_hook)
    log = processes.folder / "log"
    processes.until(lambda: log.read_text().count("took up the changed settings") == 4)
    table = plant.values(200, seed=5)
    table[150:170, 1] += 60
    for name in SOURCES:
        processes.send(name, plant.rows(table))
    told = "SELECT count(DISTINCT incident_id) FROM outbox WHERE state = 'sent'"
    processes.until(lambda: processes.ask(told)[0][0] >= len(SOURCES))
    assert {one["incident"]["source"] for one in receiver.told} == set(SOURCES)
    # A connector that is gone from the settings is nobody's.
    processes.until(lambda: processes.ask(drop) == [(None,)])

    own.write_text(with_hook + "nonsense")

    def error() -> str | None:
        found = httpx.get(processes.url("/api/v1/health"), timeout=60).json()["settings_error"]
        return None if found is None else str(found)

    processes.until(lambda: who(processes.all[-1]) in (error() or ""))
    own.write_text(with_hook)
    processes.until(lambda: error() is None)


def test_sqlite_is_not_shared(tmp_path: Path) -> None:
    with pytest.raises(AloraError, match="PostgreSQL"):
        refuse_sqlite(Settings(folder=tmp_path))


def test_shares_are_fair_and_move_little() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        count = int(rng.integers(1, 6))
        workers = [f"w{number}" for number in range(count)]
        held = {one: int(rng.integers(0, 30)) for one in workers}
        free = int(rng.integers(0, 5))
        total = sum(held.values()) + free
        shares = {one: fair_share(one, workers, total, held) for one in workers}
        assert sum(shares.values()) == total
        assert max(shares.values()) - min(shares.values()) <= 1
        # No other even split lets go of fewer.
        even = sorted(shares.values(), reverse=True)
        given = sum(max(0, held[one] - shares[one]) for one in workers)
        most = sorted(held.values(), reverse=True)
        assert given == sum(max(0, a - b) for a, b in zip(most, even, strict=True))
