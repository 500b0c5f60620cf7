"""Rows in: stored once, whatever comes; refused with a reason where they cannot be."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.serve.core import plant
from tests.serve.core.conftest import Plant


def test_rows_are_stored_once(here: Plant) -> None:
    rows = plant.rows(plant.values(30))
    assert here.send(rows) == {
        "accepted": 30,
        "duplicates": 0,
        "merged": 0,
        "late": 0,
        "rejected": [],
    }
    assert here.send(rows[10:])["duplicates"] == 20
    assert here.send([rows[5], rows[5]])["duplicates"] == 2
    assert here.source.rows == 30


def test_the_same_time_twice_in_one_request_counts_once(here: Plant) -> None:
    row = plant.rows(plant.values(1))[0]
    assert here.send([row, row]) == {
        "accepted": 1,
        "duplicates": 1,
        "merged": 0,
        "late": 0,
        "rejected": [],
    }


def test_a_row_alone(here: Plant) -> None:
    row = plant.rows(plant.values(1))[0]
    for count in (1, 0):
        answer = here.client.post("/api/v1/sources/plant/rows", json=row)
        assert answer.json()["accepted"] == count


def test_late_rows_are_counted_and_too_late_ones_refused(here: Plant) -> None:
    here.service.settings = here.service.settings.model_copy(update={"late_limit": 30.0})
    rows = plant.rows(plant.values(40))
    here.send(rows[20:])
    receipt = here.send([rows[15], rows[5]])
    assert (receipt["accepted"], receipt["late"]) == (1, 1)
    assert receipt["rejected"][0]["index"] == 1
    assert "more than 30 s older" in receipt["rejected"][0]["reason"]
    # What is stored already is a duplicate however old it is, so that sending again ends well.
    assert here.send([rows[20]])["duplicates"] == 1


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"time": "2026-03-01T00:00:00Z", "values": {"flwo": 1.0}}, "did you mean 'flow'"),
        ({"time": "2026-03-01T00:00:00Z", "values": {"flow": "3"}}, "is not a number"),
        ({"time": "2026-03-01T00:00:00Z", "values": {"flow": True}}, "is not a number"),
        ({"time": "2026-03-01T00:00:00Z", "values": {"flow": 1e300}}, "beyond"),
        ({"time": "2026-03-01T00:00:00Z", "values": {"flow": 10**400}}, "beyond"),
        ({"time": "2026-03-01T00:00:00Z", "values": {}}, "no value"),
        ({"time": "2026-03-01T00:00:00Z", "values": {"flow": None}}, "no value"),
        ({"time": "2026-03-01T00:00:00Z", "values": [1, 2]}, "must be an object"),
        ({"time": "2026-03-01T00:00:00Z"}, "time and values"),
        ({"time": "tomorrow", "values": {"flow": 1.0}}, "cannot read the time"),
        ({"time": True, "values": {"flow": 1.0}}, "ISO 8601"),
        ({"time": "9999-12-31T23:59:59Z", "values": {"flow": 1.0}}, "ahead of this"),
        ({"time": "0001-01-01T00:00:00+14:00", "values": {"flow": 1.0}}, ""),
        ({"time": "1969-12-31T23:59:59Z", "values": {"flow": 1.0}}, "before 1970"),
        (7, "time and values"),
        (None, "time and values"),
    ],
)
def test_what_cannot_be_stored_is_refused_alone(here: Plant, row: object, why: str) -> None:
    good = plant.rows(plant.values(2))[1]
    receipt = here.send([row, good])  # type: ignore[list-item]
    assert receipt["accepted"] == 1
    assert receipt["rejected"][0]["index"] == 0
    assert why in receipt["rejected"][0]["reason"]
    assert sum(here.client.get("/api/v1/health").json()["rejected"].values()) == 1


def test_infinite_and_nan_literals(here: Plant) -> None:
    body = (
        '{"rows": [{"time": "2026-03-01T00:00:00Z", "values": {"flow": Infinity}},'
        ' {"time": "2026-03-01T00:00:01Z", "values": {"flow": NaN, "level": 2}}]}'
    )
    answer = here.client.post(
        "/api/v1/sources/plant/rows",
        content=body,
        headers={"content-type": "application/json"},
    ).json()
    assert answer["accepted"] == 1
    assert "infinite" in answer["rejected"][0]["reason"]


def test_ndjson(here: Plant) -> None:
    rows = plant.rows(plant.values(5))
    lines = [json.dumps(row) for row in rows]
    lines.insert(2, "{broken")
    answer = here.client.post(
        "/api/v1/sources/plant/rows",
        content="\n".join(lines),
        headers={"content-type": "application/x-ndjson"},
    ).json()
    assert answer["accepted"] == 5
    assert answer["rejected"] == [{"index": 2, "reason": "the line is not JSON"}]


@pytest.mark.parametrize(
    ("path", "body", "kind", "status"),
    [
        ("plant/rows", b"{", "application/json", 422),
        ("plant/rows", b"[]", "application/json", 422),
        ("plant/rows", b"\xff\xfe", "application/json", 422),
        ("plant/rows", b"a,b", "text/plain", 415),
        ("plantt/rows", b'{"rows": []}', "application/json", 404),
        ("..%2f..%2fetc/rows", b'{"rows": []}', "application/json", 404),
    ],
)
def test_bad_bodies(here: Plant, path: str, body: bytes, kind: str, status: int) -> None:
    answer = here.client.post(
        f"/api/v1/sources/{path}", content=body, headers={"content-type": kind}
    )
    assert answer.status_code == status
    assert set(answer.json()["error"]) == {"code", "message", "hint"}


def test_readings_are_paged(here: Plant) -> None:
    here.send(plant.rows(plant.values(25)))
    here.settle()
    times: list[str] = []
    cursor = None
    for _ in range(3):
        query = {"limit": 10} | ({"cursor": cursor} if cursor else {})
        page = here.client.get("/api/v1/sources/plant/readings", params=query).json()
        times += [item["time"] for item in page["items"]]
        cursor = page["next"]
    assert cursor is None
    assert len(times) == 25
    assert times == sorted(set(times))
    assert np.isfinite(page["items"][-1]["score"])
    bad = here.client.get("/api/v1/sources/plant/readings", params={"cursor": "x"})
    assert bad.status_code == 422
