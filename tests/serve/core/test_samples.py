"""Unfinished rows of connectors that move to another machine."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

import paho.mqtt.client as mqtt
import pytest
from benchmarks.serve_postgres import Server
from benchmarks.serve_programs import Broker, find_program
from paho.mqtt.enums import CallbackAPIVersion
from sqlalchemy import Connection, select

from alora_ts.serve.assemble import Journal, Sample
from alora_ts.serve.service import Service
from alora_ts.serve.store.leases import Lease, LeaseLostError, claim, join, offer
from alora_ts.serve.store.samples import StoredSamples
from alora_ts.serve.store.schema import samples
from alora_ts.serve.store.store import Store
from tests.conftest import need_program
from tests.serve.core import plant
from tests.serve.core.test_worker_roles import settings_of, until


def publish(port: int, values: dict[str, float], moment: int) -> None:
    client = mqtt.Client(CallbackAPIVersion.VERSION2)
    client.connect("127.0.0.1", port)
    client.loop_start()
    for name, value in values.items():
        payload = json.dumps({"value": value, "time": moment})
        client.publish(f"plant/{name}", payload, qos=1).wait_for_publish(30)
    client.disconnect()
    client.loop_stop()


def kept(service: Service) -> set[str]:
    with service.store.reading() as connection:
        return set(connection.scalars(select(samples.c.signal)))


def test_a_row_begun_on_one_machine_is_finished_on_another(
    tmp_path: Path, model_file: Path, server: Server
) -> None:
    if find_program("mosquitto") is None:
        need_program("mosquitto")
    server.empty()
    moment = int(time.time())
    row = dict(zip(plant.VARIABLES, plant.values(1)[0].tolist(), strict=True))
    halves = [dict(list(row.items())[:2]), dict(list(row.items())[2:])]

    async def check(port: int) -> None:
        line = {
            "name": "line",
            "source": "plant",
            "host": "127.0.0.1",
            "port": port,
            "silent_after": 0,
            "topics": [{"topic": "plant/{variable}"}],
            "assemble": {"step": 1, "wait": 600},
        }
        # Each machine has a folder of its own.
        machines = [
            settings_of(tmp_path / name, model_file, server.address, connect={"mqtt": [line]})
            for name in ("web", "one", "two")
        ]
        # One had kept something before the store was shared.
        (machines[1].folder).mkdir(parents=True)
        journal = Journal(machines[1].folder / "line.journal")
        first = next(iter(halves[0].items()))
        journal.keep([(moment * 10**6, Sample(first[0], moment * 10**6, first[1]))])
        journal.close()
        web = await asyncio.to_thread(Service, machines[0], scores=False)
        one = await asyncio.to_thread(Service, machines[1], web=False)
        async with web.running():
            async with one.running():
                await until(lambda: kept(web) == {first[0]})
                assert not (machines[1].folder / "line.journal").exists()
                await until(lambda: one.tasks.connectors[0].status().state == "connected")
                publish(port, halves[0], moment)
                await until(lambda: kept(web) == set(halves[0]))
            two = await asyncio.to_thread(Service, machines[2], web=False)
            async with two.running():
                publish(port, halves[1], moment)

                def stored() -> bool:
                    two.registry.load()
                    return two.sources.get("plant").rows == 1

                await until(stored)
                found = await two.last_row("plant")
                assert found is not None
                assert (found.time, dict(found.values)) == (moment * 10**6, row)
                await until(lambda: kept(web) == set())

    with Broker(tmp_path / "broker") as broker:
        asyncio.run(check(broker.port))


def test_whoever_lost_the_connector_keeps_and_drops_nothing(server: Server) -> None:
    server.empty()
    store = Store(server.address)

    def begin(connection: Connection) -> None:
        offer(connection, "connector", ["line"])
        for worker in ("w_1", "w_2"):
            join(connection, worker, worker, scores=True)
        claim(connection, "w_2", "connector", alive=[], names=["line"], most=1)

    try:
        store.writer.run(begin)
        past, present = (
            StoredSamples(store, "line", "plant", Lease("connector", "line", who, epoch))
            for who, epoch in (("w_1", 0), ("w_2", 1))
        )
        sample = Sample("flow", 101, None)
        present.keep([(100, sample), (100, sample)])
        assert present.load() == [sample]
        with pytest.raises(LeaseLostError):
            past.keep([(200, sample)])
        with pytest.raises(LeaseLostError):
            past.drop([100])
        other = StoredSamples(store, "line", "other", present._lease)
        assert other.load() == []
        assert past.load() == [sample]
        present.drop([100])
        assert present.load() == []
    finally:
        store.close()
