"""Who of several processes on one store does what: web part, workers, connectors, tasks."""

from __future__ import annotations

import asyncio
import functools
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.serve_kafka_cluster import MockCluster
from benchmarks.serve_postgres import Server
from benchmarks.serve_programs import free_port
from numpy.testing import assert_allclose
from sqlalchemy import text

from alora_ts import ALoRa
from alora_ts.serve.operate.health import show_health
from alora_ts.serve.rows.interface import Row
from alora_ts.serve.service import Service
from alora_ts.serve.settings import Settings
from alora_ts.serve.store.leases import join, renew
from alora_ts.serve.store.outbox import post
from alora_ts.serve.store.sources import save_recalibration
from alora_ts.serve.times import to_micros
from alora_ts.serve.workers.show import show_workers
from tests.serve.core import plant
from tests.serve.core.conftest import stored_scores


def settings_of(tmp_path: Path, model_file: Path, address: str, **more: Any) -> Settings:
    settings = {"folder": tmp_path / "d", "store": address, "late_limit": 1e6, "silent_after": 0}
    return Settings.model_validate({**settings, "models": {"plant": model_file}, **more})


@asynccontextmanager
async def processes(settings: Settings, workers: int) -> AsyncIterator[list[Service]]:
    """A web part and workers, all in this process."""
    web = await asyncio.to_thread(Service, settings, scores=False)
    others = [await asyncio.to_thread(Service, settings, web=False) for _ in range(workers)]
    running = [one.running() for one in (web, *others)]
    for one in running:
        await one.__aenter__()
    try:
        yield [web, *others]
    finally:
        for one in running:
            await one.__aexit__(None, None, None)


async def until(done: Callable[[], bool], seconds: float = 60) -> None:
    limit = time.monotonic() + seconds
    while not await asyncio.to_thread(done):
        assert time.monotonic() < limit
        await asyncio.sleep(0.05)


def rows_of(table: np.ndarray[Any, Any]) -> list[Row]:
    return [Row(to_micros(one["time"]), one["values"]) for one in plant.rows(table)]


def test_each_connector_and_task_runs_where_it_belongs(
    tmp_path: Path, model_file: Path, server: Server
) -> None:
    server.empty()
    cluster = MockCluster()
    cluster.send("plant.rows", [("nobody", "{}")])
    topic = [{"topic": "plant.rows", "payload": "row"}]
    bus = {"source": "{key}", "brokers": cluster.address, "topics": topic}
    series = [{"match": {"_field": "flow"}, "variable": "flow"}]
    connect = {
        "kafka": [
            {"name": "shared", "silent_after": 0, **bus},
            {"name": "watched", "silent_after": 300, **bus},
        ],
        "influx": [{"name": "lines", "source": "plant", "series": series, "assemble": {"step": 1}}],
    }
    settings = settings_of(tmp_path, model_file, server.address, connect=connect)

    async def check() -> None:
        async with processes(settings, 2) as (web, one, two):
            both = (one, two)
            await until(lambda: any(w.tasks.runs("watched") for w in both))
            assert [w.tasks.runs("lines") for w in (web, one, two)] == [True, False, False]
            assert [w.tasks.runs("shared") for w in (web, one, two)] == [False, True, True]
            assert sum(w.tasks.runs("watched") for w in (web, one, two)) == 1
            assert not web.tasks.runs("watched")
            for task in ("mutes", "patterns", "silence", "clean-up"):
                await until(lambda task=task: any(w.share.holds("task", task) for w in both))
                assert [w.share.holds("task", task) for w in (web, *both)].count(True) == 1
            # Rows that any of the group reads are stored once and counted together.
            sent = plant.rows(plant.values(40))
            cluster.send("plant.rows", [("plant", _json(row)) for row in sent])

            def all_there() -> bool:
                web.registry.load()
                return web.sources.get("plant").rows == len(sent)

            await until(all_there)

            def shown() -> dict[str, Any]:
                return {one["name"]: one for one in show_health(web)["connectors"]}

            await until(lambda: shown()["shared"]["received"] >= len(sent))
            await until(lambda: shown()["watched"]["state"] == "connected")

    asyncio.run(check())


def test_a_source_collects_in_one_process_and_is_scored_in_another(
    tmp_path: Path, model_file: Path, model: ALoRa, server: Server
) -> None:
    server.empty()
    settings = settings_of(tmp_path, model_file, server.address)
    table = plant.values(300, seed=2)
    rows = rows_of(table)

    async def check() -> None:
        async with processes(settings, 1) as (web, worker):
            await asyncio.to_thread(web.registry.collect, "new")
            first = [Row(row.time, {"flow": row.values["flow"]}) for row in rows[:50]]
            await web.accept("new", first)
            await until(lambda: any(one.name == "new" for one in worker.sources.all()))
            # What each hears of first stands first; neither loses what the other has.
            await worker.accept("new", rows[:100])
            await web.accept("new", [Row(rows[0].time, {"extra": 1.0}), *rows[100:]])
            here, there = web.sources.get("new"), worker.sources.get("new")
            assert set(here.variables) == {*plant.VARIABLES, "extra"}
            assert (here.unscored, there.unscored) == (0, 0)
            await asyncio.to_thread(web.registry.activate, "new", web.sources.get("plant").active)
            await until(lambda: not there.collecting and _all_scored(worker, len(rows)))
            assert there.variables == here.variables
            assert there.bucket_us == here.bucket_us
            assert there.threshold == here.threshold < np.inf
            expected = model.score(plant.frame(table), progress=False)
            found = await asyncio.to_thread(stored_scores, worker, there)
            assert_allclose(found[8:], expected[8:], rtol=2e-4, atol=1e-6)

    asyncio.run(check())


def test_any_page_shows_a_channel_that_fails(
    tmp_path: Path, model_file: Path, server: Server
) -> None:
    server.empty()
    hook = {"name": "pager", "url": f"http://127.0.0.1:{free_port()}/"}
    notify = {"webhook": [hook]}
    settings = settings_of(tmp_path, model_file, server.address, notify=notify)

    async def check() -> None:
        async with processes(settings, 1) as (web, _):
            incident = {"id": "i_1", "source": "plant", "kind": "anomaly", "culprits": []}
            web.store.writer.run(lambda c: post(c, ["pager"], "opened", incident))
            await until(lambda: any("pager" in one for one in show_health(web)["wrong"]))
            channel = show_health(web)["channels"][0]
            assert channel["failing_since"] is not None
            assert channel["pending"] == 1

    asyncio.run(check())


def _json(row: dict[str, Any]) -> str:
    return json.dumps(row)


def _all_scored(service: Service, count: int) -> bool:
    return len(stored_scores(service, service.sources.get("new"))) == count


def test_one_that_came_back_is_shown_once_and_what_waited_is_not_its(
    tmp_path: Path, model_file: Path, server: Server
) -> None:
    server.empty()

    async def check() -> None:
        settings = settings_of(tmp_path, model_file, server.address)
        web = await asyncio.to_thread(Service, settings, scores=False)
        try:
            with web.store._writing.begin() as connection:
                for name in ("host:1", "host:2"):
                    join(connection, f"w_old_{name}", name, scores=True)
                    renew(connection, f"w_old_{name}", {"unscored": 7, "lag": 9.0, "readings": 3})
                ended = "UPDATE workers SET until_us = until_us - 60000000 WHERE name LIKE 'host%'"
                connection.execute(text(ended))
                join(connection, "w_back", "host:1", scores=True)
            with web.store.reading() as connection:
                shown = {one["name"]: one for one in show_workers(web, connection)}
                count = len(show_workers(web, connection))
            assert count == len(shown) == 3
            assert (shown["host:1"]["id"], shown["host:1"]["alive"]) == ("w_back", True)
            gone = shown["host:2"]
            assert (gone["alive"], gone["unscored"], gone["lag"]) == (False, 0, 0.0)
            assert gone["readings"] == 3
        finally:
            await asyncio.to_thread(web.close)

    asyncio.run(check())


def test_sources_that_change_together_are_taken_up_together(
    tmp_path: Path, model_file: Path, server: Server
) -> None:
    """A worker hears of many sources and alarm levels while it looks at the first of them."""
    server.empty()
    names = [f"s{number}" for number in range(40)]

    async def check() -> None:
        settings = settings_of(tmp_path, model_file, server.address)
        async with processes(settings, 1) as (web, worker):
            files = dict.fromkeys(names, model_file)
            await asyncio.to_thread(web.registry.import_files, files)
            await until(lambda: len(worker.sources.all()) == len(names) + 1)
            assert worker.models.loaded == 0
            for name in names:
                source = web.sources.get(name)
                known, level = source.active, 5.0 + source.id

                def write(connection: Any, *, number: int, model: str, value: float) -> None:
                    save_recalibration(connection, number, model, value, "")

                await asyncio.to_thread(
                    web.store.writer.run,
                    functools.partial(write, number=source.id, model=known, value=level),
                )
                await asyncio.to_thread(web.registry.refresh_threshold, source)

            def taken_up() -> bool:
                pairs = [(web.sources.get(one), worker.sources.get(one)) for one in names]
                return all(here.threshold == there.threshold for here, there in pairs)

            assert web.sources.get("s3").threshold == 5.0 + web.sources.get("s3").id
            await until(taken_up)

    asyncio.run(check())
