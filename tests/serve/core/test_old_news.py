"""Rows that are filled in later notify nobody of what is long over."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select

from alora_ts.serve.settings import Settings
from alora_ts.serve.store.schema import outbox
from tests.serve.core import plant
from tests.serve.core.conftest import Plant

Start = Callable[[Settings], Plant]
HOOK = {"name": "pager", "url": "http://127.0.0.1:9/"}


@pytest.fixture
def told(settings: Settings) -> Settings:
    notify = {"max_age": 90.0, "webhook": [HOOK]}
    return Settings.model_validate({**settings.model_dump(), "notify": notify})


def rows(age: float, *, count: int, fault: slice) -> list[dict[str, Any]]:
    """Rows a second apart, the last one so many seconds old."""
    table = plant.values(count, seed=3)
    table[fault, 1] += 60
    end = datetime.now(UTC) - timedelta(seconds=age)
    made = plant.rows(table)
    for at, row in enumerate(made):
        row["time"] = (end - timedelta(seconds=count - 1 - at)).isoformat()
    return made


def events(here: Plant) -> list[str]:
    here.settle()
    with here.service.store.reading() as connection:
        found = connection.execute(select(outbox).order_by(outbox.c.id)).all()
    return [entry.event["kind"] for entry in found]


def test_what_ended_long_ago_is_stored_and_not_told(serve: Start, told: Settings) -> None:
    here = serve(told)
    here.send(rows(5000, count=100, fault=slice(50, 60)))
    assert events(here) == []
    [incident] = here.client.get("/api/v1/incidents").json()["items"]
    assert incident["state"] == "closed"


def test_what_ended_just_now_is_told(serve: Start, told: Settings) -> None:
    here = serve(told)
    here.send(rows(5, count=100, fault=slice(80, 88)))
    assert events(here) == ["opened", "closed"]


@pytest.mark.parametrize("restart", [False, True])
def test_what_began_long_ago_is_told_when_it_is_found_to_last(
    serve: Start, told: Settings, restart: bool
) -> None:
    here = serve(told)
    every = rows(5, count=400, fault=slice(270, 400))
    here.send(every[:280])
    assert events(here) == []
    if restart:
        here.client.__exit__(None, None, None)
        here = serve(told)
    here.send(every[280:])
    assert events(here)[:1] == ["opened"]
    assert events(here).count("opened") == 1
    assert np.isfinite(here.scores()).all()
