"""What a real Prometheus writes to us, and what an attacker would."""

from __future__ import annotations

import http.server
import math
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest
from benchmarks.serve_programs import find_program, free_port, wait_for_port
from cramjam import snappy

from alora_ts.errors import DataError
from alora_ts.serve.connect import remote_write
from alora_ts.serve.connect.receiver import Point
from alora_ts.serve.connect.remote_write import read_write_request
from alora_ts.serve.problems import BacklogError
from alora_ts.serve.times import now_micros
from tests.conftest import need_program
from tests.serve.connect.serving import Served, served, small_model, wait_until

SECOND = 1_000_000
KIND = {"content-type": "application/x-protobuf", "content-encoding": "snappy"}
SERIES = [
    {"match": {"__name__": "pump_flow", "line": "3"}, "variable": "x0"},
    {"match": {"__name__": "pump_level"}, "variable": "x1"},
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_model(tmp_path_factory.mktemp("model") / "plant.alora")


def settings(folder: Path, model: Path, **changes: Any) -> dict[str, Any]:
    section = {
        "name": "prom",
        "source": "plant",
        "series": SERIES,
        "assemble": {"step": 1, "hold": 3, "wait": 2},
        "silent_after": 0,
        **changes,
    }
    return {
        "folder": folder,
        "models": {"plant": model, "other": model},
        "connect": {"remote_write": [section]},
    }


@pytest.fixture
def here(tmp_path: Path, model: Path) -> Iterator[Served]:
    with served(settings(tmp_path, model)) as running:
        yield running


def request(*series: tuple[dict[str, str], list[tuple[int, float]]]) -> bytes:
    """A request; times in milliseconds."""
    message = remote_write._WriteRequest()
    for labels, samples in series:
        one = message.timeseries.add()
        for name, value in labels.items():
            one.labels.add(name=name, value=value)
        for moment, number in samples:
            one.samples.add(timestamp=moment, value=number)
    return bytes(snappy.compress_raw(message.SerializeToString()))


def send(here: Served, body: bytes, token: str | None = None, **headers: str) -> httpx.Response:
    login = {} if token is None else {"authorization": f"Bearer {token}"}
    url = f"{here.url}/api/v1/write"
    return httpx.post(url, content=body, headers={**KIND, **login, **headers}, timeout=60)


class _Exporter(http.server.BaseHTTPRequestHandler):
    """The time in seconds as two signals, a third that nobody asked for; level can stop."""

    level = True

    def do_GET(self) -> None:
        now = time.time()
        lines = [f'pump_flow{{line="3"}} {now}', f'pump_flow{{line="4"}} {-now}']
        lines += [f"pump_level {2 * now}"] if self.level else []
        body = "\n".join([*lines, "noise NaN", ""]).encode()
        self.send_response(200)
        self.send_header("content-type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.mark.slow
def test_a_real_prometheus_writes_with_a_token_and_sends_again_what_we_could_not_take(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = find_program("prometheus") or need_program("prometheus")
    monkeypatch.setattr(_Exporter, "level", True)
    exporter = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Exporter)
    threading.Thread(target=exporter.serve_forever, daemon=True).start()
    with served(settings(tmp_path / "data", model)) as here:
        (tmp_path / "token").write_text(here.token())
        (tmp_path / "prometheus.yml").write_text(f"""
global: {{scrape_interval: 1s}}
scrape_configs:
  - job_name: plant
    static_configs: [{{targets: ["127.0.0.1:{exporter.server_port}"]}}]
remote_write:
  - url: {here.url}/api/v1/write
    authorization: {{credentials_file: {tmp_path}/token}}
    queue_config: {{batch_send_deadline: 500ms, min_backoff: 100ms, max_backoff: 500ms}}
""")
        port = free_port()
        process = subprocess.Popen(
            [
                program,
                f"--config.file={tmp_path}/prometheus.yml",
                f"--storage.tsdb.path={tmp_path}/tsdb",
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_for_port(port)
            wait_until(lambda: len(here.rows()) >= 4)
            # Nothing can be taken for a while: 503, and everything is sent again.
            [link] = here.service.tasks.connectors
            refused, take = [0], link.take  # type: ignore[attr-defined]

            async def full(*_: Any, **__: Any) -> Any:
                refused[0] += 1
                raise BacklogError("earlier rows wait to be stored; send this again later")

            monkeypatch.setattr(link, "take", full)
            wait_until(lambda: refused[0] >= 3)
            monkeypatch.setattr(link, "take", take)
            count = len(here.rows())
            wait_until(lambda: len(here.rows()) >= count + 4)
            # The signal ends: Prometheus says so at the next scrape, and nothing is held.
            _Exporter.level = False
            wait_until(lambda: list(here.rows().values())[-1]["x1"] is None)
        finally:
            process.terminate()
            process.wait(60)
            exporter.shutdown()
            exporter.server_close()
        rows = here.rows()
        status = here.connector()
    times = sorted(rows)
    assert {b - a for a, b in pairwise(times)} == {SECOND}, "nothing is missing"
    for moment, values in rows.items():
        assert values["x0"] is not None
        assert abs(values["x0"] - moment / SECOND) < 2
    told = [values for values in rows.values() if values["x1"] is not None]
    assert all(v["x1"] == pytest.approx(2 * (v["x0"] or 0), abs=1e-3) for v in told)
    assert status["state"] == "connected"


@pytest.mark.slow
def test_repeated_unordered_and_ended_samples(here: Served) -> None:
    now = now_micros() // SECOND * 1000  # milliseconds
    flow = {"__name__": "pump_flow", "line": "3", "job": "plant"}
    level = {"__name__": "pump_level", "job": "plant"}
    stale = struct.unpack("<d", struct.pack("<Q", 0x7FF0000000000002))[0]
    body = request(
        (flow, [(now - 8000, 2.0), (now - 9000, 1.0), (now - 8000, 99.0)]),
        (level, [(now - 9000, 5.0), (now - 8000, stale)]),
        ({"__name__": "other"}, [(now, 1.0)]),
    )
    assert send(here, body).status_code == 204
    assert send(here, body).status_code == 204
    wait_until(lambda: len(here.rows()) == 2)
    assert here.rows() == {
        (now - 9000) * 1000: {"x0": 1.0, "x1": 5.0},
        (now - 8000) * 1000: {"x0": 2.0, "x1": None},
    }
    assert send(here, body).status_code == 204, "a repetition after the rows were made"
    old = send(here, request((flow, [(now - 10**7, 1.0), (now - 7000, 3.0)])))
    assert old.status_code == 400
    assert "too late" in old.json()["error"]["message"]
    ahead = send(here, request((flow, [(now + 10**7, 1.0)])))
    assert (ahead.status_code, ahead.json()["error"]["message"]) == (400, "from the future")
    wait_until(lambda: len(here.rows()) == 3)
    assert here.connector()["rejected"]["too late"] == 1
    text = httpx.get(f"{here.url}/metrics", timeout=60).text
    assert 'alora_connector_rejected_total{connector="prom",reason="too late"} 1.0' in text


@pytest.mark.slow
def test_two_series_for_one_variable_are_visible(here: Served) -> None:
    now = now_micros() // 1000
    body = request(
        ({"__name__": "pump_level", "cpu": "0"}, [(now, 1.0)]),
        ({"__name__": "pump_level", "cpu": "1"}, [(now, 2.0)]),
    )
    answer = send(here, body)
    assert answer.status_code == 400
    assert "several series for one variable" in answer.json()["error"]["message"]
    assert "add labels to `match`" in here.connector()["last_error"]


@pytest.mark.slow
def test_a_token_of_one_source_and_sources_by_label(tmp_path: Path, model: Path) -> None:
    series = [{"variable": "{__name__}"}]
    given = settings(tmp_path, model, source="{site}", series=series)
    now = now_micros() // 1000
    with served(given) as here:
        bound, free = here.token(source="plant"), here.token()
        two = request(
            ({"__name__": "x0", "site": "plant"}, [(now, 1.0)]),
            ({"__name__": "x0", "site": "other"}, [(now, 2.0)]),
            ({"__name__": "x0", "site": "nowhere"}, [(now, 3.0)]),
        )
        assert send(here, two).status_code == 401
        answer = send(here, two, bound)
        assert answer.status_code == 400
        assert "not a source of this token" in answer.json()["error"]["message"]
        wait_until(lambda: here.rows("plant"))
        assert not here.rows("other")
        assert send(here, two, free).status_code == 204
        wait_until(lambda: here.rows("other"))
        assert [row["x0"] for row in here.rows("other").values()] == [2.0]
        url = f"{here.url}/api/v1/sources"
        assert httpx.get(url, headers={"authorization": f"Bearer {free}"}).status_code == 403
        journals = {path.name for path in (tmp_path / "prom.journals").glob("*.journal")}
        assert journals == {"plant.journal", "other.journal"}


@pytest.mark.slow
def test_bodies_that_are_none(here: Served) -> None:
    now = now_micros() // 1000
    good = request(({"__name__": "unwanted"}, [(now, 1.0)]))
    assert send(here, good).status_code == 204
    assert "nothing that came is a variable" in here.connector()["last_error"]
    assert send(here, b"").status_code == 422
    assert send(here, b"not snappy at all").status_code == 422
    assert send(here, bytes(snappy.compress_raw(b"no protobuf"))).status_code == 422
    v2 = {"content-type": "application/x-protobuf;proto=io.prometheus.write.v2.Request"}
    assert send(here, good, **v2).status_code == 415
    assert send(here, good, **{"content-encoding": "gzip"}).status_code == 415
    v1 = {"content-type": "application/x-protobuf;proto=prometheus.WriteRequest"}
    assert send(here, good, **v1).status_code == 204


def test_a_bomb_is_measured_before_it_is_unpacked() -> None:
    bomb = bytes(snappy.compress_raw(bytes(64 * 2**20)))
    with pytest.raises(DataError, match="at most"):
        read_write_request(bomb)
    many = bytes(snappy.compress_raw(b"\x0a\x00" * 200_000))
    with pytest.raises(DataError, match="series at once"):
        read_write_request(many)
    samples = b"\x12\x00" * 100_001
    size = struct.pack(
        "<BBBB",
        0x0A,
        (len(samples) & 127) | 128,
        (len(samples) >> 7) & 127 | 128,
        len(samples) >> 14,
    )
    with pytest.raises(DataError, match="samples at once"):
        read_write_request(bytes(snappy.compress_raw(size + samples)))


def test_values_that_are_not_finite_are_missing() -> None:
    body = request(({"__name__": "a"}, [(1, math.nan), (2, math.inf), (3, 0.5)]))
    labels = {"__name__": "a"}
    assert read_write_request(body) == [
        Point(labels, 1000, None),
        Point(labels, 2000, None),
        Point(labels, 3000, 0.5),
    ]


@pytest.mark.slow
def test_nobody_takes_it_and_a_variable_nobody_knows(tmp_path: Path, model: Path) -> None:
    wrong = [{"match": {"__name__": "a"}, "variable": "zzz"}]
    with served(settings(tmp_path, model, series=wrong)) as here:
        wait_until(lambda: here.connector()["state"] == "failed")
        assert "series for zzz" in here.connector()["last_error"]
        body = request(({"__name__": "a"}, [(now_micros() // 1000, 1.0)]))
        assert send(here, body).status_code == 503
    none = {"folder": tmp_path / "none", "models": {"plant": model}}
    with served(none) as here:
        assert send(here, request()).status_code == 404
        assert httpx.post(f"{here.url}/write", content="a b=1").status_code == 404
