"""A source before it has a model: rows are kept, a model is fitted from them, scoring goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from alora_ts import ALoRa, load
from alora_ts.serve.models.cache import read_model
from alora_ts.serve.operate.retention import clean_up
from alora_ts.serve.rows.period import longest_without
from alora_ts.serve.settings import Settings
from alora_ts.serve.store.models import model_file as stored_file
from alora_ts.serve.store.rows import read_readings
from tests.serve.core import plant
from tests.serve.core.conftest import Plant

SMALL = {"window": 8, "epochs": 1, "epoch_windows": 160}
API = "/api/v1"


def collecting(serve: Callable[[Settings], Plant], folder: Path, **more: Any) -> Plant:
    return serve(Settings(folder=folder / "data", collect=("plant",), late_limit=1e6, **more))


def finished(here: Plant, fit: str) -> dict[str, Any]:
    for thread in here.service.fits._threads:
        thread.join()
    found: dict[str, Any] = here.client.get(f"{API}/fits/{fit}").json()
    assert found["state"] == "done", found
    return found


def scores_from(model: ALoRa, table: NDArray[np.float64], first: int) -> list[float]:
    """A stream that knows the rows before; what scores are usual it learns from there on."""
    stream = model.stream()
    times = plant.frame(table)["time"].to_numpy()
    for row, time in zip(table[:first], times, strict=False):
        stream.push(row, time=time)
    stream.follow_from([])
    rest = zip(table[first:], times[first:], strict=True)
    return [stream.push(row, time=time).score for row, time in rest]


def test_from_the_first_row_to_live(serve: Callable[[Settings], Plant], tmp_path: Path) -> None:
    here = collecting(serve, tmp_path)
    table = plant.values(1400)
    table[1100:1110, 1] += 40  # after the period that is learned from
    sent = plant.rows(table)
    assert here.send(sent[:1200])["accepted"] == 1200
    shown = here.client.get(f"{API}/sources/plant").json()
    assert (shown["state"], shown["rows"], shown["model_id"]) == ("collecting", 1200, None)
    assert (shown["threshold"], shown["score"]) == (None, None)
    assert sorted(shown["variables"]) == sorted(plant.VARIABLES)
    assert here.source.unscored == 0
    period = here.client.get(f"{API}/sources/plant/period", params={"end": sent[1000]["time"]})
    assert (period.json()["rows"], period.json()["gap_count"]) == (1000, 0)

    order = {"end": sent[1000]["time"], "settings": SMALL}
    fit = here.client.post(f"{API}/sources/plant/fits", json=order).json()
    done = finished(here, fit["id"])
    assert done["comparison"].keys() == {"rows", "new"}
    live = here.client.post(f"{API}/fits/{fit['id']}/activate").json()
    assert live["scored_from"] == sent[1000]["time"].replace("+00:00", ".000000Z")
    here.send(sent[1200:])
    here.settle()
    with here.service.store.reading() as connection:
        readings = read_readings(connection, here.source.id, start=0, end=2**62)
        model = read_model(stored_file(connection, done["model_id"]) or b"")
    # Every row after the period once, with the scores of a batch.
    assert len(readings) == 400
    assert not any(row.warm_up for row in readings)
    expected = scores_from(model, table, 1000)
    np.testing.assert_allclose([row.score for row in readings], expected, rtol=1e-3)
    shown = here.client.get(f"{API}/sources/plant").json()
    assert shown["state"] in {"ok", "alarm"}
    assert here.client.get(f"{API}/incidents").json()["items"]
    # Now that there are incidents, the next period offered leaves them out.
    offered = here.client.get(f"{API}/sources/plant/period").json()
    assert offered["incidents_left_out"] >= 1
    assert offered["incidents_inside"] == 0
    audit = here.client.get(f"{API}/audit").json()
    assert audit[0]["detail"]["scored_from"] == live["scored_from"]


def test_a_restart_goes_on_collecting(
    serve: Callable[[Settings], Plant], tmp_path: Path, model_file: Path
) -> None:
    here = collecting(serve, tmp_path)
    here.send(plant.rows(plant.values(50)))
    here.send([{"time": "2026-03-01T01:00:00Z", "values": {"extra": 1.0}}])
    here.client.__exit__(None, None, None)
    again = collecting(serve, tmp_path)
    shown = again.client.get(f"{API}/sources/plant").json()
    assert (shown["state"], shown["rows"], "extra" in shown["variables"]) == (
        "collecting",
        51,
        True,
    )
    # A model from elsewhere: all that was collected is scored.
    key = again.service.registry.add(model_file.read_bytes(), name="m", origin="upload")
    answer = again.client.post(f"{API}/sources/plant/activate", json={"model_id": key})
    assert answer.json()["scored_from"] == "2026-03-01T00:00:00.000000Z"
    assert len(again.scores()) == 51
    assert again.source.bucket_us == 256_000_000
    # From then on only the model's variables are taken.
    refused = again.client.post(
        f"{API}/sources/plant/rows",
        json={"time": "2026-03-01T02:00:00Z", "values": {"new": 1.0}},
    )
    assert "unknown variable" in refused.text


def test_what_needs_a_model_says_so(serve: Callable[[Settings], Plant], tmp_path: Path) -> None:
    here = collecting(serve, tmp_path)
    for method, path in [("get", "drift"), ("post", "recalibrate"), ("delete", "recalibrate")]:
        answer = getattr(here.client, method)(f"{API}/sources/plant/{path}")
        assert (answer.status_code, "collects rows" in answer.text) == (409, True)
    nothing = here.client.get(f"{API}/sources/plant/period")
    assert (nothing.status_code, "no rows yet" in nothing.text) == (409, True)
    assert here.client.post(f"{API}/sources/plant/fits", json={}).status_code == 409
    assert here.client.get(f"{API}/sources/plant/series").status_code == 200
    assert here.client.get("/metrics").status_code == 200
    assert here.client.get(f"{API}/health").json()["wrong"] == []


def test_sources_are_made_on_purpose(serve: Callable[[Settings], Plant], tmp_path: Path) -> None:
    here = collecting(serve, tmp_path)
    row = plant.rows(plant.values(1))[0]
    assert here.client.post(f"{API}/sources/line3/rows", json=row).status_code == 404
    made = here.client.post(f"{API}/sources", json={"name": "line3"})
    assert (made.status_code, made.json()["state"]) == (201, "collecting")
    assert here.client.post(f"{API}/sources/line3/rows", json=row).json()["accepted"] == 1
    assert here.client.post(f"{API}/sources", json={"name": "line3"}).status_code == 409
    assert here.client.post(f"{API}/sources", json={"name": "../x"}).status_code == 422


def test_names_are_bounded(serve: Callable[[Settings], Plant], tmp_path: Path) -> None:
    here = collecting(serve, tmp_path)
    for bad in ("", "a\x00b", "x" * 201):
        row = {"time": 0, "values": {bad: 1.0}}
        assert here.client.post(f"{API}/sources/plant/rows", json=row).status_code == 422
    many = {"time": 0, "values": {f"x{at}": 1.0 for at in range(2001)}}
    assert here.client.post(f"{API}/sources/plant/rows", json=many).status_code == 422
    assert len(here.source.variables) == 2000
    csv = "time,flow,operator\n2026-03-01,1,Ann\n2026-03-02,2,Bo\n"
    headers = {"content-type": "text/csv"}
    fresh = here.client.post(f"{API}/sources", json={"name": "table"})
    assert fresh.status_code == 201
    sent = here.client.post(f"{API}/sources/table/rows", content=csv, headers=headers).json()
    assert (sent["accepted"], sent["left_out"]) == (2, ["operator"])


def test_collected_rows_are_kept_as_long_as_others(
    serve: Callable[[Settings], Plant], tmp_path: Path
) -> None:
    here = collecting(serve, tmp_path, keep={"rows": 1 / 24})
    here.send(plant.rows(plant.values(100), seconds=np.arange(100) * 120.0))
    assert here.client.portal is not None
    here.client.portal.call(clean_up, here.service)
    shown = here.client.get(f"{API}/sources/plant").json()
    assert shown["rows"] == 31
    assert shown["first_time"] == "2026-03-01T02:18:00.000000Z"


def test_the_period_shows_gaps_and_signals(
    serve: Callable[[Settings], Plant], tmp_path: Path
) -> None:
    here = collecting(serve, tmp_path)
    table = plant.values(1500)
    table[:, 3] = np.nan
    table[:, 2] = 5.0
    seconds = np.arange(1500.0)
    seconds[700:] += 3600
    here.send(plant.rows(table, seconds=seconds))
    found = here.client.get(f"{API}/sources/plant/period").json()
    assert (found["rows"], found["step"], found["gap_count"]) == (1500, 1.0, 1)
    assert found["gaps"][0]["seconds"] == 3601.0
    notes = {one["name"]: one["note"] for one in found["signals"]}
    assert notes == {
        "flow": "",
        "level": "",
        "power": "constant: it says nothing here",
        "heat": "no values: it will be left out",
    }
    flow = next(one for one in found["signals"] if one["name"] == "flow")
    assert flow["low"] < -5 < 5 < flow["high"]
    assert len(flow["t"]) == len(flow["v"]) <= 80
    backwards = {"start": "2026-03-02", "end": "2026-03-01"}
    assert here.client.get(f"{API}/sources/plant/period", params=backwards).status_code == 422


def test_stored_rows_come_in_pages(serve: Callable[[Settings], Plant], tmp_path: Path) -> None:
    here = collecting(serve, tmp_path)
    table = plant.values(25)
    table[3, 1] = np.nan
    here.send(plant.rows(table))
    items, query = list[dict[str, Any]](), {"limit": "10"}
    while True:
        page = here.client.get(f"{API}/sources/plant/rows", params=query).json()
        items += page["items"]
        if page["next"] is None:
            break
        query["cursor"] = page["next"]
    found = np.array([row["values"] for row in items], dtype=float)
    order = [page["variables"].index(name) for name in plant.VARIABLES]
    assert np.array_equal(found[:, order], table, equal_nan=True)


@pytest.mark.parametrize("seed", range(20))
def test_the_longest_stretch_is_that_of_its_slow_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    others = [
        (int(low), int(low + width))
        for low, width in zip(rng.integers(-5, 60, 6), rng.integers(0, 9, 6), strict=True)
    ]
    free = [at for at in range(50) if not any(low <= at <= high for low, high in others)]
    runs = [run for run in np.split(free, np.flatnonzero(np.diff(free) > 1) + 1) if len(run)]
    best = max((len(run) for run in runs), default=0)
    start, end = longest_without(0, 50, others)
    assert end - start == best
    assert all(at in free for at in range(start, end))


def test_a_model_fitted_elsewhere_can_say_where_to_begin(
    serve: Callable[[Settings], Plant], tmp_path: Path, model_file: Path
) -> None:
    here = collecting(serve, tmp_path)
    rows = plant.rows(plant.values(60))
    here.send(rows)
    key = here.service.registry.add(model_file.read_bytes(), name="m", origin="upload")
    choice = {"model_id": key, "scored_from": rows[40]["time"]}
    assert here.client.post(f"{API}/sources/plant/activate", json=choice).status_code == 200
    scores = here.scores()
    assert len(scores) == 20
    expected = scores_from(load(model_file), plant.values(60), 40)
    np.testing.assert_allclose(scores, expected, rtol=1e-3)
