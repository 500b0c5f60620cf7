"""`alora-ts fit --from`: rows of a running service, and of a real Prometheus."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest
from benchmarks.serve_process import ServiceProcess

from alora_ts import load
from alora_ts.cli.fit_from import read_queries
from alora_ts.errors import AloraError
from tests.cli.invoke import invoke
from tests.serve.connect.past_prometheus import prometheus_with
from tests.serve.core import plant

QUICK = ("--window", "8", "--epochs", "1")
API = "api/v1/sources"


@pytest.mark.slow
def test_the_circle_ends_collect_fit_activate(tmp_path: Path) -> None:
    """No model anywhere: rows by replay, a model from them, then live."""
    table = plant.values(1500)
    plant.frame(table[:1300]).write_csv(tmp_path / "normal.csv")
    settings = "late_limit = 1e8\n"
    with ServiceProcess(tmp_path / "service", settings) as service:
        sent = invoke(
            "replay", tmp_path / "normal.csv", "--to", service.url,
            "--source", "line3", "--collect", "--as-recorded",
        )  # fmt: skip
        assert sent.code == 0, sent.err
        source = f"{service.url}/{API}/line3"
        assert httpx.get(source).json()["state"] == "collecting"
        made = invoke(
            "fit", "--from", service.url, "-o", tmp_path / "line3.alora", "--activate", *QUICK
        )
        assert made.code == 0, made.err
        said = " ".join(made.out.split())
        assert "line3 at" in said
        assert "1,300 rows of 4 signals from 2026-03-01T00:00:00" in said
        assert "one every 1 s" in said
        assert "line3 is live with it, scored from 2026-03-01T00:21:39.000001Z" in said
        # What was fitted is what the file gives.
        again = invoke("fit", tmp_path / "normal.csv", "-o", tmp_path / "file.alora", *QUICK)
        assert again.code == 0, again.err
        both = [load(tmp_path / name).score(plant.frame(table)) for name in
                ("line3.alora", "file.alora")]  # fmt: skip
        np.testing.assert_allclose(*both, rtol=1e-3)
        more = plant.rows(table)[1300:]
        assert httpx.post(f"{source}/rows", json={"rows": more}).json()["accepted"] == 200
        until = time.monotonic() + 60
        while (shown := httpx.get(source).json())["score"] is None:
            assert time.monotonic() < until
            time.sleep(0.1)
        assert shown["state"] in {"ok", "alarm"}


@pytest.mark.parametrize(
    ("given", "code", "said"),
    [
        ((), 2, "give a file to learn from, or --from URL"),
        (("normal.csv", "--from", "http://127.0.0.1:9"), 2, "give a file to learn from"),
        (("normal.csv", "--activate"), 2, "only a service can use it"),
        (("--from", "prometheus://127.0.0.1:9"), 1, "say what to ask Prometheus"),
        (("--from", "prometheus://127.0.0.1:9", "--query", "a=a"), 1, "does not answer"),
        (("--from", "prometheuss://x", "--query", "a=a"), 1, "give prometheus://host:9090"),
        (("--from", "http://127.0.0.1:9", "--query", "a=a"), 1, "a service has its signals"),
        (("--from", "ftp://x"), 1, "is not the address of a service"),
    ],
)
def test_wrong_calls(tmp_path: Path, given: tuple[str, ...], code: int, said: str) -> None:
    outcome = invoke("fit", *given, "-o", tmp_path / "m.alora")
    # A usage error is drawn in a box.
    told = " ".join(re.sub(r"[│╭╮╰╯─]", " ", outcome.err).split())
    assert (outcome.code, said in told) == (code, True), outcome.err
    assert not (tmp_path / "m.alora").exists()


def test_a_query_names_its_signal() -> None:
    with pytest.raises(AloraError, match="as in flow=avg"):
        read_queries(["up"])


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    """A server with 6,000 s of two signals, one of which is a sum and pauses for a while."""
    now = int(time.time())
    times = range(now - 6000, now)
    load_of = {at: np.sin(at / 40) for at in times}
    lines = ["# TYPE flow gauge"]
    lines += [
        f'flow{{part="{part}"}} {part + load_of[at]:.6f} {at}' for at in times for part in (1, 2)
    ]
    lines += ["# TYPE level gauge"]
    lines += [f"level {2 * load_of[at]:.6f} {at}" for at in times if at < now - 3000]
    with prometheus_with(lines, tmp_path_factory.mktemp("prometheus")) as place:
        yield place, now


@pytest.mark.slow
def test_a_model_from_prometheus(prometheus: tuple[str, int], tmp_path: Path) -> None:
    place, now = prometheus

    def at(seconds: int) -> str:
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now + seconds))

    call = ("fit", "--from", f"prometheus://{place}", "--query", "level=level", "--step", "1",
            "-o", tmp_path / "m.alora", *QUICK)  # fmt: skip
    period = ("--start", at(-5990), "--end", at(-10))
    made = invoke(*call, "--query", "flow=sum(flow)", *period)
    assert made.code == 0, made.err
    said = " ".join(made.out.split())
    # 5,981 rows take two answers of at most 5,000.
    assert "5,981 rows of 2 signals" in said
    assert "level: 50% missing" in said
    fitted = load(tmp_path / "m.alora").model_.preparation
    assert fitted.variables == ("level", "flow")
    # sum(flow) is 3 + 2 sin: its mean over many turns is 3.
    assert abs(fitted.standardiser.center[1] - 3) < 0.1
    several = invoke(*call, "--query", "flow=flow", *period)
    assert "gives 2 series where one is needed" in " ".join(several.err.split())
    empty = invoke("fit", "--from", f"prometheus://{place}", "--query", "a=no_such_metric",
                   "-o", tmp_path / "n.alora")  # fmt: skip
    assert "Prometheus has no values" in " ".join(empty.err.split())


@pytest.mark.slow
def test_the_connector_feeds_a_source_that_collects(
    prometheus: tuple[str, int], tmp_path: Path
) -> None:
    settings = f"""
collect = ["web"]
[[connect.prometheus]]
name = "prom"
source = "web"
url = "http://{prometheus[0]}"
step = 10
backfill = 7000
[connect.prometheus.queries]
flow = "sum(flow)"
level = "level"
"""
    with ServiceProcess(tmp_path / "service", settings) as service:
        until = time.monotonic() + 120
        while (shown := httpx.get(f"{service.url}/{API}/web").json())["rows"] < 500:
            assert time.monotonic() < until
            time.sleep(0.1)
    assert (shown["state"], shown["variables"]) == ("collecting", ["flow", "level"])
