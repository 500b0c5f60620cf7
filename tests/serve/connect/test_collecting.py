"""Connectors may feed a source before it has a model."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import polars as pl
import pytest
from benchmarks.serve_programs import Broker

from alora_ts.serve.check import check_settings
from alora_ts.serve.settings import Settings
from alora_ts.serve.times import now_micros
from tests.serve.connect.test_live import PATIENCE, ask, serving
from tests.serve.connect.test_mqtt import publish


async def _collected(client: httpx.AsyncClient, rows: int) -> Any:
    async with asyncio.timeout(PATIENCE):
        while (found := await ask(client, "/sources/plant"))["rows"] < rows:
            await asyncio.sleep(0.1)
    assert found["state"] == "collecting"
    return found


@pytest.mark.slow
def test_signals_over_mqtt_become_variables_as_they_come(broker: Broker, tmp_path: Path) -> None:
    given = Settings.model_validate(
        {
            "folder": tmp_path / "data",
            "collect": ["plant"],
            "connect": {
                "mqtt": [
                    {
                        "name": "line",
                        "source": "plant",
                        "host": "127.0.0.1",
                        "port": broker.port,
                        "topics": [
                            {"topic": "plant/{variable}"},
                            {"topic": "rows", "payload": "row"},
                        ],
                        "assemble": {"step": 1, "wait": 1},
                    }
                ]
            },
        }
    )
    check_settings(given)
    start = now_micros() // 1_000_000 - 100
    messages: list[tuple[str, str | bytes]] = [
        (f"plant/{name}", json.dumps({"value": value, "time": start + at}))
        for at in range(20)
        for name, value in (("flow", 1.0 + at), ("level", 2.0 * at))
    ]
    row = {"time": start + 50, "values": {"heat": 3.5, "flow": 1}}

    async def story() -> None:
        async with serving(given) as client:
            async with asyncio.timeout(PATIENCE):
                while (await ask(client, "/health"))["connectors"][0]["state"] != "connected":
                    await asyncio.sleep(0.05)
            await asyncio.to_thread(publish, broker, *messages, ("rows", json.dumps(row)))
            found = await _collected(client, 21)
            assert set(found["variables"]) == {"flow", "level", "heat"}
            stored = await ask(client, "/sources/plant/rows")
            at = [stored["variables"].index(name) for name in ("flow", "level")]
            values = [[item["values"][place] for place in at] for item in stored["items"][:20]]
            assert values == [[1.0 + at, 2.0 * at] for at in range(20)]

    asyncio.run(story())


def test_files_of_a_folder_bring_their_columns(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    frame = pl.DataFrame({"time": ["2026-03-01T00:00:00", "2026-03-01T00:00:01"], "a": [1, 2]})
    frame.write_csv(folder / "one.csv")
    given = Settings.model_validate(
        {
            "folder": tmp_path / "data",
            "collect": ["plant"],
            "connect": {
                "directory": [
                    {"name": "in", "source": "plant", "path": folder, "settle": 0, "every": 0.1}
                ]
            },
        }
    )

    async def story() -> None:
        async with serving(given) as client:
            await _collected(client, 2)
            later = pl.DataFrame({"time": ["2026-03-01T00:00:02"], "b": [0.5], "a": [3]})
            later.write_csv(folder / ".two.csv")
            (folder / ".two.csv").rename(folder / "two.csv")
            found = await _collected(client, 3)
            assert found["variables"] == ["a", "b"]

    asyncio.run(story())
