"""The whole way: separate signals over MQTT, an incident with its culprit, a webhook, a silence."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from benchmarks.serve_process import make_model, make_rows
from benchmarks.serve_programs import Broker, free_port

from alora_ts import Architecture
from alora_ts.serve.http.app import create_app
from alora_ts.serve.service import Service
from alora_ts.serve.settings import Settings
from alora_ts.serve.times import now_micros
from tests.serve.connect.host import until
from tests.serve.connect.test_mqtt import publish
from tests.serve.notify.servers import Hook, webhook

NAMES = ("x0", "x1", "x2")
PATIENCE = 300.0


def settings(folder: Path, broker: Broker, hook: int) -> Settings:
    return Settings.model_validate(
        {
            "folder": folder / "data",
            "models": {"plant": folder / "plant.alora"},
            "connect": {
                "mqtt": [
                    {
                        "name": "line",
                        "source": "plant",
                        "host": "127.0.0.1",
                        "port": broker.port,
                        "silent_after": 4,
                        "topics": [{"topic": "plant/{variable}"}],
                        "assemble": {"step": 1, "wait": 1},
                    }
                ]
            },
            "notify": {
                "webhook": [{"name": "pager", "url": f"http://127.0.0.1:{hook}/", "secret": "s"}]
            },
        }
    )


@contextlib.asynccontextmanager
async def serving(given: Settings) -> AsyncIterator[httpx.AsyncClient]:
    service = Service(given)
    app = create_app(service)
    async with (
        service.running(),
        httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://127.0.0.1/api/v1"
        ) as client,
    ):
        yield client


async def ask(client: httpx.AsyncClient, path: str) -> Any:
    answer = await client.get(path)
    assert answer.is_success, answer.text
    return answer.json()


async def incidents(
    client: httpx.AsyncClient, kind: str, *, state: str | None = None
) -> list[dict[str, Any]]:
    found = await ask(client, "/incidents" if state is None else f"/incidents?state={state}")
    return [one for one in found["items"] if one["kind"] == kind]


def begun(hook: Hook) -> list[dict[str, Any]]:
    """The anomalies whose beginning the receiver has heard of."""
    told = [json.loads(body) for _, body in hook.requests]
    found = [one["incident"] for one in told if one["event"] == "opened"]
    return [incident for incident in found if incident["kind"] == "anomaly"]


@pytest.mark.slow
def test_from_signals_to_the_pager(broker: Broker, tmp_path: Path) -> None:
    make_model(
        tmp_path / "plant.alora",
        3,
        window=6,
        architecture=Architecture(layers=1, heads=2),
        epochs=1,
        epoch_windows=128,
    )
    rows = make_rows(3000, 3, seed=99)[150:270]
    rows[90:100, 1] += 25.0
    start = now_micros() // 1_000_000 - 200
    messages: list[tuple[str, str | bytes]] = [
        (f"plant/{name}", json.dumps({"value": value, "time": start + at}))
        for at, row in enumerate(rows.tolist())
        for name, value in zip(NAMES, row, strict=True)
    ]
    messages[100:100] = [("plant/x0", b"warm"), ("plant/zzz", b"1")]
    port = free_port()

    async def first_life() -> None:
        """The receiver is away; what it should hear is kept."""
        async with serving(settings(tmp_path, broker, port)) as client:

            async def connected() -> bool:
                health = await ask(client, "/health")
                return bool(health["connectors"][0]["state"] == "connected")

            async def readings() -> list[dict[str, Any]]:
                page = await ask(client, "/sources/plant/readings?limit=200")
                return list(page["items"])

            async with asyncio.timeout(PATIENCE):
                while not await connected():
                    await asyncio.sleep(0.05)
                await asyncio.to_thread(publish, broker, *messages)
                while len(found := await readings()) < len(rows):
                    await asyncio.sleep(0.1)
                while not (await incidents(client, "anomaly")):
                    await asyncio.sleep(0.1)
            health = await ask(client, "/health")
            assert health["connectors"][0]["rejected"] == {"not a number": 1, "unknown signal": 1}
            got = [[item["values"][name] for name in NAMES] for item in found]
            np.testing.assert_array_equal(got, rows)

    async def second_life(hook: Hook) -> list[dict[str, Any]]:
        async with serving(settings(tmp_path, broker, port)) as client:
            await until(lambda: begun(hook))
            # Nobody sends any more.
            async with asyncio.timeout(PATIENCE):
                while True:
                    silent = await incidents(client, "silence", state="open")
                    if silent and len(silent[0]["culprits"]) == len(NAMES):
                        break
                    await asyncio.sleep(0.2)
            health = await ask(client, "/health")
            assert health["connectors"][0]["silent"] == list(NAMES)
            return silent

    asyncio.run(first_life())
    with webhook(port=port) as hook:
        silent = asyncio.run(second_life(hook))
    told = [json.loads(body) for _, body in hook.requests]
    opened = begun(hook)[0]
    assert opened["source"] == "plant"
    assert opened["culprits"][0]["variable"] == "x1"
    assert len({one["id"] for one in told}) == len(told)
    # A dead gateway is one incident that names all its signals, and one message.
    assert [[one["variable"] for one in each["culprits"]] for each in silent] == [list(NAMES)]
    began = [one for one in told if one["event"] == "opened"]
    assert len([one for one in began if one["incident"]["kind"] == "silence"]) <= 1
