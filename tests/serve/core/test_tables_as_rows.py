"""Rows as CSV and Parquet: the same rows as JSON, within the same bounds as a table to judge."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import polars as pl
import pytest

from alora_ts.serve.store.rows import rows_from
from tests.serve.core import plant
from tests.serve.core.conftest import Plant

PATH = "/api/v1/sources/plant/rows"
PARQUET = "application/vnd.apache.parquet"


def parquet(frame: pl.DataFrame) -> bytes:
    place = io.BytesIO()
    frame.write_parquet(place)
    return place.getvalue()


def send(here: Plant, body: bytes, kind: str, **query: str) -> Any:
    return here.client.post(PATH, content=body, headers={"content-type": kind}, params=query)


def stored(here: Plant) -> list[tuple[int, list[float]]]:
    with here.service.store.reading() as connection:
        block = rows_from(connection, here.source.id, 4, start=0)
    return list(zip(block.times.tolist(), block.values.tolist(), strict=True))


@pytest.mark.parametrize("kind", ["text/csv", PARQUET])
def test_a_table_gives_the_rows_that_json_gives(here: Plant, kind: str) -> None:
    table = plant.values(3000).round(6)
    table[7, 2] = np.nan
    frame = plant.frame(table).with_columns(note=pl.lit("by hand")).sample(fraction=1, seed=0)
    body = parquet(frame) if kind == PARQUET else frame.write_csv().encode()
    answer = send(here, body, kind)
    assert answer.status_code == 200, answer.text
    assert (answer.json()["accepted"], answer.json()["left_out"]) == (3000, ["note"])
    again = here.send(plant.rows(table))
    assert (again["accepted"], again["duplicates"], again["merged"]) == (0, 3000, 0)
    assert np.array_equal(np.array([row for _, row in stored(here)]), table, equal_nan=True)


def test_times_may_be_named_and_may_be_seconds(here: Plant) -> None:
    body = b"at,flow,level\n1700000000.5,1,2\n1700000001.5,,3\n"
    assert send(here, body, "text/csv").status_code == 422
    assert send(here, body, "text/csv", time="at").json()["accepted"] == 2
    assert [time for time, _ in stored(here)] == [1_700_000_000_500_000, 1_700_000_001_500_000]


@pytest.mark.parametrize(
    ("body", "kind", "status", "said"),
    [
        (b"", "text/csv", 422, "cannot be read as CSV"),
        (b"time,flow\n", "text/csv", 422, "no rows"),
        (b"time,colour\n2026-03-01,1\n", "text/csv", 422, "variable of the source"),
        (b"flow,level\n1,2\n", "text/csv", 422, "no time column"),
        (b"time,flow\n2026-03-01,red\n", "text/csv", 422, "red"),
        (b"time,flow\nnever,1\n", "text/csv", 422, "never"),
        (b"PAR1 and then nothing", PARQUET, 422, "cannot be read as Parquet"),
        (b"<rows/>", "text/xml", 415, "CSV or Parquet"),
    ],
)
def test_what_cannot_be_read_is_said(
    here: Plant, body: bytes, kind: str, status: int, said: str
) -> None:
    answer = send(here, body, kind)
    assert (answer.status_code, said in answer.text) == (status, True), answer.text
    assert stored(here) == []


def test_a_small_file_of_many_rows_is_refused_before_it_is_decoded(here: Plant) -> None:
    bomb = parquet(pl.select(time=pl.lit(0).repeat_by(15_000_000).explode(), flow=pl.lit(1.0)))
    assert len(bomb) < 2**21
    answer = send(here, bomb, PARQUET)
    assert answer.status_code == 413
    assert "cells" in answer.text
    lines = b"time,flow\n" + b"\n" * 8_000_000
    assert send(here, lines, "text/csv").status_code == 413
    assert send(here, b"x" * (16 * 2**20 + 1), "text/csv").status_code == 413
