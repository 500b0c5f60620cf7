"""`alora-ts replay`: a file becomes live rows, whatever the service does meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest
from benchmarks.serve_process import ServiceProcess

from alora_ts import load
from alora_ts.errors import AloraError
from alora_ts.serve.client import ServiceClient
from alora_ts.serve.replay import replay, table_blocks
from alora_ts.serve.rows.interface import Row
from tests.cli.invoke import invoke
from tests.forked import begin
from tests.serve.core import plant

_COMMAND = [sys.executable, "-c", "from alora_ts.cli.main import run; run()"]


@pytest.fixture(scope="module")
def service(model_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    settings = f'late_limit = 1e8\n[models]\nplant = "{model_file}"\nother = "{model_file}"\n'
    with ServiceProcess(tmp_path_factory.mktemp("service"), settings, begin=begin) as running:
        yield running


def readings(service: ServiceProcess, source: str, count: int) -> list[dict[str, Any]]:
    """Wait until so many rows are scored."""
    url = f"{service.url}/api/v1/sources/{source}/readings"
    until = time.monotonic() + 60
    while len(items := httpx.get(url, params={"limit": 5000}).json()["items"]) < count:
        assert time.monotonic() < until
        time.sleep(0.05)
    return list(items)


def test_as_recorded_it_is_scored_like_the_file(
    service: ServiceProcess, model_file: Path, tmp_path: Path
) -> None:
    table = plant.frame(plant.values(700, seed=3)).with_columns(note=pl.lit("x"))
    table.write_parquet(tmp_path / "day.parquet")
    sent = invoke(
        "replay",
        tmp_path / "day.parquet",
        "--to",
        f"{service.url}/#/sources/other",
        "--as-recorded",
    )
    assert sent.code == 0, sent.err
    assert "Sent 700 rows: 700 stored" in sent.out
    scores = [one["score"] for one in readings(service, "other", 700)]
    expected = load(model_file).score(table.drop("note"))
    ready = slice(load(model_file).window - 1, None)
    np.testing.assert_allclose(scores[ready], expected[ready], rtol=1e-3)
    again = invoke(
        "replay",
        tmp_path / "day.parquet",
        "--to",
        service.url,
        "--source",
        "other",
        "--as-recorded",
    )
    assert "700 were there already" in again.out


def test_one_reading_a_line_and_a_file_in_german(service: ServiceProcess, tmp_path: Path) -> None:
    table = plant.frame(plant.values(40, seed=9).round(3), seconds=np.arange(40) + 1e6)
    table.unpivot(index="time").write_csv(tmp_path / "long.csv")
    text = table.write_csv(separator=";").replace(".000000", "").replace(".", ",")
    (tmp_path / "deutsch.csv").write_text(text)
    call = ("--to", service.url, "--source", "other", "--as-recorded")
    assert "40 stored" in invoke("replay", tmp_path / "long.csv", *call).out
    again = invoke("replay", tmp_path / "deutsch.csv", *call)
    assert "40 were there already" in again.out, again.err


def test_rows_come_at_their_pace_and_never_ahead_of_the_clock(
    service: ServiceProcess, tmp_path: Path
) -> None:
    """Over three seconds the newest row is never later than now, as the service itself checks."""
    plant.frame(plant.values(300)).write_csv(tmp_path / "day.csv")
    began = time.time()
    sent = invoke(
        "replay", tmp_path / "day.csv", "--to", service.url, "--source", "plant", "--speed", "100"
    )
    assert sent.code == 0, sent.err
    assert time.time() - began >= 2.99
    stamps = [one["time"] for one in readings(service, "plant", 300)]
    steps = np.diff(np.array([stamp.rstrip("Z") for stamp in stamps], dtype="datetime64[us]"))
    assert np.abs(steps.astype(float) / 1e6 - 0.01).max() < 1e-5
    assert stamps[-1] <= time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() + 1))


def test_a_row_is_sent_only_when_the_clock_has_reached_it() -> None:
    now, sent = [1000.0], list[tuple[float, float]]()

    class Recorder(ServiceClient):
        def post(self, *_: str, json: Any = None, **__: Any) -> Any:
            for row in json["rows"]:
                moment = np.datetime64(row["time"].rstrip("Z")).astype(int) / 1e6
                sent.append((float(moment), now[0]))
            return {"accepted": len(json["rows"]), "merged": 0, "duplicates": 0, "rejected": []}

    def sleep(seconds: float) -> None:
        now[0] += seconds

    rows = [Row(at * 1_000_000, {"a": 1.0}) for at in (5, 6, 7, 67, 68, 8, 200)]
    with Recorder("http://x") as client:
        replay(iter([rows]), client, "s", speed=60, clock=lambda: now[0], sleep=sleep)
    assert [round(60 * (event - 1000)) for event, _ in sent] == [0, 1, 2, 62, 63, 3, 195]
    assert all(event <= at for event, at in sent)


def test_it_waits_as_long_as_a_busy_service_says() -> None:
    slept = list[float]()

    class Busy(httpx.BaseTransport):
        left = 3

        def handle_request(self, _: httpx.Request) -> httpx.Response:
            self.left -= 1
            if self.left > 0:
                return httpx.Response(
                    503 if self.left == 2 else 429,
                    headers={"retry-after": "7"},
                    json={"error": {"code": "x", "message": "rows wait", "hint": ""}},
                )
            return httpx.Response(
                200, json={"accepted": 2, "merged": 0, "duplicates": 0, "rejected": []}
            )

    with ServiceClient("http://x", sleep=slept.append) as client:
        client._client = httpx.Client(transport=Busy())
        table = [Row(0, {"a": 1.0}), Row(1, {"a": 1.0})]
        assert replay(iter([table]), client, "s", speed=None).sent == 2
    assert slept == [7.0, 7.0]
    with ServiceClient("http://x", sleep=slept.append, patience=3) as client:
        client._client = httpx.Client(transport=Busy())
        with pytest.raises(AloraError, match=r"rows wait; 4 rows were sent; go on with --skip 4"):
            replay(iter([table]), client, "s", speed=None, skip=4)


@pytest.mark.slow
def test_it_goes_on_when_the_service_comes_back(model_file: Path, tmp_path: Path) -> None:
    """Killed in the midst and started again: every row is there once."""
    plant.frame(plant.values(600)).write_csv(tmp_path / "day.csv")
    settings = f'[models]\nplant = "{model_file}"\n'
    with ServiceProcess(tmp_path / "service", settings, begin=begin) as service:
        command = [*_COMMAND, "replay", "day.csv", "--to", service.url, "--speed", "100"]
        sender = subprocess.Popen(
            command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        readings(service, "plant", 50)
        service.kill()
        service.start()
        out, err = sender.communicate(timeout=120)
        assert sender.returncode == 0, err
        assert "Sent 600 rows" in out
        assert "trying again" in err
        assert len(readings(service, "plant", 600)) == 600


def test_ctrl_c_says_how_far_it_came(service: ServiceProcess, tmp_path: Path) -> None:
    plant.frame(plant.values(3000)).write_csv(tmp_path / "day.csv")
    command = [*_COMMAND, "replay", "day.csv", "--to", service.url, "--source", "plant"]
    before = len(readings(service, "plant", 0))
    sender = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    readings(service, "plant", before + 1)
    os.kill(sender.pid, signal.SIGINT)
    _, err = sender.communicate(timeout=60)
    assert sender.returncode == 130
    assert "of 3,000 rows were sent; go on with --skip" in err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--to", "{url}"), "say which source with --source: the service has other, plant"),
        (("--to", "{url}", "--source", "plnat"), "did you mean 'plant'"),
        (("--to", "127.0.0.1:80", "--source", "plant"), "is not the address of a service"),
        (("--to", "http://127.0.0.1:9", "--source", "p", "--patience", "0"), "does not answer"),
        (("--to", "{url}", "--source", "plant", "--skip", "9"), "nothing is left with --skip"),
    ],
)
def test_bad_calls_say_what_to_do(
    service: ServiceProcess, tmp_path: Path, given: tuple[str, ...], said: str
) -> None:
    plant.frame(plant.values(5)).write_csv(tmp_path / "day.csv")
    call = [part.format(url=service.url) for part in given]
    outcome = invoke("replay", tmp_path / "day.csv", *call)
    assert (outcome.code, said in " ".join(outcome.err.split())) == (1, True), outcome.err


@pytest.mark.slow
def test_tokens_and_foreign_columns(model_file: Path, tmp_path: Path) -> None:
    settings = f'[models]\nplant = "{model_file}"\n'
    with ServiceProcess(tmp_path / "service", settings, begin=begin) as service:
        data = tmp_path / "service" / "data"
        plant.frame(plant.values(5)).write_csv(tmp_path / "day.csv")
        pl.DataFrame({"time": [1], "colour": [2]}).write_csv(tmp_path / "other.csv")
        call = ("replay", tmp_path / "day.csv", "--to", service.url, "--speed", "1000")
        foreign = invoke("replay", tmp_path / "other.csv", "--to", service.url)
        assert "is a signal of the source" in " ".join(foreign.err.split())
        made = invoke("token", "create", "--role", "ingest", "--folder", data)
        until = time.monotonic() + 30
        while (without := invoke(*call)).code == 0:
            assert time.monotonic() < until
        assert "give --token, or set ALORA_TS_TOKEN" in " ".join(without.err.split())
        token = ("--token", made.out.strip())
        assert invoke(*call, *token, "--source", "plant").code == 0


def test_a_table_without_times_is_a_row_a_second() -> None:
    from alora_ts.data.table import as_table

    found = [row.time for block in table_blocks(as_table(np.ones((3, 2)))) for row in block]
    assert found == [0, 1_000_000, 2_000_000]
