"""A full disk, too many connections, slow clients, a log that fills: bounded and visible."""

from __future__ import annotations

import asyncio
import logging
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest
import uvicorn
from starlette.exceptions import HTTPException
from starlette.types import Message, Receive, Scope, Send

from alora_ts.serve.http import limits
from alora_ts.serve.http.connection import make_protocol, most_connections
from alora_ts.serve.http.limits import BodyLimit
from alora_ts.serve.operate.log_limit import LogLimit
from alora_ts.serve.settings import Settings
from tests.serve.core import plant
from tests.serve.core.conftest import Plant

Start = Callable[[Settings], Plant]
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
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("alora_ts.serve.http.endpoints.sources.show_sources", broken)
    answer = here.client.get("/api/v1/sources")
    assert answer.status_code == 500
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "a bug" not in answer.text
    assert "a bug" in caplog.text
    counted = 'alora_http_requests_total{method="GET",status="500"} 1.0'
    assert counted in here.client.get("/metrics").text


def test_rows_are_refused_while_too_many_wait(serve: Start, settings: Settings) -> None:
    here = serve(settings.model_copy(update={"backlog_limit": 1000}))
    here.service.crew.close()  # nobody scores
    rows = plant.rows(plant.values(1500))
    assert here.send(rows[:1200])["accepted"] == 1200
    answer = here.client.post(ROWS, json={"rows": rows[1200:]})
    assert answer.status_code == 503
    assert "retry-after" in answer.headers
    assert here.source.rows == 1200
    text = here.client.get("/metrics").text
    assert 'alora_unscored_rows{source="plant"} 1200.0' in text
    assert 'alora_refused_requests_total{source="plant"} 1.0' in text
    lag = re.search(r'alora_scoring_lag_seconds{source="plant"} (\S+)', text)
    assert lag is not None
    assert float(lag[1]) > 0


def test_the_backlog_is_known_after_a_restart(serve: Start, settings: Settings) -> None:
    first = serve(settings)
    first.service.crew.close()
    first.send(plant.rows(plant.values(300)))
    first.client.__exit__(None, None, None)
    second = serve(settings)
    second.settle()
    deadline = time.monotonic() + 60
    while second.source.unscored and time.monotonic() < deadline:
        time.sleep(0.02)  # the count follows the commit
    assert second.source.unscored == 0
    text = second.client.get("/metrics").text
    assert 'alora_unscored_rows{source="plant"} 0.0' in text
    assert 'alora_scoring_lag_seconds{source="plant"} 0.0' in text


def test_metrics_hold_what_an_operator_watches(here: Plant) -> None:
    table = plant.values(120)
    table[90:, 1] += 500
    here.send(plant.rows(table))
    here.settle()
    text = here.client.get("/metrics").text
    found = re.search(r'alora_open_incidents{kind="anomaly",severity="\w+",source="plant"} 1', text)
    assert found, text
    for name in (
        "alora_dead_letters 0.0",
        "alora_pending_notifications 0.0",
        "alora_store_up 1.0",
        'alora_scoring_trouble{source="plant"} 0.0',
        "alora_store_bytes ",
        "alora_free_disk_bytes ",
        'alora_last_arrival_timestamp_seconds{source="plant"}',
        "alora_waiting_writes ",
    ):
        assert name in text, name


def test_a_row_from_the_future_is_refused(here: Plant) -> None:
    here.send(plant.rows(plant.values(30)))
    ahead = datetime.now(UTC) + timedelta(seconds=60)
    row = {"time": ahead.isoformat(), "values": {"flow": 1.0}}
    answer = here.client.post("/api/v1/sources/plant/rows", json=row)
    assert answer.status_code == 422
    assert "ahead of this machine's clock by more than 10 s" in answer.text
    row["time"] = (datetime.now(UTC) + timedelta(seconds=2)).isoformat()
    assert here.send([row])["accepted"] == 1


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
