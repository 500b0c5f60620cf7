"""Lines of JSON: rows until the input ends, whatever stands in between."""

from __future__ import annotations

import asyncio
import io
import json
import os
import threading
from pathlib import Path

from alora_ts.serve.connect.payload import MAX_PAYLOAD
from alora_ts.serve.connect.settings import StdinSettings
from alora_ts.serve.connect.stdin import StdinConnector
from tests.serve.connect.host import MemoryHost, running, until

SETTINGS = StdinSettings(source="plant")
SECOND = 1_000_000


def test_good_lines_are_stored_and_bad_ones_counted(tmp_path: Path) -> None:
    lines = [json.dumps({"time": at, "values": {"a": at}}) for at in range(2500)]
    lines[10:10] = ["", "   ", "nonsense", '{"a": 1}', "x" * (2 * MAX_PAYLOAD)]
    stream = io.BufferedReader(io.BytesIO("\n".join(lines).encode()))
    host = MemoryHost(tmp_path, "a")
    link = StdinConnector(SETTINGS, stream=stream)
    asyncio.run(link.run(host))
    assert sorted(host.rows) == [at * SECOND for at in range(2500)]
    status = link.status()
    assert status.state == "done"
    assert status.rejected["not JSON"] >= 1
    assert status.rejected["no time"] == 1
    assert status.rejected["payload too big"] >= 1


def test_an_empty_input_is_done_at_once(tmp_path: Path) -> None:
    link = StdinConnector(SETTINGS, stream=io.BufferedReader(io.BytesIO()))
    asyncio.run(link.run(MemoryHost(tmp_path, "a")))
    assert link.status().state == "done"


def test_an_input_that_stays_open_does_not_hold_the_service(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    host = MemoryHost(tmp_path, "a")

    async def story() -> None:
        with os.fdopen(reading, "rb") as stream:
            async with running(StdinConnector(SETTINGS, stream=stream), host):
                os.write(writing, b'{"time": 1, "a": 1}\n{"time": 2, "a"')
                await until(lambda: len(host.rows) == 1)
                os.write(writing, b": 2}\n")
                await until(lambda: len(host.rows) == 2)
            os.close(writing)
            # Its thread reads to the end, before the file is closed under it.
            for thread in threading.enumerate():
                if thread.name == "read-stdin":
                    await asyncio.to_thread(thread.join)

    asyncio.run(story())
