"""A full disk, too many connections, slow clients, a log that fills: bounded and visible."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
from collections.abc import Iterator

import pytest
import uvicorn
from starlette.exceptions import HTTPException
from starlette.types import Message, Receive, Scope, Send

from alora_ts.serve.http import limits
from alora_ts.serve.http.connection import make_protocol, most_connections
from alora_ts.serve.http.limits import BodyLimit
from alora_ts.serve.operate.log_limit import LogLimit
from tests.serve.core import plant
from tests.serve.core.conftest import Plant

ROWS = "/api/v1/sources/plant/rows"


def pages(here: Plant, most: int) -> None:
    """Let SQLite believe that the disk has room for so many pages."""
    engine = here.service.store._writing
    with engine.begin() as connection:
        connection.exec_driver_sql(f"PRAGMA max_page_count={most}")


def test_a_full_disk_is_said_counted_and_survived(here: Plant) -> None:
    table = plant.values(3000)
    assert here.client.get("/readyz").status_code == 200
    pages(here, 1)
    full = here.client.post(ROWS, json={"rows": plant.rows(table)})
    assert full.status_code == 503
    assert full.headers["retry-after"] == "5"
    assert full.headers["x-content-type-options"] == "nosniff"
    assert here.client.get("/readyz").status_code == 503
    metrics = here.client.get("/metrics").text
    assert "alora_storage_errors_total 1.0" in metrics
    assert 'alora_http_requests_total{method="POST",status="503"} 1.0' in metrics
    pages(here, 2**30)
    assert here.send(plant.rows(table))["accepted"] == len(table)
    assert here.client.get("/readyz").status_code == 200


def test_a_bug_is_answered_with_our_headers_and_counted(
    here: Plant, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("alora_ts.serve.http.endpoints.sources.show_sources", broken)
    answer = here.client.get("/api/v1/sources")
    assert answer.status_code == 500
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "a bug" not in answer.text
    assert "a bug" in caplog.text
    counted = 'alora_http_requests_total{method="GET",status="500"} 1.0'
    assert counted in here.client.get("/metrics").text


async def hello(_scope: Scope, _receive: Receive, send: Send) -> None:
    length = [(b"content-length", b"5")]
    await send({"type": "http.response.start", "status": 200, "headers": length})
    await send({"type": "http.response.body", "body": b"hello"})


@pytest.fixture
def port() -> Iterator[int]:
    protocol = make_protocol(connections=20, headers_within=0.5)
    server = uvicorn.Server(
        uvicorn.Config(hello, port=0, http=protocol, lifespan="off", log_level="error")
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    thread.join()


def ask(port: int) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as one:
        one.sendall(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        return b"".join(iter(lambda: one.recv(4096), b""))


def ends_within(one: socket.socket, seconds: float) -> bool:
    one.settimeout(seconds)
    try:
        return one.recv(1) == b""
    except ConnectionError:
        return True
    except TimeoutError:
        return False


def test_idle_connections_are_closed_and_make_room(port: int) -> None:
    idle = [socket.create_connection(("127.0.0.1", port), timeout=10) for _ in range(60)]
    assert all(ends_within(one, 5.0) for one in idle)
    assert b"hello" in ask(port)
    for one in idle:
        one.close()


def test_slow_headers_are_cut_off(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as slow:
        began = time.monotonic()
        slow.sendall(b"GET / HTTP/1.1\r\n")
        assert ends_within(slow, 5.0)
        assert time.monotonic() - began < 4
    with socket.create_connection(("127.0.0.1", port), timeout=10) as kept:
        for _ in range(2):  # the second request's headers have their own time
            kept.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
            while b"hello" not in kept.recv(4096):
                pass
        kept.sendall(b"GET / HT")
        assert ends_within(kept, 5.0)


def test_no_more_connections_than_files() -> None:
    assert most_connections(10) == 10
    assert 1 <= most_connections(10**9) <= 10**9


def test_slow_bodies_are_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "_SECONDS", 0.2)
    heard: list[Message] = []

    async def app(_scope: Scope, receive: Receive, _send: Send) -> None:
        while (await receive()).get("more_body"):
            pass
        # Waiting for the client to leave, as a live stream does, has no end.
        heard.append(await receive())

    async def drip(seconds: float) -> None:
        parts = iter([b"a", b"b", b""])

        async def receive() -> Message:
            await asyncio.sleep(seconds)
            body = next(parts, None)
            if body is None:
                await asyncio.sleep(0.4)
                return {"type": "http.disconnect"}
            return {"type": "http.request", "body": body, "more_body": bool(body)}

        async def send(message: Message) -> None:
            raise AssertionError(message)

        scope: Scope = {"type": "http", "path": "/", "headers": []}
        await BodyLimit(app, lambda _: 100)(scope, receive, send)

    with pytest.raises(HTTPException, match="too slowly"):
        asyncio.run(drip(0.15))
    asyncio.run(drip(0.0))
    assert heard == [{"type": "http.disconnect"}]


def test_a_repeated_message_does_not_fill_the_log() -> None:
    now = 0.0
    limit = LogLimit(most=2, now=lambda: now)

    def passes(text: str) -> logging.LogRecord | None:
        record = logging.LogRecord("x", logging.ERROR, "", 0, text, (1,), None)
        return record if limit.filter(record) else None

    assert [passes("disk %d") is not None for _ in range(6)] == [True, True, *[False] * 4]
    assert passes("other %d") is not None
    now = 61.0
    record = passes("disk %d")
    assert record is not None
    assert record.getMessage() == "disk 1 (4 more like it were left out)"
