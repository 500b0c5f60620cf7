"""Charts of long histories: from summaries, without losing an extreme."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alora_ts.serve.rows.extremes import summarise, unfold
from alora_ts.serve.store.cells import pack_cells, pack_detail, unpack_cells, unpack_detail
from alora_ts.serve.store.rows import insert_rows, save_readings
from alora_ts.serve.store.store import Store
from alora_ts.serve.store.summaries import read_summaries, refresh_summary
from tests.serve.core import plant
from tests.serve.core.conftest import Plant
from tests.serve.core.naive_series import extremes

cells = st.one_of(st.just(float("nan")), st.sampled_from([-2.0, 0.0, 1.0, 7.5]))


@given(
    rows=st.dictionaries(st.integers(0, 99), st.tuples(cells, cells), min_size=1, max_size=40),
    parts=st.sampled_from([1, 4]),
)
def test_summaries_equal_their_slow_twin(rows: dict[int, tuple[float, float]], parts: int) -> None:
    times = sorted(rows)
    lines = np.array([rows[time] for time in times])
    blob = summarise(np.array(times) + 1000, lines, start=1000, width=100, parts=parts)
    for line, (moments, values) in enumerate(unfold([1000], [blob], parts=parts, lines=[0, 1])):
        wanted = extremes(times, lines[:, line].tolist(), start=0, width=100, parts=parts)
        assert moments.tolist() == [1000 + time for time, _ in wanted]
        assert values.tolist() == [value for _, value in wanted]


def test_a_line_that_came_later_is_absent_before() -> None:
    short = summarise(np.array([5]), np.array([[1.0]]), start=0, width=10, parts=1)
    longer = summarise(np.array([15]), np.array([[2.0, 3.0]]), start=10, width=10, parts=1)
    first, second = unfold([0, 10], [short, longer], parts=1, lines=[0, 1])
    assert first[1].tolist() == [1.0, 2.0]
    assert second[0].tolist() == [15]
    assert unfold([], [], parts=1, lines=[0])[0][0].size == 0


def test_cells_of_one_variable_and_none() -> None:
    assert unpack_cells([], 3).shape == (0, 3)
    assert [part.shape for part in unpack_detail([], 2)] == [(0, 2)] * 3
    blob = pack_cells(np.array([1.0, np.nan]))
    assert np.isnan(unpack_cells([blob], 2)[0, 1])


STEP = 1_000_000


def fill(store: Store, here: Plant, rows: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Write readings straight into the store, faster than scoring them."""
    source = here.source
    rng = np.random.default_rng(0)
    table = rng.normal(size=(rows, 4))
    table[rows // 3, 0] = 99.0
    begin = source.bucket_us * 1000

    def write(connection) -> None:  # type: ignore[no-untyped-def]
        times = [begin + at * STEP for at in range(rows)]
        packed = [pack_cells(row) for row in table]
        insert_rows(connection, source.id, list(zip(times, packed, strict=True)), 1)
        save_readings(
            connection,
            [
                {
                    "source_id": source.id,
                    "time_us": time,
                    "score": float(row[0]),
                    "raw": float(row[0]),
                    "drift": 1.0,
                    "rank": 1,
                    "warm_up": False,
                    "detail": pack_detail(row, row, row),
                }
                for time, row in zip(times, table, strict=True)
            ],
        )
        for start in range(begin, times[-1] - source.bucket_us + 2, source.bucket_us):
            refresh_summary(connection, source.id, 4, start=start, width=source.bucket_us)

    store.writer.run(write)
    source.first, source.newest, source.rows = begin, begin + (rows - 1) * STEP, rows
    return table[:, 0]


@pytest.mark.parametrize("rows", [3_000, 15_000])
def test_no_extreme_is_lost(here: Plant, rows: int) -> None:
    score = fill(here.service.store, here, rows)
    answer = here.client.get(
        "/api/v1/sources/plant/series", params={"points": 200, "signals": ["flow", "heat"]}
    ).json()
    for line in (answer["score"], answer["signals"]["flow"]):
        assert len(line["t"]) == len(line["v"]) <= 200
        assert line["t"] == sorted(line["t"])
        assert max(line["v"]) == 99.0
        assert min(line["v"]) == pytest.approx(score.min(), rel=1e-5)
    assert answer["signals"]["heat"]["expected_t"]


def test_summaries_are_made_as_rows_come(here: Plant) -> None:
    table = plant.values(900, seed=1)
    table[400, 2] = 55.0
    rows = plant.rows(table)
    here.send(rows[:600])
    here.settle()
    here.send(rows[700:] + rows[600:700])
    here.settle()
    source = here.source
    with here.service.store.reading() as connection:
        starts, data = read_summaries(connection, source.id, level=1, start=0, end=2**62)
    newest = source.newest or 0
    assert list(starts) == list(
        range(starts[0], newest // source.bucket_us * source.bucket_us, source.bucket_us)
    )
    times, values = unfold(starts, data, parts=1, lines=[5])[0]
    assert 55.0 in values
    assert len(times) <= 2 * len(starts)


@pytest.mark.parametrize(
    "query",
    [
        "signals=nope",
        "start=2026-01-02&end=2026-01-01",
        "points=1",
        "start=x",
    ],
)
def test_bad_questions(here: Plant, query: str) -> None:
    assert here.client.get(f"/api/v1/sources/plant/series?{query}").status_code == 422
    assert here.client.get("/api/v1/sources/plant/series").json()["score"] == {"t": [], "v": []}
