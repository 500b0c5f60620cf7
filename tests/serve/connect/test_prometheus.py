"""Rows from a real Prometheus, and what a strange one answers."""

from __future__ import annotations

import asyncio
import http.server
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from alora_ts.errors import DataError
from alora_ts.serve.connect.prometheus import PrometheusConnector, assemble_rows, read_matrix
from alora_ts.serve.connect.settings import PrometheusSettings
from alora_ts.serve.rows.interface import Row
from alora_ts.serve.times import now_micros
from tests.serve.connect.host import MemoryHost, running, until
from tests.serve.connect.past_prometheus import prometheus_with

SECOND = 1_000_000
START = 1_700_000_000


def poller(url: str, **changes: Any) -> PrometheusConnector:
    return PrometheusConnector(
        PrometheusSettings.model_validate(
            {
                "name": "prom",
                "source": "plant",
                "url": url,
                "queries": {"a": "a", "b": "sum(b)"},
                "step": 1,
                "lag": 1,
                "silent_after": 0,
                **changes,
            }
        )
    )


@dataclass(frozen=True)
class Server:
    """A Prometheus, and the second up to which its past was made."""

    url: str
    began: int


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that has a past: the ten minutes before it began."""
    now = now_micros() // SECOND
    lines = ["# TYPE a gauge"]
    lines += [f"a {at % 7} {at}" for at in range(now - 600, now - 30)]
    lines += ["# TYPE b gauge"]
    for at in range(now - 600, now - 300):
        lines += [f'b{{part="1"}} 1 {at}', f'b{{part="2"}} 2 {at}']
    with prometheus_with(lines, tmp_path_factory.mktemp("prometheus")) as place:
        yield Server(f"http://{place}", now)


@pytest.mark.slow
def test_the_past_is_fetched_from_the_last_stored_row_on(
    prometheus: Server, tmp_path: Path
) -> None:
    host = MemoryHost(tmp_path, "a", "b")
    reached = (prometheus.began - 400) * SECOND
    host.rows[reached] = {"a": 99.0, "b": 99.0}

    async def story() -> PrometheusConnector:
        link = poller(prometheus.url, silent_after=15)
        async with running(link, host):
            await until(lambda: host.silences)
        return link

    link = asyncio.run(story())
    times = sorted(host.rows)
    assert times[0] == reached, "nothing before the last stored row is asked for"
    assert {b - a for a, b in pairwise(times)} == {SECOND}
    assert len(times) > 300
    for moment in times[1:-40]:
        assert host.rows[moment]["a"] == moment // SECOND % 7
    assert host.rows[times[50]]["b"] == 3.0
    assert host.rows[times[200]] == {"a": times[200] // SECOND % 7, "b": None}
    assert host.silences[-1].keys() == {"a", "b"}
    assert link.status().state == "connected"


@pytest.mark.slow
def test_new_values_keep_coming(prometheus: Server, tmp_path: Path) -> None:
    host = MemoryHost(tmp_path, "a")
    # What the server makes itself comes on time however busy the machine is.
    query = {"a": "vector(time())"}

    async def story() -> None:
        async with running(poller(prometheus.url, queries=query, backfill=3), host):
            await until(lambda: host.rows)
            first = max(host.rows)
            await until(lambda: max(host.rows) >= first + 3 * SECOND)

    asyncio.run(story())
    times = sorted(host.rows)
    assert {b - a for a, b in pairwise(times)} == {SECOND}
    assert [host.rows[moment]["a"] for moment in times] == [moment / SECOND for moment in times]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("queries", "message"),
    [
        ({"a": "b"}, "2 series where one is needed"),
        ({"a": "sum("}, "Prometheus refused it"),
        ({"zzz": "a"}, "queries for zzz"),
    ],
)
def test_bad_queries_are_visible(
    prometheus: Server, tmp_path: Path, queries: dict[str, str], message: str
) -> None:
    async def story() -> str:
        link = poller(prometheus.url, queries=queries)
        async with running(link, MemoryHost(tmp_path, "a")):
            await until(lambda: link.status().state == "failed")
        return link.status().last_error or ""

    assert message in asyncio.run(story())


class _Strange(http.server.BaseHTTPRequestHandler):
    """Answers as no Prometheus does, and remembers how it was asked."""

    logins: list[str] = []  # noqa: RUF012 - shared by design

    def do_POST(self) -> None:
        self.logins.append(self.headers.get("Authorization", ""))
        self.send_response(404)
        self.end_headers()
        self.wfile.write(b"<html>")

    def log_message(self, *_: Any) -> None:
        pass


def test_another_server_and_none_at_all(tmp_path: Path) -> None:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Strange)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    async def story() -> tuple[str, str]:
        host = MemoryHost(tmp_path, "a", "b")
        strange = poller(f"http://127.0.0.1:{server.server_port}", token="hush")
        absent = poller("http://127.0.0.1:1")
        async with running(strange, host), running(absent, host):
            await until(lambda: strange.status().last_error and absent.status().last_error)
        return strange.status().last_error or "", absent.status().last_error or ""

    strange, absent = asyncio.run(story())
    server.shutdown()
    server.server_close()
    assert "not that of a Prometheus server" in strange
    assert "does not answer" in absent
    # Asked again while we waited for the other, perhaps.
    assert set(_Strange.logins) == {"Bearer hush"}
    assert "hush" not in strange


@pytest.mark.parametrize(
    "answer",
    [None, [], {}, {"status": "success"}, {"status": "success", "data": {"result": [{}]}}],
)
def test_answers_of_another_form_are_refused(answer: Any) -> None:
    with pytest.raises(DataError, match="not that of a Prometheus"):
        read_matrix(answer)


def test_values_that_are_not_finite_are_missing() -> None:
    values = [[1, "1"], [2, "NaN"], [3, "+Inf"], [4, "-Inf"], [5, "5e-3"]]
    answer = {"status": "success", "data": {"result": [{"values": values}]}}
    assert read_matrix(answer) == {1 * SECOND: 1.0, 5 * SECOND: 0.005}
    assert read_matrix({"status": "success", "data": {"result": []}}) == {}


def test_rows_are_the_union_of_moments() -> None:
    assert assemble_rows({"a": {2: 1.0}, "b": {1: 3.0, 2: 2.0}}) == [
        Row(1, {"a": None, "b": 3.0}),
        Row(2, {"a": 1.0, "b": 2.0}),
    ]
    assert assemble_rows({"a": {}}) == []
