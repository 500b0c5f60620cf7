"""What is too old goes, the rest stays whole, and the disk does not grow without end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from sqlalchemy import text

from alora_ts.serve.operate.retention import KeepSettings, clean_up
from alora_ts.serve.settings import Settings
from tests.serve.core import plant
from tests.serve.core.conftest import Plant

Start = Callable[[Settings], Plant]


def aged(table: np.ndarray, *, days: float) -> list[dict[str, object]]:
    """Rows one after the other, the first so many days ago."""
    rows = plant.rows(table)
    first = datetime.fromisoformat(str(rows[0]["time"]))
    begin = datetime.now(UTC) - timedelta(days=days)
    for row in rows:
        moment = datetime.fromisoformat(str(row["time"])) - first + begin
        row["time"] = moment.isoformat()
    return rows


def count(here: Plant, table: str) -> int:
    with here.service.store.reading() as connection:
        return int(connection.scalar(text(f"SELECT count(*) FROM {table}")) or 0)


def test_old_rows_go_and_charts_and_incidents_stay(serve: Start, settings: Settings) -> None:
    keep = KeepSettings(rows=5)
    here = serve(settings.model_copy(update={"keep": keep, "late_limit": 1e9}))
    old = plant.values(5000)
    old[3000:3020, 1] += 500
    here.send(aged(old, days=8))
    here.settle()
    found = here.client.get("/api/v1/incidents").json()["items"]
    assert found
    before = here.client.get("/api/v1/sources/plant/series?points=100").json()
    here.send(aged(plant.values(400), days=0.5))
    here.settle()
    asyncio.run(clean_up(here.service))
    assert count(here, "rows") == count(here, "readings") == here.source.rows == 400
    again = here.client.get("/api/v1/incidents").json()["items"]
    assert [one["id"] for one in again[-len(found) :]] == [one["id"] for one in found]
    after = here.client.get("/api/v1/sources/plant/series?points=100").json()
    # The highest score of the deleted stretch is still drawn.
    assert max(before["score"]["v"]) == pytest.approx(max(after["score"]["v"]), rel=1e-5)
    assert here.client.get(f"/api/v1/incidents/{found[0]['id']}").status_code == 200


def test_what_waits_to_be_scored_stays(serve: Start, settings: Settings) -> None:
    keep = KeepSettings(rows=100 / 86_400, readings=100 / 86_400)
    settings = settings.model_copy(update={"keep": keep})
    here = serve(settings)
    here.service.crew.close()  # nobody scores
    table = plant.values(600)
    table[200:215, 1] += 90
    here.send(plant.rows(table))
    asyncio.run(clean_up(here.service))
    assert count(here, "rows") == 600
    here.client.__exit__(None, None, None)
    again = serve(settings)
    again.settle()
    asyncio.run(clean_up(again.service))
    assert count(again, "rows") == 101
    assert again.client.get("/api/v1/incidents").json()["items"]


def test_nothing_goes_when_all_is_kept(serve: Start, settings: Settings) -> None:
    keep = KeepSettings(rows=0, readings=0, summaries=0, notifications=0, models=0)
    here = serve(settings.model_copy(update={"keep": keep, "late_limit": 1e9}))
    here.send(aged(plant.values(300), days=2000))
    here.send(aged(plant.values(300), days=0.5))
    here.settle()
    asyncio.run(clean_up(here.service))
    assert count(here, "rows") == 600
    assert count(here, "models") == 1


def test_old_rows_sent_today_are_not_old(here: Plant) -> None:
    here.send(aged(plant.values(300), days=2000))
    here.settle()
    asyncio.run(clean_up(here.service))
    assert count(here, "rows") == 300


def test_the_disk_stays_flat(serve: Start, settings: Settings) -> None:
    keep = KeepSettings(rows=1, summaries=1)
    here = serve(settings.model_copy(update={"keep": keep, "late_limit": 1e9}))
    sizes = []
    for round_number in range(6):
        here.send(aged(plant.values(3000, seed=round_number), days=40 - 2 * round_number))
        here.settle()
        asyncio.run(clean_up(here.service))
        with here.service.store.reading() as connection:
            sizes.append(int(connection.scalar(text("PRAGMA page_count")) or 0))
    assert count(here, "rows") == 3000
    # A round's rows come before the last round's go, so the second is as large as it gets.
    assert max(sizes[2:]) <= 1.1 * sizes[1], sizes


def test_unused_models_go_and_used_ones_stay(here: Plant) -> None:
    with here.service.store.reading() as connection:
        assert connection.scalar(text("PRAGMA auto_vacuum")) == 2
    file = plant.fit(seed=1).save(here.service.folder / "other.alora").read_bytes()
    assert here.client.post("/api/v1/models?name=other", content=file).status_code == 201
    assert count(here, "models") == 2
    write = here.service.store.writer.run
    write(lambda c: c.execute(text("UPDATE models SET created_us = 0")) and None)
    asyncio.run(clean_up(here.service))
    assert count(here, "models") == 1
